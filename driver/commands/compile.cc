// headrace compile: an artifact that runs without a compiler, or the lowered program as text.
#include "driver/commands/commands.h"
#include "driver/files.h"
#include "driver/program_json.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

struct CompileFlags {
  ModelFlags model;
  std::string out, emit;
};

// The text itself, or with --json an object that holds it or says where it is.
int WriteText(const Common& c, const CompileFlags& f, const std::string& text) {
  const bool to_stdout = f.out.empty() || f.out == "-";
  if (!c.out.json || !to_stdout) {
    Status s = WriteOut(f.out, {text});
    if (!s.ok()) return Fail(c.out, s);
    if (!c.out.json) return kExitOk;
  }
  nlohmann::json j = {{"model", f.model.model}, {"emit", f.emit}};
  if (!to_stdout) j["file"] = f.out;
  else if (f.emit == "json") j["program"] = nlohmann::json::parse(text);
  else j["text"] = text;
  PrintJson(j);
  return kExitOk;
}

int Compile(const CompileFlags& f, const Common& c) {
  Registry r;
  Status s = OpenRegistry(r, c);
  if (!s.ok()) return Fail(c.out, s);
  s = f.model.WantModel(f.emit.empty() ? "compiled again" : "turned into text");
  if (!s.ok()) return Fail(c.out, s);
  if (f.model.threads != 0)
    Note(c.out, "warning: --threads has no effect: it is chosen when the program runs");
  const bool imported = f.emit == "library" || f.emit == "ir" || f.emit == "json";
  const bool lowered = f.emit == "loops" || f.emit == "scheduled" || f.emit == "lowered";
  if (!f.model.implementations.empty() && imported)
    Note(c.out, "warning: --impl has no effect on the imported program: --emit lowered shows what is chosen");
  if (!f.model.pipeline.empty() && f.emit == "loops")
    Note(c.out, "warning: --pipeline has no effect on --emit loops: it is of what is compiled, --emit scheduled");
  if (f.model.plan != "auto" && f.model.plan != "none" && imported)
    Note(c.out, "warning: --plan has no effect on the imported program: see --emit scheduled");
  if (!f.model.pipeline.empty() && imported)
    Note(c.out, "warning: --pipeline has no effect on the imported program: see --emit lowered, or `headrace opt`");
  if (!f.model.target.empty() && !f.emit.empty())
    Note(c.out, "warning: --target has no effect on text: it is of the compiled artifact");
  if (f.emit.empty() && f.out == "-")
    return Fail(c.out, UsageError("E0461", "an artifact is a folder: it can't be written to standard output"));
  if (f.emit.empty() && f.out.empty())
    return Fail(c.out, UsageError("E0437", "nothing to make", "give -o OUT.hrx, or --emit library|loops|scheduled|cpp"));
  if (imported || lowered) {
    Result<ImportOptions> import = f.model.Import();
    if (!import.ok()) return Fail(c.out, import.status());
    Result<LoadedModel> m = ReadModel(r, f.model.model, *import);
    if (!m.ok()) return Fail(c.out, m.status());
    s = BackendNamed(r, f.model.backend).status();
    if (s.ok()) s = f.model.CheckChoices(r, *m, c);
    if (!s.ok()) return Fail(c.out, s);
    Program p = m->model.program;
    if (lowered) {
      Result<CompileRequest> request = f.model.Compile(c);
      if (!request.ok()) return Fail(c.out, request.status());
      s = f.model.UsePlan(r, p, c, &*request);
      if (!s.ok()) return Fail(c.out, s);
      if (f.emit == "loops") request->pipeline = "loops", request->plan.kernels.clear();
      Result<Program> made = LowerProgram(r, p, *request);
      if (!made.ok()) return Fail(c.out, made.status());
      p = *made;
    }
    PrintOptions with;
    with.reasons = true;
    return WriteText(c, f, f.emit == "json" ? ProgramToJson(p) : Print(p, with));
  }
  Result<Opened> opened = OpenModel(r, f.model, c);
  if (!opened.ok()) return Fail(c.out, opened.status());
  if (f.emit == "cpp") return WriteText(c, f, opened->executable->Source());
  s = opened->executable->Save(f.out);
  if (!s.ok()) return Fail(c.out, WithFile(s, f.out));
  if (c.out.json)
    PrintJson({{"model", f.model.model},
               {"backend", f.model.backend},
               {"artifact", f.out},
               {"load_seconds", opened->load_seconds},
               {"compile_seconds", opened->compile_seconds}});
  else Note(c.out, "wrote " + f.out);
  return kExitOk;
}

}  // namespace

Runner AddCompile(CLI::App& app, Common& c) {
  auto f = std::make_shared<CompileFlags>();
  f->model.AddTo(app, ModelFlags::kModels);
  f->model.AddPipelineTo(app);
  f->model.AddPlanTo(app);
  app.add_option("-o,--out", f->out, "OUT.hrx, or the file for --emit (default: standard output)");
  app.add_option("--emit", f->emit,
                 "library, json: the imported program; loops: expanded and fused; scheduled: kernels, what the backend gets; cpp: code")
      ->check(OneOf({"library", "ir", "json", "loops", "scheduled", "lowered", "cpp"}));
  app.add_option("--target", f->model.target,
                 "instructions that the code may use: native (this machine's, the default), x86-64-v2, -v3 or -v4");
  return [f, &c] { return Compile(*f, c); };
}

}  // namespace headrace
