// What is written past the caches.
#include <gtest/gtest.h>

#include "transforms/schedule/device.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A few lines of memory at a time are computed in registers, and copied.
TEST(Streamed, Elements) {
  ExpectPass(R"(
kernel k(p0: f32[6291456], p1: f32[6291456]) {
  map i0 in 0:6291456 { p0[i0] = p1[i0] + 1 }
})",
             "choose-schedule", R"(
kernel k(p0: f32[6291456], p1: f32[6291456]) for cpu {
  map i0_0 in 0:6291456:20480 @parallel {
    for i0_0_1 in i0_0:+20480:128 {
      local t: f32[128]
      map u in 0:128 @vector { t[u] = p1[i0_0_1 + u] + 1 }
      map u in 0:128 @stream { p0[i0_0_1 + u] = t[u] }
    }
  }
})");
}

// Where the last one may not be whole, it is asked for; numbers of a lane are others there.
TEST(Streamed, TheLastLineMayNotBeWhole) {
  ExpectPass(R"(
kernel k(p0: f64[6000001], p1: f64[6000001]) {
  map i0 in 0:6000001 {
    local r0: f64
    r0 = p1[i0] * 2
    p0[i0] = r0 * r0
  }
})",
             "choose-schedule", R"(
kernel k(p0: f64[6000001], p1: f64[6000001]) for cpu {
  map i0_0 in 0:6000001:8192 @parallel {
    for i0_0_1 in i0_0:+8192:64 {
      if i0_0_1 + 64 <= min(i0_0 + 8192, 6000001) {
        local t: f64[64]
        map u in 0:64 @vector {
          local r0: f64
          r0 = p1[i0_0_1 + u] * 2
          t[u] = r0 * r0
        }
        map u in 0:64 @stream { p0[i0_0_1 + u] = t[u] }
      } else {
        map i0 in i0_0_1:+64 @vector {
          local r0_rest: f64
          r0_rest = p1[i0] * 2
          p0[i0] = r0_rest * r0_rest
        }
      }
    }
  }
})");
}

// Rows that begin where lines of memory do; several arrays, also of other types.
TEST(Streamed, Rows) {
  ExpectPass(R"(
kernel k(p0: f32[6144, 1024], p1: bf16[6144, 1024], p2: f32[6144, 1024], p3: f32[6144]) {
  map i0 in 0:6144, i1 in 0:1024 {
    p0[i0, i1] = p2[i0, i1] * p3[i0]
    p1[i0, i1] = bf16(p2[i0, i1])
  }
})",
             "choose-schedule", R"(
kernel k(p0: f32[6144, 1024], p1: bf16[6144, 1024], p2: f32[6144, 1024], p3: f32[6144]) for cpu {
  map i0_0 in 0:6144:10 @parallel {
    for i0 in i0_0:+10 {
      for i1_0 in 0:1024:128 {
        local t: f32[128]
        local t_1: bf16[128]
        map u in 0:128 @vector {
          t[u] = p2[i0, i1_0 + u] * p3[i0]
          t_1[u] = bf16(p2[i0, i1_0 + u])
        }
        map u in 0:128 @stream { p0[i0, i1_0 + u] = t[u] }
        map u in 0:128 @stream { p1[i0, i1_0 + u] = t_1[u] }
      }
    }
  }
})");
}

// Short rows are lines of their own.
TEST(Streamed, ShortRows) {
  ExpectPass(R"(
kernel k(p0: f32[80000, 96], p1: f32[80000, 96], p2: f32[96]) {
  map i0 in 0:80000, i1 in 0:96 { p0[i0, i1] = p1[i0, i1] * p2[i1] }
})",
             "choose-schedule", R"(
kernel k(p0: f32[80000, 96], p1: f32[80000, 96], p2: f32[96]) for cpu {
  map i0_0 in 0:80000:170 @parallel {
    for i0 in i0_0:+170 {
      for i1_0 in 0:96:96 {
        local t: f32[96]
        map u in 0:96 @vector { t[u] = p1[i0, i1_0 + u] * p2[i1_0 + u] }
        map u in 0:96 @stream { p0[i0, i1_0 + u] = t[u] }
      }
    }
  }
})");
}

// Rows that begin anywhere, arrays that are read, too, or added to, and kernels that move little stay in the caches.
TEST(Streamed, WhatIsNot) {
  ExpectPass(R"(
kernel uneven(p0: f32[6144, 1001], p1: f32[6144, 1001], p2: f32[6144]) {
  map i0 in 0:6144, i1 in 0:1001 { p0[i0, i1] = p1[i0, i1] * p2[i0] }
}
kernel added(inout p0: f32[6291456], p1: f32[6291456]) { map i0 in 0:6291456 { p0[i0] += p1[i0] } }
kernel little(p0: f32[5000000], p1: f32[5000000]) { map i0 in 0:5000000 { p0[i0] = p1[i0] + 1 } }
kernel part(p0: f32[8, 6291456], p1: f32[6291456]) { map i0 in 0:1048576 { p0[3, i0] = p1[i0] } }
kernel unknown(p0: f32[n], p1: f32[n], n: symbol) { map i0 in 0:n { p0[i0] = p1[i0] + 1 } })",
             "choose-schedule", R"(
kernel uneven(p0: f32[6144, 1001], p1: f32[6144, 1001], p2: f32[6144]) for cpu {
  map i0_0 in 0:6144:16 @parallel {
    for i0 in i0_0:+16 {
      map i1 in 0:1001 @vector { p0[i0, i1] = p1[i0, i1] * p2[i0] }
    }
  }
}

kernel added(inout p0: f32[6291456], p1: f32[6291456]) for cpu {
  map i0_0 in 0:6291456:32768 @parallel {
    map i0 in i0_0:+32768 @vector { p0[i0] += p1[i0] }
  }
}

kernel little(p0: f32[5000000], p1: f32[5000000]) for cpu {
  map i0_0 in 0:5000000:20480 @parallel {
    map i0 in i0_0:+20480 @vector { p0[i0] = p1[i0] + 1 }
  }
}

kernel part(p0: f32[8, 6291456], p1: f32[6291456]) for cpu {
  map i0_0 in 0:1048576:32768 @parallel {
    map i0 in i0_0:+32768 @vector { p0[3, i0] = p1[i0] }
  }
}

kernel unknown(p0: f32[n], p1: f32[n], n: symbol) for cpu {
  map i0_0 in 0:n:20480 @parallel {
    map i0 in i0_0:+20480 @vector { p0[i0] = p1[i0] + 1 }
  }
})");
}

// Where the last cache is large, more stays in it.
TEST(Streamed, LargeCaches) {
  const schedule::Device cpu = *schedule::FindDevice("cpu");
  EXPECT_EQ(schedule::ForCache(cpu, 0).stream_moved, cpu.stream_moved);
  EXPECT_EQ(schedule::ForCache(cpu, 32 << 20).stream_moved, 40 << 20);
  EXPECT_EQ(schedule::ForCache(cpu, 256 << 20).stream_moved, 320 << 20);
}

}  // namespace
}  // namespace headrace::transforms
