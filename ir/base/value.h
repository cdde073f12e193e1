// Run-time values on the host: what programs take, give, and carry as constants.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/base/dtype.h"
#include "ir/base/status.h"

namespace headrace {

// Bytes shared by reference; owned memory or a mapped file region kept alive by `keep`.
class Buffer {
 public:
  static std::shared_ptr<Buffer> Allocate(int64_t bytes);  // 64-byte aligned, not zeroed
  static std::shared_ptr<Buffer> Wrap(void* data, int64_t bytes, std::shared_ptr<void> keep, bool writable = true);
  ~Buffer();
  char* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  int64_t size_ = 0;
  std::shared_ptr<void> keep_;
};

// A dense row-major tensor, one storage unit per element (sub-byte types take one byte), complex as (re, im) pairs.
// Strings live in `strings`, row-major. Copying shares the data.
struct Tensor {
  DType dtype = DType::kNone;
  std::vector<int64_t> shape;
  std::shared_ptr<Buffer> data;
  std::shared_ptr<std::vector<std::string>> strings;

  static Result<Tensor> Create(DType t, std::vector<int64_t> shape);  // error when the size overflows or can't be had
  int64_t elements() const;
  int64_t bytes() const { return elements() * ByteSize(dtype); }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data->data());
  }
  // Element i in flat order as double / int64, whatever the dtype (not strings). Complex
  // numbers can be set, to a real value, and are read as pairs.
  double GetDouble(int64_t i) const;
  int64_t GetInt(int64_t i) const;
  void SetDouble(int64_t i, double v);
  void SetInt(int64_t i, int64_t v);
};
// What ONNX calls a type: tensor, sequence of…, optional of….
struct ValueType {
  enum Kind { kTensor, kSequence, kOptional } kind = kTensor;
  DType dtype = DType::kNone;          // element type of the (innermost) tensor
  std::shared_ptr<ValueType> element;  // of a sequence or optional
};

// Absent (an optional without a value), a tensor, or a sequence of values.
struct Value {
  enum Kind { kAbsent, kTensor, kSequence } kind = kAbsent;
  Tensor tensor;
  std::vector<Value> items;
  Value() = default;
  Value(Tensor t) : kind(kTensor), tensor(std::move(t)) {}  // NOLINT
};

// Largest absolute and relative difference, and whether |a-b| <= atol + rtol*|b| everywhere (numpy.testing's rule; NaN
// equals NaN, infinities by sign; integers, bools and strings exactly). `where` names the first differing element.
struct Difference {
  bool ok = true;
  double max_abs = 0, max_rel = 0;
  std::string where;
};
Difference Compare(const Value& got, const Value& expected, double rtol, double atol);

// .npy files (versions 1–3, C order or Fortran order on reading; bf16/f8 as uint16/uint8 with a note in the header on writing).
Result<Tensor> ReadNpy(const std::string& path);
Status WriteNpy(const std::string& path, const Tensor& t);

}  // namespace headrace
