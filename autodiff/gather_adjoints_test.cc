#include "autodiff/gather_adjoints.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace::autodiff {
namespace {

void Expect(std::string_view before, std::string_view after) {
  Result<Program> p = ParseProgram(before), expected = ParseProgram(after);
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  Result<bool> changed = GatherAdjoints(*p);
  ASSERT_TRUE(changed.ok()) << changed.status().ToString();
  EXPECT_EQ(*changed, before != after);
  Status valid = Verify(*p);
  EXPECT_TRUE(valid.ok()) << valid.ToString();
  PrintOptions o;
  o.origins = false;
  // Registers that lost their uses stay declared: dead code elimination is another pass.
  EXPECT_EQ(Print(*p, o), Print(*expected, o));
}

TEST(GatherAdjoints, TapsBecomeASumAndEdges) {
  Expect(R"(
sdfg f(G: f64[N], c: f64, inout D: f64[N]) {
  assume N >= 4
  transient t: f64 @register
  map i in 1:N - 1 { t = G[i]; D[i - 1] += t * c }
  map i in 1:N - 1 { D[i + 1] += G[i] }
})",
         R"(
sdfg f(G: f64[N], c: f64, inout D: f64[N]) {
  assume N >= 4
  transient t: f64 @register
  map i_1 in 2:N - 2 { D[i_1] += G[i_1 + 1] * c + G[i_1 - 1] }
  map i_1 in 0:2 { D[i_1] += G[i_1 + 1] * c }
  map i_1 in N - 2:N { D[i_1] += G[i_1 - 1] }
})");
}

// Maps that add to several arrays: where one of these has taps in both, the others stay maps of their own; a register that adds nothing
// adds nothing.
TEST(GatherAdjoints, MapsOfSeveralSums) {
  Expect(R"(
sdfg f(G: f64[N], X: f64[N], inout D: f64[N], E: f64[N], inout H: f64[N]) {
  assume N >= 4
  transient t: f64 @register
  transient r: f64 @register
  transient z: f64 @register
  map i in 0:N { E[i] = 0.0 }
  map i in 1:N - 1 { t = X[i]; r = 0.0; z = 0.0; r += t > 0.0 ? G[i] : 0.0; D[i - 1] += r; E[i] += -z; H[i] += t * G[i] }
  map i in 1:N - 1 { D[i + 1] += G[i] }
})",
         R"(
sdfg f(G: f64[N], X: f64[N], inout D: f64[N], E: f64[N], inout H: f64[N]) {
  assume N >= 4
  transient t: f64 @register
  transient r: f64 @register
  transient z: f64 @register
  map i in 0:N { E[i] = 0.0 }
  map i_1 in 2:N - 2 { D[i_1] += (X[i_1 + 1] > 0.0 ? G[i_1 + 1] : 0.0) + G[i_1 - 1] }
  map i_1 in 0:2 { D[i_1] += X[i_1 + 1] > 0.0 ? G[i_1 + 1] : 0.0 }
  map i_1 in N - 2:N { D[i_1] += G[i_1 - 1] }
  map i in 1:N - 1 { H[i] += X[i] * G[i] }
})");
}

// Where an edge belongs to some of the taps only, each asks whether it is one of them.
TEST(GatherAdjoints, EdgesOfThreeTaps) {
  Expect(R"(
sdfg f(G: f64[N], inout D: f64[N]) {
  assume N >= 4
  map i in 1:N - 1 { D[i - 1] += G[i] }
  map i in 1:N - 1 { D[i] += 2.0 * G[i] }
  map i in 1:N - 1 { D[i + 1] += G[i] }
})",
         R"(
sdfg f(G: f64[N], inout D: f64[N]) {
  assume N >= 4
  map i_1 in 2:N - 2 { D[i_1] += G[i_1 + 1] + 2.0 * G[i_1] + G[i_1 - 1] }
  map i_1 in 0:2 { D[i_1] += G[i_1 + 1] + (i_1 >= 1 ? 2.0 * G[i_1] : 0.0) }
  map i_1 in N - 2:N { D[i_1] += (i_1 < N - 1 ? 2.0 * G[i_1] : 0.0) + G[i_1 - 1] }
})");
}

// Rows of a loop are groups of their own; what was cleared just before is assigned.
TEST(GatherAdjoints, RowsOfALoopAndClearedElements) {
  Expect(R"(
sdfg f(G: f64[N], inout D: f64[N, N]) {
  assume N >= 4
  for t in 1:N {
    map j in 0:N { D[t, j] = 0.0 }
    map j in 1:N { D[t, j - 1] += G[j] }
    map j in 1:N { D[t - 1, j] += G[j] }
    map j in 1:N { D[t, j] += G[j] }
  }
})",
         R"(
sdfg f(G: f64[N], inout D: f64[N, N]) {
  assume N >= 4
  for t in 1:N {
    map j_1 in 0:1 { D[t, j_1] = 0.0 }
    map j_1 in N - 1:N { D[t, j_1] = 0.0 }
    map j_1 in 1:N - 1 { D[t, j_1] = G[j_1 + 1] + G[j_1] }
    map j_1 in 0:1 { D[t, j_1] += G[j_1 + 1] }
    map j_1 in N - 1:N { D[t, j_1] += G[j_1] }
    map j in 1:N { D[t - 1, j] += G[j] }
  }
})");
}

// A quotient that three neighbours need is computed once for each of them; what may not be computed everywhere stays.
TEST(GatherAdjoints, QuotientsThatAreShared) {
  Expect(R"(
sdfg f(G: f64[98], X: f64[98], inout D: f64[100], inout E: f64[98]) {
  map i in 0:98 {
    D[i] += G[i] / (X[i] + 2.0) * 3.0
    E[i] += -(G[i] / (X[i] + 2.0))
  }
  map i in 0:98 { D[i + 2] += G[i] / (X[i] + 2.0) * 4.0 }
  map i in 0:98 {
    D[i] += X[i] > 0.0 ? G[i] / X[i] : 1.0
    D[i + 1] += X[i] > 0.0 ? G[i] / X[i] : 2.0
    D[i + 2] += X[i] > 0.0 ? G[i] / X[i] : 3.0
  }
})",
         R"(
sdfg f(G: f64[98], X: f64[98], inout D: f64[100], inout E: f64[98]) {
  transient part: f64[98]
  state {
    map i in 0:98 { part[i] = G[i] / (X[i] + 2.0) }
    map i_1 in 2:98 {
      D[i_1] += part[i_1] * 3.0 + part[i_1 - 2] * 4.0 + (X[i_1] > 0.0 ? G[i_1] / X[i_1] : 1.0) + (X[i_1 - 1] > 0.0 ? G[i_1 - 1] / X[i_1 - 1] : 2.0) + (X[i_1 - 2] > 0.0 ? G[i_1 - 2] / X[i_1 - 2] : 3.0)
    }
    map i_1 in 0:2 {
      D[i_1] += part[i_1] * 3.0 + (X[i_1] > 0.0 ? G[i_1] / X[i_1] : 1.0) + (i_1 >= 1 ? X[i_1 - 1] > 0.0 ? G[i_1 - 1] / X[i_1 - 1] : 2.0 : 0.0)
    }
    map i_1 in 98:100 {
      D[i_1] += part[i_1 - 2] * 4.0 + (i_1 < 99 ? X[i_1 - 1] > 0.0 ? G[i_1 - 1] / X[i_1 - 1] : 2.0 : 0.0) + (X[i_1 - 2] > 0.0 ? G[i_1 - 2] / X[i_1 - 2] : 3.0)
    }
    map i in 0:98 { E[i] += -part[i] }
  }
})");
}

// What a map assigns beside what it adds stays a map of its own; assigned twice, or read, it keeps its place.
TEST(GatherAdjoints, MapsThatAlsoAssign) {
  Expect(R"(
sdfg f(G: f64[98], X: f64[98], D: f64[100], E: f64[98], F: f64[98]) {
  map i in 0:100 { D[i] = 0.0 }
  map i in 0:98 {
    D[i] += G[i] * X[i]
    E[i] = G[i] + X[i]
  }
  map i in 0:98 { D[i + 2] += G[i] }
  map i in 0:98 { E[i] = E[i] * 2.0 }
  map i in 0:98 { F[i] = 0.0 }
})",
         R"(
sdfg f(G: f64[98], X: f64[98], D: f64[100], E: f64[98], F: f64[98]) {
  map i_1 in 0:2 { D[i_1] = 0.0 }
  map i_1 in 98:100 { D[i_1] = 0.0 }
  map i_1 in 2:98 { D[i_1] = G[i_1] * X[i_1] + G[i_1 - 2] }
  map i_1 in 0:2 { D[i_1] += G[i_1] * X[i_1] }
  map i_1 in 98:100 { D[i_1] += G[i_1 - 2] }
  map i in 0:98 { E[i] = G[i] + X[i] }
  map i in 0:98 { E[i] = E[i] * 2.0 }
  map i in 0:98 { F[i] = 0.0 }
})");
}

TEST(GatherAdjoints, WhatReadsTheSumsOrHitsElementsTwiceStays) {
  const char* text = R"(
sdfg f(G: f64[N], I: i64[N], inout D: f64[N], inout E: f64[N]) {
  assume N >= 4
  map i in 1:N { D[i - 1] += G[i] }
  map i in 1:N { E[i] += D[i] }
  map i in 1:N { D[i] += E[i] }
  map i in 0:N { D[I[i]] += G[i] }
  map i in 0:N { D[0] += G[i] }
  map i in 0:N - 1 { D[i + 1] += G[i] }
})";
  Expect(text, text);
}

}  // namespace
}  // namespace headrace::autodiff
