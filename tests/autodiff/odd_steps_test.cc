// Steps, ranges and names at their edges: against differences.
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

TEST(OddSteps, SymbolicStepsOfLoops) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N], k: symbol) {
  map i in 0:N { Y[i] = A[i] }
  for i in N - 1:0:-k { Y[i] = Y[i] * Y[i - 1] + A[0] }
  for i in 1:N:k { Y[i] = Y[i] * Y[i - 1] }
})";
  c.values = {{"A", Uniform({7}, -1, 1, 1)}};
  c.symbols = {{"k", 2}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, SymbolicStepsOfMaps) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N], k: symbol) {
  map i in 0:N { Y[i] = A[i] }
  for t in 0:2 {
    map i in N - 1:-1:-k { Y[i] = Y[i] * A[i] }
    map i in 1:N:k { Y[i] = Y[i] * A[i - 1] + sin(Y[i]) }
  }
})";
  c.values = {{"A", Uniform({7}, -1, 1, 1)}};
  c.symbols = {{"k", 2}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, CallsInMapsWithSymbolicSteps) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], Y: f64[N, M], k: symbol) {
  map i in 0:N, j in 0:M { Y[i, j] = A[i, j] }
  map i in N - 1:-1:-k { call g(x = A[i, :], y = Y[i, :]) }
  map i in 0:N:k { call g(x = A[N - 1 - i, :], y = Y[i, :]) }
}
sdfg g(x: f64[M], inout y: f64[M]) { for i in 1:M { y[i] = y[i - 1] * x[i] + y[i] * y[i] } })";
  c.values = {{"A", Uniform({7, 3}, -1, 1, 1)}};
  c.symbols = {{"k", 2}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, StepsFromData) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], k: i64[K], Y: f64[N]) {
  map i in 0:N { Y[i] = A[i] }
  for t in 0:K { for i in (k[t] > 0 ? 0 : N - 1):(k[t] > 0 ? N : -1):k[t] { Y[i] = Y[i] * A[(i + 1) % N] + sin(Y[N - 1 - i]) } }
})";
  c.values = {{"A", Uniform({7}, -1, 1, 1)}, {"k", Integers({3}, {2, -2, -3})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, RegistersInMapsWithSymbolicSteps) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], Y: f64[N, M], k: symbol) {
  transient r: f64 @register
  transient q: f64[4] @register
  map i in 0:N, j in 0:M { Y[i, j] = A[i, j] }
  map i in N - 1:-1:-k {
    map j in 0:4 { q[j] = A[i, j] * A[i, 3 - j] }
    r = 0
    map j in 0:4 { r += q[j] * q[3 - j] }
    map j in 3:-1:-1 { Y[i, j] = r * Y[i, j] + q[j] }
  }
})";
  c.values = {{"A", Uniform({7, 4}, -1, 1, 1)}};
  c.symbols = {{"k", 3}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, OverlappingViews) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  transient T: f64[N]
  view lo: f64[N - 2] of T
  view hi: f64[N - 2] of T offset 2
  view ev: f64[N // 2] of T strides [2]
  view rv: f64[N] of T offset N - 1 strides [-1]
  map i in 0:N { T[i] = A[i] }
  for i in 0:N - 2 { hi[i] = hi[i] * lo[i] + sin(T[i]) }
  for i in 0:N // 2 { ev[i] = ev[i] * rv[i] }
  for i in 0:N { rv[i] = T[i] * 0.5 + rv[i] * rv[i] }
  Y = 0
  map i in 0:N { Y += T[i] * A[N - 1 - i] }
})";
  c.values = {{"A", Uniform({8}, -1, 1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, ReversedInPlace) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], B: f64[N]) {
  map i in 0:N { B[i] = A[i] }
  for i in 0:N { B[i] = B[N - 1 - i] * 1.5 + A[i] * B[i] }
})";
  c.values = {{"A", Uniform({5}, -1, 1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, NothingRuns) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], n: i64, Y: f64[N]) {
  map i in 0:N { Y[i] = A[i] * A[i] }
  for t in 0:n { map i in 0:N { Y[i] = Y[i] * A[i] } }
  for t in 5:3 { map i in 0:N { Y[i] = 0 } }
  let m = n
  map i in 0:m { Y[i] = 7 }
  for t in 3:3:-1 { Y[t] = 0 }
  while n > 0 { Y[0] = 3 * Y[0] }
})";
  c.values = {{"A", Uniform({4}, -1, 1, 1)}, {"n", Count(0)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, RangesEmptyAtRunTime) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], lo: i64[N], hi: i64[N], Y: f64[N]) {
  map i in 0:N { Y[i] = 1 }
  for i in 0:N {
    for k in lo[i]:hi[i] { Y[i] = Y[i] * A[k] + Y[k] }
    for k = hi[i]; k < lo[i]; k = k + 1 { Y[i] = Y[i] - A[k] * Y[i] }
  }
})";
  c.values = {{"A", Uniform({4}, -1, 1, 1)}, {"lo", Integers({4}, {0, 3, 2, 4})}, {"hi", Integers({4}, {2, 3, 1, 4})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, EmptyArrays) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], B: f64[3], Y: f64, Z: f64[N]) {
  Y = 1
  map i in 0:N { Y += A[i] * B[0] }
  map i in 0:N { Z[i] = A[i] * Y }
  Y = Y * B[1] * B[2]
  for i in 0:N { Y = Y * A[i] }
})";
  c.values = {{"A", Numbers({0}, {})}, {"B", Numbers({3}, {1, 2, 3})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, ArraysOfOne) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64, Z: f64[N]) {
  transient T: f64[N]
  map i in 0:N { T[i] = A[i] * A[N - 1] }
  for i in 1:N { T[i] = T[i - 1] * A[i] }
  map i in 1:N - 1 { T[i] = A[i - 1] }
  Y = 1
  map i in 0:N { Y *= T[i] }
  map i in 0:N { Z[i] = T[(i + 1) % N] * A[i] }
})";
  c.values = {{"A", Numbers({1}, {0.7})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, BoundsThatChangeInside) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  transient m: i64
  m = 2
  Y = 1
  for i = 0; i < m; i = i + 1 { Y = Y * A[i] + 0.3; if i < 4 { m = i + 2 } }
  m = N
  for i in 0:m { Y = Y * 0.5 + A[i]; m = 1 }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, BreakBeforeTheFirstWrite) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], stop: i64, Y: f64) {
  transient t: f64
  Y = A[0]
  for i in 0:N { if i >= stop { break } ; t = A[i] * Y; Y = t }
  loop { if stop == 0 { break } ; Y = Y * 2 }
  Y = Y * A[1]
})";
  c.values = {{"A", Uniform({5}, 0.2, 1, 1)}, {"stop", Count(0)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, InoutWithItsGradientGiven) {
  Case c;
  c.text = R"(sdfg f(inout X: f64[N], W: f64[N]) {
  map i in 0:N { X[i] = X[i] * W[i] }
})";
  c.values = {{"X", Uniform({5}, 0.2, 1, 1)}, {"grad_X", Uniform({5}, -1, 1, 2)}, {"W", Uniform({5}, -1, 1, 3)}};
  c.options.given_gradients = {"X"};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, OutputIsInput) {
  Case c;
  c.text = R"(sdfg f(X: f64[N], Y: f64[N]) {
  map i in 0:N { Y[i] = X[i] }
})";
  c.values = {{"X", Uniform({5}, 0.2, 1, 1)}, {"grad_Y", Uniform({5}, -1, 1, 2)}};
  c.options.given_gradients = {"Y"};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, SomeOutputsGiven) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N], Z: f64[N], Q: f64, R: f64) {
  map i in 0:N { Y[i] = A[i] * A[i] }
  map i in 0:N { Z[i] = Y[i] * Y[N - 1 - i] }
  Q = 0
  map i in 0:N { Q += Z[i] * Y[i] }
  R = Q * Q
  map i in 0:N { Y[i] = Y[i] * Q }
})";
  c.values = {{"A", Uniform({4}, 0.2, 1, 1)}, {"grad_Y", Uniform({4}, -1, 1, 2)}, {"grad_Q", Scalar(2.5)}};
  c.options.given_gradients = {"Y", "Q"};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, ConstantOutput) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  map i in 0:N { Y[i] = 2 }
  map i in 0:N { Y[i] = Y[i] + f64(A[i] > 100) }
})";
  c.values = {{"A", Uniform({3}, 0.2, 1, 1)}};
  c.outputs = {"Y"};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, ScatteredProductsAndMaxima) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], idx: i64[N], P: f64[3]) {
  map i in 0:3 { P[i] = A[i] }
  for t in 0:2 {
    map i in 0:N { P[idx[i]] *= A[i] + 0.1 * f64(t) }
    map i in 0:N { P[idx[i]] max= A[i] * 0.9 }
    map i in 0:3 { P[i] = P[i] * P[i] }
  }
})";
  c.values = {{"A", Uniform({6}, 0.5, 1.5, 1)}, {"idx", Integers({6}, {0, 2, 1, 2, 2, 0})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, IndexTableInPlace) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  transient p: i64[N]
  map i in 0:N { p[i] = N - 1 - i }
  map i in 0:N { Y[p[i]] = A[i] }
  for i in 0:N { p[i] = (p[i] + i) % N; Y[p[i]] = Y[(p[i] + 1) % N] * A[p[i]] + Y[p[i]] }
})";
  c.values = {{"A", Uniform({5}, -1, 1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, ExitsOfNestedWhiles) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], Y: f64) {
  transient i: i64
  transient j: i64
  transient acc: f64
  Y = 0
  i = 0
  while i < N {
    acc = 1
    j = M
    loop {
      j = j - 1
      if j < 0 { break }
      if (i + j) % 3 == 0 { continue }
      acc = acc * A[i, j] + 0.2
      if acc > 0.9 { acc = acc * acc; break }
    }
    Y = Y + acc
    i += 1
    if Y > 2.5 { Y = Y * 0.7; continue }
    if i == 4 { break }
    Y = Y * A[0, i]
  }
})";
  c.values = {{"A", Uniform({5, 5}, 0.2, 1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, NanWhereNobodyLooks) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  transient s: f64[N]
  map i in 0:N { s[i] = A[i] > 0 ? sqrt(A[i]) * log(A[i]) : 0 }
  Y = 0
  map i in 0:N { Y += A[i] > 0.5 ? s[i] / (A[i] - 0) : 0 }
})";
  c.values = {{"A", Numbers({4}, {-1, 4, 0, 9})}};
  c.inputs = {"A"};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, DiagonalAndTransposedViews) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], Y: f64[N, M]) {
  view diag: f64[4] of Y strides [M + 1]
  view tr: f64[M, N] of Y strides [1, M]
  map i in 0:N, j in 0:M { Y[i, j] = A[i, j] }
  for t in 0:3 {
    map d in 0:4 { diag[d] = diag[d] * 1.1 + sin(A[d, 0]) }
    for j in 1:M { map i in 0:N { tr[j, i] = tr[j, i] * tr[j - 1, i] } }
  }
})";
  c.values = {{"A", Uniform({4, 5}, -1, 1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddSteps, SizesFromDataInLoops) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], n: i64[K], Y: f64) {
  Y = 0
  for t in 0:K {
    let m = min(n[t], N)
    let q = m + 1
    map i in 0:m { Y += A[i] * A[q] }
    if m > 1 { let r = m // 2
      map i in 0:r { Y += sin(A[i] * A[r]) } }
    Y = Y * A[m]
  }
})";
  c.values = {{"A", Uniform({8}, -1, 1, 1)}, {"n", Integers({3}, {2, 0, 5})}};
  ExpectGradientsNearDifferences(c);
}

}  // namespace
}  // namespace headrace::autodiff::testing
