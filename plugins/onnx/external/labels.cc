// ai.onnx.ml: values looked up by keys. LabelEncoder, CategoryMapper, OneHotEncoder.
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "plugins/onnx/external/call.h"
#include "plugins/onnx/external/expand.h"

namespace onnx_ops::external {
namespace {

// Equal elements have equal keys: 0 and -0 do, all NaNs do.
std::string FloatKey(double d) {
  return d != d ? "nan" : d == 0 ? "0" : std::string(reinterpret_cast<const char*>(&d), sizeof d);
}
std::string KeyOf(const hr_value& v, int64_t i) {
  if (v.dtype == HR_STRING) return String(v, i);
  return IsFloat(v.dtype) ? FloatKey(ToDouble(v, i)) : std::to_string(ToInt(v, i));
}

using Table = std::unordered_map<std::string, int64_t>;  // key → position
Table TableOf(const std::vector<std::string>& keys) {
  Table t;
  for (size_t i = 0; i < keys.size(); ++i) t[keys[i]] = static_cast<int64_t>(i);
  return t;
}
std::vector<std::string> IntKeys(const std::vector<int64_t>& list) {
  std::vector<std::string> keys;
  for (int64_t v : list) keys.push_back(std::to_string(v));
  return keys;
}

// Positions of the input's elements in the table, -1 where they are missing.
std::vector<int64_t> LookUp(const hr_value& x, const Table& t) {
  std::vector<int64_t> at(static_cast<size_t>(Count(ShapeOf(x))));
  for (size_t i = 0; i < at.size(); ++i) {
    const auto found = t.find(KeyOf(x, static_cast<int64_t>(i)));
    at[i] = found == t.end() ? -1 : found->second;
  }
  return at;
}

void WriteStrings(Call& call, const Shape& shape, const std::vector<int64_t>& at,
                  const std::vector<std::string>& values, const std::string& otherwise) {
  std::vector<std::string> out;
  for (int64_t a : at) out.push_back(a < 0 ? otherwise : values[static_cast<size_t>(a)]);
  call.MakeStrings(call.Output("Y"), shape, out);
}
void WriteInts(Call& call, const Shape& shape, const std::vector<int64_t>& at, const std::vector<int64_t>& values,
               int64_t otherwise) {
  int64_t* y = call.Make<int64_t>("Y", HR_I64, shape);
  for (size_t i = 0; i < at.size(); ++i) y[i] = at[i] < 0 ? otherwise : values[static_cast<size_t>(at[i])];
}

// Classes as strings, each the number of its place, either way round.
void Mapped(Call& call, const std::vector<std::string>& names, const std::vector<int64_t>& numbers) {
  const hr_value& x = call.Tensor("X");
  Require(names.size() == numbers.size(), "the two lists of categories differ in length");
  if (x.dtype == HR_STRING)
    return WriteInts(call, ShapeOf(x), LookUp(x, TableOf(names)), numbers, call.Int("default_int64", -1));
  WriteStrings(call, ShapeOf(x), LookUp(x, TableOf(IntKeys(numbers))), names, call.Str("default_string", "_Unused"));
}

}  // namespace

HR_ONNX_FUNCTION(onnx_category_mapper) { Mapped(call, call.StrList("cats_strings"), call.IntList("cats_int64s")); }

HR_ONNX_FUNCTION(onnx_label_encoder) {
  const hr_value& x = call.Tensor("X");
  if (call.Has("classes_strings")) {  // version 1
    const std::vector<std::string> names = call.StrList("classes_strings");
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < names.size(); ++i) numbers.push_back(static_cast<int64_t>(i));
    return Mapped(call, names, numbers);
  }
  std::vector<std::string> keys = call.StrList("keys_strings");
  if (call.Has("keys_int64s")) keys = IntKeys(call.IntList("keys_int64s"));
  if (call.Has("keys_floats"))
    for (double d : call.FloatList("keys_floats")) keys.push_back(FloatKey(d));
  if (const hr_value* t = call.Find("keys_tensor"))
    for (int64_t i = 0; i < Count(ShapeOf(*t)); ++i) keys.push_back(KeyOf(*t, i));
  const bool ints = call.Has("keys_int64s"), strings = call.Has("keys_strings"), floats = call.Has("keys_floats");
  if ((strings && x.dtype != HR_STRING) || (ints && (x.dtype == HR_STRING || IsFloat(x.dtype))) ||
      (floats && !IsFloat(x.dtype)))
    Fail(std::string("the keys do not fit input of type ") + TypeName(x.dtype));
  const std::vector<int64_t> at = LookUp(x, TableOf(keys));
  auto fits = [&](size_t values) { Require(values == keys.size(), "there must be one value for each key"); };
  const Shape shape = ShapeOf(x);
  if (const hr_value* values = call.Find("values_tensor")) {
    fits(static_cast<size_t>(Count(ShapeOf(*values))));
    const hr_value* otherwise = call.Find("default_tensor");
    Require(!otherwise || (otherwise->dtype == values->dtype && Count(ShapeOf(*otherwise)) == 1),
            "default_tensor must be one value of the values' type");
    if (values->dtype == HR_STRING) {
      std::vector<std::string> list;
      for (size_t i = 0; i < keys.size(); ++i) list.push_back(String(*values, static_cast<int64_t>(i)));
      return WriteStrings(call, shape, at, list, otherwise ? String(*otherwise, 0) : "_Unused");
    }
    char* y = call.Make<char>("Y", values->dtype, shape);
    const int64_t size = Size(values->dtype);
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t to = static_cast<int64_t>(i);
      if (at[i] >= 0)
        std::memcpy(y + to * size, static_cast<const char*>(values->data) + at[i] * size, static_cast<size_t>(size));
      else if (otherwise) std::memcpy(y + to * size, otherwise->data, static_cast<size_t>(size));
      else Store(values->dtype, y, to, IsFloat(values->dtype) ? -0.0 : -1);
    }
    return;
  }
  if (call.Has("values_strings")) {
    fits(call.StrList("values_strings").size());
    return WriteStrings(call, shape, at, call.StrList("values_strings"), call.Str("default_string", "_Unused"));
  }
  if (call.Has("values_int64s")) {
    fits(call.IntList("values_int64s").size());
    return WriteInts(call, shape, at, call.IntList("values_int64s"), call.Int("default_int64", -1));
  }
  const std::vector<double> values = call.FloatList("values_floats");
  fits(values.size());
  float* y = call.Make<float>("Y", HR_F32, shape);
  for (size_t i = 0; i < at.size(); ++i)
    y[i] = static_cast<float>(at[i] < 0 ? call.Float("default_float", -0.0) : values[static_cast<size_t>(at[i])]);
}

HR_ONNX_FUNCTION(onnx_one_hot_encoder) {
  const hr_value& x = call.Tensor("X");
  const bool strings = x.dtype == HR_STRING;
  const std::vector<std::string> keys = strings ? call.StrList("cats_strings") : IntKeys(call.IntList("cats_int64s"));
  Require(!keys.empty(), "the categories do not fit the input's type");
  const Table table = TableOf(keys);
  Shape shape = ShapeOf(x);
  const int64_t n = Count(shape), width = static_cast<int64_t>(keys.size());
  shape.push_back(width);
  float* y = call.Make<float>("Y", HR_F32, shape);
  for (int64_t i = 0; i < n; ++i) {
    const auto found = table.find(strings ? String(x, i) : std::to_string(ToInt(x, i)));
    if (found == table.end() && call.Int("zeros", 1) == 0) Fail("an element is in no category");
    for (int64_t k = 0; k < width; ++k) y[i * width + k] = found != table.end() && found->second == k ? 1.0f : 0.0f;
  }
}

void RegisterLabels(Registrar& r) {
  for (const char* f : {"category_mapper", "label_encoder", "one_hot_encoder"}) AddFunction(r, f);
  Add(r, "ai.onnx.ml.CategoryMapper", "category_mapper");
  Add(r, "ai.onnx.ml.LabelEncoder", "label_encoder");
  Add(r, "ai.onnx.ml.OneHotEncoder", "one_hot_encoder");
}

}  // namespace onnx_ops::external
