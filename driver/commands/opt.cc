// headrace opt: IR text (or its JSON) in, passes, IR text (or JSON) out.
#include <unistd.h>

#include "driver/commands/commands.h"
#include "driver/files.h"
#include "driver/program_json.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

struct OptFlags {
  std::string file, pipeline, out, emit;
  bool list = false, no_verify = false;
  std::vector<std::string> dims;
};

int List(const Registry& r, const Common& c) {
  nlohmann::json j;
  for (const Pass* p : r.Passes()) {
    std::string options;
    for (const std::string& o : p->options) options += (options.empty() ? "{" : ", ") + o;
    j["passes"].push_back({{"name", p->name}, {"options", p->options}, {"doc", p->doc}});
    if (!c.out.json)
      printf("%s%s\n    %s\n", p->name.c_str(), options.empty() ? "" : (options + "}").c_str(), p->doc.c_str());
  }
  for (const Pipeline* p : r.Pipelines()) {
    j["pipelines"].push_back({{"name", p->name}, {"passes", p->text}});
    if (!c.out.json) printf("%s (pipeline)\n    %s\n", p->name.c_str(), p->text.c_str());
  }
  if (c.out.json) PrintJson(j);
  return kExitOk;
}

int Opt(const OptFlags& f, const CLI::App& app, const Common& c) {
  for (const char* flag : {"FILE", "--pipeline", "--dim", "--out", "--emit", "--no-verify"})
    if (Status s = NoEffect(app, flag, !f.list, "--list lists what there is, and does nothing else"); !s.ok())
      return Fail(c.out, s);
  Registry r;
  Status s = OpenRegistry(r, c);
  if (!s.ok()) return Fail(c.out, s);
  if (f.list) return List(r, c);
  if (f.file.empty())
    return Fail(c.out,
                UsageError("E0442", "opt wants a FILE", "headrace opt FILE --pipeline \"simplify; fuse-maps\", or opt --list"));
  ModelFlags import;
  import.dims = f.dims;
  Result<ImportOptions> options = import.Import();
  if (!options.ok()) return Fail(c.out, options.status());
  Result<LoadedModel> m = ReadModel(r, f.file, *options);
  if (!m.ok()) return Fail(c.out, m.status());
  std::vector<std::string> log;
  PipelineOptions po;
  po.verify = !f.no_verify;
  po.log = &log;
  po.reproducer_dir = "/tmp/headrace-reproducer-" + std::to_string(getpid());
  s = RunPipeline(r, f.pipeline, m->model.program, po);
  if (!s.ok()) return Fail(c.out, s);
  if (c.out.verbosity > 0)
    for (const std::string& line : log) Note(c.out, line);
  std::string text = f.emit == "json" ? ProgramToJson(m->model.program) : Print(m->model.program);
  const bool to_stdout = f.out.empty() || f.out == "-";
  if (!c.out.json || !to_stdout) {
    s = WriteOut(f.out, {text});
    if (!s.ok()) return Fail(c.out, s);
    if (!c.out.json) return kExitOk;
  }
  nlohmann::json j = {{"pipeline", f.pipeline}, {"log", log}};
  if (!to_stdout) j["file"] = f.out;
  else if (f.emit == "json") j["program"] = nlohmann::json::parse(text);
  else j["text"] = text;
  PrintJson(j);
  return kExitOk;
}

}  // namespace

Runner AddOpt(CLI::App& app, Common& c) {
  auto f = std::make_shared<OptFlags>();
  app.add_option("FILE", f->file, "IR text or a model; - is standard input");
  app.add_option("--pipeline", f->pipeline, "\"name{option=value, …}; name; …\": passes and pipelines");
  app.add_option("--dim", f->dims, "fix a named size: N=32 (repeatable)")->allow_extra_args(false);
  app.add_option("-o,--out", f->out, "output file (default: standard output)");
  app.add_option("--emit", f->emit, "ir: text (the default); json")->check(OneOf({"ir", "json"}));
  app.add_flag("--no-verify", f->no_verify, "skip the verifier between passes");
  app.add_flag("--list", f->list, "list passes and pipelines");
  return [f, &app, &c] { return Opt(*f, app, c); };
}

}  // namespace headrace
