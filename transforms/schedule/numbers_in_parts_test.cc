// Iterations that add to numbers: in parts.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A loss over rows, of a batch that nobody knows.
TEST(NumbersInParts, OfRows) {
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
TEST(NumbersInParts, BesideElements) {
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

}  // namespace
}  // namespace headrace::transforms
