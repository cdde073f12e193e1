#include "transforms/bind_calls.h"

#include <gtest/gtest.h>

#include "transforms/calls_testing.h"
#include "transforms/testing.h"

namespace headrace {
namespace {

using transforms::ExpectPass;
using transforms::ExpectPassError;
using transforms::ExpectUnchanged;
using transforms::RegistryWithCalls;

// The run's own array lies as the call wants it; scratch goes by its sizes.
TEST(BindCalls, LayoutAndScratch) {
  const char kAfter[] = R"(sdfg f(X: f32[N, 4], W: f32[4, 8], Y: f32[N, 8]) {
      transient T: f32[N, 4] strides [1, N]
      transient scratch: u8[64*N + 64]
      map i in 0:N, j in 0:4 { T[i, j] = X[i, j] * 2 }
      call.product(A = T, B = W) -> (Y = Y, hr_scratch = scratch)
    })";
  ExpectPass(R"(sdfg f(X: f32[N, 4], W: f32[4, 8], Y: f32[N, 8]) {
      transient T: f32[N, 4]
      map i in 0:N, j in 0:4 { T[i, j] = X[i, j] * 2 }
      call.product(A = T, B = W) -> (Y = Y)
    })",
             "bind-calls", kAfter, RegistryWithCalls());
  ExpectUnchanged(kAfter, "bind-calls", RegistryWithCalls());
}

// A parameter is copied; so is what others want row-major, or read by one index.
TEST(BindCalls, Copies) {
  ExpectPass(R"(sdfg f(X: f32[4, 4], W: f32[4, 4], Y: f32[4, 4]) {
      transient T: f32[4, 4]
      call.product(A = X, B = W) -> (Y = T)
      call.product(A = T, B = W) -> (Y = Y)
    })",
             "bind-calls", R"(sdfg f(X: f32[4, 4], W: f32[4, 4], Y: f32[4, 4]) {
      transient T: f32[4, 4]
      transient X_laid: f32[4, 4] strides [1, 4]
      transient scratch: u8[320]
      transient T_laid: f32[4, 4] strides [1, 4]
      transient scratch_1: u8[320]
      map i1 in 0:4, i0 in 0:4 { X_laid[i0, i1] = X[i0, i1] }
      call.product(A = X_laid, B = W) -> (Y = T, hr_scratch = scratch)
      map i1 in 0:4, i0 in 0:4 { T_laid[i0, i1] = T[i0, i1] }
      call.product(A = T_laid, B = W) -> (Y = Y, hr_scratch = scratch_1)
    })",
             RegistryWithCalls());
}

// One row lies as one column does.
TEST(BindCalls, DimensionsOfOneNeedNoCopy) {
  ExpectPass("sdfg f(X: f32[1, 4], W: f32[4, 4], Y: f32[1, 4]) { call.product(A = X, B = W) -> (Y = Y) }", "bind-calls",
             "sdfg f(X: f32[1, 4], W: f32[4, 4], Y: f32[1, 4]) { transient scratch: u8[128]\n"
             "call.product(A = X, B = W) -> (Y = Y, hr_scratch = scratch) }",
             RegistryWithCalls());
}

TEST(BindCalls, Refusals) {
  ExpectPassError("sdfg f(X: f32[4, 4], Y: f32[4, 4]) { call.refuser(A = X) -> (Y = Y) }", "bind-calls",
                  "error[E0678]: external function 'refuser' refuses: it has no lead", RegistryWithCalls());
  ExpectPassError("sdfg f(X: f32[4, 4], Y: f32[4, 4]) { call.shrinker(A = X) -> (Y = Y) }", "bind-calls",
                  "refuses: its scratch speaks of 'Q', which is no size of its ports", RegistryWithCalls());
}

}  // namespace
}  // namespace headrace
