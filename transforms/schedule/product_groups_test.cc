// Products whose factors the device multiplies in groups.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Rows are read where they lie, two elements at a time; columns are packed with such two side by side.
TEST(ProductGroups, PairsOfBf16) {
  ExpectPass(R"(
kernel k(inout p0: f32[96, 64], p1: bf16[96, 300], p2: bf16[300, 64]) {
  map i0 in 0:96, i1 in 0:64, i2 in 0:300 { p0[i0, i1] += p1[i0, i2] * p2[i2, i1] }
})",
             "choose-schedule{device=cpu_bf16}", R"(
kernel k(inout p0: f32[96, 64], p1: bf16[96, 300], p2: bf16[300, 64]) for cpu {
  local b: bf16[2, 150, 32, 2] @worker
  for i2_2 in 0:150 {
    for i1_2 in 0:64:32 {
      map i1 in i1_2:+32 @vector {
        b[i1_2 // 32, i2_2, i1 - i1_2, 0] = p2[2 * i2_2, i1]
        b[i1_2 // 32, i2_2, i1 - i1_2, 1] = p2[2 * i2_2 + 1, i1]
      }
    }
  }
  for i0_1 in 0:96:12, i1_1 in 0:64:32 {
    local t: f32[12, 32]
    map r in 0:12 @unroll {
      map u in 0:32 @vector { t[r, u] = 0.0 }
    }
    for d in 0:150 {
      map r in 0:12 @unroll {
        map u in 0:32 @vector {
          t[r, u] = dot2(p1[i0_1 + r, 2 * d], b[i1_1 // 32, d, u, 0], p1[i0_1 + r, 2 * d + 1], b[i1_1 // 32, d, u, 1], t[r, u])
        }
      }
    }
    map r in 0:12 @unroll {
      map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
    }
  }
})");
}

// The last pair of an odd depth has a zero; then rows are packed, too.
TEST(ProductGroups, OddDepth) {
  ExpectPass(R"(
kernel k(inout p0: f32[24, 40], p1: bf16[24, 31], p2: bf16[31, 40]) {
  map i0 in 0:24, i1 in 0:40, i2 in 0:31 { p0[i0, i1] += p1[i0, i2] * p2[i2, i1] }
})",
             "choose-schedule{device=cpu_bf16}", R"(
kernel k(inout p0: f32[24, 40], p1: bf16[24, 31], p2: bf16[31, 40]) for cpu {
  local b: bf16[2, 16, 32, 2] @worker
  for d in 0:16 {
    map u in 0:32 @vector {
      b[1, d, u, 0] = 0.0
      b[1, d, u, 1] = 0.0
    }
  }
  for i2_2 in 0:15 {
    for i1_2 in 0:40:32 {
      map i1 in i1_2:+32 @vector {
        b[i1_2 // 32, i2_2, i1 - i1_2, 0] = p2[2 * i2_2, i1]
        b[i1_2 // 32, i2_2, i1 - i1_2, 1] = p2[2 * i2_2 + 1, i1]
      }
    }
  }
  for i2 in 30:31 {
    for i1_2 in 0:40:32 {
      map i1 in i1_2:+32 @vector { b[i1_2 // 32, i2 // 2, i1 - i1_2, i2 % 2] = p2[i2, i1] }
    }
  }
  for q in 0:2 {
    for d in 31:32 {
      map u in 0:32 @vector { b[q, d // 2, u, d % 2] = 0.0 }
    }
  }
  for i0_1 in 0:24:12 {
    local a: bf16[16, 12, 2] @worker
    for r in 0:12 {
      map i2_2 in 0:15 @vector {
        a[i2_2, r, 0] = p1[i0_1 + r, 2 * i2_2]
        a[i2_2, r, 1] = p1[i0_1 + r, 2 * i2_2 + 1]
      }
    }
    for r in 0:12 {
      map i2 in 30:31 @vector { a[i2 // 2, r, i2 % 2] = p1[i0_1 + r, i2] }
    }
    for d in 31:32 {
      map r in 0:12 @vector { a[d // 2, r, d % 2] = 0.0 }
    }
    for i1_1 in 0:40:32 {
      local t: f32[12, 32]
      map r in 0:12 @unroll {
        map u in 0:32 @vector { t[r, u] = 0.0 }
      }
      for d in 0:16 {
        map r in 0:12 @unroll {
          map u in 0:32 @vector {
            t[r, u] = dot2(a[d, r, 0], b[i1_1 // 32, d, u, 0], a[d, r, 1], b[i1_1 // 32, d, u, 1], t[r, u])
          }
        }
      }
      if i1_1 + 32 <= 40 {
        map r in 0:12 @unroll {
          map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
        }
      } else {
        for r in 0:12 {
          map u in i1_1:+32 @vector { p0[i0_1 + r, u] += t[r, u - i1_1] }
        }
      }
    }
  }
})");
}

// Columns that memory runs across: pairs are turned by squares, as numbers are; a last term that fills no pair goes by itself.
TEST(ProductGroups, ColumnsBySquares) {
  ExpectPass(R"(
kernel k(inout p0: f32[24, 64], p1: bf16[24, 71], p2: bf16[64, 71]) {
  map i0 in 0:24, i1 in 0:64, i2 in 0:71 { p0[i0, i1] += f32(p1[i0, i2]) * f32(p2[i1, i2]) }
})",
             "choose-schedule{device=cpu_bf16}", R"(
kernel k(inout p0: f32[24, 64], p1: bf16[24, 71], p2: bf16[64, 71]) for cpu {
  local b: bf16[2, 36, 32, 2] @worker
  for i1_2 in 0:64:16 {
    for i2_2_2 in 0:35:16 {
      if i2_2_2 + 16 <= 35 {
        map r in 0:16 @unroll {
          map u in 0:16 @vector {
            b[i1_2 // 32, i2_2_2 + r, u + i1_2 % 32, 0] = p2[i1_2 + u, 2 * i2_2_2 + 2 * r]
            b[i1_2 // 32, i2_2_2 + r, u + i1_2 % 32, 1] = p2[i1_2 + u, 2 * i2_2_2 + 2 * r + 1]
          }
        }
      } else {
        for i2_2 in i2_2_2:+16 {
          map u in 0:16 @vector {
            b[i1_2 // 32, i2_2, u + i1_2 % 32, 0] = p2[i1_2 + u, 2 * i2_2]
            b[i1_2 // 32, i2_2, u + i1_2 % 32, 1] = p2[i1_2 + u, 2 * i2_2 + 1]
          }
        }
      }
    }
  }
  for i1_2 in 0:64:16 {
    for i2 in 70:71 {
      map i1 in i1_2:+16 @vector { b[i1_2 // 32, i2 // 2, i1 - i1_2 + i1_2 % 32, i2 % 2] = p2[i1, i2] }
    }
  }
  for q in 0:2 {
    for d in 71:72 {
      map u in 0:32 @vector { b[q, d // 2, u, d % 2] = 0.0 }
    }
  }
  for i0_1 in 0:24:12 {
    local a: bf16[36, 12, 2] @worker
    for r in 0:12 {
      map i2_2 in 0:35 @vector {
        a[i2_2, r, 0] = p1[i0_1 + r, 2 * i2_2]
        a[i2_2, r, 1] = p1[i0_1 + r, 2 * i2_2 + 1]
      }
    }
    for r in 0:12 {
      map i2 in 70:71 @vector { a[i2 // 2, r, i2 % 2] = p1[i0_1 + r, i2] }
    }
    for d in 71:72 {
      map r in 0:12 @vector { a[d // 2, r, d % 2] = 0.0 }
    }
    for i1_1 in 0:64:32 {
      local t: f32[12, 32]
      map r in 0:12 @unroll {
        map u in 0:32 @vector { t[r, u] = 0.0 }
      }
      for d in 0:36 {
        map r in 0:12 @unroll {
          map u in 0:32 @vector {
            t[r, u] = dot2(a[d, r, 0], b[i1_1 // 32, d, u, 0], a[d, r, 1], b[i1_1 // 32, d, u, 1], t[r, u])
          }
        }
      }
      map r in 0:12 @unroll {
        map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
      }
    }
  }
})");
}

// What becomes a bf16 for the product becomes one while it is packed.
TEST(ProductGroups, RoundedFactors) {
  ExpectPass(R"(
kernel k(inout p0: f32[24, 32], p1: f32[24, n0], p2: f32[32, n0], n0: symbol) {
  assume 8 <= n0
  map i0 in 0:24, i1 in 0:32, i2 in 0:n0 { p0[i0, i1] += bf16(p1[i0, i2]) * bf16(p2[i1, i2]) }
})",
             "choose-schedule{device=cpu_bf16}", R"(
kernel k(inout p0: f32[24, 32], p1: f32[24, n0], p2: f32[32, n0], n0: symbol) for cpu {
  assume 8 <= n0
  for i2_0 in 0:n0:512 {
    local b: bf16[256, 32, 2] @worker
    for i1_2 in 0:32:16 {
      for i2_2 in 0:min(n0 - i2_0, 512) // 2 {
        map i1 in i1_2:+16 @vector {
          b[i2_2, i1, 0] = bf16(p2[i1, i2_0 + 2 * i2_2])
          b[i2_2, i1, 1] = bf16(p2[i1, i2_0 + 2 * i2_2 + 1])
        }
      }
    }
    for i1_2 in 0:32:16 {
      for i2 in i2_0 + 2 * (min(n0 - i2_0, 512) // 2):min(n0, i2_0 + 512) {
        map i1 in i1_2:+16 @vector { b[(i2 - i2_0) // 2, i1, (i2 - i2_0) % 2] = bf16(p2[i1, i2]) }
      }
    }
    for d in min(n0 - i2_0, 512):2 * ((min(n0 - i2_0, 512) + 1) // 2) {
      map u in 0:32 @vector { b[d // 2, u, d % 2] = 0.0 }
    }
    for i0_1 in 0:24:12 {
      local a: bf16[256, 12, 2] @worker
      for r in 0:12 {
        map i2_2 in 0:min(n0 - i2_0, 512) // 2 @vector {
          a[i2_2, r, 0] = bf16(p1[i0_1 + r, i2_0 + 2 * i2_2])
          a[i2_2, r, 1] = bf16(p1[i0_1 + r, i2_0 + 2 * i2_2 + 1])
        }
      }
      for r in 0:12 {
        map i2 in i2_0 + 2 * (min(n0 - i2_0, 512) // 2):min(n0, i2_0 + 512) @vector {
          a[(i2 - i2_0) // 2, r, (i2 - i2_0) % 2] = bf16(p1[i0_1 + r, i2])
        }
      }
      for d in min(n0 - i2_0, 512):2 * ((min(n0 - i2_0, 512) + 1) // 2) {
        map r in 0:12 @vector { a[d // 2, r, d % 2] = 0.0 }
      }
      for i1_1 in 0:32:32 {
        local t: f32[12, 32]
        map r in 0:12 @unroll {
          map u in 0:32 @vector { t[r, u] = 0.0 }
        }
        for d in 0:(min(n0 - i2_0, 512) + 1) // 2 {
          map r in 0:12 @unroll {
            map u in 0:32 @vector {
              t[r, u] = dot2(a[d, r, 0], b[d, i1_1 + u, 0], a[d, r, 1], b[d, i1_1 + u, 1], t[r, u])
            }
          }
        }
        map r in 0:12 @unroll {
          map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
        }
      }
    }
  }
})");
}

// A device without such an instruction multiplies as f32.
TEST(ProductGroups, NoneWithoutTheInstruction) {
  ExpectPass(R"(
kernel k(inout p0: f32[12, 32], p1: bf16[12, 30], p2: bf16[30, 32]) {
  map i0 in 0:12, i1 in 0:32, i2 in 0:30 { p0[i0, i1] += p1[i0, i2] * p2[i2, i1] }
})",
             "choose-schedule", R"(
kernel k(inout p0: f32[12, 32], p1: bf16[12, 30], p2: bf16[30, 32]) for cpu {
  local b: f32[30, 32] @worker
  for i2 in 0:30 {
    map i1 in 0:32 @vector { b[i2, i1] = p2[i2, i1] }
  }
  for i0_1 in 0:12:12 {
    local a: f32[12, 30] @worker
    for r in 0:12 {
      map i2 in 0:30 @vector { a[r, i2] = p1[i0_1 + r, i2] }
    }
    for i1_1 in 0:32:32 {
      local t: f32[12, 32]
      map r in 0:12 @unroll {
        map u in 0:32 @vector { t[r, u] = 0.0 }
      }
      for d in 0:30 {
        map r in 0:12 @unroll {
          map u in 0:32 @vector { t[r, u] = fma(a[r, d], b[d, i1_1 + u], t[r, u]) }
        }
      }
      map r in 0:12 @unroll {
        map u in 0:32 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
      }
    }
  }
})");
}

// Unsigned by signed bytes are added up in fours.
TEST(ProductGroups, FoursOfBytes) {
  ExpectPass(R"(
kernel k(inout p0: i32[12, 16], p1: u8[12, 64], p2: i8[64, 16]) {
  map i0 in 0:12, i1 in 0:16, i2 in 0:64 { p0[i0, i1] += i32(p1[i0, i2]) * i32(p2[i2, i1]) }
})",
             "choose-schedule{device=cpu_vnni}", R"(
kernel k(inout p0: i32[12, 16], p1: u8[12, 64], p2: i8[64, 16]) for cpu {
  local b: i8[16, 16, 4] @worker
  for i2_2 in 0:16 {
    map i1 in 0:16 @vector {
      b[i2_2, i1, 0] = p2[4 * i2_2, i1]
      b[i2_2, i1, 1] = p2[4 * i2_2 + 1, i1]
      b[i2_2, i1, 2] = p2[4 * i2_2 + 2, i1]
      b[i2_2, i1, 3] = p2[4 * i2_2 + 3, i1]
    }
  }
  for i0_1 in 0:12:12, i1_1 in 0:16:16 {
    local t: i32[12, 16]
    map r in 0:12 @unroll {
      map u in 0:16 @vector { t[r, u] = 0 }
    }
    for d in 0:16 {
      map r in 0:12 @unroll {
        map u in 0:16 @vector {
          t[r, u] = dot4(p1[i0_1 + r, 4 * d], b[d, i1_1 + u, 0], p1[i0_1 + r, 4 * d + 1], b[d, i1_1 + u, 1], p1[i0_1 + r, 4 * d + 2], b[d, i1_1 + u, 2], p1[i0_1 + r, 4 * d + 3], b[d, i1_1 + u, 3], t[r, u])
        }
      }
    }
    map r in 0:12 @unroll {
      map u in 0:16 @vector { p0[i0_1 + r, i1_1 + u] += t[r, u] }
    }
  }
})");
}

// Convolutions whose channels lie innermost take pairs of these.
TEST(ProductGroups, PairsOfChannels) {
  ExpectPass(R"(
kernel k(inout p0: f32[6, 8, 32], p1: bf16[8, 10, 16], p2: bf16[3, 3, 16, 32]) {
  map i0 in 0:6, i1 in 0:8, i2 in 0:32, i3 in 0:3, i4 in 0:3, i5 in 0:16 {
    p0[i0, i1, i2] += p1[i0 + i3, i1 + i4, i5] * p2[i3, i4, i5, i2]
  }
})",
             "choose-schedule{device=cpu_bf16}", R"(
kernel k(inout p0: f32[6, 8, 32], p1: bf16[8, 10, 16], p2: bf16[3, 3, 16, 32]) for cpu {
  local b: bf16[1, 72, 32, 2] @worker
  for i3 in 0:3, i4 in 0:3, i5_2 in 0:8, i2_1 in 0:32:32 {
    map u in 0:32 @vector {
      b[i2_1 // 32, 24 * i3 + 8 * i4 + i5_2, u, 0] = p2[i3, i4, 2 * i5_2, i2_1 + u]
      b[i2_1 // 32, 24 * i3 + 8 * i4 + i5_2, u, 1] = p2[i3, i4, 2 * i5_2 + 1, i2_1 + u]
    }
  }
  for i2_1 in 0:32:32, i0_1 in 0:6, i1_1 in 0:8:8 {
    local t: f32[1, 8, 32]
    map q in 0:1, r in 0:8 @unroll {
      map u in 0:32 @vector { t[q, r, u] = 0.0 }
    }
    for i3 in 0:3, i4 in 0:3, i5_2 in 0:8 {
      map q in 0:1, r in 0:8 @unroll {
        map u in 0:32 @vector {
          t[q, r, u] = dot2(p1[i0_1 + i3 + q, i1_1 + i4 + r, 2 * i5_2], b[i2_1 // 32, 24 * i3 + 8 * i4 + i5_2, u, 0], p1[i0_1 + i3 + q, i1_1 + i4 + r, 2 * i5_2 + 1], b[i2_1 // 32, 24 * i3 + 8 * i4 + i5_2, u, 1], t[q, r, u])
        }
      }
    }
    map q in 0:1, r in 0:8 @unroll {
      map u in 0:32 @vector { p0[i0_1 + q, i1_1 + r, i2_1 + u] += t[q, r, u] }
    }
  }
})");
}

// Gradients of weights take pairs of places: each of the data has the next one's beside it, and may be alone at the border.
TEST(ProductGroups, PairsOfPlaces) {
  ExpectPass(R"(
kernel k(inout p0: f32[32, 16, 3, 3], p1: bf16[n0, 6, 6, 32], p2: bf16[n0, 6, 6, 16], n0: symbol) {
  map i0 in 0:32, i1 in 0:16, i2 in 0:3, i3 in 0:3, i4 in 0:n0, i5 in 0:6, i6 in 0:6 {
    p0[i0, i1, i2, i3] += f32(p1[i4, i5, i6, i0]) * f32(p2[i4, i5 + i2 - 1, i6 + i3 - 1, i1] ?? 0)
  }
})",
             "choose-schedule{device=cpu_bf16}", R"(
kernel k(inout p0: f32[32, 16, 3, 3], p1: bf16[n0, 6, 6, 32], p2: bf16[n0, 6, 6, 16], n0: symbol) for cpu {
  map i2_0 in 0:3:max(65536 // max(1728 * n0, 1), 1) @parallel {
    for i2 in i2_0:+max(65536 // max(1728 * n0, 1), 1) {
      local sums: f32[3, 16, 32] @worker
      for z0 in 0:3, z1 in 0:16 {
        map u in 0:32 @vector { sums[z0, z1, u] = 0.0 }
      }
      for i4 in 0:n0 {
        local a: bf16[6, 7, 16, 2] @worker
        for q0 in 0:6, q1 in 0:7 {
          if i2 + q0 - 1 >= 0 && i2 + q0 - 1 < 6 && q1 - 1 >= 0 && q1 - 1 < 6 && q1 >= 0 && q1 < 6 {
            map q2 in 0:16 @vector {
              a[q0, q1, q2, 0] = p2[i4, i2 + q0 - 1, q1 - 1, q2]
              a[q0, q1, q2, 1] = p2[i4, i2 + q0 - 1, q1, q2]
            }
          } else {
            if i2 + q0 - 1 >= 0 && i2 + q0 - 1 < 6 && q1 - 1 >= 0 && q1 - 1 < 6 {
              map q2 in 0:16 @vector { a[q0, q1, q2, 0] = p2[i4, i2 + q0 - 1, q1 - 1, q2] }
            } else {
              map q2 in 0:16 @vector { a[q0, q1, q2, 0] = 0 }
            }
            if i2 + q0 - 1 >= 0 && i2 + q0 - 1 < 6 && q1 >= 0 && q1 < 6 {
              map q2 in 0:16 @vector { a[q0, q1, q2, 1] = p2[i4, i2 + q0 - 1, q1, q2] }
            } else {
              map q2 in 0:16 @vector { a[q0, q1, q2, 1] = 0 }
            }
          }
        }
        local b: bf16[1, 18, 32, 2] @worker
        for i5 in 0:6, i6_2 in 0:3, i0_1 in 0:32:32 {
          map u in 0:32 @vector {
            b[i0_1 // 32, 3 * i5 + i6_2, u, 0] = p1[i4, i5, 2 * i6_2, i0_1 + u]
            b[i0_1 // 32, 3 * i5 + i6_2, u, 1] = p1[i4, i5, 2 * i6_2 + 1, i0_1 + u]
          }
        }
        for i0_1 in 0:32:32, i3_1 in 0:3, i1_1 in 0:16:8 {
          local t: f32[1, 8, 32]
          map q in 0:1, r in 0:8 @unroll {
            map u in 0:32 @vector { t[q, r, u] = 0.0 }
          }
          for i5 in 0:6, i6_2 in 0:3 {
            map q in 0:1, r in 0:8 @unroll {
              map u in 0:32 @vector {
                t[q, r, u] = dot2(a[i5, i3_1 + 2 * i6_2 + q, i1_1 + r, 0], b[i0_1 // 32, 3 * i5 + i6_2, u, 0], a[i5, i3_1 + 2 * i6_2 + q, i1_1 + r, 1], b[i0_1 // 32, 3 * i5 + i6_2, u, 1], t[q, r, u])
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

// Nor are products in pairs where they are rounded between, or of other types.
TEST(ProductGroups, NoneOfOtherFactors) {
  for (const char* factors : {"p1[i0, i2] * f32(p2[i2, i1])", "bf16(p1[i0, i2]) * bf16(p1[i0, i2]) * p2[i2, i1]"}) {
    const std::string text = std::string("kernel k(inout p0: f32[12, 32], p1: f32[12, 30], p2: bf16[30, 32]) { map i0 in 0:12, i1 in 0:32, "
                                         "i2 in 0:30 { p0[i0, i1] += ") + factors + " } }";
    EXPECT_EQ(Transformed(text, "choose-schedule{device=cpu_bf16}").find("dot2"), std::string::npos);
  }
}

}  // namespace
}  // namespace headrace::transforms
