// Programs in IR text, run and compared with numbers worked out by hand.
#include <sys/resource.h>

#include <cmath>
#include <limits>

#include "backends/interpreter/testing.h"

namespace headrace {
namespace {

using testing::Arguments;
using testing::ErrorOf;
using testing::F32;
using testing::First;
using testing::I64;
using testing::Make;
using testing::Numbers;
using testing::NumbersOf;
using testing::RunText;
using testing::Strings;

const double kInf = std::numeric_limits<double>::infinity();

TEST(Interpreter, MatMulAndRelu) {
  EXPECT_EQ(First(R"(
    sdfg mlp(X: f32[N, 2], W: f32[2, 3], Y: f32[N, 3]) {
      transient H: f32[N, 3]
      state {
        map i in 0:N, j in 0:3 { H[i, j] = 0 }
        map i in 0:N, j in 0:3, k in 0:2 { H[i, j] += X[i, k] * W[k, j] }
        map i in 0:N, j in 0:3 { Y[i, j] = max(H[i, j], 0) }
      }
    })",
                  {{"X", F32({2, 2}, {1, 2, 3, -4})}, {"W", F32({2, 3}, {1, 0, 2, 0, 1, -1})}}),
            (Numbers{1, 2, 0, 3, 0, 10}));
}

// ---- maps ----
TEST(Interpreter, MapsWithStepsAndNegativeSteps) {
  EXPECT_EQ(
      First(
          "sdfg f(Y: f32[6]) { map i in 0:6 { Y[i] = 0 }; map i in 1:6:2 { Y[i] = i }; map i in 4:-1:-2 { Y[i] += 10 * i } }",
          {}),
      (Numbers{0, 1, 20, 3, 40, 5}));
}

TEST(Interpreter, NestedMapsWithDependentRanges) {
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = 0; map j in 0:i + 1 { Y[i] += X[j] } } }",
                  {{"X", F32({4}, {1, 2, 3, 4})}}),
            (Numbers{1, 3, 6, 10}));
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = 0 }; map i in 0:N, j in i:N { Y[j] += X[i] } }",
                  {{"X", F32({4}, {1, 2, 3, 4})}}),
            (Numbers{1, 3, 6, 10}));
}

TEST(Interpreter, MapsLongerThanABlock) {
  Numbers x(1000), square(1000);
  for (int i = 0; i < 1000; ++i) x[i] = i, square[i] = i * i;
  EXPECT_EQ(First("sdfg f(X: f32[A, B], Y: f32[A, B]) { map i in 0:A, j in 0:B { Y[i, j] = X[i, j] * X[i, j] } }",
                  {{"X", F32({8, 125}, x)}}),
            square);
  EXPECT_EQ(First("sdfg f(X: f32[A, B], Y: f32) { Y = 0; map j in 0:B, i in 0:A { Y += X[i, j] } }",
                  {{"X", F32({8, 125}, x)}}),
            Numbers{499500});
}

TEST(Interpreter, EmptyMapsDoNothing) {
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32) { Y = 3; map i in 0:N { Y += X[i] } }", {{"X", F32({0}, {})}}),
            Numbers{3});
}

// ---- accesses ----
TEST(Interpreter, GuardedReadsAndWrites) {
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = (X[i - 1] ?? -1) + (X[i + 1] ?? 100) } }",
                  {{"X", F32({3}, {1, 2, 3})}}),
            (Numbers{1, 4, 102}));
  EXPECT_EQ(
      First(
          "sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = 0 }; map i in 0:N { Y[i + 1] ?? = X[i]; Y[i - 2] ?? += 10 } }",
          {{"X", F32({3}, {1, 2, 3})}}),
      (Numbers{10, 1, 2}));
  // No negative wrap-around, and a default may itself be a guarded read.
  EXPECT_EQ(First("sdfg f(X: f32[N], Z: f32[M], Y: f32[5]) { map i in 0:5 { Y[i] = X[i - 3] ?? Z[i] ?? 7 } }",
                  {{"X", F32({1}, {1})}, {"Z", F32({2}, {20, 21})}}),
            (Numbers{20, 21, 7, 1, 7}));
}

TEST(Interpreter, GatherAndScatter) {
  EXPECT_EQ(First("sdfg f(X: f32[N], I: i64[M], Y: f32[M]) { map i in 0:M { Y[i] = X[wrap(I[i], N)] } }",
                  {{"X", F32({3}, {10, 20, 30})}, {"I", I64({4}, {2, -1, 0, 1})}}),
            (Numbers{30, 30, 10, 20}));
  EXPECT_EQ(
      First("sdfg f(X: f32[M], I: i64[M], Y: f32[3]) { map i in 0:3 { Y[i] = 0 }; map i in 0:M { Y[I[i]] += X[i] } }",
            {{"X", F32({4}, {1, 2, 3, 4})}, {"I", I64({4}, {2, 0, 2, 2})}}),
      (Numbers{2, 0, 8}));
  EXPECT_EQ(
      First("sdfg f(X: f32[N, 2], I: i32[M], Y: f32[M, 2]) { map i in 0:M, j in 0:2 { Y[i, j] = X[I[i], j] ?? -1 } }",
            {{"X", F32({2, 2}, {1, 2, 3, 4})}, {"I", Make(DType::kI32, {2}, {1, 5})}}),
      (Numbers{3, 4, -1, -1}));
}

TEST(Interpreter, FlatAccess) {
  EXPECT_EQ(First("sdfg f(X: f32[2, 3], Y: f32[3, 2]) { map i in 0:6 { Y.flat[i] = X.flat[5 - i] } }",
                  {{"X", F32({2, 3}, {1, 2, 3, 4, 5, 6})}}),
            (Numbers{6, 5, 4, 3, 2, 1}));
}

TEST(Interpreter, OnlyTheTakenBranchReads) {
  EXPECT_EQ(
      First("sdfg f(X: f32[N], Y: f32[4]) { map i in 0:4 { Y[i] = i < N ? X[i] : -1 } }", {{"X", F32({2}, {5, 6})}}),
      (Numbers{5, 6, -1, -1}));
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32[4]) { map i in 0:4 { Y[i] = i < N && X[i] > 5 ? 1 : 0 } }",
                  {{"X", F32({2}, {5, 6})}}),
            (Numbers{0, 1, 0, 0}));
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32[4]) { map i in 0:4 { Y[i] = i >= N || X[i] > 5 ? 1 : 0 } }",
                  {{"X", F32({2}, {5, 6})}}),
            (Numbers{0, 1, 1, 1}));
}

TEST(Interpreter, AMapThatReadsItsTargetElsewhereRunsPointByPoint) {
  EXPECT_EQ(First("sdfg f(Y: f32[5]) { Y[0] = 1; map i in 1:5 @sequential { Y[i] = 2 * Y[i - 1] } }", {}),
            (Numbers{1, 2, 4, 8, 16}));
}

// ---- views, strides, constants, persistent state ----
TEST(Interpreter, Views) {
  const Arguments x = {{"X", F32({2, 3}, {1, 2, 3, 4, 5, 6})}};
  EXPECT_EQ(First(R"(sdfg f(X: f32[2, 3], Y: f32[3, 2]) { view T: f32[3, 2] of X strides [1, 3]
                     map i in 0:3, j in 0:2 { Y[i, j] = T[i, j] } })",
                  x),
            (Numbers{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(First(R"(sdfg f(X: f32[2, 3], Y: f32[3]) { view V: f32[2] of R offset 1; view R: f32[3] of X offset 3
                     map i in 0:3 { Y[i] = 0 }; map i in 0:2 { Y[i] = V[i] } })",
                  x),
            (Numbers{5, 6, 0}));
  // A view of an output is written; one whose place depends on a loop's variable moves with it.
  EXPECT_EQ(First(R"(sdfg f(X: f32[2, 3], Y: f32[2, 3]) { view row: f32[3] of Y offset 3 * t
                     for t in 0:2 { map j in 0:3 { row[j] = X[1 - t, j] } } })",
                  x),
            (Numbers{4, 5, 6, 1, 2, 3}));
  // Flat numbers of a strided view count in its own order.
  EXPECT_EQ(First(R"(sdfg f(X: f32[2, 3], Y: f32[6]) { view T: f32[3, 2] of X strides [1, 3]
                     map i in 0:6 { Y[i] = T.flat[i] } })",
                  x),
            (Numbers{1, 4, 2, 5, 3, 6}));
}

TEST(Interpreter, PaddedTransients) {
  EXPECT_EQ(First(R"(sdfg f(X: f32[2, 3], Y: f32[2, 3]) { transient P: f32[2, 3] strides [8, 1]
                     map i in 0:2, j in 0:3 { P[i, j] = X[i, j] + 1 }
                     map i in 0:2, j in 0:3 { Y[i, j] = P[i, j] } })",
                  {{"X", F32({2, 3}, {1, 2, 3, 4, 5, 6})}}),
            (Numbers{2, 3, 4, 5, 6, 7}));
}

TEST(Interpreter, ConstantsAndPersistentState) {
  auto p = ParseProgram(R"(sdfg f(Y: f32[2]) { constant K: f32[2] = [1, 2]; persistent S: f32[2]
                           map i in 0:2 { S[i] += K[i] }
                           map i in 0:2 { Y[i] = S[i] } })");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  Registry r;
  auto e = interpreter::CompileProgram(*p, {}, r);
  ASSERT_TRUE(e.ok()) << e.status().ToString();
  EXPECT_EQ(NumbersOf((*(*e)->Run({}))[0]), (Numbers{1, 2}));
  EXPECT_EQ(NumbersOf((*(*e)->Run({}))[0]), (Numbers{2, 4}));
}

TEST(Interpreter, InoutArgumentsAreNotChangedInPlace) {
  const Value x = F32({2}, {1, 2});
  EXPECT_EQ(First("sdfg f(inout X: f32[N]) { map i in 0:N { X[i] = X[i] + 1 } }", {{"X", x}}), (Numbers{2, 3}));
  EXPECT_EQ(NumbersOf(x), (Numbers{1, 2}));
}

// ---- control flow ----
TEST(Interpreter, Loops) {
  EXPECT_EQ(
      First("sdfg f(Y: f32[3]) { map i in 0:3 { Y[i] = 0 }; for t in 0:3 { Y[t] = t + 1; if t == 1 { break } } }", {}),
      (Numbers{1, 2, 0}));
  EXPECT_EQ(First("sdfg f(Y: f32) { Y = 0; for t in 5:0:-2 { Y = 10 * Y + t } }", {}), Numbers{531});
  for (double k : {1, 2, -2})  // the sign of the step decides, as in a map
    EXPECT_EQ(First("sdfg f(k: i64, Y: f32) { Y = 0; for t in 5:0:-k { Y = 10 * Y + t } }", {{"k", I64({}, {k})}}),
              k == 1 ? Numbers{54321} : k == 2 ? Numbers{531} : Numbers{0});
  EXPECT_EQ(First("sdfg f(Y: f32) { Y = 1; while Y < 100 { Y *= 3 } }", {}), Numbers{243});
  EXPECT_EQ(First("sdfg f(Y: f32) { Y = 1; do { Y *= 3 } while Y < 1 }", {}), Numbers{3});
  EXPECT_EQ(First("sdfg f(Y: f32) { Y = 0; for t in 0:10 { if t % 2 == 0 { continue }; Y += t } }", {}), Numbers{25});
  EXPECT_EQ(First("sdfg f(Y: f32) { Y = 0; loop { Y += 1; if Y > 4 { break } } }", {}), Numbers{5});
  EXPECT_EQ(First("sdfg f(Y: f32, n: i64) { Y = 0; for v = 1; v < n; v = v * 2 { Y += v } }", {{"n", I64({}, {20})}}),
            Numbers{31});
  // A break leaves one loop only.
  EXPECT_EQ(
      First("sdfg f(Y: f32) { Y = 0; for a in 0:3 { for b in 0:5 { if b == 2 { break }; Y += 1 }; Y += 10 } }", {}),
      Numbers{36});
}

TEST(Interpreter, ConditionalsOnDataAndSizes) {
  const std::string text =
      "sdfg f(x: f32[N], Y: f32) { if N > 2 { Y = 1 } else if x[0] > 0.5 { Y = 2 } else { Y = 3 } }";
  EXPECT_EQ(First(text, {{"x", F32({3}, {0, 0, 0})}}), Numbers{1});
  EXPECT_EQ(First(text, {{"x", F32({1}, {1})}}), Numbers{2});
  EXPECT_EQ(First(text, {{"x", F32({1}, {0})}}), Numbers{3});
}

TEST(Interpreter, SizesDefinedFromData) {
  auto r = RunText(R"(sdfg f(X: f32[N], k: i64, Y: f32[M]) {
    transient T: f32[n]
    let n = k + 1
    map i in 0:n { T[i] = X[i] * 2 }
    let M = n
    map i in 0:n { Y[i] = T[n - 1 - i] }
  })",
                   {{"X", F32({4}, {1, 2, 3, 4})}, {"k", I64({}, {2})}});
  ASSERT_TRUE(r.ok()) << r.status().ToString();
  EXPECT_EQ(NumbersOf((*r)[0]), (Numbers{6, 4, 2}));
}

TEST(Interpreter, ATransientGrowsWithItsSize) {
  EXPECT_EQ(First(R"(sdfg f(Y: f32) { transient T: f32[n]
    Y = 0
    for t in 1:4 { let n = t; map i in 0:n { T[i] = i }; map i in 0:n { Y += T[i] } } })",
                  {}),
            Numbers{0 + 1 + 3});
}

// 64 transients of 16 MiB, two of them alive at a time.
TEST(Interpreter, MemoryIsGivenBackAfterTheLastUse) {
  std::string declarations, statements;
  for (int i = 0; i < 64; ++i) {
    const std::string t = "t" + std::to_string(i),
                      before = i == 0 ? "X[i]" : "t" + std::to_string(i - 1) + "[i, 0] + 1";
    declarations += "transient " + t + ": f32[N, 4096]\n";
    statements += "map i in 0:2 { " + t + "[i, 0] = " + before + " }\n";
  }
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32) {\n" + declarations + statements + "Y = t63[1, 0] }",
                  {{"X", F32({1024}, {0, 5})}}),
            Numbers{68});
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 600 * 1024);  // KiB; all of them at once take 1 GiB
}

// ---- nested calls ----
TEST(Interpreter, Calls) {
  EXPECT_EQ(First(R"(sdfg row(x: f32[M], y: f32) { y = 0; map i in 0:M { y += x[i] } }
                     entry sdfg rows(X: f32[N, M], Y: f32[N]) { map i in 0:N { call row(x = X[i, :], y = Y[i]) } })",
                  {{"X", F32({2, 3}, {1, 2, 3, 4, 5, 6})}}),
            (Numbers{6, 15}));
  EXPECT_EQ(
      First(
          R"(entry sdfg f(X: f32[4], Y: f32[4]) { view A: f32[2] of X offset 1; view B: f32[2] of Y offset 2; view A2: f32[2] of Y
                       map i in 0:4 { Y[i] = 0 }
                       call add(x = A, y = B, k := 3)
                       call add(x = B, y = A2, k := 1) }
                     sdfg add(x: f32[M], y: f32[M], k: symbol) { map i in 0:M { y[i] = x[i] + k } })",
          {{"X", F32({4}, {1, 2, 3, 4})}}),
      (Numbers{6, 7, 5, 6}));
}

TEST(Interpreter, OptionalParameters) {
  const std::string text =
      "sdfg f(X: f32[N], optional B: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] + (B[i] ?? 10) } }";
  EXPECT_EQ(First(text, {{"X", F32({2}, {1, 2})}}), (Numbers{11, 12}));
  EXPECT_EQ(First(text, {{"X", F32({2}, {1, 2})}, {"B", F32({2}, {5, 5})}}), (Numbers{6, 7}));
}

// ---- types ----
TEST(Interpreter, IntegersWrapAtTheirWidth) {
  auto run = [](const char* type, const char* e, double x) {
    return First(std::string("sdfg f(X: ") + type + ", Y: " + type + ") { Y = " + e + " }",
                 {{"X", Make(*ParseDType(type), {}, {x})}})[0];
  };
  EXPECT_EQ(run("i8", "X + 100", 100), -56);
  EXPECT_EQ(run("u8", "X + 100", 200), 44);
  EXPECT_EQ(run("i8", "-X", -128), -128);
  EXPECT_EQ(run("i8", "X * X // 2", 100), 8);  // 10000 wraps to 16 first
  EXPECT_EQ(run("i32", "X * X", 65536), 0);
  EXPECT_EQ(run("i32", "X / 2", -7), -3);   // truncates
  EXPECT_EQ(run("i32", "X // 2", -7), -4);  // floors
  EXPECT_EQ(run("i32", "X % 3", -7), 2);    // sign of the divisor
  EXPECT_EQ(run("i32", "fmod(X, 3)", -7), -1);
  EXPECT_EQ(run("i32", "X / (X - X)", 5), 0);  // division by zero is 0
  EXPECT_EQ(run("i32", "X % (X - X)", 5), 0);
  EXPECT_EQ(run("u8", "X << 4", 255), 240);
  EXPECT_EQ(run("i8", "X >> 1", -3), -2);
  EXPECT_EQ(run("u8", "~X", 1), 254);
  EXPECT_EQ(run("i4", "X + 1", 7), -8);
  EXPECT_EQ(run("i64", "pow(X, 3)", -5), -125);
  EXPECT_EQ(run("u16", "popcount(X)", 255), 8);
}

TEST(Interpreter, SixtyFourBitIntegersAreExact) {
  Tensor x = *Tensor::Create(DType::kU64, {2});
  x.as<uint64_t>()[0] = 0xffffffffffffffffu;
  x.as<uint64_t>()[1] = 3;
  auto r = RunText("sdfg f(X: u64[2], Y: u64[2]) { Y[0] = max(X[0], X[1]) - 1; Y[1] = X[0] // 10 }", {{"X", Value(x)}});
  ASSERT_TRUE(r.ok()) << r.status().ToString();
  EXPECT_EQ((*r)[0].tensor.as<uint64_t>()[0], 0xfffffffffffffffeu);
  EXPECT_EQ((*r)[0].tensor.as<uint64_t>()[1], 1844674407370955161u);
}

TEST(Interpreter, SmallFloatsRoundOnceWhenStored) {
  // 1 + 2^-12 + 2^-12 in f16: each addition alone would round back to 1.
  EXPECT_EQ(First("sdfg f(X: f16, Y: f16) { Y = X + 0.0003 + 0.0003 }", {{"X", Make(DType::kF16, {}, {1})}}),
            Numbers{1.0009765625});
  EXPECT_EQ(First("sdfg f(X: f32, Y: bf16) { Y = X }", {{"X", F32({}, {1.01})}}), Numbers{1.0078125});
  EXPECT_EQ(First("sdfg f(X: f32, Y: f8e4m3fn) { Y = sat(X, f8e4m3fn) }", {{"X", F32({}, {1e6})}}), Numbers{448});
  EXPECT_TRUE(std::isnan(First("sdfg f(X: f32, Y: f8e4m3fn) { Y = X }", {{"X", F32({}, {1e6})}})[0]));
}

TEST(Interpreter, ReductionsOfFloatsAccumulateWide) {
  // 2^24 + 1 + 1 + …: a float accumulator would stay at 2^24.
  Numbers x(101, 1);
  x[0] = 16777216;
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32) { Y = 0; map i in 0:N { Y += X[i] } }", {{"X", F32({101}, x)}}),
            Numbers{16777316});
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32[2]) { map j in 0:2 { Y[j] = 0 }; map i in 0:N, j in 0:2 { Y[j] += X[i] } }",
                  {{"X", F32({101}, x)}}),
            (Numbers{16777316, 16777316}));
}

TEST(Interpreter, WriteOperators) {
  const Arguments x = {{"X", F32({4}, {3, -1, 2, 4})}};
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32) { Y = 1; map i in 0:N { Y *= X[i] } }", x), Numbers{-24});
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32) { Y = -inf; map i in 0:N { Y max= X[i] } }", x), Numbers{4});
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32) { Y = inf; map i in 0:N { Y min= X[i] } }", x), Numbers{-1});
  EXPECT_EQ(First("sdfg f(X: i8[N], Y: i8) { Y = 100; map i in 0:N { Y += X[i] } }",
                  {{"X", Make(DType::kI8, {2}, {100, 100})}}),
            Numbers{44});
  EXPECT_TRUE(std::isnan(First("sdfg f(X: f32[N], Y: f32) { Y = -inf; map i in 0:N { Y max= X[i] } }",
                               {{"X", F32({3}, {1, NAN, 2})}})[0]));
}

TEST(Interpreter, CastsAndBools) {
  EXPECT_EQ(First("sdfg f(X: f32[4], Y: i8[4]) { map i in 0:4 { Y[i] = sat(X[i], i8) } }",
                  {{"X", F32({4}, {300, -300, 1.9, NAN})}}),
            (Numbers{127, -128, 1, 0}));
  EXPECT_EQ(
      First("sdfg f(X: f32[3], Y: i32[3]) { map i in 0:3 { Y[i] = i32(X[i]) } }", {{"X", F32({3}, {1.9, -1.9, 2.5})}}),
      (Numbers{1, -1, 2}));
  EXPECT_EQ(First("sdfg f(X: f32[3], Y: bool[3]) { map i in 0:3 { Y[i] = X[i] > 0 && !isnan(X[i]) } }",
                  {{"X", F32({3}, {1, -1, NAN})}}),
            (Numbers{1, 0, 0}));
  EXPECT_EQ(First("sdfg f(X: i32[3], Y: f32[3]) { map i in 0:3 { Y[i] = f32(X[i]) / 2 } }",
                  {{"X", Make(DType::kI32, {3}, {1, 2, 3})}}),
            (Numbers{0.5, 1, 1.5}));
}

TEST(Interpreter, Functions) {
  auto f = [](const char* e, double x) {
    return First(std::string("sdfg f(X: f64, Y: f64) { Y = ") + e + " }", {{"X", Make(DType::kF64, {}, {x})}})[0];
  };
  EXPECT_DOUBLE_EQ(f("exp(X)", 1), std::exp(1.0));
  EXPECT_DOUBLE_EQ(f("rsqrt(X)", 4), 0.5);
  EXPECT_DOUBLE_EQ(f("erf(X)", 0.3), std::erf(0.3));
  EXPECT_EQ(f("rint(X)", 2.5), 2);
  EXPECT_EQ(f("trunc(X)", -2.7), -2);
  EXPECT_EQ(f("clamp(X, 0, 1)", 3), 1);
  EXPECT_EQ(f("X % 3", -1), 2);
  EXPECT_EQ(f("fmod(X, 3)", -1), -1);
  EXPECT_EQ(f("fma(X, X, -1)", 1 + 0x1p-40), 0x1p-39 + 0x1p-80);  // rounded once
  EXPECT_EQ(f("X // 2", -1), -1);
  EXPECT_EQ(f("sign(X)", -3), -1);
  EXPECT_TRUE(std::isnan(f("min(X, 1)", NAN)));
  EXPECT_TRUE(std::isnan(f("max(1, X)", NAN)));
  EXPECT_DOUBLE_EQ(f("atan2(X, 2)", 1), std::atan2(1.0, 2.0));
  EXPECT_EQ(f("isinf(X) ? 1 : 0", -kInf), 1);
}

// The second product is added to the sum, which is rounded, then the first.
TEST(Interpreter, DotsOfSmallFactors) {
  EXPECT_EQ(First("sdfg f(X: bf16[4], S: f32[1], Y: f32[1]) { map i in 0:1 { Y[i] = dot2(X[0], X[1], X[2], X[3], S[i]) } }",
                  {{"X", Make(DType::kBF16, {4}, {-1, 1, 1, 1})}, {"S", F32({1}, {0x1p24})}}),
            (Numbers{0x1p24 - 1}));
  EXPECT_EQ(First("sdfg f(X: u8[4], W: i8[4], S: i32[1], Y: i32[1]) { map i in 0:1 { Y[i] = dot4(X[0], W[0], X[1], W[1], X[2], W[2], X[3], W[3], S[i]) } }",
                  {{"X", Make(DType::kU8, {4}, {255, 255, 2, 0})}, {"W", Make(DType::kI8, {4}, {-128, -128, 3, 5})}, {"S", Make(DType::kI32, {1}, {7})}}),
            (Numbers{2 * 255 * -128 + 13}));
}

TEST(Interpreter, IndexArithmetic) {
  EXPECT_EQ(First("sdfg f(X: f32[4], Y: f32[8]) { map i in 0:8 { Y[i] = X[reflect(i - 2, 4)] } }",
                  {{"X", F32({4}, {0, 1, 2, 3})}}),
            (Numbers{2, 1, 0, 1, 2, 3, 2, 1}));
  EXPECT_EQ(First("sdfg f(X: f32[4], Y: f32[8]) { map i in 0:8 { Y[i] = X[(i - 2) % 4] + i // 4 } }",
                  {{"X", F32({4}, {0, 1, 2, 3})}}),
            (Numbers{2, 3, 0, 1, 3, 4, 1, 2}));
  EXPECT_EQ(First("sdfg f(Y: f32[2], N: symbol) { map i in 0:2 { Y[i] = 1 / N + i } }", {}, {{"N", 4}}),
            (Numbers{0.25, 1.25}));
}

TEST(Interpreter, Complex) {
  Tensor x = *Tensor::Create(DType::kC64, {2});
  const float v[] = {1, 2, 3, -1};
  std::copy(v, v + 4, x.as<float>());
  auto r = RunText(R"(sdfg f(X: c64[2], P: c64, S: c64, A: f32[2], R: f32) {
    P = X[0] * X[1]
    S = 0
    map i in 0:2 { S += X[i] }
    map i in 0:2 { A[i] = abs(X[i]) }
    R = real(conj(X[0]) / X[1]) + imag(X[1])
  })",
                   {{"X", Value(x)}});
  ASSERT_TRUE(r.ok()) << r.status().ToString();
  EXPECT_EQ((*r)[0].tensor.as<float>()[0], 5);
  EXPECT_EQ((*r)[0].tensor.as<float>()[1], 5);
  EXPECT_EQ((*r)[1].tensor.as<float>()[0], 4);
  EXPECT_EQ((*r)[1].tensor.as<float>()[1], 1);
  EXPECT_FLOAT_EQ((*r)[2].tensor.as<float>()[0], std::sqrt(5.0f));
  EXPECT_FLOAT_EQ((*r)[3].tensor.as<float>()[0], -0.5f);  // (1-2i)/(3-i) = 0.5-0.5i; 0.5 - 1
}

TEST(Interpreter, StringsAreCopied) {
  auto r = RunText("sdfg f(X: string[N], I: i64[M], Y: string[M]) { map i in 0:M { Y[i] = X[I[i]] } }",
                   {{"X", Strings({2}, {"a", "bc"})}, {"I", I64({3}, {1, 0, 1})}});
  ASSERT_TRUE(r.ok()) << r.status().ToString();
  EXPECT_EQ(*(*r)[0].tensor.strings, (std::vector<std::string>{"bc", "a", "bc"}));
  EXPECT_EQ(First("sdfg f(X: string[N], Z: string[N], Y: bool[N]) { map i in 0:N { Y[i] = X[i] == Z[i] } }",
                  {{"X", Strings({2}, {"a", "b"})}, {"Z", Strings({2}, {"a", "c"})}}),
            (Numbers{1, 0}));
}

TEST(Interpreter, RandomNumbersAreAFunctionOfSeedAndNumber) {
  const Numbers a = First("sdfg f(Y: f32[10000]) { map i in 0:10000 { Y[i] = uniform(7, i) } }", {});
  EXPECT_EQ(
      a,
      First(
          "sdfg f(Y: f32[10000]) { map i in 0:100, j in 0:100 { Y[99 - i + 100 * j] = uniform(7, 99 - i + 100 * j) } }",
          {}));
  double sum = 0;
  for (double v : a) {
    ASSERT_TRUE(v >= 0 && v < 1);
    sum += v;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

// The next value would not fit into 64 bits.
TEST(Interpreter, VariablesThatWouldWrapEndTheLoop) {
  EXPECT_EQ(First("sdfg f(Y: i64[], n: symbol) {\n"
                  "  Y[] = 0\n"
                  "  for i in n - 3:n:2 { Y[] = Y[] + 1 }\n"
                  "  for i in -n:-n - 1:-2 { Y[] = Y[] + 10 }\n"
                  "}",
                  {}, {{"n", INT64_MAX}}),
            (Numbers{12}));
}

TEST(Interpreter, RequirementsAreCheckedFirst) {
  auto r = RunText(
      "sdfg f(X: f32[N], Z: f32[M], Y: f32[N]) {\n"
      "  require N == M || M == 1 else \"X has {} and Z has {}\", N, M from \"add1\"\n"
      "  map i in 0:N { Y[i] = X[i] + Z[i * min(M - 1, 1)] }\n"
      "}",
      {{"X", F32({3}, {1, 2, 3})}, {"Z", F32({2}, {1, 2})}});
  ASSERT_FALSE(r.ok());
  const Diagnostic& d = r.status().diagnostics()[0];
  EXPECT_EQ(d.code + " " + d.node + " " + d.message, "E0570 add1 X has 3 and Z has 2");
}

}  // namespace
}  // namespace headrace
