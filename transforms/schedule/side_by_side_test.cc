// Statements whose lanes lie along the ranges around them, as the channels of images are where they lie innermost in memory.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A gradient and two sums of it: the longest range that is known is cut into parts for threads.
TEST(SideBySide, SumsBesideElements) {
  ExpectPass(R"(
kernel both(
    p0: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    inout p1: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    p2: f32[32],
    inout p3: f32[32],
    inout p4: f32[32],
    N: symbol) {
  assume 1 <= N
  local g: f32
  map n in 0:N, c in 0:32, p in 0:56, q in 0:56 {
    g = p0[n, c, p, q] * p2[c]
    p3[c] += g
    p4[c] += g * p1[n, c, p, q]
    p1[n, c, p, q] = g
  }
})",
             "choose-schedule", R"(
kernel both(
    p0: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    inout p1: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    p2: f32[32],
    inout p3: f32[32],
    inout p4: f32[32],
    N: symbol) for cpu {
  assume 1 <= N
  local partial: f32[56, 32] @worker
  local partial_1: f32[56, 32] @worker
  map part_0 in 0:56 @parallel {
    local sums: f32[32]
    local sums_1: f32[32]
    map c in 0:32 @vector {
      sums[c] = 0.0
      sums_1[c] = 0.0
    }
    for n in 0:N, p in part_0:+1, q in 0:56 {
      map c in 0:32 @vector {
        local g: f32
        g = p0[n, c, p, q] * p2[c]
        sums[c] += g
        sums_1[c] += g * p1[n, c, p, q]
        p1[n, c, p, q] = g
      }
    }
    map c in 0:32 @vector {
      partial[part_0, c] = sums[c]
      partial_1[part_0, c] = sums_1[c]
    }
  }
  local sums_2: f32[32]
  local sums_3: f32[32]
  map c in 0:32 @vector {
    sums_2[c] = 0.0
    sums_3[c] = 0.0
  }
  for part_1 in 0:56 {
    map c in 0:32 @vector {
      sums_2[c] += partial[part_1, c]
      sums_3[c] += partial_1[part_1, c]
    }
  }
  map c in 0:32 @vector {
    p3[c] += sums_2[c]
    p4[c] += sums_3[c]
  }
})");
}

// As many results as are worth a thread's while: each has all of its terms.
TEST(SideBySide, ManyResults) {
  ExpectPass(R"(
kernel many(
    p0: f32[N, 2048, 7, 7] layout [d0, d2, d3, d1],
    p1: f32[N, 2048, 7, 7] layout [d0, d2, d3, d1],
    inout p2: f32[2048],
    N: symbol) {
  assume 1 <= N
  local g: f32
  map n in 0:N, c in 0:2048, p in 0:7, q in 0:7 {
    g = p0[n, c, p, q] * 2.0
    p2[c] += g
    p1[n, c, p, q] = g
  }
})",
             "choose-schedule", R"(
kernel many(
    p0: f32[N, 2048, 7, 7] layout [d0, d2, d3, d1],
    p1: f32[N, 2048, 7, 7] layout [d0, d2, d3, d1],
    inout p2: f32[2048],
    N: symbol) for cpu {
  assume 1 <= N
  map c_0_0 in 0:2048:256 * max(65536 // max(87808 * N, 1), 1) @parallel {
    for c_0 in c_0_0:+256 * max(65536 // max(87808 * N, 1), 1):256 {
      local sums: f32[256]
      map c in c_0:+256 @vector { sums[c - c_0] = 0.0 }
      for n in 0:N, p in 0:7, q in 0:7 {
        map c in c_0:+256 @vector {
          local g: f32
          g = p0[n, c, p, q] * 2.0
          sums[c - c_0] += g
          p1[n, c, p, q] = g
        }
      }
      map c in c_0:+256 @vector { p2[c] += sums[c - c_0] }
    }
  }
})");
}

// Mean, variance and what becomes of them: each statement for all channels before the next one.
TEST(SideBySide, StatisticsOfChannels) {
  ExpectPass(R"(
kernel moments(p0: f32[N, 32, 56, 56] layout [d0, d2, d3, d1], p1: f32[32], p2: f32[32], N: symbol) {
  assume 1 <= N
  local s: f32
  local m: f32
  local v: f32
  map c in 0:32 {
    s = 0.0
    v = 0.0
    map n in 0:N, p in 0:56, q in 0:56 { s += p0[n, c, p, q] }
    m = s / f32(3136 * N)
    map n in 0:N, p in 0:56, q in 0:56 { v += (p0[n, c, p, q] - m) * (p0[n, c, p, q] - m) }
    p1[c] = m
    p2[c] = v / f32(3136 * N)
  }
})",
             "choose-schedule", R"(
kernel moments(p0: f32[N, 32, 56, 56] layout [d0, d2, d3, d1], p1: f32[32], p2: f32[32], N: symbol) for cpu {
  assume 1 <= N
  view v_1: f32[N, 32, 3136] of p0 strides [100352, 1, 32]
  local s_all: f32[32] @worker
  local v_all: f32[32] @worker
  map c in 0:32 @vector {
    s_all[c] = 0.0
    v_all[c] = 0.0
  }
  local partial: f32[49, 32] @worker
  map part_0 in 0:49 @parallel {
    local sums: f32[32]
    map c in 0:32 @vector { sums[c] = 0.0 }
    for n in 0:N, p in 64 * part_0:min(64 * part_0 + 64, 3136) {
      map c in 0:32 @vector { sums[c] += v_1[n, c, p] }
    }
    map c in 0:32 @vector { partial[part_0, c] = sums[c] }
  }
  local sums_1: f32[32]
  map c in 0:32 @vector { sums_1[c] = 0.0 }
  for part_1 in 0:49 {
    map c in 0:32 @vector { sums_1[c] += partial[part_1, c] }
  }
  map c in 0:32 @vector { s_all[c] += sums_1[c] }
  local m_all: f32[32] @worker
  map c in 0:32 @vector { m_all[c] = s_all[c] / f32(3136 * N) }
  local partial_1: f32[64, 32] @worker
  map part_0 in 0:64 @parallel {
    local sums_2: f32[32]
    map c in 0:32 @vector { sums_2[c] = 0.0 }
    for n in 0:N, p in 49 * part_0:min(49 * part_0 + 49, 3136) {
      map c in 0:32 @vector { sums_2[c] += (v_1[n, c, p] - m_all[c]) * (v_1[n, c, p] - m_all[c]) }
    }
    map c in 0:32 @vector { partial_1[part_0, c] = sums_2[c] }
  }
  local sums_3: f32[32]
  map c in 0:32 @vector { sums_3[c] = 0.0 }
  for part_1 in 0:64 {
    map c in 0:32 @vector { sums_3[c] += partial_1[part_1, c] }
  }
  map c in 0:32 @vector { v_all[c] += sums_3[c] }
  map c in 0:32 @vector {
    p1[c] = m_all[c]
    p2[c] = v_all[c] / f32(3136 * N)
  }
})");
}

// What belongs to an image and a channel is computed before the elements of all of them; sums are of all images.
TEST(SideBySide, PerImage) {
  ExpectPass(R"(
kernel scaled(p0: f32[N, 32], inout p1: f32[N, 32, 56, 56] layout [d0, d2, d3, d1], inout p2: f32[32], N: symbol) {
  assume 1 <= N
  local r: f32
  map n in 0:N, c in 0:32 {
    r = p0[n, c] / 3136.0
    map p in 0:56, q in 0:56 {
      p1[n, c, p, q] = r * p1[n, c, p, q]
      p2[c] += p1[n, c, p, q]
    }
  }
})",
             "choose-schedule", R"(
kernel scaled(
    p0: f32[N, 32],
    inout p1: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    inout p2: f32[32],
    N: symbol) for cpu {
  assume 1 <= N
  local r_all: f32[N, 32] @worker
  map n_0 in 0:N:682 @parallel {
    for n in n_0:+682 {
      map c in 0:32 @vector { r_all[n, c] = p0[n, c] / 3136.0 }
    }
  }
  local partial: f32[56, 32] @worker
  map part_0 in 0:56 @parallel {
    local sums: f32[32]
    map c in 0:32 @vector { sums[c] = 0.0 }
    for n in 0:N, p in part_0:+1, q in 0:56 {
      map c in 0:32 @vector {
        p1[n, c, p, q] = r_all[n, c] * p1[n, c, p, q]
        sums[c] += p1[n, c, p, q]
      }
    }
    map c in 0:32 @vector { partial[part_0, c] = sums[c] }
  }
  local sums_1: f32[32]
  map c in 0:32 @vector { sums_1[c] = 0.0 }
  for part_1 in 0:56 {
    map c in 0:32 @vector { sums_1[c] += partial[part_1, c] }
  }
  map c in 0:32 @vector { p2[c] += sums_1[c] }
})");
}

// Images of a batch that may be one: parts of each.
TEST(SideBySide, SumsOfEachImage) {
  ExpectPass(R"(
kernel moments(
    p0: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    inout p1: f32[N, 32],
    inout p2: f32[N, 32],
    N: symbol) {
  assume 1 <= N
  map n in 0:N, c in 0:32, p in 0:56, q in 0:56 {
    p1[n, c] += p0[n, c, p, q]
    p2[n, c] += p0[n, c, p, q] * p0[n, c, p, q]
  }
})",
             "choose-schedule", R"(
kernel moments(
    p0: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    inout p1: f32[N, 32],
    inout p2: f32[N, 32],
    N: symbol) for cpu {
  assume 1 <= N
  local partial: f32[N, 10, 32] @worker
  local partial_1: f32[N, 10, 32] @worker
  map n in 0:N, part_0 in 0:56:6 @parallel {
    local sums: f32[32]
    local sums_1: f32[32]
    map c in 0:32 @vector {
      sums[c] = 0.0
      sums_1[c] = 0.0
    }
    for p in part_0:+6, q in 0:56 {
      map c in 0:32 @vector {
        sums[c] += p0[n, c, p, q]
        sums_1[c] += p0[n, c, p, q] * p0[n, c, p, q]
      }
    }
    map c in 0:32 @vector {
      partial[n, part_0 // 6, c] = sums[c]
      partial_1[n, part_0 // 6, c] = sums_1[c]
    }
  }
  map n_0 in 0:N:51 @parallel {
    for n in n_0:+51 {
      local sums_2: f32[32]
      local sums_3: f32[32]
      map c in 0:32 @vector {
        sums_2[c] = 0.0
        sums_3[c] = 0.0
      }
      for part_1 in 0:10 {
        map c in 0:32 @vector {
          sums_2[c] += partial[n, part_1, c]
          sums_3[c] += partial_1[n, part_1, c]
        }
      }
      map c in 0:32 @vector {
        p1[n, c] += sums_2[c]
        p2[n, c] += sums_3[c]
      }
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
