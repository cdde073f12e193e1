#include <cmath>

#include "training/step_testing.h"

namespace headrace::training {
namespace {

const char* const kNetwork = R"(
sdfg network(x: f32[N, 3], y: f32[N, 2]) {
  constant W: f32[3, 4] = [[0.5, -0.5, 0.25, 1], [0.5, 1, -1, 0.75], [-0.25, 0.5, 0.125, 0.375]] from "W"
  constant b: f32[4] = [0.1, -0.2, 0.3, 0] from "b"
  constant V: f32[4, 2] = [[1, -1], [0.5, 0.25], [-0.5, 0.75], [0.25, 1]] from "V"
  transient h: f32[N, 4]
  transient k: f32[N, 4]
  transient a: f32[N, 4]
  state {
    onnx.MatMul(A = x, B = W) -> (Y = h)
    onnx.Add(A = h, B = b) -> (C = k)
    onnx.Tanh(input = k) -> (output = a)
    onnx.MatMul(A = a, B = V) -> (Y = y)
  }
}
)";

StepSpec Spec(const std::string& autocast, const std::string& optimizer = "adam") {
  StepSpec s;
  s.loss = "mse", s.optimizer = optimizer, s.autocast = autocast;
  return s;
}

const std::vector<Tensor>& Data() {
  static const auto* const data =
      new std::vector<Tensor>{Values(DType::kF32, {4, 3}, {1, 0.5, -1, 0.25, 2, 0.75, -0.5, 1, 0.5, -1, -0.25, 1.5}),
                              Values(DType::kF32, {4, 2}, {1, 0, 0.5, -0.5, -1, 0.25, 0.75, 1})};
  return *data;
}

std::map<std::string, std::vector<double>> All(Running& run) {
  std::map<std::string, std::vector<double>> all;
  for (const auto& v : run.variables)
    if (v.first.rfind(kScale, 0) != 0) all[v.first] = run.Of(v.first);
  return all;
}
double Number(const Running& run, const char* variable) {
  const Tensor& t = run.variables.at(variable);
  return IsFloat(t.dtype) ? t.GetDouble(0) : static_cast<double>(t.GetInt(0));
}

// Compiling takes seconds.
std::vector<std::string> BackendsFor(const std::string& optimizer) {
  return optimizer == "adam" ? std::vector<std::string>{"interpreter", "cpu"} : std::vector<std::string>{"interpreter"};
}

// The loss falls as in f32; parameters and the optimizer's state are f32.
TEST(StepScaling, LossesAreThoseOfF32) {
  for (const char* optimizer : {"sgd", "momentum", "adam", "adamw"})
    for (const std::string& backend : BackendsFor(optimizer)) {
      std::map<std::string, double> first, last;
      for (const char* type : {"", "bf16", "f16"}) {
        Running run = Running::Make(kNetwork, Spec(type, optimizer), backend);
        ASSERT_TRUE(run.executable);
        for (const char* name : {"W", "b", "V"}) EXPECT_EQ(run.variables.at(name).dtype, DType::kF32);
        first[type] = run(1, Data(), 0.05);
        for (int step = 2; step <= 40; ++step) last[type] = run(step, Data(), 0.05);
        EXPECT_EQ(run.variables.count(kScale), type == std::string("f16") ? 1u : 0u);
      }
      EXPECT_LT(last[""], first[""] / 2);
      EXPECT_NEAR(last["bf16"], last[""], 0.05 * first[""]) << optimizer << " on " << backend;
      EXPECT_NEAR(last["f16"], last[""], 0.005 * first[""]) << optimizer << " on " << backend;
    }
}

// Gradients that overflow f16 change nothing but the scale; what is small enough goes on as if nothing had been.
TEST(StepScaling, AStepThatOverflowsIsLeftOut) {
  for (const char* optimizer : {"sgd", "momentum", "adam", "adamw"})
    for (const std::string& backend : BackendsFor(optimizer))
      for (const bool clip : {false, true}) {
        StepSpec spec = Spec("f16", optimizer);
        spec.loss_scale = 0x1p20;
        if (clip) spec.clip_norm = 0.5;
        Running run = Running::Make(kNetwork, spec, backend);
        ASSERT_TRUE(run.executable);
        const auto before = All(run);
        int step = 0;
        while (Number(run, kTakenSteps) == 0 && step < 20) {
          EXPECT_EQ(All(run), before) << optimizer << " on " << backend;
          EXPECT_EQ(Number(run, kScale), std::ldexp(0x1p20, -step));
          run(++step, Data());
        }
        EXPECT_GT(step, 1) << "nothing overflowed";
        EXPECT_NE(All(run), before);
        EXPECT_EQ(Number(run, kGoodSteps), 1);
        // The same from a start at that scale, whose first step this is.
        spec.loss_scale = Number(run, kScale);
        Running again = Running::Make(kNetwork, spec, backend);
        again(1, Data());
        EXPECT_EQ(All(run), All(again)) << optimizer << " on " << backend;
      }
}

TEST(StepScaling, TheScaleGrows) {
  StepSpec spec = Spec("f16", "sgd");
  spec.loss_scale = 8, spec.scale_interval = 3;
  Running run = Running::Make(kNetwork, spec);
  for (int step = 1; step <= 7; ++step) run(step, Data());
  EXPECT_EQ(Number(run, kScale), 32);
  EXPECT_EQ(Number(run, kGoodSteps), 1);
  EXPECT_EQ(Number(run, kTakenSteps), 7);
}

}  // namespace
}  // namespace headrace::training
