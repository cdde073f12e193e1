// headrace compile: an artifact that runs without a compiler, or the lowered program as text.
#include <fstream>
#include <iostream>

#include "driver/commands/commands.h"
#include "driver/program_json.h"
#include "ir/printer.h"

namespace headrace {
namespace {

struct CompileFlags {
  ModelFlags model;
  std::string out, emit;
};

int WriteText(const Common& c, const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    std::cout << text;
    return kExitOk;
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return Fail(c.out, WithFile(InvalidError("E0424", "can't write the file"), path));
  return kExitOk;
}

int Compile(const CompileFlags& f, const Common& c) {
  Registry r;
  Status s = OpenRegistry(r, c);
  if (!s.ok()) return Fail(c.out, s);
  if (f.emit.empty() && f.out.empty())
    return Fail(c.out, UsageError("E0437", "nothing to make", "give -o OUT.hrx, or --emit ir|json|lowered|cpp"));
  if (f.emit == "ir" || f.emit == "json" || f.emit == "lowered") {
    Result<ImportOptions> import = f.model.Import();
    if (!import.ok()) return Fail(c.out, import.status());
    Result<LoadedModel> m = LoadModel(r, f.model.model, *import);
    if (!m.ok()) return Fail(c.out, m.status());
    Program p = m->model.program;
    if (f.emit == "lowered") {
      Result<CompileRequest> request = f.model.Compile(c);
      if (!request.ok()) return Fail(c.out, request.status());
      Result<Program> lowered = LowerProgram(r, p, *request);
      if (!lowered.ok()) return Fail(c.out, lowered.status());
      p = *lowered;
    }
    return WriteText(c, f.out, f.emit == "json" ? ProgramToJson(p) : Print(p));
  }
  Result<Opened> opened = OpenModel(r, f.model, c);
  if (!opened.ok()) return Fail(c.out, opened.status());
  if (f.emit == "cpp") return WriteText(c, f.out, opened->executable->Source());
  s = opened->executable->Save(f.out);
  if (!s.ok()) return Fail(c.out, WithFile(s, f.out));
  Note(c.out, "wrote " + f.out);
  return kExitOk;
}

}  // namespace

Runner AddCompile(CLI::App& app, Common& c) {
  auto f = std::make_shared<CompileFlags>();
  f->model.AddTo(app);
  f->model.AddPipelineTo(app);
  app.add_option("-o,--out", f->out, "OUT.hrx, or the file for --emit (default: standard output)");
  app.add_option("--emit", f->emit,
                 "ir, json: the imported program; lowered: what the backend gets; cpp: generated code")
      ->check(CLI::IsMember({"ir", "json", "lowered", "cpp"}));
  return [f, &c] { return Compile(*f, c); };
}

}  // namespace headrace
