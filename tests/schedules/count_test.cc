// How many distinct kernels have no schedule, and how many have plain loops in place of one that was refused, and why: over the official
// node cases and networks, the gradients of both, random programs and those of values_test. The numbers only fall: what has a schedule
// once doesn't lose it.
//
// count_test [--refused MOST] [--cases CASES.tar MOST] [--gradients MOST] [--random PROGRAMS MOST] [--list]
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "driver/compile.h"
#include "driver/plugin_path.h"
#include "driver/samples/samples.h"
#include "ir/registry/differentiator.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "tests/onnx_node/forked.h"
#include "tests/random_programs/generator.h"
#include "tests/schedules/programs.h"

namespace headrace::testing {
namespace {

// Names are no reason of their own.
std::string WithoutNames(const std::string& why) {
  std::string out;
  bool inside = false;
  for (char c : why) {
    if (c == '\'') inside = !inside, out += inside ? "'…" : "'";
    else if (!inside) out += c;
  }
  return out;
}

class Counter {
 public:
  explicit Counter(const Registry& r) : r_(r) {}

  void Add(const std::string& from, const Program& p) {
    CompileRequest request;
    const Result<Program> lowered = LowerProgram(r_, p, request);
    if (!lowered.ok()) return;  // what can't be compiled is other tests' subject
    ++programs_;
    for (const auto& s : lowered->sdfgs) {
      if (!s->kernel) {
        Statements(from, *s);
        continue;
      }
      const bool without = s->device.empty();
      scheduled_ += !without;
      if (without || !s->unscheduled.empty()) Count(without ? &without_ : &refused_, from, WithoutNames(s->unscheduled), Print(*s));
    }
  }

  // Prints the table; whether there are at most so many without a schedule, and so many whose schedule was refused.
  bool Finish(const std::string& what, int64_t most, int64_t most_refused, bool list) {
    std::printf("%s: %lld programs, %lld kernels with a schedule, %lld without (at most %lld)\n", what.c_str(),
                static_cast<long long>(programs_), static_cast<long long>(scheduled_), static_cast<long long>(Sum(without_)),
                static_cast<long long>(most));
    PrintReasons(without_, list);
    std::printf(" plain loops in place of a refused schedule: %lld (at most %lld)\n", static_cast<long long>(Sum(refused_)),
                static_cast<long long>(most_refused));
    PrintReasons(refused_, list);
    std::fflush(stdout);
    const bool fine = Sum(without_) <= most && Sum(refused_) <= most_refused;
    without_.clear(), refused_.clear();
    programs_ = scheduled_ = 0;
    return fine;
  }

 private:
  struct Reason {
    int64_t kernels = 0;
    std::string first, text;
  };
  using Reasons = std::map<std::string, Reason>;

  static int64_t Sum(const Reasons& reasons) {
    int64_t sum = 0;
    for (const auto& [why, of] : reasons) sum += of.kernels;
    return sum;
  }
  static void PrintReasons(const Reasons& reasons, bool list) {
    for (const auto& [why, of] : reasons) {
      std::printf("  %5lld  %s (%s)\n", static_cast<long long>(of.kernels), why.c_str(), of.first.c_str());
      if (list) std::printf("%s\n", of.text.c_str());
    }
  }
  static void Count(Reasons* reasons, const std::string& from, const std::string& why, const std::string& text) {
    Reason& r = (*reasons)[why];
    if (r.kernels++ == 0) r.first = from;
    if (static_cast<int64_t>(r.text.size()) < kMostText) r.text += "# " + from + "\n" + text;
  }
  // Those that no kernel was made of.
  void Statements(const std::string& from, const Sdfg& s) {
    ForEachNode(
        s,
        [&](NodeId n) {
          const Body& body = s.nodes[n].body;
          if (std::holds_alternative<Map>(body)) Count(&without_, from, "a map that is no kernel", PrintNode(s, n));
          if (std::holds_alternative<Tasklet>(body)) Count(&without_, from, "an assignment that is no kernel", PrintNode(s, n));
        },
        /*into_maps=*/false);
  }

  static constexpr int64_t kMostText = 6000;
  const Registry& r_;
  Reasons without_, refused_;
  int64_t programs_ = 0, scheduled_ = 0;
};

struct Run {
  const Registry& r;
  std::string folder;
  bool list = false, fine = true;
  int64_t refused = 0;  // at most so many of each

  void Cases(const std::string& tar, int64_t most) {
    Counter counter(r);
    for (const CaseFiles& c : ReadCases(tar)) {
      const std::string at = Unpack(c, folder);
      ImportOptions import;
      Result<LoadedModel> m = LoadModel(r, at + "/model.onnx", import);
      if (m.ok()) counter.Add(c.name, m->model.program);
    }
    fine &= counter.Finish("official cases", most, refused, list);
  }

  void Gradients(int64_t most) {
    Counter counter(r);
    for (const OpSample& sample : Samples(r)) {
      const Result<Program> p = SampleProgram(r, sample, folder);
      if (!p.ok()) continue;
      std::vector<Name> outputs, inputs;
      const auto floats = [&](std::vector<Name> from) {
        std::vector<Name> out;
        for (Name n : from)
          if (const Container& c = p->Entry().Get(n); c.kind != ContainerKind::kSequence && IsFloat(c.dtype)) out.push_back(n);
        return out;
      };
      outputs = floats(Outputs(*p, p->Entry())), inputs = floats(Inputs(*p, p->Entry()));
      if (outputs.empty() || inputs.empty()) continue;
      GradientOptions options;
      options.given_gradients = outputs;
      const Result<BackwardPrograms> b = Differentiate(*p, outputs, inputs, options, r);
      if (b.ok()) counter.Add(sample.Label(), b->program);
    }
    fine &= counter.Finish("gradients of the ops' samples", most, refused, list);
  }

  void Random(int count, int64_t most) {
    Counter counter(r);
    for (const ScheduledProgram& w : kPrograms) {
      std::string text = std::string("sdfg f") + w.text, type = w.types;
      type = type.substr(0, type.find(' '));
      std::string typed;
      for (size_t i = 0; i < text.size(); ++i) typed += text[i] == 'T' && text[i + 1] == '[' ? type : std::string(1, text[i]);
      if (const Result<Program> p = ParseProgram(typed); p.ok()) counter.Add(w.name, *p);
    }
    for (int seed = 1; seed <= count; ++seed)
      if (const Result<Program> p = ParseProgram(Generate(static_cast<uint64_t>(seed), {}).text); p.ok())
        counter.Add("random program " + std::to_string(seed), *p);
    fine &= counter.Finish("random programs", most, refused, list);
  }
};

int Main(int argc, char** argv) {
  Registry registry;
  if (Status s = LoadPlugins(registry, PluginPath()); !s.ok()) {
    std::fprintf(stderr, "%s\n", s.ToString().c_str());
    return 2;
  }
  const char* tmp = std::getenv("TEST_TMPDIR");
  Run run{registry, (tmp ? std::string(tmp) : std::string("/tmp")) + "/count_" + std::to_string(getpid())};
  mkdir(run.folder.c_str(), 0777);
  for (int i = 1; i < argc; ++i) run.list |= std::string(argv[i]) == "--list";
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--refused" && i + 1 < argc) run.refused = std::atoll(argv[i + 1]), i += 1;
    else if (flag == "--cases" && i + 2 < argc) run.Cases(argv[i + 1], std::atoll(argv[i + 2])), i += 2;
    else if (flag == "--gradients" && i + 1 < argc) run.Gradients(std::atoll(argv[i + 1])), i += 1;
    else if (flag == "--random" && i + 2 < argc) run.Random(std::atoi(argv[i + 1]), std::atoll(argv[i + 2])), i += 2;
    else if (flag != "--list") return std::fprintf(stderr, "count_test: unknown flag %s\n", flag.c_str()), 2;
  }
  return run.fine ? 0 : 1;
}

}  // namespace
}  // namespace headrace::testing

int main(int argc, char** argv) { return headrace::testing::Main(argc, argv); }
