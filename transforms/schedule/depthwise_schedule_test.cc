#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Points share what they read; which of them a place of the window reaches at the borders of a line stands there. Lines outside count as zeros.
TEST(DepthwiseSchedule, ADepthwiseConvolution) {
  ExpectPass(R"(
kernel depthwise(inout p0: f32[n0, 7, 8, 32], p1: f32[n0, 7, 8, 32], p2: f32[3, 3, 32], n0: symbol) {
  map i0 in 0:n0, i1 in 0:7, i2 in 0:8, i3 in 0:32, i4 in 0:3, i5 in 0:3 {
    p0[i0, i1, i2, i3] += (p1[i0, i1 + i4 - 1, i2 + i5 - 1, i3] ?? 0) * p2[i4, i5, i3]
  }
})",
             "choose-schedule", R"(
kernel depthwise(inout p0: f32[n0, 7, 8, 32], p1: f32[n0, 7, 8, 32], p2: f32[3, 3, 32], n0: symbol) for cpu {
  map i0_0 in 0:n0:2 @parallel {
    for i0 in i0_0:+2, i1 in 0:7 {
      for i2_1 in 0:4:4, i3_0 in 0:32:32 {
        local t: f32[4, 32]
        map r in 0:4 @unroll {
          map u in 0:32 @vector { t[r, u] = 0.0 }
        }
        for i4 in 0:3 {
          if i1 + i4 - 1 >= 0 && i1 + i4 - 1 < 7 {
            for i5 in 0:1 {
              map r in 0:1 @unroll {
                map u in 0:32 @vector { t[r, u] = fma(0, p2[i4, i5, i3_0 + u], t[r, u]) }
              }
              map r in 1:4 @unroll {
                map u in 0:32 @vector {
                  t[r, u] = fma(p1[i0, i1 + i4 - 1, i2_1 + i5 + r - 1, i3_0 + u], p2[i4, i5, i3_0 + u], t[r, u])
                }
              }
            }
            for i5 in 1:3 {
              map r in 0:4 @unroll {
                map u in 0:32 @vector {
                  t[r, u] = fma(p1[i0, i1 + i4 - 1, i2_1 + i5 + r - 1, i3_0 + u], p2[i4, i5, i3_0 + u], t[r, u])
                }
              }
            }
          } else {
            for i5 in 0:3 {
              map r in 0:4 @unroll {
                map u in 0:32 @vector { t[r, u] = fma(0, p2[i4, i5, i3_0 + u], t[r, u]) }
              }
            }
          }
        }
        map r in 0:4 @unroll {
          map u in 0:32 @vector { p0[i0, i1, i2_1 + r, i3_0 + u] += t[r, u] }
        }
      }
      for i2_1 in 4:8:4, i3_0 in 0:32:32 {
        local t_1: f32[4, 32]
        map r in 0:4 @unroll {
          map u in 0:32 @vector { t_1[r, u] = 0.0 }
        }
        for i4 in 0:3 {
          if i1 + i4 - 1 >= 0 && i1 + i4 - 1 < 7 {
            for i5 in 0:2 {
              map r in 0:4 @unroll {
                map u in 0:32 @vector {
                  t_1[r, u] = fma(p1[i0, i1 + i4 - 1, i2_1 + i5 + r - 1, i3_0 + u], p2[i4, i5, i3_0 + u], t_1[r, u])
                }
              }
            }
            for i5 in 2:3 {
              map r in 0:3 @unroll {
                map u in 0:32 @vector {
                  t_1[r, u] = fma(p1[i0, i1 + i4 - 1, i2_1 + i5 + r - 1, i3_0 + u], p2[i4, i5, i3_0 + u], t_1[r, u])
                }
              }
              map r in 3:4 @unroll {
                map u in 0:32 @vector { t_1[r, u] = fma(0, p2[i4, i5, i3_0 + u], t_1[r, u]) }
              }
            }
          } else {
            for i5 in 0:3 {
              map r in 0:4 @unroll {
                map u in 0:32 @vector { t_1[r, u] = fma(0, p2[i4, i5, i3_0 + u], t_1[r, u]) }
              }
            }
          }
        }
        map r in 0:4 @unroll {
          map u in 0:32 @vector { p0[i0, i1, i2_1 + r, i3_0 + u] += t_1[r, u] }
        }
      }
    }
  }
})");
}

// Elements of half the size fill a vector with two of the sums': tiles are as wide wherever they can be.
TEST(DepthwiseSchedule, ADepthwiseConvolutionOfSmallElements) {
  ExpectPass(R"(
kernel k(p0: f32[4, 4, 48], p1: bf16[6, 6, 48], p2: bf16[3, 3, 48]) {
  map i0 in 0:4, i1 in 0:4, i2 in 0:48 {
    p0[i0, i1, i2] = 0
    map i3 in 0:3, i4 in 0:3 { p0[i0, i1, i2] += f32(p1[i0 + i3, i1 + i4, i2]) * f32(p2[i3, i4, i2]) }
  }
})",
             "choose-schedule", R"(
kernel k(p0: f32[4, 4, 48], p1: bf16[6, 6, 48], p2: bf16[3, 3, 48]) for cpu {
  for i0 in 0:4 {
    for i1_1 in 0:4:4, i2_0 in 0:32:32 {
      local t: f32[4, 32]
      map r in 0:4 @unroll {
        map u in 0:32 @vector { t[r, u] = 0.0 }
      }
      for i3 in 0:3, i4 in 0:3 {
        map r in 0:4 @unroll {
          map u in 0:32 @vector {
            t[r, u] = fma(f32(p1[i0 + i3, i1_1 + i4 + r, i2_0 + u]), f32(p2[i3, i4, i2_0 + u]), t[r, u])
          }
        }
      }
      map r in 0:4 @unroll {
        map u in 0:32 @vector { p0[i0, i1_1 + r, i2_0 + u] = t[r, u] }
      }
    }
    for i1_1 in 0:4:4 {
      local t_1: f32[4, 16]
      map r in 0:4 @unroll {
        map u in 0:16 @vector { t_1[r, u] = 0.0 }
      }
      for i3 in 0:3, i4 in 0:3 {
        map r in 0:4 @unroll {
          map u in 0:16 @vector {
            t_1[r, u] = fma(f32(p1[i0 + i3, i1_1 + i4 + r, u + 32]), f32(p2[i3, i4, u + 32]), t_1[r, u])
          }
        }
      }
      map r in 0:4 @unroll {
        map u in 0:16 @vector { p0[i0, i1_1 + r, u + 32] = t_1[r, u] }
      }
    }
  }
})");
}

// Channels that are no whole number of vectors; nothing is asked where there are no borders.
TEST(DepthwiseSchedule, APool) {
  ExpectPass(R"(
kernel pool(p0: f32[8, 6, 20], p1: f32[17, 12, 20]) {
  map i0 in 0:8, i1 in 0:6, i2 in 0:20 {
    p0[i0, i1, i2] = -inf
    map i3 in 0:3, i4 in 0:2 { p0[i0, i1, i2] max= p1[2 * i0 + i3, 2 * i1 + i4, i2] }
  }
})",
             "choose-schedule", R"(
kernel pool(p0: f32[8, 6, 20], p1: f32[17, 12, 20]) for cpu {
  for i0 in 0:8 {
    for i1_1 in 0:6:6, i2_0 in 0:16:16 {
      local t: f32[6, 16]
      map r in 0:6 @unroll {
        map u in 0:16 @vector { t[r, u] = -inf }
      }
      for i3 in 0:3, i4 in 0:2 {
        map r in 0:6 @unroll {
          map u in 0:16 @vector { t[r, u] max= p1[2 * i0 + i3, 2 * i1_1 + i4 + 2 * r, i2_0 + u] }
        }
      }
      map r in 0:6 @unroll {
        map u in 0:16 @vector { p0[i0, i1_1 + r, i2_0 + u] = t[r, u] }
      }
    }
    for i1_1 in 0:6:6 {
      local t_1: f32[6, 4]
      map r in 0:6 @unroll {
        map u in 0:4 @vector { t_1[r, u] = -inf }
      }
      for i3 in 0:3, i4 in 0:2 {
        map r in 0:6 @unroll {
          map u in 0:4 @vector { t_1[r, u] max= p1[2 * i0 + i3, 2 * i1_1 + i4 + 2 * r, u + 16] }
        }
      }
      map r in 0:6 @unroll {
        map u in 0:4 @vector { p0[i0, i1_1 + r, u + 16] = t_1[r, u] }
      }
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
