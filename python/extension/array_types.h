// Element types as the buffer protocol, DLPack, NumPy and ml_dtypes name them, and tensors that describe themselves.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>

#include "ir/base/dtype.h"

namespace headrace::python {

namespace nb = nanobind;

// kNone: a type that programs don't have.
DType FromFormat(const char* format, Py_ssize_t item);  // of the struct module, native
DType FromDlpack(nb::dlpack::dtype t);
std::optional<nb::dlpack::dtype> ToDlpack(DType t);  // of the types that every library has; nullopt: of others

// Types that NumPy lacks: ml_dtypes' names for them, and NumPy's types of as many bytes.
struct SmallFloat {
  DType dtype;
  const char *name, *storage;  // of ml_dtypes, of NumPy
};
const SmallFloat* FindSmallFloat(DType t);
const SmallFloat* FindSmallFloat(const std::string& name);

// Describes an object without a call of Python, as DLPack 1.2 lets a type do; not 0 where it can't.
using Describe = int (*)(void* object, nb::dlpack::dltensor* out);
// Null where the object's type has no such function. Types are remembered: the two that a program meets are torch's Tensor and Parameter.
Describe DescriberOf(nb::handle object);

nb::object ShapeTuple(int32_t rank, const int64_t* shape);

}  // namespace headrace::python
