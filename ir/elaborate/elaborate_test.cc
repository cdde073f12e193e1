// Forms and what they become. The left is NOTATION, the right is IR text: goldens, checked by running the official node cases.
#include "ir/elaborate/elaborate_testing.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

// A bare tensor is every element of it; sizes may be symbols.
TEST(Elaborate, Softplus) {
  EXPECT_EQ(ElaborateText(R"(Y = max(X, 0) + log1p(exp(-abs(X))))", "X: f32[N, 3] -> Y: f32[N, 3]"),
            R"(sdfg f(X: f32[N, 3], Y: f32[N, 3]) {
  state {
    map i0 in 0:N, i1 in 0:3 { Y[i0, i1] = max(X[i0, i1], 0.0) + log1p(exp(-abs(X[i0, i1]))) }
  }
}
)");
}

// Right-aligned, extents of 1 repeat.
TEST(Elaborate, Broadcasting) {
  EXPECT_EQ(ElaborateText(R"(C = A + B)", "A: f32[N, 1, 3], B: f32[4, 1] -> C: f32[N, 4, 3]"),
            R"(sdfg f(A: f32[N, 1, 3], B: f32[4, 1], C: f32[N, 4, 3]) {
  state {
    map i0 in 0:N, i1 in 0:4, i2 in 0:3 { C[i0, i1, i2] = A[i0, 0, i2] + B[i1, 0] }
  }
}
)");
}

// Which of them is 1 shows when the program runs; sizes that don't broadcast are refused there.
TEST(Elaborate, SizesThatMayBeOneBroadcast) {
  EXPECT_EQ(ElaborateText(R"(C = A + B)", "A: f32[N], B: f32[M, N] -> C: f32[M, N]"),
            R"(sdfg f(A: f32[N], B: f32[M, N], C: f32[M, N]) {
  state {
    map i0 in 0:M, i1 in 0:N { C[i0, i1] = A[i1] + B[i0, i1] }
  }
}
)");
  EXPECT_EQ(ElaborateText(R"(C = A + B)", "A: f32[N], B: f32[M] -> C: f32[max(N, M)]"),
            R"(sdfg f(A: f32[N], B: f32[M], C: f32[max(M, N)]) {
  require N == max(M, N) || N == 1 else "A has {} in dimension 0 and C has {} in dimension 0, which don't broadcast", N, max(M, N)
  require M == max(M, N) || M == 1 else "B has {} in dimension 0 and C has {} in dimension 0, which don't broadcast", M, max(M, N)
  state {
    map i0 in 0:max(M, N) { C[i0] = A[i0 * min(N - 1, 1)] + B[i0 * min(M - 1, 1)] }
  }
}
)");
}

// What is written as a whole has the size that counts, also where that is 1.
TEST(Elaborate, SizesThatMustBeOne) {
  EXPECT_EQ(ElaborateText(R"(C = A + B)", "A: f32[2, 1], B: f32[M] -> C: f32[2, 1]"),
            R"(sdfg f(A: f32[2, 1], B: f32[M], C: f32[2, 1]) {
  require M == 1 else "B has {} in dimension 0 and A has {} in dimension 1, which don't broadcast", M, 1
  state {
    map i0 in 0:2 { C[i0, 0] = A[i0, 0] + B[0] }
  }
}
)");
}

// The gradient of what was repeated: all of it is added up where the size turns out to be 1.
TEST(Elaborate, ReductionsOverWhatMayHaveBeenRepeated) {
  EXPECT_EQ(ElaborateText(R"(dA += dC)", "dC: f32[4, M] -> dA: f32[N, M]"),
            R"(sdfg f(dC: f32[4, M], dA: f32[N, M]) {
  require N == 4 || N == 1 else "dA has {} in dimension 0 and dC has {} in dimension 0, which don't broadcast", N, 4
  state {
    map i0 in 0:N, i1 in 0:M { dA[i0, i1] = 0.0 }
    map i0 in 0:4, i1 in 0:M { dA[i0 * min(N - 1, 1), i1] += dC[i0, i1] }
  }
}
)");
}

// An index walks every dimension where it stands bare: they are as long as each other. Arithmetic walks nothing.
TEST(Elaborate, SizesThatMustBeEqual) {
  EXPECT_EQ(ElaborateText(R"(Y[i] += A[i, k] * B[k])", "A: f32[N, K], B: f32[M] -> Y: f32[N]"),
            R"(sdfg f(A: f32[N, K], B: f32[M], Y: f32[N]) {
  require M == K else "B has {} in dimension 0 and A has {} in dimension 1, which must be equal", M, K
  state {
    map i0 in 0:N { Y[i0] = 0.0 }
    map i in 0:N, k in 0:K { Y[i] += A[i, k] * B[k] }
  }
}
)");
  EXPECT_EQ(ElaborateText(R"(Y[i] = A[i + 0] over i in 0:4)", "A: f32[8] -> Y: f32[4]"),
            R"(sdfg f(A: f32[8], Y: f32[4]) {
  state {
    map i in 0:4 { Y[i] = A[i] }
  }
}
)");
  EXPECT_NE(ElaborateText(R"(Y[i] = A[i] over i in 0:4)", "A: f32[8] -> Y: f32[4]")
                .find("error[E0570]: A has 8 in dimension 0 and Y has 4 in dimension 0, which must be equal"),
            std::string::npos);
}

// What the form made has the sizes of what it was made from; `over` may take a part of it.
TEST(Elaborate, SizesOfTemporariesMustBeEqual) {
  EXPECT_EQ(ElaborateText("P[i] = A[i] * 2\nY[] += P[k] * B[k]", "A: f32[N], B: f32[M] -> Y: f32[]"),
            R"(sdfg f(A: f32[N], B: f32[M], Y: f32) {
  transient P: f32[N]
  require M == N else "B has {} in dimension 0 and P has {} in dimension 0, which must be equal", M, N
  state {
    map i in 0:N { P[i] = A[i] * 2.0 }
    Y = 0.0
    map k in 0:N { Y += P[k] * B[k] }
  }
}
)");
  EXPECT_EQ(ElaborateText("P[i] = A[i] * 2\nY[k] = P[k] over k in 0:2", "A: f32[N] -> Y: f32[2]").find("require"), std::string::npos);
}

// A let that is said again in terms of itself keeps what its earlier values walk.
TEST(Elaborate, SizesOfManyTensorsMustBroadcast) {
  const std::string text = ElaborateText("let m = A[..]\neach T in [0, 1] { let m = T == 0 ? max(m, B[..]) : max(m, C[..]) }\nY = m",
                                         "A: f32[N], B: f32[M], C: f32[K] -> Y: f32[N]");
  EXPECT_NE(text.find("require M == N || M == 1 else \"B has {} in dimension 0"), std::string::npos) << text;
  EXPECT_NE(text.find("require K == N || K == 1 else \"C has {} in dimension 0"), std::string::npos) << text;
}

TEST(Elaborate, NothingIsWrittenToNothing) {
  EXPECT_NE(ElaborateText("Y[i * 0 + c] = A[i] over i in 0:4, c in 0:0", "A: f32[4] -> Y: f32[0]").find("map"), std::string::npos);
}

TEST(Elaborate, AbsentBoundsVanish) {
  EXPECT_EQ(ElaborateText(R"(output = min(max(input, min ?: lowest()), max ?: highest()))",
                          "input: i8[4], min: i8 absent, max: i8[] -> output: i8[4]"),
            R"(sdfg f(input: i8[4], max: i8, output: i8[4]) {
  state {
    map i0 in 0:4 { output[i0] = min(max(input[i0], -128), max) }
  }
}
)");
}

TEST(Elaborate, AttributesDecideBranches) {
  EXPECT_EQ(ElaborateText(R"(Y = approximate == "tanh" ? tanh(X) : erf(X / sqrt(2)))", "X: f32[4] -> Y: f32[4]",
                          R"(approximate = "none")"),
            R"(sdfg f(X: f32[4], Y: f32[4]) {
  state {
    map i0 in 0:4 { Y[i0] = erf(X[i0] / 1.4142135623730951) }
  }
}
)");
}

// The first sum is an assignment: each element is written once.
TEST(Elaborate, VariadicPorts) {
  EXPECT_EQ(ElaborateText(R"(each T in data_0 { mean += T }
mean = mean / len(data_0))",
                          "data_0...: f32[2, 3], data_0...: f32[3] -> mean: f32[2, 3]"),
            R"(sdfg f(data_0_0: f32[2, 3], data_0_1: f32[3], mean: f32[2, 3]) {
  state {
    map i0 in 0:2, i1 in 0:3 { mean[i0, i1] = data_0_0[i0, i1] }
    map i0 in 0:2, i1 in 0:3 { mean[i0, i1] += data_0_1[i1] }
    map i0 in 0:2, i1 in 0:3 { mean[i0, i1] = mean[i0, i1] / 2.0 }
  }
}
)");
}

// Placement: k stands at the axis, o.. fills the rest.
TEST(Elaborate, Softmax) {
  EXPECT_EQ(ElaborateText(R"(M[o..] max= input[o.., k@axis]
E[o.., k] = exp(input[o.., k@axis] - M[o..])
S[o..] += E[o.., k]
output[o.., k@axis] = E[o.., k] / S[o..])",
                          "input: f32[N, 5, 7] -> output: f32[N, 5, 7]", R"(axis = -2)"),
            R"(sdfg f(input: f32[N, 5, 7], output: f32[N, 5, 7]) {
  transient M: f32[N, 7]
  transient E: f32[N, 7, 5]
  transient S: f32[N, 7]
  state {
    map i0 in 0:N, i1 in 0:7 { M[i0, i1] = -inf }
    map o0 in 0:N, o1 in 0:7, k in 0:5 { M[o0, o1] max= input[o0, k, o1] }
    map o0 in 0:N, o1 in 0:7, k in 0:5 { E[o0, o1, k] = exp(input[o0, k, o1] - M[o0, o1]) }
    map i0 in 0:N, i1 in 0:7 { S[i0, i1] = 0.0 }
    map o0 in 0:N, o1 in 0:7, k in 0:5 { S[o0, o1] += E[o0, o1, k] }
    map o0 in 0:N, k in 0:5, o1 in 0:7 { output[o0, k, o1] = E[o0, o1, k] / S[o0, o1] }
  }
}
)");
}

TEST(Elaborate, ReduceSumKeepsDimensions) {
  EXPECT_EQ(ElaborateText(R"(let ax = len(axes ?: []) > 0 ? axes : (noop_with_empty_axes ?: 0) ? [] : range(rank(data))
let kept = keepdims ? ax : []
reduced[o.., 0@kept] += data[o.., k..@ax])",
                          "data: f32[N, 3, 4], axes: i64[1] = [-2] -> reduced: f32[N, 1, 4]", R"(keepdims = 1)"),
            R"(sdfg f(data: f32[N, 3, 4], axes: i64[1], reduced: f32[N, 1, 4]) {
  state {
    map i0 in 0:N, i1 in 0:1, i2 in 0:4 { reduced[i0, i1, i2] = 0.0 }
    map o0 in 0:N, o1 in 0:4, k in 0:3 { reduced[o0, 0, o1] += data[o0, k, o1] }
  }
}
)");
}

TEST(Elaborate, ReduceSumOfNothingIsACopy) {
  EXPECT_EQ(ElaborateText(R"(let ax = len(axes ?: []) > 0 ? axes : (noop_with_empty_axes ?: 0) ? [] : range(rank(data))
let kept = keepdims ? ax : []
reduced[o.., 0@kept] += data[o.., k..@ax])",
                          "data: f32[N, 3], axes: i64 absent -> reduced: f32[N, 3]",
                          R"(keepdims = 1, noop_with_empty_axes = 1)"),
            R"(sdfg f(data: f32[N, 3], reduced: f32[N, 3]) {
  state {
    map o0 in 0:N, o1 in 0:3 { reduced[o0, o1] = data[o0, o1] }
  }
}
)");
}

TEST(Elaborate, HalfSumsAreKeptInF32) {
  EXPECT_EQ(ElaborateText(R"(let ax = len(axes ?: []) > 0 ? axes : (noop_with_empty_axes ?: 0) ? [] : range(rank(data))
let kept = keepdims ? ax : []
reduced[o.., 0@kept] += data[o.., k..@ax])",
                          "data: f16[N, 3], axes: i64[1] = [1] -> reduced: f16[N]", R"(keepdims = 0)"),
            R"(sdfg f(data: f16[N, 3], axes: i64[1], reduced: f16[N]) {
  transient reduced_sum: f32[N]
  state {
    map i0 in 0:N { reduced_sum[i0] = 0.0 }
    map o in 0:N, k in 0:3 { reduced_sum[o] += data[o, k] }
    map i0 in 0:N { reduced[i0] = reduced_sum[i0] }
  }
}
)");
}

TEST(Elaborate, ArgMax) {
  EXPECT_EQ(ElaborateText(R"(let x = data[o.., k@axis]
M[o..] max= x
reduced[o.., 0@kept] min= x == M[o..] || isnan(x) ? k : len(k))",
                          "data: f32[2, 5] -> reduced: i64[2, 1]", R"(axis = 1, kept = [1])"),
            R"(sdfg f(data: f32[2, 5], reduced: i64[2, 1]) {
  transient M: f32[2]
  state {
    map i0 in 0:2 { M[i0] = -inf }
    map o in 0:2, k in 0:5 { M[o] max= data[o, k] }
    map i0 in 0:2, i1 in 0:1 { reduced[i0, i1] = 9223372036854775807 }
    map o in 0:2, k in 0:5 { reduced[o, 0] min= data[o, k] == M[o] || isnan(data[o, k]) ? k : 5 }
  }
}
)");
}

// Groups m.., n.. are empty for vectors.
TEST(Elaborate, MatMul) {
  EXPECT_EQ(ElaborateText(R"(let rank(m) = rank(A) > 1 ; let rank(n) = rank(B) > 1
Y[.., m.., n..] += A[.., m.., k] * B[.., k, n..])",
                          "A: f32[N, 3, 4], B: f32[4] -> Y: f32[N, 3]"),
            R"(sdfg f(A: f32[N, 3, 4], B: f32[4], Y: f32[N, 3]) {
  state {
    map i0 in 0:N, i1 in 0:3 { Y[i0, i1] = 0.0 }
    map i0 in 0:N, m in 0:3, k in 0:4 { Y[i0, m] += A[i0, m, k] * B[k] }
  }
}
)");
}

TEST(Elaborate, LayerNormalizationStashesInF32) {
  EXPECT_EQ(ElaborateText(R"(let rank(o) = axis < 0 ? axis + rank(X) : axis
let x = cast(X[o.., k..], stash_type)
mu[o..] += x * (1 / len(k))
Y[o.., k..] = cast(x - mu[o..], dtype(X)) * Scale[k..])",
                          "X: f16[N, 8], Scale: f16[8] -> Y: f16[N, 8]", R"(axis = -1, stash_type = 1)"),
            R"(sdfg f(X: f16[N, 8], Scale: f16[8], Y: f16[N, 8]) {
  transient mu: f32[N]
  state {
    map i0 in 0:N { mu[i0] = 0.0 }
    map o in 0:N, k in 0:8 { mu[o] += f32(X[o, k]) * 0.125 }
    map o in 0:N, k in 0:8 { Y[o, k] = f16(f32(X[o, k]) - mu[o]) * Scale[k] }
  }
}
)");
}

// A guarded read that can leave the input keeps its guard.
TEST(Elaborate, Conv) {
  EXPECT_EQ(
      ElaborateText(R"(let N = rank(X) - 2 ; let xd = dims(X)[2:N+2] ; let st = strides ?: 1 ; let lo = (pads ?: 0)[0:N]
let D = dim(W, 1) ; let M = dim(W, 0) // group
Y[n, o, p..] = B[o] ?: 0
Y[n, o, p..] += (X[n, o // M * D + c, p * st + k - lo] ?? 0) * W[o, c, k..])",
                    "X: f32[N, 4, H, 8], W: f32[6, 4, 3, 1], B: f32[6] -> Y: f32[N, 6, H, 8]",
                    R"(strides unset, pads = [1, 0, 1, 0], group = 1)"),
      R"(sdfg f(X: f32[N, 4, H, 8], W: f32[6, 4, 3, 1], B: f32[6], Y: f32[N, 6, H, 8]) {
  state {
    map n in 0:N, o in 0:6, p0 in 0:H, p1 in 0:8 { Y[n, o, p0, p1] = B[o] }
    map n in 0:N, o in 0:6, p0 in 0:H, p1 in 0:8, c in 0:4, k0 in 0:3, k1 in 0:1 {
      Y[n, o, p0, p1] += (X[n, c, k0 + p0 - 1, k1 + p1] ?? 0.0) * W[o, c, k0, k1]
    }
  }
}
)");
}

// Ranges prove that every tap is inside; B is absent.
TEST(Elaborate, ConvWithoutPaddingHasNoGuards) {
  EXPECT_EQ(
      ElaborateText(R"(let N = rank(X) - 2 ; let xd = dims(X)[2:N+2] ; let st = strides ?: 1 ; let lo = (pads ?: 0)[0:N]
let D = dim(W, 1) ; let M = dim(W, 0) // group
Y[n, o, p..] = B[o] ?: 0
Y[n, o, p..] += (X[n, o // M * D + c, p * st + k - lo] ?? 0) * W[o, c, k..])",
                    "X: f32[N, 4, 8], W: f32[6, 2, 3], B: f32 absent -> Y: f32[N, 6, 3]",
                    R"(strides = [2], pads unset, group = 2)"),
      R"(sdfg f(X: f32[N, 4, 8], W: f32[6, 2, 3], Y: f32[N, 6, 3]) {
  state {
    map n in 0:N, o in 0:6, p in 0:3 { Y[n, o, p] = 0.0 }
    map n in 0:N, o in 0:6, p in 0:3, c in 0:2, k in 0:3 {
      Y[n, o, p] += X[n, c + 2 * (o // 3), k + 2 * p] * W[o, c, k]
    }
  }
}
)");
}

TEST(Elaborate, MaxPool) {
  EXPECT_EQ(ElaborateText(R"(let xd = dims(X)[2:rank(X)] ; let at = p * strides + k - pads[0:2]
Y[n, c, p..] max= X[n, c, at] ?? lowest() over k.. in 0:kernel_shape)",
                          "X: f32[N, 4, H, W] -> Y: f32[N, 4, H // 2, W // 2]",
                          R"(strides = [2, 2], kernel_shape = [2, 2], pads = [0, 0, 0, 0])"),
            R"(sdfg f(X: f32[N, 4, H, W], Y: f32[N, 4, H // 2, W // 2]) {
  state {
    map i0 in 0:N, i1 in 0:4, i2 in 0:H // 2, i3 in 0:W // 2 { Y[i0, i1, i2, i3] = -inf }
    map n in 0:N, c in 0:4, p0 in 0:H // 2, p1 in 0:W // 2, k0 in 0:2, k1 in 0:2 {
      Y[n, c, p0, p1] max= X[n, c, k0 + 2 * p0, k1 + 2 * p1]
    }
  }
}
)");
}

TEST(Elaborate, ConvTransposeScatters) {
  EXPECT_EQ(ElaborateText(R"(Y = 0
Y[n, o, i * st + k - 1] ?? += X[n, c, i..] * W[c, o, k..])",
                          "X: f32[1, 2, 3], W: f32[2, 4, 3] -> Y: f32[1, 4, 5]", R"(st = 2)"),
            R"(sdfg f(X: f32[1, 2, 3], W: f32[2, 4, 3], Y: f32[1, 4, 5]) {
  state {
    map i1 in 0:4, i2 in 0:5 { Y[0, i1, i2] = 0.0 }
    map n in 0:1, o in 0:4, i in 0:3, k in 0:3, c in 0:2 {
      Y[n, o, 2 * i + k - 1] ?? += X[n, c, i] * W[c, o, k]
    }
  }
}
)");
}

TEST(Elaborate, Resize) {
  EXPECT_EQ(ElaborateText(R"(let xd = dim(X, 2) ; let x = (p + 0.5) / scales[2] - 0.5 ; let at = floor(x) + k
Y[n, c, p] += X[n, c, clamp(at, 0, xd - 1)] * max(1 - abs(at - x), 0) over k in 0:2)",
                          "X: f32[N, 3, W], scales: f32[3] = [1.0, 1.0, 2.0] -> Y: f32[N, 3, 2*W]"),
            R"(sdfg f(X: f32[N, 3, W], scales: f32[3], Y: f32[N, 3, 2 * W]) {
  state {
    map i0 in 0:N, i1 in 0:3, i2 in 0:2 * W { Y[i0, i1, i2] = 0.0 }
    map n in 0:N, c in 0:3, p in 0:2 * W, k in 0:2 {
      Y[n, c, p] += X[n, c, i64(clamp(floor((f64(p) + 0.5) / 2.0 - 0.5) + f64(k), 0.0, f64(W - 1)))] * f32(max(1.0 - abs(floor((f64(p) + 0.5) / 2.0 - 0.5) + f64(k) - ((f64(p) + 0.5) / 2.0 - 0.5)), 0.0))
    }
  }
}
)");
}

}  // namespace
}  // namespace headrace
