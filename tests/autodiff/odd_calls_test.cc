// Programs that nobody wrote with reverse mode in mind: calls and library nodes in loops, against differences.
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

TEST(OddCalls, TwoCallsSameInput) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  transient u: f64
  call dot(x = A, y = A, r = u)
  call dot(x = A, y = A, r = Y)
  Y = Y * u
}
sdfg dot(x: f64[M], y: f64[M], r: f64) {
  r = 0
  map i in 0:M { r += x[i] * y[M - 1 - i] }
})";
  c.values = {{"A", Uniform({4}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddCalls, CallWithIfInMapInLoop) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], Y: f64[N, M]) {
  map i in 0:N, j in 0:M { Y[i, j] = A[i, j] }
  for t in 0:3 {
    map i in 0:N { call g(x = Y[i, :], a = A[i, :], y = Y[i, :]) }
  }
}
sdfg g(x: f64[K], a: f64[K], inout y: f64[K]) {
  if a[0] > 0 { map k in 0:K { y[k] = y[k] * a[k] } } else { for k in 1:K { y[k] = y[k - 1] + y[k] * y[k] } }
})";
  c.values = {{"A", Uniform({4, 3}, -1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddCalls, LibraryInLoop) {
  Case c;
  c.text = R"(sdfg f(A: f64[3, 3], X: f64[3, 3], Y: f64) {
  transient H: f64[3, 3]
  transient G: f64[3, 3]
  map i in 0:3, j in 0:3 { H[i, j] = X[i, j] }
  for t in 0:4 {
    onnx.MatMul(A = A, B = H) -> (Y = G)
    onnx.Softmax{axis = 1}(input = G) -> (output = H)
    map i in 0:3, j in 0:3 { H[i, j] = H[i, j] * X[i, j] + A[i, j] }
  }
  Y = 0
  map i in 0:3, j in 0:3 { Y += H[i, j] * H[j, i] }
})";
  c.values = {{"A", Uniform({3, 3}, -1, 1)}, {"X", Uniform({3, 3}, -1, 1, 2)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddCalls, LibraryWhile) {
  Case c;
  c.text = R"(sdfg f(A: f64[3, 3], X: f64[3, 3], Y: f64) {
  transient H: f64[3, 3]
  transient G: f64[3, 3]
  map i in 0:3, j in 0:3 { H[i, j] = X[i, j] }
  while H[0, 0] > 0.01 {
    onnx.MatMul(A = A, B = H) -> (Y = G)
    onnx.Tanh(input = G) -> (output = H)
  }
  Y = 0
  map i in 0:3, j in 0:3 { Y += H[i, j] * H[j, i] }
})";
  c.values = {{"A", Uniform({3, 3}, 0.1, 0.3)}, {"X", Uniform({3, 3}, 0.1, 1, 2)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddCalls, LibraryInplace) {
  Case c;
  c.text = R"(sdfg f(X: f64[3, 4], Y: f64) {
  transient H: f64[3, 4]
  map i in 0:3, j in 0:4 { H[i, j] = X[i, j] * X[i, j] }
  onnx.Softmax{axis = 1}(input = H) -> (output = H)
  onnx.Sigmoid(X = H) -> (Y = H)
  Y = 0
  map i in 0:3, j in 0:4 { Y += H[i, j] * X[i, j] * H[0, j] }
})";
  c.values = {{"X", Uniform({3, 4}, -1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddCalls, NestedCallsLoopInoutPart) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], Y: f64[N, M]) {
  map i in 0:N, j in 0:M { Y[i, j] = A[i, j] }
  for i in 1:N { call h(p = Y[i - 1, :], q = Y[i, :]) }
  for i in 0:N { call h(p = A[i, :], q = Y[N - 1 - i, :]) }
}
sdfg h(p: f64[K], inout q: f64[K]) {
  transient t: f64
  t = 1
  for k in 0:K { t = t * 0.5 + p[k]; q[k] = q[k] * t }
})";
  c.values = {{"A", Uniform({3, 4}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddCalls, RecursionDepthCalls) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  transient a: f64
  call g1(x = A, r = a)
  call g2(x = A, r = Y)
  Y = Y * a
}
sdfg g1(x: f64[K], r: f64) { r = x[0]; call g2(x = x, r = r) }
sdfg g2(x: f64[K], r: f64) { r = 0; for k in 0:K { r = r * x[k] + x[k] } })";
  c.values = {{"A", Uniform({4}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddCalls, CallOutOfOrderParams) {
  Case c;
  c.text = R"(sdfg f(Y: f64, A: f64[N], B: f64[N]) {
  call dot(r = Y, y = A, x = B)
}
sdfg dot(x: f64[M], r: f64, y: f64[M]) {
  r = 0
  map i in 0:M { r += x[i] * y[M - 1 - i] * x[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"B", Uniform({6}, 0.2, 1, 2)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddCalls, AliasCallInout) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  map i in 0:N { Y[i] = A[i] }
  for t in 0:2 { call upd(y = Y, x = A) }
}
sdfg upd(x: f64[M], inout y: f64[M]) {
  transient t: f64[M]
  map i in 0:M { t[i] = y[M - 1 - i] * x[i] }
  for i in 0:M { if t[i] > 0.3 { y[i] = t[i] * y[i] } else { y[i] = sin(t[i]); continue }
    y[i] = y[i] + 0.1 }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

}  // namespace
}  // namespace headrace::autodiff::testing
