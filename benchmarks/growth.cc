// How the time of each phase grows with the program:
//   growth [--sizes 10000,100000] [--runs N] [--most SLOPE] [--least SECONDS] [--ratios] [chain|wide|rows|layers|bert|gradient|unfused|unshared|registers …]
// prints the least of N runs at each size, and the slope, log(time ratio) / log(size ratio): 1 is linear, 2 quadratic. With
// --most, a steeper phase is an error where it takes --least seconds: caches and clocks make short times look steep; and so are
// more kernels for what is more of the same (over 1.2 times as many). --ratios prints how many times as long each phase takes
// instead: --sizes 27,648 are 1 and 24 layers of `bert` and `gradient`.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "backends/cpu/codegen_program.h"
#include "benchmarks/growth_programs.h"
#include "driver/compile.h"
#include "driver/program_json.h"
#include "driver/plugin_path.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

constexpr double kNoise = 0.02;        // seconds: what takes less at the larger size has no slope worth a word
constexpr int64_t kTextOnly = 500000;  // nodes from which a program is only parsed, copied and walked
constexpr double kMoreKernels = 1.2;

struct Arguments {
  std::vector<int64_t> sizes = {10000, 100000};
  std::vector<std::string> shapes;
  bool ratios = false;  // how many times as long each phase takes, instead of slopes
  double most = 0, least = kNoise;
  int runs = 3;
};

// Least seconds by phase, in the order in which they ran.
class Times {
 public:
  void Add(const std::string& phase, double seconds) {
    const auto at = least_.find(phase);
    if (at == least_.end()) order_.push_back(phase);
    least_[phase] = at == least_.end() ? seconds : std::min(at->second, seconds);
  }
  const std::vector<std::string>& phases() const { return order_; }
  double operator[](const std::string& phase) const {
    const auto at = least_.find(phase);
    return at == least_.end() ? NAN : at->second;
  }

 private:
  std::map<std::string, double> least_;
  std::vector<std::string> order_;
};

// Seconds of this process's own: what else the machine does has little part in them.
double Now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// A copy in which one statement and one container differ.
void CopyAndChange(const Program& p) {
  Program copy = p;
  Sdfg& s = copy.MutableEntry();
  s.nodes.Mutable(NodeId{s.nodes.size() - 1}).origin = Origin("growth");
  s.Mutable(s.order.front()).optional = false;
}

// The passes of a pipeline, those of the pipelines that it names in their places.
void AddPasses(const Registry& r, const std::string& pipeline, std::vector<std::string>* passes) {
  std::stringstream text(pipeline);
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (const Pipeline* named = r.FindPipeline(line)) AddPasses(r, named->text, passes);
    else passes->push_back(line);
  }
}

// Every pass of the pipeline, by the number of its turn: some run twice. C++ of what cpu's programs become.
Status RunPasses(const Registry& r, Program p, const char* own, Times* times) {
  std::vector<std::string> passes;
  AddPasses(r, own ? own : "compile-cpu", &passes);
  for (size_t i = 0; i < passes.size(); ++i) {
    const double before = Now();
    HR_RETURN_IF_ERROR(RunPipeline(r, passes[i], p));
    char turn[16];
    std::snprintf(turn, sizeof turn, "%02d ", static_cast<int>(i + 1));
    times->Add(turn + passes[i], Now() - before);
  }
  const double start = Now();
  HR_RETURN_IF_ERROR(Verify(p));
  times->Add("verify kernels", Now() - start);
  if (own) return {};
  int64_t kernels = 0;
  for (const auto& s : p.sdfgs) kernels += s->kernel ? 1 : 0;
  times->Add("kernels", static_cast<double>(kernels));
  const double printed = Now();
  HR_RETURN_IF_ERROR(cpu::GenerateProgram(p, r).status());
  times->Add("C++", Now() - printed);
  return {};
}

Status RunOnce(const Registry& r, const GrowthProgram& program, const std::string& text, bool text_only, Times* times) {
  double start = Now();
  const auto done = [&](const char* phase) { times->Add(phase, Now() - start), start = Now(); };
  HR_ASSIGN_OR_RETURN(Program p, ParseProgram(text));
  done("parse");
  { const Program copy = p; }
  done("copy");
  for (int i = 0; i < 5; ++i) CopyAndChange(p), done("copy + change");
  int64_t nodes = 0;
  ForEachNode(p.Entry(), [&](NodeId) { ++nodes; });
  done("walk");
  times->Add("nodes", static_cast<double>(nodes));
  if (text_only) return {};
  if (Print(p).empty()) return UsageError("E0437", "nothing printed");
  done("print");
  if (ProgramToJson(p).empty()) return UsageError("E0437", "nothing printed");
  done("JSON");
  HR_RETURN_IF_ERROR(Verify(p));
  done("verify");
  if (program.gradient) {
    HR_RETURN_IF_ERROR(RunPipeline(r, "backward", p));
    done("backward");
  }
  return RunPasses(r, std::move(p), program.passes, times);
}

bool IsCount(const std::string& phase) { return phase == "nodes" || phase == "kernels"; }

// Whether every phase stays below the slope, and kernels as many as they are to be.
bool PrintTable(const GrowthProgram& program, const Arguments& a, const std::vector<Times>& times) {
  std::printf("%s\n  %-40s", program.name, "ms");
  for (int64_t n : a.sizes) std::printf(" %10lld", static_cast<long long>(n));
  std::printf(a.ratios ? "  ratio\n" : "  slope\n");
  bool good = true;
  for (const std::string& phase : times.front().phases()) {
    std::printf("  %-40s", phase.c_str());
    for (const Times& t : times) std::printf(IsCount(phase) ? " %10.0f" : " %10.2f", t[phase] * (IsCount(phase) ? 1 : 1e3));
    for (size_t i = 1; i < times.size() && !IsCount(phase); ++i) {
      const double least = times[i - 1][phase], most = times[i][phase];
      if (a.ratios) std::printf("  %5.1f", most / least);
      if (a.ratios || !(most >= kNoise)) continue;
      const double slope = std::log(most / least) / std::log(times[i]["nodes"] / times[i - 1]["nodes"]);
      const bool steep = a.most > 0 && most >= a.least && slope > a.most;
      std::printf("  %5.2f%s", slope, steep ? "  too steep" : "");
      good &= !steep;
    }
    for (size_t i = 1; a.most > 0 && program.same_kernels && phase == "kernels" && i < times.size(); ++i) {
      if (!(times[i][phase] > kMoreKernels * times[0][phase])) continue;
      std::printf("  too many");
      good = false;
    }
    std::printf("\n");
  }
  std::fflush(stdout);
  return good;
}

Arguments Parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (word == "--most") a.most = std::atof(value().c_str());
    else if (word == "--ratios") a.ratios = true;
    else if (word == "--least") a.least = std::atof(value().c_str());
    else if (word == "--runs") a.runs = std::max(1, std::atoi(value().c_str()));
    else if (word == "--sizes") {
      a.sizes.clear();
      const std::string list = value();
      for (size_t at = 0; at < list.size(); at = list.find(',', at) == std::string::npos ? list.size() : list.find(',', at) + 1)
        a.sizes.push_back(std::atoll(list.c_str() + at));
    } else a.shapes.push_back(word);
  }
  return a;
}

int Main(int argc, char** argv) {
  const Arguments a = Parse(argc, argv);
  Registry r;
  Status s = LoadPlugins(r, PluginPath());
  bool good = true;
  for (const GrowthProgram& program : kGrowthPrograms) {
    const bool named = std::find(a.shapes.begin(), a.shapes.end(), program.name) != a.shapes.end();
    const bool wanted = a.shapes.empty() ? !program.gradient : named;  // reverse mode is not linear yet
    std::vector<Times> times(a.sizes.size());
    for (size_t i = 0; wanted && s.ok() && i < a.sizes.size(); ++i) {
      const std::string text = program.text(a.sizes[i]);
      for (int run = 0; s.ok() && run < a.runs; ++run) s = RunOnce(r, program, text, a.sizes[i] >= kTextOnly, &times[i]);
    }
    if (wanted && s.ok()) good &= PrintTable(program, a, times);
  }
  if (!s.ok()) std::fprintf(stderr, "%s\n", s.ToString().c_str());
  return s.ok() && good ? 0 : 1;
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) { return headrace::Main(argc, argv); }
