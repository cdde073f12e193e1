#include "transforms/schedule/complex_product.h"

#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Parts of the columns are laid out apart; rows and columns fill whole tiles.
TEST(ComplexProduct, WholeTiles) {
  ExpectPass(R"(
kernel whole(inout p0: c64[48, 32], p1: c64[48, 20], p2: c64[20, 32]) {
  map i0 in 0:48, i1 in 0:32, i2 in 0:20 { p0[i0, i1] += p1[i0, i2] * p2[i2, i1] }
})",
             "choose-schedule", R"(
kernel whole(inout p0: c64[48, 32], p1: c64[48, 20], p2: c64[20, 32]) for cpu {
  map i0_0 in 0:48:66 @parallel {
    for i1_0 in 0:32:16 {
      local re: f32[20, 16] @worker
      local im: f32[20, 16] @worker
      for i2 in 0:20 {
        map i1 in i1_0:+16 @vector {
          re[i2, i1 - i1_0] = real(p2[i2, i1])
          im[i2, i1 - i1_0] = imag(p2[i2, i1])
        }
      }
      for i0_1 in i0_0:+66:6 {
        local s: f32[6, 16]
        local t: f32[6, 16]
        map r in 0:6 @unroll {
          map u in 0:16 @vector {
            s[r, u] = 0.0
            t[r, u] = 0.0
          }
        }
        for i2 in 0:20 {
          map r in 0:6 @unroll {
            map u in 0:16 @vector {
              s[r, u] = fma(real(p1[i0_1 + r, i2]), re[i2, u], s[r, u])
              s[r, u] = fma(-imag(p1[i0_1 + r, i2]), im[i2, u], s[r, u])
              t[r, u] = fma(real(p1[i0_1 + r, i2]), im[i2, u], t[r, u])
              t[r, u] = fma(imag(p1[i0_1 + r, i2]), re[i2, u], t[r, u])
            }
          }
        }
        map r in 0:6 @unroll {
          map u in 0:16 @vector { p0[i0_1 + r, i1_0 + u] += complex(s[r, u], t[r, u]) }
        }
      }
    }
  }
})");
}

// Lanes beyond the last column add nothing; rows that fill no tile come one by one. Columns whose depth lies together are turned.
TEST(ComplexProduct, Borders) {
  ExpectPass(R"(
kernel some(inout p0: c128[n0, 13], p1: c128[n0, 20], p2: c128[13, 20], n0: symbol) {
  map i0 in 0:n0, i1 in 0:13, i2 in 0:20 { p0[i0, i1] += p1[i0, i2] * p2[i1, i2] }
})",
             "choose-schedule", R"(
kernel some(inout p0: c128[n0, 13], p1: c128[n0, 20], p2: c128[13, 20], n0: symbol) for cpu {
  map i0_0 in 0:n0:66 @parallel {
    for i1_0 in 0:13:8 {
      local re: f64[20, 8] @worker
      local im: f64[20, 8] @worker
      for i1 in i1_0:+8 {
        map i2 in 0:20 @vector {
          re[i2, i1 - i1_0] = real(p2[i1, i2])
          im[i2, i1 - i1_0] = imag(p2[i1, i2])
        }
      }
      for i2 in 0:20 {
        map u in min(13 - i1_0, 8):8 @vector {
          re[i2, u] = 0.0
          im[i2, u] = 0.0
        }
      }
      for i0_1 in i0_0:+66:6 {
        if i0_1 + 6 <= n0 {
          local s: f64[6, 8]
          local t: f64[6, 8]
          map r in 0:6 @unroll {
            map u in 0:8 @vector {
              s[r, u] = 0.0
              t[r, u] = 0.0
            }
          }
          for i2 in 0:20 {
            map r in 0:6 @unroll {
              map u in 0:8 @vector {
                s[r, u] = fma(real(p1[i0_1 + r, i2]), re[i2, u], s[r, u])
                s[r, u] = fma(-imag(p1[i0_1 + r, i2]), im[i2, u], s[r, u])
                t[r, u] = fma(real(p1[i0_1 + r, i2]), im[i2, u], t[r, u])
                t[r, u] = fma(imag(p1[i0_1 + r, i2]), re[i2, u], t[r, u])
              }
            }
          }
          if i1_0 + 8 <= 13 {
            map r in 0:6 @unroll {
              map u in 0:8 @vector { p0[i0_1 + r, i1_0 + u] += complex(s[r, u], t[r, u]) }
            }
          } else {
            map r in 0:6 @unroll {
              map u in i1_0:+8 @vector { p0[i0_1 + r, u] += complex(s[r, u - i1_0], t[r, u - i1_0]) }
            }
          }
        } else {
          for i0 in i0_1:+6 {
            local s_1: f64[1, 8]
            local t_1: f64[1, 8]
            map r in 0:1 @unroll {
              map u in 0:8 @vector {
                s_1[r, u] = 0.0
                t_1[r, u] = 0.0
              }
            }
            for i2 in 0:20 {
              map r in 0:1 @unroll {
                map u in 0:8 @vector {
                  s_1[r, u] = fma(real(p1[i0, i2]), re[i2, u], s_1[r, u])
                  s_1[r, u] = fma(-imag(p1[i0, i2]), im[i2, u], s_1[r, u])
                  t_1[r, u] = fma(real(p1[i0, i2]), im[i2, u], t_1[r, u])
                  t_1[r, u] = fma(imag(p1[i0, i2]), re[i2, u], t_1[r, u])
                }
              }
            }
            if i1_0 + 8 <= 13 {
              map r in 0:1 @unroll {
                map u in 0:8 @vector { p0[i0, i1_0 + u] += complex(s_1[r, u], t_1[r, u]) }
              }
            } else {
              map r in 0:1 @unroll {
                map u in i1_0:+8 @vector { p0[i0, u] += complex(s_1[r, u - i1_0], t_1[r, u - i1_0]) }
              }
            }
          }
        }
      }
    }
  }
})");
}

// What the sum starts at is added at the end.
TEST(ComplexProduct, StartsAtAValue) {
  ExpectPass(R"(
kernel starts(p0: c64[48, 16], p1: c64[48, 20], p2: c64[20, 16], p3: c64[16]) {
  map i0 in 0:48, i1 in 0:16 {
    local s: c64
    s = p3[i1]
    map i2 in 0:20 { s += p1[i0, i2] * p2[i2, i1] }
    p0[i0, i1] = s
  }
})",
             "choose-schedule", R"(
kernel starts(p0: c64[48, 16], p1: c64[48, 20], p2: c64[20, 16], p3: c64[16]) for cpu {
  map i0_0 in 0:48:66 @parallel {
    for i1_0 in 0:16:16 {
      local re: f32[20, 16] @worker
      local im: f32[20, 16] @worker
      for i2 in 0:20 {
        map i1 in i1_0:+16 @vector {
          re[i2, i1 - i1_0] = real(p2[i2, i1])
          im[i2, i1 - i1_0] = imag(p2[i2, i1])
        }
      }
      for i0_1 in i0_0:+66:6 {
        local s_1: f32[6, 16]
        local t: f32[6, 16]
        map r in 0:6 @unroll {
          map u in 0:16 @vector {
            s_1[r, u] = 0.0
            t[r, u] = 0.0
          }
        }
        for i2 in 0:20 {
          map r in 0:6 @unroll {
            map u in 0:16 @vector {
              s_1[r, u] = fma(real(p1[i0_1 + r, i2]), re[i2, u], s_1[r, u])
              s_1[r, u] = fma(-imag(p1[i0_1 + r, i2]), im[i2, u], s_1[r, u])
              t[r, u] = fma(real(p1[i0_1 + r, i2]), im[i2, u], t[r, u])
              t[r, u] = fma(imag(p1[i0_1 + r, i2]), re[i2, u], t[r, u])
            }
          }
        }
        map r in 0:6 @unroll {
          map u in 0:16 @vector {
            local s_at: c64
            s_at = p3[i1_0 + u] + complex(s_1[r, u], t[r, u])
            p0[i0_1 + r, i1_0 + u] = s_at
          }
        }
      }
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
