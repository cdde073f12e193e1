// Random programs: gradients against finite differences; storing, recomputing and the solver's plan against each other.
//   random_test --first=SEED --count=N [--statements=K] --backend=interpreter|cpu
// A failure prints the seed, the smallest number of statements that still fails, and that program.
#include "ir/printer.h"
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

std::string Check(Case c) {
  const NamedValues differences = Differences(c);
  if (differences.empty()) return "the program itself does not run";
  for (const std::string& backend : BackendsOfThisTest()) {
    NamedValues first;
    for (Keep keep : {Keep::kSolve, Keep::kStoreAll, Keep::kRecomputeAll}) {
      c.options.keep = keep;
      Result<NamedValues> got = Gradients(c, backend);
      const std::string what = backend + (keep == Keep::kSolve      ? ", solver: "
                                          : keep == Keep::kStoreAll ? ", store all: "
                                                                    : ", recompute all: ");
      if (!got.ok()) return what + got.status().ToString();
      if (first.empty()) first = *got;
      if (std::string s = Disagreement(*got, differences, 2e-7); !s.empty()) return what + s;
      if (std::string s = Disagreement(*got, first, 1e-12); !s.empty())
        return what + "differs from the solver's plan: " + s;
      if (backend != "interpreter") break;  // seconds of compiling each
    }
  }
  return "";
}

TEST(RandomPrograms, GradientsAreRight) {
  const uint64_t first = std::stoull(Flag("first", "1"));
  const int count = std::stoi(Flag("count", "20")), statements = std::stoi(Flag("statements", "8"));
  int failures = 0;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count) && failures < 5; ++seed) {
    std::string error = Check(RandomCase(seed, statements));
    if (error.empty()) continue;
    ++failures;
    int k = 1;
    for (; k < statements; ++k)
      if (std::string smaller = Check(RandomCase(seed, k)); !smaller.empty()) {
        error = smaller;
        break;
      }
    Case c = RandomCase(seed, k);
    ADD_FAILURE() << "seed " << seed << ", " << k << " statements: " << error << "\nprogram:\n" << c.text;
  }
}

}  // namespace
}  // namespace headrace::autodiff::testing
