// What is read along one range and written along another.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

TEST(Transposed, BySquares) {
  ExpectPass(R"(
kernel transpose(p0: f32[512, 1024], p1: f32[1024, 512]) {
  map i in 0:1024, j in 0:512 { p0[j, i] = p1[i, j] * 2.0 }
})",
             "choose-schedule", R"(
kernel transpose(p0: f32[512, 1024], p1: f32[1024, 512]) for cpu {
  map i_0 in 0:1024:32 @parallel {
    for j_0 in 0:512:32 {
      local t: f32[32, 32]
      for i in i_0:+32 {
        map j in j_0:+32 @vector { t[i - i_0, j - j_0] = p1[i, j] * 2.0 }
      }
      for i_0_1 in i_0:+32:16, j_0_1 in j_0:+32:16 {
        map r in 0:16 @unroll {
          map u in 0:16 @vector { p0[j_0_1 + r, i_0_1 + u] = t[i_0_1 - i_0 + u, j_0_1 - j_0 + r] }
        }
      }
    }
  }
})");
}

// What is copied is turned in registers, and lines of what no register square is full of one by one.
TEST(Transposed, InRegisters) {
  ExpectPass(R"(
kernel transpose(p0: f32[500, 1024], p1: f32[1024, 500]) {
  map i in 0:1024, j in 0:500 { p0[j, i] = p1[i, j] }
})",
             "choose-schedule", R"(
kernel transpose(p0: f32[500, 1024], p1: f32[1024, 500]) for cpu {
  map i_0_0 in 0:1024:64 @parallel {
    for i_0 in i_0_0:+64:16, j_0 in 0:500:16 {
      if j_0 + 16 <= 500 {
        map r in 0:16 @unroll {
          map u in 0:16 @vector { p0[j_0 + r, i_0 + u] = p1[i_0 + u, j_0 + r] }
        }
      } else {
        for j in j_0:+16 {
          map i in i_0:+16 @vector { p0[j, i] = p1[i, j] }
        }
      }
    }
  }
})");
  ExpectPass(R"(
kernel widened(p0: f32[512, 1024], p1: bf16[1024, 512]) {
  map i in 0:1024, j in 0:512 { p0[j, i] = p1[i, j] }
})",
             "choose-schedule", R"(
kernel widened(p0: f32[512, 1024], p1: bf16[1024, 512]) for cpu {
  map i_0_0 in 0:1024:64 @parallel {
    for i_0 in i_0_0:+64:16, j_0 in 0:512:16 {
      map r in 0:16 @unroll {
        map u in 0:16 @vector { p0[j_0 + r, i_0 + u] = p1[i_0 + u, j_0 + r] }
      }
    }
  }
})");
  ExpectPass(R"(
kernel doubles(p0: f64[512, 1024], p1: f64[1024, 512]) {
  map i in 0:1024, j in 0:512 { p0[j, i] = p1[i, j] }
})",
             "choose-schedule", R"(
kernel doubles(p0: f64[512, 1024], p1: f64[1024, 512]) for cpu {
  map i_0_0 in 0:1024:64 @parallel {
    for i_0 in i_0_0:+64:8, j_0 in 0:512:8 {
      map r in 0:8 @unroll {
        map u in 0:8 @vector { p0[j_0 + r, i_0 + u] = p1[i_0 + u, j_0 + r] }
      }
    }
  }
})");
}

// Squares are smaller where that leaves nothing over, and as long as what is short.
TEST(Transposed, OfLengthsThatNoSquareDivides) {
  ExpectPass(R"(
kernel transpose(p0: f32[49, 144], p1: f32[144, 49]) {
  map i in 0:144, j in 0:49 { p0[j, i] = p1[i, j] * 2.0 }
})",
             "choose-schedule", R"(
kernel transpose(p0: f32[49, 144], p1: f32[144, 49]) for cpu {
  for i_0 in 0:144:16, j_0 in 0:49:49 {
    local t: f32[16, 49]
    for i in i_0:+16 {
      map j in j_0:+49 @vector { t[i - i_0, j - j_0] = p1[i, j] * 2.0 }
    }
    for j in j_0:+49 {
      map i in i_0:+16 @vector { p0[j, i] = t[i - i_0, j - j_0] }
    }
  }
})");
}

// What is not known may be short, and has as many squares as there are.
TEST(Transposed, OfImages) {
  ExpectPass(R"(
kernel turned(p0: f32[n0, 96, 784], p1: f32[n0, 784, 96], n0: symbol) {
  map i0 in 0:n0, i1 in 0:784, i2 in 0:96 { p0[i0, i2, i1] = p1[i0, i1, i2] }
})",
             "choose-schedule", R"(
kernel turned(p0: f32[n0, 96, 784], p1: f32[n0, 784, 96], n0: symbol) for cpu {
  map i0 in 0:n0, i1_0_0 in 0:784:336 @parallel {
    for i1_0 in i1_0_0:+336:16, i2_0 in 0:96:16 {
      map r in 0:16 @unroll {
        map u in 0:16 @vector { p0[i0, i2_0 + r, i1_0 + u] = p1[i0, i1_0 + u, i2_0 + r] }
      }
    }
  }
})");
}

// The weights of all windows of a line follow each other.
TEST(Transposed, LinesThatAreOne) {
  ExpectPass(R"(
kernel turned(p0: f32[64, 9, 64], p1: f32[64, 64, 9]) {
  map i0 in 0:64, i1 in 0:64, i2 in 0:9 { p0[i1, i2, i0] = p1[i0, i1, i2] }
})",
             "choose-schedule", R"(
kernel turned(p0: f32[64, 9, 64], p1: f32[64, 64, 9]) for cpu {
  view v: f32[64, 576] of p1
  view v_1: f32[576, 64] of p0
  map i0_0_0 in 0:64:48 @parallel {
    for i0_0 in i0_0_0:+48:16, i1_0 in 0:576:16 {
      map r in 0:16 @unroll {
        map u in 0:16 @vector { v_1[i1_0 + r, i0_0 + u] = v[i0_0 + u, i1_0 + r] }
      }
    }
  }
})");
}

// Where they are written apart, nine of them are no line.
TEST(Transposed, ShortLines) {
  ExpectPass(R"(
kernel turned(p0: f32[9, 64, 64], p1: f32[64, 64, 9]) {
  map i0 in 0:64, i1 in 0:64, i2 in 0:9 { p0[i2, i1, i0] = p1[i0, i1, i2] }
})",
             "choose-schedule", R"(
kernel turned(p0: f32[9, 64, 64], p1: f32[64, 64, 9]) for cpu {
  map i1_0 in 0:64:56 @parallel {
    for i1 in i1_0:+56, i0_0 in 0:64:16, i2 in 0:9 {
      map i0 in i0_0:+16 @vector { p0[i2, i1, i0] = p1[i0, i1, i2] }
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
