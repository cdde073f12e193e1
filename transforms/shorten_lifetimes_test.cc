#include "transforms/shorten_lifetimes.h"

#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace {
namespace {

using transforms::ExpectPass;
using transforms::ExpectUnchanged;

// Each update stands right behind its gradient, which the next may lie over, and the gradient behind what reads the weights.
TEST(ShortenLifetimes, UpdatesFollowTheirGradients) {
  ExpectPass(R"(sdfg f(X: f32[8, 256], H: f32[8, 256], G: f32[8, 256], grad_X: f32[8, 256],
             inout V: f32[256, 256], inout W: f32[256, 256]) {
      transient grad_H: f32[8, 256]
      transient grad_V: f32[256, 256]
      transient grad_W: f32[256, 256]
      state backward {
        map i in 0:256, j in 0:256 { grad_W[i, j] = 0 }
        map i in 0:256, j in 0:256, k in 0:8 { grad_W[i, j] += H[k, i] * G[k, j] }
        map k in 0:8, i in 0:256 { grad_H[k, i] = 0 }
        map k in 0:8, i in 0:256, j in 0:256 { grad_H[k, i] += G[k, j] * W[i, j] }
        map i in 0:256, j in 0:256 { grad_V[i, j] = 0 }
        map i in 0:256, j in 0:256, k in 0:8 { grad_V[i, j] += X[k, i] * grad_H[k, j] }
        map k in 0:8, i in 0:256 { grad_X[k, i] = 0 }
        map k in 0:8, i in 0:256, j in 0:256 { grad_X[k, i] += grad_H[k, j] * V[i, j] }
      }
      state optimizer {
        map i in 0:256, j in 0:256 { V[i, j] = V[i, j] - grad_V[i, j] }
        map i in 0:256, j in 0:256 { W[i, j] = W[i, j] - grad_W[i, j] }
      }
    })",
             "shorten-lifetimes", R"(sdfg f(X: f32[8, 256], H: f32[8, 256], G: f32[8, 256], grad_X: f32[8, 256],
             inout V: f32[256, 256], inout W: f32[256, 256]) {
      transient grad_H: f32[8, 256]
      transient grad_V: f32[256, 256]
      transient grad_W: f32[256, 256]
      state backward {
        map k in 0:8, i in 0:256 { grad_H[k, i] = 0 }
        map k in 0:8, i in 0:256, j in 0:256 { grad_H[k, i] += G[k, j] * W[i, j] }
        map i in 0:256, j in 0:256 { grad_W[i, j] = 0 }
        map i in 0:256, j in 0:256, k in 0:8 { grad_W[i, j] += H[k, i] * G[k, j] }
        map i in 0:256, j in 0:256 { W[i, j] = W[i, j] - grad_W[i, j] }
        map k in 0:8, i in 0:256 { grad_X[k, i] = 0 }
        map k in 0:8, i in 0:256, j in 0:256 { grad_X[k, i] += grad_H[k, j] * V[i, j] }
        map i in 0:256, j in 0:256 { grad_V[i, j] = 0 }
        map i in 0:256, j in 0:256, k in 0:8 { grad_V[i, j] += X[k, i] * grad_H[k, j] }
        map i in 0:256, j in 0:256 { V[i, j] = V[i, j] - grad_V[i, j] }
      }
    })");
}

// A large activation that a small gradient is the last to read is let go of first.
TEST(ShortenLifetimes, LargeActivationsGoFirst) {
  ExpectPass(R"(sdfg f(X: f32[N, 4096], inout W: f32[64], inout Y: f32[N]) {
      transient A: f32[N, 4096]
      transient B: f32[N, 4096]
      transient g: f32[64]
      map n in 0:N, i in 0:4096 { A[n, i] = X[n, i] * W[i // 64] }
      map n in 0:N, i in 0:4096 { B[n, i] = X[n, 4095 - i] }
      map n in 0:N, i in 0:4096 { Y[n] += B[n, i] }
      map i in 0:64 { g[i] = 0 }
      map n in 0:N, i in 0:4096 { g[i // 64] += A[n, i] }
      map i in 0:64 { W[i] = W[i] - g[i] }
    })",
             "shorten-lifetimes", R"(sdfg f(X: f32[N, 4096], inout W: f32[64], inout Y: f32[N]) {
      transient A: f32[N, 4096]
      transient B: f32[N, 4096]
      transient g: f32[64]
      map n in 0:N, i in 0:4096 { A[n, i] = X[n, i] * W[i // 64] }
      map i in 0:64 { g[i] = 0 }
      map n in 0:N, i in 0:4096 { g[i // 64] += A[n, i] }
      map n in 0:N, i in 0:4096 { B[n, i] = X[n, 4095 - i] }
      map n in 0:N, i in 0:4096 { Y[n] += B[n, i] }
      map i in 0:64 { W[i] = W[i] - g[i] }
    })");
}

// What is made long before it is needed is made later, unless that keeps as much that it is made of.
TEST(ShortenLifetimes, WhatIsMadeWaits) {
  ExpectPass(R"(sdfg f(X: f32[256], inout Y: f32[256, 256], Z: f32[256, 256]) {
      transient A: f32[256, 256]
      transient B: f32[256, 256]
      transient C: f32[256, 256]
      map i in 0:256, j in 0:256 { A[i, j] = X[i] + X[j] }
      map i in 0:256, j in 0:256 { B[i, j] = X[i] * X[j] }
      map i in 0:256, j in 0:256 { C[i, j] = B[j, i] + 1 }
      map i in 0:256, j in 0:256 { Y[i, j] = C[j, i] }
      map i in 0:256, j in 0:256 { Z[i, j] = A[j, i] + Y[i, j] }
    })",
             "shorten-lifetimes", R"(sdfg f(X: f32[256], inout Y: f32[256, 256], Z: f32[256, 256]) {
      transient A: f32[256, 256]
      transient B: f32[256, 256]
      transient C: f32[256, 256]
      map i in 0:256, j in 0:256 { B[i, j] = X[i] * X[j] }
      map i in 0:256, j in 0:256 { C[i, j] = B[j, i] + 1 }
      map i in 0:256, j in 0:256 { Y[i, j] = C[j, i] }
      map i in 0:256, j in 0:256 { A[i, j] = X[i] + X[j] }
      map i in 0:256, j in 0:256 { Z[i, j] = A[j, i] + Y[i, j] }
    })");
}

// A product's bias stays beside it: what comes between them can't be computed with both.
TEST(ShortenLifetimes, SumsStayBesideWhatTheyStartAt) {
  ExpectUnchanged(R"(sdfg f(X: f32[256, 256], W: bf16[256, 256], b: f32[256], Y: bf16[256, 256]) {
      transient A: bf16[256, 256]
      transient T: f32[256, 256]
      map i in 0:256, k in 0:256 { A[i, k] = bf16(X[i, k]) }
      map i in 0:256, j in 0:256 { T[i, j] = b[j] }
      map i in 0:256, j in 0:256, k in 0:256 { T[i, j] += f32(A[i, k]) * f32(W[j, k]) }
      map i in 0:256, j in 0:256 { Y[i, j] = bf16(T[i, j]) }
    })",
                  "shorten-lifetimes");
}

// Weights that a gradient is still to be computed from are updated after it.
TEST(ShortenLifetimes, UpdatesWaitForTheLastThatReadsTheWeights) {
  ExpectUnchanged(R"(sdfg f(X: f32[256, 256], inout W: f32[256, 256], inout Y: f32[256]) {
      transient g: f32[256, 256]
      map i in 0:256, j in 0:256 { g[i, j] = X[j, i] * 2 }
      map i in 0:256, j in 0:256 { Y[i] += g[i, j] * W[i, j] }
      map i in 0:256, j in 0:256 { W[i, j] = W[i, j] - g[i, j] }
    })",
                  "shorten-lifetimes");
}

// A run that fails, as where an index lies outside, leaves the weights as they were.
TEST(ShortenLifetimes, UpdatesComeAfterWhatCanFail) {
  ExpectUnchanged(R"(sdfg f(X: f32[256, 256], inout W: f32[256, 256], Y: f32[256]) {
      transient g: f32[256, 256]
      transient h: f32[256]
      map i in 0:256, j in 0:256 { g[i, j] = X[j, i] * 2 }
      map i in 0:256 { h[i] = g[i, i] }
      onnx.Relu(X = h) -> (Y = Y)
      map i in 0:256, j in 0:256 { W[i, j] = W[i, j] - g[i, j] }
    })",
                  "shorten-lifetimes");
}

// A loop brings back what was computed before it, and what it leaves for after it.
TEST(ShortenLifetimes, WhatLivesAroundALoopIsNoGain) {
  ExpectUnchanged(R"(sdfg f(X: f32[256, 256], inout Y: f32[256, 256]) {
      transient A: f32[256, 256]
      transient B: f32[256, 256]
      map i in 0:256, j in 0:256 { A[i, j] = X[j, i] }
      for t in 0:4 {
        map i in 0:256, j in 0:256 { B[i, j] = X[i, j] * t }
        map i in 0:256, j in 0:256 { Y[i, j] += B[j, i] }
        map i in 0:256, j in 0:256 { Y[i, j] += A[j, i] }
      }
    })",
                  "shorten-lifetimes");
}

// Little memory is no reason to move anything.
TEST(ShortenLifetimes, LittleMemoryStays) {
  ExpectUnchanged(R"(sdfg f(X: f32[64], Y: f32[64], Z: f32[64]) {
      transient A: f32[64]
      transient B: f32[64]
      map i in 0:64 { A[i] = X[i] + 1 }
      map i in 0:64 { B[i] = X[i] * 2 }
      map i in 0:64 { Y[i] = B[63 - i] }
      map i in 0:64 { Z[i] = A[63 - i] }
    })",
                  "shorten-lifetimes");
}

}  // namespace
}  // namespace headrace
