// headrace opt: IR text (or its JSON) in, passes, IR text (or JSON) out.
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "driver/commands/commands.h"
#include "driver/program_json.h"
#include "ir/printer.h"

namespace headrace {
namespace {

struct OptFlags {
  std::string file, pipeline, out, emit;
  bool list = false, no_verify = false;
  std::vector<std::string> dims;
};

int Opt(const OptFlags& f, const Common& c) {
  Registry r;
  Status s = OpenRegistry(r, c);
  if (!s.ok()) return Fail(c.out, s);
  if (f.list) {
    for (const Pass* p : r.Passes()) {
      std::string options;
      for (const std::string& o : p->options) options += (options.empty() ? "{" : ", ") + o;
      printf("%s%s\n    %s\n", p->name.c_str(), options.empty() ? "" : (options + "}").c_str(), p->doc.c_str());
    }
    for (const Pipeline* p : r.Pipelines()) printf("%s (pipeline)\n    %s\n", p->name.c_str(), p->text.c_str());
    return kExitOk;
  }
  if (f.file.empty())
    return Fail(c.out,
                UsageError("E0442",
                           "opt wants a FILE", "headrace opt FILE --pipeline \"simplify; fuse-maps\", or opt --list"));
  ModelFlags import;
  import.dims = f.dims;
  Result<ImportOptions> options = import.Import();
  if (!options.ok()) return Fail(c.out, options.status());
  Result<LoadedModel> m = LoadModel(r, f.file, *options);
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
  if (f.out.empty() || f.out == "-") {
    std::cout << text;
    return kExitOk;
  }
  std::ofstream out(f.out, std::ios::binary);
  out << text;
  out.close();
  return out ? kExitOk : Fail(c.out, WithFile(InvalidError("E0424", "can't write the file"), f.out));
}

}  // namespace

Runner AddOpt(CLI::App& app, Common& c) {
  auto f = std::make_shared<OptFlags>();
  app.add_option("FILE", f->file, "IR text (- for standard input) or a model");
  app.add_option("--pipeline", f->pipeline, "\"name{option=value, …}; name; …\": passes and pipelines");
  app.add_option("--dim", f->dims, "fix a named size: N=32 (repeatable)");
  app.add_option("-o,--out", f->out, "output file (default: standard output)");
  app.add_option("--emit", f->emit, "ir: text (the default); json")->check(CLI::IsMember({"ir", "json"}));
  app.add_flag("--no-verify", f->no_verify, "skip the verifier between passes");
  app.add_flag("--list", f->list, "list passes and pipelines");
  return [f, &c] { return Opt(*f, c); };
}

}  // namespace headrace
