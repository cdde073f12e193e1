// What is computed is compared in //tests/products:winograd_test.
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Two lines of tiles at a time. What the sum starts at and becomes is done with the results of a tile.
TEST(Winograd, AConvolution) {
  ExpectPass(R"(
kernel convolution(p0: f32[N, 8, 24, 32], p1: f32[N, 8, 24, 32], p2: f32[3, 3, 32, 32], p3: f32[32], N: symbol) {
  map i0 in 0:N, i1 in 0:8, i2 in 0:24, i3 in 0:32 {
    p0[i0, i1, i2, i3] = p3[i3]
    map i4 in 0:3, i5 in 0:3, i6 in 0:32 { p0[i0, i1, i2, i3] += (p1[i0, i1 + i4 - 1, i2 + i5 - 1, i6] ?? 0) * p2[i4, i5, i6, i3] }
  }
})",
             "choose-schedule{device=cpu}", R"(
kernel convolution(
    p0: f32[N, 8, 24, 32],
    p1: f32[N, 8, 24, 32],
    p2: f32[3, 3, 32, 32],
    p3: f32[32],
    N: symbol) for cpu {
  local b: f32[1, 16, 33, 32] @worker
  for i3_1 in 0:32:32, i6 in 0:32 {
    map u in 0:32 @vector {
      local d: f32
      d = p2[0, 0, i6, i3_1 + u]
      local d_1: f32
      d_1 = p2[1, 0, i6, i3_1 + u]
      local d_2: f32
      d_2 = p2[2, 0, i6, i3_1 + u]
      local e: f32
      e = 0.5 * (d + d_1 + d_2)
      local e_1: f32
      e_1 = 0.5 * (d + d_2 - d_1)
      local d_3: f32
      d_3 = p2[0, 1, i6, i3_1 + u]
      local d_4: f32
      d_4 = p2[1, 1, i6, i3_1 + u]
      local d_5: f32
      d_5 = p2[2, 1, i6, i3_1 + u]
      local e_2: f32
      e_2 = 0.5 * (d_3 + d_4 + d_5)
      local e_3: f32
      e_3 = 0.5 * (d_3 + d_5 - d_4)
      local d_6: f32
      d_6 = p2[0, 2, i6, i3_1 + u]
      local d_7: f32
      d_7 = p2[1, 2, i6, i3_1 + u]
      local d_8: f32
      d_8 = p2[2, 2, i6, i3_1 + u]
      local e_4: f32
      e_4 = 0.5 * (d_6 + d_7 + d_8)
      local e_5: f32
      e_5 = 0.5 * (d_6 + d_8 - d_7)
      b[i3_1 // 32, 0, i6, u] = d
      b[i3_1 // 32, 1, i6, u] = 0.5 * (d + d_3 + d_6)
      b[i3_1 // 32, 2, i6, u] = 0.5 * (d + d_6 - d_3)
      b[i3_1 // 32, 3, i6, u] = d_6
      b[i3_1 // 32, 4, i6, u] = e
      b[i3_1 // 32, 5, i6, u] = 0.5 * (e + e_2 + e_4)
      b[i3_1 // 32, 6, i6, u] = 0.5 * (e + e_4 - e_2)
      b[i3_1 // 32, 7, i6, u] = e_4
      b[i3_1 // 32, 8, i6, u] = e_1
      b[i3_1 // 32, 9, i6, u] = 0.5 * (e_1 + e_3 + e_5)
      b[i3_1 // 32, 10, i6, u] = 0.5 * (e_1 + e_5 - e_3)
      b[i3_1 // 32, 11, i6, u] = e_5
      b[i3_1 // 32, 12, i6, u] = d_2
      b[i3_1 // 32, 13, i6, u] = 0.5 * (d_2 + d_5 + d_8)
      b[i3_1 // 32, 14, i6, u] = 0.5 * (d_2 + d_8 - d_5)
      b[i3_1 // 32, 15, i6, u] = d_8
    }
  }
  map i0 in 0:N @parallel {
    local a: f32[10, 26, 32] @worker
    for q0 in 0:10, q1 in 0:26 {
      if q0 - 1 >= 0 && q0 - 1 < 8 && q1 - 1 >= 0 && q1 - 1 < 24 {
        map q2 in 0:32 @vector { a[q0, q1, q2] = p1[i0, q0 - 1, q1 - 1, q2] }
      } else {
        map q2 in 0:32 @vector { a[q0, q1, q2] = 0 }
      }
    }
    local v: f32[16, 48, 32] @worker
    for ty in 0:4, tx in 0:12 {
      map i6 in 0:32 @vector {
        local d_9: f32
        d_9 = a[2 * ty, 2 * tx, i6]
        local d_10: f32
        d_10 = a[2 * ty + 1, 2 * tx, i6]
        local d_11: f32
        d_11 = a[2 * ty + 2, 2 * tx, i6]
        local d_12: f32
        d_12 = a[2 * ty + 3, 2 * tx, i6]
        local e_6: f32
        e_6 = d_9 - d_11
        local e_7: f32
        e_7 = d_10 + d_11
        local e_8: f32
        e_8 = d_11 - d_10
        local e_9: f32
        e_9 = d_10 - d_12
        local d_13: f32
        d_13 = a[2 * ty, 2 * tx + 1, i6]
        local d_14: f32
        d_14 = a[2 * ty + 1, 2 * tx + 1, i6]
        local d_15: f32
        d_15 = a[2 * ty + 2, 2 * tx + 1, i6]
        local d_16: f32
        d_16 = a[2 * ty + 3, 2 * tx + 1, i6]
        local e_10: f32
        e_10 = d_13 - d_15
        local e_11: f32
        e_11 = d_14 + d_15
        local e_12: f32
        e_12 = d_15 - d_14
        local e_13: f32
        e_13 = d_14 - d_16
        local d_17: f32
        d_17 = a[2 * ty, 2 * tx + 2, i6]
        local d_18: f32
        d_18 = a[2 * ty + 1, 2 * tx + 2, i6]
        local d_19: f32
        d_19 = a[2 * ty + 2, 2 * tx + 2, i6]
        local d_20: f32
        d_20 = a[2 * ty + 3, 2 * tx + 2, i6]
        local e_14: f32
        e_14 = d_17 - d_19
        local e_15: f32
        e_15 = d_18 + d_19
        local e_16: f32
        e_16 = d_19 - d_18
        local e_17: f32
        e_17 = d_18 - d_20
        local d_21: f32
        d_21 = a[2 * ty, 2 * tx + 3, i6]
        local d_22: f32
        d_22 = a[2 * ty + 1, 2 * tx + 3, i6]
        local d_23: f32
        d_23 = a[2 * ty + 2, 2 * tx + 3, i6]
        local d_24: f32
        d_24 = a[2 * ty + 3, 2 * tx + 3, i6]
        local e_18: f32
        e_18 = d_21 - d_23
        local e_19: f32
        e_19 = d_22 + d_23
        local e_20: f32
        e_20 = d_23 - d_22
        local e_21: f32
        e_21 = d_22 - d_24
        v[0, tx + 12 * ty, i6] = e_6 - e_14
        v[1, tx + 12 * ty, i6] = e_10 + e_14
        v[2, tx + 12 * ty, i6] = e_14 - e_10
        v[3, tx + 12 * ty, i6] = e_10 - e_18
        v[4, tx + 12 * ty, i6] = e_7 - e_15
        v[5, tx + 12 * ty, i6] = e_11 + e_15
        v[6, tx + 12 * ty, i6] = e_15 - e_11
        v[7, tx + 12 * ty, i6] = e_11 - e_19
        v[8, tx + 12 * ty, i6] = e_8 - e_16
        v[9, tx + 12 * ty, i6] = e_12 + e_16
        v[10, tx + 12 * ty, i6] = e_16 - e_12
        v[11, tx + 12 * ty, i6] = e_12 - e_20
        v[12, tx + 12 * ty, i6] = e_9 - e_17
        v[13, tx + 12 * ty, i6] = e_13 + e_17
        v[14, tx + 12 * ty, i6] = e_17 - e_13
        v[15, tx + 12 * ty, i6] = e_13 - e_21
      }
    }
    for i3_1 in 0:32:32 {
      local m: f32[16, 49, 32] @worker
      for w in 0:16, p in 0:48:12 {
        local t: f32[12, 32]
        map r in 0:12 @unroll {
          map u in 0:32 @vector { t[r, u] = 0.0 }
        }
        for i6 in 0:32 {
          map r in 0:12 @unroll {
            map u in 0:32 @vector { t[r, u] = fma(v[w, p + r, i6], b[i3_1 // 32, w, i6, u], t[r, u]) }
          }
        }
        map r in 0:12 @unroll {
          map u in 0:32 @vector { m[w, p + r, u] = t[r, u] }
        }
      }
      local z: f32[8, 24, 32] @worker
      for ty in 0:4, tx in 0:12 {
        map u in 0:32 @vector {
          local d_25: f32
          d_25 = m[0, tx + 12 * ty, u]
          local d_26: f32
          d_26 = m[4, tx + 12 * ty, u]
          local d_27: f32
          d_27 = m[8, tx + 12 * ty, u]
          local d_28: f32
          d_28 = m[12, tx + 12 * ty, u]
          local e_22: f32
          e_22 = d_25 + d_26 + d_27
          local e_23: f32
          e_23 = d_26 - d_27 - d_28
          local d_29: f32
          d_29 = m[1, tx + 12 * ty, u]
          local d_30: f32
          d_30 = m[5, tx + 12 * ty, u]
          local d_31: f32
          d_31 = m[9, tx + 12 * ty, u]
          local d_32: f32
          d_32 = m[13, tx + 12 * ty, u]
          local e_24: f32
          e_24 = d_29 + d_30 + d_31
          local e_25: f32
          e_25 = d_30 - d_31 - d_32
          local d_33: f32
          d_33 = m[2, tx + 12 * ty, u]
          local d_34: f32
          d_34 = m[6, tx + 12 * ty, u]
          local d_35: f32
          d_35 = m[10, tx + 12 * ty, u]
          local d_36: f32
          d_36 = m[14, tx + 12 * ty, u]
          local e_26: f32
          e_26 = d_33 + d_34 + d_35
          local e_27: f32
          e_27 = d_34 - d_35 - d_36
          local d_37: f32
          d_37 = m[3, tx + 12 * ty, u]
          local d_38: f32
          d_38 = m[7, tx + 12 * ty, u]
          local d_39: f32
          d_39 = m[11, tx + 12 * ty, u]
          local d_40: f32
          d_40 = m[15, tx + 12 * ty, u]
          local e_28: f32
          e_28 = d_37 + d_38 + d_39
          local e_29: f32
          e_29 = d_38 - d_39 - d_40
          z[2 * ty, 2 * tx, u] = e_22 + e_24 + e_26
          z[2 * ty, 2 * tx + 1, u] = e_24 - e_26 - e_28
          z[2 * ty + 1, 2 * tx, u] = e_23 + e_25 + e_27
          z[2 * ty + 1, 2 * tx + 1, u] = e_25 - e_27 - e_29
        }
      }
      for i1 in 0:8, i2 in 0:24 {
        map u in 0:32 @vector { p0[i0, i1, i2, i3_1 + u] = p3[i3_1 + u] + z[i1, i2, u] }
      }
    }
  }
})");
}

// Of a batch that may be one image, channels of results are shared out: the fewer in a part, the fewer images there are.
TEST(Winograd, OfABatchThatMayBeOneImage) {
  Program p = *ParseProgram(
      "kernel k(inout p0: f32[N, 14, 14, 256], p1: f32[N, 16, 16, 64], p2: f32[3, 3, 64, 256], N: symbol) {\n  assume 1 <= N\n"
      "  map n in 0:N, i1 in 0:14, i2 in 0:14, i3 in 0:256, i4 in 0:3, i5 in 0:3, i6 in 0:64 { "
      "p0[n, i1, i2, i3] += p1[n, i1 + i4, i2 + i5, i6] * p2[i4, i5, i6, i3] }\n}\n");
  ASSERT_TRUE(RunPipeline(TestRegistry(), "choose-schedule{device=cpu}", p).ok());
  EXPECT_NE(Print(p).find("map n in 0:N, i3_0 in 0:256:64 * min(max(N, 1), 4) @parallel"), std::string::npos) << Print(p);
}

// Many weights are transformed panel by panel where there is one image, and before all images where there are several.
TEST(Winograd, OfManyWeights) {
  const auto scheduled = [](const std::string& batch, const std::string& symbol) {
    Program p = *ParseProgram(
        "kernel k(inout p0: f32[" + batch + ", 14, 14, 256], p1: f32[" + batch + ", 16, 16, 256], p2: f32[3, 3, 256, 256]" + symbol + ") {\n"
        "  map n in 0:" + batch + ", i1 in 0:14, i2 in 0:14, i3 in 0:256, i4 in 0:3, i5 in 0:3, i6 in 0:256 { "
        "p0[n, i1, i2, i3] += p1[n, i1 + i4, i2 + i5, i6] * p2[i4, i5, i6, i3] }\n}\n");
    EXPECT_TRUE(RunPipeline(TestRegistry(), "choose-schedule{device=cpu}", p).ok());
    return Print(p);
  };
  const std::string panel = "local b: f32[16, 257, 32] @worker", all = "local b: f32[8, 16, 257, 32] @worker";
  const auto has = [](const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; };
  const std::string one = scheduled("1", ""), several = scheduled("4", ""), some = scheduled("N", ", N: symbol");
  EXPECT_TRUE(has(one, panel) && !has(one, all)) << one;
  EXPECT_TRUE(has(several, all) && !has(several, panel)) << several;
  EXPECT_TRUE(has(some, "if N <= 1 {") && has(some, panel) && has(some, "local b_1: f32[8, 16, 257, 32] @worker")) << some;
}

// Few channels or points, steps, and other windows stay sums of their terms.
TEST(Winograd, WhatHasDirectSums) {
  const auto direct = [](const std::string& text) {
    Program p = *ParseProgram(text);
    ASSERT_TRUE(RunPipeline(TestRegistry(), "choose-schedule{device=cpu}", p).ok());
    EXPECT_EQ(Print(p).find("f32[16, "), std::string::npos) << Print(p);
  };
  const auto kernel = [](const std::string& c, const std::string& points, const std::string& window, const std::string& step) {
    return "kernel k(inout p0: f32[" + points + ", " + points + ", 32], p1: f32[99, 99, " + c + "], p2: f32[" + window + ", " + window + ", " + c +
           ", 32]) {\n  map i1 in 0:" + points + ", i2 in 0:" + points + ", i3 in 0:32, i4 in 0:" + window + ", i5 in 0:" + window + ", i6 in 0:" + c +
           " { p0[i1, i2, i3] += p1[" + step + " * i1 + i4, " + step + " * i2 + i5, i6] * p2[i4, i5, i6, i3] }\n}\n";
  };
  direct(kernel("16", "28", "3", "1"));
  direct(kernel("32", "1", "3", "1"));
  direct(kernel("32", "28", "3", "2"));
  direct(kernel("32", "28", "5", "1"));
}

}  // namespace
}  // namespace headrace::transforms
