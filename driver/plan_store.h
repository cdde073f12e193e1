// Plans that `headrace tune` has found, in the folder of the cache: one text for each program, processor, device description and number
// of threads.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "driver/compile.h"

namespace headrace {

// Threads that the request's program will run with.
int ThreadsOf(const CompileRequest& request);
bool ThreadsAreGiven(const CompileRequest& request);  // by the caller or the environment; else a plan decides

// Where the plan of an imported program lies, whether there is one or not. Constants don't matter: a model that was trained further has
// the plan that it had. "": there is no folder for it.
std::string PlanPath(const Program& imported, const CompileRequest& request);
// nullopt: there is none, or no good one.
std::optional<Plan> KeptPlan(const std::string& path);

struct KeptPlanFile {
  std::string name, title;  // of the file, and the first line of its comment
  double bytes = 0;
  time_t used = 0;
};
std::vector<KeptPlanFile> KeptPlans(const std::string& folder);  // newest first

}  // namespace headrace
