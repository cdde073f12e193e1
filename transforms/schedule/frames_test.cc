#include "transforms/schedule/frames.h"

#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Rows of 14 in whole vectors of 16, which the frame is wide enough for.
TEST(Frames, DepthwiseConvolution) {
  ExpectPass(R"(
kernel depthwise(inout p0: f32[512, 14, 14], p1: f32[512, 14, 14], p2: f32[512, 3, 3]) {
  map i0 in 0:512, i1 in 0:14, i2 in 0:14, i3 in 0:3, i4 in 0:3 {
    p0[i0, i1, i2] += (p1[i0, i1 + i3 - 1, i2 + i4 - 1] ?? 0) * p2[i0, i3, i4]
  }
})",
             "choose-schedule", R"(
kernel depthwise(inout p0: f32[512, 14, 14], p1: f32[512, 14, 14], p2: f32[512, 3, 3]) for cpu {
  map i0 in 0:512 @parallel {
    local frame: f32[16, 18] @worker
    for r in 0:16 {
      map u in 0:18 @vector { frame[r, u] = 0 }
    }
    for r in 1:15 {
      map u in 1:15 @vector { frame[r, u] = p1[i0, r - 1, u - 1] }
    }
    for i1_1 in 0:14:7 {
      local t: f32[7, 16]
      map r in 0:7 @unroll {
        map u in 0:16 @vector { t[r, u] = 0.0 }
      }
      for i3 in 0:3, i4 in 0:3 {
        map r in 0:7 @unroll {
          map u in 0:16 @vector { t[r, u] += frame[i1_1 + i3 + r, i4 + u] * p2[i0, i3, i4] }
        }
      }
      map r in 0:7 @unroll {
        map u in 0:14 @vector { p0[i0, i1_1 + r, u] += t[r, u] }
      }
    }
  }
})");
}

// By steps of two; what becomes of the sums is done for whole rows of them.
TEST(Frames, StridesAndCompletion) {
  ExpectPass(R"(
kernel pool(p0: f32[64, 7, 7], p1: f32[64, 14, 14]) {
  map i0 in 0:64, i1 in 0:7, i2 in 0:7 {
    local m: f32
    m = -inf
    map i3 in 0:3, i4 in 0:3 { m max= p1[i0, 2 * i1 + i3 - 1, 2 * i2 + i4 - 1] ?? -inf }
    p0[i0, i1, i2] = max(m, 0)
  }
})",
             "choose-schedule", R"(
kernel pool(p0: f32[64, 7, 7], p1: f32[64, 14, 14]) for cpu {
  map i0_0 in 0:64:13 @parallel {
    for i0 in i0_0:+13 {
      local frame: f32[15, 33] @worker
      for r in 0:15 {
        map u in 0:33 @vector { frame[r, u] = -inf }
      }
      for r in 1:15 {
        map u in 1:15 @vector { frame[r, u] = p1[i0, r - 1, u - 1] }
      }
      for i1_1 in 0:7:7 {
        local t: f32[7, 16]
        map r in 0:7 @unroll {
          map u in 0:16 @vector { t[r, u] = -inf }
        }
        for i3 in 0:3, i4 in 0:3 {
          map r in 0:7 @unroll {
            map u in 0:16 @vector { t[r, u] max= frame[2 * i1_1 + i3 + 2 * r, i4 + 2 * u] }
          }
        }
        map r in 0:7 @unroll {
          map u in 0:7 @vector {
            local m_at: f32
            m_at = t[r, u]
            p0[i0, i1_1 + r, u] = max(m_at, 0)
          }
        }
      }
    }
  }
})");
}

// A gradient of weights, every image of the data with every one of the results: a product, for which each is laid out once.
TEST(Frames, NotForEachOfManyResults) {
  const std::string scheduled = Transformed(R"(
kernel weights(p0: f32[64, 64, 3, 3], p1: f32[64, 7, 7], p2: f32[64, 14, 14]) {
  map i0 in 0:64, i1 in 0:64, i2 in 0:3, i3 in 0:3 {
    p0[i0, i1, i2, i3] = 0.0
    map i4 in 0:7, i5 in 0:7 { p0[i0, i1, i2, i3] += p1[i0, i4, i5] * (p2[i1, i2 + 2 * i4 - 1, i3 + 2 * i5 - 1] ?? 0.0) }
  }
}
)",
                                            "choose-schedule");
  EXPECT_EQ(scheduled.find("frame"), std::string::npos) << scheduled;
  EXPECT_NE(scheduled.find("local b: f32[49, 128] @worker"), std::string::npos) << scheduled;
}

}  // namespace
}  // namespace headrace::transforms
