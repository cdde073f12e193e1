// Channels innermost: which containers, which weights, and where not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// The image is read as it is, the reshaped result written as it must be; a weight that is a parameter is copied.
TEST(AssignLayouts, Networks) {
  ExpectPass(R"(sdfg f(X: f32[N, 32, 16, 16], W2: f32[32, 32, 3, 3], Y: f32[N, 32, 16, 16], Z: f32[N, 8192]) {
  constant W1: f32[32, 32, 3, 3] = fill(0.5)
  transient A: f32[N, 32, 16, 16]
  transient B: f32[N, 32, 16, 16]
  transient C: f32[N, 32, 16, 16]
  view rows: f32[N, 8192] of C
  state {
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 { A[n, o, p, q] = 0.0 }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16, c in 0:32, k in 0:3, l in 0:3 {
      A[n, o, p, q] += (X[n, c, p + k - 1, q + l - 1] ?? 0.0) * W1[o, c, k, l]
    }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 { B[n, o, p, q] = max(A[n, o, p, q], 0.0) }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 { C[n, o, p, q] = 0.0 }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16, c in 0:32, k in 0:3, l in 0:3 {
      C[n, o, p, q] += (B[n, c, p + k - 1, q + l - 1] ?? 0.0) * W2[o, c, k, l]
    }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 { Y[n, o, p, q] = B[n, o, p, q] + C[n, o, p, q] }
    map n in 0:N, i in 0:8192 { Z[n, i] = rows[n, i] }
  }
}
)",
             "assign-layouts",
             R"(sdfg f(X: f32[N, 32, 16, 16], W2: f32[32, 32, 3, 3], Y: f32[N, 32, 16, 16], Z: f32[N, 8192]) {
  constant W1: f32[32, 32, 3, 3] = fill(0.5) layout [d2, d3, d1, d0]
  transient A: f32[N, 32, 16, 16] layout [d0, d2, d3, d1]
  transient B: f32[N, 32, 16, 16] layout [d0, d2, d3, d1]
  transient C: f32[N, 32, 16, 16]
  view rows: f32[N, 8192] of C
  transient W2_turned: f32[32, 32, 3, 3] layout [d2, d3, d1, d0]
  state {
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 { A[n, o, p, q] = 0.0 }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16, c in 0:32, k in 0:3, l in 0:3 {
      A[n, o, p, q] += (X[n, c, p + k - 1, q + l - 1] ?? 0.0) * W1[o, c, k, l]
    }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 { B[n, o, p, q] = max(A[n, o, p, q], 0.0) }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 { C[n, o, p, q] = 0.0 }
    map i0 in 0:32, i1 in 0:32, i2 in 0:3, i3 in 0:3 {
      W2_turned[i0, i1, i2, i3] = W2[i0, i1, i2, i3]
    }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16, c in 0:32, k in 0:3, l in 0:3 {
      C[n, o, p, q] += (B[n, c, p + k - 1, q + l - 1] ?? 0.0) * W2_turned[o, c, k, l]
    }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 { Y[n, o, p, q] = B[n, o, p, q] + C[n, o, p, q] }
    map n in 0:N, i in 0:8192 { Z[n, i] = rows[n, i] }
  }
}
)");
}

// Sums in registers, pooling with strides, gradients of data and weights.
TEST(AssignLayouts, DepthwisePoolingAndGradients) {
  ExpectPass(R"(sdfg f(X: f32[2, 64, 32], W: f32[64, 1, 3],
    dY: f32[2, 96, 32], Y: f32[2, 64, 16], dX: f32[2, 64, 32], dV: f32[96, 64, 3], V: f32[96, 64, 3]) {
  transient A: f32[2, 64, 32]
  transient D: f32[2, 96, 32]
  transient G: f32[2, 64, 32]
  transient sum: f32 @register
  transient best: f32 @register
  state {
    map n in 0:2, o in 0:64, p in 0:32 {
      sum = 0.0
      map k in 0:3 { sum += (X[n, o, p + k - 1] ?? 0.0) * W[o, 0, k] }
      A[n, o, p] = max(sum, 0.0)
    }
    map n in 0:2, o in 0:64, p in 0:16 {
      best = -inf
      map k in 0:2 { best max= A[n, o, 2 * p + k] }
      Y[n, o, p] = best
    }
    map n in 0:2, o in 0:96, p in 0:32 { D[n, o, p] = 2.0 * dY[n, o, p] }
    map n in 0:2, c in 0:64, p in 0:32 { G[n, c, p] = 0.0 }
    map n in 0:2, c in 0:64, p in 0:32, o in 0:96, k in 0:3 { G[n, c, p] += (D[n, o, p - k + 1] ?? 0.0) * V[o, c, k] }
    map n in 0:2, c in 0:64, p in 0:32 { dX[n, c, p] = A[n, c, p] > 0.0 ? G[n, c, p] : 0.0 }
    map o in 0:96, c in 0:64, k in 0:3 { dV[o, c, k] = 0.0 }
    map o in 0:96, c in 0:64, k in 0:3, n in 0:2, p in 0:32 { dV[o, c, k] += D[n, o, p] * (A[n, c, p + k - 1] ?? 0.0) }
  }
}
)",
             "assign-layouts",
             R"(sdfg f(
    X: f32[2, 64, 32],
    W: f32[64, 1, 3],
    dY: f32[2, 96, 32],
    Y: f32[2, 64, 16],
    dX: f32[2, 64, 32],
    dV: f32[96, 64, 3],
    V: f32[96, 64, 3]) {
  transient A: f32[2, 64, 32] layout [d0, d2, d1]
  transient D: f32[2, 96, 32] layout [d0, d2, d1]
  transient G: f32[2, 64, 32] layout [d0, d2, d1]
  transient sum: f32 @register
  transient best: f32 @register
  transient W_turned: f32[64, 1, 3] layout [d2, d1, d0]
  transient V_turned: f32[96, 64, 3] layout [d2, d0, d1]
  state {
    map i0 in 0:64, i1 in 0:1, i2 in 0:3 {
      W_turned[i0, i1, i2] = W[i0, i1, i2]
    }
    map n in 0:2, o in 0:64, p in 0:32 {
      sum = 0.0
      map k in 0:3 { sum += (X[n, o, p + k - 1] ?? 0.0) * W_turned[o, 0, k] }
      A[n, o, p] = max(sum, 0.0)
    }
    map n in 0:2, o in 0:64, p in 0:16 {
      best = -inf
      map k in 0:2 { best max= A[n, o, 2 * p + k] }
      Y[n, o, p] = best
    }
    map n in 0:2, o in 0:96, p in 0:32 { D[n, o, p] = 2.0 * dY[n, o, p] }
    map n in 0:2, c in 0:64, p in 0:32 { G[n, c, p] = 0.0 }
    map i0 in 0:96, i1 in 0:64, i2 in 0:3 {
      V_turned[i0, i1, i2] = V[i0, i1, i2]
    }
    map n in 0:2, c in 0:64, p in 0:32, o in 0:96, k in 0:3 {
      G[n, c, p] += (D[n, o, p - k + 1] ?? 0.0) * V_turned[o, c, k]
    }
    map n in 0:2, c in 0:64, p in 0:32 { dX[n, c, p] = A[n, c, p] > 0.0 ? G[n, c, p] : 0.0 }
    map o in 0:96, c in 0:64, k in 0:3 { dV[o, c, k] = 0.0 }
    map o in 0:96, c in 0:64, k in 0:3, n in 0:2, p in 0:32 {
      dV[o, c, k] += D[n, o, p] * (A[n, c, p + k - 1] ?? 0.0)
    }
  }
}
)");
}

// 6 channels fill vectors of 16 lanes badly.
TEST(AssignLayouts, FewChannels) {
  ExpectUnchanged(R"(sdfg f(X: f32[2, 6, 32, 32], W1: f32[6, 6, 3, 3], W2: f32[6, 6, 3, 3], Y: f32[2, 6, 32, 32]) {
  transient A: f32[2, 6, 32, 32]
  state {
    map n in 0:2, o in 0:6, p in 0:32, q in 0:32 { A[n, o, p, q] = 0.0 }
    map n in 0:2, o in 0:6, p in 0:32, q in 0:32, c in 0:6, k in 0:3, l in 0:3 {
      A[n, o, p, q] += (X[n, c, p + k - 1, q + l - 1] ?? 0.0) * W1[o, c, k, l]
    }
    map n in 0:2, o in 0:6, p in 0:32, q in 0:32 { Y[n, o, p, q] = 0.0 }
    map n in 0:2, o in 0:6, p in 0:32, q in 0:32, c in 0:6, k in 0:3, l in 0:3 {
      Y[n, o, p, q] += (A[n, c, p + k - 1, q + l - 1] ?? 0.0) * W2[o, c, k, l]
    }
  }
}
)",
                  "assign-layouts");
}

// Of groups of four channels each result has its own terms: lanes of channels would stay empty. What is around them keeps its rows, too.
TEST(AssignLayouts, GroupsOfFewChannels) {
  ExpectUnchanged(R"(sdfg f(X: f32[2, 32, 28, 28], W1: f32[32, 32, 1, 1], W2: f32[32, 4, 3, 3], dY: f32[2, 32, 28, 28],
    dW2: f32[32, 4, 3, 3], Z: f32[2, 32, 28, 28]) {
  transient A: f32[2, 32, 28, 28]
  transient G: f32[2, 32, 28, 28]
  state {
    map n in 0:2, o in 0:32, p in 0:28, q in 0:28 { A[n, o, p, q] = 0.0 }
    map n in 0:2, o in 0:32, p in 0:28, q in 0:28, c in 0:32 { A[n, o, p, q] += X[n, c, p, q] * W1[o, c, 0, 0] }
    map o in 0:32, c in 0:4, k in 0:3, l in 0:3 { dW2[o, c, k, l] = 0.0 }
    map o in 0:32, c in 0:4, k in 0:3, l in 0:3, n in 0:2, p in 0:28, q in 0:28 {
      dW2[o, c, k, l] += dY[n, o, p, q] * (A[n, 4 * (o // 4) + c, p + k - 1, q + l - 1] ?? 0.0)
    }
    map n in 0:2, c in 0:32, p in 0:28, q in 0:28 { G[n, c, p, q] = 0.0 }
    map n in 0:2, c in 0:32, p in 0:28, q in 0:28, m in 0:4, k in 0:3, l in 0:3 {
      G[n, c, p, q] += (dY[n, 4 * (c // 4) + m, p + k - 1, q + l - 1] ?? 0.0) * W2[4 * (c // 4) + m, c % 4, 2 - k, 2 - l]
    }
    map n in 0:2, c in 0:32, p in 0:28, q in 0:28 { Z[n, c, p, q] = 0.0 }
    map n in 0:2, c in 0:32, p in 0:28, q in 0:28, o in 0:32 { Z[n, c, p, q] += G[n, o, p, q] * W1[o, c, 0, 0] }
  }
}
)",
                  "assign-layouts");
}

// Of windows of one place, channels that are terms follow each other: schedules turn such weights by squares when they pack them, and a
// gradient finds its channels side by side.
TEST(AssignLayouts, WeightsThatSchedulesTurn) {
  Program p = *ParseProgram(R"(sdfg f(X: f32[N, 64, 16, 16], W1: f32[64, 64, 1, 1], W2: f32[64, 64, 3, 3], Y: f32[N, 64, 16, 16]) {
  transient A: f32[N, 64, 16, 16]
  transient B: f32[N, 64, 16, 16]
  transient C: f32[N, 64, 16, 16]
  state {
    map n in 0:N, o in 0:64, p in 0:16, q in 0:16 { A[n, o, p, q] = 0.0 }
    map n in 0:N, o in 0:64, p in 0:16, q in 0:16, c in 0:64, k in 0:3, l in 0:3 {
      A[n, o, p, q] += (X[n, c, p + k - 1, q + l - 1] ?? 0.0) * W2[o, c, k, l]
    }
    map n in 0:N, o in 0:64, p in 0:16, q in 0:16 { B[n, o, p, q] = 0.0 }
    map n in 0:N, o in 0:64, p in 0:16, q in 0:16, c in 0:64 { B[n, o, p, q] += A[n, c, p, q] * W1[o, c, 0, 0] }
    map n in 0:N, o in 0:64, p in 0:16, q in 0:16 { C[n, o, p, q] = 0.0 }
    map n in 0:N, o in 0:64, p in 0:16, q in 0:16, c in 0:64 { C[n, o, p, q] += B[n, c, p, q] * W1[c, o, 0, 0] }
    map n in 0:N, o in 0:64, p in 0:16, q in 0:16 { Y[n, o, p, q] = max(C[n, o, p, q], 0.0) }
  }
}
)");
  ASSERT_TRUE(RunPipeline(TestRegistry(), "assign-layouts", p).ok());
  const std::string text = Print(p);
  for (const char* image : {"A", "B"})
    EXPECT_NE(text.find(std::string("transient ") + image + ": f32[N, 64, 16, 16] layout [d0, d2, d3, d1]"), std::string::npos) << text;
  EXPECT_NE(text.find("W2_turned"), std::string::npos) << text;
  EXPECT_EQ(text.find("W1_turned"), std::string::npos) << text;
}

// The gradient of a depthwise convolution with steps of two: places in phases, of which each meets every second weight.
TEST(AssignLayouts, Phases) {
  ExpectPass(R"(sdfg f(A: f32[32], W: f32[32, 1, 3, 3], Y: f32[N, 32]) {
  transient G: f32[N, 32, 14, 14]
  transient P: f32[N, 32, 2, 2, 15, 15]
  state {
    map n in 0:N, c in 0:32, y in 0:14, x in 0:14 { G[n, c, y, x] = exp(A[c]) }
    map n in 0:N, c in 0:32, f in 0:2, g in 0:2, r in 0:15, s in 0:15 {
      P[n, c, f, g, r, s] = 0.0
      map i in 0:2, j in 0:2 {
        P[n, c, f, g, r, s] += (G[n, c, r - i, s - j] ?? 0.0) * (W[c, 0, f + 2 * i, g + 2 * j] ?? 0.0)
      }
    }
    map n in 0:N, c in 0:32 { Y[n, c] = 0.0 }
    map n in 0:N, c in 0:32, y in 0:28, x in 0:28 {
      Y[n, c] += P[n, c, (y + 1) % 2, (x + 1) % 2, (y + 1) // 2, (x + 1) // 2]
    }
  }
}
)",
             "assign-layouts", R"(
sdfg f(A: f32[32], W: f32[32, 1, 3, 3], Y: f32[N, 32]) {
  transient G: f32[N, 32, 14, 14] layout [d0, d2, d3, d1]
  transient P: f32[N, 32, 2, 2, 15, 15] layout [d0, d2, d3, d4, d5, d1]
  transient W_turned: f32[32, 1, 3, 3] layout [d2, d3, d1, d0]
  state {
    map n in 0:N, c in 0:32, y in 0:14, x in 0:14 { G[n, c, y, x] = exp(A[c]) }
    map i0 in 0:32, i1 in 0:1, i2 in 0:3, i3 in 0:3 { W_turned[i0, i1, i2, i3] = W[i0, i1, i2, i3] }
    map n in 0:N, c in 0:32, f in 0:2, g in 0:2, r in 0:15, s in 0:15 {
      P[n, c, f, g, r, s] = 0.0
      map i in 0:2, j in 0:2 {
        P[n, c, f, g, r, s] += (G[n, c, r - i, s - j] ?? 0.0) * (W_turned[c, 0, f + 2 * i, g + 2 * j] ?? 0.0)
      }
    }
    map n in 0:N, c in 0:32 { Y[n, c] = 0.0 }
    map n in 0:N, c in 0:32, y in 0:28, x in 0:28 {
      Y[n, c] += P[n, c, (y + 1) % 2, (x + 1) % 2, (y + 1) // 2, (x + 1) // 2]
    }
  }
})");
}

// A batch of one, that no index counts: the gradient of weights is one all the same.
TEST(AssignLayouts, GradientOfWeightsOfOneImage) {
  ExpectPass(R"(
sdfg f(Xi: f32[1, 14, 14, 64], Yi: f32[1, 14, 14, 64], dW: f32[64, 64, 3, 3]) {
  view X: f32[1, 64, 14, 14] of Xi strides [12544, 1, 896, 64]
  view Y: f32[1, 64, 14, 14] of Yi strides [12544, 1, 896, 64]
  transient A: f32[1, 64, 14, 14]
  transient G: f32[1, 64, 14, 14]
  state {
    map c in 0:64, p in 0:14, q in 0:14 { A[0, c, p, q] = max(X[0, c, p, q], 0.0) }
    map o in 0:64, p in 0:14, q in 0:14 { G[0, o, p, q] = exp(Y[0, o, p, q]) }
    map o in 0:64, c in 0:64, k in 0:3, l in 0:3 { dW[o, c, k, l] = 0.0 }
    map o in 0:64, c in 0:64, k in 0:3, l in 0:3, p in 0:14, q in 0:14 {
      dW[o, c, k, l] += G[0, o, p, q] * (A[0, c, p + k - 1, q + l - 1] ?? 0.0)
    }
  }
}
)",
             "assign-layouts", R"(
sdfg f(Xi: f32[1, 14, 14, 64], Yi: f32[1, 14, 14, 64], dW: f32[64, 64, 3, 3]) {
  view X: f32[1, 64, 14, 14] of Xi strides [12544, 1, 896, 64]
  view Y: f32[1, 64, 14, 14] of Yi strides [12544, 1, 896, 64]
  transient A: f32[1, 64, 14, 14] layout [d0, d2, d3, d1]
  transient G: f32[1, 64, 14, 14] layout [d0, d2, d3, d1]
  state {
    map c in 0:64, p in 0:14, q in 0:14 { A[0, c, p, q] = max(X[0, c, p, q], 0.0) }
    map o in 0:64, p in 0:14, q in 0:14 { G[0, o, p, q] = exp(Y[0, o, p, q]) }
    map o in 0:64, c in 0:64, k in 0:3, l in 0:3 { dW[o, c, k, l] = 0.0 }
    map o in 0:64, c in 0:64, k in 0:3, l in 0:3, p in 0:14, q in 0:14 {
      dW[o, c, k, l] += G[0, o, p, q] * (A[0, c, p + k - 1, q + l - 1] ?? 0.0)
    }
  }
}
)");
}

// Products of two arrays that both have the batch are no convolutions.
TEST(AssignLayouts, Attention) {
  ExpectUnchanged(R"(sdfg f(X: f32[B, T, 4, 16], K: f32[B, T, 4, 16], Y: f32[B, 4, T, T]) {
  transient Q: f32[B, 4, T, 16]
  transient R: f32[B, 4, T, 16]
  transient S: f32[B, 4, T, T]
  state {
    map b in 0:B, h in 0:4, t in 0:T, d in 0:16 { Q[b, h, t, d] = X[b, t, h, d] }
    map b in 0:B, h in 0:4, t in 0:T, d in 0:16 { R[b, h, t, d] = K[b, t, h, d] }
    map b in 0:B, h in 0:4, t in 0:T, u in 0:T { S[b, h, t, u] = 0.0 }
    map b in 0:B, h in 0:4, t in 0:T, u in 0:T, d in 0:16 { S[b, h, t, u] += Q[b, h, t, d] * R[b, h, u, d] }
    map b in 0:B, h in 0:4, t in 0:T, u in 0:T { Y[b, h, t, u] = exp(S[b, h, t, u]) }
  }
}
)",
                  "assign-layouts");
}

// Whose terms lie side by side already.
TEST(AssignLayouts, Rows) {
  ExpectUnchanged(R"(sdfg f(X: f32[B, 64, 128], W: f32[128, 128], M: f32[64, 64], Y: f32[B, 64, 128]) {
  transient T: f32[B, 64, 128]
  transient U: f32[B, 64, 128]
  state {
    map b in 0:B, t in 0:64, n in 0:128 { T[b, t, n] = 0.0 }
    map b in 0:B, t in 0:64, n in 0:128, k in 0:128 { T[b, t, n] += X[b, t, k] * W[k, n] }
    map b in 0:B, t in 0:64, n in 0:128 { U[b, t, n] = 0.0 }
    map b in 0:B, t in 0:64, n in 0:128, k in 0:128 { U[b, t, n] += max(T[b, t, k], 0.0) * W[k, n] }
    map b in 0:B, t in 0:64, n in 0:128 { Y[b, t, n] = 0.0 }
    map b in 0:B, t in 0:64, n in 0:128, s in 0:64 { Y[b, t, n] += U[b, s, n] * M[t, s] }
  }
}
)",
                  "assign-layouts");
}

// Lanes are the channels of a result: one that stays as it is gains nothing by an image that is turned.
TEST(AssignLayouts, ResultsThatStay) {
  ExpectUnchanged(R"(sdfg f(X: f32[2, 64, 32, 32], W: f32[64, 64, 1, 1], Y: f32[2, 64, 32, 32]) {
  transient A: f32[2, 64, 32, 32]
  state {
    map n in 0:2, c in 0:64, p in 0:32, q in 0:32 { A[n, c, p, q] = X[n, c, p, q] + 1.0 }
    map n in 0:2, o in 0:64, p in 0:32, q in 0:32 { Y[n, o, p, q] = 0.0 }
    map n in 0:2, o in 0:64, p in 0:32, q in 0:32, c in 0:64 { Y[n, o, p, q] += A[n, c, p, q] * W[o, c, 0, 0] }
  }
}
)",
                  "assign-layouts");
}

// Images of one channel: sums over their places give images as others do.
TEST(AssignLayouts, ImagesOfOneChannel) {
  ExpectPass(R"(sdfg f(X: f32[2, 1, 32, 32], Y: f32[2, 64]) {
  constant W: f32[64, 1, 5, 5] = fill(0.5)
  transient A: f32[2, 64, 32, 32]
  state {
    map n in 0:2, o in 0:64, p in 0:32, q in 0:32 { A[n, o, p, q] = 0.0 }
    map n in 0:2, o in 0:64, p in 0:32, q in 0:32, k in 0:5, l in 0:5 {
      A[n, o, p, q] += (X[n, 0, p + k - 2, q + l - 2] ?? 0.0) * W[o, 0, k, l]
    }
    map n in 0:2, o in 0:64 { Y[n, o] = 0.0 }
    map n in 0:2, o in 0:64, p in 0:32, q in 0:32 { Y[n, o] += max(A[n, o, p, q], 0.0) }
  }
}
)",
             "assign-layouts", R"(sdfg f(X: f32[2, 1, 32, 32], Y: f32[2, 64]) {
  constant W: f32[64, 1, 5, 5] = fill(0.5) layout [d2, d3, d1, d0]
  transient A: f32[2, 64, 32, 32] layout [d0, d2, d3, d1]
  state {
    map n in 0:2, o in 0:64, p in 0:32, q in 0:32 { A[n, o, p, q] = 0.0 }
    map n in 0:2, o in 0:64, p in 0:32, q in 0:32, k in 0:5, l in 0:5 {
      A[n, o, p, q] += (X[n, 0, p + k - 2, q + l - 2] ?? 0.0) * W[o, 0, k, l]
    }
    map n in 0:2, o in 0:64 { Y[n, o] = 0.0 }
    map n in 0:2, o in 0:64, p in 0:32, q in 0:32 { Y[n, o] += max(A[n, o, p, q], 0.0) }
  }
}
)");
}

// Between an input and an output more is lost than one small sum gains.
TEST(AssignLayouts, NotWorthIt) {
  ExpectUnchanged(R"(sdfg f(X: f32[2, 4, 4, 4], W: f32[4, 4, 1, 1], Y: f32[2, 4, 4, 4]) {
  transient A: f32[2, 4, 4, 4]
  state {
    map n in 0:2, c in 0:4, p in 0:4, q in 0:4 { A[n, c, p, q] = X[n, c, p, q] + 1.0 }
    map n in 0:2, o in 0:4, p in 0:4, q in 0:4 { Y[n, o, p, q] = 0.0 }
    map n in 0:2, o in 0:4, p in 0:4, q in 0:4, c in 0:4 { Y[n, o, p, q] += A[n, c, p, q] * W[o, c, 0, 0] }
  }
}
)",
                  "assign-layouts");
}

// What is tried is taken back, also where the strides of a view don't say of which order they come: 16 * N of V.
TEST(AssignLayouts, NotWorthItWithAView) {
  ExpectUnchanged(R"(sdfg f(G: f32[N, 10, 32], X: f32[N, 32, 8], inout Y: f32[32, 8, 160]) {
  transient T: f32[32, N, 160]
  view V: f32[32, N, 10, 16] of T
  state {
    map i in 0:32, n in 0:N, j in 0:10, k in 0:16 { V[i, n, j, k] = G[n, j, i] }
    map i in 0:32, n in 0:N, o in 0:160, c in 0:8 { Y[i, c, o] += T[i, n, o] * X[n, i, c] }
  }
}
)",
                  "assign-layouts");
}

// Numbers are the device's: where nothing is gained, nothing is turned.
TEST(AssignLayouts, DevicesDecide) {
  ExpectPassError("sdfg f(Y: f32[2]) { map i in 0:2 { Y[i] = 0.0 } }", "assign-layouts{device=abacus}", "E0369");
}

}  // namespace
}  // namespace headrace::transforms
