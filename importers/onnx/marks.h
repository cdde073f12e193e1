// What PyTorch's exporter (dynamo) says about initializers, as metadata of their value_info: which were parameters of the
// module, and which it folded from what.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "onnx/onnx_pb.h"

namespace headrace::onnx_import {

// Who made an initializer that is no parameter: "buffer" of the module, or "exporter" (from constants). The others, and all
// of a graph without marks, are not in it.
std::unordered_map<std::string, std::string_view> MadeBy(const onnx::GraphProto& g);

}  // namespace headrace::onnx_import
