// Sums over images whose lines are short: their terms lie side by side all the same.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// The gradient of a batch normalisation: what is added for each channel, and what is passed on. Lines follow each other: they are one.
TEST(Sums, OfImagesWithWhatIsDoneAlongside) {
  ExpectPass(R"(
kernel gradient(X: f32[n0, 96, 14, 14], M: f32[96], inout G: f32[n0, 96, 14, 14], inout B: f32[96], inout S: f32[96], n0: symbol) {
  map i1 in 0:96, i0 in 0:n0, i2 in 0:14, i3 in 0:14 {
    local r0: f32
    r0 = G[i0, i1, i2, i3] * M[i1]
    B[i1] += G[i0, i1, i2, i3]
    S[i1] += r0 * X[i0, i1, i2, i3]
    G[i0, i1, i2, i3] = r0
  }
})",
             "choose-schedule", R"(
kernel gradient(
    X: f32[n0, 96, 14, 14],
    M: f32[96],
    inout G: f32[n0, 96, 14, 14],
    inout B: f32[96],
    inout S: f32[96],
    n0: symbol) for cpu {
  view v: f32[n0, 96, 196] of G
  view v_1: f32[n0, 96, 196] of X
  map i1 in 0:96 @parallel {
    local partial: f32[16]
    map u in 0:16 @vector { partial[u] = 0.0 }
    local partial_1: f32[16]
    map u in 0:16 @vector { partial_1[u] = 0.0 }
    for i0 in 0:n0 {
      for i2_0 in 0:192:16 {
        map u in 0:16 @vector {
          local r0: f32
          r0 = v[i0, i1, i2_0 + u] * M[i1]
          partial[u] += v[i0, i1, i2_0 + u]
          partial_1[u] += r0 * v_1[i0, i1, i2_0 + u]
          v[i0, i1, i2_0 + u] = r0
        }
      }
      map i2 in 192:196 @vector {
        local r0_1: f32
        r0_1 = v[i0, i1, i2] * M[i1]
        partial[i2 - 192] += v[i0, i1, i2]
        partial_1[i2 - 192] += r0_1 * v_1[i0, i1, i2]
        v[i0, i1, i2] = r0_1
      }
    }
    map u in 0:16 @halves { B[i1] += partial[u] }
    map u in 0:16 @halves { S[i1] += partial_1[u] }
  }
})");
}

// What is the same for all of a channel is computed once, before its images.
TEST(Sums, OfImagesWithWhatIsTheSameForAChannel) {
  ExpectPass(R"(
kernel gradient(X: f32[n0, 96, 14, 14], V: f32[96], inout S: f32[96], Y: f32[n0, 96, 14, 14], n0: symbol) {
  map i1 in 0:96 {
    local v: f32
    v = V[i1] + 0.001
    map i0 in 0:n0, i2 in 0:14, i3 in 0:14 {
      local r0: f32
      r0 = X[i0, i1, i2, i3] * sqrt(v)
      S[i1] += r0
      Y[i0, i1, i2, i3] = r0
    }
  }
})",
             "choose-schedule", R"(
kernel gradient(X: f32[n0, 96, 14, 14], V: f32[96], inout S: f32[96], Y: f32[n0, 96, 14, 14], n0: symbol) for cpu {
  view v_1: f32[n0, 96, 196] of X
  view v_2: f32[n0, 96, 196] of Y
  map i1 in 0:96 @parallel {
    local v: f32
    v = V[i1] + 0.001
    local once: f32
    once = sqrt(v)
    local partial: f32[16]
    map u in 0:16 @vector { partial[u] = 0.0 }
    for i0 in 0:n0 {
      for i2_0 in 0:192:16 {
        map u in 0:16 @vector {
          local r0: f32
          r0 = v_1[i0, i1, i2_0 + u] * once
          partial[u] += r0
          v_2[i0, i1, i2_0 + u] = r0
        }
      }
      map i2 in 192:196 @vector {
        local r0_1: f32
        r0_1 = v_1[i0, i1, i2] * once
        partial[i2 - 192] += r0_1
        v_2[i0, i1, i2] = r0_1
      }
    }
    map u in 0:16 @halves { S[i1] += partial[u] }
  }
})");
}

// Nothing lies side by side along a batch that nobody knows: lanes don't go along it.
TEST(Sums, OfImagesOfAnyBatch) {
  ExpectPass(R"(
kernel pool(p0: f32[n0, 6, 14, 14], p1: f32[n0, 6, 28, 28], n0: symbol) {
  assume 1 <= n0
  map i0 in 0:n0, i1 in 0:6, i2 in 0:14, i3 in 0:14 {
    p0[i0, i1, i2, i3] = -inf
    map i4 in 0:2, i5 in 0:2 { p0[i0, i1, i2, i3] max= p1[i0, i1, 2 * i2 + i4, 2 * i3 + i5] }
  }
})",
             "choose-schedule", R"(
kernel pool(p0: f32[n0, 6, 14, 14], p1: f32[n0, 6, 28, 28], n0: symbol) for cpu {
  assume 1 <= n0
  map i0_0 in 0:n0:6 @parallel {
    for i0 in i0_0:+6, i1 in 0:6, i2 in 0:14, i3 in 0:14 {
      p0[i0, i1, i2, i3] = -inf
      local sum: f32
      sum = -inf
      for i4 in 0:2, i5 in 0:2 { sum max= p1[i0, i1, 2 * i2 + i4, 2 * i3 + i5] }
      p0[i0, i1, i2, i3] max= sum
    }
  }
})");
}

// The least and the most of integers start at their type's most and least.
TEST(Sums, LeastOfIntegers) {
  ExpectPass(R"(
kernel first(p0: i32[8, 24, 64], p1: f32[8, 48, 64], p2: f32[8, 24, 64]) {
  map i in 0:8, j in 0:24, c in 0:64 {
    p0[i, j, c] = 2147483647
    map k in 0:2 { p0[i, j, c] min= p1[i, 2 * j + k, c] == p2[i, j, c] ? i32(k) : 2 }
  }
})",
             "choose-schedule", R"(
kernel first(p0: i32[8, 24, 64], p1: f32[8, 48, 64], p2: f32[8, 24, 64]) for cpu {
  map i_0 in 0:8:5 @parallel {
    for i in i_0:+5, j in 0:24 {
      local sums: i32[64]
      map c in 0:64 @vector { sums[c] = 2147483647 }
      for k in 0:2 {
        map c in 0:64 @vector { sums[c] min= p1[i, 2 * j + k, c] == p2[i, j, c] ? i32(k) : 2 }
      }
      map c in 0:64 @vector { p0[i, j, c] = sums[c] }
    }
  }
})");
}

// Of each weight of a depthwise convolution: a result for each place of a line.
TEST(Sums, OfManyShortLines) {
  ExpectPass(R"(
kernel weights(inout W: f32[96, 1, 3, 3], G: f32[8, 96, 7, 7], X: f32[8, 96, 7, 7]) {
  map i0 in 0:96, i1 in 0:3, i2 in 0:3, i3 in 0:8, i4 in 0:7, i5 in 0:7 {
    W[i0, 0, i1, i2] += G[i3, i0, i4, i5] * (i1 + i4 - 1 >= 0 && i1 + i4 - 1 < 7 && i2 + i5 - 1 >= 0 && i2 + i5 - 1 < 7 ? X[i3, i0, i1 + i4 - 1, i2 + i5 - 1] : 0)
  }
})",
             "choose-schedule", R"(
kernel weights(inout W: f32[96, 1, 3, 3], G: f32[8, 96, 7, 7], X: f32[8, 96, 7, 7]) for cpu {
  map i0 in 0:96, i1_0 in 0:3:2 @parallel {
    for i1 in i1_0:+2, i2 in 0:3 {
      local sum: f32
      sum = 0.0
      local partial: f32[8]
      map u in 0:8 @vector { partial[u] = 0.0 }
      for i3 in 0:8, i4 in 0:7 {
        map i5 in 0:7 @vector {
          partial[i5] += G[i3, i0, i4, i5] * (i1 + i4 - 1 >= 0 && i1 + i4 - 1 < 7 && i2 + i5 - 1 >= 0 && i2 + i5 - 1 < 7 ? X[i3, i0, i1 + i4 - 1, i2 + i5 - 1] : 0)
        }
      }
      map u in 0:8 @halves { sum += partial[u] }
      W[i0, 0, i1, i2] += sum
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
