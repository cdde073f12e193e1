// headrace check MODEL.hrx: every file is as it was written, this machine can run it, and what it takes and gives.
#include "driver/commands/commands.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

std::string Signature(const Sdfg& entry, Name n) {
  const Container& k = entry.Get(n);
  std::string t = n.str() + ": " + std::string(DTypeName(k.dtype)) + "[";
  for (size_t i = 0; i < k.shape.size(); ++i) t += (i ? ", " : "") + ToString(k.shape[i]);
  return t + "]";
}

}  // namespace

int CheckArtifact(const Registry& r, const ModelFlags& f, const Common& c) {
  Result<Opened> opened = OpenModel(r, f, c);
  if (!opened.ok()) return Fail(c.out, opened.status());
  const Program& p = opened->model.model.program;
  const Sdfg& entry = p.Entry();
  nlohmann::json j;
  j["ok"] = true, j["model"] = f.model, j["kind"] = "artifact", j["verified"] = !f.no_verify;
  std::string text = f.model + ": ok (artifact" + (f.no_verify ? ", not verified" : "") + ")\n";
  for (Name n : Inputs(p, entry))
    j["inputs"].push_back(Signature(entry, n)), text += "  input  " + Signature(entry, n) + "\n";
  for (Name n : Outputs(p, entry))
    j["outputs"].push_back(Signature(entry, n)), text += "  output " + Signature(entry, n) + "\n";
  if (c.out.json) PrintJson(j);
  else if (c.out.verbosity >= 0) printf("%s", text.c_str());
  return kExitOk;
}

}  // namespace headrace
