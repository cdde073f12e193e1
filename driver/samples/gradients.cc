#include "driver/samples/gradients.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "driver/compile.h"
#include "ir/registry/differentiator.h"

namespace headrace::autodiff {
namespace {

constexpr double kEps = 1e-6, kAbsolute = 1e-5, kRelative = 1e-3;

bool IsFloatTensor(const Sdfg& s, Name n) {
  return s.Get(n).kind != ContainerKind::kSequence && IsFloat(s.Get(n).dtype);
}

Tensor Copy(const Tensor& t) {
  Tensor c = *Tensor::Create(t.dtype, t.shape);
  std::copy_n(t.data->data(), t.bytes(), c.data->data());
  return c;
}

// Between 0.5 and 1.5 with either sign: never near zero.
double Weight(uint64_t at) {
  uint64_t x = (at + 1) * 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  return (0.5 + static_cast<double>(x >> 12) * 0x1p-52) * (x & 1 ? 1 : -1);
}

struct Subject {
  Program program;
  NamedValues values;
  std::vector<Name> inputs, outputs;  // floats
};

Result<Subject> SubjectOf(const Registry& r, const OpSample& s, const std::string& folder) {
  Subject t;
  HR_ASSIGN_OR_RETURN(Program p, SampleProgram(r, s, folder));
  HR_ASSIGN_OR_RETURN(t.program, InDouble(p));
  HR_ASSIGN_OR_RETURN(t.values, InDouble(SampleValues(s)));
  // Statistics in f64 as well: in f32 they move in steps that hide slopes.
  bool stash = false;
  for (const AttributeSignature& a : s.signature->attributes) stash = stash || a.name == "stash_type";
  Sdfg& entry = t.program.MutableEntry();
  for (uint32_t i = 0; stash && i < entry.nodes.size(); ++i) {
    const auto* l = std::get_if<Library>(&entry.nodes[NodeId{i}].body);
    if (!l || l->op.view() != s.definition->name) continue;
    Library wide = *l;
    auto at = std::find_if(wide.attributes.begin(), wide.attributes.end(),
                           [](const auto& a) { return a.first == Name("stash_type"); });
    if (at != wide.attributes.end()) at->second.value = int64_t{11};
    else
      wide.attributes.insert(std::lower_bound(wide.attributes.begin(), wide.attributes.end(), Name("stash_type"),
                                              [](const auto& a, Name n) { return a.first < n; }),
                             {Name("stash_type"), Attribute{int64_t{11}}});
    entry.nodes.Mutable(NodeId{i}).body = std::move(wide);
  }
  const Sdfg& e = t.program.Entry();
  for (Name n : Inputs(t.program, e))
    if (IsFloatTensor(e, n)) t.inputs.push_back(n);
  for (Name n : Outputs(t.program, e))
    if (IsFloatTensor(e, n)) t.outputs.push_back(n);
  return t;
}

CompileRequest Request(const std::string& backend, const std::string& folder) {
  CompileRequest request;
  request.backend = backend;
  request.options.cache_dir = folder + "/cache";
  request.options.threads = 2;
  return request;
}

NamedValues Select(const Program& p, const NamedValues& values) {
  NamedValues out;
  for (Name n : Inputs(p, p.Entry()))
    for (const auto& [name, v] : values)
      if (name == n) {
        out.emplace_back(n, v);
        if (v.kind == Value::kTensor && v.tensor.dtype != DType::kString) out.back().second = Value(Copy(v.tensor));
      }
  return out;
}

// The float outputs at the subject's values.
class Function {
 public:
  static Result<std::unique_ptr<Function>> Of(const Registry& r, const Subject& t, const std::string& folder) {
    auto f = std::make_unique<Function>();
    f->t_ = &t;
    HR_ASSIGN_OR_RETURN(f->executable_, CompileProgram(r, t.program, Request("interpreter", folder)));
    return f;
  }
  // With element `at` of `input` set to x.
  Result<std::vector<Tensor>> At(Name input, int64_t at, double x) const {
    NamedValues values = Select(t_->program, t_->values);
    for (auto& [n, v] : values)
      if (n == input) v.tensor.SetDouble(at, x);
    HR_ASSIGN_OR_RETURN(std::vector<Value> all, executable_->Run(values));
    std::vector<Tensor> out;
    const std::vector<Name> names = Outputs(t_->program, t_->program.Entry());
    for (size_t k = 0; k < names.size(); ++k)
      if (std::find(t_->outputs.begin(), t_->outputs.end(), names[k]) != t_->outputs.end())
        out.push_back(all[k].tensor);
    return out;
  }

 private:
  const Subject* t_ = nullptr;
  std::unique_ptr<Executable> executable_;
};

// Σ weight · (a - b), outputs one after the other.
double WeightedDifference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k)
    for (int64_t i = 0; i < a[k].elements(); ++i) {
      const double x = a[k].GetDouble(i), y = b[k].GetDouble(i);
      if (x != y && !(std::isnan(x) && std::isnan(y))) sum += Weight(k * 1000003 + static_cast<uint64_t>(i)) * (x - y);
    }
  return sum;
}

Result<NamedValues> GradientsOf(const Registry& r, const Subject& t, const std::vector<Name>& inputs,
                                const std::vector<Tensor>& outputs, bool ones, const std::string& backend,
                                const std::string& folder) {
  GradientOptions options;
  options.given_gradients = t.outputs, options.keep_outputs = false;
  HR_ASSIGN_OR_RETURN(BackwardPrograms b, Differentiate(t.program, t.outputs, inputs, options, r));
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> e, CompileProgram(r, b.program, Request(backend, folder)));
  NamedValues values = t.values;
  for (const auto& [output, gradient] : b.output_gradients) {
    const size_t k = static_cast<size_t>(std::find(t.outputs.begin(), t.outputs.end(), output) - t.outputs.begin());
    Tensor g = *Tensor::Create(DType::kF64, outputs[k].shape);
    for (int64_t i = 0; i < g.elements(); ++i)
      g.SetDouble(i, ones ? 1 : Weight(k * 1000003 + static_cast<uint64_t>(i)));
    values.emplace_back(gradient, Value(g));
  }
  HR_ASSIGN_OR_RETURN(std::vector<Value> all, e->Run(Select(b.program, values)));
  const std::vector<Name> names = Outputs(b.program, b.program.Entry());
  NamedValues out;
  for (const auto& [input, gradient] : b.input_gradients) {
    const size_t k = static_cast<size_t>(std::find(names.begin(), names.end(), gradient) - names.begin());
    if (k == names.size()) return InternalError("the program gives no '" + gradient.str() + "'");
    out.emplace_back(input, all[k]);
  }
  return out;
}

const Value* Find(const NamedValues& values, Name n) {
  for (const auto& [name, v] : values)
    if (name == n) return &v;
  return nullptr;
}

// The slope by long steps, extrapolated (Richardson), if it is one: the last two estimates agree.
std::optional<double> LongSlope(const Function& f, Name input, int64_t i, double at) {
  double slope[3];
  for (int k = 0; k < 3; ++k) {
    const double h = 1e-2 * std::max(1.0, std::abs(at)) / (1 << k);
    Result<std::vector<Tensor>> up = f.At(input, i, at + h), down = f.At(input, i, at - h);
    if (!up.ok() || !down.ok()) return std::nullopt;
    slope[k] = WeightedDifference(*up, *down) / (2 * h);
  }
  const double first = (4 * slope[1] - slope[0]) / 3, second = (4 * slope[2] - slope[1]) / 3;
  if (!(std::abs(first - second) <= kAbsolute + kRelative * std::abs(second))) return std::nullopt;
  return second;
}

// One input's gradient against slopes of both sides of each element.
InputVerdict Compare(const Function& f, const Subject& t, Name input, const Tensor& gradient) {
  InputVerdict v;
  v.input = input.str();
  v.verdict = Verdict::kWrong;
  const Tensor& x = Find(t.values, input)->tensor;
  if (gradient.elements() != x.elements()) return v.detail = "the gradient has another shape", v;
  Result<std::vector<Tensor>> middle = f.At(input, 0, x.elements() > 0 ? x.GetDouble(0) : 0);
  if (!middle.ok()) return v.detail = middle.status().ToString(), v;
  bool all_zero = true,
       undefined = false;  // some output is NaN at the sample's values: so may be what flows back from it
  for (const Tensor& y : *middle)
    for (int64_t i = 0; i < y.elements(); ++i) undefined = undefined || std::isnan(y.GetDouble(i));
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double at = x.GetDouble(i), h = kEps * std::max(1.0, std::abs(at)), got = gradient.GetDouble(i);
    Result<std::vector<Tensor>> up = f.At(input, i, at + h), down = f.At(input, i, at - h);
    if (!up.ok() || !down.ok()) continue;  // outside of what the op takes
    const double right = WeightedDifference(*up, *middle) / h, left = WeightedDifference(*middle, *down) / h;
    const double both = WeightedDifference(*up, *down) / (2 * h);
    if (!std::isfinite(right) || !std::isfinite(left)) continue;         // the edge of the domain
    if (std::max(std::abs(right), std::abs(left)) > 0.01 / h) continue;  // a jump: no derivative
    if (undefined && std::isnan(got)) {
      ++v.kinks;
      continue;
    }
    const double tolerance = kAbsolute + kRelative * std::abs(both);
    all_zero = all_zero && got == 0 && std::abs(both) < kAbsolute;
    bool ok = std::abs(got - both) <= tolerance;
    if (!ok && std::abs(right - left) > tolerance) {
      ok = got >= std::min(left, right) - tolerance && got <= std::max(left, right) + tolerance;
      ++v.kinks;
    } else {
      ++v.compared;
    }
    if (ok) continue;
    // An op that rounds to f32 inside hides slopes in steps: longer ones, extrapolated.
    if (const auto slope = LongSlope(f, input, i, at);
        slope && std::abs(got - *slope) <= kAbsolute + kRelative * std::abs(*slope)) {
      all_zero = all_zero && got == 0;
      continue;
    }
    char text[200];
    std::snprintf(text, sizeof text, "element %lld at %.9g: gradient %.9g, differences %.9g (left %.9g, right %.9g)",
                  static_cast<long long>(i), at, got, both, left, right);
    v.detail = text;
    return v;
  }
  v.verdict = all_zero ? Verdict::kZero : Verdict::kChecked;
  if (v.compared == 0 && x.elements() > 0) {
    v.verdict = v.kinks > 0 ? Verdict::kKink : Verdict::kWrong;
    v.detail = v.kinks > 0 ? "" : "no element has a derivative by differences";
  }
  return v;
}

// The first backward rule that applies to the sample's node; its pure form's derivative, "derived", where none does.
std::string RuleOf(const Registry& r, const Subject& t, const OpSample& s) {
  const Sdfg& entry = t.program.Entry();
  std::string rule;
  ForEachNode(entry, [&](NodeId id) {
    const auto* l = std::get_if<Library>(&entry.nodes[id].body);
    if (!l || l->op.view() != s.definition->name) return;
    Result<NodeView> view = ViewOf(r, t.program, entry, id);
    if (!view.ok()) return;
    rule = "derived";
    for (const BackwardImplementation* b : r.BackwardImplementations(l->domain.str(), l->op.str())) {
      if (l->version > 0 && (l->version < b->since_version || l->version > b->until_version)) continue;
      if (b->backward_can_be_applied && !b->backward_can_be_applied(*view).empty()) continue;
      rule = b->name;
      return;
    }
  });
  return rule;
}

}  // namespace

std::vector<InputVerdict> CheckGradients(const Registry& r, const OpSample& s, const std::string& backend,
                                         const std::string& folder) {
  std::vector<InputVerdict> out;
  Result<Subject> t = SubjectOf(r, s, folder);
  if (!t.ok()) return {{"", Verdict::kWrong, "the sample does not load: " + t.status().ToString(), "", 0, 0}};
  if (t->inputs.empty()) return {};
  if (t->outputs.empty()) {
    for (Name n : t->inputs) out.push_back({n.str(), Verdict::kZero, "no output is a float", "", 0, 0});
    return out;
  }
  Result<std::unique_ptr<Function>> f = Function::Of(r, *t, folder);
  Result<std::vector<Tensor>> outputs = f.ok() ? (*f)->At(Name(), 0, 0) : Result<std::vector<Tensor>>(f.status());
  if (!outputs.ok())
    return {{"", Verdict::kWrong, "the sample does not run in f64: " + outputs.status().ToString(), "", 0, 0}};

  const std::string rule = RuleOf(r, *t, s);
  // All at once; those that are refused then are asked for alone.
  Result<NamedValues> all = GradientsOf(r, *t, t->inputs, *outputs, false, backend, folder);
  for (Name n : t->inputs) {
    Result<NamedValues> one = all.ok() ? *all : GradientsOf(r, *t, {n}, *outputs, false, backend, folder);
    const Value* g = one.ok() ? Find(*one, n) : nullptr;
    InputVerdict v;
    if (g) v = Compare(**f, *t, n, g->tensor);
    else v = {n.str(), Verdict::kRefused, one.ok() ? "no gradient" : one.status().ToString(), "", 0, 0};
    v.rule = rule;
    out.push_back(std::move(v));
  }
  return out;
}

Result<NamedValues> SampleGradients(const Registry& r, const OpSample& s, const std::string& backend,
                                    const std::string& folder) {
  HR_ASSIGN_OR_RETURN(Subject t, SubjectOf(r, s, folder));
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Function> f, Function::Of(r, t, folder));
  HR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, f->At(Name(), 0, 0));
  return GradientsOf(r, t, t.inputs, outputs, true, backend, folder);
}

Result<std::vector<OpSample>> SamplesOfFile(const Registry& r, const std::string& path) {
  std::ifstream file(path);
  if (!file.good()) return UsageError("E0453", "no file '" + path + "'");
  std::vector<OpSample> out;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const size_t bar = line.find(" | ");
    if (line.empty() || line[0] == '#') continue;
    const size_t dash = line.find('-');
    std::string name = line.substr(0, std::min(bar, dash));
    const int version = dash < bar ? std::atoi(line.c_str() + dash + 1) : std::numeric_limits<int>::max();
    const OpDefinition* newest = nullptr;
    for (const OpDefinition* d : r.Definitions())
      if (d->domain == "onnx" && d->name == name && d->since_version <= version &&
          (!newest || d->until_version > newest->until_version))
        newest = d;
    if (!newest || bar == std::string::npos)
      return UsageError("E0453", path + ":" + std::to_string(number) + ": not 'OP | SAMPLE' of an operator: " + line);
    auto d = std::make_unique<OpDefinition>(*newest);
    d->samples = {line.substr(bar + 3)};
    d->until_version = std::min(d->until_version, version);
    HR_ASSIGN_OR_RETURN(OpSample s, ParseSample(r, *d, 0, static_cast<uint64_t>(number)));
    s.number = number;
    s.definition = newest;
    out.push_back(std::move(s));
  }
  return out;
}

std::vector<OpVerdict> CheckOps(const Registry& r, const std::vector<OpSample>& samples, const std::string& backend,
                                const std::string& folder, bool verbose, int every) {
  std::map<std::string, OpVerdict> ops;
  int number = 0;
  for (const OpSample& s : samples) {
    if (number++ % every != 0) continue;
    const std::string name = s.definition->domain + "." + s.definition->name;
    OpVerdict& op = ops[name];
    op.name = name;
    ++op.samples;
    for (const InputVerdict& v : CheckGradients(r, s, backend, folder)) {
      if (v.verdict == Verdict::kKink) continue;
      auto& list = v.verdict == Verdict::kChecked   ? op.checked
                   : v.verdict == Verdict::kZero    ? op.zero
                   : v.verdict == Verdict::kRefused ? op.refused
                                                    : op.wrong;
      if (std::find(list.begin(), list.end(), v.input) == list.end()) list.push_back(v.input);
      if (!v.rule.empty()) op.rule = v.rule;
      if (!v.detail.empty() && v.verdict != Verdict::kZero) op.error = v.detail;
      if (verbose) {
        static const char* const kNames[] = {"checked", "zero", "kink", "refused", "WRONG"};
        std::printf("%-8s %-9s %s %s: %d compared, %d kinks%s%s\n", kNames[static_cast<int>(v.verdict)], v.rule.c_str(),
                    s.Label().c_str(), v.input.c_str(), v.compared, v.kinks, v.detail.empty() ? "" : ": ",
                    v.detail.c_str());
        std::fflush(stdout);
      }
    }
  }
  std::vector<OpVerdict> out;
  for (auto& [name, op] : ops) out.push_back(std::move(op));
  return out;
}

}  // namespace headrace::autodiff
