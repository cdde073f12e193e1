#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

constexpr char kFuse[] = "fuse-epilogue; scalarize; eliminate-dead-code";

// A bias and an activation are done where the sums are.
TEST(FuseEpilogue, BiasAndActivation) {
  ExpectPass(R"(
sdfg f(A: f32[64, 128], B: f32[128, 96], b: f32[96], Y: f32[64, 96]) {
  transient T: f32[64, 96]
  map i in 0:64, j in 0:96 { T[i, j] = 0 }
  map i in 0:64, j in 0:96, k in 0:128 { T[i, j] += A[i, k] * B[k, j] }
  map i in 0:64, j in 0:96 { Y[i, j] = max(T[i, j] + b[j], 0) }
})",
             kFuse, R"(
sdfg f(A: f32[64, 128], B: f32[128, 96], b: f32[96], Y: f32[64, 96]) {
  transient T: f32 @register
  state {
    map i in 0:64, j in 0:96 {
      T = 0
      map k in 0:128 { T += A[i, k] * B[k, j] }
      Y[i, j] = max(T + b[j], 0)
    }
  }
})");
}

// However many rows and columns there are: attention's scores, for a length by name.
TEST(FuseEpilogue, SizesByName) {
  ExpectPass(R"(
sdfg f(Q: f32[B, N, 64], K: f32[B, N, 64], Y: f32[B, N, N]) {
  map b in 0:B, i in 0:N, j in 0:N { Y[b, i, j] = 0 }
  map b in 0:B, i in 0:N, j in 0:N, k in 0:64 { Y[b, i, j] += Q[b, i, k] * K[b, j, k] }
})",
             kFuse, R"(
sdfg f(Q: f32[B, N, 64], K: f32[B, N, 64], Y: f32[B, N, N]) {
  state {
    map b in 0:B, i in 0:N, j in 0:N {
      Y[b, i, j] = 0
      map k in 0:64 { Y[b, i, j] += Q[b, i, k] * K[b, j, k] }
    }
  }
})");
}

// Of one image: the fill has no range for it, and the sum sees the container without it.
TEST(FuseEpilogue, OfOneImage) {
  ExpectPass(R"(
sdfg f(Q: f32[16, 512, 64], K: f32[16, 512, 64], Y: f32[1, 16, 512, 512]) {
  view V: f32[16, 512, 512] of Y
  map h in 0:16, i in 0:512, j in 0:512 { Y[0, h, i, j] = 0 }
  map h in 0:16, i in 0:512, j in 0:512, k in 0:64 { V[h, i, j] += Q[h, i, k] * K[h, j, k] }
})",
             kFuse, R"(
sdfg f(Q: f32[16, 512, 64], K: f32[16, 512, 64], Y: f32[1, 16, 512, 512]) {
  view V: f32[16, 512, 512] of Y
  state {
    map d0 in 0:16, d1 in 0:512, d2 in 0:512 {
      V[d0, d1, d2] = 0
      map k in 0:64 { V[d0, d1, d2] += Q[d0, d1, k] * K[d0, d2, k] }
    }
  }
})");
}

// The gradient of weights: its terms' indices come first, and it is filled with zeros long before, in the shape that it has elsewhere.
TEST(FuseEpilogue, AGradientOfWeights) {
  ExpectPass(R"(
sdfg f(A: f32[B, N, 64], G: f32[B, N, 96], X: f32[N], dW: f32[4, 16, 96], Y: f32[N]) {
  view V: f32[64, 96] of dW
  map a in 0:4, b in 0:16, c in 0:96 { dW[a, b, c] = 0 }
  map n in 0:N { Y[n] = X[n] * 2 }
  map b in 0:B, n in 0:N, i in 0:64, j in 0:96 { V[i, j] += A[b, n, i] * G[b, n, j] }
})",
             kFuse, R"(
sdfg f(A: f32[B, N, 64], G: f32[B, N, 96], X: f32[N], dW: f32[4, 16, 96], Y: f32[N]) {
  view V: f32[64, 96] of dW
  state {
    map n in 0:N { Y[n] = X[n] * 2 }
    map d0 in 0:64, d1 in 0:96 {
      V[d0, d1] = 0
      map b in 0:B, n in 0:N { V[d0, d1] += A[b, n, d0] * G[b, n, d1] }
    }
  }
})");
}

// In small floats a sum starts at a bias of their type, and is rounded before its activation; it is in f32 itself.
TEST(FuseEpilogue, SmallFloats) {
  for (const char* device : {"cpu", "cpu_bf16"})
    ExpectPass(R"(
sdfg f(A: bf16[64, 128], B: bf16[128, 96], b: bf16[96], Y: bf16[64, 96]) {
  transient T: f32[64, 96]
  map i in 0:64, j in 0:96 { T[i, j] = b[j] }
  map i in 0:64, j in 0:96, k in 0:128 { T[i, j] += A[i, k] * B[k, j] }
  map i in 0:64, j in 0:96 { Y[i, j] = max(bf16(T[i, j]), 0) }
})",
               "fuse-epilogue{device=" + std::string(device) + "}; scalarize; eliminate-dead-code", R"(
sdfg f(A: bf16[64, 128], B: bf16[128, 96], b: bf16[96], Y: bf16[64, 96]) {
  transient T: f32 @register
  state {
    map i in 0:64, j in 0:96 {
      T = b[j]
      map k in 0:128 { T += A[i, k] * B[k, j] }
      Y[i, j] = max(bf16(T), 0)
    }
  }
})");
}

// The factors of a normalisation are computed behind the product, and need nothing of it: they go before it.
TEST(FuseEpilogue, FactorsComputedInBetween) {
  ExpectPass(R"(
sdfg f(A: f32[64, 128], B: f32[128, 96], g: f32[96], v: f32[96], m: f32[96], Y: f32[64, 96]) {
  transient T: f32[64, 96]
  transient r: f32[96]
  transient s: f32[96]
  map i in 0:64, j in 0:96 { T[i, j] = 0 }
  map i in 0:64, j in 0:96, k in 0:128 { T[i, j] += A[i, k] * B[k, j] }
  map j in 0:96 { r[j] = 1 / sqrt(v[j] + 0.5) }
  map j in 0:96 { s[j] = g[j] * r[95 - j] }
  map i in 0:64, j in 0:96 { Y[i, j] = (T[i, j] - m[j]) * s[j] }
})",
             kFuse, R"(
sdfg f(A: f32[64, 128], B: f32[128, 96], g: f32[96], v: f32[96], m: f32[96], Y: f32[64, 96]) {
  transient T: f32 @register
  transient r: f32[96]
  transient s: f32[96]
  state {
    map j in 0:96 { r[j] = 1 / sqrt(v[j] + 0.5) }
    map j in 0:96 { s[j] = g[j] * r[95 - j] }
    map i in 0:64, j in 0:96 {
      T = 0
      map k in 0:128 { T += A[i, k] * B[k, j] }
      Y[i, j] = (T - m[j]) * s[j]
    }
  }
})");
}

// Factors of two products, computed behind both and used by both; and factors that are of the product itself, which stay.
TEST(FuseEpilogue, FactorsOfTwoProducts) {
  ExpectPass(R"(
sdfg f(A: f32[64, 128], B: f32[128, 96], v: f32[96], w: f32[96], Y: f32[64, 96], Z: f32[64, 96]) {
  transient S: f32[64, 96]
  transient T: f32[64, 96]
  transient r: f32[96]
  transient s: f32[96]
  map i in 0:64, j in 0:96 { S[i, j] = 0 }
  map i in 0:64, j in 0:96, k in 0:128 { S[i, j] += A[i, k] * B[k, j] }
  map i in 0:64, j in 0:96 { T[i, j] = 0 }
  map i in 0:64, j in 0:96, k in 0:128 { T[i, j] += A[i, k] * B[127 - k, j] }
  map j in 0:96 { r[j] = 1 / v[j] }
  map j in 0:96 { s[j] = r[95 - j] + w[j] }
  map i in 0:64, j in 0:96 { Z[i, j] = T[i, j] * s[j] }
  map i in 0:64, j in 0:96 { Y[i, j] = S[i, j] * r[j] }
})",
             kFuse, R"(
sdfg f(A: f32[64, 128], B: f32[128, 96], v: f32[96], w: f32[96], Y: f32[64, 96], Z: f32[64, 96]) {
  transient S: f32 @register
  transient T: f32 @register
  transient r: f32[96]
  transient s: f32[96]
  state {
    map j in 0:96 { r[j] = 1 / v[j] }
    map i in 0:64, j in 0:96 {
      S = 0
      map k in 0:128 { S += A[i, k] * B[k, j] }
      Y[i, j] = S * r[j]
    }
    map j in 0:96 { s[j] = r[95 - j] + w[j] }
    map i in 0:64, j in 0:96 {
      T = 0
      map k in 0:128 { T += A[i, k] * B[127 - k, j] }
      Z[i, j] = T * s[j]
    }
  }
})");
  ExpectPass(R"(
sdfg f(A: f32[64, 128], B: f32[128, 96], Y: f32[64, 96]) {
  transient T: f32[64, 96]
  transient r: f32[96]
  map i in 0:64, j in 0:96 { T[i, j] = 0 }
  map i in 0:64, j in 0:96, k in 0:128 { T[i, j] += A[i, k] * B[k, j] }
  map j in 0:96 { r[j] = 1 / T[0, j] }
  map i in 0:64, j in 0:96 { Y[i, j] = T[i, j] * r[j] }
})",
             kFuse, R"(
sdfg f(A: f32[64, 128], B: f32[128, 96], Y: f32[64, 96]) {
  transient T: f32[64, 96]
  transient r: f32[96]
  state {
    map i in 0:64, j in 0:96 {
      T[i, j] = 0
      map k in 0:128 { T[i, j] += A[i, k] * B[k, j] }
    }
    map j in 0:96 { r[j] = 1 / T[0, j] }
    map i in 0:64, j in 0:96 { Y[i, j] = T[i, j] * r[j] }
  }
})");
}

// What else reads the sum gets it, too.
TEST(FuseEpilogue, TheSumIsKept) {
  ExpectPass(R"(
sdfg f(A: f32[64, 128], B: f32[128, 96], S: f32[64, 96], Y: f32[64, 96]) {
  map i in 0:64, j in 0:96 { S[i, j] = 0 }
  map i in 0:64, j in 0:96, k in 0:128 { S[i, j] += A[i, k] * B[k, j] }
  map i in 0:64, j in 0:96 { Y[i, j] = tanh(S[i, j]) }
})",
             kFuse, R"(
sdfg f(A: f32[64, 128], B: f32[128, 96], S: f32[64, 96], Y: f32[64, 96]) {
  state {
    map i in 0:64, j in 0:96 {
      S[i, j] = 0
      map k in 0:128 { S[i, j] += A[i, k] * B[k, j] }
      Y[i, j] = tanh(S[i, j])
    }
  }
})");
}

// A convolution with a residual.
TEST(FuseEpilogue, AConvolution) {
  ExpectPass(R"(
sdfg f(X: f32[1, 32, 16, 16], W: f32[48, 32, 3, 3], b: f32[48], R: f32[1, 48, 16, 16], Y: f32[1, 48, 16, 16]) {
  transient T: f32[1, 48, 16, 16]
  map n in 0:1, o in 0:48, y in 0:16, x in 0:16 { T[n, o, y, x] = b[o] }
  map n in 0:1, o in 0:48, y in 0:16, x in 0:16, c in 0:32, k in 0:3, l in 0:3 {
    T[n, o, y, x] += (X[n, c, y + k - 1, x + l - 1] ?? 0) * W[o, c, k, l]
  }
  map n in 0:1, o in 0:48, y in 0:16, x in 0:16 { Y[n, o, y, x] = max(T[n, o, y, x] + R[n, o, y, x], 0) }
})",
             kFuse, R"(
sdfg f(
    X: f32[1, 32, 16, 16],
    W: f32[48, 32, 3, 3],
    b: f32[48],
    R: f32[1, 48, 16, 16],
    Y: f32[1, 48, 16, 16]) {
  transient T: f32 @register
  state {
    map n in 0:1, o in 0:48, y in 0:16, x in 0:16 {
      T = b[o]
      map c in 0:32, k in 0:3, l in 0:3 { T += (X[n, c, y + k - 1, x + l - 1] ?? 0) * W[o, c, k, l] }
      Y[n, o, y, x] = max(T + R[n, o, y, x], 0)
    }
  }
})");
}

// Sums that are no tiles stay by themselves, and so does what needs other results than its own.
TEST(FuseEpilogue, Left) {
  const char* const program = R"(
sdfg f(A: f32[64, 128], v: f32[128], B: f32[128, 96], Y: f32[64], Z: f32[64, 96]) {
  transient T: f32[64]
  transient U: f32[64, 96]
  map i in 0:64 { T[i] = 0 }
  map i in 0:64, k in 0:128 { T[i] += A[i, k] * v[k] }
  map i in 0:64 { Y[i] = max(T[i], 0) }
  map i in 0:64, j in 0:96 { U[i, j] = 1 }
  map i in 0:64, j in 0:96, k in 0:128 { U[i, j] += A[i, k] * B[k, j] }
  map i in 0:64, j in 0:96 { Z[i, j] = U[i, 95 - j] }
})";
  ExpectPass(program, kFuse, R"(
sdfg f(A: f32[64, 128], v: f32[128], B: f32[128, 96], Y: f32[64], Z: f32[64, 96]) {
  transient T: f32[64]
  transient U: f32[64, 96]
  state {
    map i in 0:64 { T[i] = 0 }
    map i in 0:64, k in 0:128 { T[i] += A[i, k] * v[k] }
    map i in 0:64 { Y[i] = max(T[i], 0) }
    map i in 0:64, j in 0:96 {
      U[i, j] = 1
      map k in 0:128 { U[i, j] += A[i, k] * B[k, j] }
    }
    map i in 0:64, j in 0:96 { Z[i, j] = U[i, 95 - j] }
  }
})");
}

// What rounds a product's sums waits for them, though the sum of a row could do it, too: the product's sums never reach memory.
TEST(FuseEpilogue, RoundingsWaitForTheirProduct) {
  ExpectPass(R"(
sdfg f(A: bf16[64, 128], B: bf16[128, 96], S: f32[64], R: bf16[64, 96]) {
  transient T: f32[64, 96]
  map i in 0:64, j in 0:96 { T[i, j] = 0 }
  map i in 0:64, j in 0:96, k in 0:128 { T[i, j] += f32(A[i, k]) * f32(B[k, j]) }
  map i in 0:64, j in 0:96 { R[i, j] = bf16(T[i, j]) }
  map i in 0:64 { S[i] = 0 }
  map i in 0:64, j in 0:96 { S[i] += f32(R[i, j]) }
})",
             "fuse-maps; fuse-epilogue; scalarize; eliminate-dead-code", R"(
sdfg f(A: bf16[64, 128], B: bf16[128, 96], S: f32[64], R: bf16[64, 96]) {
  transient T: f32 @register
  state {
    map i in 0:64, j in 0:96 {
      T = 0
      map k in 0:128 { T += f32(A[i, k]) * f32(B[k, j]) }
      R[i, j] = bf16(T)
    }
    map i in 0:64 {
      S[i] = 0
      map j in 0:96 { S[i] += f32(R[i, j]) }
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
