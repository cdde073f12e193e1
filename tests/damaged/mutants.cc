// Models with random damage, each in a process of its own: checked, and run on the interpreter where still whole. A crash,
// a hang, an internal error, or a check of more than two seconds or 500 MB fails the test. write_mutants.py makes them.
//
// mutants --cases MUTANTS.tar [--only NAME] [--jobs N] [--list] [--backend B]
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <map>

#include "driver/compile.h"
#include "tests/onnx_node/forked.h"

namespace headrace {
namespace {

constexpr double kSeconds = 2;
constexpr int64_t kBytes = 500 << 20;
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

void RunMutant(const Registry& r, const std::string& path, const std::string& backend, const Say& say) {
  say("check\n");
  Result<LoadedModel> m = LoadModel(r, path);
  CompileRequest request;
  request.backend = backend;
  request.options.threads = 1;
  Status refused = m.ok() ? Status() : m.status();
  if (m.ok()) {
    request.pipeline = "expand-library-nodes";
    Result<Program> lowered = LowerProgram(r, m->model.program, request);
    if (!lowered.ok()) refused = lowered.status();
  }
  const Use use = Used();
  if (!kInstrumented && (use.seconds > kSeconds || use.bytes > kBytes))
    say("BAD: the check took " + std::to_string(use.seconds) + " s and " + std::to_string(use.bytes >> 20) + " MB\n");
  if (!refused.ok()) return Refused(refused, say);
  say("run\n");
  request.pipeline.clear();
  NamedValues values;
  Status filled = FillInputs(m->model.program, 0, {}, values, nullptr);
  if (!filled.ok()) return Refused(filled, say);
  Result<std::unique_ptr<Executable>> compiled = CompileProgram(r, m->model.program, request);
  if (!compiled.ok()) return Refused(compiled.status(), say);
  Result<std::vector<Value>> got = (*compiled)->Run(values);
  if (!got.ok()) return Refused(got.status(), say);
  say("ran\n");
}

int Main(int argc, char** argv) {
  std::string cases_file, backend = "interpreter", only;
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
    else return fprintf(stderr, "mutants: unknown flag %s\n", a.c_str()), 2;
  }
  const char* tmp = getenv("TEST_TMPDIR");
  const std::string folder = (tmp ? std::string(tmp) : std::string("/tmp")) + "/mutants_" + std::to_string(getpid());
  mkdir(folder.c_str(), 0777);
  Registry registry;
  Status s = LoadPlugins(registry);
  if (!s.ok() || !registry.FindImporter("onnx") || !registry.FindBackend(backend)) {
    std::cerr << "mutants: plugins are missing\n" << s.ToString() << "\n";
    return 2;
  }
  std::vector<CaseFiles> cases;
  for (CaseFiles& c : ReadCases(cases_file))
    if (only.empty() || c.name == only) cases.push_back(std::move(c));
  if (cases.empty()) return fprintf(stderr, "mutants: no cases\n"), 2;
  std::vector<Ended> ends = RunForked(cases.size(), limits, [&](size_t i, const Say& say) {
    RunMutant(registry, Unpack(cases[i], folder) + "/" + cases[i].files.begin()->first, backend, say);
  });
  std::map<std::string, int> counts;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Ended& e = ends[i];
    const bool running = e.said.find("run\n") != std::string::npos;
    // A whole model may well ask for hours of work; a check may not.
    const std::string verdict = e.said.find("BAD: ") != std::string::npos       ? "BAD"
                                : e.how == Ended::kCrashed                      ? "CRASH"
                                : e.how == Ended::kLate                         ? (running ? "long run" : "HANG")
                                : e.said.find("refused: ") != std::string::npos ? "refused"
                                                                                : "ran";
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
