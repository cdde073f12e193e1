#include "driver/samples/implementations.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "driver/compile.h"

namespace headrace {
namespace {

double Tolerance(DType t) {
  switch (t) {
    case DType::kF16: return 4e-3;
    case DType::kBF16: return 3e-2;
    case DType::kF64:
    case DType::kC128: return 1e-12;
    case DType::kF32:
    case DType::kC64: return 2e-5;
    default: return 0;
  }
}

// "" or the first difference. The largest value of a result decides how near is near: a sum may cancel.
std::string Near(const std::vector<Value>& got, const std::vector<Value>& expected, double factor,
                 bool single = false) {
  if (got.size() != expected.size()) return "another number of outputs";
  for (size_t k = 0; k < got.size(); ++k) {
    const std::string what = "output " + std::to_string(k) + ": ";
    if (got[k].kind != expected[k].kind) return what + "another kind";
    if (got[k].kind != Value::kTensor) continue;
    const Tensor& e = expected[k].tensor;
    double largest = IsComplex(e.dtype) ? 1 : 0;
    if (IsFloat(e.dtype))
      for (int64_t i = 0; i < e.elements(); ++i)
        if (double v = std::abs(e.GetDouble(i)); std::isfinite(v)) largest = std::max(largest, v);
    double t = factor * std::max({Tolerance(got[k].tensor.dtype), Tolerance(e.dtype),
                                  single && IsFloat(e.dtype) ? Tolerance(DType::kF32) : 0});
    Value a = got[k];
    if (got[k].tensor.dtype != e.dtype && IsFloat(e.dtype)) {
      a.tensor = *Tensor::Create(e.dtype, got[k].tensor.shape);
      for (int64_t i = 0; i < a.tensor.elements(); ++i) a.tensor.SetDouble(i, got[k].tensor.GetDouble(i));
    }
    Difference d = Compare(a, expected[k], t, t * std::min(largest, 1.0));
    if (!d.ok) return what + d.where + "; max |difference| " + std::to_string(d.max_abs);
  }
  return "";
}

// The library node of a sample's program; none where the importer sees through the op: Identity.
const Library* NodeOf(const Program& p, const OpSample& s, NodeId* id) {
  const Sdfg& sdfg = p.Entry();
  for (uint32_t i = 0; i < sdfg.nodes.size(); ++i)
    if (const auto* l = std::get_if<Library>(&sdfg.nodes[NodeId{i}].body))
      if (l->op.view() == s.definition->name) return *id = NodeId{i}, l;
  return nullptr;
}

class Ways {
 public:
  Ways(const Registry& r, const OpSample& s, const WaysOptions& o) : r_(r), s_(s), o_(o), values_(SampleValues(s)) {}

  std::vector<WayOfComputing> Check() {
    Result<Program> program = SampleProgram(r_, s_, o_.folder);
    if (!program.ok()) return {{"pure", o_.backends.front(), WayOfComputing::kWrong, program.status().ToString()}};
    program_ = std::move(*program);
    node_ = NodeOf(program_, s_, &id_);
    // A form can't say how many elements it finds.
    pure_ = node_ && !node_->defines.empty() ? "" : "pure";
    Result<std::vector<Value>> reference = Run(program_, values_, o_.backends.front(), pure_);
    if (!reference.ok()) {
      Add("pure", o_.backends.front(), WayOfComputing::kWrong, reference.status().ToString());
      return std::move(found_);
    }
    reference_ = std::move(*reference);
    Add("pure", o_.backends.front(), WayOfComputing::kReference, "");
    for (size_t b = 1; b < o_.backends.size(); ++b)
      Compared("pure", o_.backends[b], Run(program_, values_, o_.backends[b], pure_), 1);
    if (!node_) return std::move(found_);
    Others();
    AgainstDouble();
    return std::move(found_);
  }

 private:
  void Add(const std::string& implementation, const std::string& backend, WayOfComputing::Verdict v, std::string detail) {
    found_.push_back({implementation, backend, v, std::move(detail)});
  }
  void Compared(const std::string& implementation, const std::string& backend, const Result<std::vector<Value>>& got,
                double factor, bool single = false) {
    std::string detail = got.ok() ? Near(*got, reference_, factor, single) : got.status().ToString();
    const bool agrees = got.ok() && detail.empty();
    Add(implementation, backend, agrees ? WayOfComputing::kAgrees : WayOfComputing::kWrong, std::move(detail));
  }
  Result<std::vector<Value>> Run(const Program& p, const NamedValues& values, const std::string& backend,
                                 const std::string& implementation) const {
    CompileRequest request;
    request.backend = backend;
    request.options.threads = 2;
    request.options.cache_dir = o_.folder + "/cache";
    if (!implementation.empty()) request.options.implementations = {{"*", implementation}};
    HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> e, CompileProgram(r_, p, request));
    return e->Run(values);
  }
  // They may overflow where the result would not: then they agree in f64.
  Result<std::vector<Value>> RunWide(const std::string& backend, const std::string& implementation) const {
    HR_ASSIGN_OR_RETURN(Program wide, InDouble(program_));
    HR_ASSIGN_OR_RETURN(NamedValues values, InDouble(values_));
    return Run(wide, values, backend, implementation);
  }

  void Others() {
    Result<NodeView> view = ViewOf(r_, program_, program_.Entry(), id_);
    if (!view.ok()) return Add("pure", "", WayOfComputing::kWrong, view.status().ToString());
    std::set<std::string> seen = {"pure"};
    const int version = s_.signature->since_version;
    for (const ForwardImplementation* i : r_.Implementations(s_.definition->domain, s_.definition->name)) {
      if (version < i->since_version || version > i->until_version || !seen.insert(i->name).second) continue;
      const std::string why_not = i->can_be_applied ? i->can_be_applied(*view) : "";
      if (!why_not.empty()) Add(i->name, "", WayOfComputing::kNotApplicable, why_not);
      else if (IsRandom(*s_.signature)) Add(i->name, "", WayOfComputing::kUnchecked, "each implementation draws numbers of its own");
      else Other(i->name);
    }
  }
  void Other(const std::string& name) {
    const bool body = name == "function";  // ONNX's own, often in f32 throughout
    for (const std::string& backend : o_.backends) {
      if (backend != o_.backends.front() && !o_.every_implementation_on_every_backend) continue;
      Result<std::vector<Value>> got = Run(program_, values_, backend, name);
      if (body && got.ok() && !Near(*got, reference_, 2, true).empty()) got = RunWide(backend, name);
      Compared(name, backend, got, 2, body);
    }
  }
  // The pure form in its own types against the same in f64.
  void AgainstDouble() {
    bool floats = !values_.empty();
    for (const Value& v : reference_) floats &= v.kind == Value::kTensor && IsFloat(v.tensor.dtype) && Tolerance(v.tensor.dtype) > 0;
    if (!floats) return;
    Result<std::vector<Value>> exact = RunWide(o_.backends.front(), pure_);
    const std::string detail = exact.ok() ? Near(reference_, *exact, 1) : exact.status().ToString();
    Add("pure in f64", o_.backends.front(), detail.empty() ? WayOfComputing::kAgrees : WayOfComputing::kWrong, detail);
  }

  const Registry& r_;
  const OpSample& s_;
  const WaysOptions& o_;
  const NamedValues values_;
  Program program_;
  const Library* node_ = nullptr;
  NodeId id_;
  std::string pure_;
  std::vector<Value> reference_;
  std::vector<WayOfComputing> found_;
};

}  // namespace

bool IsRandom(const OpSignature& s) {
  return std::any_of(s.attributes.begin(), s.attributes.end(),
                     [](const AttributeSignature& a) { return a.name == "seed"; });
}

std::vector<WayOfComputing> CheckWays(const Registry& r, const OpSample& s, const WaysOptions& o) {
  return Ways(r, s, o).Check();
}

}  // namespace headrace
