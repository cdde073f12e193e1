// .npy files that are in memory, as the arrays of a .npz archive are. (Those on disk: ReadNpy, ir/base/value.h.)
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "ir/base/value.h"

namespace headrace {

// The tensor shares the memory where its elements stand there as they are. Errors name `name` as the file.
Result<Tensor> ParseNpy(std::shared_ptr<Buffer> bytes, const std::string& name);

// The bytes of a .npy file are `head`, then Body(): the tensor's own memory, or what its strings were packed into.
struct NpyImage {
  std::string head, packed;
  Tensor tensor;
  std::string_view Body() const;
};
NpyImage EncodeNpy(const Tensor& t);

}  // namespace headrace
