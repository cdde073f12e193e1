#include "python/extension/arrays.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <string>

#include "python/extension/array_types.h"

namespace headrace::python {

ArrayArgument::~ArrayArgument() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

int64_t* ArrayArgument::Room(int32_t rank) {
  if (rank <= kInline) return small_.data();
  large_.resize(2 * static_cast<size_t>(rank));
  return large_.data();
}

bool ArrayArgument::Take(nb::handle object, DType expected) {
  array_.device_type = HR_DEVICE_CPU;
  if (PyFloat_CheckExact(object.ptr()) || PyLong_CheckExact(object.ptr()) || PyBool_Check(object.ptr()) ||
      PyComplex_CheckExact(object.ptr()))
    return TakeNumber(object, expected);
  if (PyObject_CheckBuffer(object.ptr()) && TakeBuffer(object)) return true;
  return TakeExchanged(object) || TakeSmallFloats(object) || TakeDlpack(object);
}

bool ArrayArgument::TakeBuffer(nb::handle object) {
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    PyErr_Clear();
    return false;
  }
  has_buffer_ = true;
  const DType t = FromFormat(buffer_.format, buffer_.itemsize);
  bool whole = t != DType::kNone;
  int64_t* shape = Room(buffer_.ndim);
  int64_t* strides = shape + buffer_.ndim;
  for (int d = 0; d < buffer_.ndim && whole; ++d) {
    shape[d] = buffer_.shape[d];
    whole = buffer_.strides[d] % buffer_.itemsize == 0;
    strides[d] = buffer_.strides[d] / buffer_.itemsize;
  }
  if (!whole) {
    PyBuffer_Release(&buffer_);
    has_buffer_ = false;
    return false;
  }
  array_.data = buffer_.buf;
  array_.shape = shape;
  array_.strides = strides;
  array_.dtype = static_cast<int32_t>(t);
  array_.rank = buffer_.ndim;
  array_.flags = buffer_.readonly ? HR_ARRAY_READ_ONLY : 0;
  return true;
}

namespace {

// A tensor of torch's that only tells its shape, while something is traced.
bool HasNoMemory(const void* data, int32_t rank, const int64_t* shape) {
  bool elements = true;
  for (int32_t d = 0; d < rank; ++d) elements = elements && shape[d] != 0;
  return elements && !data;
}

// Whether torch's tensor says so of itself: elements of one whose conjugate or negative bit is set are not what is in memory.
bool Says(nb::handle object, PyObject* question) {
  const nb::object answer = nb::steal(PyObject_CallMethodObjArgs(object.ptr(), question, nullptr));
  if (!answer.is_valid()) PyErr_Clear();
  return answer.ptr() == Py_True;
}

}  // namespace

bool ArrayArgument::TakeExchanged(nb::handle object) {
  static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  static PyObject* const is_conj = PyUnicode_InternFromString("is_conj");
  const auto describe = DescriberOf(object);
  if (!describe) return false;
  nb::dlpack::dltensor t;
  if (describe(object.ptr(), &t) != 0) {  // a tensor that has no plain elements: the slow way says so, or finds one
    PyErr_Clear();
    return false;
  }
  const DType dtype = FromDlpack(t.dtype);
  if (dtype == DType::kNone || t.device.device_type != HR_DEVICE_CPU || HasNoMemory(t.data, t.ndim, t.shape)) return false;
  if ((IsFloat(dtype) || IsComplex(dtype)) && (Says(object, is_neg) || (IsComplex(dtype) && Says(object, is_conj)))) {
    keep_ = object.attr("detach")().attr("resolve_conj")().attr("resolve_neg")();
    if (describe(keep_.ptr(), &t) != 0) {
      PyErr_Clear();
      return false;
    }
    array_.flags = HR_ARRAY_READ_ONLY;  // what is written to a copy would be lost
  }
  int64_t* shape = Room(t.ndim);  // the table's own is for the time of that call alone
  for (int32_t d = 0; d < t.ndim; ++d) {
    shape[d] = t.shape[d];
    shape[t.ndim + d] = t.strides[d];
  }
  array_.data = static_cast<char*>(t.data) + t.byte_offset;
  array_.shape = shape;
  array_.strides = shape + t.ndim;
  array_.dtype = static_cast<int32_t>(dtype);
  array_.rank = t.ndim;
  return true;
}

bool ArrayArgument::TakeDlpack(nb::handle object) {
  if (!nb::hasattr(object, "__dlpack__")) return false;
  keep_ = nb::borrow(object);
  // A tensor that autograd follows shows itself only detached; this code runs outside of autograd.
  if (nb::hasattr(object, "requires_grad") && nb::cast<bool>(object.attr("requires_grad"))) keep_ = object.attr("detach")();
  nb::ndarray<> writable;
  bool read_only = false;
  if (nb::try_cast(keep_, writable)) {
    dlpack_ = nb::ndarray<nb::ro>(writable);
  } else if (nb::try_cast(keep_, dlpack_)) {
    read_only = true;
  } else {
    return false;
  }
  const DType t = FromDlpack(dlpack_.dtype());
  if (t == DType::kNone) return false;
  const int32_t rank = static_cast<int32_t>(dlpack_.ndim());
  int64_t* shape = Room(rank);
  for (int32_t d = 0; d < rank; ++d) {
    shape[d] = static_cast<int64_t>(dlpack_.shape(static_cast<size_t>(d)));
    shape[rank + d] = dlpack_.stride(static_cast<size_t>(d));
  }
  if (dlpack_.device_type() == HR_DEVICE_CPU && HasNoMemory(dlpack_.data(), rank, shape)) return false;
  array_.data = const_cast<void*>(static_cast<const void*>(dlpack_.data()));
  array_.shape = shape;
  array_.strides = shape + rank;
  array_.dtype = static_cast<int32_t>(t);
  array_.rank = rank;
  array_.device_type = dlpack_.device_type();
  array_.device_id = dlpack_.device_id();
  array_.flags = read_only ? HR_ARRAY_READ_ONLY : 0;
  return true;
}

bool ArrayArgument::TakeSmallFloats(nb::handle object) {
  if (!nb::hasattr(object, "dtype")) return false;
  const nb::object name = nb::getattr(object.attr("dtype"), "name", nb::none());
  if (!nb::isinstance<nb::str>(name)) return false;
  const std::string text = nb::cast<std::string>(name);
  const SmallFloat* s = FindSmallFloat(text);
  if (!s) return false;
  // The upper bits of ml_dtypes' integers say nothing, and ours are sign-extended: these are converted, so not written to.
  const bool integer = IsInteger(s->dtype);
  keep_ = integer ? object.attr("astype")(s->storage) : object.attr("view")(s->storage);
  if (!TakeBuffer(keep_)) return false;
  array_.dtype = static_cast<int32_t>(s->dtype);
  if (integer) array_.flags = HR_ARRAY_READ_ONLY;
  return true;
}

bool ArrayArgument::TakeNumber(nb::handle object, DType expected) {
  const bool real = PyFloat_CheckExact(object.ptr()) || IsFloat(expected);
  if (IsComplex(expected)) {
    const double parts[2] = {PyComplex_RealAsDouble(object.ptr()), PyComplex_ImagAsDouble(object.ptr())};
    if (expected == DType::kC64) {
      const float single[2] = {static_cast<float>(parts[0]), static_cast<float>(parts[1])};
      std::memcpy(number_.data(), single, sizeof single);
    } else {
      std::memcpy(number_.data(), parts, sizeof parts);
    }
  } else {
    if (PyComplex_CheckExact(object.ptr()) || (PyFloat_CheckExact(object.ptr()) && !IsFloat(expected))) return false;
    auto storage = Buffer::Wrap(number_.data(), 16, nullptr);
    Tensor t;
    t.dtype = expected;
    t.data = storage;
    if (real) {
      t.SetDouble(0, PyFloat_AsDouble(object.ptr()));
    } else {
      int overflow = 0;
      long long v = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
      if (overflow > 0 && expected == DType::kU64) v = static_cast<long long>(PyLong_AsUnsignedLongLong(object.ptr()));
      else if (overflow != 0) PyErr_SetString(PyExc_OverflowError, "the number does not fit into 64 bits");
      t.SetInt(0, v);
      const bool negative = expected == DType::kU64 && overflow == 0 && v < 0;
      if ((expected != DType::kBool && t.GetInt(0) != v) || negative)
        PyErr_Format(PyExc_OverflowError, "Python integer %R out of bounds for %s", object.ptr(), std::string(DTypeName(expected)).c_str());
    }
  }
  if (PyErr_Occurred()) throw nb::python_error();
  array_.data = number_.data();
  array_.shape = small_.data();
  array_.strides = nullptr;
  array_.dtype = static_cast<int32_t>(expected);
  array_.rank = 0;
  array_.flags = HR_ARRAY_READ_ONLY;
  return true;
}

}  // namespace headrace::python
