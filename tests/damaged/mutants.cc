// Models with random damage, each in a process of its own: checked, and where still whole run, differentiated and trained on
// the interpreter. A crash, a hang, an internal error, or a check of more than two seconds or 500 MB fails the test.
// write_mutants.py makes them.
//
// mutants --cases MUTANTS.tar [--only NAME] [--jobs N] [--list] [--backend B] [--step run|grad|train]…
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <set>

#include "driver/compile.h"
#include "driver/parameters.h"
#include "driver/plugin_path.h"
#include "ir/registry/differentiator.h"
#include "tests/onnx_node/forked.h"
#include "training/step.h"

namespace headrace {
namespace {

constexpr double kSeconds = 2;
constexpr int64_t kBytes = 500 << 20;
const char kRunning[] = "running\n";  // the last thing that a case says before it makes inputs and runs a program
// Instrumented code takes its multiple of time and memory; there only the sanitizers' reports count.
const bool kInstrumented = getenv("ASAN_OPTIONS") != nullptr;

struct Use {
  double seconds = 0;
  int64_t bytes = 0;
};
Use Used() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
  return {seconds(u.ru_utime) + seconds(u.ru_stime), u.ru_maxrss * 1024};
}

// A verdict is one line: BAD …, refused …, ran, and the stage a process died in is the last it said.
void Refused(const Status& s, const Say& say) {
  bool bad = false;
  for (const Diagnostic& d : s.diagnostics()) bad = bad || d.kind == ErrorKind::kInternal || d.message.empty();
  say((bad ? "BAD: " : "refused: ") + s.ToString() + "\n");
}

// Compiled and run with random inputs.
Status RunOnce(const Registry& r, const Program& p, const CompileRequest& request, const Say& say) {
  NamedValues values;
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> compiled, CompileProgram(r, p, request));
  say(kRunning);
  HR_RETURN_IF_ERROR(FillInputs(p, 0, {}, values, nullptr));
  return compiled->Run(values).status();
}

// The first float output by everything that it can be differentiated by.
Status Grad(const Registry& r, ImportedModel m, bool from_text, const CompileRequest& request, const Say& say) {
  std::vector<Name> outputs, inputs;
  for (Name n : Outputs(m.program, m.program.Entry()))
    if (outputs.empty() && IsFloat(m.program.Entry().Get(n).dtype)) outputs.push_back(n);
  for (const Parameter& q : Differentiable(m, from_text)) {
    if (q.constant && !GradientCanFlow(r, m.program, q.container)) continue;
    inputs.push_back(q.container);
    if (q.constant) HR_RETURN_IF_ERROR(MakeInput(r, m.program, q).status());
  }
  if (outputs.empty() || inputs.empty()) return UnsupportedError("nothing to differentiate");
  GradientOptions options;
  options.keep_outputs = false;
  HR_ASSIGN_OR_RETURN(BackwardPrograms g, Differentiate(m.program, outputs, inputs, options, r));
  return RunOnce(r, g.program, request, say);
}

Status Train(const Registry& r, const ImportedModel& m, const CompileRequest& request, const Say& say) {
  training::StepSpec spec;
  spec.optimizer = "adam";
  std::string output;
  for (Name n : Outputs(m.program, m.program.Entry()))
    if (output.empty() && IsFloat(m.program.Entry().Get(n).dtype)) output = ":" + m.OriginalName(n);
  for (const char* loss : {"mse", "cross_entropy"}) {
    spec.loss = loss + output;
    Result<training::StepProgram> step = training::BuildStep(m, spec, r);
    Status s = step.ok() ? RunOnce(r, step->program, request, say) : step.status();
    if (!s.ok()) return s;
  }
  return {};
}

void RunMutant(const Registry& r, const std::string& path, const std::set<std::string>& steps,
               const std::string& backend, const Say& say) {
  auto verdict = [&](const Status& s, const std::string& done) { s.ok() ? say(done + "\n") : Refused(s, say); };
  say("check\n");
  Result<LoadedModel> m = LoadModel(r, path);
  CompileRequest request;
  request.backend = backend;
  request.options.threads = 1;
  Status refused = m.ok() ? Status() : m.status();
  if (m.ok()) {
    request.pipeline = "expand-library-nodes";
    refused = LowerProgram(r, m->model.program, request).status();
  }
  const Use use = Used();
  if (!kInstrumented && (use.seconds > kSeconds || use.bytes > kBytes))
    say("BAD: the check took " + std::to_string(use.seconds) + " s and " + std::to_string(use.bytes >> 20) + " MB\n");
  if (!refused.ok()) return Refused(refused, say);
  request.pipeline.clear();
  if (steps.count("run")) {
    say("run\n");
    verdict(RunOnce(r, m->model.program, request, say), "ran");
  }
  ImportOptions whole;
  whole.simplify = false;  // initializers stay themselves
  m = LoadModel(r, path, whole);
  if (!m.ok()) return Refused(m.status(), say);
  if (steps.count("grad")) {
    say("grad\n");
    verdict(Grad(r, m->model, m->from_text, request, say), "differentiated");
  }
  if (steps.count("train")) {
    say("train\n");
    verdict(Train(r, m->model, request, say), "trained");
  }
}

int Main(int argc, char** argv) {
  std::string cases_file, backend = "interpreter", only;
  std::set<std::string> steps;
  ForkLimits limits;
  limits.seconds = 60, limits.cpu_seconds = kInstrumented ? 40 : 8, limits.bytes = 4ll << 30;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    auto next = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (a == "--cases") cases_file = next();
    else if (a == "--backend") backend = next();
    else if (a == "--only") only = next();
    else if (a == "--jobs") limits.jobs = std::stoi(next());
    else if (a == "--list") list = true;
    else if (a == "--step") steps.insert(next());
    else return fprintf(stderr, "mutants: unknown flag %s\n", a.c_str()), 2;
  }
  if (steps.empty()) steps = {"run", "grad", "train"};
  const char* tmp = getenv("TEST_TMPDIR");
  const std::string folder = (tmp ? std::string(tmp) : std::string("/tmp")) + "/mutants_" + std::to_string(getpid());
  mkdir(folder.c_str(), 0777);
  Registry registry;
  Status s = LoadPlugins(registry, PluginPath());
  if (!s.ok() || !registry.FindImporter("onnx") || !registry.FindBackend(backend)) {
    std::cerr << "mutants: plugins are missing\n" << s.ToString() << "\n";
    return 2;
  }
  std::vector<CaseFiles> cases;
  for (CaseFiles& c : ReadCases(cases_file))
    if (only.empty() || c.name == only) cases.push_back(std::move(c));
  if (cases.empty()) return fprintf(stderr, "mutants: no cases\n"), 2;
  std::vector<Ended> ends = RunForked(cases.size(), limits, [&](size_t i, const Say& say) {
    RunMutant(registry, Unpack(cases[i], folder) + "/" + cases[i].files.begin()->first, steps, backend, say);
  });
  std::map<std::string, int> counts;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Ended& e = ends[i];
    const bool running =
        e.said.size() >= strlen(kRunning) && e.said.rfind(kRunning) == e.said.size() - strlen(kRunning);
    // A whole model may well ask for hours of work; a check may not.
    const std::string verdict = e.said.find("BAD: ") != std::string::npos     ? "BAD"
                                : e.how == Ended::kCrashed                    ? "CRASH"
                                : e.how == Ended::kLate                       ? (running ? "long run" : "HANG")
                                : e.said.find("\nran\n") != std::string::npos ? "ran"
                                                                              : "refused";
    ++counts[verdict];
    const bool bad = verdict == "BAD" || verdict == "CRASH" || verdict == "HANG";
    if (bad || list)
      printf("%s: %s (%.2f s) %s\n%s", cases[i].name.c_str(), verdict.c_str(), e.seconds, e.signal.c_str(),
             e.said.substr(0, 1500).c_str());
  }
  printf("%zu mutants:", cases.size());
  for (const auto& [verdict, n] : counts) printf(" %d %s", n, verdict.c_str());
  printf("\n");
  return counts["BAD"] + counts["CRASH"] + counts["HANG"] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) { return headrace::Main(argc, argv); }
