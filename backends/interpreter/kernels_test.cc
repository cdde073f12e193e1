// Scheduled kernels: the order of halves, of maps (which have none), and registers, which have no value at first.
#include <cmath>
#include <cstdlib>

#include "backends/interpreter/testing.h"

namespace headrace {
namespace {

using testing::F32;
using testing::First;
using testing::Numbers;

// 1e8 + 1 loses the 1, but not where they meet late.
TEST(Kernels, HalvesHaveAnOrder) {
  EXPECT_EQ(First(R"(
    sdfg f(X: f32[4], S: f32[]) { call k(x = X, s = S) }
    kernel k(x: f32[4], s: f32[]) for cpu {
      s[] = 0
      map u in 0:4 @halves { s[] += x[u] }
    })",
                  {{"X", F32({4}, {1e8, 1, -1e8, 1})}}),
            Numbers{2});  // (x0 + x2) + (x1 + x3)
  EXPECT_EQ(First(R"(
    sdfg f(X: f32[4], S: f32[]) { call k(x = X, s = S) }
    kernel k(x: f32[4], s: f32[]) for cpu {
      s[] = 0
      map u in 0:4 @halves { s[] += x[u] }
    })",
                  {{"X", F32({4}, {1e8, -1e8, 1, 1})}}),
            Numbers{0});  // (1e8 + 1) + (-1e8 + 1)
}

// An iteration sees nothing of what the one before left in its registers.
TEST(Kernels, RegistersAreFresh) {
  const Numbers y = First(R"(
    sdfg f(X: f32[3], Y: f32[3]) { call k(x = X, y = Y) }
    kernel k(x: f32[3], y: f32[3]) for cpu {
      for i in 0:3 {
        local r: f32[2]
        if i == 0 { r[0] = x[i] }
        y[i] = r[0]
      }
    })",
                          {{"X", F32({3}, {5, 6, 7})}});
  ASSERT_EQ(y.size(), 3u);
  EXPECT_EQ(y[0], 5);
  EXPECT_TRUE(std::isnan(y[1]) && std::isnan(y[2])) << y[1];
}

// What depends on the order of a map's iterations shows: here two of them write one element, which the verifier refuses.
TEST(Kernels, MapsHaveNoOrder) {
  const char* text = R"(
    sdfg f(X: f32[9], Y: f32[2]) { call k(x = X, y = Y) }
    kernel k(x: f32[9], y: f32[2]) for cpu {
      map i in 0:9 @parallel { y[0] = x[i] }
      for i in 0:9 { y[1] = x[i] }
    })";
  const testing::Arguments x = {{"X", F32({9}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}};
  EXPECT_EQ(First(text, x), (Numbers{9, 9}));
  setenv("HEADRACE_MAP_ORDER", "backward", 1);
  EXPECT_EQ(First(text, x), (Numbers{1, 9}));
  setenv("HEADRACE_MAP_ORDER", "shuffled", 1);
  const Numbers shuffled = First(text, x);
  unsetenv("HEADRACE_MAP_ORDER");
  EXPECT_EQ(shuffled[1], 9);
  EXPECT_NE(shuffled[0], 9);
}

}  // namespace
}  // namespace headrace
