// headrace check: everything that would stop the model, at once; nothing is compiled.
#include "driver/commands/commands.h"
#include "ir/printer.h"

namespace headrace {
namespace {

int Check(const ModelFlags& f, const Common& c) {
  Registry r;
  Status s = OpenRegistry(r, c);
  if (!s.ok()) return Fail(c.out, s);
  Result<ImportOptions> import = f.Import();
  if (!import.ok()) return Fail(c.out, import.status());
  Result<LoadedModel> m = LoadModel(r, f.model, *import);
  if (!m.ok()) return Fail(c.out, m.status());
  Result<CompileRequest> request = f.Compile(c);
  if (!request.ok()) return Fail(c.out, request.status());
  request->pipeline = "expand-library-nodes";  // every node must have an implementation that applies
  Result<Program> lowered = LowerProgram(r, m->model.program, *request);
  if (!lowered.ok()) return Fail(c.out, WithFile(lowered.status(), f.model));
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
  if (c.out.verbosity > 0)
    for (const std::string& line : m->model.report) text += "  " + line + "\n";
  if (c.out.json) PrintJson(j);
  else if (c.out.verbosity >= 0) printf("%s", text.c_str());
  return kExitOk;
}

}  // namespace

Runner AddCheck(CLI::App& app, Common& c) {
  auto f = std::make_shared<ModelFlags>();
  f->AddTo(app);
  return [f, &c] { return Check(*f, c); };
}

}  // namespace headrace
