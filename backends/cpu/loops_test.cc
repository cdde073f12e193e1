// Loops that are turned round, split or packed, against the same sums written out in double.
#include <array>
#include <cmath>

#include "backends/cpu/testing.h"

namespace headrace::cpu {
namespace {

std::vector<double> Values(int64_t n, int64_t seed) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<double>((i * 7919 + seed) % 1009) / 500 - 1);
  return v;
}

void ExpectClose(const Value& got, const std::vector<double>& want, double tolerance = 1e-5) {
  const std::vector<double> v = Doubles(got);
  ASSERT_EQ(v.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(v[i], want[i], tolerance * (1 + std::fabs(want[i]))) << "element " << i;
}

// A running sum along the last dimension stands inside the map over the others; along another, lanes stay innermost.
TEST(Loops, RunningSumsAlongAnyDimension) {
  const int64_t a = 5, b = 70, c = 300;
  const std::vector<double> x = Values(a * b * c, 1);
  auto at = [&](int64_t i, int64_t j, int64_t k) { return static_cast<size_t>((i * b + j) * c + k); };
  for (int axis = 0; axis < 3; ++axis) {
    for (const bool reverse : {false, true}) {
      const std::string t[] = {axis == 0 ? "t" : "i", axis == 1 ? "t" : "j", axis == 2 ? "t" : "k"};
      std::string before[] = {t[0], t[1], t[2]};
      before[axis] = reverse ? "t + 1" : "t - 1";
      const int64_t n = axis == 0 ? a : axis == 1 ? b : c;
      const std::string loop =
          reverse ? "for t in " + std::to_string(n - 1) + ":-1:-1" : "for t in 0:" + std::to_string(n);
      std::string ranges;
      for (int d = 0; d < 3; ++d)
        if (d != axis)
          ranges += (ranges.empty() ? "" : ", ") + t[d] + " in 0:" + std::to_string(d == 0 ? a : d == 1 ? b : c);
      const std::string text =
          "sdfg f(X: f32[5, 70, 300], Y: f32[5, 70, 300]) {\n state { map i in 0:5, j in 0:70, k in 0:300 { Y[i, j, k] = 0 } }\n" +
          loop + " { state { map " + ranges + " { Y[" + t[0] + ", " + t[1] + ", " + t[2] + "] = (Y[" + before[0] +
          ", " + before[1] + ", " + before[2] + "] ?? 0) + X[" + t[0] + ", " + t[1] + ", " + t[2] + "] } } }\n}";
      std::vector<double> want = x;
      for (int64_t i = 0; i < a; ++i)
        for (int64_t j = 0; j < b; ++j)
          for (int64_t k = 0; k < c; ++k) {
            const int64_t u = reverse ? a - 1 - i : i, v = reverse ? b - 1 - j : j, w = reverse ? c - 1 - k : k;
            const int64_t s = reverse ? 1 : -1;
            const int64_t p = axis == 0 ? u + s : u, q = axis == 1 ? v + s : v, r = axis == 2 ? w + s : w;
            if (p >= 0 && p < a && q >= 0 && q < b && r >= 0 && r < c) want[at(u, v, w)] += want[at(p, q, r)];
          }
      auto out = RunText(text, {{"X", F32({a, b, c}, x)}});
      ASSERT_TRUE(out.ok()) << out.status().ToString() << text;
      ExpectClose((*out)[0], want);
    }
  }
}

// The loop's index is used after it, and the loop may not run at all.
TEST(Loops, IndexAfterARunningSum) {
  const std::string text = R"(sdfg f(X: f32[N, 4], Y: f32[N, 4], K: i64[]) {
      state { map i in 0:N, k in 0:4 { Y[i, k] = 0 } }
      for t in 1:N { state { map k in 0:4 { Y[t, k] = Y[t - 1, k] + X[t, k] } } }
      state { K[] = N }
    })";
  for (int64_t n : {1, 6}) {
    auto out = RunText(text, {{"X", F32({n, 4}, std::vector<double>(static_cast<size_t>(n * 4), 1))}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    EXPECT_EQ(Doubles((*out)[0]).back(), static_cast<double>(n - 1));
  }
}

// Two indices become one; the error still names the element by both.
TEST(Loops, JoinedIndicesThatMayLeaveTheArray) {
  const std::string text = R"(sdfg f(X: f32[I, J, K], Y: f32[I, J, K]) {
      for k in 0:K - 1 { map i in 0:I, j in 0:J { Y[i, j, k] = X[i, j, k] } }
      state { map i in 0:I, j in 0:J { Y[i, j, K - 1] = 5 } }
    })";
  auto out = RunText(text, {{"X", F32({1, 2, 2}, {1, 2, 3, 4})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>{1, 5, 3, 5}));
  out = RunText(text, {{"X", F32({1, 2, 0}, {})}});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.status().ToString().find("[0, 0, -1]"), std::string::npos) << out.status().ToString();
}

// Read, then cleared: by one loop, whatever the compiler makes of it.
TEST(Loops, RowsReadBeforeTheyAreCleared) {
  auto out = RunText(R"(sdfg f(inout U: f32[N, N], inout W: f32[N, N], A: f32[2, N], B: f32[2, N], C: f32[2, N]) {
      for n in 0:2 {
        state { map i in 0:N, j in 0:N { U[i, j] = U[i, j] + 1 } }
        state {
          map i in 0:N {
            A[n, i] = W[0, i]
            B[n, i] = U[0, i]
            C[n, i] = U[N - 1, i]
            W[0, i] = 0
            U[0, i] = 0
            U[N - 1, i] = 0
          }
        }
      }
    })",
                     {{"U", F32({2, 2}, {1, 2, 3, 4})}, {"W", F32({2, 2}, {5, 6, 7, 8})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[2]), (std::vector<double>{5, 6, 0, 0}));
  EXPECT_EQ(Doubles((*out)[3]), (std::vector<double>{2, 3, 1, 1}));
  EXPECT_EQ(Doubles((*out)[4]), (std::vector<double>{4, 5, 1, 1}));
}

// The run decides the direction.
TEST(Loops, MapsWithSymbolicSteps) {
  const std::string text = R"(sdfg f(X: f32[N], Y: f32[N], k: symbol) {
      state { map i in 0:N { Y[i] = 0 } }
      state { map i in (k > 0 ? 0 : N - 1):(k > 0 ? N : -1):k { Y[i] = X[i] } }
    })";
  for (int64_t k : {2, -2}) {
    auto out = RunText(text, {{"X", F32({4}, {1, 2, 3, 4})}}, {{"k", k}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    EXPECT_EQ(Doubles((*out)[0]), k > 0 ? (std::vector<double>{1, 0, 3, 0}) : (std::vector<double>{0, 2, 0, 4}));
  }
}

// Steps over a range that only the run knows: lanes, sums of lanes, several loops beside each other.
TEST(Loops, StridesFromSymbolicBegins) {
  const int64_t m = 7, n = 50;
  const std::vector<double> x = Values(m * n, 4);
  auto at = [&](int64_t j, int64_t i) { return x[static_cast<size_t>(j * n + i)]; };
  for (const char* type : {"f32", "f64"})
    for (const int64_t step : {3, -2})
      for (const int64_t k : {0, 5}) {
        const std::string t = type, s = std::to_string(step);
        const std::string range = step > 0 ? "k:n:" + s : "n - 1 - k:-1:" + s;
        const std::string text = "sdfg f(k: symbol, X: " + t + "[m, n], Y: " + t + "[m, n], S: " + t + "[m], P: " + t +
                                 "[], L: " + t + "[n]) {\n state { map j in 0:m, i in 0:n { Y[j, i] = 0 }\n" +
                                 " map i in 0:n { L[i] = 0 }\n map j in 0:m { S[j] = 0 }\n P[] = 0 }\n" +
                                 " state { map j in k:m:2, i in " + range + " { Y[j, i] = X[j, i] * 2 } }\n" +
                                 " state { map j in 0:m, i in " + range + " { S[j] += X[j, i] } }\n" +
                                 " state { map i in " + range + " { P[] += X[0, i] } }\n" +
                                 " state { map i in " + range + " { L[i] = X[0, i]\n L[i] += 1 } }\n" +
                                 " state { map i in " + range + " { L[i] = max(L[i], 0) + X[1, i] } }\n}";
        std::vector<double> y(x.size()), sums(m), l(n);
        double p = 0;
        for (int64_t i = step > 0 ? k : n - 1 - k; i >= 0 && i < n; i += step) {
          for (int64_t j = k; j < m; j += 2) y[static_cast<size_t>(j * n + i)] = at(j, i) * 2;
          for (int64_t j = 0; j < m; ++j) sums[static_cast<size_t>(j)] += at(j, i);
          p += at(0, i);
          l[static_cast<size_t>(i)] = std::max(at(0, i) + 1, 0.0) + at(1, i);
        }
        auto out = RunText(text, {{"X", Make(t == "f32" ? DType::kF32 : DType::kF64, {m, n}, x)}}, {{"k", k}});
        ASSERT_TRUE(out.ok()) << out.status().ToString() << text;
        ExpectClose((*out)[0], y);
        ExpectClose((*out)[1], sums);
        ExpectClose((*out)[2], {p});
        ExpectClose((*out)[3], l);
      }
}

// What another iteration wrote is not carried over: such a loop stays as it is.
TEST(Loops, ShiftingLoopKeepsItsOrder) {
  auto out = RunText(R"(sdfg f(X: f32[8], Y: f32[8]) {
      state { map i in 0:8 { Y[i] = X[i] } }
      for t in 0:3 { state { map i in 0:7 { Y[i + 1] = X[i] + t } } }
    })",
                     {{"X", F32({8}, {0, 1, 2, 3, 4, 5, 6, 7})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>{0, 2, 3, 4, 5, 6, 7, 8}));
}

// Operands lie either way round; sizes that fill no tile, block or square.
TEST(Loops, ProductsOfTransposedMatrices) {
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{37, 53, 29}, {3, 300, 700}, {130, 17, 9}, {64, 64, 64}}) {
    const std::vector<double> a = Values(m * k, 1), b = Values(k * n, 2);
    std::vector<double> want(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          want[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(l * n + j)];
    for (const char* type : {"f32", "f64"})
      for (const bool ta : {false, true})
        for (const bool tb : {false, true}) {
          std::vector<double> ra = a, rb = b;
          if (ta)
            for (int64_t i = 0; i < m * k; ++i) ra[static_cast<size_t>(i % k * m + i / k)] = a[static_cast<size_t>(i)];
          if (tb)
            for (int64_t i = 0; i < k * n; ++i) rb[static_cast<size_t>(i % n * k + i / n)] = b[static_cast<size_t>(i)];
          const std::string t = type;
          const std::string text =
              "sdfg f(A: " + t + (ta ? "[K, M]" : "[M, K]") + ", B: " + t + (tb ? "[N, K]" : "[K, N]") + ", C: " + t +
              "[M, N]) { state { map i in 0:M, j in 0:N { C[i, j] = 0 }\n map i in 0:M, j in 0:N, l in 0:K { C[i, j] += A[" +
              (ta ? "l, i" : "i, l") + "] * B[" + (tb ? "j, l" : "l, j") + "] } } }";
          const DType d = t == "f32" ? DType::kF32 : DType::kF64;
          const std::vector<int64_t> sa = ta ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k},
                                     sb = tb ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
          auto out = RunText(text, {{"A", Make(d, sa, ra)}, {"B", Make(d, sb, rb)}});
          ASSERT_TRUE(out.ok()) << out.status().ToString();
          ExpectClose((*out)[0], want, t == "f32" ? 1e-4 : 1e-12);
        }
  }
}

// Rows of nothing but border, borders on both sides, mirrored addresses.
TEST(Loops, PaddedAndMirroredRows) {
  const int64_t h = 9, w = 40;
  const std::vector<double> x = Values(h * w, 3);
  auto out = RunText(R"(sdfg f(X: f32[9, 40], Y: f32[13, 44], Z: f32[13, 44]) { state {
      map i in 0:13, j in 0:44 { Y[i, j] = X[i - 2, j - 2] ?? 7 }
      map i in 0:13, j in 0:44 { Z[i, j] = X[reflect(i - 2, 9), reflect(j - 2, 40)] } } })",
                     {{"X", F32({h, w}, x)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  auto mirror = [](int64_t i, int64_t n) { return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i; };
  std::vector<double> padded, mirrored;
  for (int64_t i = -2; i < h + 2; ++i)
    for (int64_t j = -2; j < w + 2; ++j) {
      padded.push_back(i < 0 || i >= h || j < 0 || j >= w ? 7 : x[static_cast<size_t>(i * w + j)]);
      mirrored.push_back(x[static_cast<size_t>(mirror(i, h) * w + mirror(j, w))]);
    }
  ExpectClose((*out)[0], padded);
  ExpectClose((*out)[1], mirrored);
}

// Coordinates that are clamped to an array need no check, whatever they are; clamped to more, they do.
TEST(Loops, ClampedCoordinates) {
  const std::string text = "sdfg f(X: f32[4], C: f64[N], Y: f32[N]) { state { map i in 0:N { ";
  const Tensor c = [] {
    Tensor t = *Tensor::Create(DType::kF64, {6});
    const double v[] = {-1e300, 0.9, 2.5, 3.5, INFINITY, NAN};
    std::copy(v, v + 6, t.as<double>());
    return t;
  }();
  auto out = RunText(text + "Y[i] = X[i64(clamp(C[i], 0.0, 3.0))] } } }", {{"X", F32({4}, {5, 6, 7, 8})}, {"C", c}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  ExpectClose((*out)[0], {5, 5, 7, 8, 8, 5});
  for (const char* to : {"0.0, 3.5", "0.0, 4.0", "-1.0, 3.0"}) {
    out = RunText(text + "Y[i] = X[i64(clamp(C[i], " + to + "))] } } }", {{"X", F32({4}, {5, 6, 7, 8})}, {"C", c}});
    EXPECT_EQ(out.ok(), std::string(to) == "0.0, 3.5") << to;
  }
}

// Rows shorter than vectors are summed in whole vectors: what lies beyond them is neither read nor written. The steps have
// the lower bound checked only, for rows end before the array does.
TEST(Loops, RowsShorterThanVectors) {
  const int64_t rows = 3, taps = 5;
  for (int64_t n : {4, 5, 7, 14, 15, 17, 31, 33})
    for (int64_t step : {1, 2}) {
      const int64_t width = step * (n - 1) + taps - 2, last = rows * width;
      std::vector<double> x = Values(last, n), w = Values(taps, 6), sum, most;
      const std::string N = std::to_string(n), tap = "(X[i, " + std::to_string(step) + " * j + k - 2] ?? -7) * W[k]";
      auto out =
          RunText("sdfg f(X: f32[3, " + std::to_string(width) + "], W: f32[5], Y: f32[3, " + N + "], Z: f64[3, " + N +
                      "]) { state { map i in 0:3, j in 0:" + N + " { Y[i, j] = 0 }\n map i in 0:3, j in 0:" + N +
                      ", k in 0:5 { Y[i, j] += " + tap + " }\n map i in 0:3, j in 0:" + N +
                      " { Z[i, j] = -inf }\n map i in 0:3, j in 0:" + N + ", k in 0:5 { Z[i, j] max= " + tap + " } } }",
                  {{"X", F32({rows, width}, x)}, {"W", F32({taps}, w)}});
      ASSERT_TRUE(out.ok()) << out.status().ToString();
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double s = 0, m = -INFINITY;
          for (int64_t k = 0; k < taps; ++k) {
            const int64_t at = step * j + k - 2;
            const double v =
                (at < 0 || at >= width ? -7 : x[static_cast<size_t>(i * width + at)]) * w[static_cast<size_t>(k)];
            s += v, m = std::fmax(m, v);
          }
          sum.push_back(s), most.push_back(m);
        }
      ExpectClose((*out)[0], sum);
      ExpectClose((*out)[1], most);
    }
}

// Few long sums side by side: chunks of them, put together row by row.
TEST(Loops, SumsOverTheFirstDimensions) {
  const int64_t n = 6000, lanes = 96;
  const std::vector<double> x = Values(n * lanes, 4);
  auto out = RunText(R"(sdfg f(X: f32[6000, 96], M: f32[96], S: f32[96]) { state {
      map o in 0:96 { M[o] = -inf } map o in 0:96, k in 0:6000 { M[o] max= X[k, o] }
      map o in 0:96 { S[o] = 0 } map o in 0:96, k in 0:6000 { S[o] += exp(X[k, o] - M[o]) } } })",
                     {{"X", F32({n, lanes}, x)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  std::vector<double> most(lanes, -INFINITY), sum(lanes);
  for (size_t i = 0; i < x.size(); ++i) most[i % lanes] = std::fmax(most[i % lanes], x[i]);
  for (size_t i = 0; i < x.size(); ++i) sum[i % lanes] += std::exp(x[i] - most[i % lanes]);
  ExpectClose((*out)[0], most);
  ExpectClose((*out)[1], sum, 1e-4);
}

// Two statements per iteration over [k, o]: k keeps its order, o lies in lanes.
TEST(Loops, StatementsThatSumAlongTheFirstDimension) {
  const int64_t n = 33, lanes = 700;
  const std::vector<double> x = Values(n * lanes, 5);
  auto out = RunText(R"(sdfg f(X: f32[33, 700], E: f32[33, 700], S: f32[700]) { state {
      map o in 0:700 { S[o] = 0 }
      map k in 0:33, o in 0:700 { E[k, o] = X[k, o] * 2
        S[o] += E[k, o] } } })",
                     {{"X", F32({n, lanes}, x)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  std::vector<double> twice, sum(lanes);
  for (size_t i = 0; i < x.size(); ++i) twice.push_back(2 * x[i]), sum[i % lanes] += 2 * x[i];
  ExpectClose((*out)[0], twice);
  ExpectClose((*out)[1], sum);
}

// One exponent for a whole loop, known when the program runs.
TEST(Loops, PowersWithOneExponent) {
  const std::vector<double> x = {-3, -1, -0.0, 0, 0.5, 1, 2, 7};
  for (double e : {2.0, 3.0, 0.5, 0.0, -1.0}) {
    auto out = RunText("sdfg f(X: f32[8], E: f32[], Y: f32[8]) { state { map i in 0:8 { Y[i] = pow(X[i], E[]) } } }",
                       {{"X", F32({8}, x)}, {"E", F32({}, {e})}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    const std::vector<double> y = Doubles((*out)[0]);
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = std::pow(x[i], e);
      if (std::isnan(want)) EXPECT_TRUE(std::isnan(y[i])) << x[i] << "^" << e;
      else if (std::isinf(want)) EXPECT_EQ(y[i], want) << x[i] << "^" << e;
      else EXPECT_NEAR(y[i], want, 1e-6 * (1 + std::fabs(want))) << x[i] << "^" << e;
    }
  }
}

// The next value would not fit into 64 bits.
TEST(Loops, VariablesThatWouldWrapEndTheLoop) {
  auto out = RunText(R"(sdfg f(Y: i64[], n: symbol) {
      Y[] = 0
      for i in n - 3:n:2 { Y[] = Y[] + 1 }
      for i in -n:-n - 1:-2 { Y[] = Y[] + 10 }
    })",
                     {}, {{"n", INT64_MAX}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>{12}));
}

TEST(Loops, MapsAtTheEndOf64Bits) {
  auto out = RunText(R"(sdfg f(Y: i64[], n: symbol) {
      Y[] = 0
      map i in n - 3:n:2 { Y[] += 1 }
      map i in 0:n:4611686018427387904 { Y[] += 10 }
      map i in -n:-n - 1:-2 { Y[] += 100 }
      map i in -n:n:9223372036854775807 { Y[] += 1000 }
      map i in n - 37:n { Y[] += 10000 }
    })",
                     {}, {{"n", INT64_MAX}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>{372122}));
}

TEST(Loops, SizesThatDoNotFit) {
  for (const std::string size : {"n * 4611686018427387904", "n + 9223372036854775807"}) {
    auto out = RunText("sdfg f(n: symbol, Y: u8[" + size + "]) { map i in 0:" + size + " { Y[i] = 1 } }", {}, {{"n", 4}});
    ASSERT_FALSE(out.ok()) << size;
    EXPECT_NE(out.status().ToString().find("does not fit in 64 bits"), std::string::npos) << out.status().ToString();
  }
  // A branch that isn't taken may be of any size.
  const std::string size = "n < 4 ? n * 4611686018427387904 : n";
  auto out = RunText("sdfg f(n: symbol, Y: u8[" + size + "]) { map i in 0:4 { Y[i] = 1 } }", {}, {{"n", 4}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>(4, 1)));
}

TEST(Loops, ArraysLargerThanTheAddressSpace) {
  const std::string text = R"(sdfg f(Y: u8[], n: symbol) {
      transient T: u8[n, n]
      map i in 0:n, j in 0:n { T[i, j] = 1 }
      Y[] = T[0, 0]
    })";
  for (const int64_t n : {int64_t{4294967296}, int64_t{4294967297}, int64_t{3037000500}}) {
    auto out = RunText(text, {}, {{"n", n}});
    ASSERT_FALSE(out.ok()) << n;
    EXPECT_NE(out.status().ToString().find("does not fit in the address space"), std::string::npos)
        << out.status().ToString();
  }
}

// Words of C++, macros of its library and names of the generated code are names like any other.
TEST(Loops, NamesMayBeAnything) {
  const std::vector<std::string> names = {
      "offset", "bytes",  "mark",   "release", "arena",     "frame",       "chunk",    "out",          "hr_take", "hr_x",     "NULL",
      "EOF",    "NAN",    "M_PI",   "errno",   "assert",    "INFINITY",    "stdin",    "signal",       "main",    "std",      "linux",
      "int64_t", "size_t", "nullptr", "typeid", "constexpr", "static_cast", "decltype", "thread_local", "noexcept", "protected", "and_eq",
      "begin",  "end",    "i",      "n",       "X_",        "memcpy",      "fmaf",     "exp2",         "y0",      "j1",       "a"};
  std::string parameters, sum;
  Arguments values;
  for (const std::string& n : names) {
    parameters += n + ": f32[N], ";
    sum += (sum.empty() ? "" : " + ") + n + "[k]";
    values.push_back({Name(n), F32({2}, {1, 2})});
  }
  auto out = RunText("sdfg f(" + parameters + "result: f32[N]) {\n transient total: f32[2*N]\n map k in 0:N { total[2*k] = " + sum +
                         " }\n map k in 0:N { result[k] = total[2*k] + total[0] }\n}",
                     values);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const double all = static_cast<double>(names.size());
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>{2 * all, 3 * all}));
}

// Before anything is computed: the output is not touched.
TEST(Loops, RequirementsAreCheckedFirst) {
  auto out = RunText(R"(sdfg f(X: f32[N], Z: f32[M], Y: f32[N]) {
      require N == M || M == 1 else "X has {} and Z has {}", N, M from "add1"
      map i in 0:N { Y[i] = X[i] + Z[i * min(M - 1, 1)] }
    })",
                     {{"X", F32({3}, {1, 2, 3})}, {"Z", F32({2}, {1, 2})}});
  ASSERT_FALSE(out.ok());
  const Diagnostic d = out.status().diagnostics()[0];
  EXPECT_EQ(d.code + " " + d.node + " " + d.message, "E0570 add1 X has 3 and Z has 2");
}

}  // namespace
}  // namespace headrace::cpu
