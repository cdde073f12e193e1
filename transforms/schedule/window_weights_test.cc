// Gradients of the weights of depthwise convolutions whose channels lie innermost in memory.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Parts of the lines for threads, which are added up in order; borders ask for each place of the window.
TEST(WindowWeights, Stride) {
  ExpectPass(R"(
kernel weights(
    inout p0: f32[32, 1, 3, 3],
    p1: f32[N, 32, 28, 28] layout [d0, d2, d3, d1],
    p2: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    N: symbol) {
  assume 1 <= N
  map c in 0:32, k in 0:3, l in 0:3, n in 0:N, y in 0:28, x in 0:28 {
    p0[c, 0, k, l] += p1[n, c, y, x] * (k + 2 * y - 1 >= 0 && l + 2 * x - 1 >= 0 ? p2[n, c, k + 2 * y - 1, l + 2 * x - 1] : 0)
  }
})",
             "choose-schedule", R"(
kernel weights(
    inout p0: f32[32, 1, 3, 3],
    p1: f32[N, 32, 28, 28] layout [d0, d2, d3, d1],
    p2: f32[N, 32, 56, 56] layout [d0, d2, d3, d1],
    N: symbol) for cpu {
  assume 1 <= N
  local partial: f32[6, 3, 3, 32] @worker
  map part_0 in 0:6 @parallel {
    local sums: f32[3, 3, 32]
    for k in 0:3, l in 0:3 {
      map u in 0:32 @vector { sums[k, l, u] = 0.0 }
    }
    for n in 0:N, y in 5 * part_0:min(5 * part_0 + 5, 28), k in 0:3 {
      if k + 2 * y - 1 >= 0 {
        for x in 0:1, l in 0:3 {
          if l + 2 * x - 1 >= 0 {
            map u in 0:32 @vector {
              sums[k, l, u] = fma(p1[n, u, y, x], p2[n, u, k + 2 * y - 1, l + 2 * x - 1], sums[k, l, u])
            }
          } else {
            map u in 0:32 @vector { sums[k, l, u] = fma(p1[n, u, y, x], 0, sums[k, l, u]) }
          }
        }
        local t: f32[3, 32]
        map l in 0:3 @unroll {
          map u in 0:32 @vector { t[l, u] = 0.0 }
        }
        for x in 1:28 {
          map l in 0:3 @unroll {
            map u in 0:32 @vector {
              t[l, u] = fma(p1[n, u, y, x], p2[n, u, k + 2 * y - 1, l + 2 * x - 1], t[l, u])
            }
          }
        }
        map l in 0:3 @unroll {
          map u in 0:32 @vector { sums[k, l, u] += t[l, u] }
        }
      } else {
        for x in 0:1, l in 0:3 {
          map u in 0:32 @vector { sums[k, l, u] = fma(p1[n, u, y, x], 0, sums[k, l, u]) }
        }
        local t_1: f32[3, 32]
        map l in 0:3 @unroll {
          map u in 0:32 @vector { t_1[l, u] = 0.0 }
        }
        for x in 1:28 {
          map l in 0:3 @unroll {
            map u in 0:32 @vector { t_1[l, u] = fma(p1[n, u, y, x], 0, t_1[l, u]) }
          }
        }
        map l in 0:3 @unroll {
          map u in 0:32 @vector { sums[k, l, u] += t_1[l, u] }
        }
      }
    }
    for k in 0:3, l in 0:3 {
      map u in 0:32 @vector { partial[part_0, k, l, u] = sums[k, l, u] }
    }
  }
  for k in 0:3, l in 0:3 {
    local sums_1: f32[32]
    map c in 0:32 @vector { sums_1[c] = 0.0 }
    for part_1 in 0:6 {
      map c in 0:32 @vector { sums_1[c] += partial[part_1, k, l, c] }
    }
    map c in 0:32 @vector { p0[c, 0, k, l] += sums_1[c] }
  }
})");
}

// More channels than are summed side by side: their parts are added up some at a time.
TEST(WindowWeights, ManyChannels) {
  ExpectPass(R"(
kernel weights(
    inout p0: f32[320, 1, 3, 3],
    p1: f32[N, 320, 28, 28] layout [d0, d2, d3, d1],
    p2: f32[N, 320, 30, 30] layout [d0, d2, d3, d1],
    N: symbol) {
  assume 1 <= N
  map c in 0:320, k in 0:3, l in 0:3, n in 0:N, y in 0:28, x in 0:28 { p0[c, 0, k, l] += p1[n, c, y, x] * p2[n, c, k + y, l + x] }
})",
             "choose-schedule", R"(
kernel weights(
    inout p0: f32[320, 1, 3, 3],
    p1: f32[N, 320, 28, 28] layout [d0, d2, d3, d1],
    p2: f32[N, 320, 30, 30] layout [d0, d2, d3, d1],
    N: symbol) for cpu {
  assume 1 <= N
  local partial: f32[28, 3, 3, 320] @worker
  map part_0 in 0:28, c_0 in 0:10 @parallel {
    local sums: f32[3, 3, 32]
    for k in 0:3, l in 0:3 {
      map u in 0:32 @vector { sums[k, l, u] = 0.0 }
    }
    for n in 0:N, y in part_0:part_0 + 1, k in 0:3 {
      local t: f32[3, 32]
      map l in 0:3 @unroll {
        map u in 0:32 @vector { t[l, u] = 0.0 }
      }
      for x in 0:28 {
        map l in 0:3 @unroll {
          map u in 0:32 @vector {
            t[l, u] = fma(p1[n, 32 * c_0 + u, y, x], p2[n, 32 * c_0 + u, k + y, l + x], t[l, u])
          }
        }
      }
      map l in 0:3 @unroll {
        map u in 0:32 @vector { sums[k, l, u] += t[l, u] }
      }
    }
    for k in 0:3, l in 0:3 {
      map u in 0:32 @vector { partial[part_0, k, l, 32 * c_0 + u] = sums[k, l, u] }
    }
  }
  for c_0 in 0:320:256, k in 0:3, l in 0:3 {
    local sums_1: f32[256]
    map c in c_0:+256 @vector { sums_1[c - c_0] = 0.0 }
    for part_1 in 0:28 {
      map c in c_0:+256 @vector { sums_1[c - c_0] += partial[part_1, k, l, c] }
    }
    map c in c_0:+256 @vector { p0[c, 0, k, l] += sums_1[c - c_0] }
  }
})");
}

// Few places, too few for a second thread; channels that fill no vector; an image in one dimension.
TEST(WindowWeights, RestOfChannels) {
  ExpectPass(R"(
kernel weights(
    p0: f32[20, 1, 5],
    p1: f32[2, 20, 9] layout [d0, d2, d1],
    p2: f32[2, 20, 9] layout [d0, d2, d1]) {
  map c in 0:20, l in 0:5 {
    p0[c, 0, l] = 0
    map n in 0:2, x in 0:9 {
      p0[c, 0, l] += p1[n, c, x] * (l + x - 2 >= 0 && l + x - 2 < 9 ? p2[n, c, l + x - 2] : 0)
    }
  }
})",
             "choose-schedule", R"(
kernel weights(
    p0: f32[20, 1, 5],
    p1: f32[2, 20, 9] layout [d0, d2, d1],
    p2: f32[2, 20, 9] layout [d0, d2, d1]) for cpu {
  local sums: f32[5, 16]
  for l in 0:5 {
    map u in 0:16 @vector { sums[l, u] = 0.0 }
  }
  for n in 0:2 {
    for x in 0:2, l in 0:5 {
      if l + x - 2 >= 0 && l + x - 2 < 9 {
        map u in 0:16 @vector { sums[l, u] = fma(p1[n, u, x], p2[n, u, l + x - 2], sums[l, u]) }
      } else {
        map u in 0:16 @vector { sums[l, u] = fma(p1[n, u, x], 0, sums[l, u]) }
      }
    }
    local t: f32[5, 16]
    map l in 0:5 @unroll {
      map u in 0:16 @vector { t[l, u] = 0.0 }
    }
    for x in 2:7 {
      map l in 0:5 @unroll {
        map u in 0:16 @vector { t[l, u] = fma(p1[n, u, x], p2[n, u, l + x - 2], t[l, u]) }
      }
    }
    map l in 0:5 @unroll {
      map u in 0:16 @vector { sums[l, u] += t[l, u] }
    }
    for x in 7:9, l in 0:5 {
      if l + x - 2 >= 0 && l + x - 2 < 9 {
        map u in 0:16 @vector { sums[l, u] = fma(p1[n, u, x], p2[n, u, l + x - 2], sums[l, u]) }
      } else {
        map u in 0:16 @vector { sums[l, u] = fma(p1[n, u, x], 0, sums[l, u]) }
      }
    }
  }
  for l in 0:5 {
    map u in 0:16 @vector { p0[u, 0, l] = sums[l, u] }
  }
  local sums_1: f32[5, 4]
  for l in 0:5 {
    map u in 0:4 @vector { sums_1[l, u] = 0.0 }
  }
  for n in 0:2 {
    for x in 0:2, l in 0:5 {
      if l + x - 2 >= 0 && l + x - 2 < 9 {
        map u in 0:4 @vector { sums_1[l, u] = fma(p1[n, u + 16, x], p2[n, u + 16, l + x - 2], sums_1[l, u]) }
      } else {
        map u in 0:4 @vector { sums_1[l, u] = fma(p1[n, u + 16, x], 0, sums_1[l, u]) }
      }
    }
    local t_1: f32[5, 4]
    map l in 0:5 @unroll {
      map u in 0:4 @vector { t_1[l, u] = 0.0 }
    }
    for x in 2:7 {
      map l in 0:5 @unroll {
        map u in 0:4 @vector { t_1[l, u] = fma(p1[n, u + 16, x], p2[n, u + 16, l + x - 2], t_1[l, u]) }
      }
    }
    map l in 0:5 @unroll {
      map u in 0:4 @vector { sums_1[l, u] += t_1[l, u] }
    }
    for x in 7:9, l in 0:5 {
      if l + x - 2 >= 0 && l + x - 2 < 9 {
        map u in 0:4 @vector { sums_1[l, u] = fma(p1[n, u + 16, x], p2[n, u + 16, l + x - 2], sums_1[l, u]) }
      } else {
        map u in 0:4 @vector { sums_1[l, u] = fma(p1[n, u + 16, x], 0, sums_1[l, u]) }
      }
    }
  }
  for l in 0:5 {
    map u in 0:4 @vector { p0[u + 16, 0, l] = sums_1[l, u] }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
