#include "ir/expr/expr.h"

#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "gtest/gtest.h"
#include "ir/text/parser.h"

namespace headrace {
namespace {

Expr Parse(const std::string& text) {
  Result<Expr> e = ParseExpr(text);
  EXPECT_TRUE(e.ok()) << e.status().ToString();
  return e.ok() ? *e : Expr();
}

TEST(Name, SameTextSameName) {
  EXPECT_EQ(Name("alpha"), Name(std::string("alpha")));
  EXPECT_NE(Name("alpha"), Name("beta"));
  EXPECT_TRUE(Name("").empty());
  EXPECT_EQ(Name("alpha").view(), "alpha");
}

TEST(Name, ManyThreadsInternTheSameNames) {
  std::vector<std::vector<uint32_t>> ids(4);
  std::vector<std::thread> threads;
  for (auto& mine : ids) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 20000; ++i) {
        const Name n("thread_name_" + std::to_string(i));
        mine.push_back(n.id());
        if (n.view() != "thread_name_" + std::to_string(i)) mine.push_back(0);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (const auto& mine : ids) EXPECT_EQ(mine, ids[0]);
}

TEST(Expr, EqualityIsStructural) {
  EXPECT_EQ(Parse("a + b * 2"), Parse("a+b*2"));
  EXPECT_NE(Parse("a + b"), Parse("b + a"));
  EXPECT_NE(Parse("f32(x)"), Parse("f16(x)"));
  EXPECT_NE(FloatExpr(0.0), FloatExpr(-0.0));
  EXPECT_EQ(FloatExpr(std::nan("1")), FloatExpr(-std::nan("2")));
  EXPECT_EQ(WithType(IntExpr(1), DType::kF32),
            IntExpr(1));  // types are inferred, not part of the tree
}

// Text → tree → text: parentheses are where they must be and nowhere else.
TEST(Print, KeepsCanonicalText) {
  for (const char* text : {"a + b - c",
                           "a - (b - c)",
                           "a * b // c",
                           "a * (b // c)",
                           "(a + b) * c",
                           "-a",
                           "-(a + b)",
                           "-a * b",
                           "-(a * b)",
                           "-3",
                           "-(3)",
                           "-(-3)",
                           "-(-a)",
                           "a - -3",
                           "!p && q || r",
                           "p && (q || r)",
                           "!(p && q)",
                           "~a & b | c ^ d",
                           "a << b + c",
                           "(a << b) + c",
                           "(a == b) == c",
                           "a < b",
                           "c ? a : b",
                           "c ? a : d ? e : f",
                           "(c ? a : b) ? d : e",
                           "(c ? a : b) + 1",
                           "X[i, j + 1]",
                           "X[]",
                           "X.flat[i]",
                           "X[i] ?? 0.0",
                           "(X[i] ?? 0) * 2",
                           "-(X[i] ?? 0)",
                           "c ? X[i] ?? -1 : 0",
                           "max(a, b)",
                           "f32(a + b)",
                           "sat(x, i8)",
                           "1.5",
                           "-0.0",
                           "1e+300",
                           "-inf",
                           "nan",
                           "0.1",
                           "1.0",
                           "true",
                           "X[I[i] ?? 3, a ?? b]",
                           "\"it \\\"says\\\" \\\\\"",
                           "X[p.., k@axis]",
                           "X[..]",
                           "X[:, 2:3]",
                           "[a, b + 1, 2]",
                           "X[o.., (a + 1)..]",
                           "X[k // 2@axis]",
                           "-9223372036854775808"}) {
    const Expr e = Parse(text);
    const std::string printed = ToString(e);
    EXPECT_EQ(Parse(printed), e) << text << " printed as " << printed;
    EXPECT_EQ(printed, text);
  }
}

// Random trees, not only those that a person would write.
class RandomTree {
 public:
  explicit RandomTree(uint32_t seed) : rng_(seed) {}
  Expr Make(int depth) {
    const int pick = Pick(depth <= 0 ? 4 : 11);
    switch (pick) {
      case 0: return IntExpr(Pick(2) ? Pick(20) - 10 : std::numeric_limits<int64_t>::min() + Pick(3));
      case 1: return FloatExpr(std::ldexp(Pick(2000) - 1000, Pick(200) - 100));
      case 2: return SymbolExpr(Pick(2) ? "a" : "b");
      case 3: return BoolExpr(Pick(2));
      case 4: return ReadExpr("X", {Make(depth - 1)}, Pick(2) ? Make(depth - 1) : Expr(), Pick(2));
      case 5: return UnaryExpr(static_cast<Op>(static_cast<int>(Op::kNeg) + Pick(3)), Make(depth - 1));
      case 6: return SelectExpr(Make(depth - 1), Make(depth - 1), Make(depth - 1));
      case 7: return CallExpr("max", {Make(depth - 1), Make(depth - 1)});
      case 8: return CastExpr(DType::kF32, Make(depth - 1), Pick(2));
      default:
        return BinaryExpr(static_cast<Op>(static_cast<int>(Op::kAdd) + Pick(18)), Make(depth - 1), Make(depth - 1));
    }
  }

 private:
  int Pick(int n) { return static_cast<int>(rng_() % n); }
  std::mt19937 rng_;
};

TEST(Print, RandomTreesParseBack) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Expr e = RandomTree(seed).Make(5);
    const std::string text = ToString(e);
    Result<Expr> back = ParseExpr(text);
    ASSERT_TRUE(back.ok()) << text << "\n" << back.status().ToString();
    ASSERT_EQ(*back, e) << text << "\n" << ToString(*back);
  }
}

TEST(Traversal, SubstituteRenameAndList) {
  const Expr e = Parse("X[i + 1] * 2.0 + Y[i, N - 1]");
  EXPECT_EQ(ToString(Substitute(e, {{"i", Parse("j - 1")}, {"N", IntExpr(4)}})), "X[j] * 2.0 + Y[j - 1, 3]");
  EXPECT_EQ(ToString(RenameContainers(e, {{"X", "Y"}, {"Y", "X"}})), "Y[i + 1] * 2.0 + X[i, N - 1]");
  EXPECT_EQ(FreeSymbols(e), (std::vector<Name>{"N", "i"}));
  EXPECT_EQ(ReadContainers(e), (std::vector<Name>{"X", "Y"}));
  EXPECT_EQ(Substitute(e, {{"k", 3}}).id(), e.id());
}

}  // namespace
}  // namespace headrace
