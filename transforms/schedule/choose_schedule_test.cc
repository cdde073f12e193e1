#include "transforms/schedule/choose_schedule.h"

#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// One walk through memory, in parts worth a thread's while.
TEST(ChooseSchedule, Elementwise) {
  ExpectPass(R"(
kernel k(p0: f32[n0, n1], p1: f32[n0, n1], n0: symbol, n1: symbol) {
  map i0 in 0:n0, i1 in 0:n1 { p0[i0, i1] = p1[i0, i1] * 2 }
})",
             "choose-schedule", R"(
kernel k(p0: f32[n0, n1], p1: f32[n0, n1], n0: symbol, n1: symbol) for cpu {
  view v: f32[n0 * n1] of p1
  view v_1: f32[n0 * n1] of p0
  map i0_0 in 0:n0 * n1:20480 @parallel {
    map i0 in i0_0:+20480 @vector { v_1[i0] = v[i0] * 2 }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
