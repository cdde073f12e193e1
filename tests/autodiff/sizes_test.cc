// Sizes from data: symbols that a program defines, once or many times, and containers that change their size.
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

// What is computed again in the backward sweep sees the size it saw.
TEST(Sizes, ValuesComputedAgainUnderTheirOwnSize) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[2], Y: f64) {
  transient T: f64[N]
  let n = c[0]
  map i in 0:N { T[i] = i < n ? sin(A[i]) : A[i] * A[i] }
  let n = c[1]
  Y = 0
  map i in 0:n { Y += T[i] * T[i] * A[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({2}, {2, 5})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, LoopsRunAgainUnderTheirOwnSize) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[2], Y: f64) {
  transient T: f64[N]
  transient U: f64[N]
  let n = c[0]
  map i in 0:N { T[i] = 1 }
  map i in 0:n { T[i] = sin(A[i]) }
  for i in 1:n { T[i] = T[i - 1] * T[i] }
  map i in 0:N { U[i] = T[i] * A[i] * f64(n) }
  let n = c[1]
  Y = 0
  map i in 0:n { Y += U[i] * T[i] * A[i] }
  for i in 1:n { Y = Y * 0.5 + U[i] * Y }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({2}, {2, 5})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, SegmentsOfLoopsUnderTheirOwnSize) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[2], Y: f64) {
  transient T: f64[N]
  let n = c[0]
  map i in 0:N { T[i] = A[i] }
  for i in 1:n { T[i] = T[i] * T[i - 1] }
  let n = c[1]
  for i in 1:n { T[i] = T[i] * T[i - 1] + A[n] }
  Y = 0
  map i in 0:N { Y += T[i] * T[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({2}, {4, 3})}};
  ExpectGradientsNearDifferences(c);
}

// What is kept of a branch has no size where another one was taken.
TEST(Sizes, OfABranch) {
  for (const int64_t taken : {1, 0}) {
    Case c;
    c.text = R"(sdfg f(A: f64[N], c: i64, m: i64, Y: f64) {
  transient T: f64[n]
  transient U: f64[n + 1, N]
  Y = 0
  if c > 0 {
    let n = m
    state {
      map i in 0:n { T[i] = sin(A[i]) * A[i] }
      map i in 0:n + 1, j in 0:N { U[i, j] = exp(A[i] * A[j]) }
    }
    for i in 1:n { T[i] = T[i - 1] * T[i] }
    state { map i in 0:n, j in 0:N { Y += T[i] * T[i] * U[i + 1, j] } }
  } else {
    state { map i in 0:N { Y += A[i] * A[i] } }
  }
})";
    c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Count(taken)}, {"m", Count(4)}};
    c.inputs = {"A"};
    ExpectGradientsNearDifferences(c);
  }
}

TEST(Sizes, OfALoopsVariable) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, N], Y: f64) {
  transient row: f64[N - i]
  Y = 0
  for i in 0:N {
    map j in 0:N - i { row[j] = 0 }
    map j in 0:N - i, k in 0:N { row[j] += A[k, i] * A[k, j + i] }
    map j in 0:N - i { Y += row[j] * row[j] }
  }
  for i in N - 1:0:-1 {
    map j in 0:N - i { row[j] = sin(A[i, j]) }
    Y = Y + row[0] * row[N - i - 1]
  }
})";
  c.values = {{"A", Uniform({4, 4}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, DefinedInALoopUsedAfterIt) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[3], Y: f64) {
  transient T: f64[N]
  map i in 0:N { T[i] = A[i] * A[i] }
  let n = c[0]
  for t in 0:3 { let n = c[t]; map i in 0:n { T[i] = T[i] * T[i] + A[0] } }
  Y = 0
  map i in 0:n { Y += T[i] * T[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({3}, {2, 5, 4})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, DefinedInABranch) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[2], Y: f64) {
  transient T: f64[N]
  map i in 0:N { T[i] = A[i] * A[i] }
  let n = c[0]
  if A[0] > 0.1 { let n = c[1]; map i in 0:n { T[i] = T[i] * T[i] } }
  Y = 0
  map i in 0:N { Y += T[i] * T[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({2}, {2, 5})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, OfAContainerInABranch) {
  for (int taken : {0, 1}) {
    Case c;
    c.text = R"(sdfg f(A: f64[N], c: i64[2], Y: f64) {
  transient T: f64[N]
  transient U: f64[n]
  map i in 0:N { T[i] = A[i] }
  if c[1] > 0 {
    let n = c[0]
    map i in 0:n { U[i] = T[i + 1] * A[i] }
    for i in 0:n { T[i] = U[i] * 3 }
  }
  Y = 0
  map i in 0:N { Y += T[i] * T[i] }
})";
    c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({2}, {4, taken})}};
    ExpectGradientsNearDifferences(c);
  }
}

TEST(Sizes, DefinedInBothBranches) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[K], Y: f64[N]) {
  map i in 0:N { Y[i] = A[i] }
  for s in 0:K {
    let a = c[s]
    if a > 2 {
      let b = a - 1
      for j in b:N { Y[j] = Y[j] * A[b] }
    } else {
      let b = a + 1
      map j in 0:b { Y[j] = Y[j] + A[j] * Y[j] }
    }
  }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({4}, {2, 5, 0, 3})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, NestedAndRedefined) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[3], Y: f64) {
  transient T: f64[N]
  map i in 0:N { T[i] = A[i] * A[i] }
  for t in 0:3 {
    let n = c[t]
    for u in 0:2 {
      let m = n - u
      map i in 0:m { T[i] = T[i] * A[m] + T[i] * T[i] }
      let m = m - 1
      for i in 0:m { T[i] = T[i + 1] * T[i] }
    }
    map i in 0:n { T[i] = T[i] * 1.1 }
  }
  Y = 0
  map i in 0:N { Y += T[i] * T[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({3}, {2, 5, 4})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, InIndicesAndConditions) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[3], Y: f64) {
  transient T: f64[N]
  transient U: f64[N]
  map i in 0:N { T[i] = A[i] * A[i] }
  for t in 0:3 {
    let n = c[t]
    map i in 0:N { U[i] = i < n ? T[i] * T[i] : sin(T[i]) }
    map i in 0:N { T[i] = U[i] * A[i] + 0.1 * U[(i + n) % N] * U[i] }
  }
  Y = 0
  map i in 0:N { Y += T[i] * T[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({3}, {2, 5, 4})}};
  ExpectGradientsNearDifferences(c);
}

// From what the loop computes, with a while loop inside that counts.
TEST(Sizes, FromValuesThatTheLoopComputes) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[3], Y: f64) {
  transient T: f64[N]
  transient q: i64
  map i in 0:N { T[i] = A[i] * A[i] }
  q = 0
  for t in 0:3 {
    q = q + c[t]
    let n = q % 6 + 1
    while T[n - 1] < 1 { T[n - 1] = T[n - 1] * 1.7 + A[n - 1] }
    for j in 0:n { T[j] = T[j] * A[n - 1] + T[j] * T[j] }
  }
  Y = 0
  map i in 0:N { Y += T[i] * T[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({3}, {2, 5, 4})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, SlicesFromData) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[K], Y: f64[N]) {
  map i in 0:N { Y[i] = A[i] }
  for s in 0:K {
    let n = c[s]
    map i in 0:n { Y[i] = Y[i] * Y[i] + A[N - 1 - i] }
  }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({3}, {2, 6, 1})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, AContainerSizedByData) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[2], Y: f64) {
  let n = c[0]
  transient T: f64[n]
  map i in 0:n { T[i] = A[i] * A[i] }
  for i in 1:n { T[i] = T[i] * T[i - 1] }
  Y = 0
  map i in 0:n { Y += T[i] * T[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({2}, {4, 3})}};
  ExpectGradientsNearDifferences(c);
}

// Its adjoint and its tapes have the largest size that it takes.
TEST(Sizes, AContainerOfAnotherSizeInEachIteration) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[K], Y: f64) {
  transient T: f64[n]
  Y = 0
  for s in 0:K {
    let n = c[s]
    map i in 0:n { T[i] = A[i] * A[i] }
    map i in 0:n { Y += T[i] * T[n - 1 - i] }
  }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({3}, {2, 6, 1})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, AnIndexTableOfAnotherSizeInEachIteration) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[K], Y: f64) {
  transient T: i64[n]
  transient U: f64[N]
  map i in 0:N { U[i] = A[i] }
  for s in 0:K {
    let n = c[s]
    map i in 0:n { T[i] = (i * 2 + s) % n }
    map i in 0:n { T[i] = (T[i] + 1) % n }
    for i in 0:n { U[T[i]] = U[T[i]] * U[i] + A[T[n - 1 - i]] }
  }
  Y = 0
  map i in 0:N { Y += U[i] * U[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({3}, {2, 6, 4})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, ViewsThatMove) {
  Case c;
  c.text = R"(sdfg f(A: f64[3, 4], c: i64[3], Y: f64) {
  transient B: f64[3, 4]
  view row: f64[4] of B offset 4 * r
  map i in 0:3, j in 0:4 { B[i, j] = A[i, j] }
  Y = 1
  for t in 0:3 {
    let r = c[t]
    for j in 1:4 { row[j] = row[j] * row[j - 1] + A[r, j] }
    Y = Y * row[3]
  }
})";
  c.values = {{"A", Uniform({3, 4}, 0.2, 1)}, {"c", Integers({3}, {2, 0, 1})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, ViewsThatMoveAtTopLevel) {
  Case c;
  c.text = R"(sdfg f(A: f64[3, 4], c: i64[3], Y: f64) {
  transient B: f64[3, 4]
  view row: f64[4] of B offset 4 * r
  map i in 0:3, j in 0:4 { B[i, j] = A[i, j] }
  let r = c[0]
  Y = 1
  map j in 0:4 { row[j] = row[j] * row[j] }
  Y = row[0] * row[1] * Y
  let r = c[1]
  map j in 0:4 { row[j] = row[j] * row[j] * A[r, j] }
  Y = row[0] * row[1] * Y
})";
  c.values = {{"A", Uniform({3, 4}, 0.2, 1)}, {"c", Integers({3}, {2, 0, 1})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, ANodeThatFindsASize) {
  Case c;
  c.text = R"(sdfg f(A: f64[6], Y: f64) {
  transient m: bool[6]
  transient T: f64[n]
  map i in 0:6 { m[i] = A[i] > 0 }
  Y = 0
  onnx.Compress{axis = 0}(input = A, condition = m) -> (output = T) defines (n)
  for i in 1:n { T[i] = T[i] * T[i - 1] }
  map i in 0:n { Y += T[i] * T[i] }
})";
  c.values = {{"A", Uniform({6}, -1, 1)}};
  ExpectGradientsNearDifferences(c);
}

// Two programs: what a branch or a loop that does not run would define has no value to hand over.
// A size that only an output has is given by name, also where the output itself is not wanted.
TEST(Sizes, OfAnOutputAlone) {
  for (bool keep : {true, false}) {
    Case c;
    c.text = R"(sdfg f(A: f64[3], Y: f64[M]) {
  map i in 0:M { Y[i] = A[0] * A[i % 3] }
})";
    c.values = {{"A", Uniform({3}, 0.2, 1)}};
    c.symbols = {{"M", 5}};
    c.options.keep_outputs = keep;
    const double* a = c.values[0].second.tensor.as<double>();
    ExpectGradients(c, {{"A", Numbers({3}, {4 * a[0] + 2 * a[1] + a[2], 2 * a[0], a[0]})}});
  }
}

TEST(Sizes, DefinedWhereNothingRuns) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], c: i64[K], Y: f64) {
  transient T: f64[N]
  map i in 0:N { T[i] = A[i] * A[i] }
  if c[0] > 9 {
    let n = c[1]
    map i in 0:n { T[i] = T[i] * T[i] }
    for i in 1:c[0] { T[i] = T[i] * T[i - 1] }
  } else if c[0] > 1 {
    for i in 1:c[1] { T[i] = T[i] * T[i - 1] }
  }
  for t in 0:c[2] {
    let m = c[t]
    map i in 0:m { T[i] = sin(T[i]) }
  }
  Y = 0
  map i in 0:N { Y += T[i] * T[i] }
})";
  c.values = {{"A", Uniform({6}, 0.2, 1)}, {"c", Integers({3}, {2, 5, 0})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Sizes, ANodeThatFindsASizeInALoopIsRefused) {
  Case c;
  c.text = R"(sdfg f(A: f64[6], Y: f64) {
  transient U: f64[6]
  transient m: bool[6]
  transient T: f64[n]
  map i in 0:6 { U[i] = A[i] }
  Y = 0
  for s in 0:3 {
    map i in 0:6 { m[i] = U[i] > 0.1 * f64(s) }
    onnx.Compress{axis = 0}(input = U, condition = m) -> (output = T) defines (n)
    map i in 0:n { Y += T[i] * T[i] }
    map i in 0:6 { U[i] = U[i] * A[i] + 0.3 }
  }
})";
  ExpectRefused(c, {"the size of 'T' is found again in every iteration of a loop", "outside of the loop"});
}

}  // namespace
}  // namespace headrace::autodiff::testing
