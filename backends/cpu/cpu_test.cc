// What programs compute, against results worked out by hand.
#include "backends/cpu/testing.h"

#include <gmock/gmock.h>

#include <cmath>

namespace headrace::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Cpu, ElementwiseWithSymbolicSize) {
  auto out = RunText(R"(
    sdfg f(X: f32[N, 2], Y: f32[N, 2]) {
      state { map i in 0:N, j in 0:2 { Y[i, j] = max(X[i, j], 0) * 2 + i } }
    })",
                     {{"X", F32({3, 2}, {-1, 1, 2, -2, 3, 4})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].tensor.shape, ElementsAre(3, 2));
  EXPECT_THAT(Doubles((*out)[0]), ElementsAre(0, 2, 5, 1, 8, 10));
}

TEST(Cpu, OneProgramServesAllSizes) {
  Registry r;
  auto e = CompileText("sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = X[N - 1 - i] } } }", r);
  ASSERT_TRUE(e);
  for (int64_t n : {0, 1, 7, 5000}) {
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
    auto out = e->Run({{"X", F32({n}, values)}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    std::vector<double> reversed(values.rbegin(), values.rend());
    EXPECT_EQ(Doubles((*out)[0]), reversed);
  }
}

TEST(Cpu, ReductionsAlongRowsColumnsAndEverything) {
  auto out = RunText(R"(
    sdfg f(X: f32[2, 3], R: f32[2], C: f32[3], T: f32[], M: f32[2]) {
      state {
        map i in 0:2 { R[i] = 0 }
        map i in 0:2, j in 0:3 { R[i] += X[i, j] }
        map j in 0:3 { C[j] = 1 }
        map i in 0:2, j in 0:3 { C[j] *= X[i, j] }
        T[] = 0
        map i in 0:2, j in 0:3 { T[] += X[i, j] }
        map i in 0:2 { M[i] = -inf }
        map i in 0:2, j in 0:3 { M[i] max= X[i, j] }
      }
    })",
                     {{"X", F32({2, 3}, {1, 2, 3, 4, NAN, 6})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0])[0], 6);
  EXPECT_EQ(Doubles((*out)[1])[0], 4);
  EXPECT_EQ(Doubles((*out)[1])[2], 18);
  EXPECT_TRUE(std::isnan(Doubles((*out)[2])[0]));
  EXPECT_EQ(Doubles((*out)[3])[0], 3);
  EXPECT_TRUE(std::isnan(Doubles((*out)[3])[1])) << "max keeps NaN";
}

TEST(Cpu, GuardsReadDefaultsAndDropWrites) {
  auto out = RunText(R"(
    sdfg f(X: f32[4], Y: f32[4], Z: f32[4]) {
      state {
        map i in 0:4 { Y[i] = (X[i - 1] ?? 10) + (X[i + 1] ?? 20) }
        map i in 0:4 { Z[i] = 0 }
        map i in 0:4, k in 0:3 { Z[i + k - 1] ?? += X[i] }
      }
    })",
                     {{"X", F32({4}, {1, 2, 3, 4})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT(Doubles((*out)[0]), ElementsAre(12, 4, 6, 23));
  EXPECT_THAT(Doubles((*out)[1]), ElementsAre(3, 6, 9, 7));
}

TEST(Cpu, IndexOutOfRangeNamesContainerIndexAndShape) {
  const std::string text = R"(
    sdfg f(X: f32[3], I: i64[N], Y: f32[N]) { state { map i in 0:N { Y[i] = X[I[i]] } } })";
  auto out = RunText(text, {{"X", F32({3}, {1, 2, 3})}, {"I", I64({2}, {2, 7})}});
  ASSERT_FALSE(out.ok());
  EXPECT_THAT(out.status().message(), HasSubstr("X[7], shape [3]"));
  out = RunText(text, {{"X", F32({3}, {1, 2, 3})}, {"I", I64({2}, {2, 0})}});
  ASSERT_TRUE(out.ok());
  EXPECT_THAT(Doubles((*out)[0]), ElementsAre(3, 1));
}

TEST(Cpu, AValueThatCantBeReadHasItsOwnMessage) {
  const std::string text = R"(
    sdfg f(I: i64[2], k: i64, Y: i64, Z: i64) {
      let n = I[k] else "k is \"not\" a place"
      Y = n
      Z = I[n]
    })";
  auto out = RunText(text, {{"I", I64({2}, {0, 7})}, {"k", I64({}, {2})}});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.status().message(), "k is \"not\" a place");
  out = RunText(text, {{"I", I64({2}, {0, 7})}, {"k", I64({}, {1})}});
  ASSERT_FALSE(out.ok());
  EXPECT_THAT(out.status().message(), HasSubstr("I[7], shape [2]"));
}

TEST(Cpu, LoopsBranchesBreakAndContinue) {
  auto out = RunText(R"(
    sdfg f(X: i64[N], S: i64[], K: i64[]) {
      state { S[] = 0; K[] = 0 }
      for i = 0; i < N; i = i + 1 {
        if X[i] < 0 { continue }
        if X[i] == 100 { break }
        state { S[] = S[] + X[i] }
      }
      while K[] < 5 { state { K[] = K[] + 2 } }
    })",
                     {{"X", I64({6}, {1, -5, 2, 3, 100, 50})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT(Doubles((*out)[0]), ElementsAre(6));
  EXPECT_THAT(Doubles((*out)[1]), ElementsAre(6));
}

TEST(Cpu, CallsAndViews) {
  auto out = RunText(R"(
    sdfg main(X: f32[N, 3], Y: f32[N, 3], Z: f32[3, N]) {
      view T: f32[3, N] of X strides [1, 3]
      state {
        map i in 0:N { call twice(A = X[i, :], B = Y[i, :]) }
        map i in 0:3, j in 0:N { Z[i, j] = T[i, j] }
      }
    }
    sdfg twice(A: f32[M], B: f32[M]) {
      transient T: f32[M]
      state {
        map i in 0:M { T[i] = A[i] + A[M - 1 - i] }
        map i in 0:M { B[i] = T[i] * 2 }
      }
    })",
                     {{"X", F32({2, 3}, {1, 2, 3, 4, 5, 6})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT(Doubles((*out)[0]), ElementsAre(8, 8, 8, 20, 20, 20));
  EXPECT_THAT(Doubles((*out)[1]), ElementsAre(1, 4, 2, 5, 3, 6));
}

// Strides count elements of memory, also those of a view whose base has strides itself.
TEST(Cpu, ViewsOfStridedViews) {
  auto out = RunText(R"(sdfg f(X: f32[4, 3], Y: f32[2, 2]) {
      view rows: f32[2, 3] of X offset 3 strides [6, 1]
      view corner: f32[2, 2] of rows offset 1 strides [1, 6]
      state { map i in 0:2, j in 0:2 { Y[i, j] = corner[i, j] * 100 + rows[j, i] } }
    })",
                     {{"X", F32({4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT(Doubles((*out)[0]), ElementsAre(403, 1009, 504, 1110));
}

TEST(Cpu, IntegersWrapAndDivisionByZeroIsZero) {
  auto out = RunText(R"(
    sdfg f(A: i8[3], B: i8[3], P: i8[3], Q: i8[3], R: i8[3], S: i8[3]) {
      state { map i in 0:3 { P[i] = A[i] + B[i]; Q[i] = A[i] / B[i]; R[i] = A[i] // B[i]; S[i] = A[i] % B[i] } }
    })",
                     {{"A", Make<int>(DType::kI8, {3}, {127, -7, 5})}, {"B", Make<int>(DType::kI8, {3}, {1, 2, 0})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT(Doubles((*out)[0]), ElementsAre(-128, -5, 5));
  EXPECT_THAT(Doubles((*out)[1]), ElementsAre(127, -3, 0));
  EXPECT_THAT(Doubles((*out)[2]), ElementsAre(127, -4, 0));
  EXPECT_THAT(Doubles((*out)[3]), ElementsAre(0, 1, 0));
}

TEST(Cpu, WindowsThatStartFromAValue) {
  auto out = RunText(R"(
    sdfg f(X: f32[2, 40], Y: f32[2, 20]) {
      state {
        map c in 0:2, p in 0:20 {
          Y[c, p] = c * 100 - 5
          map k in 0:3 { Y[c, p] max= X[c, 2 * p + k - 1] ?? -inf }
        }
      }
    })",
                     {{"X", F32({2, 40}, [] {
                         std::vector<double> v;
                         for (int i = 0; i < 80; ++i) v.push_back(i - 10);
                         return v;
                       }())}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const std::vector<double> y = Doubles((*out)[0]);
  EXPECT_EQ(y[0], -5);  // max(-5, -10, -9)
  EXPECT_EQ(y[3], -3);
  EXPECT_EQ(y[19], 29);
  EXPECT_EQ(y[20], 95);  // everything else in the row is smaller
}

// Sums into a variable of an outer iteration are reductions of the inner loop, whatever its length.
TEST(Cpu, SumsAndExtremaOfRowsInRegisters) {
  for (int64_t n : {1, 31, 64, 100, 257, 1000}) {
    std::vector<double> values;
    for (int64_t i = 0; i < 2 * n; ++i) values.push_back(static_cast<double>(i % 17) - 3);
    for (const std::string& size : {std::string("N"), std::to_string(n)}) {
      auto out = RunText(
          "sdfg f(X: f32[2, " + size +
              "], Y: f32[2], Z: f32[2]) {\n  transient s: f32[] @register\n  transient m: f32[] @register\n  state { map i in 0:2 {\n"
              "    s[] = 1\n    map j in 0:" +
              size + " { s[] += X[i, j] * X[i, j] }\n    m[] = -inf\n    map j in 0:" + size +
              " { m[] max= X[i, j] + i }\n"
              "    Y[i] = s[]\n    Z[i] = m[] } } }",
          {{"X", F32({2, n}, values)}});
      ASSERT_TRUE(out.ok()) << out.status().ToString();
      for (int64_t i = 0; i < 2; ++i) {
        double sum = 1, most = -INFINITY;
        for (int64_t j = 0; j < n; ++j) {
          const double v = values[static_cast<size_t>(i * n + j)];
          sum += v * v;
          most = std::max(most, v + static_cast<double>(i));
        }
        EXPECT_EQ(Doubles((*out)[0])[static_cast<size_t>(i)], sum) << n << " as " << size;
        EXPECT_EQ(Doubles((*out)[1])[static_cast<size_t>(i)], most) << n << " as " << size;
      }
    }
  }
}

// Reads that a loop does not change come before it, but never when it does not run: T[0] is not there then.
TEST(Cpu, NothingIsReadAheadOfALoopThatDoesNotRun) {
  Registry r;
  auto e = CompileText(R"(
    sdfg f(X: f32[N], T: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = max(min(X[i], T[0]), exp(T[N - 1])) / T[0] } } })",
                       r);
  ASSERT_TRUE(e);
  auto none = e->Run({{"X", F32({0}, {})}, {"T", F32({0}, {})}});
  ASSERT_TRUE(none.ok()) << none.status().ToString();
  auto some = e->Run({{"X", F32({3}, {1, 5, 9})}, {"T", F32({3}, {4, 0, 0})}});
  ASSERT_TRUE(some.ok()) << some.status().ToString();
  EXPECT_THAT(Doubles((*some)[0]), ElementsAre(0.25, 1, 1));
}

TEST(Cpu, BranchesOfAChoice) {
  auto out = RunText(
      "sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = X[i] < 0 ? exp(X[i]) / (1 + exp(X[i])) : 1 / (1 + exp(-X[i])) } } }",
      {{"X", F32({5}, {-200, -1, 0, 1, 200})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_NEAR(Doubles((*out)[0])[1], 1 / (1 + std::exp(1)), 1e-7);
  EXPECT_EQ(Doubles((*out)[0])[2], 0.5);
  EXPECT_EQ(Doubles((*out)[0])[4], 1);
}

TEST(Cpu, HalfPrecisionSumsRoundOnce) {
  std::vector<double> ones(4096, 1.0);
  auto out = RunText(R"(
    sdfg f(X: f16[4096], S: f16[], T: f16[2]) {
      S[] = 0
      map i in 0:4096 { S[] += X[i] }
      map j in 0:2 { T[j] = j }
      map i in 0:4096, j in 0:2 { T[j] += X[i] }
    })",
                     {{"X", Make(DType::kF16, {4096}, ones)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT(Doubles((*out)[0]), ElementsAre(4096)) << "sums in f16 itself would stop at 2048";
  EXPECT_THAT(Doubles((*out)[1]), ElementsAre(4096, 4096)) << "4097 is rounded to even";
}

// B's memory may run along the depth.
TEST(Cpu, ProductsOfEverySize) {
  for (const auto& [rows, columns, depth] :
       {std::tuple<int64_t, int64_t, int64_t>{64, 512, 40}, {5, 130, 300}, {3, 784, 17}, {800, 33, 9}}) {
    const std::string m = std::to_string(rows), n = std::to_string(columns), k = std::to_string(depth);
    std::vector<double> a(static_cast<size_t>(rows * depth)), b(static_cast<size_t>(columns * depth));
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i * 7 % 11) - 5;
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i * 5 % 13) - 6;
    auto out = RunText("sdfg f(A: f32[" + m + ", " + k + "], B: f32[" + n + ", " + k + "], C: f32[" + m + ", " + n +
                           "]) { state { map i in 0:" + m + ", j in 0:" + n + " { C[i, j] = 0 } map i in 0:" + m +
                           ", j in 0:" + n + ", k in 0:" + k + " { C[i, j] += A[i, k] * B[j, k] } } }",
                       {{"A", F32({rows, depth}, a)}, {"B", F32({columns, depth}, b)}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    const std::vector<double> c = Doubles((*out)[0]);
    int wrong = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t x = 0; x < depth; ++x)
          sum += a[static_cast<size_t>(i * depth + x)] * b[static_cast<size_t>(j * depth + x)];
        wrong += c[static_cast<size_t>(i * columns + j)] != sum;
      }
    EXPECT_EQ(wrong, 0) << m << " x " << n << " x " << k;
  }
}

// A bias's gradient, fused into the map that makes what it sums.
TEST(Cpu, SumsOverTheOuterIndex) {
  Registry r;
  auto e = CompileText(R"(
    sdfg f(X: f32[64, 24, 8], Y: f32[64, 24, 8], S: f32[24]) {
      state {
        map c in 0:24 { S[c] = 0 }
        map n in 0:64, c in 0:24 {
          map k in 0:8 { Y[n, c, k] = 2 * X[n, c, k]; S[c] += Y[n, c, k] }
        }
      }
    })",
                       r);
  ASSERT_TRUE(e);
  std::vector<double> x(64 * 24 * 8);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 17);
  auto out = e->Run({{"X", F32({64, 24, 8}, x)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  std::vector<double> sums(24);
  for (size_t i = 0; i < x.size(); ++i) sums[i / 8 % 24] += 2 * x[i];
  EXPECT_EQ(Doubles((*out)[1]), sums);
}

TEST(Cpu, WrongArgumentsAreErrors) {
  const std::string text =
      "sdfg f(X: f32[N, 3], Y: f32[N, 3]) { state { map i in 0:N, j in 0:3 { Y[i, j] = X[i, j] } } }";
  EXPECT_FALSE(RunText(text, {}).ok());
  EXPECT_FALSE(RunText(text, {{"X", F32({2, 4}, std::vector<double>(8))}}).ok());
}

TEST(Cpu, NodesWithoutCodeAreAllReported) {
  auto p = ParseProgram(R"(
    sdfg f(X: f32[3], Y: f32[3]) {
 transient T: f32[3]
 state { onnx.Relu(X = X) -> (Y = T); onnx.Selu(X = T) -> (Y = Y) } })");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  Registry r;
  auto e = Compile(*p, TestOptions(), r);
  ASSERT_FALSE(e.ok());
  EXPECT_EQ(e.status().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(e.status().diagnostics().size(), 2u);
}

TEST(Cpu, PopcountInVectorLoops) {
  auto out = RunText("sdfg f(X: i64[1], Y: i64[4]) { state { map i in 0:4 { Y[i] = popcount(i64(i) + 13) + X[0] } } }",
                     {{"X", I64({1}, {0})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT(Doubles((*out)[0]), ElementsAre(3, 3, 4, 1));
}

}  // namespace
}  // namespace headrace::cpu
