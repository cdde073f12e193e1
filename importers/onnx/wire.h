// Takes large raw_data out of a serialized model before protobuf sees it, so that weights stay in the mapped file.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/base/status.h"
#include "onnx/onnx_pb.h"

namespace headrace::onnx_import {

constexpr int kMaxGraphDepth = 64;         // subgraphs inside subgraphs
constexpr int64_t kInlineRawBytes = 1024;  // smaller raw_data stays where it is

// The model without raw_data fields above kInlineRawBytes. In their tensors doc_string says where the bytes lie; the
// doc_strings that tensors came with are dropped, so a file cannot forge one. Malformed bytes are an error with the offset.
Result<std::string> WithoutRawData(std::string_view model);

struct RawRange {
  int64_t offset = 0, length = 0;
};
// Where raw_data was taken out of this tensor, if it was.
std::optional<RawRange> TakenRange(const onnx::TensorProto& t);

}  // namespace headrace::onnx_import
