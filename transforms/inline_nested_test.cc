// Calls in maps, of parts of arrays, and with sizes from data: what `everywhere` adds.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

const char kEverywhere[] = "inline-nested{everywhere=true}";

// Each call has memory of its own, also where a view of it is declared first.
TEST(InlineNested, ViewsDeclaredBeforeTheirBases) {
  ExpectPass(R"(
    entry sdfg f(X: f64[N], Y: f64[N], Z: f64[N]) {
      call g(x = X, y = Y)
      call g(x = Y, y = Z)
    }
    sdfg g(x: f64[K], y: f64[K]) {
      view V: f64[K] of T
      transient T: f64[K]
      map i in 0:K { T[i] = 2 * x[i] }
      map i in 0:K { y[i] = V[i] }
    })",
             "inline-nested", R"(
    sdfg f(X: f64[N], Y: f64[N], Z: f64[N]) {
      transient T: f64[N]
      view V: f64[N] of T
      transient T_1: f64[N]
      view V_1: f64[N] of T_1
      state {
        map i in 0:N { T[i] = 2 * X[i] }
        map i in 0:N { Y[i] = V[i] }
        map i in 0:N { T_1[i] = 2 * Y[i] }
        map i in 0:N { Z[i] = V_1[i] }
      }
    })");
}

TEST(InlineEverywhere, BodiesOfMapsAndTasklets) {
  ExpectPass(R"(
    sdfg f(X: f64[N, K], Y: f64[N, K]) {
      map i in 0:N { call g(x = X[i, :], y = Y[i, :]) }
    }
    sdfg g(x: f64[n], y: f64[n]) {
      transient m: f64
      transient h: f64[n]
      m = x[0]
      map k in 0:n { h[k] = x[k] - m }
      map k in 0:n { y[k] = h[k] * h[n - 1 - k] }
    })",
             kEverywhere, R"(
    sdfg f(X: f64[N, K], Y: f64[N, K]) {
      transient m: f64 @register
      transient h: f64[N, K]
      map i in 0:N {
        m = X[i, 0]
        map k in 0:K { h[i, k] = X[i, k] - m }
        map k in 0:K { Y[i, k] = h[i, k] * h[i, K - k - 1] }
      }
    })");
}

// The loop of the callee runs once, for all iterations of the map.
TEST(InlineEverywhere, UniformControlFlowAroundMaps) {
  ExpectPass(R"(
    sdfg f(X: f64[N, K], z: f64[N]) {
      map i in 0:N { call g(x = X[i, :], z = z[i]) }
    }
    sdfg g(x: f64[n], z: f64) {
      transient c: f64
      c = 1
      for t in 1:n {
        c = c * x[t]
        if t == 5 { break }
      }
      z = c
    })",
             kEverywhere, R"(
    sdfg f(X: f64[N, K], z: f64[N]) {
      transient c: f64[N]
      map i in 0:N { c[i] = 1 }
      for t in 1:K {
        map i in 0:N { c[i] = c[i] * X[i, t] }
        if t == 5 { break }
      }
      map i in 0:N { z[i] = c[i] }
    })");
}

TEST(InlineEverywhere, ControlFlowThatDiffersStaysACall) {
  ExpectUnchanged(R"(
    sdfg f(X: f64[N], P: i64[N], z: f64[N]) {
      map i in 0:N { call g(x = X, p = P[i], z = z[i]) }
    }
    sdfg g(x: f64[n], p: i64, z: f64) {
      z = 0
      for t in 0:p { z += x[t] }
    })",
                  kEverywhere);
}

TEST(InlineNested, LeavesWhatIsNamed) {
  ExpectPass(R"(
    sdfg f(X: f64[N], Y: f64[N], Z: f64[N]) {
      call g(x = X, y = Y)
      call h(x = X, y = Z)
    }
    sdfg g(x: f64[n], y: f64[n]) { map i in 0:n { y[i] = x[i] } }
    sdfg h(x: f64[n], y: f64[n]) { map i in 0:n { y[i] = 2 * x[i] } })",
             "inline-nested{everywhere=true,leave=\"g k\"}", R"(
    sdfg f(X: f64[N], Y: f64[N], Z: f64[N]) {
      call g(x = X, y = Y)
      map i in 0:N { Z[i] = 2 * X[i] }
    }
    sdfg g(x: f64[n], y: f64[n]) { map i in 0:n { y[i] = x[i] } })");
}

TEST(InlineEverywhere, PartsOfArraysAndSizesFromData) {
  ExpectPass(R"(
    sdfg f(X: f64[N, K], n: i64, Y: f64[N]) {
      for i in 0:N { call g(x = X[i, :], y = Y[i], m := n) }
    }
    sdfg g(x: f64[k], y: f64, m: symbol) {
      y = 0
      for t in 0:m { y += x[t] }
    })",
             kEverywhere, R"(
    sdfg f(X: f64[N, K], n: i64, Y: f64[N]) {
      for i in 0:N {
        let m = n
        Y[i] = 0
        for t in 0:m { Y[i] += X[i, t] }
      }
    })");
}

}  // namespace
}  // namespace headrace::transforms
