// Products with sizes that are not known: tiles, or sums where these turn out too small.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A layer of a network for whatever batch: columns are laid out as tiles read them only for some rows.
TEST(Products, FewRows) {
  ExpectPass(R"(
kernel layer(p0: f32[n0, 32], p1: f32[32], p2: f32[n0, 16], p3: f32[16, 32], n0: symbol) {
  assume 1 <= n0
  map i in 0:n0, j in 0:32 {
    local r: f32
    r = p1[j]
    map k in 0:16 { r += p2[i, k] * p3[k, j] }
    p0[i, j] = max(r, 0.0)
  }
})",
             "choose-schedule", R"(
kernel layer(p0: f32[n0, 32], p1: f32[32], p2: f32[n0, 16], p3: f32[16, 32], n0: symbol) for cpu {
  assume 1 <= n0
  if n0 < 3 {
    map i_0 in 0:n0:32 @parallel {
      for i in i_0:+32 {
        local sums: f32[32]
        map j in 0:32 @vector { sums[j] = 0.0 }
        for k in 0:16 {
          map j in 0:32 @vector { sums[j] += p2[i, k] * p3[k, j] }
        }
        map j in 0:32 @vector {
          local r_at_2: f32
          r_at_2 = p1[j] + sums[j]
          p0[i, j] = max(r_at_2, 0.0)
        }
      }
    }
  } else {
    map i_0 in 0:n0:8 * max(min((n0 + 31) // 32, 64), 8) @parallel {
      local b: f32[16, 32] @worker
      for k in 0:16 {
        map j in 0:32 @vector { b[k, j] = p3[k, j] }
      }
      for i_1 in i_0:+8 * max(min((n0 + 31) // 32, 64), 8):8, j_1 in 0:32:32 {
        if i_1 + 8 <= n0 {
          local t: f32[8, 32]
          map r_1 in 0:8 @unroll {
            map u in 0:32 @vector { t[r_1, u] = 0.0 }
          }
          for d in 0:16 {
            map r_1 in 0:8 @unroll {
              map u in 0:32 @vector { t[r_1, u] = fma(p2[i_1 + r_1, d], b[d, j_1 + u], t[r_1, u]) }
            }
          }
          map r_1 in 0:8 @unroll {
            map u in 0:32 @vector {
              local r_at: f32
              r_at = p1[j_1 + u] + t[r_1, u]
              p0[i_1 + r_1, j_1 + u] = max(r_at, 0.0)
            }
          }
        } else {
          for r_1 in 0:min(min(n0, i_0 + 8 * max(min((n0 + 31) // 32, 64), 8)) - i_1, 8) {
            local t_1: f32[1, 32]
            map q in 0:1 @unroll {
              map u in 0:32 @vector { t_1[q, u] = 0.0 }
            }
            for d in 0:16 {
              map q in 0:1 @unroll {
                map u in 0:32 @vector { t_1[q, u] = fma(p2[i_1 + r_1, d], b[d, j_1 + u], t_1[q, u]) }
              }
            }
            map q in 0:1 @unroll {
              map u in 0:32 @vector {
                local r_at_1: f32
                r_at_1 = p1[j_1 + u] + t_1[q, u]
                p0[i_1 + r_1, j_1 + u] = max(r_at_1, 0.0)
              }
            }
          }
        }
      }
    }
  }
})");
}

// A gradient of weights, whose terms are the batch. What is known to be enough is not asked.
TEST(Products, FewTerms) {
  const std::string weights = R"(
kernel weights(inout p0: f32[8, 32], p1: f32[n0, 8], p2: f32[n0, 32], n0: symbol) {
  assume LEAST <= n0
  map i in 0:8, j in 0:32, k in 0:n0 { p0[i, j] += p1[k, i] * p2[k, j] }
})";
  const auto scheduled = [&](const std::string& least) {
    std::string text = weights;
    return Transformed(text.replace(text.find("LEAST"), 5, least), "choose-schedule");
  };
  const std::string sums = R"(
  if n0 < 8 {
    map i_0 in 0:8:max(65536 // max(128 * n0, 1), 1) @parallel {
      for i in i_0:+max(65536 // max(128 * n0, 1), 1) {
        local sums: f32[32]
        map j in 0:32 @vector { sums[j] = 0.0 }
        for k in 0:n0 {
          map j in 0:32 @vector { sums[j] += p1[k, i] * p2[k, j] }
        }
        map j in 0:32 @vector { p0[i, j] += sums[j] }
      }
    }
  } else {
    for k_0 in 0:n0:256 {
      local b: f32[256, 32] @worker
)";
  EXPECT_NE(scheduled("1").find(sums), std::string::npos) << scheduled("1");
  EXPECT_EQ(scheduled("8").find("if n0 <"), std::string::npos) << scheduled("8");
  EXPECT_NE(scheduled("8").find("local b: f32[256, 32] @worker"), std::string::npos) << scheduled("8");
}

}  // namespace
}  // namespace headrace::transforms
