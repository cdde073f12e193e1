// Any value of Python's as one of the IR's, and back.
#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "python/extension/array_types.h"
#include "python/extension/arrays.h"

namespace headrace::python {
namespace {

bool IsStrings(nb::handle object) {
  if (!nb::hasattr(object, "dtype")) return false;
  const nb::object kind = nb::getattr(object.attr("dtype"), "kind", nb::none());
  if (!nb::isinstance<nb::str>(kind)) return false;
  const std::string k = nb::cast<std::string>(kind);
  return k == "U" || k == "S" || k == "O" || k == "T";
}

Tensor StringTensor(nb::handle array) {
  Tensor t;
  t.dtype = DType::kString;
  for (nb::handle d : array.attr("shape")) t.shape.push_back(nb::cast<int64_t>(d));
  t.strings = std::make_shared<std::vector<std::string>>();
  for (nb::handle s : array.attr("ravel")().attr("tolist")())
    t.strings->push_back(nb::isinstance<nb::bytes>(s) ? std::string(nb::cast<nb::bytes>(s).c_str(), nb::cast<nb::bytes>(s).size())
                                                      : nb::cast<std::string>(nb::str(s)));
  return t;
}

Tensor CopyTensor(const hr_array& a) {
  auto made = Tensor::Create(static_cast<DType>(a.dtype), std::vector<int64_t>(a.shape, a.shape + a.rank));
  if (!made.ok()) throw std::bad_alloc();
  const int64_t item = ByteSize(made->dtype);
  std::vector<int64_t> at(static_cast<size_t>(a.rank), 0);
  for (int64_t i = 0, n = made->elements(); i < n; ++i) {
    int64_t offset = a.strides ? 0 : i;
    for (int32_t d = 0; a.strides && d < a.rank; ++d) offset += at[static_cast<size_t>(d)] * a.strides[d];
    std::memcpy(made->data->data() + i * item, static_cast<const char*>(a.data) + offset * item, static_cast<size_t>(item));
    for (int32_t d = a.rank - 1; d >= 0 && ++at[static_cast<size_t>(d)] == a.shape[d]; --d) at[static_cast<size_t>(d)] = 0;
  }
  return std::move(*made);
}

}  // namespace

Value ToValue(nb::handle object, const ValueType& type, const std::string& name) {
  if (object.is_none()) return Value();
  if (type.kind == ValueType::kOptional && type.element) return ToValue(object, *type.element, name);  // there: the value itself
  const ValueType& inner = type.kind == ValueType::kTensor || !type.element ? type : *type.element;
  if (type.kind == ValueType::kSequence || nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object)) {
    Value v;
    v.kind = Value::kSequence;
    int k = 0;
    for (nb::handle item : object) v.items.push_back(ToValue(item, inner, name + "[" + std::to_string(k++) + "]"));
    return v;
  }
  if (nb::isinstance<nb::str>(object) || IsStrings(object))
    return Value(StringTensor(nb::module_::import_("numpy").attr("asarray")(object)));
  ArrayArgument a;
  if (!a.Take(object, inner.dtype))
    throw nb::type_error(("'" + name + "' is no array: " + nb::cast<std::string>(nb::repr(object.type()))).c_str());
  if (a.array().device_type != HR_DEVICE_CPU)
    throw nb::value_error(("'" + name + "' is not in host memory").c_str());
  return Value(CopyTensor(a.array()));
}

nb::object FromValue(const Value& v) {
  if (v.kind == Value::kAbsent) return nb::none();
  if (v.kind == Value::kSequence) {
    nb::list all;
    for (const Value& item : v.items) all.append(FromValue(item));
    return all;
  }
  const Tensor& t = v.tensor;
  if (t.dtype == DType::kString) {
    nb::list all;
    for (const std::string& s : *t.strings) all.append(nb::str(s.c_str(), s.size()));
    nb::object numpy = nb::module_::import_("numpy");
    return numpy.attr("array")(all, nb::arg("dtype") = "object")
        .attr("reshape")(ShapeTuple(static_cast<int32_t>(t.shape.size()), t.shape.data()));
  }
  void* memory = nullptr;
  nb::object made = NewArray(ArrayKind::kNumpy, t.dtype, static_cast<int32_t>(t.shape.size()), t.shape.data(), &memory);
  std::memcpy(memory, t.data->data(), static_cast<size_t>(t.bytes()));
  return made;
}

}  // namespace headrace::python
