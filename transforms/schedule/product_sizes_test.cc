#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Neither rows nor columns are known: those of the last tiles have the places that they have in whole ones, so that no two are one.
TEST(ProductSizes, SizesByName) {
  ExpectPass(R"(
kernel scores(p0: f32[n0, n1], p1: f32[n0, 64], p2: f32[64, n1], n0: symbol, n1: symbol) {
  assume 8 <= n0
  map i0 in 0:n0, i1 in 0:n1 {
    p0[i0, i1] = 0
    map i2 in 0:64 { p0[i0, i1] += p1[i0, i2] * p2[i2, i1] }
  }
})",
             "choose-schedule", R"(
kernel scores(p0: f32[n0, n1], p1: f32[n0, 64], p2: f32[64, n1], n0: symbol, n1: symbol) for cpu {
  assume 8 <= n0
  map i0_0 in 0:n0:8 * max(min((n0 + 31) // 32, 64), 8), i1_0_0 in 0:n1:128 * max(65536 // max(4 * min(n0, 8 * max(min((n0 + 31) // 32, 64), 8)) * min(n1, 128), 1), 1) @parallel {
    for i1_0 in i1_0_0:+128 * max(65536 // max(4 * min(n0, 8 * max(min((n0 + 31) // 32, 64), 8)) * min(n1, 128), 1), 1):128 {
      local b: f32[4, 64, 32] @worker
      for d in 0:64 {
        map u in 0:32 @vector { b[min(min(n1 - i1_0, 128) // 32, 3), d, u] = 0.0 }
      }
      for i2 in 0:64 {
        for i1_2 in i1_0:min(n1, i1_0 + 128):32 {
          map i1 in i1_2:+32 @vector { b[(i1_2 - i1_0) // 32, i2, i1 - i1_2] = p2[i2, i1] }
        }
      }
      for i0_1 in i0_0:+8 * max(min((n0 + 31) // 32, 64), 8):8, i1_1 in i1_0:min(n1, i1_0 + 128):32 {
        if i0_1 + 8 <= n0 {
          local t: f32[8, 32]
          map r in 0:8 @unroll {
            map u in 0:32 @vector { t[r, u] = 0.0 }
          }
          for d in 0:64 {
            map r in 0:8 @unroll {
              map u in 0:32 @vector { t[r, u] = fma(p1[i0_1 + r, d], b[(i1_1 - i1_0) // 32, d, u], t[r, u]) }
            }
          }
          if i1_1 + 32 <= n1 {
            map r in 0:8 @unroll {
              map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] = t[r, u] }
            }
          } else {
            for r in 0:8 {
              map u in 0:min(n1 - i1_1, 32) @vector { p0[i0_1 + r, i1_1 + u] = t[r, u] }
            }
          }
        } else {
          for r in 0:min(min(n0, i0_0 + 8 * max(min((n0 + 31) // 32, 64), 8)) - i0_1, 8) {
            local t_1: f32[1, 32]
            map q in 0:1 @unroll {
              map u in 0:32 @vector { t_1[q, u] = 0.0 }
            }
            for d in 0:64 {
              map q in 0:1 @unroll {
                map u in 0:32 @vector {
                  t_1[q, u] = fma(p1[i0_1 + r, d], b[(i1_1 - i1_0) // 32, d, u], t_1[q, u])
                }
              }
            }
            if i1_1 + 32 <= n1 {
              map q in 0:1 @unroll {
                map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] = t_1[q, u] }
              }
            } else {
              for q in 0:1 {
                map u in 0:min(n1 - i1_1, 32) @vector { p0[i0_1 + r, i1_1 + u] = t_1[q, u] }
              }
            }
          }
        }
      }
    }
  }
})");
}

// As many rows as nobody knows: whole tiles, then one row after the other. Columns whose depth lies together are turned.
TEST(ProductSizes, RowsByName) {
  ExpectPass(R"(
kernel some(inout p0: f64[n0, 64], p1: f64[n0, 100], p2: f64[64, 100], n0: symbol) {
  assume 8 <= n0
  map i0 in 0:n0, i1 in 0:64, i2 in 0:100 { p0[i0, i1] += p1[i0, i2] * p2[i1, i2] }
})",
             "choose-schedule", R"(
kernel some(inout p0: f64[n0, 64], p1: f64[n0, 100], p2: f64[64, 100], n0: symbol) for cpu {
  assume 8 <= n0
  map i0_0 in 0:n0:8 * max(min((n0 + 31) // 32, 128), 8) @parallel {
    local b: f64[4, 100, 16] @worker
    for i1_2 in 0:64:16 {
      for i2 in 0:100 {
        map i1 in i1_2:+16 @vector { b[i1_2 // 16, i2, i1 - i1_2 + i1_2 % 16] = p2[i1, i2] }
      }
    }
    for i0_1 in i0_0:+8 * max(min((n0 + 31) // 32, 128), 8):8, i1_1 in 0:64:16 {
      if i0_1 + 8 <= n0 {
        local t: f64[8, 16]
        map r in 0:8 @unroll {
          map u in 0:16 @vector { t[r, u] = 0.0 }
        }
        for d in 0:100 {
          map r in 0:8 @unroll {
            map u in 0:16 @vector { t[r, u] = fma(p1[i0_1 + r, d], b[i1_1 // 16, d, u], t[r, u]) }
          }
        }
        map r in 0:8 @unroll {
          map u in 0:16 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
        }
      } else {
        for i0 in i0_1:+8 {
          local t_1: f64[1, 16]
          map r in 0:1 @unroll {
            map u in 0:16 @vector { t_1[r, u] = 0.0 }
          }
          for d in 0:100 {
            map r in 0:1 @unroll {
              map u in 0:16 @vector { t_1[r, u] = fma(p1[i0, d], b[i1_1 // 16, d, u], t_1[r, u]) }
            }
          }
          map r in 0:1 @unroll {
            map u in 0:16 @vector { p0[i0, i1_1 + u] += t_1[r, u] }
          }
        }
      }
    }
  }
})");
}

// As many terms as nobody knows: rows are read where they lie, all the same. What goes around the product is enough for the threads: rows
// have whole blocks, each of which packs the columns.
TEST(ProductSizes, TermsByName) {
  ExpectPass(R"(
kernel weighed(inout p0: f32[16, n0, 64], p1: f32[16, n0, n0], p2: f32[16, n0, 64], n0: symbol) {
  assume 8 <= n0
  map i0 in 0:16, i1 in 0:n0, i2 in 0:64, i3 in 0:n0 { p0[i0, i1, i2] += p1[i0, i1, i3] * p2[i0, i3, i2] }
})",
             "choose-schedule", R"(
kernel weighed(inout p0: f32[16, n0, 64], p1: f32[16, n0, n0], p2: f32[16, n0, 64], n0: symbol) for cpu {
  assume 8 <= n0
  map i0_0 in 0:16:max(65536 // max(4 * n0 * ((n0 + 511) // 512) * min(n0, 512), 1), 1), i1_0_0 in 0:n0:512 * max(65536 // max(4 * n0 * min(n0, 512), 1), 1) @parallel {
    for i0 in i0_0:+max(65536 // max(4 * n0 * ((n0 + 511) // 512) * min(n0, 512), 1), 1), i1_0 in i1_0_0:+512 * max(65536 // max(4 * n0 * min(n0, 512), 1), 1):512 {
      for i3_0 in 0:n0:1024 {
        local b: f32[2, 1024, 32] @worker
        for i3 in i3_0:+1024 {
          for i2_2 in 0:64:32 {
            map i2 in i2_2:+32 @vector { b[i2_2 // 32, i3 - i3_0, i2 - i2_2] = p2[i0, i3, i2] }
          }
        }
        for i1_1 in i1_0:min(n0, i1_0 + 512):8, i2_1 in 0:64:32 {
          if i1_1 + 8 <= n0 {
            local t: f32[8, 32]
            map r in 0:8 @unroll {
              map u in 0:32 @vector { t[r, u] = 0.0 }
            }
            for d in i3_0:+1024 {
              map r in 0:8 @unroll {
                map u in 0:32 @vector {
                  t[r, u] = fma(p1[i0, i1_1 + r, d], b[i2_1 // 32, d - i3_0, u], t[r, u])
                }
              }
            }
            map r in 0:8 @unroll {
              map u in 0:32 @vector { p0[i0, i1_1 + r, i2_1 + u] += t[r, u] }
            }
          } else {
            for i1 in i1_1:+8 {
              local t_1: f32[1, 32]
              map r in 0:1 @unroll {
                map u in 0:32 @vector { t_1[r, u] = 0.0 }
              }
              for d in i3_0:+1024 {
                map r in 0:1 @unroll {
                  map u in 0:32 @vector {
                    t_1[r, u] = fma(p1[i0, i1, d], b[i2_1 // 32, d - i3_0, u], t_1[r, u])
                  }
                }
              }
              map r in 0:1 @unroll {
                map u in 0:32 @vector { p0[i0, i1, i2_1 + u] += t_1[r, u] }
              }
            }
          }
        }
      }
    }
  }
})");
}

// Rows that memory runs along: as many are packed at once as whole lines have, and whole strips of them without asking for each.
TEST(ProductSizes, LinesOfRows) {
  ExpectPass(R"(
kernel weights(inout p0: f32[n0, 64], p1: f32[200, n0], p2: f32[200, 64], n0: symbol) {
  assume 8 <= n0
  map i0 in 0:n0, i1 in 0:64, i2 in 0:200 { p0[i0, i1] += p1[i2, i0] * p2[i2, i1] }
})",
             "choose-schedule", R"(
kernel weights(inout p0: f32[n0, 64], p1: f32[200, n0], p2: f32[200, 64], n0: symbol) for cpu {
  assume 8 <= n0
  map i0_0 in 0:n0:8 * max(min((n0 + 31) // 32, 64), 8) @parallel {
    local b: f32[2, 200, 32] @worker
    for i2 in 0:200 {
      for i1_2 in 0:64:32 {
        map i1 in i1_2:+32 @vector { b[i1_2 // 32, i2, i1 - i1_2] = p2[i2, i1] }
      }
    }
    for i0_2 in i0_0:+8 * max(min((n0 + 31) // 32, 64), 8):128 {
      local a: f32[16, 200, 8] @worker
      if i0_2 + 128 <= n0 && i0_2 + 128 <= i0_0 + 8 * max(min((n0 + 31) // 32, 64), 8) {
        for i2 in 0:200 {
          for q in 0:16 {
            map r in 0:8 @vector { a[q, i2, r] = p1[i2, i0_2 + 8 * q + r] }
          }
        }
      } else {
        for i2 in 0:200 {
          for i0_1 in i0_2:+128:8 {
            if i0_1 + 8 <= n0 {
              map r in 0:8 @vector { a[(i0_1 - i0_2) // 8, i2, r] = p1[i2, i0_1 + r] }
            } else {
              map r in i0_1:+8 @vector { a[(i0_1 - i0_2) // 8, i2, r - i0_1] = p1[i2, r] }
            }
          }
        }
      }
      for i0_1 in i0_2:+128:8, i1_1 in 0:64:32 {
        if i0_1 + 8 <= n0 {
          local t: f32[8, 32]
          map r in 0:8 @unroll {
            map u in 0:32 @vector { t[r, u] = 0.0 }
          }
          for d in 0:200 {
            map r in 0:8 @unroll {
              map u in 0:32 @vector {
                t[r, u] = fma(a[(i0_1 - i0_2) // 8, d, r], b[i1_1 // 32, d, u], t[r, u])
              }
            }
          }
          map r in 0:8 @unroll {
            map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
          }
        } else {
          for i0 in i0_1:min(min(n0, i0_0 + 8 * max(min((n0 + 31) // 32, 64), 8)), i0_1 + 8) {
            local t_1: f32[1, 32]
            map r in 0:1 @unroll {
              map u in 0:32 @vector { t_1[r, u] = 0.0 }
            }
            for d in 0:200 {
              map r in 0:1 @unroll {
                map u in 0:32 @vector {
                  t_1[r, u] = fma(a[(i0_1 - i0_2) // 8, d, i0 - i0_1], b[i1_1 // 32, d, u], t_1[r, u])
                }
              }
            }
            map r in 0:1 @unroll {
              map u in 0:32 @vector { p0[i0, i1_1 + u] += t_1[r, u] }
            }
          }
        }
      }
    }
  }
})");
}

// Parts of points grow with the images: what is packed of them stays inside, for it is known of what their beginnings are multiples.
TEST(ProductSizes, PointsOfSomeImages) {
  Program p = *ParseProgram(
      "kernel k(inout p0: f32[n0, 40, 32, 32], p1: f32[n0, 12, 32, 32], p2: f32[12, 40, 3, 3], n0: symbol) {\n"
      "  map i0 in 0:n0, i1 in 0:40, i2 in 0:32, i3 in 0:32, i4 in 0:12, i5 in 0:3, i6 in 0:3 { "
      "p0[i0, i1, i2, i3] += (p1[i0, i4, i2 + i5 - 1, i3 + i6 - 1] ?? 0.0) * p2[i4, i1, 2 - i5, 2 - i6] }\n}\n");
  ASSERT_TRUE(RunPipeline(TestRegistry(), "choose-schedule{device=cpu}", p).ok());
  EXPECT_NE(Print(p).find("i3_0 in 0:1024:256 * min(max(n0, 1), 4) @parallel"), std::string::npos) << Print(p);
  EXPECT_NE(Print(p).find("fma("), std::string::npos) << Print(p);
}

// Channels in groups of four, and which of its group a channel is: two dimensions each, and tiles of one group.
TEST(ProductSizes, Groups) {
  ExpectPass(R"(
kernel gradient(inout p0: f32[8, 16, 16], p1: f32[8, 16, 16], p2: f32[8, 4, 3]) {
  map i0 in 0:8, i1 in 0:16, i2 in 0:16, i3 in 0:4, i4 in 0:3 {
    p0[i0, i1, i2] += (p1[i3 + 4 * (i0 // 4), i1, i2 + i4 - 1] ?? 0.0) * p2[i3 + 4 * (i0 // 4), i0 % 4, 2 - i4]
  }
})",
             "choose-schedule{device=cpu}", R"(
kernel gradient(inout p0: f32[8, 16, 16], p1: f32[8, 16, 16], p2: f32[8, 4, 3]) for cpu {
  view v: f32[2, 4, 16, 16] of p0
  view v_1: f32[2, 4, 256] of p0
  for i0_g in 0:2, i2_0 in 0:256:128 {
    local b: f32[12, 128] @worker
    for i3 in 0:4, i4 in 0:3, i1 in i2_0 // 16:min(i2_0 // 16 + 8, 16) {
      for i2 in 0:min(max(1 - i4, 0), 16) {
        b[3 * i3 + i4, 16 * i1 + i2 - i2_0] = i2 + i4 - 1 >= 0 && i2 + i4 - 1 < 16 ? p1[i3 + 4 * i0_g, i1, i2 + i4 - 1] : 0.0
      }
      map i2 in max(1 - i4, 0):min(17 - i4, 16) @vector {
        b[3 * i3 + i4, 16 * i1 + i2 - i2_0] = p1[i3 + 4 * i0_g, i1, i2 + i4 - 1]
      }
      for i2 in max(min(17 - i4, 16), min(max(1 - i4, 0), 16)):16 {
        b[3 * i3 + i4, 16 * i1 + i2 - i2_0] = i2 + i4 - 1 >= 0 && i2 + i4 - 1 < 16 ? p1[i3 + 4 * i0_g, i1, i2 + i4 - 1] : 0.0
      }
    }
    local a: f32[1, 12, 4] @worker
    for i0_1 in 0:4:4 {
      for i3 in 0:4, i4 in 0:3 {
        map r in 0:4 @vector { a[i0_1 // 4, 3 * i3 + i4, r] = p2[4 * i0_g + i3, i0_1 + r, 2 - i4] }
      }
    }
    for i0_1 in 0:4:4, i2_1 in i2_0:+128:32 {
      local t: f32[4, 32]
      map r in 0:4 @unroll {
        map u in 0:32 @vector { t[r, u] = 0.0 }
      }
      for d in 0:12 {
        map r in 0:4 @unroll {
          map u in 0:32 @vector { t[r, u] = fma(a[i0_1 // 4, d, r], b[d, i2_1 - i2_0 + u], t[r, u]) }
        }
      }
      map r in 0:4 @unroll {
        map u in 0:32 @vector { v_1[i0_g, i0_1 + r, i2_1 + u] += t[r, u] }
      }
    }
  }
})");
}

// Parts that grow with the number of images are of whole ones, which a block need not be.
TEST(ProductSizes, LinesThatFillNoTiles) {
  for (const char* side : {"15", "17", "18", "19", "30", "45"}) {
    const std::string image = std::string(side) + ", " + side, points = "i2 in 0:" + std::string(side) + ", i3 in 0:" + side;
    Program p = *ParseProgram("kernel k(inout p0: f32[n0, 12, " + image + "], p1: f32[n0, 8, " + image +
                              "], p2: f32[12, 8, 5, 5], n0: symbol) {\n  map i0 in 0:n0, i1 in 0:12, " + points +
                              ", i4 in 0:8, i5 in 0:5, i6 in 0:5 { "
                              "p0[i0, i1, i2, i3] += (p1[i0, i4, i2 + i5 - 2, i3 + i6 - 2] ?? 0.0) * p2[i1, i4, i5, i6] }\n}\n");
    ASSERT_TRUE(RunPipeline(TestRegistry(), "choose-schedule{device=cpu}", p).ok());
    EXPECT_EQ(p.Entry().unscheduled, "") << Print(p);
    EXPECT_NE(Print(p).find("fma("), std::string::npos) << Print(p);
  }
}

// Rows that memory runs along are packed some tiles at a time, which parts that depend on the number of images don't end with: attention
// over the places of an image whose channels lie innermost.
TEST(ProductSizes, StripsOfSomeImages) {
  Program p = *ParseProgram(R"(
kernel values(inout p0: f32[n0, 3, 128, 256], p1: f32[n0, 128, 16, 16] layout [d0, d2, d3, d1], p2: f32[n0, 256, 256], n0: symbol) {
  assume 1 <= n0
  view v: f32[n0, 128, 256] of p1 strides [32768, 1, 128]
  map i0 in 0:n0, i1 in 0:128, i2 in 0:256, i3 in 0:256 { p0[i0, 2, i1, i3] += v[i0, i1, i2] * p2[i0, i2, i3] }
})");
  ASSERT_TRUE(RunPipeline(TestRegistry(), "choose-schedule{device=cpu}", p).ok());
  EXPECT_EQ(p.Entry().unscheduled, "") << Print(p);
  EXPECT_NE(Print(p).find("fma("), std::string::npos) << Print(p);
}

}  // namespace
}  // namespace headrace::transforms
