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

// What only a choice reads is read under that choice. One of other indices stays as it is.
TEST(HoistCalls, WhatAChoiceLeavesOut) {
  ExpectPass(R"(
sdfg f(z: c128, s: f64, t: f64[3], X: c128[3, 50, 50], M: bool[50, 50], G: c128[3, 50, 50], Y: f64[50, 50]) {
  transient on: bool @register
  state {
    map i in 0:50, j in 0:50, n in 0:3 {
      on = t[n] == 0
      G[n, i, j] = (on ? c128(1) : pow(z, complex(t[n], f64(0)))) * X[n, i, j]
    }
    map i in 0:50, j in 0:50 { Y[i, j] = M[i, j] ? f64(i) : exp(s) }
  }
})",
             "hoist-calls", R"(
sdfg f(
    z: c128,
    s: f64,
    t: f64[3],
    X: c128[3, 50, 50],
    M: bool[50, 50],
    G: c128[3, 50, 50],
    Y: f64[50, 50]) {
  transient on: bool @register
  transient once: c128[3]
  state {
    map n in 0:3 { once[n] = t[n] == 0 ? c128(0.0) : pow(z, complex(t[n], f64(0))) }
    map i in 0:50, j in 0:50, n in 0:3 {
      on = t[n] == 0
      G[n, i, j] = (on ? c128(1) : once[n]) * X[n, i, j]
    }
    map i in 0:50, j in 0:50 { Y[i, j] = M[i, j] ? f64(i) : exp(s) }
  }
})");
}

// Also where it is the second of two conditions.
TEST(HoistCalls, BothConditions) {
  ExpectPass(R"(
sdfg f(V: f64[N], X: f64[50, 50], Y: f64[50, 50]) {
  state {
    map i in 0:50, j in 0:50 { Y[i, j] = N > 0 ? (N > 7 && exp(V[7]) > 1 ? 0 : X[i, j]) : 1 }
  }
})",
             "hoist-calls", R"(
sdfg f(V: f64[N], X: f64[50, 50], Y: f64[50, 50]) {
  transient once: f64
  state {
    once = N > 0 ? N > 7 ? exp(V[7]) : 0 : 0
    map i in 0:50, j in 0:50 { Y[i, j] = N > 0 ? N > 7 && once > 1 ? 0 : X[i, j] : 1 }
  }
})");
}

// Where a line is resampled, and by what it multiplies: two numbers for each place and tap. The long range lies innermost.
TEST(HoistCalls, ManyStepsOfIndices) {
  ExpectPass(R"(
sdfg f(X: f32[32, 9], Y: f32[32, 50]) {
  state {
    map i in 0:32, j in 0:50 {
      Y[i, j] = 0
      map k in 0:2 { Y[i, j] += X[i, i64(clamp(floor((f32(j) + 0.5) / 2.0 - 0.5) + f32(k), 0.0, 8.0))] * (1.0 - abs((f32(j) + 0.5) / 2.0 - f32(k))) }
    }
  }
})",
             "hoist-calls", R"(
sdfg f(X: f32[32, 9], Y: f32[32, 50]) {
  transient once: f32[2, 50]
  transient once_1: f32[2, 50]
  state {
    map k in 0:2, j in 0:50 { once[k, j] = floor((f32(j) + 0.5) / 2.0 - 0.5) + f32(k) }
    map k in 0:2, j in 0:50 { once_1[k, j] = 1.0 - abs((f32(j) + 0.5) / 2.0 - f32(k)) }
    map i in 0:32, j in 0:50 {
      Y[i, j] = 0
      map k in 0:2 { Y[i, j] += X[i, i64(clamp(once[k, j], 0.0, 8.0))] * once_1[k, j] }
    }
  }
})");
}

// A weight of the line and one of the column, not one of each point.
TEST(HoistCalls, ManyStepsOfIndicesOneByOne) {
  ExpectPass(R"(
sdfg f(X: f32[40, 50], Y: f32[40, 50]) {
  state {
    map i in 0:40, j in 0:50 {
      Y[i, j] = X[i, j] * (max(1.0 - abs((f32(i) + 0.5) / 2.0), 0.0) * max(1.0 - abs((f32(j) + 0.5) / 2.0), 0.0))
    }
  }
})",
             "hoist-calls", R"(
sdfg f(X: f32[40, 50], Y: f32[40, 50]) {
  transient once: f32[40]
  transient once_1: f32[50]
  state {
    map i in 0:40 { once[i] = max(1.0 - abs((f32(i) + 0.5) / 2.0), 0.0) }
    map j in 0:50 { once_1[j] = max(1.0 - abs((f32(j) + 0.5) / 2.0), 0.0) }
    map i in 0:40, j in 0:50 { Y[i, j] = X[i, j] * (once[i] * once_1[j]) }
  }
})");
}

// What is written in the map, what reads along the outermost ranges, which is computed before lanes in any case, what a choice of many indices
// asks for, few iterations, and steps of sizes alone.
TEST(HoistCalls, OthersStay) {
  ExpectUnchanged(R"(
sdfg f(z: f64[50], X: f64[50, 50], Y: f64[50, 50], inout V: f64[N]) {
  state {
    map i in 0:50, j in 0:50 { Y[i, j] = exp(z[i]) * X[i, j] }
    map i in 0:50, j in 0:50 { Y[i, j] = X[i, j] > 7 ? exp(V[7]) : X[i, j] }
    map i in 0:50, j in 0:3 { Y[i, j] = exp(f64(i)) * X[i, j] }
    map i in 0:N, j in 0:50 { V[i] += exp(f64(j)) * X[j, j] }
    map i in 0:50, j in 0:50 { Y[i, j] = X[i, j] / (f64(N) * f64(N) * 2.0 + f64(N) + 1.0) }
  }
})",
                  "hoist-calls");
}

}  // namespace
}  // namespace headrace::transforms
