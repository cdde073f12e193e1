// headrace check: everything that would stop the model, at once; nothing is compiled.
#include "driver/commands/commands.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

// Stages go on where an earlier one failed, as far as they can: who mends a model wants to know all of it.
Result<LoadedModel> CheckAll(const ModelFlags& f, const Registry& r, const Common& c) {
  HR_ASSIGN_OR_RETURN(ImportOptions import, f.Import());
  HR_ASSIGN_OR_RETURN(CompileRequest request, f.Compile(c));
  std::vector<Diagnostic> all;
  const auto keep = [&](const Status& s) {
    all.insert(all.end(), s.diagnostics().begin(), s.diagnostics().end());
    return s.ok();
  };
  Result<LoadedModel> m = ReadModel(r, f.model, import);
  keep(m.status());
  if (m.ok() && keep(f.CheckChoices(r, *m, c))) {
    request.pipeline = "expand-library-nodes";  // every node must have an implementation that applies
    keep(WithFile(LowerProgram(r, m->model.program, request).status(), f.model));
  }
  Result<const Backend*> backend = BackendNamed(r, f.backend);
  if (keep(backend.status()) && (*backend)->ready) keep((*backend)->ready(request.options));
  if (!all.empty()) return Status(std::move(all));
  return m;
}

int CheckModel(const ModelFlags& f, const Common& c) {
  Registry r;
  Status s = OpenRegistry(r, c);
  if (!s.ok()) return Fail(c.out, s);
  if (f.threads != 0) Note(c.out, "warning: --threads has no effect: nothing runs");
  if (f.IsArtifact()) return CheckArtifact(r, f, c);
  Result<LoadedModel> m = CheckAll(f, r, c);
  EndProgress(c.out);
  if (!m.ok()) return Fail(c.out, m.status());
  const Sdfg& entry = m->model.program.Entry();
  int64_t nodes = 0;
  for (const auto& sdfg : m->model.program.sdfgs) ForEachNode(*sdfg, [&](NodeId) { ++nodes; });
  auto signature = [&](Name n) {
    const Container& k = entry.Get(n);
    std::string t = m->model.OriginalName(n) + ": " + std::string(DTypeName(k.dtype)) + "[";
    for (size_t i = 0; i < k.shape.size(); ++i) t += (i ? ", " : "") + ToString(k.shape[i]);
    return t + "]";
  };
  nlohmann::json j;
  j["ok"] = true, j["model"] = f.model, j["kind"] = m->model.kind, j["nodes"] = nodes;
  std::string text = f.model + ": ok (" + m->model.kind + ", " + std::to_string(nodes) + " nodes)\n";
  for (Name n : Inputs(m->model.program, entry))
    j["inputs"].push_back(signature(n)), text += "  input  " + signature(n) + "\n";
  for (Name n : Outputs(m->model.program, entry))
    j["outputs"].push_back(signature(n)), text += "  output " + signature(n) + "\n";
  j["report"] = m->model.report;
  if (c.out.verbosity > 0)
    for (const std::string& line : m->model.report) text += "  " + line + "\n";
  if (c.out.json) PrintJson(j);
  else if (c.out.verbosity >= 0) printf("%s", text.c_str());
  return kExitOk;
}

}  // namespace

Runner AddCheck(CLI::App& app, Common& c) {
  auto f = std::make_shared<ModelFlags>();
  f->AddTo(app, ModelFlags::kArtifactsToo);
  return [f, &c] { return CheckModel(*f, c); };
}

}  // namespace headrace
