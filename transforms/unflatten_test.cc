#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

constexpr char kFlat[] = R"(
sdfg f(S: f64[8], X: f64[8 * N], Y: f64[N, 8]) {
  transient T: f64[8, N]
  transient U: f64[8, N]
  view t: f64[8 * N] of T
  view u: f64[8 * N] of U
  transient r: f64 @register
  state {
    map i in 0:8, j in 0:N { T[i, j] = S[i] * 2 }
    map d in 0:8 * N {
      r = t[d]
      u[d] = r * X[d]
    }
    map i in 0:8, j in 0:N { Y[j, i] = U[i, j] }
  }
})";

// By the array itself, and by a view where there is none of the shape yet; then they are one statement.
TEST(Unflatten, GoesByTheShapeOfItsNeighbours) {
  ExpectPass(kFlat, "unflatten", R"(
sdfg f(S: f64[8], X: f64[8 * N], Y: f64[N, 8]) {
  transient T: f64[8, N]
  transient U: f64[8, N]
  view t: f64[8 * N] of T
  view u: f64[8 * N] of U
  transient r: f64 @register
  view X_view: f64[8, N] of X
  state {
    map i in 0:8, j in 0:N { T[i, j] = S[i] * 2 }
    map d0 in 0:8, d1 in 0:N {
      r = T[d0, d1]
      U[d0, d1] = r * X_view[d0, d1]
    }
    map i in 0:8, j in 0:N { Y[j, i] = U[i, j] }
  }
})");
}

// Where as many go by the flat one, where an index is a value, and where a view shows a part.
TEST(Unflatten, OthersStay) {
  ExpectUnchanged(R"(
sdfg f(X: f64[64], Y: f64[64], Z: f64[64]) {
  transient T: f64[8, 8]
  transient P: f64[9, 8]
  view t: f64[64] of T
  view p: f64[64] of P offset 8
  state {
    map i in 0:8, j in 0:8 { T[i, j] = X[i] }
    map d in 0:64 { Y[d] = t[d] + X[d] }
    map d in 0:64 { Z[d] = t[d] * f64(d) }
    map i in 0:9, j in 0:8 { P[i, j] = X[j] }
    map d in 0:64 { Z[d] += p[d] }
  }
})",
                  "unflatten");
}

}  // namespace
}  // namespace headrace::transforms
