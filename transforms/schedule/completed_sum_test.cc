// Sums whose results lie side by side, with what is done around them.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Channels of an image that lie innermost: a pooling after other statements walks memory, however many terms it has.
TEST(CompletedSum, Pooling) {
  ExpectPass(R"(
kernel long(p0: f32[1, 32], p1: f32[1, 32, 112, 112] layout [d0, d2, d3, d1]) {
  local S: f32
  local r: f32
  map c in 0:32 {
    S = 0.0
    map p in 0:112, q in 0:112 { r = max(p1[0, c, p, q], 0.0) ; S += r * tanh(r) }
    p0[0, c] = S / 12544.0
  }
}
kernel short(p0: f32[N, 320], p1: f32[N, 320, 7, 7] layout [d0, d2, d3, d1], N: symbol) {
  local r: f32
  map n in 0:N, c in 0:320 {
    p0[n, c] = 0.0
    map p in 0:7, q in 0:7 { r = max(p1[n, c, p, q], 0.0) ; p0[n, c] += r * tanh(r) }
    p0[n, c] = p0[n, c] / 49.0
  }
})",
             "choose-schedule", R"(
kernel long(p0: f32[1, 32], p1: f32[1, 32, 112, 112] layout [d0, d2, d3, d1]) for cpu {
  local partial: f32[56, 32] @worker
  map part_0 in 0:112:2 @parallel {
    local sums: f32[32]
    map c in 0:32 @vector { sums[c] = 0.0 }
    for p in part_0:+2, q in 0:112 {
      map c in 0:32 @vector {
        local r: f32
        r = max(p1[0, c, p, q], 0.0)
        sums[c] += r * tanh(r)
      }
    }
    map c in 0:32 @vector { partial[part_0 // 2, c] = sums[c] }
  }
  local sums_1: f32[32]
  map c in 0:32 @vector { sums_1[c] = 0.0 }
  for part_1 in 0:56 {
    map c in 0:32 @vector { sums_1[c] += partial[part_1, c] }
  }
  map c in 0:32 @vector {
    local S_at: f32
    S_at = sums_1[c]
    p0[0, c] = S_at / 12544.0
  }
}

kernel short(p0: f32[N, 320], p1: f32[N, 320, 7, 7] layout [d0, d2, d3, d1], N: symbol) for cpu {
  map n in 0:N, c_0 in 0:320:256 @parallel {
    local sums: f32[256]
    map c in c_0:+256 @vector { sums[c - c_0] = 0.0 }
    for p in 0:7, q in 0:7 {
      map c in c_0:+256 @vector {
        local r: f32
        r = max(p1[n, c, p, q], 0.0)
        sums[c - c_0] += r * tanh(r)
      }
    }
    map c in c_0:+256 @vector {
      p0[n, c] = sums[c - c_0]
      p0[n, c] = p0[n, c] / 49.0
    }
  }
})");
}

// Terms that write what they read, each its own.
TEST(CompletedSum, Squeeze) {
  ExpectPass(R"(
kernel squeeze(p0: f32[1, 32], inout p1: f32[1, 32, 112, 112] layout [d0, d2, d3, d1]) {
  local r: f32
  map c in 0:32 {
    p0[0, c] = 0.0
    map p in 0:112, q in 0:112 {
      r = tanh(p1[0, c, p, q])
      p1[0, c, p, q] = p1[0, c, p, q] * r
      p0[0, c] += p1[0, c, p, q] / 12544.0
    }
  }
})",
             "choose-schedule", R"(
kernel squeeze(p0: f32[1, 32], inout p1: f32[1, 32, 112, 112] layout [d0, d2, d3, d1]) for cpu {
  local partial: f32[56, 32] @worker
  map part_0 in 0:112:2 @parallel {
    local sums: f32[32]
    map c in 0:32 @vector { sums[c] = 0.0 }
    for p in part_0:+2, q in 0:112 {
      map c in 0:32 @vector {
        local r: f32
        r = tanh(p1[0, c, p, q])
        p1[0, c, p, q] = p1[0, c, p, q] * r
        sums[c] += p1[0, c, p, q] / 12544.0
      }
    }
    map c in 0:32 @vector { partial[part_0 // 2, c] = sums[c] }
  }
  local sums_1: f32[32]
  map c in 0:32 @vector { sums_1[c] = 0.0 }
  for part_1 in 0:56 {
    map c in 0:32 @vector { sums_1[c] += partial[part_1, c] }
  }
  map c in 0:32 @vector { p0[0, c] = sums_1[c] }
})");
}

// Terms that read what is done around the sum have it from an array.
TEST(CompletedSum, TermsThatDependOnOthers) {
  ExpectPass(R"(
kernel centred(p0: f32[32], p1: f32[100, 32], p2: f32[32]) {
  local m: f32
  local S: f32
  local r: f32
  map c in 0:32 {
    m = 2.0 * p2[c]
    S = 0.0
    map p in 0:100 { r = p1[p, c] - m ; S += r * r }
    p0[c] = S / 100.0
  }
})",
             "choose-schedule", R"(
kernel centred(p0: f32[32], p1: f32[100, 32], p2: f32[32]) for cpu {
  local m_all: f32[32] @worker
  local S_all: f32[32] @worker
  map c in 0:32 @vector {
    m_all[c] = 2.0 * p2[c]
    S_all[c] = 0.0
  }
  local sums: f32[32]
  map c in 0:32 @vector { sums[c] = 0.0 }
  for p in 0:100 {
    map c in 0:32 @vector {
      local r: f32
      r = p1[p, c] - m_all[c]
      sums[c] += r * r
    }
  }
  map c in 0:32 @vector { S_all[c] += sums[c] }
  map c in 0:32 @vector { p0[c] = S_all[c] / 100.0 }
})");
}

// Images of a batch that may be one: parts of each.
TEST(CompletedSum, OfEachImage) {
  ExpectPass(R"(
kernel squeeze(
    p0: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    p1: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    p2: f32[N, 32],
    N: symbol) {
  assume 1 <= N
  local s: f32
  map n in 0:N, c in 0:32 {
    s = 0.0
    map p in 0:56, q in 0:56 {
      p1[n, c, p, q] = max(p0[n, c, p, q], 0.0)
      s += p1[n, c, p, q]
    }
    p2[n, c] = s / 3136.0
  }
})",
             "choose-schedule", R"(
kernel squeeze(
    p0: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    p1: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    p2: f32[N, 32],
    N: symbol) for cpu {
  assume 1 <= N
  local partial: f32[N, 19, 32] @worker
  map n in 0:N, part_0 in 0:56:3 @parallel {
    local sums: f32[32]
    map c in 0:32 @vector { sums[c] = 0.0 }
    for p in part_0:+3, q in 0:56 {
      map c in 0:32 @vector {
        p1[n, c, p, q] = max(p0[n, c, p, q], 0.0)
        sums[c] += p1[n, c, p, q]
      }
    }
    map c in 0:32 @vector { partial[n, part_0 // 3, c] = sums[c] }
  }
  map n_0 in 0:N:53 @parallel {
    for n in n_0:+53 {
      local sums_1: f32[32]
      map c in 0:32 @vector { sums_1[c] = 0.0 }
      for part_1 in 0:19 {
        map c in 0:32 @vector { sums_1[c] += partial[n, part_1, c] }
      }
      map c in 0:32 @vector {
        local s_at: f32
        s_at = sums_1[c]
        p2[n, c] = s_at / 3136.0
      }
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
