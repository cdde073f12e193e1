#include "driver/commands/verify.h"

#include "driver/peer.h"

namespace headrace {
namespace {

// A few units of the type, more where much is summed.
std::pair<double, double> ToleranceOf(DType t) {
  switch (t) {
    case DType::kF64:
    case DType::kC128: return {1e-9, 1e-12};
    case DType::kF32:
    case DType::kC64: return {1e-3, 1e-5};
    case DType::kF16: return {1e-2, 1e-3};
    case DType::kBF16: return {5e-2, 1e-2};
    default: return IsFloat(t) ? std::make_pair(0.25, 0.05) : std::make_pair(0.0, 0.0);  // fewer bits than that
  }
}

DType TypeOf(const Value& v) {
  if (v.kind == Value::kTensor) return v.tensor.dtype;
  return v.items.empty() ? DType::kNone : TypeOf(v.items[0]);
}

}  // namespace

std::pair<double, double> UsualTolerance(const Value& v) { return ToleranceOf(TypeOf(v)); }

Result<std::vector<std::pair<std::string, Tensor>>> PeerInputs(const ModelFlags& f, const LoadedModel& m,
                                                               const NamedValues& inputs, const std::string& runtime) {
  if (m.from_text || f.model == "-" || f.IsArtifact())
    return UsageError("E0466", runtime + " reads ONNX files only",
                      m.from_text ? "--verify=interpreter works for IR text" : "give the model's file");
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& [name, v] : inputs) {
    const std::string original = m.model.OriginalName(name);
    if (v.kind != Value::kTensor)
      return UnsupportedError("E0466", "input '" + original + "' is no tensor: it can't be given to " + runtime);
    out.emplace_back(original, v.tensor);
  }
  return out;
}

Result<std::vector<Value>> OutputsOf(const std::string& runtime, const Registry& r, const ModelFlags& f,
                                     const LoadedModel& m, const NamedValues& inputs, const NamedSizes& symbols,
                                     const Common& c) {
  if (runtime == "interpreter") {
    if (f.IsArtifact())
      return UsageError("E0466", "an artifact holds compiled code: there is nothing to interpret",
                        "run --verify on the model it was compiled from");
    if (f.backend == "interpreter") return UsageError("E0461", "--verify would compare the interpreter with itself");
    HR_ASSIGN_OR_RETURN(CompileRequest request, f.Compile(c));
    request.backend = "interpreter", request.pipeline.clear();
    request.options.implementations = {{"*", "pure"}};
    HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> other, CompileProgram(r, m.model.program, request));
    EndProgress(c.out);
    return other->Run(inputs, symbols);
  }
  HR_ASSIGN_OR_RETURN(auto given, PeerInputs(f, m, inputs, runtime));
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Peer> peer, Peer::Start({runtime, f.model, std::move(given), f.threads}));
  return peer->Outputs();
}

bool Judge(const std::vector<std::string>& names, const std::vector<Value>& got, const std::vector<Value>& expected,
           const Tolerances& t, const Common& c, nlohmann::json* j) {
  bool all = true;
  for (size_t i = 0; i < expected.size() && i < got.size(); ++i) {
    const auto [relative, absolute] = UsualTolerance(expected[i]);
    const double rtol = t.relative.value_or(relative), atol = t.absolute.value_or(absolute);
    const Difference d = Compare(got[i], expected[i], rtol, atol);
    all &= d.ok;
    nlohmann::json& item = (*j)[i];
    item["ok"] = d.ok, item["max_abs"] = d.max_abs, item["max_rel"] = d.max_rel;
    item["rtol"] = rtol, item["atol"] = atol;
    if (!d.where.empty()) item["first_difference"] = d.where;
    if (!c.out.json && (c.out.verbosity >= 0 || !d.ok))
      printf("%s: %s, max |difference| %.3g, relative %.3g%s\n", names[i].c_str(), d.ok ? "ok" : "MISMATCH", d.max_abs,
             d.max_rel, d.where.empty() ? "" : ("; first at " + d.where).c_str());
  }
  return all;
}

}  // namespace headrace
