#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// The data are laid out with their border, the weights in panels; 14 points and two vectors of channels are in registers.
TEST(ChannelsSchedule, AConvolution) {
  ExpectPass(R"(
kernel convolution(inout p0: f32[10, 28, 40], p1: f32[10, 28, 16], p2: f32[3, 3, 16, 40]) {
  map i0 in 0:10, i1 in 0:28, i2 in 0:40, i3 in 0:3, i4 in 0:3, i5 in 0:16 {
    p0[i0, i1, i2] += (p1[i0 + i3 - 1, i1 + i4 - 1, i5] ?? 0) * p2[i3, i4, i5, i2]
  }
})",
             "choose-schedule", R"(
kernel convolution(inout p0: f32[10, 28, 40], p1: f32[10, 28, 16], p2: f32[3, 3, 16, 40]) for cpu {
  map i2_0 in 0:40:32 @parallel {
    local a: f32[12, 30, 16] @worker
    for q0 in 0:12, q1 in 0:30 {
      if q0 - 1 >= 0 && q0 - 1 < 10 && q1 - 1 >= 0 && q1 - 1 < 28 {
        map q2 in 0:16 @vector { a[q0, q1, q2] = p1[q0 - 1, q1 - 1, q2] }
      } else {
        map q2 in 0:16 @vector { a[q0, q1, q2] = 0 }
      }
    }
    local b: f32[1, 144, 32] @worker
    for i3 in 0:3, i4 in 0:3, i5 in 0:16, i2_1 in i2_0:+32:32 {
      if i2_1 + 32 <= 40 {
        map u in 0:32 @vector { b[(i2_1 - i2_0) // 32, 48 * i3 + 16 * i4 + i5, u] = p2[i3, i4, i5, i2_1 + u] }
      } else {
        map u in 0:8 @vector { b[(i2_1 - i2_0) // 32, 48 * i3 + 16 * i4 + i5, u] = p2[i3, i4, i5, i2_1 + u] }
        map u in 8:32 @vector { b[(i2_1 - i2_0) // 32, 48 * i3 + 16 * i4 + i5, u] = 0.0 }
      }
    }
    for i2_1 in i2_0:+32:32, i0_1 in 0:10, i1_1 in 0:28:14 {
      local t: f32[1, 14, 32]
      map q in 0:1, r in 0:14 @unroll {
        map u in 0:32 @vector { t[q, r, u] = 0.0 }
      }
      for i3 in 0:3, i4 in 0:3, i5 in 0:16 {
        map q in 0:1, r in 0:14 @unroll {
          map u in 0:32 @vector {
            t[q, r, u] = fma(a[i0_1 + i3 + q, i1_1 + i4 + r, i5], b[(i2_1 - i2_0) // 32, 48 * i3 + 16 * i4 + i5, u], t[q, r, u])
          }
        }
      }
      if i2_1 + 32 <= 40 {
        map q in 0:1, r in 0:14 @unroll {
          map u in 0:32 @vector { p0[i0_1 + q, i1_1 + r, i2_1 + u] += t[q, r, u] }
        }
      } else {
        map q in 0:1, r in 0:14 @unroll {
          map u in 0:8 @vector { p0[i0_1 + q, i1_1 + r, i2_1 + u] += t[q, r, u] }
        }
      }
    }
  }
})");
}

// Without a border the data are read where they lie. Lines of 7 points are taken two at a time. Sums of more terms than are packed at
// once are collected before what they start at is added; weights whose terms lie side by side are turned.
TEST(ChannelsSchedule, StridesAndManyTerms) {
  ExpectPass(R"(
kernel strided(p0: f32[7, 7, 32], p1: f32[15, 15, 1200], p2: f32[32, 2, 1200], p3: f32[32]) {
  map i0 in 0:7, i1 in 0:7, i2 in 0:32 {
    p0[i0, i1, i2] = p3[i2]
    map i3 in 0:2, i4 in 0:1200 { p0[i0, i1, i2] += p1[2 * i0, 2 * i1 + i3, i4] * p2[i2, i3, i4] }
  }
})",
             "choose-schedule", R"(
kernel strided(p0: f32[7, 7, 32], p1: f32[15, 15, 1200], p2: f32[32, 2, 1200], p3: f32[32]) for cpu {
  local sums: f32[7, 7, 32] @worker
  for z0 in 0:7, z1 in 0:7 {
    map u in 0:32 @vector { sums[z0, z1, u] = 0.0 }
  }
  for i4_0 in 0:1200:400 {
    local b: f32[1, 800, 32] @worker
    for i2_1 in 0:32:32 {
      for i2_2 in 0:32:16, i3 in 0:2, at in 0:400:16 {
        map line in 0:16 @unroll {
          map u in 0:16 @vector {
            b[i2_1 // 32, at + 400 * i3 + line, i2_2 + u] = p2[i2_1 + i2_2 + u, i3, at + i4_0 + line]
          }
        }
      }
    }
    for i2_1 in 0:32:32, i0_1 in 0:7:2, i1_1 in 0:7:7 {
      if i0_1 + 2 <= 7 {
        local t: f32[2, 7, 32]
        map q in 0:2, r in 0:7 @unroll {
          map u in 0:32 @vector { t[q, r, u] = 0.0 }
        }
        for i3 in 0:2, i4 in i4_0:+400 {
          map q in 0:2, r in 0:7 @unroll {
            map u in 0:32 @vector {
              t[q, r, u] = fma(p1[2 * i0_1 + 2 * q, 2 * i1_1 + i3 + 2 * r, i4], b[i2_1 // 32, 400 * i3 + i4 - i4_0, u], t[q, r, u])
            }
          }
        }
        map q in 0:2, r in 0:7 @unroll {
          map u in 0:32 @vector { sums[i0_1 + q, i1_1 + r, i2_1 + u] += t[q, r, u] }
        }
      } else {
        local t_1: f32[1, 7, 32]
        map q in 0:1, r in 0:7 @unroll {
          map u in 0:32 @vector { t_1[q, r, u] = 0.0 }
        }
        for i3 in 0:2, i4 in i4_0:+400 {
          map q in 0:1, r in 0:7 @unroll {
            map u in 0:32 @vector {
              t_1[q, r, u] = fma(p1[2 * i0_1 + 2 * q, 2 * i1_1 + i3 + 2 * r, i4], b[i2_1 // 32, 400 * i3 + i4 - i4_0, u], t_1[q, r, u])
            }
          }
        }
        map q in 0:1, r in 0:7 @unroll {
          map u in 0:32 @vector { sums[i0_1 + q, i1_1 + r, i2_1 + u] += t_1[q, r, u] }
        }
      }
    }
  }
  for i0 in 0:7, i1 in 0:7 {
    map u in 0:32 @vector { p0[i0, i1, u] = p3[u] + sums[i0, i1, u] }
  }
})");
}

// Points are the places of the window and channels of the data, terms the places of images, some lines at a time. What lies apart in
// the results is collected before.
TEST(ChannelsSchedule, TheGradientOfWeights) {
  ExpectPass(R"(
kernel weights(inout p0: f32[32, 16, 3, 3], p1: f32[n0, 40, 40, 32], p2: f32[n0, 40, 40, 16], n0: symbol) {
  map i0 in 0:32, i1 in 0:16, i2 in 0:3, i3 in 0:3, i4 in 0:n0, i5 in 0:40, i6 in 0:40 {
    p0[i0, i1, i2, i3] += p1[i4, i5, i6, i0] * (p2[i4, i5 + i2 - 1, i6 + i3 - 1, i1] ?? 0)
  }
})",
             "choose-schedule", R"(
kernel weights(inout p0: f32[32, 16, 3, 3], p1: f32[n0, 40, 40, 32], p2: f32[n0, 40, 40, 16], n0: symbol) for cpu {
  map i2_0 in 0:3:max(65536 // max(153600 * n0, 1), 1) @parallel {
    for i2 in i2_0:+max(65536 // max(153600 * n0, 1), 1) {
      local sums: f32[3, 16, 32] @worker
      for z0 in 0:3, z1 in 0:16 {
        map u in 0:32 @vector { sums[z0, z1, u] = 0.0 }
      }
      for i4 in 0:n0, i5_0 in 0:40:20 {
        local a: f32[20, 42, 16] @worker
        for q0 in 0:20, q1 in 0:42 {
          if i2 + i5_0 + q0 - 1 >= 0 && i2 + i5_0 + q0 - 1 < 40 && q1 - 1 >= 0 && q1 - 1 < 40 {
            map q2 in 0:16 @vector { a[q0, q1, q2] = p2[i4, i2 + i5_0 + q0 - 1, q1 - 1, q2] }
          } else {
            map q2 in 0:16 @vector { a[q0, q1, q2] = 0 }
          }
        }
        local b: f32[1, 800, 32] @worker
        for i5 in i5_0:+20, i6 in 0:40, i0_1 in 0:32:32 {
          map u in 0:32 @vector { b[i0_1 // 32, 40 * i5 - 40 * i5_0 + i6, u] = p1[i4, i5, i6, i0_1 + u] }
        }
        for i0_1 in 0:32:32, i3_1 in 0:3, i1_1 in 0:16:8 {
          local t: f32[1, 8, 32]
          map q in 0:1, r in 0:8 @unroll {
            map u in 0:32 @vector { t[q, r, u] = 0.0 }
          }
          for i5 in i5_0:+20, i6 in 0:40 {
            map q in 0:1, r in 0:8 @unroll {
              map u in 0:32 @vector {
                t[q, r, u] = fma(a[i5 - i5_0, i3_1 + i6 + q, i1_1 + r], b[i0_1 // 32, 40 * i5 - 40 * i5_0 + i6, u], t[q, r, u])
              }
            }
          }
          map q in 0:1, r in 0:8 @unroll {
            map u in 0:32 @vector { sums[i3_1 + q, i1_1 + r, i0_1 + u] += t[q, r, u] }
          }
        }
      }
      for u_0 in 0:32:16, u in u_0:+16, i3 in 0:3 {
        map i1 in 0:16 @vector { p0[u, i1, i2, i3] += sums[i3, i1, u] }
      }
    }
  }
})");
}

// Subsets say channel, line, point; strides say that channels lie innermost.
TEST(ChannelsSchedule, ChannelsByStrides) {
  ExpectPass(R"(
kernel strides(inout p0: f32[32, 14, 14] strides [1, 448, 32], p1: f32[8, 14, 14] strides [1, 112, 8], p2: f32[32, 8, 3, 3]) {
  map i0 in 0:32, i1 in 0:14, i2 in 0:14, i3 in 0:8, i4 in 0:3, i5 in 0:3 {
    p0[i0, i1, i2] += (p1[i3, i1 + i4 - 1, i2 + i5 - 1] ?? 0) * p2[i0, i3, i4, i5]
  }
})",
             "choose-schedule", R"(
kernel strides(
    inout p0: f32[32, 14, 14] strides [1, 448, 32],
    p1: f32[8, 14, 14] strides [1, 112, 8],
    p2: f32[32, 8, 3, 3]) for cpu {
  local a: f32[16, 16, 8] @worker
  for q0 in 0:16, q1 in 0:16 {
    if q0 - 1 >= 0 && q0 - 1 < 14 && q1 - 1 >= 0 && q1 - 1 < 14 {
      map q2 in 0:8 @vector { a[q0, q1, q2] = p1[q2, q0 - 1, q1 - 1] }
    } else {
      map q2 in 0:8 @vector { a[q0, q1, q2] = 0 }
    }
  }
  local b: f32[1, 72, 32] @worker
  for i0_1 in 0:32:32, i3 in 0:8, i4 in 0:3, i5 in 0:3 {
    map u in 0:32 @vector { b[i0_1 // 32, i3 + 24 * i4 + 8 * i5, u] = p2[i0_1 + u, i3, i4, i5] }
  }
  for i0_1 in 0:32:32, i1_1 in 0:14, i2_1 in 0:14:14 {
    local t: f32[1, 14, 32]
    map q in 0:1, r in 0:14 @unroll {
      map u in 0:32 @vector { t[q, r, u] = 0.0 }
    }
    for i4 in 0:3, i5 in 0:3, i3 in 0:8 {
      map q in 0:1, r in 0:14 @unroll {
        map u in 0:32 @vector {
          t[q, r, u] = fma(a[i1_1 + i4 + q, i2_1 + i5 + r, i3], b[i0_1 // 32, i3 + 24 * i4 + 8 * i5, u], t[q, r, u])
        }
      }
    }
    map q in 0:1, r in 0:14 @unroll {
      map u in 0:32 @vector { p0[i0_1 + u, i1_1 + q, i2_1 + r] += t[q, r, u] }
    }
  }
})");
}

// A gradient by the data of a convolution with steps, each phase for itself: too few points for packing the other side for each
// channel. It is a product of channels.
TEST(ChannelsSchedule, PhasesAreProducts) {
  ExpectPass(R"(
kernel phases(P: f32[n0, 1, 64, 2, 2, 29, 29], G: f32[n0, 128, 28, 28], W: f32[128, 64, 3, 3], n0: symbol) {
  map i0 in 0:n0, i1 in 0:64, i2 in 0:2, i3 in 0:2, i4 in 0:29, i5 in 0:29 {
    P[i0, 0, i1, i2, i3, i4, i5] = 0
    map i6 in 0:128, i7 in 0:2, i8 in 0:2 {
      P[i0, 0, i1, i2, i3, i4, i5] += (i4 - i7 >= 0 && i4 - i7 < 28 && i5 - i8 >= 0 && i5 - i8 < 28 ? G[i0, i6, i4 - i7, i5 - i8] : 0) * (i2 + 2 * i7 < 3 && i3 + 2 * i8 < 3 ? W[i6, i1, i2 + 2 * i7, i3 + 2 * i8] : 0)
    }
  }
})",
             "choose-schedule", R"(
kernel phases(
    P: f32[n0, 1, 64, 2, 2, 29, 29],
    G: f32[n0, 128, 28, 28],
    W: f32[128, 64, 3, 3],
    n0: symbol) for cpu {
  view v: f32[2, 2, n0, 64, 841] of P strides [1682, 841, 215296, 3364, 1]
  map i2_0 in 0:2:max(65536 // max(3444736 * n0, 1), 1), i3_0 in 0:2:max(65536 // max(1722368 * n0, 1), 1), i0 in 0:n0 @parallel {
    for i2 in i2_0:+max(65536 // max(3444736 * n0, 1), 1), i3 in i3_0:+max(65536 // max(1722368 * n0, 1), 1) {
      local b: f32[512, 864] @worker
      for i6 in 0:128, i7 in 0:2, i8 in 0:2, i4 in 0:29 {
        for i5 in 0:min(max(i8, 0), 29) {
          b[4 * i6 + 2 * i7 + i8, 29 * i4 + i5] = i4 - i7 >= 0 && i4 - i7 < 28 && i5 - i8 >= 0 && i5 - i8 < 28 ? G[i0, i6, i4 - i7, i5 - i8] : 0
        }
        map i5 in max(i8, 0):min(i8 + 28, 29) @vector {
          b[4 * i6 + 2 * i7 + i8, 29 * i4 + i5] = i4 - i7 >= 0 && i4 - i7 < 28 ? G[i0, i6, i4 - i7, i5 - i8] : 0
        }
        for i5 in max(min(i8 + 28, 29), min(max(i8, 0), 29)):29 {
          b[4 * i6 + 2 * i7 + i8, 29 * i4 + i5] = i4 - i7 >= 0 && i4 - i7 < 28 && i5 - i8 >= 0 && i5 - i8 < 28 ? G[i0, i6, i4 - i7, i5 - i8] : 0
        }
      }
      for d in 0:512 {
        map u in 841:864 @vector { b[d, u] = 0.0 }
      }
      local a: f32[8, 512, 8] @worker
      for i1_1 in 0:64:8 {
        for i6 in 0:128, i7 in 0:2, i8 in 0:2 {
          map r in 0:8 @vector {
            a[i1_1 // 8, 4 * i6 + 2 * i7 + i8, r] = i2 + 2 * i7 < 3 && i3 + 2 * i8 < 3 ? W[i6, i1_1 + r, i2 + 2 * i7, i3 + 2 * i8] : 0
          }
        }
      }
      for i5_1 in 0:841:32, i1_1 in 0:64:8 {
        local t: f32[8, 32]
        map r in 0:8 @unroll {
          map u in 0:32 @vector { t[r, u] = 0.0 }
        }
        for d in 0:512 {
          map r in 0:8 @unroll {
            map u in 0:32 @vector { t[r, u] = fma(a[i1_1 // 8, d, r], b[d, i5_1 + u], t[r, u]) }
          }
        }
        if i5_1 + 32 <= 841 {
          map r in 0:8 @unroll {
            map u in 0:32 @vector { v[i2, i3, i0, i1_1 + r, i5_1 + u] = t[r, u] }
          }
        } else {
          for r in 0:8 {
            map u in 0:min(841 - i5_1, 32) @vector { v[i2, i3, i0, i1_1 + r, i5_1 + u] = t[r, u] }
          }
        }
      }
    }
  }
})");
}

// Weights that memory runs across are turned by squares: here of the places of a window, which go down, and are 16 apart in a panel.
TEST(ChannelsSchedule, PanelsBySquares) {
  ExpectPass(R"(
kernel conv(
    p0: f32[N, 32, 7, 7] layout [d0, d2, d3, d1],
    p1: f32[N, 32, 7, 7] layout [d0, d2, d3, d1],
    p2: f32[32, 32, 7, 7],
    N: symbol) {
  assume 1 <= N
  map n in 0:N, c in 0:32, p in 0:7, q in 0:7 {
    p0[n, c, p, q] = 0.0
    map o in 0:32, k in 0:7, l in 0:7 { p0[n, c, p, q] += (p1[n, o, p + k - 3, q + l - 3] ?? 0.0) * p2[o, c, 6 - k, 6 - l] }
  }
})",
             "choose-schedule", R"(
kernel conv(
    p0: f32[N, 32, 7, 7] layout [d0, d2, d3, d1],
    p1: f32[N, 32, 7, 7] layout [d0, d2, d3, d1],
    p2: f32[32, 32, 7, 7],
    N: symbol) for cpu {
  assume 1 <= N
  view w: f32[32, 32, 49] of p2
  map n in 0:N @parallel {
    local sums: f32[7, 7, 32] @worker
    for z0 in 0:7, z1 in 0:7 {
      map u in 0:32 @vector { sums[z0, z1, u] = 0.0 }
    }
    for o_0 in 0:32:16 {
      local a: f32[13, 13, 16] @worker
      for q0 in 0:13, q1 in 0:13 {
        if q0 - 3 >= 0 && q0 - 3 < 7 && q1 - 3 >= 0 && q1 - 3 < 7 {
          map q2 in 0:16 @vector { a[q0, q1, q2] = p1[n, o_0 + q2, q0 - 3, q1 - 3] }
        } else {
          map q2 in 0:16 @vector { a[q0, q1, q2] = 0.0 }
        }
      }
      local b: f32[1, 784, 32] @worker
      for c_1 in 0:32:32 {
        for c_2 in 0:32:16, o in o_0:+16, at in 0:49:16 {
          if at + 16 <= 49 {
            map line in 0:16 @unroll {
              map u in 0:16 @vector {
                b[c_1 // 32, o - 16 * at - 16 * line - o_0 + 768, c_2 + u] = w[o, c_1 + c_2 + u, at + line]
              }
            }
          } else {
            for one in at:+16 {
              map u in 0:16 @vector {
                b[c_1 // 32, o - o_0 - 16 * one + 768, c_2 + u] = w[o, c_1 + c_2 + u, one]
              }
            }
          }
        }
      }
      for c_1 in 0:32:32, p_1 in 0:7:2, q_1 in 0:7:7 {
        if p_1 + 2 <= 7 {
          local t: f32[2, 7, 32]
          map q_2 in 0:2, r in 0:7 @unroll {
            map u in 0:32 @vector { t[q_2, r, u] = 0.0 }
          }
          for k in 0:7, l in 0:7, o in o_0:+16 {
            map q_2 in 0:2, r in 0:7 @unroll {
              map u in 0:32 @vector {
                t[q_2, r, u] = fma(a[k + p_1 + q_2, l + q_1 + r, o - o_0], b[c_1 // 32, 112 * k + 16 * l + o - o_0, u], t[q_2, r, u])
              }
            }
          }
          map q_2 in 0:2, r in 0:7 @unroll {
            map u in 0:32 @vector { sums[p_1 + q_2, q_1 + r, c_1 + u] += t[q_2, r, u] }
          }
        } else {
          local t_1: f32[1, 7, 32]
          map q_2 in 0:1, r in 0:7 @unroll {
            map u in 0:32 @vector { t_1[q_2, r, u] = 0.0 }
          }
          for k in 0:7, l in 0:7, o in o_0:+16 {
            map q_2 in 0:1, r in 0:7 @unroll {
              map u in 0:32 @vector {
                t_1[q_2, r, u] = fma(a[k + p_1 + q_2, l + q_1 + r, o - o_0], b[c_1 // 32, 112 * k + 16 * l + o - o_0, u], t_1[q_2, r, u])
              }
            }
          }
          map q_2 in 0:1, r in 0:7 @unroll {
            map u in 0:32 @vector { sums[p_1 + q_2, q_1 + r, c_1 + u] += t_1[q_2, r, u] }
          }
        }
      }
    }
    for p in 0:7, q in 0:7 {
      map u in 0:32 @vector { p0[n, u, p, q] = sums[p, q, u] }
    }
  }
})");
}

// Weights that are a part of what lies in memory are no array whose dimensions could be one.
TEST(ChannelsSchedule, PanelsOfStridedWeights) {
  Program p = *ParseProgram(
      "kernel conv(inout p0: f32[5, 6, 32], p1: f32[11, 12, 8], p2: f32[32, 500]) {\n  view w: f32[32, 8, 7, 7] of p2 strides [500, 49, 7, 1]\n"
      "  map y in 0:5, x in 0:6, o in 0:32, k in 0:7, l in 0:7, c in 0:8 { p0[y, x, o] += p1[y + k, x + l, c] * w[o, c, k, l] }\n}\n");
  ASSERT_TRUE(RunPipeline(TestRegistry(), "choose-schedule{device=cpu}", p).ok());
  EXPECT_NE(Print(p).find("b[o_1 // 32, c + 56 * k + 8 * l, u] = w[o_1 + u, c, k, l]"), std::string::npos) << Print(p);
}

// Channels are shared out, too.
TEST(ChannelsSchedule, OfABatchThatMayBeOneImage) {
  ExpectPass(R"(
kernel conv(
    p0: f32[N, 240, 28, 28] layout [d0, d2, d3, d1],
    p1: f32[N, 40, 28, 28] layout [d0, d2, d3, d1],
    p2: f32[240, 40, 1, 1] layout [d2, d3, d1, d0],
    N: symbol) {
  assume 1 <= N
  map n in 0:N, o in 0:240, p in 0:28, q in 0:28 {
    p0[n, o, p, q] = 0.0
    map c in 0:40 { p0[n, o, p, q] += p1[n, c, p, q] * p2[o, c, 0, 0] }
  }
})",
             "choose-schedule", R"(
kernel conv(
    p0: f32[N, 240, 28, 28] layout [d0, d2, d3, d1],
    p1: f32[N, 40, 28, 28] layout [d0, d2, d3, d1],
    p2: f32[240, 40, 1, 1] layout [d2, d3, d1, d0],
    N: symbol) for cpu {
  assume 1 <= N
  view v: f32[N, 240, 784] of p0 strides [188160, 1, 240]
  view v_1: f32[N, 40, 784] of p1 strides [31360, 1, 40]
  map n in 0:N, o_0 in 0:240:64 @parallel {
    local b: f32[2, 40, 32] @worker
    for c in 0:40, o_1 in o_0:+64:32 {
      if o_1 + 32 <= 240 {
        map u in 0:32 @vector { b[(o_1 - o_0) // 32, c, u] = p2[o_1 + u, c, 0, 0] }
      } else {
        map u in 0:16 @vector { b[(o_1 - o_0) // 32, c, u] = p2[o_1 + u, c, 0, 0] }
        map u in 16:32 @vector { b[(o_1 - o_0) // 32, c, u] = 0.0 }
      }
    }
    for o_1 in o_0:+64:32, p_1 in 0:784:14 {
      local t: f32[1, 14, 32]
      map q_1 in 0:1, r in 0:14 @unroll {
        map u in 0:32 @vector { t[q_1, r, u] = 0.0 }
      }
      for c in 0:40 {
        map q_1 in 0:1, r in 0:14 @unroll {
          map u in 0:32 @vector {
            t[q_1, r, u] = fma(v_1[n, c, p_1 + r], b[(o_1 - o_0) // 32, c, u], t[q_1, r, u])
          }
        }
      }
      if o_1 + 32 <= 240 {
        map q_1 in 0:1, r in 0:14 @unroll {
          map u in 0:32 @vector { v[n, o_1 + u, p_1 + r] = t[q_1, r, u] }
        }
      } else {
        map q_1 in 0:1, r in 0:14 @unroll {
          map u in 0:16 @vector { v[n, o_1 + u, p_1 + r] = t[q_1, r, u] }
        }
      }
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
