// Unique: distinct elements, or distinct slices along an axis, with where they first were, their
// places and counts.
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "plugins/onnx/external/call.h"
#include "plugins/onnx/external/expand.h"
#include "plugins/onnx/external/order.h"

namespace onnx_ops::external {
namespace {

template <typename T>
int Compare(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}
// NaN is one value, larger than all others.
template <>
int Compare(const double& a, const double& b) {
  if (a != a || b != b) return (a != a) - (b != b);
  return a < b ? -1 : a > b ? 1 : 0;
}

// Compares slices i and j along the axis, element by element.
using Slices = std::function<int(int64_t, int64_t)>;

template <typename T>
Slices Comparison(std::vector<T> x, const Split3& s) {
  return [x = std::move(x), s](int64_t i, int64_t j) {
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t k = 0; k < s.inner; ++k)
        if (int c = Compare<T>(x[static_cast<size_t>((o * s.n + i) * s.inner + k)],
                               x[static_cast<size_t>((o * s.n + j) * s.inner + k)]))
          return c;
    return 0;
  };
}

Slices ComparisonOf(const hr_value& x, const Split3& s) {
  if (IsFloat(x.dtype)) return Comparison(Doubles(x), s);
  if (x.dtype == HR_STRING) {
    std::vector<std::string> strings;
    for (int64_t i = 0; i < s.outer * s.n * s.inner; ++i) strings.push_back(String(x, i));
    return Comparison(std::move(strings), s);
  }
  std::vector<int64_t> ints = Ints(x);
  if (x.dtype != HR_U64) return Comparison(std::move(ints), s);
  return Comparison(std::vector<uint64_t>(ints.begin(), ints.end()), s);
}

}  // namespace

HR_ONNX_FUNCTION(onnx_unique) {
  const hr_value& x = call.Tensor("X");
  Shape shape = ShapeOf(x);
  const bool flat = !call.Has("axis");
  if (flat) shape = {Count(shape)};
  const int64_t axis = flat ? 0 : WrapAxis(call.Int("axis", 0), static_cast<int64_t>(shape.size()));
  const Split3 s = SplitAt(shape, axis);
  const Slices compare = ComparisonOf(x, s);
  const bool numbers = s.outer * s.inner == 1 && x.dtype != HR_STRING;
  std::vector<int64_t> order = numbers ? Order(call, x, 0, 1, s.n, s.n, false) : std::vector<int64_t>(static_cast<size_t>(s.n));
  if (!numbers) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return compare(i, j) < 0; });
  }
  // Groups of equal slices in sorted order; each group's first member is its first occurrence.
  std::vector<int64_t> first, counts, group(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || compare(order[k - 1], order[k]) != 0) {
      first.push_back(order[k]);
      counts.push_back(0);
    }
    ++counts.back();
    group[static_cast<size_t>(order[k])] = static_cast<int64_t>(first.size()) - 1;
  }
  std::vector<int64_t> rank(first.size());  // output places in terms of groups
  std::iota(rank.begin(), rank.end(), 0);
  if (call.Int("sorted", 1) == 0)
    std::sort(rank.begin(), rank.end(),
              [&](int64_t a, int64_t b) { return first[static_cast<size_t>(a)] < first[static_cast<size_t>(b)]; });
  std::vector<int64_t> place(rank.size());
  for (size_t k = 0; k < rank.size(); ++k) place[static_cast<size_t>(rank[k])] = static_cast<int64_t>(k);
  const int64_t found = static_cast<int64_t>(rank.size());
  shape[static_cast<size_t>(axis)] = found;
  auto source = [&](int64_t o, int64_t k) {
    return (o * s.n + first[static_cast<size_t>(rank[static_cast<size_t>(k)])]) * s.inner;
  };
  if (x.dtype == HR_STRING) {
    std::vector<std::string> strings;
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t k = 0; k < found; ++k)
        for (int64_t i = 0; i < s.inner; ++i) strings.push_back(String(x, source(o, k) + i));
    call.MakeStrings(call.Output("Y"), shape, strings);
  } else {
    char* y = call.Make<char>("Y", x.dtype, shape);
    const int64_t size = Size(x.dtype);
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t k = 0; k < found; ++k, y += s.inner * size)
        if (s.inner > 0)
          std::memcpy(y, static_cast<const char*>(x.data) + source(o, k) * size, static_cast<size_t>(s.inner * size));
  }
  int64_t* indices = call.Make<int64_t>("indices", HR_I64, {found});
  int64_t* inverse = call.Make<int64_t>("inverse_indices", HR_I64, {s.n});
  int64_t* times = call.Make<int64_t>("counts", HR_I64, {found});
  for (int64_t k = 0; k < found; ++k) {
    const size_t g = static_cast<size_t>(rank[static_cast<size_t>(k)]);
    if (indices) indices[k] = first[g];
    if (times) times[k] = counts[g];
  }
  if (inverse)
    for (int64_t i = 0; i < s.n; ++i) inverse[i] = place[static_cast<size_t>(group[static_cast<size_t>(i)])];
}

void RegisterUnique(Registrar& r) {
  AddFunction(r, "unique");
  Add(r, "Unique", "unique");
}

}  // namespace onnx_ops::external
