// Loops over elementwise maps: block by block, each through all iterations.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// What is kept is short; what each step reads anew doesn't count.
TEST(LoopBlocks, OfElements) {
  ExpectPass(R"(
sdfg f(S: f64[100000], D: f64[250, 100000], Y: f64[100000]) {
  state { map i in 0:100000 { Y[i] = S[i] } }
  for t in 0:250 {
    state { map i in 0:100000 { Y[i] = Y[i] * exp(D[t, i]) } }
  }
})",
             "outline{device=cpu}; choose-schedule", R"(
sdfg f(S: f64[100000], D: f64[250, 100000], Y: f64[100000]) {
  state {
    call k0(p0 = Y, p1 = S, p2 = D)
  }
}

kernel k0(p0: f64[100000], p1: f64[100000], p2: f64[250, 100000]) for cpu {
  map i1_0 in 0:100000:2048 @parallel {
    map i1 in 0:min(100000 - i1_0, 2048) @vector { p0[i1 + i1_0] = p1[i1 + i1_0] }
    for i1 in 0:250 {
      map i2 in 0:min(100000 - i1_0, 2048) @vector { p0[i1_0 + i2] = p0[i1_0 + i2] * exp(p2[i1, i1_0 + i2]) }
    }
  }
})");
}

// Rows of blocks where rows are short enough; a step backwards in time, of a size that nobody knows.
TEST(LoopBlocks, OfRows) {
  ExpectPass(R"(
kernel back(p0: f32[n0, 64, 32], p1: f32[n0, 64, 32], n0: symbol) {
  for t in n0 - 1:-1:-1 {
    map i in 0:64, j in 0:32 { p0[t, i, j] = (p0[t + 1, i, j] ?? 0.0) * 0.5 + p1[t, i, j] }
  }
})",
             "choose-schedule", R"(
kernel back(p0: f32[n0, 64, 32], p1: f32[n0, 64, 32], n0: symbol) for cpu {
  view v: f32[n0, 2048] of p0
  view v_1: f32[n0, 2048] of p1
  map i_0 in 0:64:4 @parallel {
    for t in n0 - 1:-1:-1 {
      map i in 0:128 @vector {
        v[t, i + 32 * i_0] = (t + 1 < n0 ? v[t + 1, i + 32 * i_0] : 0.0) * 0.5 + v_1[t, i + 32 * i_0]
      }
    }
  }
})");
}

// Several maps, and a number that each iteration sets.
TEST(LoopBlocks, OfSeveralMaps) {
  ExpectPass(R"(
kernel two(inout p0: f64[n0], inout p1: f64[n0], p2: f64[n1], n0: symbol, n1: symbol) {
  for t in 0:n1 {
    local h: f64
    h = p2[t] * p2[t]
    map i in 0:n0 { p1[i] = p1[i] - h * p0[i] }
    map i in 0:n0 { p0[i] = p0[i] + h * p1[i] }
  }
})",
             "choose-schedule", R"(
kernel two(inout p0: f64[n0], inout p1: f64[n0], p2: f64[n1], n0: symbol, n1: symbol) for cpu {
  map i_0 in 0:n0:1024 @parallel {
    for t in 0:n1 {
      local h: f64
      h = p2[t] * p2[t]
      map i in 0:min(n0 - i_0, 1024) @vector { p1[i + i_0] = p1[i + i_0] - h * p0[i + i_0] }
      map i in 0:min(n0 - i_0, 1024) @vector { p0[i + i_0] = p0[i + i_0] + h * p1[i + i_0] }
    }
  }
})");
}

// Neighbours meet, or all elements: each iteration has to end before the next one.
TEST(LoopBlocks, NotWhereElementsMeet) {
  for (const char* body : {"map i in 1:n0 { p1[i] = p0[i - 1] }\n    map i in 1:n0 { p0[i] = p1[i] }",
                           "map i in 0:n0 { p1[i] = p0[n0 - 1 - i] }\n    map i in 0:n0 { p0[i] = p1[i] }",
                           "local r: f64\n    r = p0[0]\n    map i in 0:n0 { p0[i] = p0[i] * r }\n    map i in 0:n0 { p1[i] = p0[i] }",
                           "p1[0] = 0.0\n    map i in 0:n0 { p1[0] += p0[i] }\n    map i in 0:n0 { p0[i] = p0[i] * p1[0] }"}) {
    auto out = Transformed("kernel k(inout p0: f64[n0], inout p1: f64[n0], n0: symbol) {\n  for t in 0:100 {\n    " + std::string(body) +
                               "\n  }\n}",
                           "choose-schedule");
    EXPECT_NE(out.find(" for cpu {\n  for t in 0:100 {"), std::string::npos) << out;
  }
}

// Numbers that each iteration sets are those of the kernel; not of what the elements have become.
TEST(LoopBlocks, WithNumbers) {
  ExpectPass(R"(
sdfg f(W: f64[50], inout X: f64[262144], inout Y: f64[262144]) {
  transient a: f64
  transient b: f64
  transient c: f64
  for t in 0:50 {
    state {
      a = sqrt(W[t]) + 1.0
      b = a * 0.5
      map i in 0:262144 { X[i] = a * X[i] * (b - X[i]) }
    }
  }
  for t in 0:50 {
    state {
      c = Y[t]
      map i in 0:262144 { Y[i] = c * Y[i] }
    }
  }
})",
             "outline{device=cpu}; choose-schedule", R"(
sdfg f(W: f64[50], inout X: f64[262144], inout Y: f64[262144]) {
  transient c: f64
  state {
    call k0(p0 = W, p1 = X)
  }
  for t in 0:50 {
    state {
      call k1(p0 = c, p1 = Y, n0 := t)
      call k2(p0 = Y, p1 = c)
    }
  }
}

kernel k0(p0: f64[50], inout p1: f64[262144]) for cpu {
  map i1_0 in 0:262144:2048 @parallel {
    for i0 in 0:50 {
      local r0: f64
      r0 = sqrt(p0[i0]) + 1.0
      local r1: f64
      r1 = r0 * 0.5
      map i1 in 0:2048 @vector { p1[i1 + i1_0] = r0 * p1[i1 + i1_0] * (r1 - p1[i1 + i1_0]) }
    }
  }
}

kernel k1(p0: f64, p1: f64[262144], n0: symbol) for cpu {
  assume n0 in 0:50
  p0 = p1[n0]
}

kernel k2(inout p0: f64[262144], p1: f64) for cpu {
  map i0_0 in 0:262144:16384 @parallel {
    map i0 in i0_0:+16384 @vector { p0[i0] = p1 * p0[i0] }
  }
})");
}

// A product of each step would be one of a few rows.
TEST(LoopBlocks, NotOfSums) {
  ExpectPass(R"(
sdfg f(W: f32[512, 512], X: f32[8, 64, 512], H: f32[9, 64, 512]) {
  for t in 0:8 {
    state { map b in 0:64, j in 0:512 { H[t + 1, b, j] = X[t, b, j] } }
    state { map b in 0:64, j in 0:512, k in 0:512 { H[t + 1, b, j] += H[t, b, k] * W[k, j] } }
  }
})",
             "outline{device=cpu}", R"(
sdfg f(W: f32[512, 512], X: f32[8, 64, 512], H: f32[9, 64, 512]) {
  for t in 0:8 {
    state {
      call k0(p0 = H, p1 = X, n0 := t)
    }
    state {
      call k1(p0 = H, p1 = W, n0 := t)
    }
  }
}

kernel k0(p0: f32[9, 64, 512], p1: f32[8, 64, 512], n0: symbol) {
  assume n0 in 0:8
  map i0 in 0:64, i1 in 0:512 { p0[n0 + 1, i0, i1] = p1[n0, i0, i1] }
}

kernel k1(inout p0: f32[9, 64, 512], p1: f32[512, 512], n0: symbol) {
  assume n0 in 0:8
  map i0 in 0:64, i1 in 0:512, i2 in 0:512 { p0[n0 + 1, i0, i1] += p0[n0, i0, i2] * p1[i2, i1] }
})");
}

}  // namespace
}  // namespace headrace::transforms
