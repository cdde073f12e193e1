#include "training/step.h"

#include <algorithm>

#include "ir/registry/differentiator.h"
#include "training/step_internal.h"

namespace headrace::training {
namespace {

// Inputs that data fill: not those which the model was made for one value of.
std::vector<Name> DataInputs(const ImportedModel& m) {
  std::vector<Name> out;
  for (Name n : Inputs(m.program, m.program.Entry()))
    if (std::none_of(m.assumed_inputs.begin(), m.assumed_inputs.end(), [&](const auto& a) { return a.first == n; }))
      out.push_back(n);
  return out;
}

// Inputs, target, scalars, variables, loss.
void OrderParameters(Sdfg* s, const std::vector<Name>& last) {
  std::stable_partition(s->parameters.begin(), s->parameters.end(),
                        [&](Name n) { return std::find(last.begin(), last.end(), n) == last.end(); });
  s->parameters.resize(s->parameters.size() - last.size());
  s->parameters.insert(s->parameters.end(), last.begin(), last.end());
  SortContainers(s);
}

void Rename(Program* p, const std::string& name) {
  if (p->Find(Name(name))) return;
  Sdfg& s = p->MutableEntry();
  s.name = Name(name);
  p->entry = s.name;
}

void Append(const std::vector<std::string>& more, std::vector<std::string>* notes) {
  notes->insert(notes->end(), more.begin(), more.end());
}

Status Autocast(const StepSpec& spec, const Registry& r, Program* p) {
  return spec.autocast.empty() ? Status() : RunPipeline(r, "autocast{to=\"" + spec.autocast + "\"}", *p);
}

}  // namespace

Result<StepProgram> BuildStep(const ImportedModel& m, const StepSpec& spec, const Registry& r) {
  HR_RETURN_IF_ERROR(CheckOptimizer(spec));
  StepProgram out;
  out.inputs = DataInputs(m);
  Program p = m.program;
  HR_ASSIGN_OR_RETURN(BatchNorms norms, TrackStatistics(m, &p));
  HR_ASSIGN_OR_RETURN(Loss loss, AddLoss(m, &p, spec.loss, norms.statistics));
  HR_ASSIGN_OR_RETURN(Trained trained, ChooseParameters(m, &p, loss.loss, norms.fixed, spec, r));
  HR_RETURN_IF_ERROR(Autocast(spec, r, &p));
  HR_RETURN_IF_ERROR(SeedRandomness(&p, r, &out.seed, &out.step).status());
  Append(norms.notes, &out.notes);
  Append(trained.notes, &out.notes);
  out.target = loss.target;
  out.classes = loss.classes;
  out.loss = loss.loss;
  out.variables = trained.variables;

  GradientOptions options;
  options.keep_outputs = true;  // the loss is reported, the statistics go on
  options.memory_limit = spec.memory_limit;
  const bool scaled = spec.autocast == "f16";
  if (scaled) options.given_gradients = {loss.loss};
  std::vector<Name> by;
  for (const Variable& v : trained.variables) by.push_back(v.name);
  HR_ASSIGN_OR_RETURN(BackwardPrograms gradient, Differentiate(p, {loss.loss}, by, options, r));
  out.program = std::move(gradient.program);

  Sdfg& s = out.program.MutableEntry();
  std::vector<Gradient> gradients;
  for (const Variable& v : trained.variables)
    for (const auto& [input, name] : gradient.input_gradients)
      if (input == v.name) gradients.push_back({v.name, name});
  HR_CHECK(gradients.size() == trained.variables.size(), "a parameter has no gradient");
  for (const Gradient& g : gradients) MakeTransient(&s, g.gradient);
  Scaling scaling;
  if (scaled) scaling = AddScaling(&out.program, spec, gradient.output_gradients.at(0).second, gradients);
  std::vector<Variable> states = AddOptimizer(&out.program, spec, trained.variables, gradients, scaling, &out.rate, &out.step);
  states.insert(states.end(), scaling.state.begin(), scaling.state.end());
  for (const Statistic& x : norms.statistics) {
    MakeTransient(&s, x.updated);
    s.Mutable(x.container).inout = true;
    AppendCopy(&s, x.container, x.updated, x.node, scaling.go);
    Variable v;
    v.name = x.container;
    v.original = x.original;
    v.kind = Variable::kStatistic;
    v.initial = x.initial;
    out.variables.push_back(std::move(v));
  }
  out.variables.insert(out.variables.end(), states.begin(), states.end());
  std::vector<Name> last = {out.rate};
  for (Name n : {out.step, out.seed})
    if (!n.empty()) last.push_back(n);
  for (const Variable& v : out.variables) last.push_back(v.name);
  last.push_back(out.loss);
  OrderParameters(&s, last);
  Rename(&out.program, "step");
  return out;
}

Result<EvaluationProgram> BuildEvaluation(const ImportedModel& m, const StepSpec& spec, const Registry& r) {
  EvaluationProgram out;
  out.inputs = DataInputs(m);
  out.program = m.program;
  Program& p = out.program;
  HR_ASSIGN_OR_RETURN(Loss loss, AddLoss(m, &p, spec.loss, {}));
  out.target = loss.target;
  out.loss = loss.loss;
  HR_ASSIGN_OR_RETURN(BatchNorms norms, TrackStatistics(m, &p));
  HR_ASSIGN_OR_RETURN(Trained trained, ChooseParameters(m, &p, loss.loss, norms.fixed, spec, r));
  HR_RETURN_IF_ERROR(Autocast(spec, r, &p));
  HR_RETURN_IF_ERROR(SeedRandomness(&p, r, &out.seed, nullptr).status());
  out.variables = trained.variables;
  Sdfg& s = p.MutableEntry();
  for (Name n : norms.fixed) {
    Variable v;
    v.name = n;
    v.original = InitializerName(m, s.Get(n));
    if (v.original.empty()) continue;
    v.kind = Variable::kStatistic;
    v.initial = MakeParameter(&s, n);
    out.variables.push_back(std::move(v));
  }
  if (loss.classes > 0) {
    out.hits = AddParameter(&s, "hits", DType::kI64, {});
    Library l;
    l.domain = Name("train"), l.op = Name("Hits");
    l.inputs = {{Name("scores"), loss.scores}, {Name("labels"), loss.target}};
    l.outputs = {{Name("hits"), out.hits}};
    AppendStatement(&s, std::move(l), "hits");
  }
  std::vector<Name> last;
  for (const Variable& v : out.variables) last.push_back(v.name);
  last.push_back(out.loss);
  if (!out.hits.empty()) last.push_back(out.hits);
  OrderParameters(&s, last);
  Rename(&p, "evaluate");
  return out;
}

}  // namespace headrace::training
