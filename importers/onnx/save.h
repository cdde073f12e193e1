// A copy of a model file with other constants.
#pragma once
#include <string>

#include "ir/registry/registry.h"

namespace headrace::onnx_import {

// Writes the model at `from` to `to` (binary) with the initializers of options.constants replaced; nothing else differs,
// unless options.inference (inference.h). Tensors kept in files beside `from` go to one new file beside `to`, named `to` +
// ".data", each at a multiple of 4096 bytes. Both files are written under temporary names, synced and renamed, the data
// first: `to` is the whole new model, or what it was before.
Status SaveModel(const std::string& from, const std::string& to, const SaveOptions& options);

}  // namespace headrace::onnx_import
