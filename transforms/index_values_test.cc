#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Parts of grids, turned ones, bare numbers, and indices of other arrays.
TEST(ForwardIndexValues, GridsAreComputedWhereTheyAreRead) {
  ExpectPass(R"(
sdfg f(X: f64[64], Y: f64[2, 8], Z: f64[N]) {
  transient R: i64[2, 64]
  transient C: i64[2, 64]
  transient H: f64[64]
  transient I: i64[64]
  state {
    map i in 0:2, j in 0:64 { R[i, j] = i64(i) }
    map i in 0:2, j in 0:64 { C[i, j] = i64(j) }
    map i in 0:64 { H[i] = 0.5 }
    map i in 0:64 { I[i] = 63 - i }
    map i in 0:2, j in 0:8 { Y[i, j] = exp(f64(R[i, j]) * f64(C[1 - i, 2 * j + 1]) * H[j]) + X[I[j]] }
  }
})",
             "forward-index-values", R"(
sdfg f(X: f64[64], Y: f64[2, 8], Z: f64[N]) {
  state {
    map i in 0:2, j in 0:8 { Y[i, j] = exp(f64(i64(i)) * f64(i64(2 * j + 1)) * f64(0.5)) + X[i64(63 - j)] }
  }
})");
}

// What is dear, of data, written twice or in part, used as a whole or through a view, or read where it may be outside; what a loop's
// index reads, of which nothing is known here, and what control reads.
TEST(ForwardIndexValues, OthersStay) {
  ExpectUnchanged(R"(
sdfg f(X: f64[8], Y: f64[8], Z: f64[8], K: i64[8], inout V: f64[8, 8], W: f64[8, 8]) {
  transient A: f64[8]
  transient B: f64[8]
  transient C: f64[8]
  transient D: f64[8]
  transient E: f64[8]
  view e: f64[4, 2] of E
  transient F: f64[8]
  transient G: f64[8]
  transient H: i64[8]
  state {
    map i in 0:8 { A[i] = exp(f64(i)) }
    map i in 0:8 { B[i] = X[i] }
    map i in 0:8 { C[i] = f64(i) }
    map i in 0:8 { C[i] += 1 }
    map i in 0:7 { D[i] = f64(i) }
    map i in 0:8 { E[i] = f64(i) }
    map i in 0:8 { F[i] = f64(i) }
    map i in 0:8 { G[i] = f64(i) }
    map i in 0:8 { H[i] = i64(i) }
    map i in 0:8 { Y[i] = A[i] + B[i] + C[i] + D[i] + e[i // 2, i % 2] }
    map i in 0:8 { Z[i] = F[K[i]] }
  }
  for i in 0:8 {
    let n = H[i]
    state {
      map j in 0:n { V[i, j] = G[i] }
    }
  }
})",
                  "forward-index-values");
}

}  // namespace
}  // namespace headrace::transforms
