// TensorProto → Tensor: the one choke point for every tensor anywhere (initializers, attributes, sparse, subgraphs,
// functions, test data). Sizes are checked against the data before anything is allocated.
#pragma once
#include <memory>
#include <string>

#include "importers/onnx/external_data.h"
#include "ir/base/value.h"
#include "onnx/onnx_pb.h"

namespace headrace::onnx_import {

class TensorSource {
 public:
  // `model`: the mapped file that raw_data was taken out of (wire.h); `folder`: where external data may lie.
  TensorSource(std::shared_ptr<Buffer> model, std::string folder)
      : model_(std::move(model)), files_(std::move(folder)) {}
  // Without a model file: external data is refused.
  TensorSource() : files_(""), external_(false) {}

  Result<Tensor> Load(const onnx::TensorProto& t);
  Result<Tensor> Load(const onnx::SparseTensorProto& t);  // as a dense tensor

 private:
  struct Bytes {
    const char* data = nullptr;
    int64_t size = 0;
    std::shared_ptr<void> keep;
  };  // keep null: copy
  Result<Bytes> Locate(const onnx::TensorProto& t, int64_t needed);

  std::shared_ptr<Buffer> model_;
  ExternalFiles files_;
  bool external_ = true;
  int64_t dense_budget_ = int64_t{1} << 28;  // bytes that sparse tensors may grow to, all together
};

// Product of the dimensions; an error for negative ones and for sizes no memory can hold.
Result<int64_t> CheckedElements(const int64_t* dims, int rank, int bits);

// Values stored as TensorProto, SequenceProto or OptionalProto files (the official cases' input_0.pb).
Result<Value> ReadValueFile(const std::string& path);

}  // namespace headrace::onnx_import
