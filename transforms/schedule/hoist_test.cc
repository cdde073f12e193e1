// What is computed and read once, before lanes.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Functions of what all lanes share are computed before them.
TEST(Hoist, OnceForAllLanes) {
  ExpectPass(R"(
kernel k(p0: f32[8, 64], p1: f32[8, 64], p2: f32[8]) {
  map i0 in 0:8 {
    local r0: f32
    r0 = p2[i0]
    map i1 in 0:64 { p0[i0, i1] = p1[i0, i1] - log(r0) }
  }
})",
             "choose-schedule", R"(
kernel k(p0: f32[8, 64], p1: f32[8, 64], p2: f32[8]) for cpu {
  for i0 in 0:8 {
    local r0: f32
    r0 = p2[i0]
    local once: f32
    once = log(r0)
    map i1 in 0:64 @vector { p0[i0, i1] = p1[i0, i1] - once }
  }
})");
}

// Also of numbers and sizes alone, which have the type of what they meet.
TEST(Hoist, OnceOfNumbersAndSizes) {
  ExpectPass(R"(
kernel scaled(p0: f32[n], p1: f32[n], n: symbol) { map i0 in 0:n { p0[i0] = p1[i0] / sqrt(n) } }
kernel wide(p0: f64[n], p1: f64[n], n: symbol) { map i0 in 0:n { p0[i0] = p1[i0] < exp(-0.5) ? p1[i0] * tanh(2) : 0 } }
kernel half(p0: bf16[n], p1: bf16[n], n: symbol) { map i0 in 0:n { p0[i0] = p1[i0] + -(3.25 + tanh(-1)) } }
kernel mixed(inout p0: f32[n], n: symbol) { map i0 in 0:n { p0[i0] = p0[i0] * (i0 + sqrt(n)) } }
kernel twice(inout p0: f32[n], p1: f64[n], n: symbol) { map i0 in 0:n { p0[i0] = p0[i0] / sqrt(n) + f32(p1[i0] / sqrt(n)) } })",
             "choose-schedule", R"(
kernel scaled(p0: f32[n], p1: f32[n], n: symbol) for cpu {
  map i0_0 in 0:n:4096 @parallel {
    local once: f32
    once = sqrt(n)
    map i0 in i0_0:+4096 @vector { p0[i0] = p1[i0] / once }
  }
}

kernel wide(p0: f64[n], p1: f64[n], n: symbol) for cpu {
  map i0_0 in 0:n:4096 @parallel {
    local once: f64
    once = exp(-0.5)
    map i0 in i0_0:+4096 @vector { p0[i0] = p1[i0] < once ? p1[i0] * tanh(2) : 0 }
  }
}

kernel half(p0: bf16[n], p1: bf16[n], n: symbol) for cpu {
  map i0_0 in 0:n:4096 @parallel {
    map i0 in i0_0:+4096 @vector { p0[i0] = p1[i0] + -(3.25 + tanh(-1)) }
  }
}

kernel mixed(inout p0: f32[n], n: symbol) for cpu {
  map i0_0 in 0:n:4096 @parallel {
    map i0 in i0_0:+4096 @vector { p0[i0] = p0[i0] * (i0 + sqrt(n)) }
  }
}

kernel twice(inout p0: f32[n], p1: f64[n], n: symbol) for cpu {
  map i0_0 in 0:n:4096 @parallel {
    local once: f32
    once = sqrt(n)
    local once_1: f64
    once_1 = sqrt(n)
    map i0 in i0_0:+4096 @vector { p0[i0] = p0[i0] / once + f32(p1[i0] / once_1) }
  }
})");
}

// A number that a choice may take is read before: compilers make no vectors of lanes that read it only where it is chosen.
TEST(Hoist, NumbersOfChoices) {
  ExpectPass(R"(
kernel masked(p0: f32[64, 1000], p1: bool[64, 1000], p2: f32, p3: f32[64, 1000]) {
  map i0 in 0:64, i1 in 0:1000 { p0[i0, i1] = p1[i0, i1] ? p2 : p3[i0, i1] }
})",
             "choose-schedule", R"(
kernel masked(p0: f32[64, 1000], p1: bool[64, 1000], p2: f32, p3: f32[64, 1000]) for cpu {
  view v: bool[64000] of p1
  view v_1: f32[64000] of p3
  view v_2: f32[64000] of p0
  map i0_0 in 0:64000:16384 @parallel {
    local once: f32
    once = p2
    map i0 in i0_0:+16384 @vector { v_2[i0] = v[i0] ? once : v_1[i0] }
  }
})");
}

// So are elements that are the same in all lanes, where the loops around are in the array; others may not be there.
TEST(Hoist, ElementsOfChoices) {
  ExpectPass(R"(
kernel slopes(p0: f32[64, 1000], p1: f32[64], p2: f32[64, 1000], p3: f32[63]) {
  map i0 in 0:64, i1 in 0:1000 {
    p0[i0, i1] = p2[i0, i1] > 0.0 ? p2[i0, i1] : i0 > 0 ? p1[i0] * p2[i0, i1] + p3[i0 - 1] : p1[i0] * p2[i0, i1]
  }
})",
             "choose-schedule", R"(
kernel slopes(p0: f32[64, 1000], p1: f32[64], p2: f32[64, 1000], p3: f32[63]) for cpu {
  map i0_0 in 0:64:5 @parallel {
    for i0 in i0_0:+5 {
      local once: f32
      once = p1[i0]
      if i0 > 0 {
        map i1 in 0:1000 @vector {
          p0[i0, i1] = p2[i0, i1] > 0.0 ? p2[i0, i1] : once * p2[i0, i1] + p3[i0 - 1]
        }
      } else {
        map i1 in 0:1000 @vector { p0[i0, i1] = p2[i0, i1] > 0.0 ? p2[i0, i1] : once * p2[i0, i1] }
      }
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
