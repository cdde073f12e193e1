// Few results of long sums; rows shorter than vectors.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A thousand thousands of terms: each thread sums parts of them.
TEST(TwoPhases, OneResult) {
  ExpectPass(R"(
kernel whole(inout p0: f32, p1: f32[1000000]) { map i0 in 0:1000000 { p0 += p1[i0] } })",
             "choose-schedule", R"(
kernel whole(inout p0: f32, p1: f32[1000000]) for cpu {
  local partial: f32[31] @worker
  map part_0 in 0:31 @parallel {
    local sum: f32
    sum = 0.0
    local partial_1: f32[32]
    map u in 0:32 @vector { partial_1[u] = 0.0 }
    for i0_0 in 0:32 * (min(1000000 - 32768 * part_0, 32768) // 32):32 {
      map u in 0:32 @vector { partial_1[u] += p1[i0_0 + 32768 * part_0 + u] }
    }
    map i0 in 32 * (min(1000000 - 32768 * part_0, 32768) // 32):min(1000000 - 32768 * part_0, 32768) @vector {
      partial_1[i0 - 32 * (min(1000000 - 32768 * part_0, 32768) // 32)] += p1[i0 + 32768 * part_0]
    }
    map u in 0:32 @halves { sum += partial_1[u] }
    partial[part_0] = sum
  }
  local sum_1: f32
  sum_1 = 0.0
  local partial_2: f32[8]
  map u in 0:8 @vector { partial_2[u] = 0.0 }
  for part_1_0 in 0:24:8 {
    map u in 0:8 @vector { partial_2[u] += partial[part_1_0 + u] }
  }
  map part_1 in 24:31 @vector { partial_2[part_1 - 24] += partial[part_1] }
  map u in 0:8 @halves { sum_1 += partial_2[u] }
  p0 += sum_1
})");
}

// As many as the run has: parts of a length that is known, whose ends can be shown.
TEST(TwoPhases, OneResultOfAnyLength) {
  ExpectPass(R"(
kernel whole(inout p0: f32, p1: f32[n0], n0: symbol) { map i0 in 0:n0 { p0 += p1[i0] } })",
             "choose-schedule", R"(
kernel whole(inout p0: f32, p1: f32[n0], n0: symbol) for cpu {
  let parts = (n0 + 32767) // 32768
  local partial: f32[parts] @worker
  map part_0 in 0:parts @parallel {
    local sum: f32
    sum = 0.0
    local partial_1: f32[32]
    map u in 0:32 @vector { partial_1[u] = 0.0 }
    for i0_0 in 0:32 * (min(n0 - 32768 * part_0, 32768) // 32):32 {
      map u in 0:32 @vector { partial_1[u] += p1[i0_0 + 32768 * part_0 + u] }
    }
    map i0 in 32 * (min(n0 - 32768 * part_0, 32768) // 32):min(n0 - 32768 * part_0, 32768) @vector {
      partial_1[i0 - 32 * (min(n0 - 32768 * part_0, 32768) // 32)] += p1[i0 + 32768 * part_0]
    }
    map u in 0:32 @halves { sum += partial_1[u] }
    partial[part_0] = sum
  }
  local sum_1: f32
  sum_1 = 0.0
  local partial_2: f32[32]
  map u in 0:32 @vector { partial_2[u] = 0.0 }
  for part_1_0 in 0:32 * (parts // 32):32 {
    map u in 0:32 @vector { partial_2[u] += partial[part_1_0 + u] }
  }
  map part_1 in 32 * (parts // 32):parts @vector { partial_2[part_1 - 32 * (parts // 32)] += partial[part_1] }
  map u in 0:32 @halves { sum_1 += partial_2[u] }
  p0 += sum_1
})");
}

// So do those of few lines, which would be too few for the threads.
TEST(TwoPhases, FewLinesOfAnyLength) {
  ExpectPass(R"(
kernel rows(inout p0: f32[3], p1: f32[3, n0], n0: symbol) {
  map i0 in 0:3, i1 in 0:n0 { p0[i0] += p1[i0, i1] }
})",
             "choose-schedule", R"(
kernel rows(inout p0: f32[3], p1: f32[3, n0], n0: symbol) for cpu {
  let parts = (n0 + 10943) // 10944
  local partial: f32[parts, 3] @worker
  map part_0 in 0:parts @parallel {
    for i0 in 0:3 {
      local sum: f32
      sum = 0.0
      local partial_1: f32[32]
      map u in 0:32 @vector { partial_1[u] = 0.0 }
      for i1_0 in 0:32 * (min(n0 - 10944 * part_0, 10944) // 32):32 {
        map u in 0:32 @vector { partial_1[u] += p1[i0, i1_0 + 10944 * part_0 + u] }
      }
      map i1 in 32 * (min(n0 - 10944 * part_0, 10944) // 32):min(n0 - 10944 * part_0, 10944) @vector {
        partial_1[i1 - 32 * (min(n0 - 10944 * part_0, 10944) // 32)] += p1[i0, i1 + 10944 * part_0]
      }
      map u in 0:32 @halves { sum += partial_1[u] }
      partial[part_0, i0] = sum
    }
  }
  for i0 in 0:3 {
    local sum_1: f32
    sum_1 = 0.0
    local partial_2: f32[32]
    map u in 0:32 @vector { partial_2[u] = 0.0 }
    for part_1_0 in 0:32 * (parts // 32):32 {
      map u in 0:32 @vector { partial_2[u] += partial[part_1_0 + u, i0] }
    }
    map part_1 in 32 * (parts // 32):parts @vector {
      partial_2[part_1 - 32 * (parts // 32)] += partial[part_1, i0]
    }
    map u in 0:32 @halves { sum_1 += partial_2[u] }
    p0[i0] += sum_1
  }
})");
}

// Sizes that only the run knows are computed once, before.
TEST(TwoPhases, SideBySide) {
  ExpectPass(R"(
kernel bias(inout p0: f32[64], p1: f32[n0, 64], n0: symbol) { map i0 in 0:n0, i1 in 0:64 { p0[i1] += p1[i0, i1] } })",
             "choose-schedule", R"(
kernel bias(inout p0: f32[64], p1: f32[n0, 64], n0: symbol) for cpu {
  let part = max((n0 + 63) // 64, 512)
  let parts = (n0 - 1) // part + 1
  local partial: f32[parts, 64] @worker
  map part_0 in 0:parts @parallel {
    local sums: f32[64]
    map i1 in 0:64 @vector { sums[i1] = 0.0 }
    for i0 in part * part_0:min(n0, part * part_0 + part) {
      map i1 in 0:64 @vector { sums[i1] += p1[i0, i1] }
    }
    map i1 in 0:64 @vector { partial[part_0, i1] = sums[i1] }
  }
  local sums_1: f32[64]
  map i1 in 0:64 @vector { sums_1[i1] = 0.0 }
  for part_1 in 0:parts {
    map i1 in 0:64 @vector { sums_1[i1] += partial[part_1, i1] }
  }
  map i1 in 0:64 @vector { p0[i1] += sums_1[i1] }
})");
}

// As many terms as there are results, or fewer: what the parts give is little beside them.
TEST(Sums, OfASmallImage) {
  ExpectPass(R"(
kernel k(p0: f32[480], p1: f32[14, 14, 480]) {
  map i0 in 0:480 {
    p0[i0] = 0
    map i1 in 0:14, i2 in 0:14 { p0[i0] += exp(p1[i1, i2, i0]) }
  }
})",
             "choose-schedule", R"(
kernel k(p0: f32[480], p1: f32[14, 14, 480]) for cpu {
  local partial: f32[14, 480] @worker
  map part_0 in 0:14 @parallel {
    for i0_0 in 0:480:256 {
      local sums: f32[256]
      map i0 in i0_0:+256 @vector { sums[i0 - i0_0] = 0.0 }
      for i1 in part_0:+1, i2 in 0:14 {
        map i0 in i0_0:+256 @vector { sums[i0 - i0_0] += exp(p1[i1, i2, i0]) }
      }
      map i0 in i0_0:+256 @vector { partial[part_0, i0] = sums[i0 - i0_0] }
    }
  }
  for i0_0 in 0:480:256 {
    local sums_1: f32[256]
    map i0 in i0_0:+256 @vector { sums_1[i0 - i0_0] = 0.0 }
    for part_1 in 0:14 {
      map i0 in i0_0:+256 @vector { sums_1[i0 - i0_0] += partial[part_1, i0] }
    }
    map i0 in i0_0:+256 @vector { p0[i0] = 0 + sums_1[i0 - i0_0] }
  }
})");
}

// Rows a little shorter than vectors are summed in whole ones.
TEST(Sums, RowsShorterThanVectors) {
  ExpectPass(R"(
kernel classes(inout p0: f32[10], p1: f32[100, 10]) { map i0 in 0:100, i1 in 0:10 { p0[i1] += p1[i0, i1] } })",
             "choose-schedule", R"(
kernel classes(inout p0: f32[10], p1: f32[100, 10]) for cpu {
  local sums: f32[16]
  map i1 in 0:16 @vector { sums[i1] = 0.0 }
  for i0 in 0:100 {
    map i1 in 0:16 @vector { sums[i1] += i1 < 10 ? p1[i0, i1] : 0.0 }
  }
  map i1 in 0:10 @vector { p0[i1] += sums[i1] }
})");
}

// What all of their lanes read is read before them.
TEST(Sums, RowsShorterThanVectorsTimesNumbers) {
  ExpectPass(R"(
kernel squeeze(inout p0: f32[20], p1: f32[48], p2: f32[48, 20]) { map i0 in 0:20, i1 in 0:48 { p0[i0] += p1[i1] * p2[i1, i0] } })",
             "choose-schedule", R"(
kernel squeeze(inout p0: f32[20], p1: f32[48], p2: f32[48, 20]) for cpu {
  local sums: f32[32]
  map i0 in 0:32 @vector { sums[i0] = 0.0 }
  for i1 in 0:48 {
    local once: f32
    once = p1[i1]
    map i0 in 0:32 @vector { sums[i0] += i0 < 20 ? once * p2[i1, i0] : 0.0 }
  }
  map i0 in 0:20 @vector { p0[i0] += sums[i0] }
})");
}

// … but not where lanes would have to gather: a mask is slow there.
TEST(Sums, ShortRowsWithSteps) {
  ExpectPass(R"(
kernel pool(p0: f32[4, 27], p1: f32[4, 55]) {
  map i0 in 0:4, i1 in 0:27 {
    p0[i0, i1] = -inf
    map i2 in 0:3 { p0[i0, i1] max= p1[i0, 2 * i1 + i2] }
  }
})",
             "choose-schedule", R"(
kernel pool(p0: f32[4, 27], p1: f32[4, 55]) for cpu {
  for i0 in 0:4, i1 in 0:27 {
    p0[i0, i1] = -inf
    local sum: f32
    sum = -inf
    for i2 in 0:3 { sum max= p1[i0, 2 * i1 + i2] }
    p0[i0, i1] max= sum
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
