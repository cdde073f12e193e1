// Random programs: gradients against finite differences; storing, recomputing and a plan under a memory limit against each
// other; the arena that is planned is the one that was predicted.
//   random_test --first=SEED --count=N [--statements=K] --backend=interpreter|cpu
// A failure prints the seed, the smallest number of statements that still fails, and that program.
#include "ir/analysis/arena.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "tests/autodiff/random_programs.h"

namespace headrace::autodiff::testing {
namespace {

double Largest(const Tensor& t) {
  double m = 1;
  for (int64_t i = 0; i < t.elements(); ++i) m = std::max(m, std::abs(t.GetDouble(i)));
  return m;
}

std::string Disagreement(const NamedValues& got, const NamedValues& want, double tolerance) {
  for (size_t k = 0; k < want.size(); ++k) {
    Difference d = Compare(got[k].second, want[k].second, 0, tolerance * Largest(want[k].second.tensor));
    if (!d.ok)
      return "gradient of " + want[k].first.str() + " is off by " + std::to_string(d.max_abs) + ", first at " + d.where;
  }
  return "";
}

struct Way {
  std::string name;
  bool symbols;  // else every size is a number
  Keep keep;
  bool limited = false;
};

// Halfway between everything kept and the least that is possible. Nothing where a size is unknown before the run.
std::optional<int64_t> Limit(Case c) {
  c.options.keep = Keep::kStoreAll;
  const Result<BackwardPrograms> stored = Differentiated(c);
  if (!stored.ok() || stored->report.predicted_peak == 0) return std::nullopt;
  c.options.keep = Keep::kSolve;
  c.options.memory_limit = 1;
  const Result<BackwardPrograms> refused = Differentiated(c);
  if (refused.ok()) return std::nullopt;
  const std::string message = refused.status().ToString(), before = "raise the limit to at least ";
  const size_t at = message.find(before);
  if (at == std::string::npos) return std::nullopt;
  return (stored->report.predicted_peak + std::stoll(message.substr(at + before.size()))) / 2;
}

// The arena that the cpu backend plans is the one that was predicted, wherever fusion has moved statements.
std::string CheckPeak(uint64_t seed, int statements) {
  for (const Way& way : {Way{"store all", false, Keep::kStoreAll}, Way{"recompute all", false, Keep::kRecomputeAll},
                         Way{"limited", false, Keep::kSolve, true}}) {
    Case c = RandomCase(seed, statements, way.symbols, 8);
    c.options.keep = way.keep;
    if (way.limited && !(c.options.memory_limit = Limit(c))) continue;
    const Result<BackwardPrograms> b = Differentiated(c);
    if (!b.ok()) return "sizes times 8, " + way.name + ": " + b.status().ToString();
    const Result<Program> lowered = LowerProgram(Plugins(), b->program, {});
    if (!lowered.ok()) return "sizes times 8, " + way.name + ": " + lowered.status().ToString();
    const std::optional<int64_t> planned = ArenaBytes(lowered->Entry());
    if (b->report.predicted_peak == 0 || !planned) continue;  // known at run time
    if (*planned != b->report.predicted_peak)
      return "sizes times 8, " + way.name + ": " + std::to_string(*planned) + " bytes planned, " +
             std::to_string(b->report.predicted_peak) + " predicted";
  }
  return "";
}

std::string Check(uint64_t seed, int statements, bool on_cpu) {
  const NamedValues differences = Differences(RandomCase(seed, statements, false));
  if (differences.empty()) return "the program itself does not run";
  const std::string backend = on_cpu ? "cpu" : "interpreter";
  NamedValues first;
  for (const Way& way : {Way{"sizes by name", true, Keep::kSolve}, Way{"store all", false, Keep::kStoreAll},
                         Way{"recompute all", false, Keep::kRecomputeAll}, Way{"limited", false, Keep::kSolve, true}}) {
    Case c = RandomCase(seed, statements, way.symbols);
    c.options.keep = way.keep;
    const std::string what = backend + ", " + way.name + ": ";
    if (way.limited) {
      if (!(c.options.memory_limit = Limit(c))) continue;
      const Result<BackwardPrograms> b = Differentiated(c);
      if (!b.ok()) return what + b.status().ToString();
      if (b->report.predicted_peak > *c.options.memory_limit) return what + "the plan exceeds the limit";
    }
    if (on_cpu && way.keep == Keep::kRecomputeAll && seed % 4) continue;  // seconds of compiling each
    Result<NamedValues> got = Gradients(c, backend);
    if (!got.ok()) return what + got.status().ToString();
    if (first.empty()) first = *got;
    if (std::string s = Disagreement(*got, differences, 2e-7); !s.empty()) return what + s;
    if (std::string s = Disagreement(*got, first, 1e-12); !s.empty()) return what + "differs from the first plan: " + s;
  }
  return CheckPeak(seed, statements);
}

// A twentieth of the seeds each, so that Bazel can share them out.
constexpr int kParts = 20;
class RandomPrograms : public ::testing::TestWithParam<int> {};

TEST_P(RandomPrograms, GradientsAreRight) {
  const uint64_t first = std::stoull(Flag("first", "1"));
  const int count = std::stoi(Flag("count", "20")), statements = std::stoi(Flag("statements", "8"));
  const bool on_cpu = BackendsOfThisTest()[0] == "cpu";
  int failures = 0;
  const uint64_t begin = first + static_cast<uint64_t>(count * GetParam() / kParts),
                 end = first + static_cast<uint64_t>(count * (GetParam() + 1) / kParts);
  for (uint64_t seed = begin; seed < end && failures < 5; ++seed) {
    std::string error = Check(seed, statements, on_cpu);
    if (error.empty()) continue;
    ++failures;
    int k = 1;
    for (; k < statements; ++k)
      if (std::string smaller = Check(seed, k, on_cpu); !smaller.empty()) {
        error = smaller;
        break;
      }
    ADD_FAILURE() << "seed " << seed << ", " << k << " statements: " << error << "\nprogram:\n"
                  << RandomCase(seed, k, false).text;
  }
}
INSTANTIATE_TEST_SUITE_P(Part, RandomPrograms, ::testing::Range(0, kParts));

}  // namespace
}  // namespace headrace::autodiff::testing
