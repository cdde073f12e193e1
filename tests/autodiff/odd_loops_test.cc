// Programs that nobody wrote with reverse mode in mind: control flow, nested and driven by data, against differences.
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

TEST(OddLoops, WhileInForDataTrips) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], lim: f64[N], Y: f64[N]) {
  for i in 0:N {
    Y[i] = A[i]
    while Y[i] < lim[i] { Y[i] = Y[i] * 1.5 + A[(i + 1) % N] }
  }
})";
  c.values = {{"A", Uniform({5}, 0.2, 0.9)}, {"lim", Numbers({5}, {1, 3, 0.5, 7, 2})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, WhileInWhile) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], s: f64) {
  transient n: i64
  transient m: i64
  n = 0
  s = 1
  while n < N {
    m = 0
    while m * m < n + 2 {
      s = s * A[n] + sin(s) * A[m]
      m += 1
    }
    n += 1
  }
})";
  c.values = {{"A", Uniform({4}, 0.2, 0.9)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, WhileInForInWhile) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], k: i64[K], Y: f64[N]) {
  transient p: i64
  transient q: i64
  map i in 0:N { Y[i] = A[i] }
  p = 0
  while p < K {
    for i in 0:k[p] {
      q = i
      while q < N && Y[q] < 3 {
        Y[q] = Y[q] * Y[i] + A[q]
        q += 1 + k[p] % 2
      }
    }
    p += 1
  }
})";
  c.values = {{"A", Uniform({4}, 0.2, 0.9)}, {"k", Integers({3}, {2, 0, 3})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, BreakDepth) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], s: f64, Y: f64[N]) {
  s = 1
  map i in 0:N { Y[i] = 0 }
  for i in 0:N {
    for j in 0:M {
      if A[i, j] > 0.5 {
        if A[i, 0] > 0.5 { s = s * 1.1 + A[i, j]; break }
        else { continue }
      }
      for t in 0:3 {
        if A[i, t] < 0.2 { Y[i] = Y[i] * A[i, t] + s; continue }
        s = s + A[i, t] * s * 0.1
        if s > 5 { s = s * 0.3; break }
      }
      Y[i] = Y[i] + s * A[i, j]
    }
    if Y[i] > 6 { break }
  }
})";
  c.values = {{"A", Uniform({6, 5}, 0, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, NegativeSymbolicStep) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N], k: symbol) {
  map i in 0:N { Y[i] = A[i] }
  for i in N - 1:0:-k { Y[i] = Y[i] * Y[i - 1] + A[0] }
  for i in 1:N:k { Y[i] = Y[i] * Y[i - 1] }
})";
  c.values = {{"A", Uniform({9}, 0.2, 1)}};
  c.symbols = {{"k", 2}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, SymbolicStepNegativeValue) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N], k: symbol) {
  map i in 0:N { Y[i] = A[i] }
  for i = N - 1; i > 0; i = i + k { Y[i] = Y[i] * Y[i - 1] + A[0] }
})";
  c.values = {{"A", Uniform({9}, 0.2, 1)}};
  c.symbols = {{"k", -2}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, WcrMaxInLoopOverSelf) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], P: f64) {
  P = 0
  for i in 0:N {
    map j in 0:M { P max= A[i, j] + 0.2 * A[0, j] }
    P = P * A[i, 1]
  }
})";
  c.values = {{"A", Uniform({3, 4}, 0.5, 1.5)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, ScanBackwardsTwoArrays) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], B: f64[N], Y: f64[N]) {
  transient u: f64[N]
  map i in 0:N { u[i] = A[i] }
  map i in 0:N { Y[i] = B[i] }
  for i in N - 2:-1:-1 {
    u[i] = u[i] * Y[i + 1]
    Y[i] = Y[i] / u[i + 1] + u[i]
  }
})";
  c.values = {{"A", Uniform({7}, 0.2, 1)}, {"B", Uniform({7}, 0.2, 1, 2)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, UpdateByData) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], st: i64[N], s: f64) {
  s = 1
  for i = 0; i < N; i = i + st[i] { s = s * A[i] + sin(s) }
})";
  c.values = {{"A", Uniform({8}, 0.2, 1)}, {"st", Integers({8}, {1, 2, 1, 3, 1, 1, 2, 1})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, UpdateByDataNested) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], st: i64[N], s: f64) {
  s = 1
  for t in 0:3 {
    for i = t; i < N; i = i + st[i] { s = s * A[i] + sin(s); if s > 1.4 { s = s * 0.5 } }
  }
})";
  c.values = {{"A", Uniform({8}, 0.2, 1)}, {"st", Integers({8}, {1, 2, 1, 3, 1, 1, 2, 1})}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, IfsWithIntegerState) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], s: f64) {
  transient m: i64
  m = 0
  s = 0
  for i in 0:N {
    if m == 0 { s = s + A[i] * A[i]; m = 1 }
    else if m == 1 { s = s * A[i]; m = 2 }
    else { s = sin(s) + A[i]; m = 0 }
  }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, FloatConditionState) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], s: f64) {
  s = 0.1
  for i in 0:N {
    if s > 0.4 && A[i] > 0.5 || i == 2 { s = s * A[i] } else { s = s + A[i] * A[i] }
    if s > 1 { s = s - 1 }
  }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, PartialOverwriteColumns) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], Y: f64[N, M]) {
  map i in 0:N, j in 0:M { Y[i, j] = A[i, j] }
  for j in 1:M { map i in 0:N { Y[i, j] = Y[i, j] * Y[i, j - 1] } }
  for i in 1:N { map j in 0:M { Y[i, j] = Y[i - 1, j] * Y[i, j] } }
  for i in 0:N { Y[i, i] = sin(Y[i, i]) * Y[N - 1 - i, 0] }
})";
  c.values = {{"A", Uniform({4, 5}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, SwapRows) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  transient t: f64
  map i in 0:N { Y[i] = A[i] * A[i] }
  for i in 0:N - 1 {
    t = Y[i]
    Y[i] = Y[i + 1] * t
    Y[i + 1] = t
  }
})";
  c.values = {{"A", Uniform({5}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, DoWhileNested) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], s: f64) {
  transient n: i64
  s = 0.3
  for i in 0:N {
    n = 0
    do { s = s * A[i] + 0.4; n += 1 } while n < i
  }
})";
  c.values = {{"A", Uniform({4}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, LoopBreakInIfInFor) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], s: f64) {
  s = 0.3
  for i in 0:N {
    loop {
      s = s + A[i] * s
      if s > 1 { if i > 1 { s = s * 0.4 } else { s = s * 0.6 }; break }
    }
  }
})";
  c.values = {{"A", Uniform({4}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, EmptyBranches) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], s: f64) {
  s = 0.3
  for i in 0:N {
    if A[i] > 0 { } else { s = s * A[i] }
    if A[i] < 0.5 { s = s + A[i] }
  }
})";
  c.values = {{"A", Uniform({4}, -1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, ModIndexOverwrite) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[3]) {
  map i in 0:3 { Y[i] = 1 }
  for i in 0:N { Y[i % 3] = Y[(i + 1) % 3] * A[i] + Y[i % 3] }
})";
  c.values = {{"A", Uniform({7}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, FloordivIndex) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  map i in 0:N { Y[i] = A[i // 2] * A[i] }
  for i in 1:N { Y[i] = Y[i // 2] * Y[i] }
})";
  c.values = {{"A", Uniform({8}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, MinOverRowsInLoopWithRegisters) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, M], Y: f64[N]) {
  transient r: f64 @register
  map i in 0:N {
    r = 10
    map j in 0:M { r min= A[i, j] * A[i, j] }
    Y[i] = r * r
  }
})";
  c.values = {{"A", Uniform({3, 4}, 0.5, 1.5)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, LoopInsideBranchInsideLoop) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], s: f64, Y: f64[N]) {
  s = 1
  map i in 0:N { Y[i] = A[i] }
  for i in 0:N {
    if A[i] > 0 {
      for j in 0:i { if Y[j] > 0 { Y[j] = Y[j] * s * 0.7 } else { s = s + Y[j] * 0.1 } }
    } else {
      while s > 0.4 { s = s * 0.8; Y[i] = Y[i] + s * A[i] }
    }
    s = s + Y[i] * Y[i]
  }
})";
  c.values = {{"A", Uniform({6}, -0.3, 0.3)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, TriangularWhileTape) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, N], Y: f64) {
  transient s: f64
  transient q: i64
  Y = 0
  for i in 0:N {
    for j in 0:i + 1 {
      s = A[i, j]
      q = j
      while q < i { s = s * A[q, j] + 0.1 * s * s; q += 1 }
      Y = Y + s * s
    }
  }
})";
  c.values = {{"A", Uniform({5, 5}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, IndexFromLoopCarried) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  transient best: i64
  best = 0
  for i in 1:N { if A[i] > A[best] { best = i } }
  Y = A[best] * A[best] * A[(best + 1) % N]
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, BisectionWhile) {
  Case c;
  c.text = R"(sdfg f(a: f64, x: f64) {
  transient it: i64
  x = 1
  it = 0
  while abs(x * x - a) > 1e-13 && it < 50 { x = 0.5 * (x + a / x); it += 1 }
})";
  c.values = {{"a", Uniform({}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, BigLag) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64[N]) {
  map i in 0:N { Y[i] = A[i] }
  for i in 5:N { Y[i] = Y[i - 5] * Y[i - 3] + Y[i] }
  for i in 0:N - 4:2 { Y[i] = Y[i + 4] * Y[i + 1] + Y[i] }
})";
  c.values = {{"A", Uniform({12}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(OddLoops, LoopVarUsedAfter) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], Y: f64) {
  transient last: i64
  last = 0
  for i in 0:N { if A[i] > 0.5 { last = i; break } }
  Y = A[last] * A[0]
  last = N - 1
  Y = Y * A[last]
})";
  c.values = {{"A", Uniform({5}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

}  // namespace
}  // namespace headrace::autodiff::testing
