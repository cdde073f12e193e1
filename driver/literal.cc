#include "driver/literal.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ir/base/status.h"

namespace headrace {
namespace {

using Json = nlohmann::json;

// JSON, and what it has no words for.
Json Parse(const std::string& text, DType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "inf" || text == "+inf") return kInfinity;
  if (text == "-inf") return -kInfinity;
  if (text == "nan") return std::nan("");
  Json j = Json::parse(text, nullptr, false);
  if (type == DType::kString && !j.is_string() && !j.is_array()) return text;
  return j;
}

// The sizes by the first element of each list; whether the others agree shows when elements are collected.
std::vector<int64_t> ShapeOf(const Json& j) {
  std::vector<int64_t> shape;
  for (const Json* at = &j; at->is_array(); at = &(*at)[0]) {
    shape.push_back(static_cast<int64_t>(at->size()));
    if (at->empty()) break;
  }
  return shape;
}

bool Collect(const Json& j, const std::vector<int64_t>& shape, size_t depth, std::vector<const Json*>* out) {
  if (depth == shape.size()) {
    out->push_back(&j);
    return !j.is_array();
  }
  if (!j.is_array() || static_cast<int64_t>(j.size()) != shape[depth]) return false;
  for (const Json& item : j)
    if (!Collect(item, shape, depth + 1, out)) return false;
  return true;
}

DType TypeOf(const std::vector<const Json*>& elements) {
  DType type = DType::kI64;
  for (const Json* e : elements) {
    if (e->is_string()) return DType::kString;
    if (e->is_boolean()) return DType::kBool;
    if (e->is_number_float()) type = DType::kF32;
  }
  return type;
}

// False: not a value of this type.
bool Set(const Tensor& t, int64_t i, const Json& v) {
  Tensor& to = const_cast<Tensor&>(t);
  if (t.dtype == DType::kString) {
    if (v.is_string()) (*t.strings)[i] = v.get<std::string>();
    return v.is_string();
  }
  if (t.dtype == DType::kBool) {
    if (v.is_boolean()) to.SetInt(i, v.get<bool>());
    return v.is_boolean();
  }
  if (IsFloat(t.dtype)) {
    if (v.is_number()) to.SetDouble(i, v.get<double>());
    return v.is_number();
  }
  if (!IsInteger(t.dtype) || !v.is_number_integer()) return false;
  if (v.is_number_unsigned()) {
    const uint64_t n = v.get<uint64_t>();
    if (n > HighestInt(t.dtype)) return false;
    to.SetInt(i, static_cast<int64_t>(n));
  } else {
    const int64_t n = v.get<int64_t>();
    if (n < LowestInt(t.dtype)) return false;
    to.SetInt(i, n);
  }
  return true;
}

}  // namespace

Result<Tensor> ParseLiteral(const std::string& text, DType type) {
  const char* hint = "a number, true, [0, 1] or [[1, 2], [3, 4]]; a file is NAME=@FILE.npy or NAME=@FILE.npz:ARRAY";
  const Json j = Parse(text, type);
  if (j.is_discarded() || j.is_null() || j.is_object()) return UsageError("E0462", "'" + text + "' is not a value", hint);
  const std::vector<int64_t> shape = ShapeOf(j);
  std::vector<const Json*> elements;
  if (!Collect(j, shape, 0, &elements))
    return UsageError("E0462", "'" + text + "' is not a value", "lists at one depth have the same length");
  if (IsComplex(type)) return UnsupportedError("E0462", "complex numbers can't be written here", "save them as .npy");
  HR_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(type == DType::kNone ? TypeOf(elements) : type, shape));
  for (size_t i = 0; i < elements.size(); ++i)
    if (!Set(t, static_cast<int64_t>(i), *elements[i]))
      return UsageError("E0462", "'" + elements[i]->dump(-1, ' ', false, Json::error_handler_t::replace) + "' is not a value of type " +
                            std::string(DTypeName(t.dtype)),
                        IsInteger(t.dtype) ? "integers from " + std::to_string(LowestInt(t.dtype)) + " to " +
                                                 std::to_string(HighestInt(t.dtype))
                                           : "");
  return t;
}

}  // namespace headrace
