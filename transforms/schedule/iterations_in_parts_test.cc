// Iterations that add to numbers, or to short arrays: in parts.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A loss over rows, of a batch that nobody knows.
TEST(IterationsInParts, OfRows) {
  ExpectPass(R"(
kernel loss(p0: f32[n0, 40], inout p1: f32, n0: symbol) {
  map i0 in 0:n0 {
    local r: f32
    r = 0.0
    map i1 in 0:40 { r += p0[i0, i1] }
    p1 += r * r
  }
})",
             "choose-schedule", R"(
kernel loss(p0: f32[n0, 40], inout p1: f32, n0: symbol) for cpu {
  local partial: f32[(n0 + 770) // 771] @worker
  map part_0 in 0:n0:771 @parallel {
    local sum: f32
    sum = 0.0
    for i0 in part_0:+771 {
      local r: f32
      r = 0.0
      local sum_2: f32
      sum_2 = 0.0
      local partial_2: f32[8]
      map u in 0:8 @vector { partial_2[u] = 0.0 }
      for i1_0 in 0:40:8 {
        map u in 0:8 @vector { partial_2[u] += p0[i0, i1_0 + u] }
      }
      map u in 0:8 @halves { sum_2 += partial_2[u] }
      r += sum_2
      sum += r * r
    }
    partial[part_0 // 771] = sum
  }
  local sum_1: f32
  sum_1 = 0.0
  local partial_1: f32[32]
  map u in 0:32 @vector { partial_1[u] = 0.0 }
  for part_1_0 in 0:32 * ((n0 + 770) // 24672):32 {
    map u in 0:32 @vector { partial_1[u] += partial[part_1_0 + u] }
  }
  map part_1 in 32 * ((n0 + 770) // 24672):(n0 + 770) // 771 @vector {
    partial_1[part_1 - 32 * ((n0 + 770) // 24672)] += partial[part_1]
  }
  map u in 0:32 @halves { sum_1 += partial_1[u] }
  p1 += sum_1
})");
}

// Two numbers, and elements: lanes along a range of their own.
TEST(IterationsInParts, BesideElements) {
  ExpectPass(R"(
kernel both(p0: f32[n0, 100], p1: f32[n0, 100], inout p2: f32, inout p3: f32, n0: symbol) {
  map i0 in 0:n0, i1 in 0:100 {
    local r: f32
    r = abs(p0[i0, i1])
    p1[i0, i1] = r
    p2 += r
    p3 max= r
  }
})",
             "choose-schedule", R"(
kernel both(p0: f32[n0, 100], p1: f32[n0, 100], inout p2: f32, inout p3: f32, n0: symbol) for cpu {
  local partial: f32[(n0 + 39) // 40] @worker
  local partial_2: f32[(n0 + 39) // 40] @worker
  map part_0 in 0:n0:40 @parallel {
    local sum: f32
    sum = 0.0
    local sum_2: f32
    sum_2 = -inf
    local partial_4: f32[16]
    map u in 0:16 @vector { partial_4[u] = 0.0 }
    local partial_5: f32[16]
    map u in 0:16 @vector { partial_5[u] = -inf }
    for i0 in part_0:+40 {
      for i1_0 in 0:96:16 {
        map u in 0:16 @vector {
          local r: f32
          r = abs(p0[i0, i1_0 + u])
          p1[i0, i1_0 + u] = r
          partial_4[u] += r
          partial_5[u] max= r
        }
      }
      map i1 in 96:100 @vector {
        local r_1: f32
        r_1 = abs(p0[i0, i1])
        p1[i0, i1] = r_1
        partial_4[i1 - 96] += r_1
        partial_5[i1 - 96] max= r_1
      }
    }
    map u in 0:16 @halves { sum += partial_4[u] }
    map u in 0:16 @halves { sum_2 max= partial_5[u] }
    partial[part_0 // 40] = sum
    partial_2[part_0 // 40] = sum_2
  }
  local sum_1: f32
  sum_1 = 0.0
  local partial_1: f32[32]
  map u in 0:32 @vector { partial_1[u] = 0.0 }
  for part_1_0 in 0:32 * ((n0 + 39) // 1280):32 {
    map u in 0:32 @vector { partial_1[u] += partial[part_1_0 + u] }
  }
  map part_1 in 32 * ((n0 + 39) // 1280):(n0 + 39) // 40 @vector {
    partial_1[part_1 - 32 * ((n0 + 39) // 1280)] += partial[part_1]
  }
  map u in 0:32 @halves { sum_1 += partial_1[u] }
  p2 += sum_1
  local sum_3: f32
  sum_3 = -inf
  local partial_3: f32[32]
  map u in 0:32 @vector { partial_3[u] = -inf }
  for part_1_0 in 0:32 * ((n0 + 39) // 1280):32 {
    map u in 0:32 @vector { partial_3[u] max= partial_2[part_1_0 + u] }
  }
  map part_1 in 32 * ((n0 + 39) // 1280):(n0 + 39) // 40 @vector {
    partial_3[part_1 - 32 * ((n0 + 39) // 1280)] max= partial_2[part_1]
  }
  map u in 0:32 @halves { sum_3 max= partial_3[u] }
  p3 max= sum_3
})");
}

// The gradient of a scale and a shift beside that of rows, which has sums of its own: each part adds to arrays that lie a line apart.
TEST(IterationsInParts, ArraysOfRows) {
  ExpectPass(R"(
kernel gradient(p0: f32[n0, n1, 256], p1: f32[n0, n1, 256], inout p2: f32[256], inout p3: f32[256], n0: symbol, n1: symbol) {
  map i0 in 0:n0, i1 in 0:n1 {
    local r: f32
    r = 0.0
    map i2 in 0:256 { r max= p0[i0, i1, i2] }
    map i2 in 0:256 {
      p1[i0, i1, i2] = p0[i0, i1, i2] - r
      p2[i2] += p0[i0, i1, i2]
      p3[i2] += p0[i0, i1, i2] * r
    }
  }
})",
             "choose-schedule", R"(
kernel gradient(
    p0: f32[n0, n1, 256],
    p1: f32[n0, n1, 256],
    inout p2: f32[256],
    inout p3: f32[256],
    n0: symbol,
    n1: symbol) for cpu {
  view v: f32[n0 * n1, 256] of p0
  view v_1: f32[n0 * n1, 256] of p1
  local partial: f32[(n0 * n1 + 20) // 21, 272] @worker
  local partial_1: f32[(n0 * n1 + 20) // 21, 288] @worker
  map part_0 in 0:n0 * n1:21 @parallel {
    map d0 in 0:256 @vector { partial[part_0 // 21, d0] = 0.0 }
    map d0 in 0:256 @vector { partial_1[part_0 // 21, d0] = 0.0 }
    for i0 in part_0:+21 {
      local r: f32
      r = 0.0
      local sum: f32
      sum = -inf
      local partial_2: f32[32]
      map u in 0:32 @vector { partial_2[u] = -inf }
      for i2_0 in 0:256:32 {
        map u in 0:32 @vector { partial_2[u] max= v[i0, i2_0 + u] }
      }
      map u in 0:32 @halves { sum max= partial_2[u] }
      r max= sum
      map i2 in 0:256 @vector {
        v_1[i0, i2] = v[i0, i2] - r
        partial[part_0 // 21, i2] += v[i0, i2]
        partial_1[part_0 // 21, i2] += v[i0, i2] * r
      }
    }
  }
  local sums: f32[256]
  map d0 in 0:256 @vector { sums[d0] = 0.0 }
  for part_1 in 0:(n0 * n1 + 20) // 21 {
    map d0 in 0:256 @vector { sums[d0] += partial[part_1, d0] }
  }
  map d0 in 0:256 @vector { p2[d0] += sums[d0] }
  local sums_1: f32[256]
  map d0 in 0:256 @vector { sums_1[d0] = 0.0 }
  for part_1 in 0:(n0 * n1 + 20) // 21 {
    map d0 in 0:256 @vector { sums_1[d0] += partial_1[part_1, d0] }
  }
  map d0 in 0:256 @vector { p3[d0] += sums_1[d0] }
})");
}

}  // namespace
}  // namespace headrace::transforms
