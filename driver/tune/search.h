// How `headrace tune` looks for a plan. What it measures with is a Workbench, so that the search itself needs no clock.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plans/plan.h"

namespace headrace::tune {

// Seconds of two programs that ran in turns: the least of each, in the even turns and in the odd ones. What is faster in both is faster.
struct Pair {
  std::array<double, 2> reference{}, tried{};
  double Reference() const;  // the least of all turns
  double Tried() const;
  double Ratio() const;  // tried to reference, of the half where it is worse
};
struct Trial {
  Pair whole;
  std::map<std::string, Pair> kernels;  // by key; those that both programs have, all calls of a run together
};

class Workbench {
 public:
  virtual ~Workbench();
  // What plans are compared with from now on.
  virtual Status SetReference(const Plan& plan) = 0;
  // Whether the program is another one under this plan than under the reference, kernels aside; an error: it can't be made so.
  virtual Result<bool> Differs(const Plan& plan) = 0;
  // Seconds of the reference's kernels in a run, by key; what they are called for people.
  virtual Result<std::map<std::string, double>> KernelSeconds() = 0;
  virtual std::string NameOf(const std::string& key) const = 0;
  // The text of a kernel's schedule with these numbers.
  virtual Result<std::string> Schedule(const std::string& key, const Plan::Numbers& numbers) = 0;
  // Compiles the program and runs it in turns with the reference, kernel by kernel, `times` as long as usual. An error where values differ.
  virtual Result<Trial> Try(const Plan& plan, int times) = 0;
  // Whether to end: this share of the time is up, or the user has seen enough.
  virtual bool Stop(double share = 1) = 0;
  // The search has ended, and measures what it found once more: what made it stop does not stop that. Whether the user did.
  virtual bool Finish() = 0;
};

// Plans that choose something for the whole program, to be tried first, each on top of what was good before.
struct Choice {
  std::string what;  // "without assign-layouts"
  Plan plan;         // one line
};
struct Candidate {
  const char* number;
  int64_t value;
};
const std::vector<Candidate>& Candidates();  // near values of all numbers first

struct Found {
  Plan plan;  // empty: nothing was better
  int tries = 0;
  Pair whole;                           // against no plan; only where the plan is not empty
  std::map<std::string, Pair> kernels;  // of those in the plan that were measured, against the plan without kernels
};
// What is being tried, and how much faster the best so far seems to be: 1.2 times.
using Say = std::function<void(const std::string& now, double faster)>;

// `start`: a plan to begin with, that need not be good. Interrupted or late, it ends with what was found, after it was measured again.
Result<Found> Search(Workbench& bench, const Plan& start, const std::vector<Choice>& choices, const Say& say);

}  // namespace headrace::tune
