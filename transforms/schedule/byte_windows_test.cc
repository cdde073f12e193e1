// Depthwise convolutions of bytes: what is laid out, and what windows fit.
#include "transforms/schedule/byte_windows.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "transforms/testing.h"

namespace headrace::schedule {
namespace {

TEST(ByteWindows, Fit) {
  EXPECT_TRUE(FitsByteWindows(3, 1) && FitsByteWindows(2, 1) && FitsByteWindows(3, 2) && FitsByteWindows(4, 2));
  EXPECT_FALSE(FitsByteWindows(4, 1) || FitsByteWindows(5, 2) || FitsByteWindows(3, 3) || FitsByteWindows(1, 1) || FitsByteWindows(3, 0));
}

constexpr char kPipeline[] = "outline; choose-schedule{device=cpu_vnni}";

// Steps of two: each group is one point's; 16 channels are one vector, 7 points two tiles.
TEST(ByteWindows, StepsOfTwo) {
  transforms::ExpectPass(R"(sdfg f(X: u8[2, 13, 16], W: i8[3, 16], Y: i32[2, 7, 16]) {
  map n in 0:2, x in 0:7, c in 0:16 {
    Y[n, x, c] = 0
    map l in 0:3 { Y[n, x, c] += i32(2 * x + l - 1 >= 0 && 2 * x + l - 1 < 13 ? X[n, 2 * x + l - 1, c] : 7) * i32(W[l, c]) }
  }
}
)",
                         kPipeline, R"(sdfg f(X: u8[2, 13, 16], W: i8[3, 16], Y: i32[2, 7, 16]) {
  state {
    call k0(Y = Y, X = X, W = W)
  }
}

kernel k0(Y: i32[2, 7, 16], X: u8[2, 13, 16], W: i8[3, 16]) for cpu {
  local a: u8[2, 16, 16] @worker
  for q0 in 0:2, q1 in 0:16 {
    if q1 - 1 >= 0 && q1 - 1 < 13 {
      map q2 in 0:16 @vector { a[q0, q1, q2] = X[q0, q1 - 1, q2] }
    } else {
      map q2 in 0:16 @vector { a[q0, q1, q2] = 7 }
    }
  }
  local d: u8[2, 14, 16, 4] @worker
  for q0 in 0:2, i1_1 in 0:7 {
    map e in 0:4 @unroll {
      map u in 0:16 @vector { d[q0, i1_1, u, e] = a[q0, e + 2 * i1_1, u] }
    }
  }
  local b: i8[1, 1, 16, 4] @worker
  for i3_4 in 0:1, i2_1 in 0:16:16 {
    map u in 0:16 @vector {
      b[i2_1 // 16, i3_4, u, 0] = W[4 * i3_4, i2_1 + u]
      b[i2_1 // 16, i3_4, u, 1] = W[4 * i3_4 + 1, i2_1 + u]
      b[i2_1 // 16, i3_4, u, 2] = W[4 * i3_4 + 2, i2_1 + u]
      b[i2_1 // 16, i3_4, u, 3] = 0
    }
  }
  for i2_1 in 0:16:16, i0 in 0:2 {
    for i1_1 in 0:7:7 {
      local t: i32[7, 16]
      map r in 0:7 @unroll {
        map u in 0:16 @vector { t[r, u] = 0 }
      }
      map r in 0:7 @unroll {
        map u in 0:16 @vector {
          t[r, u] = dot4(d[i0, i1_1 + r, u, 0], b[i2_1 // 16, 0, u, 0], d[i0, i1_1 + r, u, 1], b[i2_1 // 16, 0, u, 1], d[i0, i1_1 + r, u, 2], b[i2_1 // 16, 0, u, 2], d[i0, i1_1 + r, u, 3], b[i2_1 // 16, 0, u, 3], t[r, u])
        }
      }
      map r in 0:7 @unroll {
        map u in 0:16 @vector { Y[i0, i1_1 + r, i2_1 + u] = t[r, u] }
      }
    }
  }
}
)");
}

}  // namespace
}  // namespace headrace::schedule
