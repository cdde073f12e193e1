// The pass applied to its own output: Hessians times vectors, against dual numbers of dual numbers.
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

TEST(SecondOrder, Polynomial) {
  Case c;
  c.text = "sdfg f(X: f64[N], L: f64) {\n L = 0\n map i in 0:N { L += X[i] * X[i] * X[i] * X[0] }\n}";
  c.values = {{"X", Uniform({5}, -1, 1)}};
  ExpectHessianTimes(c, Uniform({5}, -1, 1, 9), 1e-11, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (auto& x : m["X"]) s += x * x * x * m["X"][0];
    return s;
  });
}

// All weights of a two-layer perceptron in one vector.
TEST(SecondOrder, Perceptron) {
  Case c;
  c.text = R"(sdfg mlp(W: f64[33], X: f64[B, 3], T: f64[B], L: f64) {
    view W1: f64[3, 6] of W
    view b1: f64[6] of W offset 18
    view W2: f64[6] of W offset 24
    transient H: f64[B, 6]
    transient Y: f64[B]
    map n in 0:B, j in 0:6 { H[n, j] = b1[j] }
    map n in 0:B, j in 0:6, k in 0:3 { H[n, j] += X[n, k] * W1[k, j] }
    map n in 0:B, j in 0:6 { H[n, j] = tanh(H[n, j]) }
    map n in 0:B { Y[n] = W[30] }
    map n in 0:B, j in 0:6 { Y[n] += H[n, j] * W2[j] }
    L = 0
    map n in 0:B { L += (Y[n] - T[n]) * (Y[n] - T[n]) }
  })";
  c.inputs = {"W"};
  c.values = {{"W", Uniform({33}, -0.7, 0.7)}, {"X", Uniform({4, 3}, -1, 1, 2)}, {"T", Uniform({4}, -1, 1, 3)}};
  ExpectHessianTimes(c, Uniform({33}, -1, 1, 9), 1e-10, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    auto& w = m["W"];
    T loss = 0;
    for (int n = 0; n < 4; ++n) {
      T y = w[30];
      for (int j = 0; j < 6; ++j) {
        T h = w[18 + j];
        for (int k = 0; k < 3; ++k) h += m["X"][n * 3 + k] * w[k * 6 + j];
        y += tanh(h) * w[24 + j];
      }
      loss += Square(y - m["T"][n]);
    }
    return loss;
  });
}

TEST(SecondOrder, StencilLoop) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], L: f64) {
    transient u: f64[N]
    map i in 0:N { u[i] = A[i] }
    for t in 0:3 {
      for i in 1:N - 1 { u[i] = u[i] + 0.3 * sin(u[i - 1]) * u[i + 1] }
    }
    L = 0
    map i in 0:N { L += u[i] * u[i] }
  })";
  c.values = {{"A", Uniform({6}, -1, 1)}};
  ExpectHessianTimes(c, Uniform({6}, -1, 1, 9), 1e-10, [](auto& m) {
    auto u = m["A"];
    for (int t = 0; t < 3; ++t)
      for (int i = 1; i < 5; ++i) u[i] = u[i] + 0.3 * sin(u[i - 1]) * u[i + 1];
    NumberOf<decltype(m)> s = 0;
    for (auto& v : u) s += v * v;
    return s;
  });
}

TEST(SecondOrder, BranchyLoop) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], y: f64) {
    y = 0.5
    for i in 0:N {
      if y < 1 { y = y + A[i] * A[i] * A[0] } else { y = y * sin(A[i]) + 0.1 }
    }
    while y > 0.3 { y = y * y * 0.8 }
  })";
  c.values = {{"A", Uniform({7}, 0.4, 0.9)}};
  ExpectHessianTimes(c, Uniform({7}, -1, 1, 9), 1e-10, [](auto& m) {
    NumberOf<decltype(m)> y = 0.5;
    for (auto& a : m["A"]) y = y < 1 ? y + a * a * m["A"][0] : y * sin(a) + 0.1;
    while (y > 0.3) y = y * y * 0.8;
    return y;
  });
}

TEST(SecondOrder, ProductsAndGathers) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], idx: i64[M], L: f64) {
    transient P: f64
    P = 1
    map i in 0:N { P *= A[i] }
    L = 0
    map i in 0:M { L += A[idx[i]] * A[idx[i]] * P }
  })";
  c.inputs = {"A"};
  c.values = {{"A", Uniform({4}, 0.5, 1.5)}, {"idx", Integers({5}, {3, 0, 0, 2, 3})}};
  ExpectHessianTimes(c, Uniform({4}, -1, 1, 9), 1e-10, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T p = 1, s = 0;
    for (auto& a : m["A"]) p *= a;
    for (int64_t i : m.Int("idx")) s += Square(m["A"][i]) * p;
    return s;
  });
}

}  // namespace
}  // namespace headrace::autodiff::testing
