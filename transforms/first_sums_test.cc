#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Through views, turned, and where several terms are added.
TEST(FirstSums, ZerosAreNotStored) {
  ExpectPass(R"(
sdfg f(inout G: f64[32], V: f64[2, 16], W: f64[16, 2]) {
  transient T: f64[32]
  transient S: f64[16, 2]
  transient r: f64 @register
  view g: f64[16, 2] of G
  view t: f64[2, 16] of T
  state {
    map i in 0:32 { T[i] = 0 }
    map i in 0:32 {
      r = G[i]
      G[i] = 0.0
      T[i] += r
    }
    map i in 0:16, j in 0:2 { S[i, j] = 0 }
    map i in 0:16, j in 0:2 {
      S[i, j] += W[i, j]
      S[i, j] += t[j, i]
    }
    map i in 0:2, j in 0:16 { g[j, i] += V[i, j] * S[j, i] }
  }
})",
             "store-first-sums", R"(
sdfg f(inout G: f64[32], V: f64[2, 16], W: f64[16, 2]) {
  transient T: f64[32]
  transient S: f64[16, 2]
  transient r: f64 @register
  view g: f64[16, 2] of G
  view t: f64[2, 16] of T
  state {
    map i in 0:32 { T[i] = G[i] }
    map i in 0:16, j in 0:2 {
      S[i, j] = W[i, j]
      S[i, j] += t[j, i]
    }
    map i in 0:2, j in 0:16 { g[j, i] = V[i, j] * S[j, i] }
  }
})");
}

// No zero, not all elements, read in between, also by the same iteration, by what is added, summed over an index, and in another state.
TEST(FirstSums, OthersStay) {
  ExpectUnchanged(R"(
sdfg f(A: f64[8], B: f64[8], C: f64[8], D: f64[8], E: f64[8], F: f64[8], H: f64[8], X: f64[8, 3], Y: f64[8], Z: f64[8]) {
  state {
    map i in 0:8 { A[i] = 1 }
    map i in 0:8 { A[i] += X[i, 0] }
    map i in 0:8 { B[i] = 0 }
    map i in 0:7 { B[i] += X[i, 0] }
    map i in 0:8 { C[i] = 0 }
    map i in 0:8 { Y[i] = C[7 - i] }
    map i in 0:8 { C[i] += X[i, 0] }
    map i in 0:8 { D[i] = 0 }
    map i in 0:8 {
      Z[i] = D[i]
      D[i] += X[i, 0]
    }
    map i in 0:8 { E[i] = 0 }
    map i in 0:8, k in 0:3 { E[i] += X[i, k] }
    map i in 0:8 { F[i] = 0 }
    map i in 0:8 { F[i] += exp(F[i]) }
    map i in 0:8 { H[i] = 0 }
  }
  for t in 0:3 {
    state {
      map i in 0:8 { H[i] += X[i, t] }
    }
  }
})",
                  "store-first-sums");
}

}  // namespace
}  // namespace headrace::transforms
