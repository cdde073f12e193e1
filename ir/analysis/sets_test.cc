#include "ir/analysis/sets.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"

namespace headrace {
namespace {

Expr E(const char* text) {
  Result<Expr> e = ParseExpr(text);
  HR_CHECK(e.ok(), text);
  return Simplify(*e);
}
std::vector<Expr> Exprs(std::initializer_list<const char*> texts) {
  std::vector<Expr> out;
  for (const char* t : texts) out.push_back(E(t));
  return out;
}
Range R(const char* index, const char* begin, const char* end, const char* step = "1") {
  return {Name(index), E(begin), E(end), E(step)};
}
Subset Box3(std::initializer_list<std::array<const char*, 3>> dims) {
  Subset s;
  for (const auto& d : dims) s.dims.push_back({Name(), E(d[0]), E(d[1]), E(d[2])});
  return s;
}
Subset Box1(const char* b, const char* e, const char* step = "1") { return Box3({{b, e, step}}); }
const Truth kYes = Truth::kYes, kNo = Truth::kNo, kUnknown = Truth::kUnknown;

TEST(Sets, Overlap) {
  EXPECT_EQ(Overlaps(Box1("0", "N"), Box1("N", "2*N")), kNo);
  EXPECT_EQ(Overlaps(Box1("0", "4"), Box1("3", "5")), kYes);
  EXPECT_EQ(Overlaps(Box1("0", "N"), Box1("3", "5")), kUnknown);  // N may be small
  EXPECT_EQ(Overlaps(Box1("0", "N"), Box1("0", "N")), kUnknown);  // N may be 0
  EXPECT_EQ(Overlaps(Box1("0", "N + 1"), Box1("0", "N + 1")), kYes);
  EXPECT_EQ(Overlaps(Box1("0", "2*N", "2"), Box1("1", "2*N", "2")), kNo);  // even and odd: isl
  EXPECT_EQ(Overlaps(Box1("0", "N*M"), Box1("N*M", "N*M + K")), kNo);      // products are sizes like any other
  EXPECT_EQ(Overlaps(Box3({{"0", "4", "1"}, {"0", "N", "1"}}), Box3({{"4", "8", "1"}, {"0", "N", "1"}})), kNo);
  EXPECT_EQ(Overlaps(Box1("0", "2"), Box3({{"0", "2", "1"}, {"0", "2", "1"}})), kUnknown);
}

TEST(Sets, Coverage) {
  EXPECT_EQ(Covers(Box1("0", "N"), Box1("0", "N")), kYes);
  EXPECT_EQ(Covers(Box1("0", "N + 2"), Box1("1", "N")), kYes);
  EXPECT_EQ(Covers(Box1("0", "N"), Box1("0", "N + 1")), kNo);
  EXPECT_EQ(Covers(Box1("0", "N"), Box1("0", "M")), kUnknown);
  EXPECT_EQ(Covers(Box1("0", "8", "2"), Box1("2", "8", "4")), kYes);
  const Subset row = Box3({{"3", "4", "1"}, {"0", "N", "1"}});
  EXPECT_EQ(Covers(row, Box3({{"0", "8", "1"}, {"0", "N", "1"}})), kUnknown);  // N may be 0
  EXPECT_EQ(Covers(row, Box3({{"0", "8", "1"}, {"0", "N + 1", "1"}})), kNo);
}

// Answers are remembered: the same words under other bounds are another question.
TEST(Sets, TheSameQuestionUnderOtherBounds) {
  const Subset even = Box1("0", "N", "2"), odd = Box1("3", "4");
  Assumptions large, small;
  large.bounds = {{"N", {8, {}}}}, small.bounds = {{"N", {0, 2}}};
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(WithinBounds({R("i", "0", "N", "2")}, Exprs({"i"}), Exprs({"6"}), small), kYes);
    EXPECT_NE(WithinBounds({R("i", "0", "N", "2")}, Exprs({"i"}), Exprs({"6"}), large), kYes);
    EXPECT_EQ(Overlaps(even, odd, large), kNo);
  }
}

TEST(Sets, Injectivity) {
  std::vector<Range> ij = {R("i", "0", "N"), R("j", "0", "M")};
  EXPECT_EQ(IsInjective(ij, Exprs({"i", "j"})), kYes);
  EXPECT_EQ(IsInjective(ij, Exprs({"j", "i + j"})), kYes);
  EXPECT_EQ(IsInjective(ij, Exprs({"i*M + j"})), kYes);  // mixed radix with a symbolic base
  EXPECT_EQ(IsInjective(ij, Exprs({"i*(M + 3) + j"})), kYes);
  EXPECT_EQ(IsInjective(ij, Exprs({"i + j"})), kUnknown);
  EXPECT_NE(IsInjective(ij, Exprs({"i*M + 2*j"})), kYes);
  EXPECT_EQ(IsInjective({R("i", "0", "4"), R("j", "0", "3")}, Exprs({"i"})), kNo);
  EXPECT_EQ(IsInjective({R("i", "0", "N")}, Exprs({"3 - 2*i"})), kYes);
  EXPECT_EQ(IsInjective({R("i", "0", "N")}, Exprs({"i // 2"})), kUnknown);
  EXPECT_EQ(IsInjective({R("i", "0", "N")}, Exprs({"i // 2", "i % 2"})), kYes);
  EXPECT_EQ(IsInjective({R("i", "0", "N*M*K")}, Exprs({"i // (M*K)", "i // K % M", "i % K"})), kYes);
  EXPECT_EQ(IsInjective({R("i", "0", "N"), R("u", "0", "1")}, Exprs({"i"})), kYes);
  EXPECT_EQ(IsInjective({R("i", "0", "64", "8"), R("j", "0", "8")}, Exprs({"i + j"})), kYes);  // tiles
  EXPECT_EQ(IsInjective({R("i", "0", "64", "8"), R("j", "0", "9")}, Exprs({"i + j"})), kUnknown);
  EXPECT_EQ(IsInjective({R("i", "0", "N", "8"), R("j", "0", "min(N - i, 8)")}, Exprs({"i + j"})), kYes);  // the last one is cut
  EXPECT_NE(IsInjective({R("i", "0", "N", "8"), R("j", "0", "min(N - i, 9)")}, Exprs({"i + j"})), kYes);
  EXPECT_EQ(IsInjective({R("i", "a", "min(a + 64, N)", "8"), R("k", "0", "20", "4"), R("j", "0", "4")}, Exprs({"k + j", "i - a"})), kYes);
  EXPECT_NE(IsInjective({R("i", "a", "min(a + 64, N)", "8"), R("k", "0", "12", "4"), R("j", "0", "4")}, Exprs({"i - a + k + j"})), kYes);
  EXPECT_EQ(IsInjective({R("i", "0", "64", "12"), R("k", "0", "9", "4"), R("j", "0", "4")}, Exprs({"i + k + j"})), kYes);
  EXPECT_EQ(IsInjective({R("i", "0", "9"), R("j", "max(3 - 2*i, 0)", "7")}, Exprs({"7*i + j"})), kYes);  // the first one moves
  EXPECT_NE(IsInjective({R("i", "0", "9"), R("j", "max(3 - 2*i, 0)", "7")}, Exprs({"6*i + j"})), kYes);
  EXPECT_NE(IsInjective({R("i", "0", "2"), R("j", "max(i, 0)", "99", "8")}, Exprs({"j - i"})), kYes);
  EXPECT_NE(IsInjective({R("i", "0", "2"), R("j", "i", "99", "8")}, Exprs({"j - i"})), kYes);
}

TEST(Sets, Bounds) {
  std::vector<Range> i = {R("i", "0", "N")};
  EXPECT_EQ(WithinBounds(i, Exprs({"i"}), Exprs({"N"})), kYes);
  EXPECT_EQ(WithinBounds(i, Exprs({"N - 1 - i"}), Exprs({"N"})), kYes);
  EXPECT_EQ(WithinBounds(i, Exprs({"2*i + 1"}), Exprs({"2*N"})), kYes);
  EXPECT_EQ(WithinBounds(i, Exprs({"i // 2"}), Exprs({"N"})), kYes);
  EXPECT_EQ(WithinBounds(i, Exprs({"i % 4"}), Exprs({"4"})), kYes);
  EXPECT_EQ(WithinBounds(i, Exprs({"i + 1"}), Exprs({"N"})), kNo);
  EXPECT_EQ(WithinBounds(i, Exprs({"i - 1"}), Exprs({"N"})), kNo);
  EXPECT_EQ(WithinBounds(i, Exprs({"i"}), Exprs({"M"})), kUnknown);
  EXPECT_EQ(WithinBounds({}, Exprs({"4"}), Exprs({"4"})), kNo);
  EXPECT_EQ(WithinBounds({R("i", "0", "N"), R("j", "0", "i")}, Exprs({"j"}), Exprs({"N"})), kYes);  // triangular
  EXPECT_EQ(WithinBounds({R("i", "N - 1", "-1", "-1")}, Exprs({"i"}), Exprs({"N"})), kYes);
  EXPECT_EQ(WithinBounds({R("i", "0", "N"), R("j", "0", "M")}, Exprs({"i*M + j"}), Exprs({"N*M"})), kYes);
  EXPECT_EQ(WithinBounds({R("i", "0", "112", "14"), R("j", "0", "14")}, Exprs({"i + j"}), Exprs({"112"})), kYes);
  EXPECT_NE(WithinBounds({R("i", "0", "113", "14"), R("j", "0", "14")}, Exprs({"i + j"}), Exprs({"113"})), kYes);
  const std::vector<Range> cut = {R("n", "0", "N"), R("i", "0", "80", "32"), R("j", "0", "min(80 - i, 32)")};
  EXPECT_EQ(WithinBounds(cut, Exprs({"n", "i + j"}), Exprs({"N", "80"})), kYes);
  EXPECT_EQ(WithinBounds(cut, Exprs({"n", "i + j + 1"}), Exprs({"N", "80"})), kNo);
  EXPECT_EQ(WithinBounds(cut, Exprs({"n + 1", "i + j"}), Exprs({"N", "80"})), kNo);
  EXPECT_NE(WithinBounds({R("i", "0", "10"), R("j", "i", "5")}, Exprs({"i"}), Exprs({"5"})), kNo);  // j leaves few of i
  Assumptions small;
  small.bounds.push_back({Name("M"), Interval{1, 8}});
  EXPECT_EQ(WithinBounds({}, Exprs({"M"}), Exprs({"9"}), small), kYes);
}

TEST(Sets, Images) {
  auto image = [](std::vector<Range> ranges, std::initializer_list<const char*> index,
                  std::initializer_list<const char*> shape) {
    Box b = ImageBox(ranges, Exprs(index), Exprs(shape));
    return ToString(b.subset) + (b.exact ? " exactly" : "");
  };
  EXPECT_EQ(image({R("i", "0", "N"), R("j", "0", "M")}, {"i", "j + 1"}, {"N", "M + 1"}), "[0:N, 1:M + 1] exactly");
  EXPECT_EQ(image({R("i", "0", "N")}, {"2*i"}, {"2*N"}), "[0:2 * N - 1:2] exactly");
  EXPECT_EQ(image({R("p", "0", "P"), R("k", "0", "3")}, {"p + k - 1"}, {"P"}), "[-1:P + 1] exactly");
  EXPECT_EQ(image({R("i", "0", "N")}, {"i", "i"}, {"N", "N"}), "[0:N, 0:N]");  // a diagonal
  EXPECT_EQ(image({R("i", "0", "N")}, {"3"}, {"8"}), "[3] exactly");
}

}  // namespace
}  // namespace headrace
