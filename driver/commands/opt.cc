// headrace opt: IR text (or its JSON) in, passes and single steps, IR text (or JSON) out.
#include <unistd.h>

#include "driver/commands/commands.h"
#include "driver/files.h"
#include "driver/program_json.h"
#include "ir/registry/transformation.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

struct OptFlags {
  std::string file, pipeline, out, emit;
  bool list = false, no_verify = false, ids = false, origins = false;
  std::vector<std::string> dims, apply, of;
};

int List(const Registry& r, const Common& c) {
  nlohmann::json j;
  for (const Pass* p : r.Passes()) {
    std::string options;
    for (const std::string& o : p->options) options += (options.empty() ? "{" : ", ") + o;
    const bool steps = r.FindTransformation(p->name) != nullptr;
    j["passes"].push_back({{"name", p->name}, {"options", p->options}, {"doc", p->doc}, {"steps", steps}});
    if (!c.out.json)
      printf("%s%s%s\n    %s\n", p->name.c_str(), options.empty() ? "" : (options + "}").c_str(), steps ? "  [@place]" : "",
             p->doc.c_str());
  }
  for (const Pipeline* p : r.Pipelines()) {
    j["pipelines"].push_back({{"name", p->name}, {"passes", p->text}});
    if (!c.out.json) printf("%s (pipeline)\n    %s\n", p->name.c_str(), p->text.c_str());
  }
  if (c.out.json) PrintJson(j);
  return kExitOk;
}

// Where transformations could be applied.
int ListMatches(const Registry& r, const Program& p, const OptFlags& f, const Common& c) {
  Result<std::vector<const Transformation*>> chosen = TransformationsOf(r, f.of);
  if (!chosen.ok()) return Fail(c.out, chosen.status());
  nlohmann::json j = {{"matches", nlohmann::json::array()}};
  for (const Transformation* t : *chosen) {
    Result<std::vector<Match>> matches = t->find(p, {}, r);
    if (!matches.ok()) return Fail(c.out, matches.status());
    for (const Match& m : *matches) {
      const std::string place = PlaceText(p, m);
      const std::vector<std::string> things = ThingsAt(p, m);
      j["matches"].push_back({{"transformation", t->name}, {"place", place}, {"what", things}, {"advised", m.advised}, {"note", m.note}});
      if (c.out.json) continue;
      std::string what;
      for (const std::string& thing : things) what += (what.empty() ? "" : "  +  ") + thing;
      printf("%s@%s\n    %s\n", t->name.c_str(), place.c_str(), what.c_str());
      if (!m.advised) printf("    not advised: %s\n", m.note.c_str());
    }
  }
  if (c.out.json) PrintJson(j);
  else if (j["matches"].empty()) Note(c.out, "no matching steps");
  return kExitOk;
}

Status RunAll(const Registry& r, const OptFlags& f, const PipelineOptions& o, Program* p) {
  HR_RETURN_IF_ERROR(RunPipeline(r, f.pipeline, *p, o));
  const auto renumber = [&] {
    for (size_t i = 0; i < p->sdfgs.size(); ++i) Renumber(&p->Mutable(p->sdfgs[i]->name));
  };
  if (f.ids || f.list || f.emit == "json" || !f.apply.empty()) renumber();
  for (const std::string& step : f.apply) HR_RETURN_IF_ERROR(RunPipeline(r, step, *p, o));
  if (!f.apply.empty() && !f.list) renumber();
  return {};
}

int Opt(const OptFlags& f, const CLI::App& app, const Common& c) {
  for (const char* flag : {"--pipeline", "--apply", "--dim", "--no-verify", "--of"})
    if (Status s = NoEffect(app, flag, !f.list || !f.file.empty(), "--list without FILE lists what there is, and does nothing else");
        !s.ok())
      return Fail(c.out, s);
  for (const char* flag : {"--out", "--emit", "--ids", "--origins"})
    if (Status s = NoEffect(app, flag, !f.list, "--list prints no program"); !s.ok()) return Fail(c.out, s);
  if (Status s = NoEffect(app, "--of", f.list, "it is of --list"); !s.ok()) return Fail(c.out, s);
  if (Status s = NoEffect(app, "--ids", f.emit != "json", "the JSON has them always"); !s.ok()) return Fail(c.out, s);
  Registry r;
  Status s = OpenRegistry(r, c);
  if (!s.ok()) return Fail(c.out, s);
  if (f.file.empty() && f.list) return List(r, c);
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
  s = RunAll(r, f, po, &m->model.program);
  if (!s.ok()) return Fail(c.out, s);
  if (c.out.verbosity > 0)
    for (const std::string& line : log) Note(c.out, line);
  if (f.list) return ListMatches(r, m->model.program, f, c);
  PrintOptions print;
  print.ids = f.ids;
  print.history = f.origins;
  std::string text = f.emit == "json" ? ProgramToJson(m->model.program, f.origins) : Print(m->model.program, print);
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
  app.add_option("--apply", f->apply, "NAME@PLACE: one step of a pass, after the pipeline (repeatable)")->allow_extra_args(false);
  app.add_option("--dim", f->dims, "fix a named size: N=32 (repeatable)")->allow_extra_args(false);
  app.add_option("-o,--out", f->out, "output file (default: standard output)");
  app.add_option("--emit", f->emit, "ir: text (the default); json")->check(OneOf({"ir", "json"}));
  app.add_flag("--no-verify", f->no_verify, "skip the verifier between passes");
  app.add_flag("--ids", f->ids, "number statements (#3) and blocks (#b3), for --apply");
  app.add_flag("--origins", f->origins, "say where everything came from with all passes on the way, not the last alone");
  app.add_flag("--list", f->list, "list passes and pipelines; of a FILE: the places where single steps can be taken");
  app.add_option("--of", f->of, "with FILE --list: only steps of this pass (repeatable)")->allow_extra_args(false);
  return [f, &app, &c] { return Opt(*f, app, c); };
}

}  // namespace headrace
