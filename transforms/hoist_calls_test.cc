#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Through registers, too, and where a choice may leave the call out.
TEST(HoistCalls, WhatFewIndicesDecideOn) {
  ExpectPass(R"(
sdfg f(z: f64[8], X: f64[3, 50, 50], Y: f64[50, 50], G: f64[3, 50, 50]) {
  transient t: f64 @register
  state { map i in 0:50, j in 0:50 { Y[i, j] = 0 } }
  for k in 0:8 {
    state {
      map i in 0:50, j in 0:50, n in 0:3 { Y[i, j] += pow(z[k], f64(n)) * X[n, i, j] }
      map i in 0:50, j in 0:50, n in 0:3 {
        t = f64(n)
        G[n, i, j] = z[k] * X[n, i, j] + (t == 0 ? 0 : t * pow(z[k], t - 1))
      }
    }
  }
})",
             "hoist-calls", R"(
sdfg f(z: f64[8], X: f64[3, 50, 50], Y: f64[50, 50], G: f64[3, 50, 50]) {
  transient t: f64 @register
  transient once: f64[3]
  transient once_1: f64[3]
  state {
    map i in 0:50, j in 0:50 { Y[i, j] = 0 }
  }
  for k in 0:8 {
    state {
      map n in 0:3 { once[n] = pow(z[k], f64(n)) }
      map i in 0:50, j in 0:50, n in 0:3 { Y[i, j] += once[n] * X[n, i, j] }
      map n in 0:3 { once_1[n] = pow(z[k], f64(n) - 1) }
      map i in 0:50, j in 0:50, n in 0:3 {
        t = f64(n)
        G[n, i, j] = z[k] * X[n, i, j] + (t == 0 ? 0 : t * once_1[n])
      }
    }
  }
})");
}

// What is written in the map, what moves along with it, what is only read where a choice asks for it, and few iterations.
TEST(HoistCalls, OthersStay) {
  ExpectUnchanged(R"(
sdfg f(z: f64[50], X: f64[50, 50], Y: f64[50, 50], inout V: f64[N]) {
  state {
    map i in 0:50, j in 0:50 { Y[i, j] = exp(z[i]) * X[i, j] }
    map i in 0:50, j in 0:50 { Y[i, j] = N > 7 ? exp(V[7]) : X[i, j] }
    map i in 0:50, j in 0:3 { Y[i, j] = exp(f64(i)) * X[i, j] }
    map i in 0:N, j in 0:50 { V[i] += exp(f64(j)) * X[j, j] }
  }
})",
                  "hoist-calls");
}

}  // namespace
}  // namespace headrace::transforms
