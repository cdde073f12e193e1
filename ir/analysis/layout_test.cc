// Where elements lie in memory.
#include "ir/analysis/layout.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"

namespace headrace {
namespace {

// A part for each round of a loop around the kernel, whose end is a size.
TEST(Layout, ViewsLieInsideForAllRoundsOfLoops) {
  const auto inside = [](const std::string& range, const std::string& view) {
    const auto p = ParseProgram("kernel k(X: f32[N, M, 64], Y: f32[64], N: symbol, M: symbol, t: symbol, u: symbol) {\n  assume t in 0:N\n  assume u in " + range +
                                "\n  view V: f32[64] of X offset " + view + "\n  map i in 0:64 { Y[i] = V[i] }\n}\n");
    EXPECT_TRUE(p.ok()) << p.status().ToString();
    return p.ok() && LiesInside(p->Entry(), p->Entry().Get(Name("V")));
  };
  EXPECT_TRUE(inside("0:M", "64 * M * t + 64 * u"));
  EXPECT_TRUE(inside("0:M", "64 * M * t + 64 * (M - 1 - u)"));
  EXPECT_TRUE(inside("0:M:2", "64 * M * t + 64 * u"));
  EXPECT_FALSE(inside("0:M", "64 * M * t + 64 * u + 1"));
  EXPECT_FALSE(inside("0:M + 1", "64 * M * t + 64 * u"));
  EXPECT_FALSE(inside("-1:M", "64 * M * t + 64 * u"));
  EXPECT_FALSE(inside("0:M", "64 * M * t"));  // M may be 0
  EXPECT_FALSE(inside("M:0:-1", "64 * M * t + 64 * u"));
}

// How far an index moves an expression: where sums and products show it, and where only the whole does.
TEST(Layout, Coefficients) {
  const auto by = [](const char* text) {
    const auto c = Coefficient(*ParseExpr(text), Name("i"));
    return c ? ToString(*c) : "none";
  };
  EXPECT_EQ(by("3 * i - 2 * (i - j) + N * (1 - i)"), "1 - N");
  EXPECT_EQ(by("64 * (i // 1) + j // 2"), "64");
  EXPECT_EQ(by("(i + j) * N - i * N"), "0");
  EXPECT_EQ(by("(2 * i + j) // 2 - j // 2"), "1");
  EXPECT_EQ(by("i * i"), "none");
  EXPECT_EQ(by("i // 2"), "none");
  EXPECT_EQ(by("i * (i - i + 4)"), "4");
  EXPECT_EQ(by("A[i]"), "none");
  EXPECT_EQ(by("A[j]"), "0");
}

}  // namespace
}  // namespace headrace
