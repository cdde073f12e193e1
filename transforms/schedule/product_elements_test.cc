#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// What is made of a result is done in its tile.
TEST(ProductElements, InTheTile) {
  ExpectPass(R"(
kernel k(p0: f32[24, 96], p1: f32[24, 128], p2: f32[128, 96], p3: f32[96]) {
  map i in 0:24, j in 0:96 {
    local s: f32
    s = p3[j]
    map k in 0:128 { s += p1[i, k] * p2[k, j] }
    p0[i, j] = max(s, 0)
  }
})",
             "choose-schedule", R"(
kernel k(p0: f32[24, 96], p1: f32[24, 128], p2: f32[128, 96], p3: f32[96]) for cpu {
  local b: f32[3, 128, 32] @worker
  for k in 0:128 {
    for j_2 in 0:96:32 {
      map j in j_2:+32 @vector { b[j_2 // 32, k, j - j_2] = p2[k, j] }
    }
  }
  for i_1 in 0:24:12, j_1 in 0:96:32 {
    local t: f32[12, 32]
    map r in 0:12 @unroll {
      map u in 0:32 @vector { t[r, u] = 0.0 }
    }
    for d in 0:128 {
      map r in 0:12 @unroll {
        map u in 0:32 @vector { t[r, u] = fma(p1[i_1 + r, d], b[j_1 // 32, d, u], t[r, u]) }
      }
    }
    map r in 0:12 @unroll {
      map u in 0:32 @vector {
        local s_at: f32
        s_at = p3[j_1 + u] + t[r, u]
        p0[i_1 + r, j_1 + u] = max(s_at, 0)
      }
    }
  }
})");
}

// Where the terms are summed in blocks, a buffer holds the sums, and the rest comes after.
TEST(ProductElements, AfterAllBlocks) {
  ExpectPass(R"(
kernel k(p0: f32[24, 64], p1: f32[24, 3001], p2: f32[3001, 64]) {
  map i in 0:24, j in 0:64 {
    local s: f32
    s = 0
    map k in 0:3001 { s += p1[i, k] * p2[k, j] }
    p0[i, j] = exp(s)
  }
})",
             "choose-schedule", R"(
kernel k(p0: f32[24, 64], p1: f32[24, 3001], p2: f32[3001, 64]) for cpu {
  local sums: f32[24, 64] @worker
  for i_1 in 0:24 {
    map u in 0:64 @vector { sums[i_1, u] = 0.0 }
  }
  for k_0 in 0:3001:1001 {
    local b: f32[2, 1001, 32] @worker
    for k in k_0:+1001 {
      for j_2 in 0:64:32 {
        map j in j_2:+32 @vector { b[j_2 // 32, k - k_0, j - j_2] = p2[k, j] }
      }
    }
    for i_1 in 0:24:12, j_1 in 0:64:32 {
      local t: f32[12, 32]
      map r in 0:12 @unroll {
        map u in 0:32 @vector { t[r, u] = 0.0 }
      }
      for d in k_0:+1001 {
        map r in 0:12 @unroll {
          map u in 0:32 @vector { t[r, u] = fma(p1[i_1 + r, d], b[j_1 // 32, d - k_0, u], t[r, u]) }
        }
      }
      map r in 0:12 @unroll {
        map u in 0:32 @vector { sums[i_1 + r, j_1 + u] += t[r, u] }
      }
    }
  }
  for i_1 in 0:24 {
    map u in 0:64 @vector {
      local s_at: f32
      s_at = sums[i_1, u]
      p0[i_1, u] = exp(s_at)
    }
  }
})");
}

// Columns that two ranges walk are one in every array; a register of the tail's lives in its lane.
TEST(ProductElements, JoinedColumns) {
  ExpectPass(R"(
kernel k(p0: f32[16, 12, 12], p1: f32[8, 14, 14], p2: f32[16, 8, 3, 3], p3: f32[16], p4: f32[16, 12, 12]) {
  map o in 0:16, y in 0:12, x in 0:12 {
    local s: f32
    s = p3[o]
    map c in 0:8, k in 0:3, l in 0:3 { s += p1[c, y + k, x + l] * p2[o, c, k, l] }
    local u: f32
    u = s * s
    p0[o, y, x] = u + p4[o, y, x]
  }
})",
             "choose-schedule", R"(
kernel k(p0: f32[16, 12, 12], p1: f32[8, 14, 14], p2: f32[16, 8, 3, 3], p3: f32[16], p4: f32[16, 12, 12]) for cpu {
  view v: f32[16, 72] of p2
  view v_1: f32[16, 144] of p4
  view v_2: f32[16, 144] of p0
  for x_0 in 0:144:96 {
    local b: f32[72, 96] @worker
    for c in 0:8, k in 0:3, l in 0:3, y in x_0 // 12:min(x_0 // 12 + 8, 12) {
      map x in 0:12 @vector { b[9 * c + 3 * k + l, x - x_0 + 12 * y] = p1[c, y + k, x + l] }
    }
    for d in 0:72 {
      map u_1 in min(144 - x_0, 96):32 * ((min(144 - x_0, 96) + 31) // 32) @vector { b[d, u_1] = 0.0 }
    }
    for o_1 in 0:16:8, x_1 in x_0:+96:32 {
      local t: f32[8, 32]
      map r in 0:8 @unroll {
        map u_1 in 0:32 @vector { t[r, u_1] = 0.0 }
      }
      for d in 0:72 {
        map r in 0:8 @unroll {
          map u_1 in 0:32 @vector { t[r, u_1] = fma(v[o_1 + r, d], b[d, u_1 - x_0 + x_1], t[r, u_1]) }
        }
      }
      if x_1 + 32 <= 144 {
        map r in 0:8 @unroll {
          map u_1 in 0:32 @vector {
            local s_at: f32
            s_at = p3[o_1 + r] + t[r, u_1]
            local u_at: f32
            u_at = s_at * s_at
            v_2[o_1 + r, u_1 + x_1] = u_at + v_1[o_1 + r, u_1 + x_1]
          }
        }
      } else {
        for r in 0:8 {
          map u_1 in 0:min(144 - x_1, 32) @vector {
            local s_at_1: f32
            s_at_1 = p3[o_1 + r] + t[r, u_1]
            local u_at_1: f32
            u_at_1 = s_at_1 * s_at_1
            v_2[o_1 + r, u_1 + x_1] = u_at_1 + v_1[o_1 + r, u_1 + x_1]
          }
        }
      }
    }
  }
})");
}

// Batch and sequence are rows together, whatever is held in registers: with a batch of one there would be one row, else.
TEST(ProductElements, RowsOfUnknownBatches) {
  const std::string text = Transformed(R"(sdfg f(X: f32[N, S, 64], W: f32[64, 96], Y: f32[N, S, 96]) {
  assume 1 <= N
  assume 1 <= S
  transient T: f32 @register
  state {
    map n in 0:N, s in 0:S, j in 0:96 {
      T = 0
      map k in 0:64 { T += X[n, s, k] * W[k, j] }
      Y[n, s, j] = max(T, 0)
    }
  }
}
)",
                                       "outline; choose-schedule{device=cpu}");
  EXPECT_THAT(text, testing::HasSubstr("view v: f32[n0 * n1, 64] of p0\n  view v_1: f32[n0 * n1, 96] of p2\n"));
  EXPECT_THAT(text, testing::HasSubstr("in 0:n0 * n1:"));
}

// Columns that fill no tile at the end; and a convolution whose points are joined only where nothing is done with its results.
TEST(ProductElements, LastColumnsHaveTiles) {
  const char* const programs[] = {R"(
sdfg f(X: f32[256, 196], W: f32[512, 256], Y: f32[512, 196]) {
  transient S: f32 @register
  map o in 0:512, p in 0:196 {
    S = 0
    map c in 0:256 { S += X[c, p] * W[o, c] }
    Y[o, p] = max(S, 0)
  }
})",
                                  R"(
sdfg f(X: f32[1, 256, 14, 14], W: f32[512, 256, 1, 1], Y: f32[1, 512, 14, 14]) {
  transient S: f32 @register
  map o in 0:512, p in 0:14, q in 0:14 {
    S = 0
    map c in 0:256 { S += X[0, c, p, q] * W[o, c, 0, 0] }
    Y[0, o, p, q] = max(S, 0)
  }
})"};
  for (const char* program : programs)
    for (const char* device : {"cpu", "cpu_avx2"})
      EXPECT_THAT(Transformed(program, std::string("outline; choose-schedule{device=") + device + "}"), testing::HasSubstr("local t: f32[")) << device;
}

// Later blocks add to what the first one stored, so that no array of sums is filled and copied.
TEST(ProductElements, TheFirstBlockStores) {
  ExpectPass(R"(
kernel k(p0: f32[24, 64], p1: f32[600, 24], p2: f32[600, 64], p3: f32[64]) {
  map i0 in 0:24, i1 in 0:64 {
    p0[i0, i1] = p3[i1]
    map i2 in 0:600 { p0[i0, i1] += p1[i2, i0] * p2[i2, i1] }
  }
})",
             "choose-schedule", R"(
kernel k(p0: f32[24, 64], p1: f32[600, 24], p2: f32[600, 64], p3: f32[64]) for cpu {
  for i2_0 in 0:600:200 {
    local b: f32[2, 200, 32] @worker
    for i2 in i2_0:+200 {
      for i1_2 in 0:64:32 {
        map i1 in i1_2:+32 @vector { b[i1_2 // 32, i2 - i2_0, i1 - i1_2] = p2[i2, i1] }
      }
    }
    for i0_2 in 0:24:24 {
      local a: f32[2, 200, 12] @worker
      for i2 in i2_0:+200 {
        for q in 0:2 {
          map r in 0:12 @vector { a[q, i2 - i2_0, r] = p1[i2, i0_2 + 12 * q + r] }
        }
      }
      for i0_1 in i0_2:+24:12, i1_1 in 0:64:32 {
        local t: f32[12, 32]
        map r in 0:12 @unroll {
          map u in 0:32 @vector { t[r, u] = 0.0 }
        }
        for d in i2_0:+200 {
          map r in 0:12 @unroll {
            map u in 0:32 @vector {
              t[r, u] = fma(a[(i0_1 - i0_2) // 12, d - i2_0, r], b[i1_1 // 32, d - i2_0, u], t[r, u])
            }
          }
        }
        if i2_0 == 0 {
          map r in 0:12 @unroll {
            map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] = p3[i1_1 + u] + t[r, u] }
          }
        } else {
          map r in 0:12 @unroll {
            map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
          }
        }
      }
    }
  }
})");
}

// Where nobody knows that there is a first block, results are stored after all of them.
TEST(ProductElements, ThereMayBeNoBlock) {
  ExpectPass(R"(
kernel k(p0: f32[24, 64], p1: f32[n0, 24], p2: f32[n0, 64], n0: symbol) {
  assume 0 <= n0
  map i0 in 0:24, i1 in 0:64 {
    p0[i0, i1] = 0
    map i2 in 0:n0 { p0[i0, i1] += p1[i2, i0] * p2[i2, i1] }
  }
})",
             "choose-schedule", R"(
kernel k(p0: f32[24, 64], p1: f32[n0, 24], p2: f32[n0, 64], n0: symbol) for cpu {
  assume 0 <= n0
  if n0 < 8 {
    map i0_0 in 0:24:max(65536 // max(256 * n0, 1), 1) @parallel {
      for i0 in i0_0:+max(65536 // max(256 * n0, 1), 1) {
        local sums_1: f32[64]
        map i1 in 0:64 @vector { sums_1[i1] = 0.0 }
        for i2 in 0:n0 {
          map i1 in 0:64 @vector { sums_1[i1] += p1[i2, i0] * p2[i2, i1] }
        }
        map i1 in 0:64 @vector { p0[i0, i1] = sums_1[i1] }
      }
    }
  } else {
    local sums: f32[24, 64] @worker
    for i0_1 in 0:24 {
      map u in 0:64 @vector { sums[i0_1, u] = 0.0 }
    }
    for i2_0 in 0:n0:256 {
      local b: f32[2, 256, 32] @worker
      for i2 in i2_0:+256 {
        for i1_2 in 0:64:32 {
          map i1 in i1_2:+32 @vector { b[i1_2 // 32, i2 - i2_0, i1 - i1_2] = p2[i2, i1] }
        }
      }
      for i0_2 in 0:24:24 {
        local a: f32[2, 258, 12] @worker
        for i2 in i2_0:+256 {
          for q in 0:2 {
            map r in 0:12 @vector { a[q, i2 - i2_0, r] = p1[i2, i0_2 + 12 * q + r] }
          }
        }
        for i0_1 in i0_2:+24:12, i1_1 in 0:64:32 {
          local t: f32[12, 32]
          map r in 0:12 @unroll {
            map u in 0:32 @vector { t[r, u] = 0.0 }
          }
          for d in i2_0:+256 {
            map r in 0:12 @unroll {
              map u in 0:32 @vector {
                t[r, u] = fma(a[(i0_1 - i0_2) // 12, d - i2_0, r], b[i1_1 // 32, d - i2_0, u], t[r, u])
              }
            }
          }
          map r in 0:12 @unroll {
            map u in 0:32 @vector { sums[i0_1 + r, i1_1 + u] += t[r, u] }
          }
        }
      }
    }
    for i0_1 in 0:24 {
      map u in 0:64 @vector { p0[i0_1, u] = sums[i0_1, u] }
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
