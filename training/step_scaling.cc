// Gradients in f16 are of the loss times a scale, so that small ones are no zeros; a step on which one overflows is not taken.
#include <algorithm>

#include "training/step_internal.h"

namespace headrace::training {
namespace {

Variable Kept(Sdfg* s, const char* original, Tensor initial) {
  Variable v;
  std::string name = original;
  std::replace(name.begin(), name.end(), '.', '_');
  v.name = AddParameter(s, name, initial.dtype, {});
  v.original = original;
  v.kind = Variable::kOptimizer;
  v.initial = std::move(initial);
  s->Mutable(v.name).inout = true;
  return v;
}

Tensor Number(DType t, double value) {
  Tensor out = *Tensor::Create(t, {});
  if (IsFloat(t)) out.SetDouble(0, value);
  else out.SetInt(0, static_cast<int64_t>(value));
  return out;
}

}  // namespace

Scaling AddScaling(Program* p, const StepSpec& spec, Name seed, const std::vector<Gradient>& gradients) {
  Sdfg& s = p->MutableEntry();
  Scaling out;
  out.state = {Kept(&s, kScale, Number(DType::kF32, spec.loss_scale)), Kept(&s, kGoodSteps, Number(DType::kI64, 0)),
               Kept(&s, kTakenSteps, Number(DType::kI64, 0))};
  const Name scale = out.state[0].name, good = out.state[1].name;
  out.taken = out.state[2].name;
  out.go = AddTransient(&s, "go", DType::kBool, {});
  out.factor = AddTransient(&s, "gradient_factor", DType::kF64, {});

  MakeTransient(&s, seed);
  Tasklet t;
  t.target = seed;
  t.index.assign(s.Get(seed).shape.size(), Expr(0));  // a loss has one element
  t.value = CastExpr(s.Get(seed).dtype, ReadExpr(scale, {}));
  s.body.insert(s.body.begin(), s.AddBlock(headrace::State{{}, {s.AddNode(std::move(t), {Name("loss_scale"), Name()})}}));

  Library l;
  l.domain = Name("train"), l.op = Name("LossScale");
  l.attributes = {{Name("interval"), Attribute{spec.scale_interval}}};
  for (const auto& [port, container] : {std::pair("scale", scale), std::pair("good", good), std::pair("taken", out.taken)}) {
    l.inputs.push_back({Name(port), container});
    l.outputs.push_back({Name(std::string(port) + "_new"), container});
  }
  for (const Gradient& g : gradients) l.inputs.push_back({Name("gradients"), g.gradient});
  l.outputs.push_back({Name("go"), out.go});
  l.outputs.push_back({Name("factor"), out.factor});
  AppendStatement(&s, std::move(l), "loss_scale");
  return out;
}

}  // namespace headrace::training
