// Places in the arena that can't be trusted.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

// Two arrays of N · 64 numbers, both in use at the second statement.
std::string Errors(const std::string& arena, const std::string& a, const std::string& b) {
  Result<Program> p = ParseProgram("sdfg f(X: f32[N, 64], Y: f32[N, 64]) {\n" + arena + "\ntransient A: f32[N, 64] " + a +
                                   "\ntransient B: f32[N, 64] " + b + R"(
    map i in 0:N, j in 0:64 { A[i, j] = X[i, j] }
    map i in 0:N, j in 0:64 { B[i, j] = A[i, j] }
    map i in 0:N, j in 0:64 { Y[i, j] = B[i, j] }
  })");
  if (!p.ok()) return p.status().ToString();
  const std::string printed = Print(*p);
  const Result<Program> again = ParseProgram(printed);
  EXPECT_TRUE(again.ok() && Print(*again) == printed) << printed;
  return Verify(*p).ToString();
}
bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(VerifyArena, WhatIsShownToBeApartIsFine) {
  EXPECT_EQ(Errors("arena { slot 0: 512 * N }", "@arena(0)", "@arena(0, 256 * N)"), Status().ToString());
  EXPECT_EQ(Errors("arena { slot 0: 256 * N; slot 1: 256 * N }", "@arena(1)", "@arena(0)"), Status().ToString());
  EXPECT_EQ(Errors("arena { slot 0: 256 * N }", "@arena(0)", ""), Status().ToString());
}

TEST(VerifyArena, ArraysInUseAtOnceLieApart) {
  const std::string same = Errors("arena { slot 0: 256 * N }", "@arena(0)", "@arena(0)");
  EXPECT_TRUE(Has(same, "E0271")) << same;
  EXPECT_TRUE(Has(same, "'B' and 'A' share memory and are in use at the same time")) << same;
  EXPECT_TRUE(Has(Errors("arena { slot 0: 512 * N }", "@arena(0)", "@arena(0, 192 * N)"), "E0271"));
  EXPECT_TRUE(Has(Errors("arena { slot 0: 256 * N + 64 }", "@arena(0)", "@arena(0, 64)"), "E0271"));
}

// Random places of arrays that live for random times, in units of 64 or 64 * N bytes: whether any two that are in use at once lie
// over each other.
TEST(VerifyArena, AnyTwoOfMany) {
  constexpr int kArrays = 12, kRoom = 40;
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int wrong = 0;
  for (int round = 0; round < 300; ++round) {
    const bool symbolic = round % 2 != 0;
    const std::string unit = symbolic ? " * N" : "";
    const int most = round % 3 == 0 ? 1 : 6;
    struct {
      int from, until, first, last;
    } a[kArrays];
    std::string text = "sdfg f(X: f32[N], Y: f32) {\n  arena { slot 0: " + std::to_string(64 * kRoom) + unit + " }\n", statements;
    for (int i = 0; i < kArrays; ++i) {
      const int size = symbolic ? 1 + below(most) : below(most + 1), from = below(kRoom - 6);
      a[i] = {from, from + size, 0, 0};
      text += "  transient A" + std::to_string(i) + ": f32[" + std::to_string(16 * size) + unit + "] @arena(0" +
              (from == 0 ? "" : ", " + std::to_string(64 * from) + unit) + ")\n";
    }
    for (int i = 0, at = 1; i < kArrays; ++i, ++at) {
      statements += "  A" + std::to_string(i) + ".flat[0] = 1\n";
      a[i].first = a[i].last = at;
      if (const int other = i - below(4); other >= 0 && other != i) {
        statements += "  A" + std::to_string(other) + ".flat[0] += 1\n";
        a[other].last = ++at;
      }
    }
    bool apart = true;
    for (int i = 0; i < kArrays; ++i)
      for (int j = 0; j < i; ++j)
        apart &= a[j].last < a[i].first || a[j].until <= a[i].from || a[i].until <= a[j].from;
    const Result<Program> p = ParseProgram(text + statements + "  Y = 1\n}\n");
    ASSERT_TRUE(p.ok()) << p.status().ToString() << text;
    EXPECT_EQ(Has(VerifyArena(p->Entry()).ToString(), "E0271"), !apart) << text << statements;
    wrong += apart ? 0 : 1;
  }
  EXPECT_GT(wrong, 50);
  EXPECT_LT(wrong, 250);
}

TEST(VerifyArena, PlacesAreWithinTheirSlots) {
  const std::string large = Errors("arena { slot 0: 448 * N }", "@arena(0)", "@arena(0, 256 * N)");
  EXPECT_TRUE(Has(large, "E0270")) << large;
  EXPECT_TRUE(Has(large, "'B', 256 * N bytes at 256 * N, is not within slot 0 of 448 * N bytes")) << large;
  EXPECT_TRUE(Has(Errors("arena { slot 0: 4096 }", "@arena(0)", ""), "E0270"));
  EXPECT_TRUE(Has(Errors("arena { slot 0: 512 * N }", "@arena(0, -64 * N)", ""), "E0270"));
  EXPECT_TRUE(Has(Errors("arena { slot 0: 256 * N }", "@arena(1)", ""), "lies in slot 1 of an arena of 1"));
  EXPECT_TRUE(Has(Errors("", "@arena(0)", ""), "declare it: arena { slot 0: bytes }"));
}

TEST(VerifyArena, PlacesAreAligned) {
  EXPECT_TRUE(Has(Errors("arena { slot 0: 512 * N }", "@arena(0)", "@arena(0, 4 * N)"), "which is no multiple of 64"));
}

TEST(VerifyArena, OnlyTransientsOfTheRunHavePlaces) {
  const Result<Program> p = ParseProgram(R"(sdfg f(X: f32[4] @arena(0), Y: f32[4]) {
      arena { slot 0: 64 }
      map i in 0:4 { Y[i] = X[i] }
    })");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  EXPECT_TRUE(Has(Verify(*p).ToString(), "'X' has a place in the arena, and is no transient of the run's"));
}

TEST(VerifyArena, SlotsHaveSizesThatAreKnownAtTheStart) {
  const Result<Program> p = ParseProgram(R"(sdfg f(I: i64[4], Y: f32) {
      arena { slot 0: 4 * k }
      transient T: f32[k]
      let k = I[0]
      map i in 0:k { T[i] = i }
      Y = T[0]
    })");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  EXPECT_TRUE(Has(Verify(*p).ToString(), "slot 0 of the arena is sized by 'k', which the run defines"));
}

TEST(VerifyArena, TextThatIsNoArena) {
  EXPECT_TRUE(Has(Errors("arena { slot 1: 4 }", "", ""), "slots are numbered from 0: this is slot 0"));
  EXPECT_TRUE(Has(Errors("arena { slot 0: M }", "", ""), "nothing defines 'M'"));
  EXPECT_TRUE(Has(Errors("", "@arena(-1)", ""), "slots of the arena are numbered from 0"));
}

}  // namespace
}  // namespace headrace
