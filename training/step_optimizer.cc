#include <cmath>
#include <map>

#include "training/step_internal.h"

namespace headrace::training {
namespace {

struct Optimizer {
  const char* op;
  std::vector<std::pair<const char*, const char*>> state;  // port, suffix of the variable
  bool counts = false;                                     // needs the number of the step
};

const std::map<std::string, Optimizer>& Optimizers() {
  static const auto* const table =
      new std::map<std::string, Optimizer>{{"sgd", {"SGD", {}, false}},
                                           {"momentum", {"Momentum", {{"m", "momentum"}}, false}},
                                           {"adam", {"Adam", {{"m", "exp_avg"}, {"v", "exp_avg_sq"}}, true}},
                                           {"adamw", {"AdamW", {{"m", "exp_avg"}, {"v", "exp_avg_sq"}}, true}}};
  return *table;
}

Tensor Zeros(const Tensor& like) {
  Tensor t = *Tensor::Create(like.dtype, like.shape);
  for (int64_t i = 0; i < t.elements(); ++i) t.SetDouble(i, 0);
  return t;
}

Attributes AttributesOf(const StepSpec& spec, const Optimizer& o) {
  Attributes a;  // sorted by name
  if (o.counts) {
    a.emplace_back(Name("beta1"), Attribute{spec.beta1});
    a.emplace_back(Name("beta2"), Attribute{spec.beta2});
    a.emplace_back(Name("epsilon"), Attribute{spec.epsilon});
  } else if (!o.state.empty()) {
    a.emplace_back(Name("momentum"), Attribute{spec.momentum});
  }
  a.emplace_back(Name("weight_decay"), Attribute{spec.weight_decay});
  return a;
}

}  // namespace

Status CheckOptimizer(const StepSpec& spec) {
  if (!Optimizers().count(spec.optimizer)) {
    const std::string close = ClosestWord(spec.optimizer, {"sgd", "momentum", "adam", "adamw"});
    return StepError("E0914", ErrorKind::kUsage, "no optimizer is called '" + spec.optimizer + "'",
                     close.empty() ? "sgd, momentum, adam or adamw" : "did you mean '" + close + "'?");
  }
  auto outside = [](const char* what, double v, const char* range) {
    return StepError("E0915", ErrorKind::kUsage, std::string(what) + " is " + std::to_string(v), range);
  };
  if (!(spec.momentum >= 0) || std::isinf(spec.momentum)) return outside("momentum", spec.momentum, "it is at least 0");
  if (!(spec.beta1 >= 0 && spec.beta1 < 1)) return outside("the first beta", spec.beta1, "it is in [0, 1)");
  if (!(spec.beta2 >= 0 && spec.beta2 < 1)) return outside("the second beta", spec.beta2, "it is in [0, 1)");
  if (!(spec.epsilon >= 0) || std::isinf(spec.epsilon)) return outside("epsilon", spec.epsilon, "it is at least 0");
  if (!(spec.weight_decay >= 0) || std::isinf(spec.weight_decay))
    return outside("weight decay", spec.weight_decay, "it is at least 0");
  if (spec.clip_norm && !(*spec.clip_norm > 0)) return outside("the largest norm", *spec.clip_norm, "it is above 0");
  return {};
}

std::vector<Variable> AddOptimizer(Program* p, const StepSpec& spec, const std::vector<Variable>& parameters,
                                   const std::vector<Gradient>& gradients, const Scaling& scaling, Name* rate, Name* step) {
  const Optimizer& o = Optimizers().at(spec.optimizer);
  Sdfg& s = p->MutableEntry();
  *rate = AddParameter(&s, "rate", DType::kF64, {});
  const bool scaled = !scaling.go.empty();
  if (o.counts && step->empty() && !scaled) *step = AddParameter(&s, "step", DType::kI64, {});
  Name scale = scaling.factor;
  if (spec.clip_norm) {
    scale = AddTransient(&s, "clip_scale", DType::kF64, {});
    Library l;
    l.domain = Name("train"), l.op = Name(scaled ? "ClipScaledNorm" : "ClipNorm");
    l.attributes = {{Name("max_norm"), Attribute{*spec.clip_norm}}};
    if (scaled) l.inputs.push_back({Name("factor"), scaling.factor});
    for (const Gradient& g : gradients) l.inputs.push_back({Name("gradients"), g.gradient});
    l.outputs = {{Name("scale"), scale}};
    AppendStatement(&s, std::move(l), "clip_norm");
  }
  std::vector<Variable> states;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Name parameter = gradients[i].parameter;
    s.Mutable(parameter).inout = true;
    Library l;
    l.domain = Name("train"), l.op = Name(o.op);
    l.attributes = AttributesOf(spec, o);
    l.inputs = {{Name("W"), parameter}, {Name("G"), gradients[i].gradient}};
    l.outputs = {{Name("W_new"), parameter}};
    const Container c = s.Get(parameter);
    for (const auto& [port, suffix] : o.state) {
      Variable v;
      v.name = AddParameter(&s, parameter.str() + "_" + suffix, c.dtype, c.shape);
      v.original = parameters[i].original + "." + suffix;
      v.kind = Variable::kOptimizer;
      v.initial = Zeros(parameters[i].initial);
      s.Mutable(v.name).inout = true;
      l.inputs.push_back({Name(port), v.name});
      l.outputs.push_back({Name(std::string(port) + "_new"), v.name});
      states.push_back(std::move(v));
    }
    l.inputs.push_back({Name("rate"), *rate});
    if (o.counts) l.inputs.push_back({Name("step"), scaled ? scaling.taken : *step});
    if (!scale.empty()) l.inputs.push_back({Name("scale"), scale});
    if (scaled) l.inputs.push_back({Name("go"), scaling.go});
    AppendStatement(&s, std::move(l), spec.optimizer);
  }
  return states;
}

}  // namespace headrace::training
