// Forms that move, index and loop, and what they become.
#include "ir/elaborate/elaborate_testing.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(Elaborate, Transpose) {
  EXPECT_EQ(ElaborateText(R"(let q = perm ?: range(rank(data) - 1, -1, -1)
transposed[i..] = data[i..@q])",
                          "data: f32[2, N, 4] -> transposed: f32[4, 2, N]", R"(perm = [2, 0, 1])"),
            R"(sdfg f(data: f32[2, N, 4], transposed: f32[4, 2, N]) {
  state {
    map i0 in 0:4, i1 in 0:2, i2 in 0:N { transposed[i0, i1, i2] = data[i1, i2, i0] }
  }
}
)");
}

// A let shadows itself from one tensor to the next.
TEST(Elaborate, Concat) {
  EXPECT_EQ(ElaborateText(R"(let at = 0
each T in inputs {
  concat_result[o.., at + k @axis] = T[o.., k@axis] over T
  let at = at + dim(T, axis)
})",
                          "inputs...: f32[N, 3], inputs...: f32[N, M] -> concat_result: f32[N, M + 3]", R"(axis = 1)"),
            R"(sdfg f(inputs_0: f32[N, 3], inputs_1: f32[N, M], concat_result: f32[N, M + 3]) {
  state {
    map o in 0:N, k in 0:3 { concat_result[o, k] = inputs_0[o, k] }
    map o in 0:N, k in 0:M { concat_result[o, k + 3] = inputs_1[o, k] }
  }
}
)");
}

// Starts are folded; what the ranges decide goes.
TEST(Elaborate, Slice) {
  EXPECT_EQ(
      ElaborateText(
          R"(let ax = axes ?: range(len(starts)) ; let d = dim(data, ax) ; let s = steps ?: 1
let b = clamp(starts < 0 ? starts + d : starts, 0, s < 0 ? d - 1 : d)
output[o.., k..@ax] = data[o.., b + k * s @ax] over output)",
          "data: f32[N, T, 8], starts: i64[2] = [1, -1], axes: i64[2] = [1, 2], steps: i64[2] = [1, -2] -> output: f32[N, T - 1, 4]"),
      R"(sdfg f(data: f32[N, T, 8], starts: i64[2], axes: i64[2], steps: i64[2], output: f32[N, T - 1, 4]) {
  state {
    map o in 0:N, k0 in 0:T - 1, k1 in 0:4 { output[o, k0, k1] = data[o, k0 + 1, 7 - 2 * k1] }
  }
}
)");
}

TEST(Elaborate, ReshapeGoesByFlatOffset) {
  EXPECT_EQ(ElaborateText(R"(reshaped.flat[i] = data.flat[i])",
                          "data: f32[N, 3, 4], shape: i64[2] = [0, 12] -> reshaped: f32[N, 12]"),
            R"(sdfg f(data: f32[N, 3, 4], shape: i64[2], reshaped: f32[N, 12]) {
  state {
    map i in 0:12 * N { reshaped.flat[i] = data.flat[i] }
  }
}
)");
}

TEST(Elaborate, Gather) {
  EXPECT_EQ(ElaborateText(R"(let rank(a) = axis < 0 ? axis + rank(data) : axis
output[a.., i.., b..] = data[a.., wrap(indices[i..], dim(data, axis)), b..])",
                          "data: f32[V, 8], indices: i64[N, T] -> output: f32[N, T, 8]", R"(axis = 0)"),
            R"(sdfg f(data: f32[V, 8], indices: i64[N, T], output: f32[N, T, 8]) {
  state {
    map i0 in 0:N, i1 in 0:T, b in 0:8 { output[i0, i1, b] = data[wrap(indices[i0, i1], V), b] }
  }
}
)");
}

TEST(Elaborate, ScatterNDReadsRowsOfIndices) {
  EXPECT_EQ(ElaborateText(R"(let at = wrap(indices[u.., :], dims(data)[0 : dim(indices, -1)])
output = data
output[at, s..] += updates[u.., s..])",
                          "data: f32[8, N, 4], indices: i64[M, 2], updates: f32[M, 4] -> output: f32[8, N, 4]"),
            R"(sdfg f(data: f32[8, N, 4], indices: i64[M, 2], updates: f32[M, 4], output: f32[8, N, 4]) {
  state {
    map i0 in 0:8, i1 in 0:N, i2 in 0:4 { output[i0, i1, i2] = data[i0, i1, i2] }
    map u in 0:M, s in 0:4 { output[wrap(indices[u, 0], 8), wrap(indices[u, 1], N), s] += updates[u, s] }
  }
}
)");
}

// A 1-D integer input whose value is not known is read element by element.
TEST(Elaborate, ListsReadAtRunTime) {
  EXPECT_EQ(
      ElaborateText(R"(output[i..] = input[i + starts])", "input: f32[8, 8], starts: i64[2] -> output: f32[2, 2]"),
      R"(sdfg f(input: f32[8, 8], starts: i64[2], output: f32[2, 2]) {
  state {
    map i0 in 0:2, i1 in 0:2 { output[i0, i1] = input[i0 + starts[0], i1 + starts[1]] }
  }
}
)");
}

// A loop carries h; f is called by name.
TEST(Elaborate, Rnn) {
  EXPECT_EQ(ElaborateText(R"(h[b, j] = initial_h[b, j] ?: 0 over b in 0:dim(X, 1), j in 0:dim(R, 0)
for t in 0:dim(X, 0) {
  g[b, j] = 0 * h[b, j]
  g[b, j] += W[j, i] * X[t, b, i]
  g[b, j] += R[j, i] * h[b, i]
  h[b, j] = call(f, g[b, j])
  Y[t, b, j] = h[b, j]
})",
                          "X: f32[T, N, 4], W: f32[5, 4], R: f32[5, 5], initial_h: f32 absent -> Y: f32[T, N, 5]",
                          R"(f = "Tanh")"),
            R"(sdfg f(X: f32[T, N, 4], W: f32[5, 4], R: f32[5, 5], Y: f32[T, N, 5]) {
  transient h: f32[N, 5]
  transient g: f32[N, 5]
  state {
    map b in 0:N, j in 0:5 { h[b, j] = 0.0 }
  }
  for t in 0:T {
    state {
      map b in 0:N, j in 0:5 { g[b, j] = 0.0 * h[b, j] }
      map b in 0:N, j in 0:5, i in 0:4 { g[b, j] += W[j, i] * X[t, b, i] }
      map b in 0:N, j in 0:5, i in 0:5 { g[b, j] += R[j, i] * h[b, i] }
      map b in 0:N, j in 0:5 { h[b, j] = tanh(g[b, j]) }
      map b in 0:N, j in 0:5 { Y[t, b, j] = h[b, j] }
    }
  }
}
)");
}

TEST(Elaborate, CumSum) {
  EXPECT_EQ(ElaborateText(R"(let n = dim(x, axis)
y = 0
for t in 0:n {
  let i = reverse ? n - 1 - t : t ; let j = reverse ? i + 1 : i - 1
  y[o.., i@axis] = (y[o.., j@axis] ?? 0) + x[o.., i@axis]
})",
                          "x: f32[2, T] -> y: f32[2, T]", R"(axis = 1, reverse = 1)"),
            R"(sdfg f(x: f32[2, T], y: f32[2, T]) {
  state {
    map i0 in 0:2, i1 in 0:T { y[i0, i1] = 0.0 }
  }
  for t in 0:T {
    state {
      map o in 0:2 { y[o, T - t - 1] = (y[o, T - t] ?? 0.0) + x[o, T - t - 1] }
    }
  }
}
)");
}

TEST(Elaborate, FirstReductionInALoopIsInitialisedBeforeIt) {
  EXPECT_EQ(ElaborateText(R"(for t in 0:T { Y[t, i] += X[t, i, j] })", "X: f32[3, 4, 5] -> Y: f32[3, 4]", R"(T = 3)"),
            R"(sdfg f(X: f32[3, 4, 5], Y: f32[3, 4]) {
  state {
    map i0 in 0:3, i1 in 0:4 { Y[i0, i1] = 0.0 }
  }
  for t in 0:3 {
    state {
      map i in 0:4, j in 0:5 { Y[t, i] += X[t, i, j] }
    }
  }
}
)");
}

TEST(Elaborate, DataDecidesAtRunTime) {
  EXPECT_EQ(ElaborateText(R"(if training { output = X * 2 } else { output = X })",
                          "X: f32[N], training: bool[] -> output: f32[N]"),
            R"(sdfg f(X: f32[N], training: bool, output: f32[N]) {
  if training {
    state {
      map i0 in 0:N { output[i0] = X[i0] * 2.0 }
    }
  } else {
    state {
      map i0 in 0:N { output[i0] = X[i0] }
    }
  }
}
)");
}

TEST(Elaborate, SumsBeginInEachBranch) {
  EXPECT_EQ(ElaborateText(R"(if all { S[] += X[i] } else { S[] max= X[i] })", "X: f32[N], all: bool[] -> S: f32[]"),
            R"(sdfg f(X: f32[N], all: bool, S: f32) {
  if all {
    state {
      S = 0.0
      map i in 0:N { S += X[i] }
    }
  } else {
    state {
      S = -inf
      map i in 0:N { S max= X[i] }
    }
  }
}
)");
}

TEST(Elaborate, AbsentOutputsTakeTheirTemporariesAlong) {
  EXPECT_EQ(ElaborateText(R"(S[n] += X[n, k]
Y = X
Sum = S)",
                          "X: f32[N, 3] -> Y: f32[N, 3], Sum: f32 absent"),
            R"(sdfg f(X: f32[N, 3], Y: f32[N, 3]) {
  state {
    map i0 in 0:N, i1 in 0:3 { Y[i0, i1] = X[i0, i1] }
  }
}
)");
}

}  // namespace
}  // namespace headrace
