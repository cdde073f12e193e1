// headrace tune: tries schedules, passes, implementations and numbers of threads on this machine, and keeps a plan of what was faster.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "driver/cache_entry.h"
#include "driver/files.h"
#include "driver/plan_store.h"
#include "driver/tune/measure.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

struct TuneFlags {
  ModelFlags model;
  std::vector<std::string> inputs;
  std::string out;
  double seconds = 60;
  uint64_t seed = 0;
};

// ---- choices for the whole program ----
tune::Choice Choosing(const std::string& line) { return {line, *ParsePlan(line)}; }

std::set<std::pair<std::string, std::string>> OpsOf(const Program& p) {
  std::set<std::pair<std::string, std::string>> ops;
  for (const auto& s : p.sdfgs)
    for (uint32_t i = 0; i < s->nodes.size(); ++i)
      if (const Library* l = std::get_if<Library>(&s->nodes[NodeId{i}].body)) ops.emplace(l->domain.str(), l->op.str());
  return ops;
}

std::vector<tune::Choice> ChoicesFor(const Registry& r, const Program& p, const CompileRequest& request) {
  std::vector<tune::Choice> out;
  for (const char* pass : {"assign-layouts", "pack-constants", "fuse-epilogue"}) out.push_back(Choosing(std::string("without ") + pass));
  const auto ops = OpsOf(p);
  std::map<std::string, int> served;  // ops, by each implementation
  for (const auto& [domain, op] : ops)
    for (const ForwardImplementation* i : r.Implementations(domain, op))
      if (++served[i->name] == 1) out.push_back(Choosing("implementation * = " + i->name));
  for (const auto& [domain, op] : ops)
    for (const ForwardImplementation* i : r.Implementations(domain, op))
      if (served[i->name] > 1 && i->name != "pure") out.push_back(Choosing("implementation " + domain + "." + op + " = " + i->name));
  if (!ThreadsAreGiven(request))
    for (int n = ThreadsOf(request) / 2; n >= 1; n /= 2) out.push_back(Choosing("threads " + std::to_string(n)));
  return out;
}

// Programs that are tried and forgotten don't push others out of the cache.
class Scratch {
 public:
  explicit Scratch(const CompileRequest& request) {
    const std::string cache = request.options.cache_dir.empty() ? CacheFolder() : request.options.cache_dir;
    std::error_code ignored;
    std::filesystem::create_directories(cache, ignored);
    std::string name = cache + "/tmp.XXXXXX";
    if (!cache.empty() && mkdtemp(name.data())) folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& folder() const { return folder_; }  // "": none could be made

 private:
  std::string folder_;
};

// ---- what is shown ----
class Progress {
 public:
  Progress(const Output& out, double seconds) : out_(out), start_(Clock::now()), seconds_(seconds) {}

  double Elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void Now(const std::string& what, double faster) const {
    if (out_.progress == ProgressStyle::kNone) return;
    char left[64];
    snprintf(left, sizeof left, "%4.0f s left, %.2f times as fast  ", std::max(0.0, seconds_ - Elapsed()), faster);
    if (out_.progress == ProgressStyle::kBar) ProgressLine(left + what);
    else fprintf(stderr, "%s%s\n", left, what.c_str());
  }

 private:
  const Output& out_;
  const Clock::time_point start_;
  const double seconds_;
};

std::string NumbersText(const Plan::Numbers& numbers) {
  std::string text;
  for (const auto& [name, value] : numbers) text += (text.empty() ? "" : ", ") + name + " " + std::to_string(value);
  return text;
}

std::string Summary(const tune::Found& f) {
  char text[96];
  snprintf(text, sizeof text, "%s, %s without: %.3g times as fast", HumanSeconds(f.whole.Tried()).c_str(),
           HumanSeconds(f.whole.Reference()).c_str(), f.whole.Reference() / f.whole.Tried());
  return text;
}

void Show(const tune::Found& f, double seconds) {
  if (f.plan.empty()) return void(printf("nothing is faster than it was, of %d programs in %.0f s\n", f.tries, seconds));
  printf("%s   (%d programs tried in %.0f s)\n", Summary(f).c_str(), f.tries, seconds);
  Plan whole = f.plan;
  whole.kernels.clear(), whole.comment.clear();
  printf("%s", Print(whole).c_str());
  for (const Plan::Kernel& k : f.plan.kernels) {
    const auto p = f.kernels.find(k.key);
    if (p != f.kernels.end())
      printf("%9s instead of %9s   ", HumanSeconds(p->second.Tried()).c_str(), HumanSeconds(p->second.Reference()).c_str());
    else printf("%33s", "");
    printf("%s: %s\n", (k.comment.empty() ? k.key : k.comment).c_str(), NumbersText(k.numbers).c_str());
  }
}

nlohmann::json ToJson(const TuneFlags& f, const tune::Found& found, double seconds, const std::string& kept) {
  nlohmann::json j = {{"model", f.model.model}, {"backend", f.model.backend}, {"seconds", seconds}, {"programs", found.tries}};
  j["plan"] = Print(found.plan);
  if (found.plan.empty()) return j;
  j["tuned_seconds"] = found.whole.Tried(), j["untuned_seconds"] = found.whole.Reference();
  if (!kept.empty()) j["kept"] = kept;
  j["kernels"] = nlohmann::json::array();
  for (const auto& [key, p] : found.kernels)
    j["kernels"].push_back({{"key", key}, {"tuned_seconds", p.Tried()}, {"untuned_seconds", p.Reference()}});
  return j;
}

// ---- the verb ----
// Into the cache, where run, bench and compile look for it; nothing found takes what was there away: it is no longer faster.
std::string Keep(const Plan& plan, const std::string& path, const Common& c) {
  if (path.empty()) return "";
  if (plan.empty()) {
    remove(path.c_str());
    return "";
  }
  const Status s = WriteOut(path, {Print(plan)});
  if (s.ok() && chmod(path.c_str(), 0600) == 0) return path;
  Note(c.out, "warning: the plan can't be kept in " + path);
  return "";
}

Status Tune(const TuneFlags& f, const Common& c) {
  HR_RETURN_IF_ERROR(f.model.WantModel("tuned"));
  Registry r;
  HR_RETURN_IF_ERROR(OpenRegistry(r, c));
  HR_ASSIGN_OR_RETURN(ImportOptions import, f.model.Import());
  auto early = std::make_shared<EarlyValues>(r, f.inputs);
  import.input_value = [early](const std::string& name, int index) { return (*early)(name, index); };
  HR_ASSIGN_OR_RETURN(const LoadedModel m, ReadModel(r, f.model.model, import));
  HR_RETURN_IF_ERROR(f.model.CheckChoices(r, m, c));
  const Program& program = m.model.program;
  HR_ASSIGN_OR_RETURN(CompileRequest request, f.model.Compile(c));
  request.options.progress = nullptr;
  CompileRequest start = request;
  HR_RETURN_IF_ERROR(f.model.UsePlan(r, program, c, &start));
  start.plan.comment.clear();

  HR_ASSIGN_OR_RETURN(NamedValues values, ReadInputs(m.model, f.inputs));
  FitValues(program, values);
  HR_ASSIGN_OR_RETURN(NamedSizes sizes, f.model.Sizes());
  std::vector<std::string> notes;
  HR_RETURN_IF_ERROR(FillInputs(program, f.seed, sizes, values, &notes));
  for (const std::string& n : notes) Note(c.out, "note: " + n);
  HR_RETURN_IF_ERROR(CheckAssumed(m.model, values));

  const Progress progress(c.out, f.seconds);
  const auto begin = Clock::now(), until = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(f.seconds));
  const Scratch scratch(request);
  CompileRequest tried = request;
  if (!scratch.folder().empty()) tried.options.cache_dir = scratch.folder();
  tune::Machine machine({r, program, tried, values, SizesOf(program.Entry(), sizes), Interrupted, ForgetInterrupt, begin, until});
  HR_ASSIGN_OR_RETURN(tune::Found found, tune::Search(machine, start.plan, ChoicesFor(r, program, request),
                                                      [&](const std::string& now, double faster) { progress.Now(now, faster); }));
  EndProgress(c.out);
  if (found.plan.empty()) found.plan.comment = f.model.model + ": nothing was faster\n";
  else
    found.plan.comment = f.model.model + ", " + std::to_string(ThreadsOf(request)) + (ThreadsOf(request) == 1 ? " thread: " : " threads: ") + Summary(found) + "\n";
  const std::string kept = Keep(found.plan, PlanPath(program, request), c);
  if (!f.out.empty()) HR_RETURN_IF_ERROR(WriteOut(f.out, {Print(found.plan)}));
  if (c.out.json) {
    PrintJson(ToJson(f, found, progress.Elapsed(), kept));
    return {};
  }
  if (f.out != "-") Show(found, progress.Elapsed());
  if (!kept.empty()) Note(c.out, "kept: run, bench and compile of this model take it (--plan none: not)");
  return {};
}

}  // namespace

Runner AddTune(CLI::App& app, Common& c) {
  auto f = std::make_shared<TuneFlags>();
  f->model.AddTo(app, ModelFlags::kModels);
  f->model.AddPlanTo(app);
  app.add_option("--input", f->inputs,
                 "NAME=VALUE: @FILE.npy, @FILE.npz, @FILE.npz:ARRAY, 3, [0,1] (repeatable); others are random, seeded")
      ->allow_extra_args(false);
  app.add_option("--seconds", f->seconds, "time to search for; what was found is then measured once more")
      ->capture_default_str()
      ->check(Number(false));
  app.add_option("-o,--out", f->out, "the file for the plan (-: standard output); it is kept in the cache, too");
  app.add_option("--seed", f->seed, "seed of random inputs")->capture_default_str()->check(Number(true));
  return [f, &c] {
    const Status s = Tune(*f, c);
    return s.ok() ? static_cast<int>(kExitOk) : Fail(c.out, s);
  };
}

}  // namespace headrace
