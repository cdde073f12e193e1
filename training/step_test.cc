#include "training/step.h"

#include <cmath>

#include "training/step_testing.h"

namespace headrace::training {
namespace {

StepSpec Spec(const std::string& loss, const std::string& optimizer = "sgd") {
  StepSpec s;
  s.loss = loss;
  s.optimizer = optimizer;
  return s;
}

const char* const kLinear = R"(
sdfg linear(x: f64[N, 3], y: f64[N, 2]) {
  constant W: f64[3, 2] = [[1, -1], [0.5, 2], [-0.25, 0]] from "layer.weight"
  constant b: f64[2] = [0.1, -0.2] from "layer.bias"
  transient h: f64[N, 2]
  state {
    onnx.MatMul(A = x, B = W) -> (Y = h)
    onnx.Add(A = h, B = b) -> (C = y)
  }
}
)";

// Mean squared error of a linear layer: the gradient is known by hand.
TEST(Step, OneStepOfGradientDescent) {
  for (const char* backend : {"interpreter", "cpu"}) {
    Running run = Running::Make(kLinear, Spec("mse"), backend);
    ASSERT_EQ(run.step.variables.size(), 2u);
    EXPECT_EQ(run.step.target.str(), "target");
    EXPECT_TRUE(run.step.seed.empty());
    EXPECT_TRUE(run.step.step.empty());
    const Tensor x = Values(DType::kF64, {2, 3}, {1, 2, 3, -1, 0.5, 0});
    const Tensor t = Values(DType::kF64, {2, 2}, {0, 1, -1, 0.25});
    const void* where = run.variables["layer.weight"].data->data();
    const std::vector<double> w = run.Of("layer.weight"), b = run.Of("layer.bias");
    double d[2][2], loss = 0;
    for (int n = 0; n < 2; ++n)
      for (int c = 0; c < 2; ++c) {
        d[n][c] = b[c] - t.GetDouble(2 * n + c);
        for (int k = 0; k < 3; ++k) d[n][c] += x.GetDouble(3 * n + k) * w[2 * k + c];
        loss += d[n][c] * d[n][c] / 4;
      }
    EXPECT_NEAR(run(1, {x, t}), loss, 1e-14) << backend;
    EXPECT_EQ(run.variables["layer.weight"].data->data(), where);
    for (int c = 0; c < 2; ++c) {
      EXPECT_NEAR(run.Of("layer.bias")[c], b[c] - 0.1 * (d[0][c] + d[1][c]) / 2, 1e-14);
      for (int k = 0; k < 3; ++k) {
        const double g = (d[0][c] * x.GetDouble(k) + d[1][c] * x.GetDouble(3 + k)) / 2;
        EXPECT_NEAR(run.Of("layer.weight")[2 * k + c], w[2 * k + c] - 0.1 * g, 1e-14);
      }
    }
  }
}

// The loss is W · x, an output of the model: the gradient is x. Reference: the formulas in PyTorch's documentation.
struct Reference {
  StepSpec spec;
  std::vector<double> w, m, v;
  void Step(int64_t t, std::vector<double> g, double rate) {
    double norm = 0;
    for (double x : g) norm += x * x;
    const double scale = spec.clip_norm ? std::min(1.0, *spec.clip_norm / (std::sqrt(norm) + 1e-6)) : 1;
    for (size_t i = 0; i < w.size(); ++i) {
      double d = g[i] * scale;
      if (spec.optimizer == "adamw") w[i] *= 1 - rate * spec.weight_decay;
      else d += spec.weight_decay * w[i];
      if (spec.optimizer == "sgd") {
        w[i] -= rate * d;
      } else if (spec.optimizer == "momentum") {
        m[i] = spec.momentum * m[i] + d;
        w[i] -= rate * m[i];
      } else {
        m[i] = spec.beta1 * m[i] + (1 - spec.beta1) * d;
        v[i] = spec.beta2 * v[i] + (1 - spec.beta2) * d * d;
        const double mean = m[i] / (1 - std::pow(spec.beta1, t)), square = v[i] / (1 - std::pow(spec.beta2, t));
        w[i] -= rate * mean / (std::sqrt(square) + spec.epsilon);
      }
    }
  }
};

const char* const kDot = R"(
sdfg dot(x: f64[4], loss: f64) {
  constant W: f64[4] = [1, -1, 0.5, 2] from "W"
  state {
    loss = 0
    map i in 0:4 { loss += x[i] * W[i] }
  }
}
)";

TEST(Step, OptimizersFollowTheirFormulas) {
  for (const char* optimizer : {"sgd", "momentum", "adam", "adamw"})
    for (const bool extras : {false, true}) {
      SCOPED_TRACE(optimizer);
      StepSpec spec = Spec("loss", optimizer);
      if (extras)
        spec.weight_decay = 0.1, spec.clip_norm = 1.5, spec.beta1 = 0.8, spec.momentum = 0.7, spec.epsilon = 1e-3;
      Running run = Running::Make(kDot, spec);
      Reference reference{spec, {1, -1, 0.5, 2}, std::vector<double>(4), std::vector<double>(4)};
      for (int t = 1; t <= 5; ++t) {
        const std::vector<double> x = {0.3 * t, -0.2, 1.0 / t, t % 2 ? 0.5 : -2.0};
        double loss = 0;
        for (int i = 0; i < 4; ++i) loss += x[i] * reference.w[i];
        EXPECT_NEAR(run(t, {Values(DType::kF64, {4}, x)}, 0.1 / t), loss, 1e-13);
        reference.Step(t, x, 0.1 / t);
        for (int i = 0; i < 4; ++i) EXPECT_NEAR(run.Of("W")[i], reference.w[i], 1e-13) << "step " << t;
      }
    }
}

TEST(Step, CrossEntropyAndHits) {
  const char* const text = R"(
sdfg scores(x: f32[N, 3], y: f32[N, 3]) {
  constant W: f32[3] = [1, 2, 3] from "W"
  state { onnx.Mul(A = x, B = W) -> (C = y) }
}
)";
  Running run = Running::Make(text, Spec("cross_entropy"));
  EXPECT_EQ(run.step.classes, 3);
  const Tensor x = Values(DType::kF32, {2, 3}, {1, 0, -1, 0, 0, 1}), t = Values(DType::kI64, {2}, {0, 1});
  const double first = -1 + std::log(std::exp(1) + 1 + std::exp(-3)), second = std::log(2 + std::exp(3));
  EXPECT_NEAR(run(1, {x, t}), (first + second) / 2, 1e-6);

  Result<EvaluationProgram> e = BuildEvaluation(Model(text), Spec("cross_entropy"), Plugins());
  ASSERT_TRUE(e.ok()) << e.status().ToString();
  CompileRequest request;
  request.backend = "interpreter";
  auto executable = CompileProgram(Plugins(), e->program, request);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  ASSERT_EQ(e->variables.size(), 1u);
  auto out = (*executable)->Run({{e->inputs[0], x}, {e->target, t}, {e->variables[0].name, e->variables[0].initial}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  ASSERT_EQ(Outputs(e->program, e->program.Entry()), (std::vector<Name>{e->loss, e->hits}));
  EXPECT_NEAR((*out)[0].tensor.GetDouble(0), (first + second) / 2, 1e-6);
  EXPECT_EQ((*out)[1].tensor.GetInt(0), 1);
}

const char* const kBatchNorm = R"(
sdfg norm(x: f64[4, 2], y: f64[4, 2]) {
  constant s: f64[2] = [1, 2] from "bn.weight"
  constant b: f64[2] = [0, 1] from "bn.bias"
  constant mean: f64[2] = [0.5, -0.5] from "bn.running_mean"
  constant var: f64[2] = [1, 4] from "bn.running_var"
  state { onnx.BatchNormalization:15{momentum = 0.75, training_mode = TRAINING}(X = x, scale = s, B = b, input_mean = mean, input_var = var) -> (Y = y) from "bn" }
}
)";
std::string BatchNorm(bool training) {
  std::string text = kBatchNorm;
  return text.replace(text.find("TRAINING"), 8, training ? "1" : "0");
}

// The node gives only Y, and its running statistics go on all the same.
TEST(Step, RunningStatistics) {
  for (const char* backend : {"interpreter", "cpu"}) {
    Running run = Running::Make(BatchNorm(true), Spec("mse"), backend);
    EXPECT_TRUE(run.step.notes.empty());
    ASSERT_EQ(run.step.variables.size(), 4u);
    EXPECT_EQ(run.step.variables[2].kind, Variable::kStatistic);
    const Tensor x = Values(DType::kF64, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), t = Values(DType::kF64, {4, 2}, {0});
    run(1, {x, t});
    EXPECT_NEAR(run.Of("bn.running_mean")[0], 0.75 * 0.5 + 0.25 * 4, 1e-13) << backend;
    EXPECT_NEAR(run.Of("bn.running_mean")[1], 0.75 * -0.5 + 0.25 * 5, 1e-13);
    EXPECT_NEAR(run.Of("bn.running_var")[0], 0.75 * 1 + 0.25 * 5, 1e-13);
    EXPECT_NEAR(run.Of("bn.running_var")[1], 0.75 * 4 + 0.25 * 5, 1e-13);
    run(2, {x, t});
    EXPECT_NEAR(run.Of("bn.running_mean")[0], 0.75 * (0.75 * 0.5 + 0.25 * 4) + 0.25 * 4, 1e-13);
  }
}

// Exporters make the new statistics outputs of the model: they are no scores.
TEST(Step, RunningStatisticsAsOutputs) {
  std::string text = BatchNorm(true);
  text.replace(text.find("y: f64[4, 2]"), 12, "y: f64[4, 2], m2: f64[2], v2: f64[2]");
  text.replace(text.find("(Y = y)"), 7, "(Y = y, running_mean = m2, running_var = v2)");
  Running run = Running::Make(text, Spec("mse"));
  ASSERT_EQ(run.step.variables.size(), 4u);
  EXPECT_EQ(Outputs(run.step.program, run.step.program.Entry()).size(), 5u);  // the variables and the loss
  run(1, {Values(DType::kF64, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), Values(DType::kF64, {4, 2}, {0})});
  EXPECT_NEAR(run.Of("bn.running_mean")[0], 0.75 * 0.5 + 0.25 * 4, 1e-13);
}

// Two nodes with the same statistics change them one after the other.
TEST(Step, SharedStatistics) {
  std::string text = BatchNorm(true);
  const std::string node = text.substr(text.find("onnx."), text.find("-> (Y = y)") - text.find("onnx."));
  std::string again = node;
  again.replace(again.find("X = x"), 5, "X = h");
  text.replace(text.find(node), node.size(), node + "-> (Y = h)\n    " + again);
  text.insert(text.find("  state"), "  transient h: f64[4, 2]\n");
  Running run = Running::Make(text, Spec("mse"));
  ASSERT_EQ(run.step.variables.size(), 4u) << text;
  run(1, {Values(DType::kF64, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), Values(DType::kF64, {4, 2}, {0})});
  // The first sees mean 4, the second what the first gives: mean b = 0.
  EXPECT_NEAR(run.Of("bn.running_mean")[0], 0.75 * (0.75 * 0.5 + 0.25 * 4) + 0.25 * 0, 1e-13);
}

TEST(Step, StatisticsThatAreInputsAreNotKept) {
  std::string text = BatchNorm(true);
  text.erase(text.find("  constant mean"), text.find("  constant var") - text.find("  constant mean"));
  text.replace(text.find("x: f64[4, 2]"), 12, "x: f64[4, 2], mean: f64[2]");
  const auto step = BuildStep(Model(text), Spec("mse"), Plugins());
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  EXPECT_EQ(step->variables.size(), 3u);
  ASSERT_EQ(step->notes.size(), 1u);
  EXPECT_NE(step->notes[0].find("of 'bn' are not kept: 'mean'"), std::string::npos) << step->notes[0];
}

TEST(Step, FixedStatisticsAreSaid) {
  Running run = Running::Make(BatchNorm(false), Spec("mse"));
  ASSERT_EQ(run.step.variables.size(), 2u);
  ASSERT_EQ(run.step.notes.size(), 1u);
  EXPECT_NE(run.step.notes[0].find("'bn'"), std::string::npos) << run.step.notes[0];
  // An evaluation takes them as variables, whatever the step does.
  auto e = BuildEvaluation(Model(BatchNorm(false)), Spec("mse"), Plugins());
  ASSERT_TRUE(e.ok()) << e.status().ToString();
  EXPECT_EQ(e->variables.size(), 4u);
  EXPECT_TRUE(e->hits.empty());
}

const char* const kSeveral = R"(
sdfg several(x: f32[4], ids: i64[4], y: f32[4], z: f32[4]) {
  constant shared: f32[4] = [1, 2, 3, 4] from "shared"
  constant table: f32[9, 4] = fill(0.5) from "embedding.table"
  constant unused: f32[4] = fill(1) from "unused"
  constant scale: f32 = 0.5 from "val_3"
  transient a: f32[4]
  transient b: f32[4]
  transient e: f32[4, 4]
  state {
    onnx.Mul(A = x, B = shared) -> (C = a)
    onnx.Mul(A = a, B = shared) -> (C = b)
    onnx.Gather{axis = 0}(data = table, indices = ids) -> (output = e)
    map i in 0:4 { y[i] = b[i] * scale + e[i, i] }
    onnx.Add(A = unused, B = x) -> (C = z)
  }
}
)";

TEST(Step, WhatIsTrained) {
  Running run = Running::Make(kSeveral, Spec("mse:y"));
  ASSERT_EQ(run.step.variables.size(), 2u);
  EXPECT_EQ(run.step.inputs, (std::vector<Name>{"x", "ids"}));
  ASSERT_EQ(run.step.notes.size(), 2u);
  EXPECT_NE(run.step.notes[0].find("single numbers: 'val_3'"), std::string::npos) << run.step.notes[0];
  EXPECT_NE(run.step.notes[1].find("does not depend on them: 'unused'"), std::string::npos) << run.step.notes[1];
  const Tensor x = Values(DType::kF32, {4}, {1, 0, 0, 0}), ids = Values(DType::kI64, {4}, {8, 0, 0, 0});
  run(1, {x, ids, Values(DType::kF32, {4}, {0})}, 1);
  // y[0] = 0.5 * shared[0]² + table[8, 0] = 1, its gradient 2 · 1 / 4.
  EXPECT_NEAR(run.Of("shared")[0], 1 - 0.5 * 0.5 * 2, 1e-6);
  EXPECT_NEAR(run.Of("embedding.table")[8 * 4], 0.5 - 0.5, 1e-6);
  EXPECT_EQ(run.Of("embedding.table")[8 * 4 + 1], 0.5);

  StepSpec some = Spec("mse:y");
  some.frozen = {"embedding.*"};
  EXPECT_EQ(BuildStep(Model(kSeveral), some, Plugins())->variables.size(), 1u);
  some = Spec("mse:y");
  some.trained = {"val_?"};
  const auto only = BuildStep(Model(kSeveral), some, Plugins());
  ASSERT_TRUE(only.ok()) << only.status().ToString();
  ASSERT_EQ(only->variables.size(), 1u);
  EXPECT_EQ(only->variables[0].original, "val_3");
}

// What the importer found to be no parameters.
TEST(Step, BuffersAndFoldedConstantsAreNotTrained) {
  const char* const text = R"(
    sdfg f(x: f32[2], loss: f32) {
      constant W: f32[2] = [3, 4] from "W"
      constant P: f32[2] = [1, 1] from "P" by "buffer"
      constant C: f32[2] = [1, 2] from "val_70" by "exporter"
      loss = 0
      map i in 0:2 { loss += x[i] * W[i] * P[i] * C[i] }
    })";
  const auto step = BuildStep(Model(text), Spec("loss"), Plugins());
  ASSERT_TRUE(step.ok()) << step.status().ToString();
  ASSERT_EQ(step->variables.size(), 1u);
  EXPECT_EQ(step->variables[0].original, "W");
  EXPECT_EQ(step->notes, (std::vector<std::string>{"not trained, as the model says that they are buffers: 'P'",
                                                   "not trained, as the exporter made them from constants: 'val_70'"}));
  StepSpec all = Spec("loss");
  all.trained = {"*"};
  EXPECT_EQ(BuildStep(Model(text), all, Plugins())->variables.size(), 3u);
}

// In IR text every float constant is an initializer.
TEST(Step, ConstantsOfText) {
  Running run = Running::Make(
      "sdfg f(x: f32[2], loss: f32) { constant W: f32[2] = [3, 4]\n loss = 0\n map i in 0:2 { loss += x[i] * W[i] } }",
      Spec("loss"));
  ASSERT_EQ(run.step.variables.size(), 1u);
  EXPECT_EQ(run.step.variables[0].original, "W");
}

// A loss of one element is as good as a scalar.
TEST(Step, LossOfOneElement) {
  const char* const text = R"(
sdfg f(x: f32[2], y: f32[1, 1]) {
  constant W: f32[2] = [3, 4] from "W"
  state {
    y[0, 0] = 0
    map i in 0:2 { y[0, 0] += x[i] * W[i] }
  }
}
)";
  Running run = Running::Make(text, Spec("y"));
  EXPECT_EQ(run(1, {Values(DType::kF32, {2}, {1, 2})}), 11);
  EXPECT_FLOAT_EQ(static_cast<float>(run.Of("W")[1]), 4 - 0.2f);
}

// ---- errors ----

std::string Code(const std::string& text, const StepSpec& spec) {
  const auto step = BuildStep(Model(text), spec, Plugins());
  return step.ok() ? "ok" : step.status().diagnostics()[0].code;
}

TEST(StepErrors, LossesAndOptimizers) {
  EXPECT_EQ(Code(kSeveral, Spec("mse")), "E0906");
  EXPECT_EQ(Code(kSeveral, Spec("mse:w")), "E0904");
  EXPECT_EQ(Code(kSeveral, Spec("croos_entropy")), "E0907");
  EXPECT_EQ(Code(kSeveral, Spec("y")), "E0908");
  EXPECT_EQ(Code(kSeveral, Spec("cross_entropy:y")), "E0910");
  EXPECT_EQ(Code(kSeveral, Spec("mse:y", "adamm")), "E0914");
  StepSpec spec = Spec("mse:y", "adam");
  spec.beta2 = 1;
  EXPECT_EQ(Code(kSeveral, spec), "E0915");
  spec = Spec("mse:y");
  spec.frozen = {"embedding.tabel"};
  EXPECT_EQ(Code(kSeveral, spec), "E0911");
  EXPECT_EQ(Code("sdfg f(x: f32[2], y: i64[2]) { map i in 0:2 { y[i] = i64(x[i]) } }", Spec("mse")), "E0905");
  EXPECT_EQ(Code("sdfg f(x: f32[2], y: f32[2]) { map i in 0:2 { y[i] = x[i] } }", Spec("mse")), "E0913");
  EXPECT_EQ(Code("sdfg f(x: f16[2], y: f16[2]) { map i in 0:2 { y[i] = x[i] } }", Spec("mse")), "E0909");
  EXPECT_EQ(
      Code(
          "sdfg f(x: f32[2], y: f32[2]) { constant W: f16[2] = [1, 2] from \"W\"\n map i in 0:2 { y[i] = x[i] * f32(W[i]) } }",
          Spec("mse")),
      "E0912");
  EXPECT_EQ(
      Code(
          "sdfg f(x: f32[4], y: f32[n]) { constant W: f32[4] = [1, 2, 3, 4] from \"W\"\n transient h: f32[4]\n transient c: bool[4]\n"
          "state { map i in 0:4 { h[i] = x[i] * W[i] }\n map i in 0:4 { c[i] = h[i] > 0 }\n"
          "onnx.Compress(input = h, condition = c) -> (output = y) defines (n) } }",
          Spec("mse")),
      "E0903");
}

TEST(StepErrors, ConstructsThatCantBeTrained) {
  std::string old = BatchNorm(true);
  old.replace(old.find(":15"), 3, ":9");
  for (const char* drop : {", training_mode = 1", "input_"})
    for (size_t at; (at = old.find(drop)) != std::string::npos;) old.erase(at, std::strlen(drop));
  old.replace(old.find("(Y = y)"), 7, "(Y = y, mean = m2, var = v2)");
  old.replace(old.find("  state"), 0, "  transient m2: f64[2]\n  transient v2: f64[2]\n");
  EXPECT_EQ(Code(old, Spec("mse")), "E0901");
  std::string looped = BatchNorm(true);
  looped.replace(looped.find("  state"), 7, "  for t in 0:2");
  EXPECT_EQ(Code(looped, Spec("mse")), "E0902");
}

}  // namespace
}  // namespace headrace::training
