// Denormals are zero where a kernel is marked @flush and exact elsewhere, on every thread, as the interpreter has it; whoever
// calls, and what is called, keeps its own mode. docs/denormals.md
#include <atomic>
#include <thread>

#include "backends/cpu/kernel_testing.h"
#include "runtime/hr_denormals.h"

namespace headrace::cpu {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr double kTiny = 0x1p-130;            // a denormal in f32 and bf16
constexpr bool kHasMode = HR_FLUSHING != 0;  // else the processor is exact always

hr_float_mode Mode() {
#if defined(__x86_64__)
  return hr_float_mode_now() & ~0x3fu;  // without the record of exceptions, which this test's own arithmetic writes
#else
  return hr_float_mode_now();
#endif
}

std::string Marked(std::string text, bool flush) {
  for (size_t at; (at = text.find("@MARK ")) != std::string::npos;) text.replace(at, 6, flush ? "@flush " : "");
  return text;
}

// The caller's mode stays as it is, whatever it is.
class Denormals : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    found_ = hr_denormals(GetParam());
    mine_ = Mode();
  }
  void TearDown() override {
    EXPECT_EQ(Mode(), mine_);
    hr_float_mode_be(found_);
  }
  // To look at values without losing them.
  static std::vector<double> Exactly(const Value& v) {
    const hr_float_mode before = hr_denormals(0);
    std::vector<double> all = Doubles(v);
    hr_float_mode_be(before);
    return all;
  }
  static Tensor Filled(DType t, int64_t n, double value) {
    const hr_float_mode before = hr_denormals(0);
    Tensor x = *Tensor::Create(t, {n});
    for (int64_t i = 0; i < n; ++i) x.SetDouble(i, value);
    hr_float_mode_be(before);
    return x;
  }
  // What both backends give; each element of a result is the same.
  static std::vector<double> Results(const std::string& text, const Arguments& inputs) {
    const std::vector<Value> all = ExpectAsInterpreted(text, inputs);
    std::vector<double> first;
    for (const Value& v : all) {
      const std::vector<double> values = Exactly(v);
      EXPECT_THAT(values, Each(values[0]));
      first.push_back(values[0]);
    }
    return first;
  }

 private:
  hr_float_mode found_ = 0, mine_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Caller, Denormals, ::testing::Bool(),
                         [](const auto& flushes) { return flushes.param ? "Flushes" : "IsExact"; });

// Large enough for two threads: operands (times 2^20) and results (halves of the smallest normal number) in all chunks.
TEST_P(Denormals, OperandsAndResults) {
  for (const char* type : {"f32", "bf16"}) {
    const DType t = type == std::string("f32") ? DType::kF32 : DType::kBF16;
    const std::string text = R"(
sdfg f(X: T[300000], S: T[300000], Y: T[300000], Z: T[300000]) @MARK {
  call scale(x = X, s = S, y = Y, z = Z, n := 300000)
}
kernel scale(x: T[n], s: T[n], y: T[n], z: T[n], n: symbol) for cpu @MARK {
  map b in 0:n:1024 @parallel {
    for i in b:+1024 { y[i] = x[i] * 1048576 ; z[i] = s[i] * 0.5 }
  }
})";
    std::string typed;
    for (const char c : text) typed += c == 'T' ? std::string(type) : std::string(1, c);
    const Arguments inputs = {{"X", Filled(t, 300000, kTiny)}, {"S", Filled(t, 300000, 0x1p-126)}};
    EXPECT_THAT(Results(Marked(typed, false), inputs), ElementsAre(0x1p-110, 0x1p-127)) << type;
    if (!kHasMode) continue;
    EXPECT_THAT(Results(Marked(typed, true), inputs), ElementsAre(0, 0)) << type;
  }
}

// Sums, square roots, exponentials, comparisons.
TEST_P(Denormals, Functions) {
  const std::string text = R"(
sdfg f(X: f32[64], Y: f32[64], Z: f32[64], W: f32[64], B: bool[64], S: f32[1]) @MARK {
  state {
    map i in 0:64 { Y[i] = sqrt(X[i]) }
    map i in 0:64 { Z[i] = exp(-88 - X[i]) }
    map i in 0:64 { W[i] = (X[i] + X[i]) * 1024 }
    map i in 0:64 { B[i] = X[i] > 0 }
    S[0] = 0
    map i in 0:64 { S[0] += X[i] }
  }
})";
  const Arguments inputs = {{"X", Filled(DType::kF32, 64, kTiny)}};
  Registry r;
  for (const bool flush : {false, kHasMode}) {
    auto p = ParseProgram(Marked(text, flush));
    ASSERT_TRUE(p.ok()) << p.status().ToString();
    auto interpreted = (*interpreter::CompileProgram(*p, {}, r))->Run(inputs);
    auto e = CompileText(Marked(text, flush), r);
    ASSERT_TRUE(e && interpreted.ok());
    auto compiled = e->Run(inputs);
    ASSERT_TRUE(compiled.ok());
    for (const auto* all : {&*interpreted, &*compiled}) {
      const auto value = [&](int k) { return Exactly((*all)[k])[5]; };
      EXPECT_EQ(value(0), flush ? 0 : 0x1p-65);
      EXPECT_NEAR(value(1), flush ? 0 : 6.0546e-39, 1e-42);
      EXPECT_EQ(value(2), flush ? 0 : 0x1p-119);
      EXPECT_EQ(value(3), flush ? 0 : 1);
      EXPECT_EQ((*all).size(), 5u);
      EXPECT_EQ(Exactly((*all)[4])[0], flush ? 0 : 0x1p-124);
    }
  }
}

// f16 computes in f32, where its denormals are normal: they stay. What is only moved stays, too.
TEST_P(Denormals, OfF16AndMovedValuesStay) {
  EXPECT_THAT(Results(Marked("sdfg f(X: f16[40], Y: f16[40]) @MARK { map i in 0:40 { Y[i] = X[i] * 4 } }", true),
                      {{"X", Filled(DType::kF16, 40, 0x1p-24)}}),
              ElementsAre(0x1p-22));
  EXPECT_THAT(Results(Marked("sdfg f(X: f32[40], Y: f32[40]) @MARK { map i in 0:40 { Y[i] = X[39 - i] } }", true),
                      {{"X", Filled(DType::kF32, 40, kTiny)}}),
              ElementsAre(kTiny));
}

// Kernels of f64 are exact among others that are not, whatever mode the caller has; also where the entry flushes.
TEST_P(Denormals, DoublesAreExact) {
  const std::string text = R"(
sdfg f(X: f32[5000], D: f64[5000], Y: f32[5000], E: f64[5000], Z: f32[5000]) {
  call single(x = X, y = Y, n := 5000)
  call double(x = D, y = E, n := 5000)
  call single(x = X, y = Z, n := 5000)
}
kernel single(x: f32[n], y: f32[n], n: symbol) for cpu @MARK { for i in 0:n { y[i] = x[i] * 1048576 } }
kernel double(x: f64[n], y: f64[n], n: symbol) for cpu { for i in 0:n { y[i] = x[i] * 0.5 } }
)";
  const Arguments inputs = {{"X", Filled(DType::kF32, 5000, kTiny)}, {"D", Filled(DType::kF64, 5000, 0x1p-1022)}};
  EXPECT_THAT(Results(Marked(text, false), inputs), ElementsAre(0x1p-110, 0x1p-1023, 0x1p-110));
  if (!kHasMode) return;
  EXPECT_THAT(Results(Marked(text, true), inputs), ElementsAre(0, 0x1p-1023, 0));
}

// A sdfg that is called, no kernel: in a loop, in a map.
TEST_P(Denormals, CalledPrograms) {
  if (!kHasMode) return;
  const std::string text = R"(
sdfg f(X: f32[8], D: f64[8], Y: f32[8], E: f64[8]) {
  map i in 0:8 { E[i] = D[i] * 0.5 }
  for t in 0:2 { call inner(x = X, y = Y) }
}
sdfg inner(x: f32[8], y: f32[8]) @MARK { map i in 0:8 { y[i] = x[i] * 1048576 } }
)";
  const Arguments inputs = {{"X", Filled(DType::kF32, 8, kTiny)}, {"D", Filled(DType::kF64, 8, 0x1p-1022)}};
  EXPECT_THAT(Results(Marked(text, true), inputs), ElementsAre(0, 0x1p-1023));
}

hr_float_mode g_seen;
int32_t Look(hr_call* c) {
  g_seen = Mode();
  *static_cast<float*>(c->outputs[0].data) = 1;
  hr_float_mode_be(hr_float_mode_now() ^ HR_FLUSHING);  // and leaves it disturbed
  return 0;
}

// Functions of plugins run in the caller's mode; theirs doesn't reach the kernels behind them.
TEST_P(Denormals, ExternalFunctionsSeeTheCallersMode) {
  Registry r;
  ExternalFunction look;
  look.name = look.symbol = "look";
  look.address = reinterpret_cast<void*>(&Look);
  ASSERT_TRUE(r.Add(look).ok());
  const std::string text = R"(
sdfg f(X: f32[8], Y: f32[8], L: f32) @MARK {
  state {
    call.look() -> (L = L)
    map i in 0:8 { Y[i] = X[i] * 1048576 }
  }
})";
  for (const bool flush : {false, kHasMode}) {
    const hr_float_mode mine = Mode();
    auto e = CompileText(Marked(text, flush), r);
    ASSERT_TRUE(e);
    auto out = e->Run({{"X", Filled(DType::kF32, 8, kTiny)}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    EXPECT_EQ(g_seen, mine);
    EXPECT_EQ(Mode(), mine);
    EXPECT_THAT(Exactly((*out)[0]), Each(flush ? 0 : 0x1p-110));
  }
}

// Stopped runs, failed ones among them, give the mode back (TearDown looks).
TEST_P(Denormals, CancelledAndFailedRuns) {
  Registry r;
  std::atomic<bool> stop{false};
  CompileOptions o = TestOptions();
  o.cancelled = [&stop] { return stop.load(); };
  auto e = CompileText(
      "sdfg f(X: f32[N], Y: f32[4]) @flush {\n  map i in 0:4 { Y[i] = X[0] }\n"
      "  for t in 0:N { for u in 0:N { for v in 0:N { map i in 0:4 { Y[i] = Y[i] * 0.5 + 1 } } } }\n}",
      r, o);
  ASSERT_TRUE(e);
  const Tensor long_one = Filled(DType::kF32, 100000, 1);
  hr_float_mode mine = hr_float_mode_now();
  stop = true;
  const Status stopped = e->Run({{"X", long_one}}).status();
  EXPECT_EQ(hr_float_mode_now(), mine);
  EXPECT_EQ(stopped.kind(), ErrorKind::kInterrupted);
  auto failing = CompileText("sdfg f(X: f32[N], I: i64, Y: f32) @flush { Y = X[I] * 2 }", r);
  ASSERT_TRUE(failing);
  const Arguments outside = {{"X", Filled(DType::kF32, 4, 1)}, {"I", I64({}, {9})}};
  mine = hr_float_mode_now();
  const bool ran = failing->Run(outside).ok();
  EXPECT_EQ(hr_float_mode_now(), mine);
  EXPECT_FALSE(ran);
  EXPECT_FALSE((*interpreter::CompileProgram(*ParseProgram("sdfg f(X: f32[N], I: i64, Y: f32) @flush { Y = X[I] * 2 }"), {}, r))
                   ->Run(outside).ok());
}

}  // namespace
}  // namespace headrace::cpu
