// What is computed is compared in //tests/products:winograd_test.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

TEST(WinogradWeights, AGradientOfWeights) {
  ExpectPass(R"(
kernel gradient(inout p0: f32[32, 32, 3, 3], p1: f32[N, 8, 24, 32], p2: f32[N, 8, 24, 32], N: symbol) {
  map i0 in 0:32, i1 in 0:32, i2 in 0:3, i3 in 0:3, i4 in 0:N, i5 in 0:8, i6 in 0:24 {
    p0[i0, i1, i2, i3] += (p1[i4, i5 + i2 - 1, i6 + i3 - 1, i1] ?? 0) * p2[i4, i5, i6, i0]
  }
})",
             "choose-schedule{device=cpu}", R"(
kernel gradient(inout p0: f32[32, 32, 3, 3], p1: f32[N, 8, 24, 32], p2: f32[N, 8, 24, 32], N: symbol) for cpu {
  local m: f32[16, 33, 32] @worker
  for z0 in 0:16, z1 in 0:32 {
    map u in 0:32 @vector { m[z0, z1, u] = 0.0 }
  }
  for i4 in 0:N {
    local a: f32[10, 26, 32] @worker
    for q0 in 0:10, q1 in 0:26 {
      if q0 - 1 >= 0 && q0 - 1 < 8 && q1 - 1 >= 0 && q1 - 1 < 24 {
        map q2 in 0:32 @vector { a[q0, q1, q2] = p1[i4, q0 - 1, q1 - 1, q2] }
      } else {
        map q2 in 0:32 @vector { a[q0, q1, q2] = 0 }
      }
    }
    local v: f32[16, 49, 32] @worker
    for ty in 0:4, tx in 0:12 {
      map q in 0:32 @vector {
        local d: f32
        d = a[2 * ty, 2 * tx, q]
        local d_1: f32
        d_1 = a[2 * ty + 1, 2 * tx, q]
        local d_2: f32
        d_2 = a[2 * ty + 2, 2 * tx, q]
        local d_3: f32
        d_3 = a[2 * ty + 3, 2 * tx, q]
        local e: f32
        e = d - d_2
        local e_1: f32
        e_1 = d_1 + d_2
        local e_2: f32
        e_2 = d_2 - d_1
        local e_3: f32
        e_3 = d_3 - d_1
        local d_4: f32
        d_4 = a[2 * ty, 2 * tx + 1, q]
        local d_5: f32
        d_5 = a[2 * ty + 1, 2 * tx + 1, q]
        local d_6: f32
        d_6 = a[2 * ty + 2, 2 * tx + 1, q]
        local d_7: f32
        d_7 = a[2 * ty + 3, 2 * tx + 1, q]
        local e_4: f32
        e_4 = d_4 - d_6
        local e_5: f32
        e_5 = d_5 + d_6
        local e_6: f32
        e_6 = d_6 - d_5
        local e_7: f32
        e_7 = d_7 - d_5
        local d_8: f32
        d_8 = a[2 * ty, 2 * tx + 2, q]
        local d_9: f32
        d_9 = a[2 * ty + 1, 2 * tx + 2, q]
        local d_10: f32
        d_10 = a[2 * ty + 2, 2 * tx + 2, q]
        local d_11: f32
        d_11 = a[2 * ty + 3, 2 * tx + 2, q]
        local e_8: f32
        e_8 = d_8 - d_10
        local e_9: f32
        e_9 = d_9 + d_10
        local e_10: f32
        e_10 = d_10 - d_9
        local e_11: f32
        e_11 = d_11 - d_9
        local d_12: f32
        d_12 = a[2 * ty, 2 * tx + 3, q]
        local d_13: f32
        d_13 = a[2 * ty + 1, 2 * tx + 3, q]
        local d_14: f32
        d_14 = a[2 * ty + 2, 2 * tx + 3, q]
        local d_15: f32
        d_15 = a[2 * ty + 3, 2 * tx + 3, q]
        local e_12: f32
        e_12 = d_12 - d_14
        local e_13: f32
        e_13 = d_13 + d_14
        local e_14: f32
        e_14 = d_14 - d_13
        local e_15: f32
        e_15 = d_15 - d_13
        v[0, tx + 12 * ty, q] = e - e_8
        v[1, tx + 12 * ty, q] = e_4 + e_8
        v[2, tx + 12 * ty, q] = e_8 - e_4
        v[3, tx + 12 * ty, q] = e_12 - e_4
        v[4, tx + 12 * ty, q] = e_1 - e_9
        v[5, tx + 12 * ty, q] = e_5 + e_9
        v[6, tx + 12 * ty, q] = e_9 - e_5
        v[7, tx + 12 * ty, q] = e_13 - e_5
        v[8, tx + 12 * ty, q] = e_2 - e_10
        v[9, tx + 12 * ty, q] = e_6 + e_10
        v[10, tx + 12 * ty, q] = e_10 - e_6
        v[11, tx + 12 * ty, q] = e_14 - e_6
        v[12, tx + 12 * ty, q] = e_3 - e_11
        v[13, tx + 12 * ty, q] = e_7 + e_11
        v[14, tx + 12 * ty, q] = e_11 - e_7
        v[15, tx + 12 * ty, q] = e_15 - e_7
      }
    }
    local a_1: f32[8, 24, 32] @worker
    for q0 in 0:8, q1 in 0:24 {
      map q2 in 0:32 @vector { a_1[q0, q1, q2] = p2[i4, q0, q1, q2] }
    }
    local g: f32[16, 49, 32] @worker
    for ty in 0:4, tx in 0:12 {
      map q in 0:32 @vector {
        local d_16: f32
        d_16 = a_1[2 * ty, 2 * tx, q]
        local d_17: f32
        d_17 = a_1[2 * ty + 1, 2 * tx, q]
        local e_16: f32
        e_16 = d_16 + d_17
        local e_17: f32
        e_17 = d_16 - d_17
        local d_18: f32
        d_18 = a_1[2 * ty, 2 * tx + 1, q]
        local d_19: f32
        d_19 = a_1[2 * ty + 1, 2 * tx + 1, q]
        local e_18: f32
        e_18 = d_18 + d_19
        local e_19: f32
        e_19 = d_18 - d_19
        g[0, tx + 12 * ty, q] = d_16
        g[1, tx + 12 * ty, q] = d_16 + d_18
        g[2, tx + 12 * ty, q] = d_16 - d_18
        g[3, tx + 12 * ty, q] = d_18
        g[4, tx + 12 * ty, q] = e_16
        g[5, tx + 12 * ty, q] = e_16 + e_18
        g[6, tx + 12 * ty, q] = e_16 - e_18
        g[7, tx + 12 * ty, q] = e_18
        g[8, tx + 12 * ty, q] = e_17
        g[9, tx + 12 * ty, q] = e_17 + e_19
        g[10, tx + 12 * ty, q] = e_17 - e_19
        g[11, tx + 12 * ty, q] = e_19
        g[12, tx + 12 * ty, q] = d_17
        g[13, tx + 12 * ty, q] = d_17 + d_19
        g[14, tx + 12 * ty, q] = d_17 - d_19
        g[15, tx + 12 * ty, q] = d_19
      }
    }
    for w in 0:16, u1 in 0:32:32, r1 in 0:32:11 {
      if r1 + 11 <= 32 {
        local t: f32[11, 32]
        map r in 0:11 @unroll {
          map u in 0:32 @vector { t[r, u] = 0.0 }
        }
        for p in 0:48 {
          map r in 0:11 @unroll {
            map u in 0:32 @vector { t[r, u] = fma(g[w, p, r + r1], v[w, p, u + u1], t[r, u]) }
          }
        }
        map r in 0:11 @unroll {
          map u in 0:32 @vector { m[w, r + r1, u + u1] += t[r, u] }
        }
      } else {
        local t_1: f32[10, 32]
        map r in 0:10 @unroll {
          map u in 0:32 @vector { t_1[r, u] = 0.0 }
        }
        for p in 0:48 {
          map r in 0:10 @unroll {
            map u in 0:32 @vector { t_1[r, u] = fma(g[w, p, r + r1], v[w, p, u + u1], t_1[r, u]) }
          }
        }
        map r in 0:10 @unroll {
          map u in 0:32 @vector { m[w, r + r1, u + u1] += t_1[r, u] }
        }
      }
    }
  }
  for i0 in 0:32 {
    local x: f32[3, 3, 32] @worker
    map u in 0:32 @vector {
      local d_20: f32
      d_20 = m[0, i0, u]
      local d_21: f32
      d_21 = m[4, i0, u]
      local d_22: f32
      d_22 = m[8, i0, u]
      local d_23: f32
      d_23 = m[12, i0, u]
      local e_20: f32
      e_20 = d_20 + 0.5 * (d_21 + d_22)
      local e_21: f32
      e_21 = 0.5 * (d_21 - d_22)
      local e_22: f32
      e_22 = d_23 + 0.5 * (d_21 + d_22)
      local d_24: f32
      d_24 = m[1, i0, u]
      local d_25: f32
      d_25 = m[5, i0, u]
      local d_26: f32
      d_26 = m[9, i0, u]
      local d_27: f32
      d_27 = m[13, i0, u]
      local e_23: f32
      e_23 = d_24 + 0.5 * (d_25 + d_26)
      local e_24: f32
      e_24 = 0.5 * (d_25 - d_26)
      local e_25: f32
      e_25 = d_27 + 0.5 * (d_25 + d_26)
      local d_28: f32
      d_28 = m[2, i0, u]
      local d_29: f32
      d_29 = m[6, i0, u]
      local d_30: f32
      d_30 = m[10, i0, u]
      local d_31: f32
      d_31 = m[14, i0, u]
      local e_26: f32
      e_26 = d_28 + 0.5 * (d_29 + d_30)
      local e_27: f32
      e_27 = 0.5 * (d_29 - d_30)
      local e_28: f32
      e_28 = d_31 + 0.5 * (d_29 + d_30)
      local d_32: f32
      d_32 = m[3, i0, u]
      local d_33: f32
      d_33 = m[7, i0, u]
      local d_34: f32
      d_34 = m[11, i0, u]
      local d_35: f32
      d_35 = m[15, i0, u]
      local e_29: f32
      e_29 = d_32 + 0.5 * (d_33 + d_34)
      local e_30: f32
      e_30 = 0.5 * (d_33 - d_34)
      local e_31: f32
      e_31 = d_35 + 0.5 * (d_33 + d_34)
      x[0, 0, u] = e_20 + 0.5 * (e_23 + e_26)
      x[0, 1, u] = 0.5 * (e_23 - e_26)
      x[0, 2, u] = e_29 + 0.5 * (e_23 + e_26)
      x[1, 0, u] = e_21 + 0.5 * (e_24 + e_27)
      x[1, 1, u] = 0.5 * (e_24 - e_27)
      x[1, 2, u] = e_30 + 0.5 * (e_24 + e_27)
      x[2, 0, u] = e_22 + 0.5 * (e_25 + e_28)
      x[2, 1, u] = 0.5 * (e_25 - e_28)
      x[2, 2, u] = e_31 + 0.5 * (e_25 + e_28)
    }
    for i1 in 0:32 {
      p0[i0, i1, 0, 0] += x[0, 0, i1]
      p0[i0, i1, 0, 1] += x[0, 1, i1]
      p0[i0, i1, 0, 2] += x[0, 2, i1]
      p0[i0, i1, 1, 0] += x[1, 0, i1]
      p0[i0, i1, 1, 1] += x[1, 1, i1]
      p0[i0, i1, 1, 2] += x[1, 2, i1]
      p0[i0, i1, 2, 0] += x[2, 0, i1]
      p0[i0, i1, 2, 1] += x[2, 1, i1]
      p0[i0, i1, 2, 2] += x[2, 2, i1]
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
