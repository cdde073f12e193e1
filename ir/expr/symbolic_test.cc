// Index arithmetic: canonical forms, bounds and proofs. Random expressions are checked against
// sympy in tests/ir/symbolic_property_test.py.
#include <limits>

#include "gtest/gtest.h"
#include "ir/expr/expr.h"
#include "ir/text/parser.h"

namespace headrace {
namespace {

Expr Parse(const std::string& text) {
  Result<Expr> e = ParseExpr(text);
  EXPECT_TRUE(e.ok()) << e.status().ToString();
  return e.ok() ? *e : Expr(0);
}
std::string S(const std::string& text) { return ToString(Simplify(Parse(text))); }

TEST(Simplify, SumsOfProducts) {
  EXPECT_EQ(S("a + b + a"), "2 * a + b");
  EXPECT_EQ(S("x - x"), "0");
  EXPECT_EQ(S("(a + b) * (a - b)"), "a * a - b * b");
  EXPECT_EQ(S("3 - n"), "3 - n");
  EXPECT_EQ(S("-(n - 3)"), "3 - n");
  EXPECT_EQ(S("b*a - a*b + 1"), "1");
  EXPECT_EQ(S("-2 * n"), "-2 * n");
  EXPECT_EQ(S("n << 3"), "8 * n");
}

TEST(Simplify, Division) {
  EXPECT_EQ(S("(4*n + 2) // 4"), "n");
  EXPECT_EQ(S("(4*n + 6) // 4"), "n + 1");
  EXPECT_EQ(S("(6*n + 3) // 4"), "(3 * n + 1) // 2");
  EXPECT_EQ(S("(6*n + 4) // 4"), "3 * n // 2 + 1");
  EXPECT_EQ(S("(n // 2) // 3"), "n // 6");
  EXPECT_EQ(S("(n // 2 + 1) // 3"), "(n + 2) // 6");
  EXPECT_EQ(S("(i % 4 + 4*j) // 4"), "j");
  EXPECT_EQ(S("(a*M + b) // M"), "a + b // M");
  EXPECT_EQ(S("N*M // N"), "M");
  EXPECT_EQ(S("(N + 1)*M // (N + 1)"), "M");
  EXPECT_EQ(S("(N*a) // (N*b)"), "a // b");
  EXPECT_EQ(S("-7 // 2"), "-4");
  EXPECT_EQ(S("7 // -2"), "-4");
  EXPECT_EQ(S("n // -1"), "-n");
  EXPECT_EQ(S("n // 0"), "n // 0");
  EXPECT_EQ(S("6 / 4"), "1.5");  // exact
  EXPECT_EQ(S("2*n / 2"), "n");
}

TEST(Simplify, Remainder) {
  EXPECT_EQ(S("(4*n) % 4"), "0");
  EXPECT_EQ(S("(4*n + 6) % 4"), "2");
  EXPECT_EQ(S("(n - 1) % 4"), "(n + 3) % 4");
  EXPECT_EQ(S("(n % 8) % 4"), "n % 4");
  EXPECT_EQ(S("(n % 4) % 8"), "n % 4");
  EXPECT_EQ(S("(2*n) % 4"), "2 * (n % 2)");
  EXPECT_EQ(S("(a*M + b) % M"), "b % M");
  EXPECT_EQ(S("-7 % 3"), "2");
  EXPECT_EQ(S("7 % -3"), "-2");
  EXPECT_EQ(S("i // 4 * 4 + i % 4"), "i");
  EXPECT_EQ(S("i // W * W + i % W + 1"), "i + 1");
}

TEST(Simplify, MinimumAndMaximum) {
  EXPECT_EQ(S("min(n, n + 1)"), "n");
  EXPECT_EQ(S("max(n, n + 1)"), "n + 1");
  EXPECT_EQ(S("max(b, max(a, b))"), "max(a, b)");
  EXPECT_EQ(S("max(min(n, 3), 5)"), "5");
  EXPECT_EQ(S("min(n % 4, 4)"), "n % 4");
  EXPECT_EQ(S("max(n, min(n, 64))"), "n");
  EXPECT_EQ(S("min(n, max(max(m, k), n))"), "n");
  EXPECT_EQ(S("clamp(7, 0, 5)"), "5");
  EXPECT_EQ(S("clamp(n, 0, 5)"), "min(max(n, 0), 5)");
}

TEST(Simplify, ConditionsAndIndexFunctions) {
  EXPECT_EQ(S("n < n + 1"), "true");
  EXPECT_EQ(S("n % 4 >= 4"), "false");
  EXPECT_EQ(S("n == m"), "n == m");
  EXPECT_EQ(S("n + 1 == 1 + n ? a : b"), "a");
  EXPECT_EQ(S("c == d && true"), "c == d");
  EXPECT_EQ(S("wrap(-2, n)"), "n - 2");
  EXPECT_EQ(S("wrap(3, n)"), "3");
  EXPECT_EQ(S("reflect(-2, 5)"), "2");
  EXPECT_EQ(S("reflect(6, 5)"), "2");
}

TEST(Simplify, LeavesFloatsAlone) {
  for (const char* text : {"X[i] * 0", "X[i] + 0", "X[i] + 1 + 2", "X[i] - X[i]", "0.5 * X[i]"})
    EXPECT_EQ(S(text), text);
  EXPECT_EQ(S("X[i + i] + (j - j)"), "X[2 * i] + 0");
}

TEST(Simplify, IntegersThatWouldOverflowStay) {
  const std::string big = "9223372036854775807";
  EXPECT_EQ(S(big + " + 1"), big + " + 1");
  EXPECT_EQ(S(big + " * n * 4"), big + " * n * 4");
  EXPECT_EQ(S("4 * (" + big + " * n)"), "4 * (" + big + " * n)");
  EXPECT_EQ(S("-9223372036854775808 // -1"), "-9223372036854775808 // -1");
  EXPECT_EQ(S("-(-9223372036854775808)"), "0 - -9223372036854775808");
}

TEST(Simplify, IsIdempotent) {
  for (const char* text :
       {"(3*n + 5*m - 7) // 4 % 3", "max(min(a + 1, b), c - b // 2) * 3", "(6*n + 3) // 4 + (n - 1) % 4"}) {
    const std::string once = S(text);
    EXPECT_EQ(S(once), once);
  }
}

TEST(Bounds, Intervals) {
  Assumptions as;
  as.bounds = {{"i", {0, 9}}, {"j", {-3, 3}}};
  const auto text = [&](const char* e) {
    const Interval r = BoundsOf(Parse(e), as);
    return (r.lo ? std::to_string(*r.lo) : "-inf") + " " + (r.hi ? std::to_string(*r.hi) : "inf");
  };
  EXPECT_EQ(text("2*i + 1"), "1 19");
  EXPECT_EQ(text("i - i"), "0 0");
  EXPECT_EQ(text("i * j"), "-27 27");
  EXPECT_EQ(text("j * j"), "0 9");
  EXPECT_EQ(text("j // 2"), "-2 1");
  EXPECT_EQ(text("j % 5"), "0 4");
  EXPECT_EQ(text("i % 20"), "0 9");
  EXPECT_EQ(text("min(i, 4)"), "0 4");
  EXPECT_EQ(text("N"), "0 inf");
  EXPECT_EQ(text("-N"), "-inf 0");
  EXPECT_EQ(text("i // N"), "0 9");
  EXPECT_EQ(text("wrap(j, 4)"), "0 3");
  EXPECT_EQ(text("9223372036854775807 * i"), "0 inf");
}

TEST(Prove, Order) {
  Assumptions as;
  as.bounds = {{"N", {1, {}}}, {"M", {1, {}}}, {"k", {0, {}}}};
  const auto le = [&](const char* a, const char* b) { return ProveLe(Parse(a), Parse(b), as); };
  EXPECT_EQ(le("N", "N*M"), Truth::kYes);
  EXPECT_EQ(le("N - 1 + N*(M - 1)", "N*M - 1"), Truth::kYes);
  EXPECT_EQ(le("N + 1", "N"), Truth::kNo);
  EXPECT_EQ(le("N // 2 * 2", "N"), Truth::kYes);
  EXPECT_EQ(le("(N - 1) // 2 * 2 + 1", "N"), Truth::kYes);
  EXPECT_EQ(le("N", "N // 2 * 2"), Truth::kUnknown);
  EXPECT_EQ(le("k % N", "N - 1"), Truth::kYes);
  EXPECT_EQ(le("min(k, N)", "N"), Truth::kYes);
  EXPECT_EQ(le("N", "M"), Truth::kUnknown);
  EXPECT_EQ(ProveEq(Parse("N + M"), Parse("M + N"), as), Truth::kYes);
  EXPECT_EQ(ProveEq(Parse("N"), Parse("N + M"), as), Truth::kNo);
  EXPECT_EQ(ProveEq(Parse("N"), Parse("M"), as), Truth::kUnknown);
}

// Sizes of a long chain of strided layers: each is in the next one twice, so there are 2^50 paths through the last.
TEST(Simplify, SharedSubtreesCostNothing) {
  const auto chain = [](Expr x, int length) {
    for (int i = 0; i < length; ++i) x = FloorDiv(x + 1, 2) + Mod(x, 3);
    return x;
  };
  const Expr x = chain(Expr(Name("N")), 50), y = chain(Expr(Name("N")), 50);
  EXPECT_EQ(x, y);
  EXPECT_EQ(Simplify(x), y);
  EXPECT_TRUE(IsIndexExpr(x));
  EXPECT_EQ(ProveEq(x, y), Truth::kYes);
  EXPECT_NE(x, chain(Expr(Name("M")), 50));
  EXPECT_EQ(BoundsOf(x).lo, 0);
  EXPECT_EQ(ProveLe(x, y + 1), Truth::kYes);
  EXPECT_EQ(Substitute(x, {{"N", Expr(Name("M"))}}), chain(Expr(Name("M")), 50));
  EXPECT_EQ(FreeSymbols(x), std::vector<Name>{"N"});
  EXPECT_EQ(AsInt(Substitute(x, {{"N", Expr(5)}})), AsInt(chain(Expr(5), 50)));
  // Not yet simplified.
  Expr raw(Name("N"));
  for (int i = 0; i < 50; ++i)
    raw =
        BinaryExpr(Op::kAdd, BinaryExpr(Op::kFloorDiv, BinaryExpr(Op::kAdd, raw, 1), 2), BinaryExpr(Op::kMod, raw, 3));
  EXPECT_TRUE(IsIndexExpr(raw));
  EXPECT_EQ(Simplify(raw), x);
}

}  // namespace
}  // namespace headrace
