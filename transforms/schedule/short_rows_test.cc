// Rows that are shorter than vectors: lanes lie across them.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A softmax of ten, of rows that nobody knows the number of. What one side of the rows that are left needs is of their own.
TEST(ShortRows, SideBySide) {
  ExpectPass(R"(
kernel softmax(p0: f32[n0, 10], p1: f32[n0, 10], n0: symbol) {
  map i0 in 0:n0 {
    local m: f32
    m = -inf
    map i1 in 0:10 { m max= p0[i0, i1] }
    local s: f32
    s = 0.0
    local e: f32[10]
    map i1 in 0:10 {
      e[i1] = exp(p0[i0, i1] - m)
      s += e[i1]
    }
    map i1 in 0:10 { p1[i0, i1] = e[i1] * (1.0 / sqrt(s)) }
  }
})",
             "choose-schedule", R"(
kernel softmax(p0: f32[n0, 10], p1: f32[n0, 10], n0: symbol) for cpu {
  map i0_1_0 in 0:16 * (n0 // 16):304 @parallel {
    for i0_1 in i0_1_0:+304:16 {
      local m_1: f32[16]
      map u in 0:16 @vector { m_1[u] = -inf }
      for i1 in 0:10 {
        map u in 0:16 @vector { m_1[u] max= p0[i0_1 + u, i1] }
      }
      local s_1: f32[16]
      map u in 0:16 @vector { s_1[u] = 0.0 }
      local e_1: f32[10, 16]
      for i1 in 0:10 {
        map u in 0:16 @vector {
          e_1[i1, u] = exp(p0[i0_1 + u, i1] - m_1[u])
          s_1[u] += e_1[i1, u]
        }
      }
      local once_1: f32[16]
      map u in 0:16 @vector { once_1[u] = 1.0 / sqrt(s_1[u]) }
      for i1 in 0:10 {
        map u in 0:16 @vector { p1[i0_1 + u, i1] = e_1[i1, u] * once_1[u] }
      }
    }
  }
  local m_2: f32[16]
  map i0_rest in 16 * (n0 // 16):n0 @vector { m_2[i0_rest - 16 * (n0 // 16)] = -inf }
  for i1 in 0:10 {
    map i0_rest in 16 * (n0 // 16):n0 @vector { m_2[i0_rest - 16 * (n0 // 16)] max= p0[i0_rest, i1] }
  }
  local s_2: f32[16]
  map i0_rest in 16 * (n0 // 16):n0 @vector { s_2[i0_rest - 16 * (n0 // 16)] = 0.0 }
  local e_2: f32[10, 16]
  for i1 in 0:10 {
    map i0_rest in 16 * (n0 // 16):n0 @vector {
      e_2[i1, i0_rest - 16 * (n0 // 16)] = exp(p0[i0_rest, i1] - m_2[i0_rest - 16 * (n0 // 16)])
      s_2[i0_rest - 16 * (n0 // 16)] += e_2[i1, i0_rest - 16 * (n0 // 16)]
    }
  }
  local once_2: f32[16]
  map i0_rest in 16 * (n0 // 16):n0 @vector {
    once_2[i0_rest - 16 * (n0 // 16)] = 1.0 / sqrt(s_2[i0_rest - 16 * (n0 // 16)])
  }
  for i1 in 0:10 {
    map i0_rest in 16 * (n0 // 16):n0 @vector {
      p1[i0_rest, i1] = e_2[i1, i0_rest - 16 * (n0 // 16)] * once_2[i0_rest - 16 * (n0 // 16)]
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
