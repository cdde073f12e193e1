// What is computed is compared in //tests/products:products_test.
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A gradient of weights whose channels do not lie innermost: 24 sums of 16 lanes, what is left of 270 terms in fewer.
TEST(ProductAlong, AGradientOfWeights) {
  ExpectPass(R"(
kernel gradient(inout p0: f32[16, 12, 2], p1: f32[N, 16, 270], p2: f32[N, 12, 274], N: symbol) {
  map i0 in 0:16, i1 in 0:12, i2 in 0:2, i3 in 0:N, i4 in 0:270 { p0[i0, i1, i2] += p1[i3, i0, i4] * p2[i3, i1, i4 + 4 * i2] }
})",
             "choose-schedule{device=cpu}", R"(
kernel gradient(inout p0: f32[16, 12, 2], p1: f32[N, 16, 270], p2: f32[N, 12, 274], N: symbol) for cpu {
  map i0_0 in 0:16:4 @parallel {
    local m: f32[4, 2, 12] @worker
    for i0_1 in i0_0:+4, i2 in 0:2 {
      map u in 0:12 @vector { m[i0_1 - i0_0, i2, u] = 0.0 }
    }
    for i3 in 0:N, i2 in 0:2, i0_1 in i0_0:+4:4, i1_1 in 0:12:6 {
      local t: f32[4, 6, 16]
      map r in 0:4, q in 0:6 @unroll {
        map u in 0:16 @vector { t[r, q, u] = 0.0 }
      }
      for i4_1 in 0:256:16 {
        map r in 0:4, q in 0:6 @unroll {
          map u in 0:16 @vector {
            t[r, q, u] = fma(p1[i3, i0_1 + r, i4_1 + u], p2[i3, i1_1 + q, 4 * i2 + i4_1 + u], t[r, q, u])
          }
        }
      }
      map r in 0:4, q in 0:6 @unroll {
        map u in 0:14 @vector {
          t[r, q, u] = fma(p1[i3, i0_1 + r, u + 256], p2[i3, i1_1 + q, 4 * i2 + u + 256], t[r, q, u])
        }
      }
      map r in 0:4, q in 0:6 @unroll {
        map u in 0:16 @halves { m[i0_1 - i0_0 + r, i2, i1_1 + q] += t[r, q, u] }
      }
    }
    for i0 in i0_0:+4, i2 in 0:2 {
      map i1 in 0:12 @vector { p0[i0, i1, i2] += m[i0 - i0_0, i2, i1] }
    }
  }
})");
}

// Weights that could be packed before, many rows and columns, short sums, and what lies across are laid out for tiles.
TEST(ProductAlong, WhatIsLaidOut) {
  const auto laid_out = [](const std::string& shapes, const std::string& sum) {
    Program p = *ParseProgram("kernel k(" + shapes + ") { " + sum + " }\n");
    ASSERT_TRUE(RunPipeline(TestRegistry(), "choose-schedule{device=cpu}", p).ok());
    EXPECT_EQ(Print(p).find("local m: "), std::string::npos) << Print(p);
    EXPECT_NE(Print(p).find("@unroll"), std::string::npos) << Print(p);
  };
  laid_out("inout p0: f32[64, 64], p1: f32[64, 512], p2: f32[64, 512]",
           "map i in 0:64, j in 0:64, k in 0:512 { p0[i, j] += p1[i, k] * p2[j, k] }");
  laid_out("inout p0: f32[100, 100], p1: f32[4, 100, 512], p2: f32[4, 100, 512]",
           "map i in 0:100, j in 0:100, n in 0:4, k in 0:512 { p0[i, j] += p1[n, i, k] * p2[n, j, k] }");
  laid_out("inout p0: f32[64, 64], p1: f32[4, 64, 100], p2: f32[4, 64, 100]",
           "map i in 0:64, j in 0:64, n in 0:4, k in 0:100 { p0[i, j] += p1[n, i, k] * p2[n, j, k] }");
  laid_out("inout p0: f32[64, 64], p1: f32[4, 512, 64], p2: f32[4, 64, 512]",
           "map i in 0:64, j in 0:64, n in 0:4, k in 0:512 { p0[i, j] += p1[n, k, i] * p2[n, j, k] }");
}

}  // namespace
}  // namespace headrace::transforms
