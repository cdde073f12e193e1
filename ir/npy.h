// .npy files that are in memory, as the arrays of a .npz archive are. (Those on disk: ReadNpy, ir/value.h.)
#pragma once
#include <memory>
#include <string>

#include "ir/value.h"

namespace headrace {

// The tensor shares the memory where its elements stand there as they are. Errors name `name` as the file.
Result<Tensor> ParseNpy(std::shared_ptr<Buffer> bytes, const std::string& name);

}  // namespace headrace
