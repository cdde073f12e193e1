// What is computed is compared in //tests/products:products_test.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Of a gradient of weights with few rows and columns: parts of the lines of all images.
TEST(ProductTerms, AreDividedWhereResultsAreFew) {
  ExpectPass(R"(
kernel weights(p0: f32[24, 16], p1: f32[N, 40, 40, 24], p2: f32[N, 40, 40, 16], N: symbol) {
  assume 1 <= N
  map o in 0:24, c in 0:16 {
    p0[o, c] = 0
    map n in 0:N, y in 0:40, x in 0:40 { p0[o, c] += p1[n, y, x, o] * p2[n, y, x, c] }
  }
})",
             "choose-schedule", R"(
kernel weights(p0: f32[24, 16], p1: f32[N, 40, 40, 24], p2: f32[N, 40, 40, 16], N: symbol) for cpu {
  assume 1 <= N
  view v: f32[40 * N, 40, 24] of p1
  view v_1: f32[40 * N, 40, 16] of p2
  view v_2: f32[1600 * N, 24] of v
  view v_3: f32[1600 * N, 16] of v_1
  local partial: f32[2, 24, 16] @worker
  map part_0 in 0:2:max(65536 // max(19200 * N, 1), 1) @parallel {
    for part in part_0:+max(65536 // max(19200 * N, 1), 1) {
      for n_0 in 0:800 * N:256 {
        local b: f32[256, 16] @worker
        for n in n_0:+256 {
          map c in 0:16 @vector { b[n - n_0, c] = v_3[800 * N * part + n, c] }
        }
        for o_2 in 0:24:24 {
          local a: f32[2, 258, 12] @worker
          for n in n_0:+256 {
            for q in 0:2 {
              map r in 0:12 @vector { a[q, n - n_0, r] = v_2[800 * N * part + n, o_2 + 12 * q + r] }
            }
          }
          for o_1 in o_2:+24:12, c_1 in 0:16:16 {
            local t: f32[12, 16]
            map r in 0:12 @unroll {
              map u in 0:16 @vector { t[r, u] = 0.0 }
            }
            for d in n_0:+256 {
              map r in 0:12 @unroll {
                map u in 0:16 @vector {
                  t[r, u] = fma(a[(o_1 - o_2) // 12, d - n_0, r], b[d - n_0, c_1 + u], t[r, u])
                }
              }
            }
            if n_0 == 0 {
              map r in 0:12 @unroll {
                map u in 0:16 @vector { partial[part, o_1 + r, c_1 + u] = t[r, u] }
              }
            } else {
              map r in 0:12 @unroll {
                map u in 0:16 @vector { partial[part, o_1 + r, c_1 + u] += t[r, u] }
              }
            }
          }
        }
      }
    }
  }
  for o in 0:24 {
    local sums: f32[16]
    map c in 0:16 @vector { sums[c] = 0.0 }
    for part in 0:2 {
      map c in 0:16 @vector { sums[c] += partial[part, o, c] }
    }
    map c in 0:16 @vector { p0[o, c] = sums[c] }
  }
})");
}

// Of as many parts as there may be the most that are as long as each other: 3 * 521 terms.
TEST(ProductTerms, PartsAreEven) {
  const auto scheduled = [](const std::string& terms) {
    return Transformed("kernel k(inout p0: f32[32, 40], p1: f32[" + terms + ", 32], p2: f32[" + terms + ", 40]) {\n  map i in 0:32, j in 0:40, k in 0:" +
                           terms + " { p0[i, j] += p1[k, i] * p2[k, j] }\n}\n",
                       "choose-schedule{device=cpu}");
  };
  EXPECT_NE(scheduled("8192").find("map part in 0:8 @parallel"), std::string::npos) << scheduled("8192");
  EXPECT_NE(scheduled("1563").find("map part in 0:3 @parallel"), std::string::npos) << scheduled("1563");
  EXPECT_EQ(scheduled("1021").find("partial"), std::string::npos) << scheduled("1021");  // a prime
  EXPECT_EQ(scheduled("512").find("partial"), std::string::npos) << scheduled("512");    // one part
}

}  // namespace
}  // namespace headrace::transforms
