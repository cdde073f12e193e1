// The verifier: what it accepts, and every error by its text.
#include "ir/verify/verify.h"

#include <gtest/gtest.h>

#include <ctime>

#include "ir/graph/builder.h"
#include "ir/text/parser.h"

namespace headrace {
namespace {

std::string ErrorsOf(const std::string& text) {
  Result<Program> p = ParseProgram(text);
  return p.ok() ? Verify(*p).ToString() : "parser: " + p.status().ToString();
}

void ExpectValid(const std::string& text) { EXPECT_EQ(ErrorsOf(text), "OK") << text; }
void ExpectError(const std::string& text, const std::string& error) {
  std::string got = ErrorsOf(text);
  EXPECT_NE(got.find(error), std::string::npos) << "expected: " << error << "\n" << got << "\n" << text;
}
// One statement over X, Y: f32[N, M], v: f32[N], idx: i64[N], a register r inside maps.
std::string With(const std::string& statements) {
  return "sdfg f(X: f32[N, M], v: f32[N], idx: i64[N], Y: f32[N, M], w: f32[N], s: f32) {\n transient t: f32[N]\n transient r: f32 @register\n state {\n" +
         statements + "\n}\n}";
}

TEST(Verify, LoopsThatAddToNothing) {
  ExpectError("sdfg f(X: f32[N], Y: f32) { for t in 0:N { Y += X[t] } }", "E0229");
  ExpectError("sdfg f(X: f32[N], Y: f32) { transient s: f32\n for t in 0:N { s += X[t] }\n Y = s }", "E0230");
  ExpectError("sdfg f(X: f32[N], Y: f32[1]) { call k(x = X, y = Y) }\nkernel k(x: f32[n], y: f32[1]) for cpu { for i in 0:n { y[0] += x[i] } }", "E0229");
  ExpectValid("sdfg f(X: f32[N], inout Y: f32) { for t in 0:N { Y += X[t] } }");
  ExpectValid("sdfg f(X: f32[N], Y: f32) { for t in 0:N { if t == 0 { Y = 0 }\n Y += X[t] } }");
}

TEST(Verify, ArgumentsThatMeetInMemory) {
  const auto found = [](const std::string& call) {
    const auto p = ParseProgram("sdfg f(X: f32[8], inout W: f32[9], inout V: f32[2, 8]) {\n  view low: f32[8] of W\n  view high: f32[8] of W offset 1\n"
                                "  view half: f32[4] of W offset 4\n  " + call + "\n  W[0] = V[0, 0]\n  V[0, 0] = X[0]\n}\n"
                                "sdfg g(x: f32[n], y: f32[m]) { y[0] = x[0] }\n");
    EXPECT_TRUE(p.ok()) << p.status().ToString();
    const Status s = Verify(*p);
    return s.ok() ? "" : s.diagnostics()[0].code;
  };
  EXPECT_EQ(found("call g(x = X, y = low)"), "");
  EXPECT_EQ(found("call g(x = low, y = high)"), "E0245");
  EXPECT_EQ(found("call g(x = W, y = high)"), "E0245");
  EXPECT_EQ(found("call g(x = V[0, :], y = V[1, :])"), "");
  EXPECT_EQ(found("call g(x = V[1, :], y = V[1, :])"), "E0245");
  EXPECT_EQ(found("call g(x = half, y = low)"), "E0245");
}

TEST(Verify, AcceptsWhatPureFormsExpandTo) {
  ExpectValid(With("map i in 0:N, j in 0:M { Y[i, j] = max(X[i, j], 0) }"));
  ExpectValid(
      With("map i in 0:N { t[i] = 0 }  map i in 0:N, j in 0:M { t[i] += X[i, j] }  map i in 0:N { w[i] = t[i] / M }"));
  ExpectValid(With("map i in 0:N { r = 0; map j in 0:M { r += X[i, j] }; w[i] = r }"));
  ExpectValid(With("map i in 0:N { w[i] = X[i, 0] ?? 0 }"));
  ExpectValid(With("map i in 0:N { w[idx[i]] = v[i] }"));  // scatter: distinct indices are asserted
  ExpectValid(With("map i in 0:N { w[i] = v[idx[i]] }"));
  ExpectValid(With("map i in 0:N { w[i * 2 - 1] ?? = v[i] }"));
  ExpectValid(With("map i in 0:N, j in 0:M { Y.flat[i * M + j] = X.flat[i * M + j] }"));
  ExpectValid(With("map i in 0:N { w[i] = 1; w[i] = w[i] + 1 }"));
  ExpectValid(With("map i in 0:N { w[i] = i > 0 ? v[i - 1] : 0 }"));
  ExpectValid(With("map i in 0:N * M { Y[i // M, i % M] = 0 }"));
}

TEST(Verify, RacesBetweenIterations) {
  ExpectError(With("map i in 0:N, j in 0:M { w[i] = X[i, j] }"),
              "iterations over 'j' all write the same element of 'w'");
  ExpectError(With("map i in 0:N { w[i // 2] = v[i] }"), "two iterations may write one element of 'w'");
  ExpectError(With("map i in 0:N { w[0] = v[i] }"), "reduce with +=, *=, max= or min=");
  ExpectError(With("map i in 0:N { w[i] = 0 }  map i in 0:N - 1 { w[i + 1] = w[i] }"),
              "a read of 'w' may meet an element that another iteration of the map writes");
  ExpectError(With("map i in 0:N - 1 { w[i] = 0; w[i + 1] = 1 }"), "another write of 'w' may meet an element");
  ExpectError(With("map i in 0:N { w[i] = 0 }  map i in 0:N { w[i] = w[idx[i]] }"),
              "a read of 'w' may meet an element");
  ExpectError(With("map i in 0:N { t[0] = v[i]; w[i] = t[0] }"),
              "iterations over 'i' all write the same element of 't'");
  // Even and odd elements never meet.
  ExpectValid("sdfg f(w: f32[2*N], n: f32[N]) { state { map i in 0:N { w[2*i] = 0; w[2*i + 1] = w[2*i] } } }");
  // The halves of one array never meet.
  ExpectValid(
      "sdfg f(w: f32[2*N], v: f32[N]) { state { map i in 0:N { w[i] = v[i] }; map i in 0:N { w[N + i] = w[i] } } }");
}

TEST(Verify, RacesOfRangesThatGoDown) {
  ExpectError("sdfg f(X: f32[9], s: f32) { map i in 8:-1:-1 { s = X[i] } }", "iterations over 'i' all write the same element of 's'");
  ExpectError("sdfg f(X: f32[9], s: f32) { call k(s = s, x = X) }\nkernel k(s: f32, x: f32[9]) for cpu { s = 0\n map i in 8:-1:-1 @parallel { s += x[i] } }", "E0261");
  ExpectValid("sdfg f(X: f32[9], s: f32) { map i in 8:7:-1 { s = X[i] } }");
}

TEST(Verify, ARangeThatSizesSayHasOneIteration) {
  ExpectValid("sdfg f(X: f32[N], s: f32) { assume 1 <= N <= 1\n map i in 0:N { s = X[i] } }");
  ExpectError("sdfg f(X: f32[N], s: f32) { assume 1 <= N <= 2\n map i in 0:N { s = X[i] } }", "E0261");
}

TEST(Verify, Bounds) {
  ExpectError("sdfg f(X: f32[4], y: f32) { state { y = X[4] } }", "a read of 'X' dimension 0 is outside its bounds");
  ExpectError("sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = X[i + N] } } }",
              "a read of 'X' dimension 0 is outside its bounds");
  ExpectError("sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i - N] = X[i] } } }",
              "a write of 'Y' dimension 0 is outside its bounds");
  ExpectError("sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N + 1 { Y[i] = 0 } } }", "drop what is outside");
  ExpectValid("sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = X[i + 1] ?? 0 } } }");
  ExpectValid("sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = i + 1 < N ? X[i + 1] : 0 } } }");
}

TEST(Verify, WhatNeverRunsIsOutsideOfNothing) {
  ExpectValid("sdfg f(X: f32[0], Y: f32[0]) { for t in 0:0 { Y[t] = X[t] } }");
  ExpectValid("sdfg f(X: f32[2], Y: f32[2]) { for t in 0:2 { Y[t] = X[t] }\n if 2 > 3 { Y[3] = X[3] } }");
  ExpectValid("sdfg f(X: f32[N], Y: f32[N]) { assume 0 <= N <= 0\n for t in 0:N { Y[t] = X[t] } }");
  ExpectValid("sdfg f(X: f32[N], Y: f32[N]) { assume 0 <= N <= 0\n if N > 0 { Y[N - 1] = X[0] } }");
  ExpectValid("sdfg f(X: f32[0], Y: f32[1]) { if 0 == 0 { Y[0] = 1 } else { Y[0] = X[0] } }");
  ExpectError("sdfg f(X: f32[2], Y: f32[2]) { if 4 > 3 { Y[3] = X[3] } }", "outside its bounds");
  ExpectError("sdfg f(X: f32[0], Y: f32[0]) { for t in 0:1 { Y[t] = X[t] } }", "outside its bounds");
}

TEST(Verify, DefinitionsComeBeforeUses) {
  ExpectError(
      "sdfg f(Y: f32[4]) { transient T: f32[4]; state { map i in 0:4 { Y[i] = T[i] }; map i in 0:4 { T[i] = 0 } } }",
      "'T' is read before it is written");
  ExpectError("sdfg f(Y: f32[4], Z: f32[4]) { state { map i in 0:4 { Z[i] = Y[i] }; map i in 0:4 { Y[i] = 0 } } }",
              "output 'Y' is read before it is written");
  ExpectValid("sdfg f(inout Y: f32[4]) { state { map i in 0:4 { Y[i] = Y[i] + 1 } } }");
  ExpectError("sdfg f(X: f32[4], inout Y: f32[4]) { state { } }", "inout parameter 'Y' is never written");
  ExpectError("sdfg f(s: f32) { transient T: f32; state { T += 1; s = T } }", "'T' is read before it is written");
  // A later iteration may read what an earlier one wrote.
  ExpectValid("sdfg f(X: f32[4], Y: f32) { transient T: f32; for i in 0:4 { state { Y = i > 0 ? T : 0; T = X[i] } } }");
}

// Nothing is read of what has no element.
TEST(Verify, ContainersWithoutElementsNeedNoWriter) {
  ExpectValid(
      "sdfg f(Y: f32[3]) { transient T: f32[2, 0]; state { map i in 0:3 { Y[i] = 0 }; map i in 0:2, j in 0:0 { Y[i] += T[i, j] } } }");
  ExpectValid(
      "sdfg f(Y: f32, out Z: f32[0]) { state { Y = 0; map i in 0:0 { Y += Z[i] }; map i in 0:0 { Z[i] = Y } } }");
  ExpectError("sdfg f(Y: f32) { transient T: f32[0]; state { Y = T[0] } }", "is outside its bounds");
  ExpectError("sdfg f(Y: f32[N]) { transient T: f32[N]; state { map i in 0:N { Y[i] = T[i] } } }",
              "'T' is read before it is written");
}

// Where a loop runs once, what it reads of the iteration before is outside.
TEST(Verify, WhatIsReadOutsideNeedsNoWriter) {
  ExpectValid("sdfg f(X: f32[1], Y: f32) { transient T: f32[1]\n T[0] = X[0] + (T[-1] ?? 0)\n Y = T[0] }");
  ExpectValid("sdfg f(X: f32[M], Y: f32) { transient T: f32[M]\n T[M - 1] = X[M - 1] + (T[M] ?? 0)\n Y = T[M - 1] }");
  ExpectError("sdfg f(X: f32[M], Y: f32) { transient T: f32[M]\n T[M - 1] = X[M - 1] + (T[M - 1] ?? 0)\n Y = T[M - 1] }", "read before it is written");
}

TEST(Verify, NothingOfNothingIsRead) {
  ExpectValid("sdfg f(X: f32[0], k: i64, Y: f32[3]) { let n = min(k, 3)\n map i in 0:3 { Y[i] = 0 }\n map i in 0:n { Y[i] = X[i] } }");
  ExpectError("sdfg f(X: f32[0], Y: f32[3]) { map i in 0:3 { Y[i] = X[i] } }", "outside its bounds");
}

TEST(Verify, ConstantsAndRegisters) {
  ExpectError("sdfg f(Y: f32) { transient r: f32 @register; state { r = 1; Y = r } }",
              "register container 'r' is used outside of a map");
  ExpectError("sdfg f(Y: f32[N]) { transient r: f32[N] @register; state { map i in 0:N { r[i] = 1; Y[i] = r[i] } } }",
              "register container 'r' has a symbolic size");
  ExpectError(
      "sdfg f(Y: f32[4], Z: f32[4]) { transient r: f32 @register; state { map i in 0:4 { r = 1; Y[i] = r }; map i in 0:4 { Z[i] = r } } }",
      "register container 'r' is used by more than one map");
}

TEST(Verify, ControlFlow) {
  ExpectError("sdfg f(Y: f32) { state { Y = 0 } break }", "break or continue outside of a loop");
  ExpectError("sdfg f(Y: f32, x: f32) { if x { state { Y = 0 } } }", "the condition of an if is not a truth value");
}

TEST(Verify, Calls) {
  const std::string callee = "sdfg g(a: f32[n], b: f32[n]) { state { map i in 0:n { b[i] = a[i] } } }";
  auto main = [&](const std::string& call, const std::string& more = "") {
    return "sdfg f(X: f32[4], Z: f32[5], D: f64[4], M: f32[3, 4], Y: f32[4], W: f32[3, 4]) { " + more + " state { " +
           call + " } }\n" + callee;
  };
  ExpectValid(main("call g(a = X, b = Y)"));
  ExpectValid(main("map i in 0:3 { call g(a = M[i, :], b = W[i, :]) }"));
  ExpectError(main("map i in 0:3 { call g(a = M[i, :], b = Y) }"),
              "iterations over 'i' all write the same element of 'Y'");
  ExpectError(main("call g(a = X)"), "argument 'b' of 'g' is missing");
  ExpectError(main("call g(a = X, b = Y, c = Y)"), "'g' has no parameter 'c'");
  ExpectError(main("call g(a = D, b = Y)"), "argument 'a' of 'g' has another element type");
  ExpectError(main("call g(a = M, b = Y)"), "argument 'a' of 'g' has another rank");
  ExpectError(main("call g(a = Z, b = Y)"), "another size in dimension 0");
  ExpectError(main("call g(a = Y, b = Y)"), "'Y' is bound to 'b', which is written, and to 'a'");
  ExpectError("sdfg f(X: f32[4], Y: f32[4]) { state { call f(X = X, Y = Y) } }", "sdfg 'f' calls itself");
}

TEST(Verify, ErrorsQuoteTheStatementAndHint) {
  std::string got = ErrorsOf(With("map i in 0:N, j in 0:M { w[i] = X[i, j] }"));
  EXPECT_NE(got.find("w[i] = X[i, j]"), std::string::npos) << got;
  EXPECT_NE(got.find("hint: "), std::string::npos) << got;
}

TEST(Verify, AHundredThousandStatementsInWellUnderASecond) {
  SdfgBuilder b("chain");
  Name last = b.Parameter("X", DType::kF32, {Expr(Name("N"))});
  Name out = b.Parameter("Y", DType::kF32, {Expr(Name("N"))});
  for (int i = 0; i < 100000; ++i) {
    Name next = i + 1 < 100000 ? b.Transient("T" + std::to_string(i), DType::kF32, {Expr(Name("N"))}) : out;
    b.OpenMap({{Name("i"), Expr(0), Expr(Name("N")), Expr(1)}});
    b.Assign(next, {Expr(Name("i"))}, CallExpr("max", {ReadExpr(last, {Expr(Name("i"))}), IntExpr(0)}));
    b.CloseMap();
    last = next;
  }
  Program p = MakeProgram(b.Finish());
  clock_t start = clock();
  Status s = Verify(p);
  double seconds = static_cast<double>(clock() - start) / CLOCKS_PER_SEC;
  EXPECT_TRUE(s.ok()) << s.ToString();
  RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
  EXPECT_LT(seconds, 5) << "something became quadratic";
  printf("100000 statements verified in %.3f s\n", seconds);
}

}  // namespace
}  // namespace headrace
