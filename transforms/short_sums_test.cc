#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// In the order of the terms; the ranges are the target's.
TEST(ShortSums, ProductsOverFewTerms) {
  ExpectPass(R"(
sdfg f(A: f64[2, 2], X: f64[2, N], inout Y: f64[2, N], P: f64[N, 3], v: f64[3], inout Z: f64[N]) {
  state {
    map k in 0:2, j in 0:N, i in 0:2 { Y[i, j] += A[i, k] * X[k, j] }
    map i in 0:N, k in 0:3 { Z[i] += P[i, k] * v[k] }
  }
})",
             "write-out-short-sums", R"(
sdfg f(A: f64[2, 2], X: f64[2, N], inout Y: f64[2, N], P: f64[N, 3], v: f64[3], inout Z: f64[N]) {
  state {
    map i in 0:2, j in 0:N {
      Y[i, j] += A[i, 0] * X[0, j]
      Y[i, j] += A[i, 1] * X[1, j]
    }
    map i in 0:N {
      Z[i] += P[i, 0] * v[0]
      Z[i] += P[i, 1] * v[1]
      Z[i] += P[i, 2] * v[2]
    }
  }
})");
}

// Products with tiles, windows, plain sums, more terms, triangles, and what has a schedule.
TEST(ShortSums, OthersStay) {
  ExpectUnchanged(R"(
sdfg f(A: f64[N, 2], B: f64[2, M], inout C: f64[N, M], X: f64[N + 2], w: f64[3], inout Y: f64[N], inout Z: f64[N], D: f64[N, 5], e: f64[5],
       inout L: f64[3], T: f64[3, 3]) {
  state {
    map i in 0:N, j in 0:M, k in 0:2 { C[i, j] += A[i, k] * B[k, j] }
    map i in 0:N, k in 0:3 { Y[i] += X[i + k] * w[k] }
    map i in 0:N, k in 0:2 { Z[i] += A[i, k] }
    map i in 0:N, k in 0:5 { Z[i] += D[i, k] * e[k] }
    map i in 0:3, k in 0:i { L[i] += T[i, k] * w[k] }
    map i in 0:3, k in 0:3 @sequential { L[i] += T[i, k] * w[k] }
  }
})",
                  "write-out-short-sums");
}

}  // namespace
}  // namespace headrace::transforms
