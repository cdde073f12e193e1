// Det and its gradient, BitCast.
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

// The derivative of the determinant by each element. The inverse gives it unless the matrix is nearly
// singular; then every minor does.
std::vector<double> Cofactors(const std::vector<double>& matrix, int64_t n) {
  std::vector<double> a = matrix, inverse(a.size(), 0), out(a.size());
  auto at = [n](auto& m, int64_t i, int64_t j) -> auto& { return m[static_cast<size_t>(i * n + j)]; };
  for (int64_t i = 0; i < n; ++i) at(inverse, i, i) = 1;
  double smallest = HUGE_VAL, largest = 0;
  for (int64_t k = 0; k < n && smallest > 0; ++k) {
    int64_t p = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::fabs(at(a, i, k)) > std::fabs(at(a, p, k))) p = i;
    const double pivot = at(a, p, k);
    smallest = std::min(smallest, std::fabs(pivot));
    largest = std::max(largest, std::fabs(pivot));
    if (pivot == 0) break;
    for (int64_t j = 0; j < n; ++j) {
      std::swap(at(a, k, j), at(a, p, j));
      std::swap(at(inverse, k, j), at(inverse, p, j));
      at(a, k, j) /= pivot;
      at(inverse, k, j) /= pivot;
    }
    for (int64_t i = 0; i < n; ++i) {
      const double f = at(a, i, k);
      if (i == k || f == 0) continue;
      for (int64_t j = 0; j < n; ++j) {
        at(a, i, j) -= f * at(a, k, j);
        at(inverse, i, j) -= f * at(inverse, k, j);
      }
    }
  }
  if (n > 0 && smallest > 1e-6 * largest) {
    const double det = Determinant(matrix, n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) at(out, i, j) = det * at(inverse, j, i);
    return out;
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      std::vector<double> minor;
      for (int64_t r = 0; r < n; ++r)
        for (int64_t c = 0; c < n; ++c)
          if (r != i && c != j) minor.push_back(at(matrix, r, c));
      at(out, i, j) = ((i + j) % 2 ? -1 : 1) * Determinant(std::move(minor), n - 1);
    }
  return out;
}

}  // namespace

HR_ONNX_FUNCTION(onnx_det_gradient) {
  const hr_value &x = call.Tensor("X"), &dy = call.Tensor("dY");
  const Shape shape = ShapeOf(x);
  const int64_t n = shape.back(), size = n * n, matrices = size > 0 ? Count(shape) / size : 0;
  void* dx = call.Make<void>("dX", x.dtype, shape);
  for (int64_t m = 0; m < matrices; ++m) {
    std::vector<double> a(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) a[static_cast<size_t>(i)] = ToDouble(x, m * size + i);
    a = Cofactors(a, n);
    for (int64_t i = 0; i < size; ++i) Store(x.dtype, dx, m * size + i, ToDouble(dy, m) * a[static_cast<size_t>(i)]);
  }
}

HR_ONNX_FUNCTION(onnx_det) {
  const hr_value& x = call.Tensor("X");
  Shape shape = ShapeOf(x);
  Require(shape.size() >= 2 && shape.back() == shape[shape.size() - 2], "Det needs square matrices");
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
  for (const char* f : {"det", "det_gradient", "bitcast"}) AddFunction(r, f);
  Add(r, "Det", "det");
  r.op("Det")
      .Doc("Determinant of square matrices.")
      .Sample("X: f32[3, 3]")
      .Sample("X: f32[2, 2, 2]")
      .Sample("X: f32[2, 2]; at 1, 2, 2, 4");
  r.backward("Det", "cofactors", nullptr,
             [](const Node& n, const std::vector<std::string>&, const std::vector<std::string>&) {
               std::string text = Header(n, "det_gradient");  // sdfg det_gradient(X: …, Y: …, sizes) {
               const std::string x = TypeText(*n.input("X")), y = TypeText(*n.output("Y"));
               const size_t at = text.find("Y: ");
               text.replace(at, 3 + y.size(), "dY: " + y + ", dX: " + x);
               return text +
                      "  state {\n    call.onnx_det_gradient{inputs = strings[\"X\", \"dY\"], op = \"Det\", "
                      "outputs = strings[\"dX\"], version = 1}(X = X, dY = dY) -> (dX = dX)\n  }\n}\n";
             });
  // The output's type is the program's, whose numbers are not ONNX's.
  r.impl("BitCast", "external", nullptr, [](const Node& n) {
    std::string text = CallText(n, "bitcast");
    return text.insert(text.find("{inputs = ") + 1,
                       "element_type = " + std::to_string(n.output("output")->dtype) + ", ");
  });
}

}  // namespace onnx_ops::external
