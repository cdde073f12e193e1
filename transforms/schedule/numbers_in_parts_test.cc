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

// Two numbers, and elements that stay in their order.
TEST(NumbersInParts, BesideElements) {
  ExpectPass(R"(
kernel both(p0: f32[100000], p1: f32[100000], inout p2: f32, inout p3: f32) {
  map i0 in 0:100000 {
    local r: f32
    r = abs(p0[i0])
    p1[i0] = r
    p2 += r
    p3 max= r
  }
})",
             "choose-schedule", R"(
kernel both(p0: f32[100000], p1: f32[100000], inout p2: f32, inout p3: f32) for cpu {
  local partial: f32[25] @worker
  local partial_2: f32[25] @worker
  map part_0 in 0:100000:4096 @parallel {
    local sum: f32
    sum = 0.0
    local sum_2: f32
    sum_2 = -inf
    for i0 in part_0:+4096 {
      local r: f32
      r = abs(p0[i0])
      p1[i0] = r
      sum += r
      sum_2 max= r
    }
    partial[part_0 // 4096] = sum
    partial_2[part_0 // 4096] = sum_2
  }
  local sum_1: f32
  sum_1 = 0.0
  local partial_1: f32[8]
  map u in 0:8 @vector { partial_1[u] = 0.0 }
  for part_1_0 in 0:24:8 {
    map u in 0:8 @vector { partial_1[u] += partial[part_1_0 + u] }
  }
  map part_1 in 24:25 @vector { partial_1[part_1 - 24] += partial[part_1] }
  map u in 0:8 @halves { sum_1 += partial_1[u] }
  p2 += sum_1
  local sum_3: f32
  sum_3 = -inf
  local partial_3: f32[8]
  map u in 0:8 @vector { partial_3[u] = -inf }
  for part_1_0 in 0:24:8 {
    map u in 0:8 @vector { partial_3[u] max= partial_2[part_1_0 + u] }
  }
  map part_1 in 24:25 @vector { partial_3[part_1 - 24] max= partial_2[part_1] }
  map u in 0:8 @halves { sum_3 max= partial_3[u] }
  p3 max= sum_3
})");
}

}  // namespace
}  // namespace headrace::transforms
