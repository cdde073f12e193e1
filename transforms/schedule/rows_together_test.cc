// Rows that wait for a sum of theirs: some of them take turns.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A softmax: what rows pass on, numbers and elements, is of as many of them as take turns; the last ones are fewer.
TEST(RowsTogether, Softmax) {
  ExpectPass(R"(
kernel softmax(p0: f32[n0, 128], p1: f32[n0, 128], n0: symbol) {
  map i0 in 0:n0 {
    local m: f32
    m = -inf
    map i1 in 0:128 { m max= p0[i0, i1] }
    local s: f32
    s = 0.0
    local e: f32[128]
    map i1 in 0:128 {
      e[i1] = exp(p0[i0, i1] - m)
      s += e[i1]
    }
    map i1 in 0:128 { p1[i0, i1] = e[i1] * (1.0 / s) }
  }
})",
             "choose-schedule", R"(
kernel softmax(p0: f32[n0, 128], p1: f32[n0, 128], n0: symbol) for cpu {
  map i0_0_0 in 0:n0:24 @parallel {
    for i0_0 in i0_0_0:+24:8 {
      local m_rows: f32[8]
      for i0 in 0:min(n0 - i0_0, 8) {
        m_rows[i0] = -inf
        local sum: f32
        sum = -inf
        local partial: f32[16]
        map u in 0:16 @vector { partial[u] = -inf }
        for i1_0 in 0:128:16 {
          map u in 0:16 @vector { partial[u] max= p0[i0 + i0_0, i1_0 + u] }
        }
        map u in 0:16 @halves { sum max= partial[u] }
        m_rows[i0] max= sum
      }
      local s_rows: f32[8]
      local e_rows: f32[8, 128]
      for i0 in 0:min(n0 - i0_0, 8) {
        s_rows[i0] = 0.0
        local partial_1: f32[16]
        map u in 0:16 @vector { partial_1[u] = 0.0 }
        for i1_0 in 0:128:16 {
          map u in 0:16 @vector {
            e_rows[i0, i1_0 + u] = exp(p0[i0 + i0_0, i1_0 + u] - m_rows[i0])
            partial_1[u] += e_rows[i0, i1_0 + u]
          }
        }
        map u in 0:16 @halves { s_rows[i0] += partial_1[u] }
      }
      for i0 in 0:min(n0 - i0_0, 8) {
        map i1 in 0:128 @vector { p1[i0 + i0_0, i1] = e_rows[i0, i1] * (1.0 / s_rows[i0]) }
      }
    }
  }
})");
}

// As many rows as there are elements near, and two groups of them at least.
TEST(RowsTogether, AsManyAsAreNear) {
  ExpectPass(R"(
kernel centre(p0: f64[6, 5, 384], p1: f64[6, 5, 384]) {
  map i in 0:6, j in 0:5 {
    local s: f64
    s = 0.0
    map k in 0:384 { s += p0[i, j, k] }
    s = s / 384.0
    map k in 0:384 { p1[i, j, k] = p0[i, j, k] - s }
  }
})",
             "choose-schedule", R"(
kernel centre(p0: f64[6, 5, 384], p1: f64[6, 5, 384]) for cpu {
  view v: f64[30, 384] of p0
  view v_1: f64[30, 384] of p1
  map i_0_0 in 0:30:28 @parallel {
    for i_0 in i_0_0:+28:2 {
      local s_rows: f64[2]
      for i in 0:2 {
        s_rows[i] = 0.0
        local sum: f64
        sum = 0.0
        local partial: f64[16]
        map u in 0:16 @vector { partial[u] = 0.0 }
        for k_0 in 0:384:16 {
          map u in 0:16 @vector { partial[u] += v[i + i_0, k_0 + u] }
        }
        map u in 0:16 @halves { sum += partial[u] }
        s_rows[i] += sum
      }
      for i in 0:2 {
        s_rows[i] = s_rows[i] / 384.0
        map k in 0:384 @vector { v_1[i + i_0, k] = v[i + i_0, k] - s_rows[i] }
      }
    }
  }
})");
}

// Long rows hide it themselves; nothing waits; few rows.
TEST(RowsTogether, NotOtherwise) {
  const auto schedule_of = [](const std::string& rows, const std::string& length, const std::string& last) {
    return Transformed("kernel k(p0: f32[" + rows + ", " + length + "], p1: f32[" + rows + "], n0: symbol) {\n  map i in 0:" + rows +
                           " {\n    local m: f32\n    local s: f32\n    m = -inf\n    s = 0.0\n    map j in 0:" + length +
                           " { m max= p0[i, j] }\n    map j in 0:" + length + " { s += p0[i, j]" + last + " }\n    p1[i] = s\n  }\n}",
                       "choose-schedule");
  };
  EXPECT_NE(schedule_of("n0", "128", " * m").find("in 0:min("), std::string::npos) << schedule_of("n0", "128", " * m");
  for (const std::string& other : {schedule_of("n0", "1024", " * m"), schedule_of("n0", "128", ""), schedule_of("3", "128", " * m")})
    EXPECT_EQ(other.find("_rows"), std::string::npos) << other;
}

}  // namespace
}  // namespace headrace::transforms
