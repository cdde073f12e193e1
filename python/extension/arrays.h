// Arrays of NumPy, PyTorch, JAX and whoever speaks the buffer protocol or DLPack, as hr_array: no copy.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <vector>

#include "ir/base/dtype.h"
#include "ir/base/value.h"
#include "plugins/api/headrace_array.h"

namespace headrace::python {

namespace nb = nanobind;

// An argument, borrowed for the time of one call.
class ArrayArgument {
 public:
  ArrayArgument() = default;
  ~ArrayArgument();
  ArrayArgument(const ArrayArgument&) = delete;
  ArrayArgument& operator=(const ArrayArgument&) = delete;
  // `expected`: what a Python number becomes. False when `object` is no array (no Python error is set then).
  bool Take(nb::handle object, DType expected);
  const hr_array& array() const { return array_; }

 private:
  static constexpr int kInline = 8;
  bool TakeBuffer(nb::handle object);
  bool TakeDlpack(nb::handle object);
  bool TakeExchanged(nb::handle object);  // by the table of C functions that DLPack 1.2 lets a type carry: no Python is run
  bool TakeNumber(nb::handle object, DType expected);
  bool TakeSmallFloats(nb::handle object);  // NumPy arrays of ml_dtypes' types, which no protocol names
  int64_t* Room(int32_t rank);              // for 2 * rank numbers

  hr_array array_ = {};
  Py_buffer buffer_ = {};
  bool has_buffer_ = false;
  nb::ndarray<nb::ro> dlpack_;
  nb::object keep_;
  std::array<int64_t, 2 * kInline> small_;
  std::vector<int64_t> large_;
  alignas(16) std::array<char, 16> number_;
};

// Who a result is made for: what kind of array the arguments were.
enum class ArrayKind { kNumpy, kTorch };
ArrayKind KindOf(nb::handle object);

// Says of an array that a program has written that it is no longer what it was: PyTorch counts that for its gradients.
void MarkWritten(nb::handle array);

// A new array, not zeroed; `memory` is its data.
nb::object NewArray(ArrayKind kind, DType dtype, int32_t rank, const int64_t* shape, void** memory);

// Any value there and back; tensors are copied. None is an absent one, lists are sequences, strings NumPy arrays of objects.
Value ToValue(nb::handle object, const ValueType& type, const std::string& name);
nb::object FromValue(const Value& v);

}  // namespace headrace::python
