// The parts of a training step, in the order in which BuildStep puts them together (step.cc).
#pragma once
#include <string>
#include <vector>

#include "training/step.h"

namespace headrace::training {

// ---- edits of a program's entry ----
Name AddParameter(Sdfg* s, const std::string& stem, DType t, std::vector<Expr> shape, bool first = false);
Name AddTransient(Sdfg* s, const std::string& stem, DType t, std::vector<Expr> shape);
void AppendStatement(Sdfg* s, Body body, const std::string& origin = "");
// target[i…] = source[i…], every element; with `go`, where that is true.
void AppendCopy(Sdfg* s, Name target, Name source, const std::string& origin = "", Name go = {});
// A parameter that nobody outside sees any more.
void MakeTransient(Sdfg* s, Name parameter);
// A constant becomes the last parameter; gives its value.
Tensor MakeParameter(Sdfg* s, Name constant);
// Containers in the order that the verifier wants: parameters first, as `parameters` has them.
void SortContainers(Sdfg* s);
std::string Quoted(const std::vector<std::string>& names);  // 'a', 'b' and 3 more

Status StepError(const std::string& code, ErrorKind kind, const std::string& message, const std::string& hint = "",
                 const std::string& node = "");

// The model is IR text: all its float constants are initializers.
bool IsText(const ImportedModel& m);

// ---- batch normalisation (step_batch_norm.cc) ----
struct Statistic {
  Name container;  // the constant, from now on a parameter
  Name updated;    // output parameter that holds the next value
  std::string original, node;
  Tensor initial;
};
struct BatchNorms {
  std::vector<Statistic> statistics;  // of nodes in training mode
  std::vector<Name> fixed;            // statistics of nodes in inference mode: constants that are not trained
  std::vector<std::string> notes;
};
// The model's name of a constant that training may change; "" if it is no initializer.
std::string InitializerName(const ImportedModel& m, const Container& c);
Result<BatchNorms> TrackStatistics(const ImportedModel& m, Program* p);

// ---- random numbers (step_random.cc) ----
// Masks and draws become functions of the parameters `seed` and `step` (null: of the seed alone), which are added when a
// random operator is there. True when there is one.
Result<bool> SeedRandomness(Program* p, const Registry& r, Name* seed, Name* step);

// ---- parameters (step_parameters.cc) ----
struct Trained {
  std::vector<Variable> variables;  // kParameter
  std::vector<std::string> notes;
};
// Initializers that `loss` depends on become parameters of the program.
Result<Trained> ChooseParameters(const ImportedModel& m, Program* p, Name loss, const std::vector<Name>& fixed,
                                 const StepSpec& spec, const Registry& r);

// ---- loss (step_loss.cc) ----
struct Loss {
  Name loss, target;    // parameters; target empty when the loss is an output of the model
  Name scores;          // what the loss is computed from; empty likewise
  int64_t classes = 0;  // of cross_entropy
};
// Adds the loss; every other output of the model becomes a transient.
Result<Loss> AddLoss(const ImportedModel& m, Program* p, const std::string& loss, const std::vector<Statistic>& keep);

struct Gradient {
  Name parameter, gradient;  // `gradient`: a container of the program
};

// ---- loss scaling (step_scaling.cc) ----
// Names are empty where gradients are as they are.
struct Scaling {
  Name go;      // bool: whether the step is taken
  Name factor;  // f64: what gradients are multiplied by
  Name taken;   // i64: steps taken, this one among them
  std::vector<Variable> state;
};
// `seed`, the parameter that takes the loss's gradient, becomes the scale.
Scaling AddScaling(Program* p, const StepSpec& spec, Name seed, const std::vector<Gradient>& gradients);

// ---- optimizer (step_optimizer.cc) ----
Status CheckOptimizer(const StepSpec& spec);
// Appends clipping and updates; the parameters of the program that they need are added.
std::vector<Variable> AddOptimizer(Program* p, const StepSpec& spec, const std::vector<Variable>& parameters,
                                   const std::vector<Gradient>& gradients, const Scaling& scaling, Name* rate, Name* step);

}  // namespace headrace::training
