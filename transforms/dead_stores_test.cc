#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// S is put back before anybody reads what it became; what was kept of it stays.
TEST(DeadStores, WhatIsPutBackBeforeItIsRead) {
  ExpectPass(R"(
sdfg f(X: f32[N], b: f32, Y: f32[N]) {
  transient S: f32[N]
  transient T: f32[N]
  state {
    map i in 0:N { S[i] = X[i] }
    map i in 0:N { T[i] = S[i] }
    map i in 0:N { S[i] = S[i] * b }
    map i in 0:N, j in 0:N { S[i] += X[j] }
    map i in 0:N { S[i] = T[i] }
    map i in 0:N { Y[i] = S[i] }
  }
})",
             "eliminate-dead-stores", R"(
sdfg f(X: f32[N], b: f32, Y: f32[N]) {
  transient S: f32[N]
  transient T: f32[N]
  state {
    map i in 0:N { S[i] = X[i] }
    map i in 0:N { T[i] = S[i] }
    map i in 0:N { S[i] = T[i] }
    map i in 0:N { Y[i] = S[i] }
  }
})");
}

// A part of it that is overwritten, a loop that reads it, an output, and what else the statement writes.
TEST(DeadStores, WhatSomebodyMayReadStays) {
  ExpectUnchanged(R"(
sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
  transient S: f32[N]
  transient T: f32[N]
  transient U: f32[N]
  state {
    map i in 0:N { S[i] = X[i] }
    map i in 0:N { T[i] = X[i] }
    map i in 0:N { U[i] = X[i]; Z[i] = X[i] }
  }
  for t in 1:N {
    state { Y[t] = T[t - 1] }
  }
  state {
    map i in 1:N { S[i] = X[i - 1] }
    map i in 0:N { T[i] = 1 }
    map i in 0:N { U[i] = 1 }
    map i in 0:N { Y[i] = S[i] + T[i] + U[i] }
  }
})",
                  "eliminate-dead-stores");
}

// Nobody reads the sum, but the loop adds to it, and stays: what the sum starts at, too.
TEST(DeadStores, WhatLoopsAddTo) {
  ExpectUnchanged(R"(
sdfg f(X: f32[N], Y: f32[N]) {
  transient S: f32
  state { S = 0 }
  for t in 0:N {
    state { S += X[t]; Y[t] = X[t] }
  }
})",
                  "eliminate-dead-stores");
}

}  // namespace
}  // namespace headrace::transforms
