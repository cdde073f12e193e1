// Loops around neighbouring statements, so that what lives between them is one iteration's.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

constexpr char kPass[] = "fuse-outer-loops";

// Scores, a softmax in place, and what it weighs: any batch, 16 heads.
TEST(FuseOuterLoops, Attention) {
  ExpectPass(R"(
sdfg f(Q: f32[B, 16, 512, 64], K: f32[B, 16, 512, 64], V: f32[B, 16, 512, 64], O: f32[B, 16, 512, 64]) {
  transient S: f32[B, 16, 512, 512]
  transient R: f32[B, 16, 512]
  state {
    map b in 0:B, h in 0:16, i in 0:512, j in 0:512 {
      S[b, h, i, j] = 0
      map k in 0:64 { S[b, h, i, j] += Q[b, h, i, k] * K[b, h, j, k] }
    }
    map n in 0:B, h in 0:16, i in 0:512 {
      R[n, h, i] = 0
      map j in 0:512 {
        S[n, h, i, j] = exp(S[n, h, i, j])
        R[n, h, i] += S[n, h, i, j]
      }
      map j in 0:512 { S[n, h, i, j] = S[n, h, i, j] / R[n, h, i] }
    }
    map b in 0:B, h in 0:16, i in 0:512, k in 0:64 {
      O[b, h, i, k] = 0
      map j in 0:512 { O[b, h, i, k] += S[b, h, i, j] * V[b, h, j, k] }
    }
  }
})",
             kPass, R"(
sdfg f(Q: f32[B, 16, 512, 64], K: f32[B, 16, 512, 64], V: f32[B, 16, 512, 64], O: f32[B, 16, 512, 64]) {
  transient S: f32[16, 512, 512]
  transient R: f32[16, 512]
  for b_1 in 0:B {
    state {
      map h in 0:16, i in 0:512, j in 0:512 {
        S[h, i, j] = 0
        map k in 0:64 { S[h, i, j] += Q[b_1, h, i, k] * K[b_1, h, j, k] }
      }
      map h in 0:16, i in 0:512 {
        R[h, i] = 0
        map j in 0:512 {
          S[h, i, j] = exp(S[h, i, j])
          R[h, i] += S[h, i, j]
        }
        map j in 0:512 { S[h, i, j] = S[h, i, j] / R[h, i] }
      }
      map h in 0:16, i in 0:512, k in 0:64 {
        O[b_1, h, i, k] = 0
        map j in 0:512 { O[b_1, h, i, k] += S[h, i, j] * V[b_1, h, j, k] }
      }
    }
  }
})");
}

// What stands between goes before the loop, or after it where it needs what the loop computes. Views lose the dimension, too.
TEST(FuseOuterLoops, WhatStandsBetween) {
  ExpectPass(R"(
sdfg f(X: f32[8, 512, 1024], W: f32[8, 1024, 1024], Y: f32[8, 512, 1024], Z: f32[8], U: f32[8, 512], D: f32[8, 512]) {
  transient A: f32[8, 512, 1024]
  view A_1: f32[8, 256, 2048] of A
  transient C: f32[8]
  state {
    map i in 0:8 { C[i] = 1 }
    map b in 0:8, i in 0:512, j in 0:1024 {
      A[b, i, j] = 0
      map k in 0:1024 { A[b, i, j] += X[b, i, k] * W[b, k, j] }
    }
    map i in 0:8 { Z[i] = C[i] }
    map b in 0:8, i in 0:512, j in 0:1024 {
      Y[b, i, j] = 0
      map k in 0:1024 { Y[b, i, j] += A_1[b, i // 2, k + i % 2 * 1024] * W[b, k, j] }
    }
    map b in 0:8, i in 0:512 { U[b, i] = Y[b, i, 0] }
    map b in 0:8, i in 0:512 { D[b, i] = A[b, i, 1] }
  }
})",
             "fuse-outer-loops", R"(
sdfg f(X: f32[8, 512, 1024], W: f32[8, 1024, 1024], Y: f32[8, 512, 1024], Z: f32[8], U: f32[8, 512], D: f32[8, 512]) {
  transient A: f32[512, 1024]
  view A_1: f32[256, 2048] of A
  transient C: f32[8]
  state {
    map i in 0:8 { C[i] = 1 }
    map i in 0:8 { Z[i] = C[i] }
  }
  for b_1 in 0:8 {
    state {
      map i in 0:512, j in 0:1024 {
        A[i, j] = 0
        map k in 0:1024 { A[i, j] += X[b_1, i, k] * W[b_1, k, j] }
      }
      map i in 0:512, j in 0:1024 {
        Y[b_1, i, j] = 0
        map k in 0:1024 { Y[b_1, i, j] += A_1[i // 2, k + i % 2 * 1024] * W[b_1, k, j] }
      }
      map i in 0:512 { D[b_1, i] = A[i, 1] }
    }
  }
  state {
    map b in 0:8, i in 0:512 { U[b, i] = Y[b, i, 0] }
  }
})");
}

std::string Chain(const std::string& first, const std::string& second, const std::string& more = "") {
  return "sdfg f(X: f32[8, 512, 1024], W: f32[8, 1024, 1024], inout Y: f32[8, 512, 1024], inout G: f32[1024, 1024]) {\n"
         "  transient A: f32[8, 512, 1024]\n" + more + "  state {\n    map b in 0:8, i in 0:512, j in 0:1024 {\n      A[b, i, j] = 0\n"
         "      map k in 0:1024 { " + first + " }\n    }\n    map b in 0:8, i in 0:512, j in 0:1024, k in 0:1024 { " + second +
         " }\n    map i in 0:1024 { G[i, 0] = Y[0, 0, i] }\n    map i in 0:1024 { Y[0, 0, i] = G[0, i] }\n  }\n}";
}

// Parts of other iterations; sums over them; places that an index does not tell.
TEST(FuseOuterLoops, OthersStay) {
  const std::string product = "A[b, i, j] += X[b, i, k] * W[b, k, j]";
  for (const char* second : {"Y[b, i, j] += A[7 - b, i, k] * W[b, k, j]", "G[k, j] += A[b, i, k] * X[b, i, j]",
                             "Y[b, i, j] += A.flat[524288 * b + 1024 * i + k] * W[b, k, j]", "Y[b, i, j] += (A[b - 1, i, k] ?? 0) * W[b, k, j]"})
    ExpectUnchanged(Chain(product, second), kPass);
  // The second needs all of Y that the first has written.
  ExpectUnchanged(Chain("A[b, i, j] += Y[b, i, k] * W[b, k, j]", "Y[7 - b, i, j] += A[b, i, k] * W[b, k, j]"), kPass);
  // Each iteration would read 4 MiB of weights again.
  ExpectUnchanged(Chain("A[b, i, j] += X[b, i, k] * G[k, j]", "Y[b, i, j] += A[b, i, k] * G[k, j]"), kPass);
  // Views of other parts.
  ExpectUnchanged(Chain(product, "Y[b, i, j] += V[b, i, k] * W[b, k, j]", "  view V: f32[8, 512, 1024] of A strides [1024, 8192, 1]\n"), kPass);
}

// Little memory, and little to do: possible, but not worth it.
TEST(FuseOuterLoops, OnRequest) {
  const char* text = R"(
sdfg f(X: f32[8, 16], Y: f32[8, 16]) {
  transient A: f32[8, 16]
  state {
    map b in 0:8, i in 0:16 { A[b, i] = X[b, i] }
    map b in 0:8, i in 0:16 { Y[b, i] = A[b, i] + A[b, 0] }
  }
})";
  ExpectUnchanged(text, kPass);
  ExpectPass(text, "fuse-outer-loops@#b0+A", R"(
sdfg f(X: f32[8, 16], Y: f32[8, 16]) {
  transient A: f32[16]
  for b_1 in 0:8 {
    state {
      map i in 0:16 { A[i] = X[b_1, i] }
      map i in 0:16 { Y[b_1, i] = A[i] + A[0] }
    }
  }
})");
}

// A round of a loop may need what the one before left.
TEST(FuseOuterLoops, InALoop) {
  const auto text = [](const std::string& op) {
    return std::string("sdfg f(X: f32[8, 512, 1024], W: f32[8, 1024, 1024], inout Y: f32[8, 512, 1024]) {\n  transient A: f32[8, 512, 1024]\n") +
           (op == "=" ? "" : "  state {\n    map b in 0:8, i in 0:512, j in 0:1024 { A[b, i, j] = 0 }\n  }\n") + "  for t in 0:3 {\n    state {\n"
           "      map b in 0:8, i in 0:512, j in 0:1024 { A[b, i, j] " + op + " X[b, i, j] }\n"
           "      map b in 0:8, i in 0:512, j in 0:1024, k in 0:1024 { Y[b, i, j] += A[b, i, k] * W[b, k, j] }\n    }\n  }\n}";
  };
  ExpectUnchanged(text("+="), kPass);
  EXPECT_NE(Transformed(text("="), kPass).find("transient A: f32[512, 1024]"), std::string::npos);
}

}  // namespace
}  // namespace headrace::transforms
