// What is read along one range and written along another.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Lines of 4096 bytes are written side by side: sixteen of them would share one set of a cache.
TEST(Transposed, BySquares) {
  ExpectPass(R"(
kernel transpose(p0: f32[512, 1024], p1: f32[1024, 512]) {
  map i in 0:1024, j in 0:512 { p0[j, i] = p1[i, j] * 2.0 }
})",
             "choose-schedule", R"(
kernel transpose(p0: f32[512, 1024], p1: f32[1024, 512]) for cpu {
  map i_0_0 in 0:1024:32 @parallel {
    for i_0 in i_0_0:+32:16, j_0 in 0:512:16 {
      local t: f32[16, 16]
      for i in i_0:+16 {
        map j in j_0:+16 @vector { t[i - i_0, j - j_0] = p1[i, j] * 2.0 }
      }
      for j in j_0:+16 {
        map i in i_0:+16 @vector { p0[j, i] = t[i - i_0, j - j_0] }
      }
    }
  }
})");
}

// These are written as they are read.
TEST(Transposed, LinesWithPlacesOfTheirOwn) {
  ExpectPass(R"(
kernel transpose(p0: f32[512, 1000], p1: f32[1000, 512]) {
  map i in 0:1000, j in 0:512 { p0[j, i] = p1[i, j] * 2.0 }
})",
             "choose-schedule", R"(
kernel transpose(p0: f32[512, 1000], p1: f32[1000, 512]) for cpu {
  map j_0 in 0:512:16 @parallel {
    for i in 0:1000 {
      map j in j_0:+16 @vector { p0[j, i] = p1[i, j] * 2.0 }
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
