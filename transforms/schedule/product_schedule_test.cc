#include "transforms/schedule/product_schedule.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Columns are packed, rows are read where they lie, and the sums of a tile stay in registers.
TEST(ProductSchedule, APlainProduct) {
  ExpectPass(R"(
kernel plain(inout p0: f32[96, 64], p1: f32[96, 300], p2: f32[300, 64]) {
  map i0 in 0:96, i1 in 0:64, i2 in 0:300 { p0[i0, i1] += p1[i0, i2] * p2[i2, i1] }
})",
             "choose-schedule", R"(
kernel plain(inout p0: f32[96, 64], p1: f32[96, 300], p2: f32[300, 64]) for cpu {
  local b: f32[2, 300, 32] @worker
  for i2 in 0:300 {
    for i1_2 in 0:64:32 {
      map i1 in i1_2:+32 @vector { b[i1_2 // 32, i2, i1 - i1_2] = p2[i2, i1] }
    }
  }
  for i0_1 in 0:96:12, i1_1 in 0:64:32 {
    local t: f32[12, 32]
    map r in 0:12 @unroll {
      map u in 0:32 @vector { t[r, u] = 0.0 }
    }
    for d in 0:300 {
      map r in 0:12 @unroll {
        map u in 0:32 @vector { t[r, u] = fma(p1[i0_1 + r, d], b[i1_1 // 32, d, u], t[r, u]) }
      }
    }
    map r in 0:12 @unroll {
      map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
    }
  }
})");
}

// Where sums are cut into blocks is the same whatever vectors are: it decides on bits.
TEST(ProductSchedule, BlocksOfTermsOnOtherDevices) {
  for (const char* device : {"cpu", "cpu_avx2"}) {
    Program p = *ParseProgram(
        "kernel product(inout p0: f32[64, 1300], p1: bf16[64, 760], p2: f32[760, 1300]) {\n"
        "  map i in 0:64, j in 0:1300, k in 0:760 { p0[i, j] += f32(p1[i, k]) * p2[k, j] }\n}\n");
    ASSERT_TRUE(RunPipeline(TestRegistry(), "choose-schedule{device=" + std::string(device) + "}", p).ok());
    EXPECT_NE(Print(p).find(", 760, "), std::string::npos) << Print(p);  // all terms are packed at once
    EXPECT_EQ(Print(p).find("k_0"), std::string::npos) << Print(p);
  }
}

// Products of a batch that may be one image are cut into parts as if it were, which grow with the images.
TEST(ProductSchedule, OfABatchThatMayBeOneImage) {
  ExpectPass(R"(
kernel product(inout p0: f32[n0, 96, 256], p1: f32[n0, 96, 64], p2: f32[n0, 64, 256], n0: symbol) {
  map n in 0:n0, i in 0:96, j in 0:256, k in 0:64 { p0[n, i, j] += p1[n, i, k] * p2[n, k, j] }
})",
             "choose-schedule", R"(
kernel product(inout p0: f32[n0, 96, 256], p1: f32[n0, 96, 64], p2: f32[n0, 64, 256], n0: symbol) for cpu {
  map n_0 in 0:n0:65536 // (24576 * min(max(n0, 1), 2)), j_0 in 0:256:64 * min(max(n0, 1), 2) @parallel {
    for n in n_0:+65536 // (24576 * min(max(n0, 1), 2)) {
      local b: f32[4, 64, 32] @worker
      for k in 0:64 {
        for j_2 in j_0:+64 * min(max(n0, 1), 2):32 {
          map j in j_2:+32 @vector { b[(j_2 - j_0) // 32, k, j - j_2] = p2[n, k, j] }
        }
      }
      for i_1 in 0:96:12, j_1 in j_0:+64 * min(max(n0, 1), 2):32 {
        local t: f32[12, 32]
        map r in 0:12 @unroll {
          map u in 0:32 @vector { t[r, u] = 0.0 }
        }
        for d in 0:64 {
          map r in 0:12 @unroll {
            map u in 0:32 @vector { t[r, u] = fma(p1[n, i_1 + r, d], b[(j_1 - j_0) // 32, d, u], t[r, u]) }
          }
        }
        map r in 0:12 @unroll {
          map u in 0:32 @vector { p0[n, i_1 + r, j_1 + u] += t[r, u] }
        }
      }
    }
  }
})");
}

// Columns that memory runs across are packed by squares, which are turned in registers; what squares don't reach goes by lines.
TEST(ProductSchedule, ColumnsBySquares) {
  ExpectPass(R"(
kernel squares(inout p0: f32[96, 70], p1: f32[96, 40], p2: f32[70, 40]) {
  map i in 0:96, j in 0:70, k in 0:40 { p0[i, j] += p1[i, k] * p2[j, k] }
})",
             "choose-schedule", R"(
kernel squares(inout p0: f32[96, 70], p1: f32[96, 40], p2: f32[70, 40]) for cpu {
  local b: f32[3, 40, 32] @worker
  for d in 0:40 {
    map u in 0:32 @vector { b[2, d, u] = 0.0 }
  }
  for j_2 in 0:70:16 {
    if j_2 + 16 <= 70 {
      for k_2 in 0:40:16 {
        if k_2 + 16 <= 40 {
          map r in 0:16 @unroll {
            map u in 0:16 @vector { b[j_2 // 32, k_2 + r, u + j_2 % 32] = p2[j_2 + u, k_2 + r] }
          }
        } else {
          for k in k_2:+16 {
            map u in 0:16 @vector { b[j_2 // 32, k, u + j_2 % 32] = p2[j_2 + u, k] }
          }
        }
      }
    } else {
      for k in 0:40 {
        map j in j_2:+16 @vector { b[j_2 // 32, k, j - j_2 + j_2 % 32] = p2[j, k] }
      }
    }
  }
  for i_1 in 0:96:12, j_1 in 0:70:32 {
    local t: f32[12, 32]
    map r in 0:12 @unroll {
      map u in 0:32 @vector { t[r, u] = 0.0 }
    }
    for d in 0:40 {
      map r in 0:12 @unroll {
        map u in 0:32 @vector { t[r, u] = fma(p1[i_1 + r, d], b[j_1 // 32, d, u], t[r, u]) }
      }
    }
    if j_1 + 32 <= 70 {
      map r in 0:12 @unroll {
        map u in 0:32 @vector { p0[i_1 + r, j_1 + u] += t[r, u] }
      }
    } else {
      for r in 0:12 {
        map u in j_1:+32 @vector { p0[i_1 + r, u] += t[r, u - j_1] }
      }
    }
  }
})");
}

// What is narrower than its sums is added to once; it is converted when it is packed.
TEST(ProductSchedule, NarrowTypes) {
  ExpectPass(R"(
kernel narrow(inout p0: f16[24, 30], p1: f16[24, 1200], p2: f16[1200, 30]) {
  map i0 in 0:24, i1 in 0:30, i2 in 0:1200 { p0[i0, i1] += p1[i0, i2] * p2[i2, i1] }
})",
             "choose-schedule", R"(
kernel narrow(inout p0: f16[24, 30], p1: f16[24, 1200], p2: f16[1200, 30]) for cpu {
  local sums: f32[24, 32] @worker
  for i0_1 in 0:24 {
    map u in 0:30 @vector { sums[i0_1, u] = 0.0 }
  }
  for i2_0 in 0:1200:600 {
    local b: f32[600, 32] @worker
    for i2 in i2_0:+600 {
      map i1 in 0:30 @vector { b[i2 - i2_0, i1] = p2[i2, i1] }
    }
    for d in i2_0:+600 {
      map u in 30:32 @vector { b[d - i2_0, u] = 0.0 }
    }
    for i0_1 in 0:24:12 {
      local a: f32[12, 600] @worker
      for r in 0:12 {
        map i2 in i2_0:+600 @vector { a[r, i2 - i2_0] = p1[i0_1 + r, i2] }
      }
      for i1_1 in 0:30:32 {
        local t: f32[12, 32]
        map r in 0:12 @unroll {
          map u in 0:32 @vector { t[r, u] = 0.0 }
        }
        for d in i2_0:+600 {
          map r in 0:12 @unroll {
            map u in 0:32 @vector { t[r, u] = fma(a[r, d - i2_0], b[d - i2_0, i1_1 + u], t[r, u]) }
          }
        }
        for r in 0:12 {
          map u in i1_1:+32 @vector { sums[i0_1 + r, u] += t[r, u - i1_1] }
        }
      }
    }
  }
  for i0_1 in 0:24 {
    map u in 0:30 @vector { p0[i0_1, u] += sums[i0_1, u] }
  }
})");
}

// The columns of a convolution are the points of its result, packed for each place of its window: borders are peeled there. Of so few terms,
// all lines pass a strip of rows before the next one.
TEST(ProductSchedule, AConvolution) {
  ExpectPass(R"(
kernel convolution(inout p0: f32[16, 12, 12], p1: f32[8, 12, 12], p2: f32[16, 8, 3, 3]) {
  map i0 in 0:16, i1 in 0:12, i2 in 0:12, i3 in 0:8, i4 in 0:3, i5 in 0:3 {
    p0[i0, i1, i2] += (p1[i3, i1 + i4 - 1, i2 + i5 - 1] ?? 0) * p2[i0, i3, i4, i5]
  }
})",
             "choose-schedule", R"(
kernel convolution(inout p0: f32[16, 12, 12], p1: f32[8, 12, 12], p2: f32[16, 8, 3, 3]) for cpu {
  view v: f32[16, 72] of p2
  view v_1: f32[16, 144] of p0
  for i2_0 in 0:144:96 {
    local b: f32[72, 96] @worker
    for i3 in 0:8, i4 in 0:3, i5 in 0:3, i1 in i2_0 // 12:min(i2_0 // 12 + 8, 12) {
      for i2 in 0:min(max(1 - i5, 0), 12) {
        b[9 * i3 + 3 * i4 + i5, 12 * i1 + i2 - i2_0] = i1 + i4 - 1 >= 0 && i1 + i4 - 1 < 12 && i2 + i5 - 1 >= 0 && i2 + i5 - 1 < 12 ? p1[i3, i1 + i4 - 1, i2 + i5 - 1] : 0
      }
      map i2 in max(1 - i5, 0):min(13 - i5, 12) @vector {
        b[9 * i3 + 3 * i4 + i5, 12 * i1 + i2 - i2_0] = i1 + i4 - 1 >= 0 && i1 + i4 - 1 < 12 ? p1[i3, i1 + i4 - 1, i2 + i5 - 1] : 0
      }
      for i2 in max(min(13 - i5, 12), min(max(1 - i5, 0), 12)):12 {
        b[9 * i3 + 3 * i4 + i5, 12 * i1 + i2 - i2_0] = i1 + i4 - 1 >= 0 && i1 + i4 - 1 < 12 && i2 + i5 - 1 >= 0 && i2 + i5 - 1 < 12 ? p1[i3, i1 + i4 - 1, i2 + i5 - 1] : 0
      }
    }
    for d in 0:72 {
      map u in min(144 - i2_0, 96):32 * ((min(144 - i2_0, 96) + 31) // 32) @vector { b[d, u] = 0.0 }
    }
    for i0_1 in 0:16:8, i2_1 in i2_0:+96:32 {
      local t: f32[8, 32]
      map r in 0:8 @unroll {
        map u in 0:32 @vector { t[r, u] = 0.0 }
      }
      for d in 0:72 {
        map r in 0:8 @unroll {
          map u in 0:32 @vector { t[r, u] = fma(v[i0_1 + r, d], b[d, i2_1 - i2_0 + u], t[r, u]) }
        }
      }
      if i2_1 + 32 <= 144 {
        map r in 0:8 @unroll {
          map u in 0:32 @vector { v_1[i0_1 + r, i2_1 + u] += t[r, u] }
        }
      } else {
        for r in 0:8 {
          map u in i2_1:+32 @vector { v_1[i0_1 + r, u] += t[r, u - i2_1] }
        }
      }
    }
  }
})");
}

// The sums of a weight's gradient go over samples and points; lines of the data are read whole.
TEST(ProductSchedule, TheGradientOfWeights) {
  ExpectPass(R"(
kernel weights(inout p0: f32[16, 8, 3, 3], p1: f32[5, 16, 24, 24], p2: f32[5, 8, 26, 26]) {
  map i0 in 0:16, i1 in 0:8, i2 in 0:3, i3 in 0:3, i4 in 0:5, i5 in 0:24, i6 in 0:24 {
    p0[i0, i1, i2, i3] += p1[i4, i0, i5, i6] * p2[i4, i1, i5 + i2, i6 + i3]
  }
})",
             "choose-schedule", R"(
kernel weights(inout p0: f32[16, 8, 3, 3], p1: f32[5, 16, 24, 24], p2: f32[5, 8, 26, 26]) for cpu {
  view v: f32[5, 16, 576] of p1
  view v_1: f32[5, 16, 72] of partial
  local partial: f32[5, 16, 8, 3, 3] @worker
  map part in 0:5 @parallel {
    local b: f32[576, 96] @worker
    for i5 in 0:24, i1 in 0:8, i2 in 0:3, i3 in 0:3 {
      map i6 in 0:24 @vector { b[24 * i5 + i6, 9 * i1 + 3 * i2 + i3] = p2[part, i1, i2 + i5, i3 + i6] }
    }
    for d in 0:576 {
      map u in 72:96 @vector { b[d, u] = 0.0 }
    }
    for i3_1 in 0:72:32, i0_1 in 0:16:8 {
      local t: f32[8, 32]
      map r in 0:8 @unroll {
        map u in 0:32 @vector { t[r, u] = 0.0 }
      }
      for d in 0:576 {
        map r in 0:8 @unroll {
          map u in 0:32 @vector { t[r, u] = fma(v[part, i0_1 + r, d], b[d, i3_1 + u], t[r, u]) }
        }
      }
      if i3_1 + 32 <= 72 {
        map r in 0:8 @unroll {
          map u in 0:32 @vector { v_1[part, i0_1 + r, i3_1 + u] = t[r, u] }
        }
      } else {
        for r in 0:8 {
          map u in 0:min(72 - i3_1, 32) @vector { v_1[part, i0_1 + r, i3_1 + u] = t[r, u] }
        }
      }
    }
  }
  for i1 in 0:8, i2 in 0:3, i3 in 0:3 {
    local sums: f32[16]
    map i0 in 0:16 @vector { sums[i0] = 0.0 }
    for part in 0:5 {
      map i0 in 0:16 @vector { sums[i0] += partial[part, i0, i1, i2, i3] }
    }
    map i0 in 0:16 @vector { p0[i0, i1, i2, i3] += sums[i0] }
  }
})");
}

// More than two factors, and a sign, are two operands: those of rows, and all others.
TEST(ProductSchedule, FactorsAreTwoOperands) {
  const auto with = [](const std::string& value) {
    return Transformed("kernel k(inout p0: f64[48, 32], p1: f64[48, 20], p2: f64[20, 32], p3: f64) {\n"
                       "  map i0 in 0:48, i1 in 0:32, i2 in 0:20 { p0[i0, i1] += " + value + " }\n}", "choose-schedule");
  };
  EXPECT_NE(with("p1[i0, i2] * (p2[i2, i1] * p3)").find("fma("), std::string::npos);
  EXPECT_EQ(with("p1[i0, i2] * p2[i2, i1] * p3"), with("p1[i0, i2] * (p2[i2, i1] * p3)"));
  EXPECT_EQ(with("-(p1[i0, i2] * p2[i2, i1])"), with("p1[i0, i2] * -p2[i2, i1]"));
}

}  // namespace
}  // namespace headrace::transforms
