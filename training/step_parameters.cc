#include <algorithm>
#include <unordered_set>

#include "driver/parameters.h"
#include "ir/analysis/dataflow.h"
#include "training/step_internal.h"

namespace headrace::training {
namespace {

// "encoder.*": '*' is any text, '?' any character.
bool Matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') {
    for (size_t k = 0; k <= name.size(); ++k)
      if (Matches(pattern.substr(1), name.substr(k))) return true;
    return false;
  }
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) && Matches(pattern.substr(1), name.substr(1));
}
bool MatchesAny(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) { return Matches(p, name); });
}

// Float containers from which values may reach `loss` without passing through integers.
std::unordered_set<Name> Reaching(const Program& p, Name loss) {
  const Sdfg& s = p.Entry();
  std::vector<std::vector<Touched>> statements;
  ForEachNode(
      s, [&](NodeId n) { statements.push_back(TouchedBy(p, s, n)); }, /*into_maps=*/false);
  std::unordered_set<Name> out = {RootOf(s, loss)};
  for (bool changed = true; changed;) {
    changed = false;
    for (auto st = statements.rbegin(); st != statements.rend(); ++st) {
      if (std::none_of(st->begin(), st->end(), [&](const Touched& t) { return t.write && out.count(t.root); }))
        continue;
      for (const Touched& t : *st)
        if (t.read && IsFloat(s.Get(t.root).dtype)) changed |= out.insert(t.root).second;
    }
  }
  return out;
}

Status CheckPatterns(const StepSpec& spec, const std::vector<std::string>& names) {
  for (const auto* patterns : {&spec.frozen, &spec.trained})
    for (const std::string& pattern : *patterns)
      if (std::none_of(names.begin(), names.end(), [&](const std::string& n) { return Matches(pattern, n); })) {
        const std::string close = ClosestWord(pattern, names);
        return StepError("E0911", ErrorKind::kUsage, "no float initializer is called '" + pattern + "'",
                         close.empty() ? "they are " + Quoted(names) : "did you mean '" + close + "'?");
      }
  return {};
}

}  // namespace

Result<Trained> ChooseParameters(const ImportedModel& m, Program* p, Name loss, const std::vector<Name>& fixed,
                                 const StepSpec& spec, const Registry& r) {
  Trained out;
  const std::unordered_set<Name> reaching = Reaching(*p, loss);
  ImportedModel now = m;
  now.program = *p;
  std::vector<Parameter> candidates = Differentiable(now, IsText(m));
  std::vector<std::string> names, scalars, unused, buffers, folded;
  for (const Parameter& q : candidates)
    if (q.constant) names.push_back(q.original);
  HR_RETURN_IF_ERROR(CheckPatterns(spec, names));
  for (const Parameter& q : candidates) {
    const Container& c = p->Entry().Get(q.container);
    if (!q.constant || MatchesAny(spec.frozen, q.original)) continue;
    const bool asked = MatchesAny(spec.trained, q.original);
    if (!spec.trained.empty() && !asked) continue;
    if (std::find(fixed.begin(), fixed.end(), q.container) != fixed.end()) continue;
    if (!GradientCanFlow(r, *p, q.container)) continue;
    if (!reaching.count(q.container)) {
      unused.push_back(q.original);
      continue;
    }
    if (!asked && (c.origin.pass() == Name("buffer") || c.origin.pass() == Name("exporter"))) {
      (c.origin.pass() == Name("buffer") ? buffers : folded).push_back(q.original);
      continue;
    }
    if (c.shape.empty() && !asked) {  // exporters keep numbers of the graph so: a scale, an epsilon
      scalars.push_back(q.original);
      continue;
    }
    if (c.dtype != DType::kF32 && c.dtype != DType::kF64)
      return StepError(
          "E0912", ErrorKind::kUnsupported,
          "parameter '" + q.original + "' is " + std::string(DTypeName(c.dtype)) + ": training in it is not supported",
          "export the model in f32");
    Variable v;
    v.name = q.container;
    v.original = q.original;
    HR_ASSIGN_OR_RETURN(v.initial, MakeInput(r, *p, q));
    out.variables.push_back(std::move(v));
  }
  if (out.variables.empty())
    return StepError("E0913", ErrorKind::kUsage, "there is nothing to train: no float initializer reaches the loss",
                     names.empty() ? "the model has no float initializers" : "float initializers: " + Quoted(names));
  if (!scalars.empty()) out.notes.push_back("not trained, as they are single numbers: " + Quoted(scalars));
  if (!buffers.empty()) out.notes.push_back("not trained, as the model says that they are buffers: " + Quoted(buffers));
  if (!folded.empty()) out.notes.push_back("not trained, as the exporter made them from constants: " + Quoted(folded));
  if (!unused.empty()) out.notes.push_back("not trained, as the loss does not depend on them: " + Quoted(unused));
  return out;
}

}  // namespace headrace::training
