// One training step as one program: forward, loss, backward, clipping, optimizer. Parameters, running statistics and
// optimizer state are inout parameters of the program (Executable::RunInPlace), so nothing is copied or allocated per step.
//
//   sdfg step(x: f32[64, 784], target: i64[64], rate: f64, step: i64, seed: i64,      batch and scalars
//             inout W: f32[784, 10], inout W_momentum: f32[784, 10],                  variables
//             loss: f32)                                                              what is reported
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/registry/registry.h"

namespace headrace::training {

struct StepSpec {
  std::string loss;  // cross_entropy (mean over samples; targets are class numbers), mse, or a scalar output's name
  std::string optimizer = "sgd";  // sgd, momentum, adam, adamw; formulas and defaults are PyTorch's
  double momentum = 0.9, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  // Initializers by name, '*' and '?' match: only these are trained (empty: all floats that reach the loss but single numbers,
  // which exporters make of constants), and these are not.
  std::vector<std::string> trained, frozen;
  std::string autocast;                 // "bf16", "f16": mixed precision of model and gradients; parameters and loss keep their type
  // Of autocast "f16": the first factor of the loss's gradient, and how many good steps double it (train.LossScale).
  double loss_scale = 65536;
  int64_t scale_interval = 2000;
  std::optional<double> clip_norm;      // of all gradients together, as torch.nn.utils.clip_grad_norm_
  std::optional<int64_t> memory_limit;  // bytes of tape and workspace
};

inline constexpr char kScale[] = "loss_scale", kGoodSteps[] = "loss_scale.good", kTakenSteps[] = "loss_scale.taken";

// Something that training changes, an inout parameter of the program.
struct Variable {
  enum Kind { kParameter, kStatistic, kOptimizer };
  Name name;
  // The model's name; of optimizer state "W.momentum", "W.exp_avg", "W.exp_avg_sq"; of loss scaling kScale, kGoodSteps, kTakenSteps.
  std::string original;
  Kind kind = kParameter;
  Tensor initial;
};

struct StepProgram {
  Program program;
  std::vector<Name> inputs;         // the model's, in order; only those of Batch data
  Name target;                      // i64 class numbers, or floats; empty when the loss is an output of the model
  int64_t classes = 0;              // of cross_entropy: targets are below it
  Name loss;                        // scalar of the model's float type
  Name rate, step, seed;            // f64[], i64[] (from 1), i64[]: inputs; empty when nothing needs them
  std::vector<Variable> variables;  // parameters by the model's order, then statistics, then optimizer state
  std::vector<std::string> notes;   // "batch normalisation 'bn1' uses fixed statistics: the export is in eval mode" …
};

// `m` is imported with simplify = false (initializers stay themselves). Errors: no such loss or optimizer, a loss that does
// not fit the outputs or target, nothing to train, a construct without a gradient.
Result<StepProgram> BuildStep(const ImportedModel& m, const StepSpec& spec, const Registry& r);

// Loss and number of right answers of a batch without training; `m` is imported with inference = true as well.
// Variables are plain inputs, those of the step program by `original`. A statistic that the step does not change (the export
// is in inference mode) has its initial value.
struct EvaluationProgram {
  Program program;
  std::vector<Name> inputs;
  Name target, loss;
  Name hits;  // i64[]: targets (of all positions) at which the output is largest; empty unless cross_entropy
  Name seed;  // i64[]: an input; empty when nothing is random
  std::vector<Variable> variables;  // parameters and statistics
};
Result<EvaluationProgram> BuildEvaluation(const ImportedModel& m, const StepSpec& spec, const Registry& r);

}  // namespace headrace::training
