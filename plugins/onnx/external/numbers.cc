// Det, BitCast.
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

void RegisterNumbers(Registrar& r) {
  for (const char* f : {"det", "bitcast"}) AddFunction(r, f);
  Add(r, "Det", "det");
  // The output's type is the program's, whose numbers are not ONNX's.
  r.impl("BitCast", "external", nullptr, [](const Node& n) {
    std::string text = CallText(n, "bitcast");
    return text.insert(text.find("{inputs = ") + 1,
                       "element_type = " + std::to_string(n.output("output")->dtype) + ", ");
  });
}

}  // namespace onnx_ops::external
