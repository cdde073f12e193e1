// The one place that opens a file because a text names it: `constant W: f32[N] = file("weights.bin", offset)`.
#pragma once
#include <string>

#include "ir/base/value.h"

namespace headrace {

// Maps `bytes` bytes at `offset` of the file `name` in the folder of the text file `beside`. The name is relative, without
// `..`; nothing on the way is a symbolic link; the file is a regular one with a single link and is large enough.
Result<std::shared_ptr<Buffer>> MapFileBeside(const std::string& beside, const std::string& name, int64_t offset,
                                              int64_t bytes);

}  // namespace headrace
