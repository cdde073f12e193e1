// Det, BitCast, Multinomial.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugins/onnx/external/call.h"
#include "plugins/onnx/external/expand.h"

namespace onnx_ops::external {
namespace {

// By elimination with row pivots, in f64.
double Determinant(std::vector<double> a, int64_t n) {
  auto at = [&](int64_t i, int64_t j) -> double& { return a[static_cast<size_t>(i * n + j)]; };
  double det = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t p = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::fabs(at(i, k)) > std::fabs(at(p, k))) p = i;
    if (at(p, k) == 0) return 0;
    if (p != k) {
      for (int64_t j = 0; j < n; ++j) std::swap(at(k, j), at(p, j));
      det = -det;
    }
    det *= at(k, k);
    for (int64_t i = k + 1; i < n; ++i) {
      const double f = at(i, k) / at(k, k);
      if (f != 0)
        for (int64_t j = k + 1; j < n; ++j) at(i, j) -= f * at(k, j);
    }
  }
  return det;
}

// A counter-based generator: a pure function of seed and place (SplitMix64's finaliser).
double Uniform(uint64_t seed, uint64_t i) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + (i + 1) * 0xd1b54a32d192ed03u;
  for (int round = 0; round < 2; ++round) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return static_cast<double>(z >> 11) * 0x1p-53;
}

}  // namespace

HR_ONNX_FUNCTION(onnx_det) {
  const hr_value& x = call.Tensor("X");
  Shape shape = ShapeOf(x);
  Require(shape.size() >= 2 && shape.back() == shape[shape.size() - 2],
          "Det needs square matrices");
  const int64_t n = shape.back();
  shape.resize(shape.size() - 2);
  const int64_t matrices = Count(shape);
  void* y = call.Make<void>("Y", x.dtype, shape);
  for (int64_t m = 0; m < matrices; ++m) {
    std::vector<double> a(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n * n; ++i) a[static_cast<size_t>(i)] = ToDouble(x, m * n * n + i);
    Store(x.dtype, y, m, Determinant(std::move(a), n));
  }
}

HR_ONNX_FUNCTION(onnx_bitcast) {
  const hr_value& x = call.Tensor("input");
  const int32_t type = static_cast<int32_t>(call.Int("element_type", 0));
  Require(x.dtype != HR_STRING && type != HR_STRING && Size(x.dtype) == Size(type),
          "BitCast needs types of the same size");
  const Shape shape = ShapeOf(x);
  void* y = call.Make<void>("output", type, shape);
  const int64_t bytes = Count(shape) * Size(type);
  if (bytes > 0) std::memcpy(y, x.data, static_cast<size_t>(bytes));
}

// Draws classes from unnormalised log-probabilities.
HR_ONNX_FUNCTION(onnx_multinomial) {
  const hr_value& x = call.Tensor("input");
  Require(x.rank == 2 && IsFloat(x.dtype), "Multinomial needs a matrix of log-probabilities");
  const int64_t batches = x.shape[0], classes = x.shape[1], samples = call.Int("sample_size", 1);
  Require(samples >= 0 && (classes > 0 || samples * batches == 0),
          "Multinomial needs classes to draw from");
  const int32_t type = call.Int("dtype", 6) == 7 ? HR_I64 : HR_I32;
  const double seed = call.Float("seed", 0);
  uint64_t bits;
  std::memcpy(&bits, &seed, sizeof bits);
  void* y = call.Make<void>("output", type, {batches, samples});
  for (int64_t b = 0; b < batches; ++b) {
    double top = -INFINITY;
    for (int64_t c = 0; c < classes; ++c) top = std::max(top, ToDouble(x, b * classes + c));
    std::vector<double> sum(static_cast<size_t>(classes));
    double total = 0;
    for (int64_t c = 0; c < classes; ++c)
      sum[static_cast<size_t>(c)] = total += std::exp(ToDouble(x, b * classes + c) - top);
    for (int64_t s = 0; s < samples; ++s) {
      const double u = Uniform(bits, static_cast<uint64_t>(b * samples + s)) * total;
      const int64_t c = std::upper_bound(sum.begin(), sum.end(), u) - sum.begin();
      Store(type, y, b * samples + s, static_cast<double>(std::min(c, classes - 1)));
    }
  }
}

void RegisterNumbers(Registrar& r) {
  for (const char* f : {"det", "bitcast", "multinomial"}) AddFunction(r, f);
  Add(r, "Det", "det");
  Add(r, "Multinomial", "multinomial");
  // The output's type is the program's, whose numbers are not ONNX's.
  r.impl("BitCast", "external", nullptr, [](const Node& n) {
    std::string text = CallText(n, "bitcast");
    return text.insert(text.find("{inputs = ") + 1,
                       "element_type = " + std::to_string(n.output("output")->dtype) + ", ");
  });
}

}  // namespace onnx_ops::external
