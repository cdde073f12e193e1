// Calls at state level, in loops and in maps, whatever their callees contain; and maps that normal form divides.
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

// The callee's loop is the same for every iteration of the map: it runs once, for all of them.
TEST(Calls, InMapsWithLoopsAndExits) {
  ExpectGradientsNearDifferences(With(R"(
entry sdfg f(X: f64[N, K], Y: f64[N, K], Z: f64[N]) {
  map i in 0:N { call g(x = X[i, :], y = Y[i, :], z = Z[i]) }
}
sdfg g(x: f64[B], y: f64[B], z: f64) {
  transient t: f64[B]
  transient c: f64
  map k in 0:B { t[k] = sin(x[k]) }
  c = 1
  for s in 1:B {
    c = c * t[s]
    map k in 0:B { t[k] = t[k] * 0.5 + c }
    if s == 3 { break }
  }
  map k in 0:B { y[k] = t[k] * c }
  z = c
})",
                                      {{"X", Uniform({3, 5}, 0.2, 1)}}));
}

// Loops and branches that depend on the iteration: one call after the other.
TEST(Calls, InMapsWithControlFlowFromData) {
  ExpectGradientsNearDifferences(
      With(R"(
entry sdfg f(X: f64[N, K], P: i64[N], Y: f64[N, K]) {
  transient s: f64 @register
  map i in 0:N {
    s = X[i, 0] * X[i, 1]
    call g(x = X[i, :], p = P[i], s = s, y = Y[i, :])
  }
}
sdfg g(x: f64[B], p: i64, s: f64, y: f64[B]) {
  transient c: f64
  c = s
  map k in 0:B { y[k] = x[k] }
  for k in 0:p {
    if x[k] > 0.5 { c = c * x[k]; continue }
    y[k] = y[k] * c
    c = c + exp(y[k])
  }
  y[0] = y[0] * c
})",
           {{"X", Numbers({3, 4}, {0.1, 0.7, 0.3, 0.9, 0.6, 0.2, 0.8, 0.4, 0.3, 0.2, 0.9, 0.1})},
            {"P", Integers({3}, {4, 0, 3})}}));
}

// A part of an array under a view of the callee is copied in and out.
TEST(Calls, OfPartsOfArraysInLoops) {
  ExpectGradientsNearDifferences(
      With(R"(
entry sdfg f(X: f64[N, 4], inout Y: f64[N, 2], n: i64) {
  for i in 0:N { let k = n; call g(x = X[i, :], y = Y[i, :], m := k) }
}
sdfg g(x: f64[4], inout y: f64[2], m: symbol) {
  view square: f64[2, 2] of x
  for t in 0:m { map a in 0:2 { y[a] = y[a] * square[a, 0] + square[0, a] * square[1, a] } }
})",
           {{"X", Uniform({3, 4}, 0.2, 1)}, {"Y", Uniform({3, 2}, 0.2, 1, 2)}, {"n", Count(3)}}));
}

TEST(Calls, InCalleesOfCallees) {
  ExpectGradientsNearDifferences(With(R"(
entry sdfg f(X: f64[N, M, K], Y: f64[N]) {
  map i in 0:N { call rows(x = X[i, :, :], y = Y[i]) }
}
sdfg rows(x: f64[m, k], y: f64) {
  transient s: f64[m]
  map j in 0:m { call row(x = x[j, :], s = s[j]) }
  y = 1
  for j in 0:m { y = y * s[j] }
}
sdfg row(x: f64[k], s: f64) {
  s = x[0]
  for t in 1:k { s = s * x[t] + sin(s) }
})",
                                      {{"X", Uniform({2, 3, 4}, 0.2, 1)}}));
}

// A row-wise normalisation in one map: registers, a row written and read, an element accumulated, set and read again.
TEST(LocalMaps, RowsWrittenAndRead) {
  ExpectGradientsNearDifferences(With(R"(
sdfg f(X: f64[N, K], Z: f64[N, K], Y: f64[N], inout A: f64[2 * N]) {
  transient r: f64 @register
  transient m: f64 @register
  transient T: f64[N, K]
  map i in 0:N {
    m = -inf
    map k in 0:K { m max= X[i, k] }
    r = 0
    map k in 0:K { T[i, k] = exp(X[i, k] - m); r += T[i, k] }
    map k in 0:K { Z[i, k] = T[i, k] / r }
    Y[i] = m
    Y[i] = Y[i] * X[i, 0] + log(r)
    Y[i] *= X[i, 1]
  }
  map i in 0:N { A[2 * i] = A[2 * i + 1] * A[2 * i] }
})",
                                      {{"X", Uniform({3, 4}, 0.2, 1)}, {"A", Uniform({6}, 0.2, 1)}}));
}

// Stencils at sizes where the interior is small, one row, or empty; distances of more than one; coefficients as arrays.
TEST(Stencils, AtSmallSizes) {
  for (int64_t n : {3, 4, 5, 6, 9})
    ExpectGradientsNearDifferences(With(R"(
sdfg f(A0: f64[N, N], C: f64[N, N], A: f64[N, N], steps: symbol) {
  transient B: f64[N, N]
  map i in 0:N, j in 0:N { A[i, j] = A0[i, j] }
  map i in 0:N, j in 0:N { B[i, j] = A0[j, i] }
  for t in 0:steps {
    map i in 1:N - 1, j in 1:N - 1 { B[i, j] = C[i, j] * (A[i, j - 1] + 2.0 * A[i - 1, j + 1]) + A[i + 1, j] * A[i, j] }
    map i in 1:N - 1, j in 2:N { A[i, j] = 0.2 * (B[i, j] + B[i, j - 2] + C[i, j] * B[i + 1, j - 1]) }
  }
})",
                                        {{"A0", Uniform({n, n}, 0.2, 1)}, {"C", Uniform({n, n}, 0.1, 0.6, 2)}},
                                        {{"steps", 3}}));
}

TEST(Stencils, InPlaceRows) {
  ExpectGradientsNearDifferences(With(R"(
sdfg f(A0: f64[N, N], A: f64[N, N], steps: symbol) {
  transient W: f64[N]
  map i in 0:N, j in 0:N { A[i, j] = A0[i, j] }
  for t in 0:steps {
    for i in 1:N - 1 {
      map j in 1:N - 1 { W[j] = A[i, j] + A[i - 1, j - 1] * A[i - 1, j] + A[i - 1, j + 1] + A[i, j + 1] + A[i + 1, j - 1] }
      map j in 1:N - 1 { A[i, j] = W[j] }
      for j in 1:N - 1 { A[i, j] = (A[i, j] + A[i, j - 1]) / 4 }
    }
  }
})",
                                      {{"A0", Uniform({6, 6}, 0.2, 1)}}, {{"steps", 2}}));
}

}  // namespace
}  // namespace headrace::autodiff::testing
