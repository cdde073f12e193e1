// What is brought near while something else is multiplied (product_prefetch.cc, channels_prefetch.cc).
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "transforms/schedule/prefetch.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// While a strip of 8 rows meets a panel, some of the panel after it comes: of the next terms, or of the next columns' first ones.
TEST(Prefetch, PanelsOfTheNextBlock) {
  ExpectPass(R"(
kernel panels(inout p0: f32[64, 256], p1: f32[64, 2048], p2: f32[8, 2048, 32]) {
  map i0 in 0:64, i1 in 0:256, i2 in 0:2048 { p0[i0, i1] += p1[i0, i2] * p2[i1 // 32, i2, i1 % 32] }
})",
             "choose-schedule", R"(
kernel panels(inout p0: f32[64, 256], p1: f32[64, 2048], p2: f32[8, 2048, 32]) for cpu {
  map i1_0 in 0:256:64 @parallel {
    for i2_0 in 0:2048:1024 {
      for i0_1 in 0:64:8, i1_1 in i1_0:+64:32 {
        local t: f32[8, 32]
        map r in 0:8 @unroll {
          map u in 0:32 @vector { t[r, u] = 0.0 }
        }
        for d in i2_0:+1024 {
          map r in 0:8 @unroll {
            map u in 0:32 @vector { t[r, u] = fma(p1[i0_1 + r, d], p2[i1_1 // 32, d, u], t[r, u]) }
          }
          prefetch p2[i1_1 // 32 + 2 * ((i2_0 + 1024) // 2048), (i2_0 + 1024) % 2048, 4 * d - 4 * i2_0 + 4096 * min(i0_1 // 8, 7)]
        }
        map r in 0:8 @unroll {
          map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
        }
      }
    }
  }
})");
}

// Lines along the terms come for the next columns, before they are packed.
TEST(Prefetch, ColumnsThatArePacked) {
  ExpectPass(R"(
kernel turned(inout p0: f32[64, 768], p1: f32[64, 512], p2: f32[768, 512]) {
  map i0 in 0:64, i1 in 0:768, i2 in 0:512 { p0[i0, i1] += p1[i0, i2] * p2[i1, i2] }
})",
             "choose-schedule", R"(
kernel turned(inout p0: f32[64, 768], p1: f32[64, 512], p2: f32[768, 512]) for cpu {
  map i1_0 in 0:768:128 @parallel {
    local b: f32[4, 512, 32] @worker
    for i1_2 in i1_0:+128:16 {
      for i2_2 in 0:512:16 {
        map r in 0:16 @unroll {
          map u in 0:16 @vector {
            b[(i1_2 - i1_0) // 32, i2_2 + r, u + (i1_2 - i1_0) % 32] = p2[i1_2 + u, i2_2 + r]
          }
        }
      }
    }
    for i0_1 in 0:64:8, i1_1 in i1_0:+128:32 {
      local t: f32[8, 32]
      map r in 0:8 @unroll {
        map u in 0:32 @vector { t[r, u] = 0.0 }
      }
      for d in 0:512 {
        map r in 0:8 @unroll {
          map u in 0:32 @vector { t[r, u] = fma(p1[i0_1 + r, d], b[(i1_1 - i1_0) // 32, d, u], t[r, u]) }
        }
        prefetch p2[i1_1 + d % 4 + 4 * min(i0_1 // 8, 7) + 128, d]
      }
      map r in 0:8 @unroll {
        map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
      }
    }
  }
})");
}

// Of a convolution with steps: the next panel while four tiles of points meet this one.
TEST(Prefetch, PointsOfAnImage) {
  ExpectPass(R"(
kernel points(inout p0: f32[7, 7, 512], p1: f32[14, 14, 512], p2: f32[16, 512, 32]) {
  map i0 in 0:7, i1 in 0:7, i2 in 0:512, i3 in 0:512 { p0[i0, i1, i2] += p1[2 * i0, 2 * i1, i3] * p2[i2 // 32, i3, i2 % 32] }
})",
             "choose-schedule", R"(
kernel points(inout p0: f32[7, 7, 512], p1: f32[14, 14, 512], p2: f32[16, 512, 32]) for cpu {
  map i2_0 in 0:512:128 @parallel {
    for i3_0 in 0:512:256 {
      local a: f32[7, 7, 272] @worker
      for q0 in 0:7, q1 in 0:7 {
        map q2 in 0:256 @vector { a[q0, q1, q2] = p1[2 * q0, 2 * q1, i3_0 + q2] }
      }
      for i2_1 in i2_0:+128:32, i0_1 in 0:7:2, i1_1 in 0:7:7 {
        if i0_1 + 2 <= 7 {
          local t: f32[2, 7, 32]
          map q in 0:2, r in 0:7 @unroll {
            map u in 0:32 @vector { t[q, r, u] = 0.0 }
          }
          for i3 in i3_0:+256 {
            map q in 0:2, r in 0:7 @unroll {
              map u in 0:32 @vector {
                t[q, r, u] = fma(a[i0_1 + q, i1_1 + r, i3 - i3_0], p2[i2_1 // 32, i3, u], t[q, r, u])
              }
            }
            prefetch p2[i2_1 // 32 + 1, i3_0, 8 * i3 - 8 * i3_0 + 2048 * min(i0_1 // 2 + i1_1 // 7, 3)]
          }
          map q in 0:2, r in 0:7 @unroll {
            map u in 0:32 @vector { p0[i0_1 + q, i1_1 + r, i2_1 + u] += t[q, r, u] }
          }
        } else {
          local t_1: f32[1, 7, 32]
          map q in 0:1, r in 0:7 @unroll {
            map u in 0:32 @vector { t_1[q, r, u] = 0.0 }
          }
          for i3 in i3_0:+256 {
            map q in 0:1, r in 0:7 @unroll {
              map u in 0:32 @vector {
                t_1[q, r, u] = fma(a[i0_1 + q, i1_1 + r, i3 - i3_0], p2[i2_1 // 32, i3, u], t_1[q, r, u])
              }
            }
            prefetch p2[i2_1 // 32 + 1, i3_0, 8 * i3 - 8 * i3_0 + 2048 * min(i0_1 // 2 + i1_1 // 7, 3)]
          }
          map q in 0:1, r in 0:7 @unroll {
            map u in 0:32 @vector { p0[i0_1 + q, i1_1 + r, i2_1 + u] += t_1[q, r, u] }
          }
        }
      }
    }
  }
})");
}

// Not for weights that stay in a cache, nor where rows are so many that the wait of the first is nothing.
TEST(Prefetch, OnlyWhereItIsWorthIt) {
  const struct {
    const char *rows, *columns, *terms;
  } cases[] = {{"64", "256", "256"}, {"2048", "768", "512"}};
  for (const auto& c : cases) {
    const std::string m = c.rows, n = c.columns, k = c.terms;
    Program p = *ParseProgram("kernel product(inout p0: f32[" + m + ", " + n + "], p1: f32[" + m + ", " + k + "], p2: f32[" + n + ", " + k + "]) {\n" +
                              "  map i in 0:" + m + ", j in 0:" + n + ", k in 0:" + k + " { p0[i, j] += p1[i, k] * p2[j, k] }\n}\n");
    ASSERT_TRUE(RunPipeline(TestRegistry(), "choose-schedule", p).ok());
    EXPECT_NE(Print(p).find("fma"), std::string::npos);
    EXPECT_EQ(Print(p).find("prefetch"), std::string::npos) << Print(p);
  }
}

// Whatever the strips are, the whole panel comes, and no strip asks for more than its part.
TEST(Prefetch, StripsCoverAPanel) {
  for (int64_t strips = 1; strips <= 33; ++strips) {
    const auto ahead = schedule::AheadOf(32, strips, SymbolExpr("i"));
    ASSERT_EQ(ahead.has_value(), strips <= 32) << strips;
    if (!ahead) continue;
    EXPECT_GE(ahead->columns * strips, 32);
    EXPECT_EQ(32 % ahead->columns, 0);
    const Expr last = Substitute(ahead->Place(Expr(99), Expr(100)), {{Name("i"), Expr(strips - 1)}});
    EXPECT_EQ(AsInt(last), 32 * 100 - ahead->columns) << strips;
  }
}

}  // namespace
}  // namespace headrace::transforms
