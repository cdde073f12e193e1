// Random operators in a step.
#include <cmath>

#include "training/step_testing.h"

namespace headrace::training {
namespace {

StepSpec OwnLoss() {
  StepSpec s;
  s.loss = "loss";
  return s;
}

const char* const kDropout = R"(
sdfg drop(x: f64[64], loss: f64) {
  constant W: f64[64] = fill(1) from "W"
  constant ratio: f32 = 0.5
  constant yes: bool = true
  transient h: f64[64]
  transient d: f64[64]
  transient e: f64[64]
  state {
    onnx.Mul(A = x, B = W) -> (C = h)
    onnx.Dropout:13(data = h, ratio = ratio, training_mode = yes) -> (output = d) from "drop1"
    onnx.Dropout:13(data = d, ratio = ratio, training_mode = yes) -> (output = e) from "drop2"
    loss = 0
    map i in 0:64 { loss += e[i] }
  }
}
)";

// Which weights a step changed tells its mask: gradient and loss must agree on it.
TEST(Step, MasksAreFunctionsOfSeedAndStep) {
  for (const char* backend : {"interpreter", "cpu"}) {
    Running run = Running::Make(kDropout, OwnLoss(), backend);
    ASSERT_FALSE(run.step.seed.empty());
    ASSERT_FALSE(run.step.step.empty());
    const Tensor x = Values(DType::kF64, {64}, {1});
    const auto mask = [&](int64_t number, int64_t seed) {
      for (int64_t i = 0; i < 64; ++i) run.variables["W"].SetDouble(i, 1);
      const double loss = run(number, {x}, 0.25, seed);
      std::vector<double> out;
      double kept = 0;
      for (double w : run.Of("W")) {
        EXPECT_TRUE(w == 1 || w == 0) << w;  // 1 - 0.25 * 4
        out.push_back(w);
        kept += w == 0 ? 4 : 0;
      }
      EXPECT_EQ(loss, kept) << backend;
      EXPECT_GT(kept, 4 * 4);  // a quarter of 64 on average: the two nodes draw for themselves
      EXPECT_LT(kept, 4 * 29);
      return out;
    };
    const auto first = mask(1, 7);
    EXPECT_EQ(mask(1, 7), first);
    EXPECT_NE(mask(2, 7), first);
    EXPECT_NE(mask(1, 8), first);
  }
}

// Each call of a function draws for itself.
TEST(Step, MasksInFunctions) {
  Running run = Running::Make(R"(
sdfg f(x: f64[64], loss: f64) {
  constant W: f64[64] = fill(1) from "W"
  transient h: f64[64]
  transient d: f64[64]
  transient e: f64[64]
  state {
    onnx.Mul(A = x, B = W) -> (C = h)
    call drop(a = h, b = d)
    call drop(a = d, b = e)
    loss = 0
    map i in 0:64 { loss += e[i] }
  }
}
sdfg drop(a: f64[64], b: f64[64]) {
  constant ratio: f32 = 0.5
  constant yes: bool = true
  state { onnx.Dropout:13(data = a, ratio = ratio, training_mode = yes) -> (output = b) from "drop" }
}
)",
                              OwnLoss());
  const double loss = run(1, {Values(DType::kF64, {64}, {1})}, 0.25);
  EXPECT_GT(loss, 4 * 4);
  EXPECT_LT(loss, 4 * 29);  // with one mask for both it would be a half of 64, times 4
}

// Nodes to which the model gives one seed draw the same, in every step something else.
TEST(Step, SeedsOfTheModel) {
  std::string text = kDropout;
  for (size_t at = 0; (at = text.find("Dropout:13(", at)) != std::string::npos; ++at)
    text.insert(at + 10, "{seed = 5}");
  Running run = Running::Make(text, OwnLoss());
  const double first = run(1, {Values(DType::kF64, {64}, {1})});
  EXPECT_GT(first, 4 * 18);  // a half, not a quarter of 64, times 4
  EXPECT_LT(first, 4 * 46);
  for (int64_t i = 0; i < 64; ++i) run.variables["W"].SetDouble(i, std::exp2(-double(i)));
  const double second = run(2, {Values(DType::kF64, {64}, {1})});
  for (int64_t i = 0; i < 64; ++i) run.variables["W"].SetDouble(i, std::exp2(-double(i)));
  EXPECT_NE(run(3, {Values(DType::kF64, {64}, {1})}), second);
}

// Each round of a loop draws for itself.
TEST(Step, MasksInLoops) {
  const char* const text = R"(
sdfg drop(x: f64[64], loss: f64) {
  constant W: f64[64] = fill(1) from "W"
  constant ratio: f32 = 0.5
  constant yes: bool = true
  transient h: f64[64]
  transient d: f64[64]
  onnx.Mul(A = x, B = W) -> (C = h)
  loss = 0
  for t in 0:3 {
    onnx.Dropout:13(data = h, ratio = ratio, training_mode = yes) -> (output = d) from "drop"
    map i in 0:64 { loss += d[i] }
  }
}
)";
  Running run = Running::Make(text, OwnLoss());
  const double loss = run(1, {Values(DType::kF64, {64}, {1})}, 1);
  double taken = 0;
  int values[4] = {};
  for (double w : run.Of("W")) {
    taken += 1 - w;
    const int k = static_cast<int>(std::lround((1 - w) / 2));
    ASSERT_TRUE(k >= 0 && k < 4) << w;
    ++values[k];
  }
  EXPECT_EQ(taken, loss);
  EXPECT_GT(values[1] + values[2], 0);  // one mask for all rounds would give 0 and 3 only
}

TEST(Step, MemoryLimit) {
  StepSpec spec = OwnLoss();
  spec.memory_limit = 1;
  const auto step = BuildStep(Model(kDropout), spec, Plugins());
  ASSERT_FALSE(step.ok());
  EXPECT_NE(step.status().message().find("below the minimum of"), std::string::npos) << step.status().ToString();
  spec.memory_limit = 1 << 20;
  EXPECT_TRUE(BuildStep(Model(kDropout), spec, Plugins()).ok());
}

std::string Code(const std::string& text) {
  const auto step = BuildStep(Model(text), OwnLoss(), Plugins());
  return step.ok() ? "ok" : step.status().diagnostics()[0].code;
}

TEST(StepErrors, WhereNothingCountsTheRounds) {
  EXPECT_EQ(Code(R"(
sdfg f(x: f64[2, 64], loss: f64) {
  constant W: f64[64] = fill(1) from "W"
  transient h: f64[2, 64]
  transient d: f64[2, 64]
  state {
    onnx.Mul(A = x, B = W) -> (C = h)
    map i in 0:2 { call drop(a = h[i, :], b = d[i, :]) }
    loss = 0
    map i in 0:2, j in 0:64 { loss += d[i, j] }
  }
}
sdfg drop(a: f64[64], b: f64[64]) {
  constant ratio: f32 = 0.5
  constant yes: bool = true
  transient c: f64[64]
  map i in 0:64 { b[i] = a[i] }
  for t in 0:3 {
    onnx.Dropout:13(data = b, ratio = ratio, training_mode = yes) -> (output = c) from "drop"
    map i in 0:64 { b[i] = c[i] }
  }
}
)"),
            "E0916");
  std::string old = kDropout;
  for (const char* name : {"drop1", "drop2"}) {
    const size_t at = old.find("onnx.Dropout:13("), end = old.find(std::string("\"") + name, at);
    old.replace(at, end - at, at < old.find("drop2") && std::string(name) == "drop1"
                                  ? "onnx.Dropout:1{is_test = 0}(data = h) -> (output = d) from "
                                  : "onnx.Dropout:1{is_test = 0}(data = d) -> (output = e) from ");
  }
  EXPECT_EQ(Code(old), "E0916");
  std::string endless = kDropout;
  endless.replace(endless.find("  state {"), 9, "  loss = 0\n  while loss < 1 {");
  EXPECT_EQ(Code(endless), "E0917");
}

}  // namespace
}  // namespace headrace::training
