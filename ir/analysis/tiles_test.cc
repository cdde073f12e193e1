#include "ir/analysis/tiles.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

const Expr kN = SymbolExpr("N");

TEST(Tiles, APartIsWhatItIsOf) {
  const Range outer{"i0", Expr(0), kN, Expr(64)};
  const Range inner{"i", SymbolExpr("i0"), Min(SymbolExpr("i0") + Expr(64), kN), Expr(1)};
  EXPECT_TRUE(IsPartOf(inner, outer));
  EXPECT_FALSE(IsPartOf({"i", SymbolExpr("i0"), SymbolExpr("i0") + Expr(64), Expr(1)}, outer));  // may go beyond N
  std::vector<OrderedRange> ranges = {{outer, false}, {inner, true}};
  std::vector<Expr> index = {SymbolExpr("i")};
  JoinParts(&ranges, {&index});
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ToString(ranges[0].range.begin) + ":" + ToString(ranges[0].range.end), "0:N");
  EXPECT_FALSE(ranges[0].ordered);  // parts run at once
}

TEST(Tiles, AnIndexThatSpeaksOfTheBeginCountsFromThere) {
  const Range outer{"i0", Expr(0), kN, Expr(64)};
  const Range inner{"i", SymbolExpr("i0"), Min(SymbolExpr("i0") + Expr(64), kN), Expr(1)};
  std::vector<OrderedRange> ranges = {{outer, true}, {inner, false}};
  std::vector<Expr> index = {SymbolExpr("i") - SymbolExpr("i0")};
  JoinParts(&ranges, {&index});
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ToString(index[0]), ToString(SymbolExpr(ranges[1].range.index)));
  EXPECT_EQ(ToString(ranges[1].range.end), "64");
}

// Steps that don't fit into a part begin anew in the next one: 0, 12, 24, 36, 40, 52 … are no 0:N:12.
TEST(Tiles, StepsThatDontFitAreNoneOfTheWhole) {
  for (const auto& [step, whole] : {std::pair{12, 1}, {8, 8}}) {
    std::vector<OrderedRange> ranges = {{{"i0", Expr(0), kN, Expr(40)}, false},
                                        {{"i", SymbolExpr("i0"), Min(SymbolExpr("i0") + Expr(40), kN), Expr(step)}, true}};
    std::vector<Expr> index = {SymbolExpr("i")};
    JoinParts(&ranges, {&index});
    ASSERT_EQ(ranges.size(), 1u);
    EXPECT_EQ(AsInt(ranges[0].range.step), whole);
  }
}

TEST(Tiles, WholePartsNeedNoEnd) {
  const Expr i0 = SymbolExpr("i0");
  const Range inner{"i", i0, i0 + Expr(16), Expr(1)};
  EXPECT_TRUE(IsPartOf(inner, {"i0", Expr(0), Expr(64), Expr(16)}));
  EXPECT_TRUE(IsPartOf(inner, {"i0", kN, kN + Expr(32) * SymbolExpr("M"), Expr(16)}));
  EXPECT_FALSE(IsPartOf(inner, {"i0", Expr(0), Expr(72), Expr(16)}));
  EXPECT_FALSE(IsPartOf(inner, {"i0", Expr(8), Expr(64), Expr(16)}));
  std::vector<OrderedRange> ranges = {{{"i0", Expr(0), Expr(64), Expr(16)}, false}, {inner, false}};
  std::vector<Expr> index = {SymbolExpr("i")};
  JoinParts(&ranges, {&index});
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].range.end, Expr(64));
}

// A triangle's inner loop that counts down: its range is below the outer index, it is no part that begins there.
TEST(Tiles, WhatCountsDownIsNoPart) {
  const Expr i0 = SymbolExpr("i0");
  const Range outer{"i0", Expr(0), kN, Expr(1)}, inner{"i", i0, Expr(-1), Expr(-1)};
  EXPECT_FALSE(IsPartOf(inner, outer));
  EXPECT_FALSE(IsPartOf(inner, {"i0", kN - Expr(1), Expr(-1), Expr(-1)}));
  EXPECT_FALSE(IsPartOf({"i", i0, i0 - Expr(1), Expr(1)}, {"i0", kN, Expr(-1), Expr(-1)}));
  std::vector<OrderedRange> ranges = {{outer, true}, {inner, true}};
  std::vector<Expr> index = {SymbolExpr("i")};
  JoinParts(&ranges, {&index});
  EXPECT_EQ(ranges.size(), 2u);
}

TEST(Tiles, AStretchOfAPartKeepsItsBounds) {
  const Range outer{"i0", Expr(0), kN, Expr(64)};
  const Range stretch{"i", Max(SymbolExpr("i0"), Expr(3)), Min(Min(SymbolExpr("i0") + Expr(64), kN), SymbolExpr("M")), Expr(1)};
  EXPECT_TRUE(IsPartOf(stretch, outer));
  std::vector<OrderedRange> ranges = {{outer, false}, {stretch, false}};
  std::vector<Expr> index = {SymbolExpr("i")};
  JoinParts(&ranges, {&index});
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].range.begin, Expr(3));
  EXPECT_EQ(ranges[0].range.end, Min(kN, SymbolExpr("M")));
}

TEST(Tiles, PartsOfPartsAndCyclicOnes) {
  const Range a{"a", Expr(0), kN, Expr(256)};
  const Range b{"b", SymbolExpr("a"), Min(SymbolExpr("a") + Expr(256), kN), Expr(16)};
  const Range c{"c", SymbolExpr("b"), Min(SymbolExpr("b") + Expr(16), b.end), Expr(1)};
  std::vector<OrderedRange> ranges = {{a, false}, {b, false}, {c, false}};
  std::vector<Expr> index = {SymbolExpr("c")};
  JoinParts(&ranges, {&index});
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ToString(ranges[0].range.end), "N");
  const Range t{"t", Expr(0), Expr(256), Expr(1)}, cyclic{"c", SymbolExpr("t"), kN, Expr(256)};
  EXPECT_TRUE(IsPartOf(cyclic, t));
  ranges = {{t, false}, {cyclic, true}};
  JoinParts(&ranges, {&index});
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ToString(ranges[0].range.step), "1");
}

// 32 * (i // 32) - i is 0 where i goes by multiples of 256, however many. A step that may be negative says nothing.
TEST(Tiles, StepsAreCounted) {
  for (const auto& [least, counted] : {std::pair{1, true}, {-1, false}}) {
    Assumptions as;
    as.bounds.push_back({Name("m"), {least, 4}});
    const Expr i = SymbolExpr("i");
    std::vector<OrderedRange> ranges = {{{"i", Expr(0), Expr(1000), Expr(256) * SymbolExpr("m")}, false},
                                        {{"k", FloorDiv(i, Expr(32)), FloorDiv(i, Expr(32)) + Expr(8), Expr(1)}, true}};
    std::vector<Expr> index = {Expr(32) * FloorDiv(i, Expr(32)) - i};
    CountSteps(&ranges, {&index}, as);
    EXPECT_EQ(AsInt(index[0]), counted ? std::optional<int64_t>(0) : std::nullopt) << ToString(index[0]);
    EXPECT_EQ(ToString(ranges[0].range.end), counted ? "4" : "1000");
    EXPECT_EQ(ToString(ranges[1].range.begin), counted ? "8 * i" : "i // 32");
  }
}

}  // namespace
}  // namespace headrace
