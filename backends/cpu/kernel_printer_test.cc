// Kernels as text, run: what is printed is what stands there.
#include "backends/cpu/kernel_printer.h"

#include <cmath>

#include "backends/cpu/testing.h"

namespace headrace::cpu {
namespace {

std::vector<double> Values(int64_t n) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<double>(i * 7919 % 1009) / 500 - 1);
  return v;
}

void ExpectClose(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5 * (1 + std::fabs(want[i]))) << "element " << i;
}

const char kRowSums[] = R"(
sdfg f(X: f32[N, C], Y: f32[N]) {
  call k(p0 = Y, p1 = X, n0 := N, n1 := C)
}
kernel k(p0: f32[n0], p1: f32[n0, n1], n0: symbol, n1: symbol) for cpu {
  map i0 in 0:n0:3 @parallel {
    for i in i0:+3 {
      local partial: f32[8]
      map u in 0:8 @vector { partial[u] = 0 }
      for c0 in 0:n1:8 {
        map c in c0:+8 @vector { partial[c - c0] += p1[i, c] }
      }
      local sum: f32
      sum = 0
      map u in 0:8 @halves { sum += partial[u] }
      p0[i] = sum
    }
  }
}
)";

// Parts, lanes, partial results and halves; the same bits with one thread and two.
TEST(KernelPrinter, SumsOfRows) {
  const int64_t n = 10, c = 37;
  const std::vector<double> x = Values(n * c);
  std::vector<double> want(n, 0.0);
  for (int64_t i = 0; i < n * c; ++i) want[static_cast<size_t>(i / c)] += static_cast<float>(x[static_cast<size_t>(i)]);
  std::vector<std::vector<double>> got;
  for (int threads : {1, 2}) {
    Registry r;
    CompileOptions o = TestOptions();
    o.threads = threads;
    auto e = CompileText(kRowSums, r, o);
    ASSERT_NE(e, nullptr);
    auto out = e->Run({{"X", F32({n, c}, x)}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    got.push_back(Doubles((*out)[0]));
    ExpectClose(got.back(), want);
  }
  EXPECT_EQ(got[0], got[1]);
}

// What is computed before a parallel map is passed on to it; two maps one after the other are two phases.
TEST(KernelPrinter, TwoPhases) {
  const char* text = R"(
sdfg f(X: f32[N], Y: f32[N]) {
  call k(p0 = Y, p1 = X, n0 := N)
}
kernel k(p0: f32[n0], p1: f32[n0], n0: symbol) for cpu {
  let g = max(1, n0 // 4)
  local most: f32
  local parts: f32[8]
  map u in 0:8 @vector { parts[u] = -inf }
  map q in 0:4 @parallel {
    for i in q * g:min(q * g + g, n0) { parts[q] max= p1[i] }
  }
  for i in 4 * g:n0 { parts[4] max= p1[i] }
  most = -inf
  map u in 0:8 @halves { most max= parts[u] }
  map i0 in 0:n0:g @parallel {
    map i in i0:+g @vector { p0[i] = p1[i] - most }
  }
}
)";
  const int64_t n = 103;
  const std::vector<double> x = Values(n);
  double most = -1e9;
  for (double v : x) most = std::max(most, static_cast<double>(static_cast<float>(v)));
  std::vector<double> want;
  for (double v : x) want.push_back(static_cast<float>(v) - most);
  auto out = RunText(text, {{"X", F32({n}, x)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  ExpectClose(Doubles((*out)[0]), want);
}

// A check stops the run with the container's name; choices ask before they act.
TEST(KernelPrinter, ChecksAndChoices) {
  const char* text = R"(
sdfg f(W: f32[V, D], I: i64[N], Y: f32[N, D]) {
  call gather(W = W, I = I, Y = Y, V := V, D := D, N := N)
}
kernel gather(W: f32[V, D], I: i64[N], Y: f32[N, D], V: symbol, D: symbol, N: symbol) for cpu {
  map n in 0:N @parallel {
    if D > 1 {
      check W[I[n], 0]
      check W[I[n], D - 1]
      for d in 0:D {
        check W[I[n], d]
        Y[n, d] = W[I[n], d]
      }
    } else {
      for d in 0:D { Y[n, d] = -1 }
    }
  }
}
)";
  auto out = RunText(text, {{"W", F32({3, 2}, {1, 2, 3, 4, 5, 6})}, {"I", I64({2}, {2, 0})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>{5, 6, 1, 2}));
  out = RunText(text, {{"W", F32({3, 1}, {1, 2, 3})}, {"I", I64({2}, {9, 0})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>{-1, -1}));
  out = RunText(text, {{"W", F32({3, 2}, {1, 2, 3, 4, 5, 6})}, {"I", I64({2}, {3, 0})}});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.status().ToString().find("W[3, 0]"), std::string::npos) << out.status().ToString();
}

// What is scheduled for another device is an error that says so.
TEST(KernelPrinter, OtherDevices) {
  Registry r;
  auto p = ParseProgram(R"(
sdfg f(X: f32[N], Y: f32[N]) {
  call k(p0 = Y, p1 = X, n0 := N)
}
kernel k(p0: f32[n0], p1: f32[n0], n0: symbol) for gpu {
  map i0 in 0:n0:256 @grid {
    map i in i0:+256 @block { p0[i] = p1[i] }
  }
}
)");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  ASSERT_TRUE(Verify(*p).ok()) << Verify(*p).ToString();
  const auto e = Compile(*p, TestOptions(), r);
  ASSERT_FALSE(e.ok());
  const std::string error = e.status().ToString();
  EXPECT_NE(error.find("E0694"), std::string::npos) << error;
  EXPECT_NE(error.find("choose-schedule"), std::string::npos) << error;
}

}  // namespace
}  // namespace headrace::cpu
