// Layouts as text, and the strides that follow from them.
#include "ir/graph/memory_order.h"

#include <gtest/gtest.h>

#include "ir/analysis/layout.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

std::string PrintedAgain(const std::string& declaration) {
  auto p = ParseProgram("sdfg f(Y: f32[N]) {\n  " + declaration + "\n  map i in 0:N { Y[i] = 0 }\n}");
  if (!p.ok()) return p.status().ToString();
  const std::string text = Print(*p);
  auto again = ParseProgram(text);
  EXPECT_TRUE(again.ok() && Print(*again) == text) << text;
  const size_t at = text.find('\n') + 3;
  return text.substr(at, text.find('\n', at) - at);
}

TEST(MemoryOrder, IsPrintedAndReadBack) {
  for (const char* text : {"transient T: f32[N, 8, 4] layout [d0, d2, d1]", "transient T: f32[2, 8] layout [d1, d0] @host",
                           "constant K: f32[2, 2] = [[1.0, 2.0], [3.0, 4.0]] layout [d1, d0]"})
    EXPECT_EQ(PrintedAgain(text), text);
  EXPECT_EQ(PrintedAgain("transient T: f32[N, 8, 4] layout [d0, d1, d2]"), "transient T: f32[N, 8, 4]");
}

TEST(MemoryOrder, WhatIsNoDimensionIsRefused) {
  EXPECT_NE(PrintedAgain("transient T: f32[N, 8] layout [d1, c]").find("'c' is no dimension"), std::string::npos);
  EXPECT_NE(PrintedAgain("transient T: f32[N, 8] layout []").find("a dimension, as in layout [d0, d2, d1]"), std::string::npos);
}

TEST(MemoryOrder, StridesFollow) {
  const MemoryOrder order({0, 2, 3, 1});
  EXPECT_EQ(order.Strides({Expr(Name("N")), Expr(8), Expr(4), Expr(5)}), (std::vector<Expr>{Expr(160), Expr(1), Expr(40), Expr(8)}));
  EXPECT_TRUE(MemoryOrder({0, 1, 2}).row_major());
  EXPECT_EQ(order.WithoutFirst(1), MemoryOrder({1, 2, 0}));
  EXPECT_EQ(MemoryOrder({1, 0}).Behind(1), MemoryOrder({0, 2, 1}));
  EXPECT_TRUE(order.Fits(4));
  EXPECT_FALSE(order.Fits(5));
  EXPECT_FALSE(MemoryOrder({0, 2, 2}).Fits(3));
}

TEST(MemoryOrder, ConstantsAreTurned) {
  auto p = ParseProgram("sdfg f(Y: f32[2]) { constant K: f32[2, 3] = [[1, 2, 3], [4, 5, 6]] layout [d1, d0]\n"
                        " map i in 0:2 { Y[i] = K[i, 0] } }");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  auto t = InMemory(p->Entry().Get("K"));
  ASSERT_TRUE(t.ok());
  std::vector<double> got;
  for (int64_t i = 0; i < 6; ++i) got.push_back(t->GetDouble(i));
  EXPECT_EQ(got, (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(p->Entry().Get("K").data.GetDouble(1), 2);
}

// ---- the verifier ----

std::string Verified(const std::string& text) {
  auto p = ParseProgram(text);
  if (!p.ok()) return p.status().ToString();
  return Verify(*p).ToString();
}

TEST(MemoryOrder, InputsAndOutputsAreRowMajor) {
  const std::string error = Verified("sdfg f(X: f32[2, 3] layout [d1, d0], Y: f32[2]) { map i in 0:2 { Y[i] = X[i, 0] } }");
  EXPECT_NE(error.find("error[E0365]: 'X' can't have a layout"), std::string::npos) << error;
  EXPECT_NE(error.find("copy it into a transient with a layout"), std::string::npos) << error;
}

TEST(MemoryOrder, ViewsWithoutStridesNeedRows) {
  const std::string error = Verified(R"(sdfg f(X: f32[2, 3], Y: f32[6]) {
    transient T: f32[2, 3] layout [d1, d0]
    view flat: f32[6] of T
    map i in 0:2, j in 0:3 { T[i, j] = X[i, j] }
    map i in 0:6 { Y[i] = flat[i] } })");
  EXPECT_NE(error.find("error[E0365]: view 'flat' is row-major, but its base 'T' has a layout"), std::string::npos) << error;
  EXPECT_NE(error.find("[d1, d0]"), std::string::npos) << error;
}

TEST(MemoryOrder, ArgumentsOfKernelsLieAsTheirParameters) {
  const std::string kernel = R"(kernel k(y: f32[2, 3] layout [d1, d0]) for cpu { map i in 0:2, j in 0:3 @vector { y[i, j] = 1 } })";
  const auto caller = [&](const std::string& layout) {
    return "sdfg f(Y: f32[2]) { transient T: f32[2, 3]" + layout + "\n call k(y = T)\n map i in 0:2 { Y[i] = T[i, 0] } }\n" + kernel;
  };
  EXPECT_EQ(Verified(caller(" layout [d1, d0]")).find("E0365"), std::string::npos);
  EXPECT_EQ(Verified(caller(" strides [1, 2]")).find("E0365"), std::string::npos);
  const std::string error = Verified(caller(""));
  EXPECT_NE(error.find("error[E0365]: argument 'y' of 'k' lies in memory in another order"), std::string::npos) << error;
  EXPECT_NE(error.find("layout [d0, d1]"), std::string::npos) << error;
  EXPECT_NE(error.find("layout [d1, d0]"), std::string::npos) << error;
}

}  // namespace
}  // namespace headrace
