// Hessians times vectors against JAX (f64): a perceptron, a stencil in a loop, branches in loops. The reference values are in
// jax_hessians.txt, which jax_hessians.py makes.
#include <fstream>
#include <sstream>

#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

std::vector<double> Reference(const std::string& name) {
  std::ifstream file("tests/autodiff/jax_hessians.txt");
  for (std::string line; std::getline(file, line);) {
    std::stringstream words(line);
    std::string first;
    words >> first;
    if (first != name) continue;
    std::vector<double> out;
    for (double x; words >> x;) out.push_back(x);
    return out;
  }
  return {};
}

void ExpectAsJax(Case c, const std::string& name) {
  const std::vector<double> expected = Reference(name);
  const auto n = static_cast<int64_t>(expected.size());
  ASSERT_GT(n, 0);
  for (const std::string& backend : BackendsOfThisTest()) {
    Result<Value> got = HessianTimes(c, Uniform({n}, -1, 1, 9), backend);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    double largest = 0, off = 0;
    for (int64_t i = 0; i < n; ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      off = std::max(off, std::abs(got->tensor.GetDouble(i) - expected[i]));
    }
    std::printf("%s on %s: largest difference %.2g of %.3g\n", name.c_str(), backend.c_str(), off, largest);
    EXPECT_LE(off, 1e-8 * largest);
  }
}

TEST(Hessians, Perceptron) {
  Case c;
  c.text = R"(sdfg mlp(W: f64[113], X: f64[B, 3], T: f64[B], L: f64) {
    view W1: f64[3, 8] of W
    view b1: f64[8] of W offset 24
    view W2: f64[8, 8] of W offset 32
    view b2: f64[8] of W offset 96
    view w3: f64[8] of W offset 104
    transient Z: f64[B, 8]
    transient H: f64[B, 8]
    transient U: f64[B, 8]
    transient V: f64[B, 8]
    transient Y: f64[B]
    onnx.MatMul(A = X, B = W1) -> (Y = Z)
    map n in 0:B, j in 0:8 { H[n, j] = tanh(Z[n, j] + b1[j]) }
    onnx.MatMul(A = H, B = W2) -> (Y = U)
    map n in 0:B, j in 0:8 { U[n, j] = U[n, j] + b2[j] }
    onnx.Sigmoid(X = U) -> (Y = V)
    onnx.MatMul(A = V, B = w3) -> (Y = Y)
    L = 0
    map n in 0:B { L += (Y[n] + W[112] - T[n]) * (Y[n] + W[112] - T[n]) / f64(B) }
  })";
  c.inputs = {"W"};
  c.values = {{"W", Uniform({113}, -0.9, 0.9)}, {"X", Uniform({5, 3}, -1, 1, 2)}, {"T", Uniform({5}, -1, 1, 3)}};
  ExpectAsJax(c, "mlp");
}

TEST(Hessians, StencilInALoop) {
  Case c;
  c.text = R"(sdfg stencil(A: f64[N], L: f64) {
    transient u: f64[N]
    transient v: f64[N]
    map i in 0:N { u[i] = A[i] }
    for t in 0:6 {
      map i in 1:N - 1 { v[i] = u[i] + 0.3 * sin(u[i - 1]) * u[i + 1] - 0.1 * u[i] * u[i] }
      map i in 1:N - 1 { u[i] = v[i] }
    }
    L = 0
    map i in 0:N { L += u[i] * u[i] * u[i] }
  })";
  c.values = {{"A", Uniform({12}, -1, 1)}};
  ExpectAsJax(c, "stencil");
}

TEST(Hessians, BranchesInLoops) {
  Case c;
  c.text = R"(sdfg branches(A: f64[N], y: f64) {
    y = 0.5
    for t in 0:3 {
      for i in 0:N {
        if y < 1 { y = y + A[i] * A[i] * A[(i + t) % N] } else { y = y * sin(A[i]) + 0.1 }
        if y > 0.8 { y = exp(-y) + A[0] * y }
      }
    }
    while y > 0.3 { y = y * y * 0.8 }
  })";
  c.values = {{"A", Uniform({8}, 0.4, 0.9)}};
  ExpectAsJax(c, "branches");
}

}  // namespace
}  // namespace headrace::autodiff::testing
