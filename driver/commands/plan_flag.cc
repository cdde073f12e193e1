// --plan: what `headrace tune` found for this model here, a text of one's own, or nothing.
#include <fstream>
#include <sstream>

#include "driver/commands/commands.h"
#include "driver/plan_store.h"

namespace headrace {
namespace {

Result<Plan> ReadPlan(const std::string& path) {
  std::ifstream in(path);
  std::stringstream all;
  if (in && in.peek() != std::ifstream::traits_type::eof()) all << in.rdbuf();
  if (!in.is_open() || in.bad()) {
    Diagnostic d;
    d.kind = ErrorKind::kUsage;
    d.code = "E0446", d.file = path;
    d.message = "the plan can't be read";
    d.hint = "--plan takes a file that `headrace tune -o FILE` writes, auto, or none";
    return Status(d);
  }
  return ParsePlan(all.str(), path);
}

// Whether the implementations that the plan was measured with are loaded.
bool HasAll(const Registry& r, const Program& imported, const Plan& plan) {
  CompileOptions chosen;
  chosen.implementations = plan.implementations;
  std::vector<std::string> warnings;
  return CheckImplementations(r, imported, chosen, &warnings).ok() && warnings.empty();
}

}  // namespace

void ModelFlags::AddPlanTo(CLI::App& app) {
  plan = "auto";
  app.add_option("--plan", plan, "how to compile: a FILE of `headrace tune`, auto: the one that it has kept for this model here, or none")
      ->capture_default_str()
      ->envname("HEADRACE_PLAN");
}

Status ModelFlags::UsePlan(const Registry& r, const Program& imported, const Common& c, CompileRequest* request) const {
  if (plan == "none") return {};
  if (plan == "auto") {
    // What else is chosen by hand was not there when the plan was measured.
    if (!pipeline.empty() || !implementations.empty() || !(target.empty() || target == "native")) return {};
    const std::string path = PlanPath(imported, *request);
    const std::optional<Plan> kept = KeptPlan(path);
    if (c.out.verbosity > 0) Note(c.out, (kept ? "plan: " : "no plan in ") + path);
    if (!kept || kept->empty() || !HasAll(r, imported, *kept)) return {};
    request->plan = *kept;
  } else {
    HR_ASSIGN_OR_RETURN(request->plan, ReadPlan(plan));
    CompileOptions chosen;
    chosen.implementations = request->plan.implementations;
    std::vector<std::string> warnings;
    HR_RETURN_IF_ERROR(CheckImplementations(r, imported, chosen, &warnings));
    request->warn = [&c](const std::string& text) { Note(c.out, "warning: " + text); };
    for (const std::string& w : warnings) request->warn(w);
  }
  if (!ThreadsAreGiven(*request)) request->options.threads = request->plan.threads;
  return {};
}

}  // namespace headrace
