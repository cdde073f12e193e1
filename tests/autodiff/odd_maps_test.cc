// Programs that nobody wrote with reverse mode in mind: maps, views and accumulation, against differences.
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

TEST(OddMaps, WcrProductTwoZeroRows) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], Y: f64[N]) {
  map i in 0:N { Y[i] = 1 }
  map i in 0:N, j in 0:M { Y[i] *= A[i, j] * A[i, j] }
})";
  c.values = {{"A", Numbers({3, 3}, {0, 2, 3, 0, 0, 4, 5, 6, 7})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, WcrProductInLoop) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], P: f64) {
  P = 1
  for i in 0:N {
    map j in 0:M { P *= A[i, j] }
    P = P + A[i, 0]
  }
})";
  c.values = {{"A", Uniform({3, 4}, 0.5, 1.5)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, CsrInTimeLoop) {
  Case c;
  c.text = R"(sdfg f(val: f64[Z], col: i64[Z], ptr: i64[P], x: f64[P - 1], y: f64[P - 1]) {
  transient t: f64[P - 1]
  map i in 0:P - 1 { y[i] = x[i] }
  for s in 0:3 {
    for i in 0:P - 1 {
      t[i] = 0.5
      for k in ptr[i]:ptr[i + 1] { t[i] = t[i] + val[k] * y[col[k]] }
    }
    map i in 0:P - 1 { y[i] = sin(t[i]) }
  }
})";
  c.values = {{"val", Uniform({6}, -1, 1)},
              {"x", Uniform({4}, -1, 1, 2)},
              {"ptr", Integers({5}, {0, 2, 2, 3, 6})},
              {"col", Integers({6}, {0, 3, 2, 1, 3, 2})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, ComplexLoop) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  transient z: c128
  z = complex(0.3, 0.1)
  for i in 0:N { z = z * z + complex(A[i], 0.5 * A[i]) * exp(z) * 0.2 }
  Y = real(z) * imag(z) + abs(z)
})";
  c.values = {{"A", Uniform({4}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, InoutOutput) {
  Case c;
  c.text = R"(sdfg f(inout A: f64[N], Y: f64) {
  map i in 0:N { A[i] = A[i] * A[i] + 1 }
  Y = A[0] * A[1]
  for i in 1:N { A[i] = A[i - 1] * A[i] }
})";
  c.values = {{"A", Uniform({4}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, InoutGiven) {
  Case c;
  c.text = R"(sdfg f(inout A: f64[N]) {
  map i in 0:N { A[i] = A[i] * A[i] + 1 }
  for i in 1:N { A[i] = A[i - 1] * A[i] }
})";
  c.values = {{"A", Uniform({4}, 0.2, 1)}, {"grad_A", Uniform({4}, -1, 1, 2)}};
  c.options.given_gradients = {"A"};
  c.outputs = {"A"};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, SameInputTwice) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  Y = 0
  map i in 0:N { Y += A[i] * A[i] }
})";
  c.values = {{"A", Uniform({4}, 0.2, 1)}};
  c.inputs = {"A", "A"};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, SameOutputTwice) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  Y = 0
  map i in 0:N { Y += A[i] * A[i] }
})";
  c.values = {{"A", Uniform({4}, 0.2, 1)}};
  c.outputs = {"Y", "Y"};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, ConditionInMapInLoop) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  map i in 0:N { Y[i] = A[i] }
  for t in 0:4 {
    map i in 0:N { Y[i] = Y[i] > 0.1 ? Y[i] * A[i] + 0.3 : (t % 2 == 0 ? sin(Y[i]) : Y[i] * Y[i] + A[(i + t) % N]) }
  }
})";
  c.values = {{"A", Uniform({6}, -1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, ScatterDuplicatesSumProduct) {
  Case c;
  c.text = R"(sdfg f(A: f64[M], k: i64[M], Y: f64[3]) {
  map i in 0:3 { Y[i] = 1 }
  for t in 0:2 {
    map i in 0:M { Y[k[i]] *= A[i] }
    map i in 0:M { Y[(k[i] + t) % 3] += A[i] * A[i] }
  }
})";
  c.values = {{"A", Uniform({6}, 0.5, 1.5)}, {"k", Integers({6}, {0, 1, 0, 2, 1, 0})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, MinTiesZero) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  Y = 0
  map i in 0:N { Y min= A[i] - 2 }
  Y = Y * Y
})";
  c.values = {{"A", Uniform({4}, 0.5, 1.5)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, GuardedScatterInLoop) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  map i in 0:N { Y[i] = A[i] }
  for t in 0:3 {
    map i in 0:N { Y[i + t - 1] ?? += A[i] * 0.5 }
    map i in 0:N { Y[i] = sin(Y[i]) }
  }
})";
  c.values = {{"A", Uniform({5}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, ReadsDefaultInplace) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  map i in 0:N { Y[i] = A[i] }
  for t in 0:3 {
    for i in 0:N { Y[i] = Y[i] * (Y[i - 1] ?? 0.5) + (Y[i + 1] ?? A[i]) }
  }
})";
  c.values = {{"A", Uniform({5}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, FlatAccess) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], Y: f64[N, M]) {
  map i in 0:N * M { Y.flat[i] = A.flat[i] * A.flat[N * M - 1 - i] }
  for i in 1:N * M { Y.flat[i] = Y.flat[i] * Y.flat[i - 1] }
})";
  c.values = {{"A", Uniform({3, 4}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, ViewsOfViews2) {
  Case c;
  c.text = R"(sdfg f(A: f64[24], Y: f64[4]) {
  transient B: f64[24]
  view M: f64[4, 6] of B
  view R: f64[2, 6] of M offset 6 strides [12, 1]
  view T: f64[6, 2] of R strides [1, 12]
  view S: f64[3] of T offset 1 strides [2]
  map i in 0:24 { B[i] = A[i] * A[i] }
  map i in 0:3 { S[i] = S[i] * 2 }
  map i in 0:2, j in 0:6 { R[i, j] = sin(R[i, j]) * A[j] }
  for i in 0:3 { S[i] = T[i, 1] * T[5 - i, 0] + S[i] }
  map i in 0:4 { Y[i] = M[i, 2] * M[i, 3] + T[0, 0] * S[1] }
})";
  c.values = {{"A", Uniform({24}, -1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, OverlappingViewsLoop) {
  Case c;
  c.text = R"(sdfg f(A: f64[10], Y: f64) {
  transient B: f64[10]
  view L: f64[8] of B
  view R: f64[8] of B offset 2
  map i in 0:10 { B[i] = A[i] }
  for t in 0:3 { for i in 0:8 { L[i] = R[i] * L[i] + 0.5 } }
  Y = 0
  map i in 0:10 { Y += B[i] * B[i] }
})";
  c.values = {{"A", Uniform({10}, -1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, ViewOfInputOffsetLoopvar) {
  Case c;
  c.text = R"(sdfg f(A: f64[4, 5], Y: f64[5]) {
  view row: f64[5] of A offset 5
  view col: f64[4] of A offset 2 strides [5]
  map j in 0:5 { Y[j] = row[j] * col[j % 4] }
})";
  c.values = {{"A", Uniform({4, 5}, -1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, MaxAccumTiesLoop) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  transient m: f64
  m = -inf
  for i in 0:N {
    m max= A[i]
    Y[i] = m * A[i]
  }
})";
  c.values = {{"A", Numbers({6}, {1, 3, 2, 5, 4, 0.5})}};
  ExpectGradientsNearDifferences(c);
}

// What is read by no iteration has a gradient of zero, also where it is a largest element.
TEST(OddMaps, NoIterationReadsIt) {
  Case c;
  c.text = R"(sdfg f(A: f64[3], Y: f64[3]) {
  transient m: f64
  m = -inf
  map i in 0:3 { m max= A[i] }
  map i in 0:3 { Y[i] = A[i] * A[i] }
  map i in 0:0 { Y[i] = m }
})";
  c.values = {{"A", Numbers({3}, {1, 3, 2})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, ProductRegisters) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], Y: f64[N]) {
  transient r: f64 @register
  map i in 0:N {
    r = 1
    map j in 0:M { r *= A[i, j] }
    Y[i] = r * A[i, 1]
  }
})";
  c.values = {{"A", Numbers({3, 3}, {0, 2, 3, 1, 2, 4, 5, 6, 7})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, ArgmaxViaWcr) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  transient m: f64
  transient k: i64
  m = -inf
  map i in 0:N { m max= A[i] }
  k = N
  map i in 0:N { k min= A[i] == m ? i : N }
  Y = A[k] * m
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, DoubleAccumTargetSameElem) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[2]) {
  map i in 0:2 { Y[i] = 0 }
  map i in 0:N { Y[i % 2] += A[i] * A[i]; Y[(i + 1) % 2] += A[i] }
  map i in 0:2 { Y[i] = Y[i] * Y[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, YReadsItselfMap) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  map i in 0:N { Y[i] = A[i] }
  map i in 0:N { Y[i] = Y[i] * Y[i] * Y[i] + Y[i] }
  map i in 0:N { Y[i] += Y[i] * A[i] }
  map i in 0:N { Y[i] *= Y[i] + A[i] }
  map i in 0:N { Y[i] max= 0.5 * Y[i] + A[i] * A[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, Constants) {
  Case c;
  c.text = R"(sdfg f(A: f64[6], Y: f64) {
  constant W: f64[6] = [1, 2, 3, 4, 5, 6]
  constant p: i64[6] = [3, 1, 2, 0, 5, 4]
  transient T: f64[6]
  map i in 0:6 { T[p[i]] = A[i] * W[i] }
  Y = 1
  for i in 0:6 { Y = Y * (T[i] + 0.3) - W[i] * 0.01 }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, OutputsSubsetGiven) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N], Z: f64[N]) {
  map i in 0:N { Y[i] = A[i] * A[i] }
  map i in 0:N { Z[i] = sin(Y[i]) * Y[N - 1 - i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"grad_Z", Uniform({6}, -1, 1, 2)}};
  c.options.given_gradients = {"Z"};
  c.outputs = {"Z"};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, OutputOverwrittenAfterUse) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N], Z: f64) {
  map i in 0:N { Y[i] = A[i] * A[i] }
  Z = 0
  map i in 0:N { Z += Y[i] * Y[i] }
  map i in 0:N { Y[i] = A[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, TriWcrMaxNestedReg) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M, K], Y: f64) {
  transient s: f64 @register
  transient m: f64 @register
  Y = 0
  map i in 0:N {
    s = 0
    map j in 0:M {
      m = -inf
      map k in 0:K { m max= A[i, j, k] }
      s += m * m
    }
    Y += s * A[i, 0, 0]
  }
})";
  c.values = {{"A", Uniform({4, 3, 3}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

void ExpectGradientsOf(const std::string& statements) {
  for (const char* op : {"max=", "min=", "*=", "+="}) {
    std::string body = statements;
    body.replace(body.find("OP"), 2, op);
    Case c;
    c.text = "sdfg f(A: f64[N, 3, K], Y: f64) {\n  transient m: f64[3] @register\n  Y = 0\n  map i in 0:N {\n" + body + "  }\n}";
    c.values = {{"A", Uniform({4, 3, 2}, 0.2, 1)}};
    ExpectGradientsNearDifferences(c);
  }
}

TEST(OddMaps, ArraysOfRegistersAreAccumulated) {
  ExpectGradientsOf(R"(
    map j in 0:3 { m[j] = A[i, j, 0] * 0.9 }
    map j in 0:3, k in 0:K { m[j] OP A[i, j, k] }
    map j in 0:3 { Y += m[j] * m[j] * A[i, 0, 0] }
)");
}

TEST(OddMaps, MapsBesideEachOtherCallDifferentThingsByOneName) {
  ExpectGradientsOf(R"(
    map j in 0:3 { m[j] = A[i, j, 0] * 0.9 }
    map j in 0:K, k in 0:3 { m[k] OP A[i, k, j] }
    map j in 0:3 { Y += m[2 - j] * m[j] * A[i, j, 1] }
)");
}

TEST(OddMaps, ComplexStuff) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  transient z: c128[N]
  transient w: c128
  map i in 0:N { z[i] = complex(A[i], A[N - 1 - i]) }
  w = complex(1, 0)
  map i in 0:N { w *= z[i] }
  Y = real(w * conj(w)) + imag(w)
  for i in 1:N { z[i] = z[i] * z[i - 1] }
  Y = Y + real(z[N - 1]) * imag(z[0]) + abs(z[1])
})";
  c.values = {{"A", Uniform({4}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, BoolAndIntContainers) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  transient m: bool[N]
  map i in 0:N { m[i] = A[i] > 0 }
  Y = 0
  map i in 0:N { Y += m[i] ? A[i] * A[i] : A[i] }
  map i in 0:N { m[i] = !m[i] }
  map i in 0:N { Y += m[i] ? sin(A[i]) : 0 }
})";
  c.values = {{"A", Uniform({5}, -1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, DeepSelect) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  Y = 0
  map i in 0:N { Y += A[i] > 0 ? (i > 0 ? A[i - 1] / A[i] : sqrt(A[i])) : (i < N - 1 ? A[i + 1] * A[i] : exp(A[i])) }
})";
  c.values = {{"A", Uniform({5}, -1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, WcrIntoScalarThenUsedInSameMapDifferent) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N], S: f64) {
  S = 0
  map i in 0:N { Y[i] = A[i] * A[i]; S += Y[i] * A[i] }
  map i in 0:N { Y[i] = Y[i] / S }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, StaleReg) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  transient r: f64 @register
  transient q: f64 @register
  map i in 0:N {
    r = A[i]
    q = r * r
    r = q * r
    q += r * A[i]
    r = r + q
    Y[i] = r * q
  }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, ArrayRegister) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, 3], Y: f64[N]) {
  transient r: f64[3] @register
  transient s: f64 @register
  map i in 0:N {
    map j in 0:3 { r[j] = A[i, j] * A[i, 0] }
    s = 0
    map j in 0:3 { s += r[j] * r[2 - j] }
    map j in 0:3 { r[j] = r[j] * s }
    Y[i] = r[0] * r[1] + s
  }
})";
  c.values = {{"A", Uniform({4, 3}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddMaps, ChoicesInChoices) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], C: f64[N], idx: i64[N], U: f64[N, 3], Y: f64[N]) {
  transient T: f64[N]
  map i in 0:N { T[i] = A[i] * A[i] }
  map i in 0:N { Y[i] = T[i] }
  map i in 1:N - 1 {
    Y[i] = 0.9 * sin(C[i] > 0 ? sqrt(1 + U[i, 2] * U[i, 2]) - 1 : (C[N - 1 - i] < 0 && idx[i] != 1 ? A[(i + 3) % N] : T[i]))
  }
})";
  c.values = {{"A", Uniform({5}, -1, 1)},
              {"C", Numbers({5}, {0.2, -0.3, 0.5, -0.7, 0.9})},
              {"idx", Integers({5}, {0, 1, 3, 1, 2})},
              {"U", Uniform({5, 3}, -1, 1, 2)}};
  ExpectGradientsNearDifferences(c);
}

}  // namespace
}  // namespace headrace::autodiff::testing
