// The normal form that programs are differentiated in, part by part.
#include "autodiff/normalize.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace::autodiff {
namespace {

std::string Plain(const Program& p) {
  PrintOptions o;
  o.origins = false;
  return Print(p, o);
}

using Part = Result<bool> (*)(Program&);

void Expect(Part part, std::string_view before, std::string_view after) {
  Result<Program> p = ParseProgram(before), expected = ParseProgram(after);
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  Status valid = Verify(*p);
  ASSERT_TRUE(valid.ok()) << valid.ToString();
  Result<bool> changed = part(*p);
  ASSERT_TRUE(changed.ok()) << changed.status().ToString();
  const std::string text = Plain(*p);
  EXPECT_EQ(text, Plain(*expected));
  EXPECT_EQ(*changed, before != after);
  valid = Verify(*p);
  EXPECT_TRUE(valid.ok()) << valid.ToString();
  Result<Program> again = ParseProgram(text);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(Plain(*again), text);
  // What is normal stays as it is.
  changed = part(*p);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(Plain(*p), text);
}

// ---- structure-exits ----
TEST(StructureExits, ContinueLeavesTheRestToTheOtherBranch) {
  Expect(StructureExits, R"(
sdfg f(X: f64[N], s: f64, c: i64) {
  s = 0
  for i in 0:N {
    if c > i { continue }
    s += X[i]
  }
})",
         R"(
sdfg f(X: f64[N], s: f64, c: i64) {
  s = 0
  for i in 0:N {
    if !(c > i) { s += X[i] }
  }
})");
}

TEST(StructureExits, BreakBecomesAFlagOfTheLoop) {
  Expect(StructureExits, R"(
sdfg f(X: f64[N], s: f64) {
  s = 0
  for i in 0:N {
    s += X[i]
    if s > 1 { s = s * 2; break } else { s = s * 3 }
    s = s + 1
  }
})",
         R"(
sdfg f(X: f64[N], s: f64) {
  transient left: i64
  s = 0
  state { left = 0 }
  for i = 0; left == 0 && i < N; i = i + 1 {
    s += X[i]
    if s > 1 { state { s = s * 2 } state { left = 1 } } else { state { s = s * 3 } state { s = s + 1 } }
  }
})");
}

// Two ways go on after the inner conditional: a flag says whether one left before.
TEST(StructureExits, AFlagWhereSeveralWaysGoOn) {
  Expect(StructureExits, R"(
sdfg f(s: f64) {
  s = 0
  loop {
    s += 1
    if s > 3 { if s > 5 { break }; s = s + 2 } else if s > 2 { s = s - 1 }
    s = s * 2
  }
})",
         R"(
sdfg f(s: f64) {
  transient left: i64
  transient done: i64
  s = 0
  state { left = 0 }
  while left == 0 {
    state { done = 0 }
    state { s += 1 }
    if s > 3 { if s > 5 { left = 1; done = 1 } else { s = s + 2 } } else if s > 2 { s = s - 1 }
    if done == 0 { s = s * 2 }
  }
})");
}

TEST(StructureExits, ALoopThatTestsAfterItsBodyTestsBefore) {
  Expect(StructureExits, R"(
sdfg f(s: f64) {
  s = 8
  do { s = s / 2 } while s > 1
})",
         R"(
sdfg f(s: f64) {
  transient first: i64
  s = 8
  state { first = 1 }
  while first == 1 || s > 1 {
    state { first = 0 }
    state { s = s / 2 }
  }
})");
}

TEST(StructureExits, ConditionsReadScalars) {
  Expect(StructureExits, R"(
sdfg f(X: f64[N], s: f64) {
  s = 0
  if X[0] > 1 { s = 1 } else if X[1] > 1 { s = 2 } else { s = 3 }
})",
         R"(
sdfg f(X: f64[N], s: f64) {
  transient taken: bool
  transient taken_1: bool
  state { s = 0; }
  state { taken_1 = X[0] > 1 }
  if taken_1 { s = 1 } else {
    taken = X[1] > 1
    if taken { s = 2 } else { s = 3 }
  }
})");
}

// Bounds from data are taken at the start, unless the body changes them.
TEST(StructureExits, BoundsFromData) {
  Expect(StructureExits, R"(
sdfg f(P: i64[N], X: f64[M], Y: f64[N]) {
  for i in 0:N - 1 {
    Y[i] = 0
    for k in P[i]:P[i + 1] { Y[i] += X[k] }
  }
})",
         R"(
sdfg f(P: i64[N], X: f64[M], Y: f64[N]) {
  for i in 0:N - 1 {
    Y[i] = 0
    let from = P[i]
    let until = P[i + 1]
    for k in from:until { Y[i] += X[k] }
  }
})");
  Expect(StructureExits, R"(
sdfg f(n: i64, s: f64) {
  transient m: i64
  s = 0
  m = n
  for i in 0:m { s += 1; m = m - 1 }
})",
         R"(
sdfg f(n: i64, s: f64) {
  transient m: i64
  transient go: bool
  transient left: i64
  state { s = 0; m = n }
  state { left = 0 }
  for i = 0; left == 0; i = i + 1 {
    state { go = i < m }
    if !go { left = 1 } else { s += 1; m = m - 1 }
  }
})");
}

TEST(StructureExits, TheNextValueFromData) {
  Expect(StructureExits, R"(
sdfg f(next: i64[N], X: f64[N], s: f64) {
  s = 0
  for v = 0; v >= 0; v = next[v] { s += X[v] }
})",
         R"(
sdfg f(next: i64[N], X: f64[N], s: f64) {
  transient next_1: i64
  s = 0
  for v = 0; v >= 0; v = next_1 { state { s += X[v] } state { next_1 = next[v] } }
})");
}

// ---- localize-maps ----
TEST(LocalizeMaps, WhatIsLocalStaysAsItIs) {
  const char* text = R"(
sdfg f(X: f64[N, K], Y: f64[N], A: f64[N], inout B: f64[N]) {
  transient s: f64 @register
  map i in 0:N {
    s = 0
    map k in 0:K { s += X[i, k] }
    Y[i] = s * s
  }
  map i in 0:N { A[i] = B[i]; B[i] = sin(B[i]) }
})";
  Expect(LocalizeMaps, text, text);
}

TEST(LocalizeMaps, AnElementThatIsReadAgainLivesInARegister) {
  Expect(LocalizeMaps, R"(
sdfg f(X: f64[N], Y: f64[N], Z: f64[N]) {
  map i in 0:N { Y[i] = exp(X[i]); Z[i] = Y[i] * Y[i] }
})",
         R"(
sdfg f(X: f64[N], Y: f64[N], Z: f64[N]) {
  transient Y_1: f64 @register
  map i in 0:N { Y_1 = exp(X[i]); Z[i] = Y_1 * Y_1; Y[i] = Y_1 }
})");
}

TEST(LocalizeMaps, RegistersAreSetOnce) {
  Expect(LocalizeMaps, R"(
sdfg f(X: f64[N], Y: f64[N]) {
  transient r: f64 @register
  map i in 0:N {
    r = X[i]
    r = r * r
    r *= 2
    Y[i] = r
    map j in 0:i { r += X[j] }
    Y[i] = r + 1
  }
})",
         R"(
sdfg f(X: f64[N], Y: f64[N]) {
  transient r: f64 @register
  transient r_1: f64 @register
  transient r_2: f64 @register
  transient r_3: f64 @register
  map i in 0:N {
    r = X[i]
    r_1 = r * r
    r_2 = r_1 * 2
    Y[i] = r_2
    r_3 = r_2
    map j in 0:i { r_3 += X[j] }
    Y[i] = r_3 + 1
  }
})");
}

// A row that is written and then read divides the map; what the second half needs of a register is left in an array, or
// computed again when that is cheap.
TEST(LocalizeMaps, ARowDividesTheMap) {
  Expect(LocalizeMaps, R"(
sdfg f(X: f64[N, K], Z: f64[N, K]) {
  transient m: f64 @register
  transient s: f64 @register
  transient T: f64[N, K]
  map i in 0:N {
    m = 0
    map k in 0:K { m += X[i, k] }
    s = 0
    map k in 0:K { T[i, k] = exp(X[i, k] - m); s += T[i, k] }
    map k in 0:K { Z[i, k] = T[i, k] / s + m }
  }
})",
         R"(
sdfg f(X: f64[N, K], Z: f64[N, K]) {
  transient m: f64 @register
  transient s: f64 @register
  transient T: f64[N, K]
  transient s_1: f64 @register
  transient m_1: f64[N]
  map i in 0:N {
    m = 0
    map k in 0:K { m += X[i, k] }
    map k in 0:K { T[i, k] = exp(X[i, k] - m) }
    m_1[i] = m
  }
  map i in 0:N {
    s_1 = 0
    map k in 0:K { s_1 += T[i, k] }
    map k in 0:K { Z[i, k] = T[i, k] / s_1 + m_1[i] }
  }
})");
}

TEST(LocalizeMaps, ReadingElsewhereComesBeforeWriting) {
  Expect(LocalizeMaps, R"(
sdfg f(inout A: f64[N]) {
  map i in 0:N // 2 { A[2 * i] = A[2 * i + 1] + A[2 * i] }
})",
         R"(
sdfg f(inout A: f64[N]) {
  transient value: f64 @register
  map i in 0:N // 2 { value = A[2 * i + 1] + A[2 * i]; A[2 * i] = value }
})");
}

// Sizes of the arrays that registers become, also where bounds depend on other indices and on loops.
TEST(LocalizeMaps, ArraysOfTriangles) {
  Expect(LocalizeMaps, R"(
sdfg f(X: f64[N], inout Y: f64[N, N, K]) {
  transient r: f64 @register
  transient T: f64[N, N, K]
  for t in 0:N {
    map i in 1:N, j in t:i {
      r = exp(sin(X[i]) * X[j])
      map k in 0:K { T[i, j, k] = r }
      map k in 0:K { Y[i, j, k] += T[i, j, K - 1 - k] * r }
    }
  }
})",
         R"(
sdfg f(X: f64[N], inout Y: f64[N, N, K]) {
  transient r: f64 @register
  transient T: f64[N, N, K]
  transient r_1: f64[max(N - 1, 0), max(N - 1, 0)]
  for t in 0:N {
    state {
      map i in 1:N, j in t:i {
        r = exp(sin(X[i]) * X[j])
        map k in 0:K { T[i, j, k] = r }
        r_1[i - 1, j] = r
      }
      map i in 1:N, j in t:i { map k in 0:K { Y[i, j, k] += T[i, j, K - 1 - k] * r_1[i - 1, j] } }
    }
  }
})");
}

TEST(LocalizeMaps, ACallIsAloneInItsNest) {
  Expect(LocalizeMaps, R"(
entry sdfg f(X: f64[N, K], Y: f64[N]) {
  transient a: f64 @register
  transient b: f64 @register
  map i in 0:N {
    a = exp(X[i, 0])
    call g(x = X[i, :], a = a, b = b)
    Y[i] = a * b
  }
}
sdfg g(x: f64[K], a: f64, b: f64) {
  b = a
  for k in 0:K { b = b * x[k] }
})",
         R"(
entry sdfg f(X: f64[N, K], Y: f64[N]) {
  transient a: f64 @register
  transient b: f64 @register
  transient a_1: f64[N]
  transient b_1: f64[N]
  map i in 0:N { a_1[i] = exp(X[i, 0]) }
  map i in 0:N { call g(x = X[i, :], a = a_1[i], b = b_1[i]) }
  map i in 0:N { Y[i] = a_1[i] * b_1[i] }
}
sdfg g(x: f64[K], a: f64, b: f64) {
  b = a
  for k in 0:K { b = b * x[k] }
})");
}

TEST(LocalizeMaps, AnArrayOfUnknownSizeIsAnError) {
  Result<Program> p = ParseProgram(R"(
sdfg f(n: i64, X: f64[N], Y: f64[N]) {
  transient r: f64 @register
  transient T: f64[N]
  for v = 1; v < n; v = v * 2 {
    map i in 0:v {
      r = sin(exp(X[i]))
      map j in 0:N { T[j] += r }
      map j in 0:N { Y[j] = T[j] + r }
    }
  }
})");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  Result<bool> done = LocalizeMaps(*p);
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.status().ToString().find("register 'r' would need an array whose size over index 'i' is not known"),
            std::string::npos)
      << done.status().ToString();
}

// Layouts are taken out, views with them; what needs one is refused.
TEST(Normalize, LayoutsAreTakenOut) {
  const auto rows = [](const std::string& views) {
    auto p = ParseProgram("sdfg f(Y: f32[2]) {\n  transient T: f32[2, 3] layout [d1, d0]\n" + views + "\n  map i in 0:2 { Y[i] = 0 }\n}");
    EXPECT_TRUE(p.ok()) << p.status().ToString();
    const Status status = ToRowMajor(&*p);
    return status.ok() ? Plain(*p) : status.ToString();
  };
  const std::string out = rows("  view second: f32[3] of T offset 1 strides [2]");
  EXPECT_NE(out.find("transient T: f32[2, 3]\n  view second: f32[3] of T offset 3"), std::string::npos) << out;
  EXPECT_NE(rows("  view memory: f32[6] of T strides [1]").find("E0817"), std::string::npos);
}

}  // namespace
}  // namespace headrace::autodiff
