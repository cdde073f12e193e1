#include "transforms/profile.h"

#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

TEST(Profile, ClocksAroundEachStatement) {
  ExpectPass(R"(sdfg f(X: f32[N], Y: f32[N]) {
  state {
    map i in 0:N { Y[i] = X[i] * 2 }
    onnx.Relu(X = X) -> (Y = Y)
  }
})",
             "profile", R"(sdfg f(X: f32[N], Y: f32[N], inout profile: f64[2, 4]) {
  transient profile_begin: i64
  transient profile_end: i64
  state {
    call.headrace_clock() -> (T = profile_begin)
    map i in 0:N { Y[i] = X[i] * 2 }
    call.headrace_clock() -> (T = profile_end)
    profile[0, 0] += 1
    profile[0, 1] += f64(profile_end - profile_begin)
    profile[0, 2] += f64(N)
    profile[0, 3] += f64(8 * N)
    call.headrace_clock() -> (T = profile_begin)
    onnx.Relu(X = X) -> (Y = Y)
    call.headrace_clock() -> (T = profile_end)
    profile[1, 0] += 1
    profile[1, 1] += f64(profile_end - profile_begin)
    profile[1, 2] += nan
    profile[1, 3] += f64(8 * N)
  }
})");
}

TEST(Profile, CalledProgramsMeasureThemselves) {
  const std::string text = Transformed(R"(sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
  for t in 0:3 {
    state {
      call g(x = X, y = Y)
      call g(x = Y, y = Z)
    }
  }
  state { map i in 0:N { call h(x = X[i], y = Y[i]) } }
}
sdfg g(x: f32[n], y: f32[n]) { map i in 0:n { y[i] = x[i] + 1 } }
sdfg h(x: f32, y: f32) { y = x + 1 }
)",
                                       "profile");
  EXPECT_NE(text.find("call g(x = X, y = Y, profile = profile)"), std::string::npos) << text;
  EXPECT_NE(text.find("sdfg g(x: f32[n], y: f32[n], inout profile: f64[2, 4])"), std::string::npos) << text;
  // What runs in a map's iterations, side by side, is measured as a whole.
  EXPECT_NE(text.find("call h(x = X[i], y = Y[i])"), std::string::npos) << text;
  EXPECT_NE(text.find("profile[1, 2] += nan"), std::string::npos) << text;
}

TEST(Profile, AnEmptyProgramHasNothingToMeasure) { ExpectUnchanged("sdfg f(X: f32[N]) { }", "profile"); }

}  // namespace
}  // namespace headrace::transforms
