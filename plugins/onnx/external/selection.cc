// Elements chosen by their values: NonZero, Compress, TopK.
#include <cstring>
#include <vector>

#include "plugins/onnx/external/call.h"
#include "plugins/onnx/external/expand.h"
#include "plugins/onnx/external/order.h"

namespace onnx_ops::external {
namespace {

// Whether an element differs from zero, by its bytes: -0 of a float is zero, NaN is not.
bool IsNonZero(const hr_value& v, int64_t i) {
  if (v.dtype == HR_STRING) return static_cast<const hr_string*>(v.data)[i].size > 0;
  if (v.dtype == HR_C64 || v.dtype == HR_C128) {
    hr_value parts = v;
    parts.dtype = v.dtype == HR_C64 ? HR_F32 : HR_F64;
    return ToDouble(parts, 2 * i) != 0 || ToDouble(parts, 2 * i + 1) != 0;
  }
  return IsFloat(v.dtype) ? ToDouble(v, i) != 0 : ToInt(v, i) != 0;
}

}  // namespace

HR_ONNX_FUNCTION(onnx_nonzero) {
  const hr_value& x = call.Tensor("X");
  const Shape shape = ShapeOf(x);
  const int64_t n = Count(shape), rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> at;
  for (int64_t i = 0; i < n; ++i)
    if (IsNonZero(x, i)) at.push_back(i);
  const int64_t found = static_cast<int64_t>(at.size());
  int64_t* y = call.Make<int64_t>("Y", HR_I64, {rank, found});
  int64_t stride = 1;
  for (int64_t d = rank; d-- > 0; stride *= shape[static_cast<size_t>(d)])
    for (int64_t k = 0; k < found; ++k)
      y[d * found + k] = at[static_cast<size_t>(k)] / stride % shape[static_cast<size_t>(d)];
}

HR_ONNX_FUNCTION(onnx_compress) {
  const hr_value& x = call.Tensor("input");
  const hr_value& condition = call.Tensor("condition");
  Require(condition.rank == 1 && condition.dtype == HR_BOOL, "condition must be a bool vector");
  const bool flat = !call.Has("axis");
  Shape shape = ShapeOf(x);
  if (flat) shape = {Count(shape)};
  const int64_t axis = flat ? 0 : WrapAxis(call.Int("axis", 0), static_cast<int64_t>(shape.size()));
  const Split3 s = SplitAt(shape, axis);
  Require(condition.shape[0] <= s.n, "condition is longer than the input");
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < condition.shape[0]; ++i)
    if (static_cast<const uint8_t*>(condition.data)[i]) chosen.push_back(i);
  shape[static_cast<size_t>(axis)] = static_cast<int64_t>(chosen.size());
  const int out = call.Output("output");
  if (x.dtype == HR_STRING) {
    std::vector<std::string> strings;
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t k : chosen)
        for (int64_t i = 0; i < s.inner; ++i) strings.push_back(String(x, (o * s.n + k) * s.inner + i));
    return call.MakeStrings(out, shape, strings);
  }
  const int64_t bytes = s.inner * Size(x.dtype);
  char* to = static_cast<char*>(call.Make(out, x.dtype, shape));
  if (bytes == 0) return;
  const char* from = static_cast<const char*>(x.data);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t k : chosen) {
      std::memcpy(to, from + (o * s.n + k) * bytes, static_cast<size_t>(bytes));
      to += bytes;
    }
}

HR_ONNX_FUNCTION(onnx_topk) {
  const hr_value& x = call.Tensor("X");
  Shape shape = ShapeOf(x);
  Require(!shape.empty(), "TopK needs a dimension");
  const int64_t axis = WrapAxis(call.Int("axis", -1), x.rank);
  const int64_t k = call.Find("K") ? call.Scalar("K", 0) : call.Int("k", -1);
  const Split3 s = SplitAt(shape, axis);
  if (k < 0 || k > s.n)
    Fail("K is " + std::to_string(k) + ", but axis " + std::to_string(axis) + " has " + std::to_string(s.n) +
         " elements");
  shape[static_cast<size_t>(axis)] = k;
  const int values_port = call.Output("Values"), indices_port = call.Output("Indices");
  char* values = values_port < 0 ? nullptr : static_cast<char*>(call.Make(values_port, x.dtype, shape));
  int64_t* indices = indices_port < 0 ? nullptr : static_cast<int64_t*>(call.Make(indices_port, HR_I64, shape));
  const int64_t size = Size(x.dtype);
  const bool largest = call.Int("largest", 1) != 0, sorted = call.Int("sorted", 1) != 0;
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; ++i) {
      const int64_t first = o * s.n * s.inner + i;
      const std::vector<int64_t> order = Order(call, x, first, s.inner, s.n, k, largest, sorted);
      for (int64_t j = 0; j < k; ++j) {
        const int64_t from = order[static_cast<size_t>(j)], to = (o * k + j) * s.inner + i;
        if (values) std::memcpy(values + to * size, static_cast<const char*>(x.data) + (first + from * s.inner) * size, static_cast<size_t>(size));
        if (indices) indices[to] = from;
      }
    }
}

void RegisterSelection(Registrar& r) {
  for (const char* f : {"nonzero", "compress", "topk"}) AddFunction(r, f);
  Add(r, "NonZero", "nonzero");
  Add(r, "Compress", "compress");
  Add(r, "TopK", "topk");
}

}  // namespace onnx_ops::external
