// headrace bench: warm-up, then timed runs; median and p90, compile time split, peak memory.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "driver/commands/commands.h"

namespace headrace {
namespace {

// A figure of a backend's report: its name ends with its unit, or it is a count.
std::string Shown(const std::string& name, double value) {
  if (name.find(" seconds") != std::string::npos) return HumanSeconds(value);
  if (name.find(" bytes") != std::string::npos) return HumanBytes(value);
  return std::to_string(static_cast<int64_t>(value));
}

struct BenchFlags {
  ModelFlags model;
  double seconds = 2;
  int runs = 0;
  uint64_t seed = 0;
};

double PeakBytes() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_maxrss) * 1024;
}

int Bench(const BenchFlags& f, const Common& c) {
  using Clock = std::chrono::steady_clock;
  Registry r;
  Status s = OpenRegistry(r, c);
  if (!s.ok()) return Fail(c.out, s);
  Result<Opened> opened = OpenModel(r, f.model, c);
  if (!opened.ok()) return Fail(c.out, opened.status());
  const ImportedModel& m = opened->model.model;
  NamedValues values;
  Result<NamedSizes> sizes = f.model.Sizes();
  if (!sizes.ok()) return Fail(c.out, sizes.status());
  std::vector<std::string> notes;
  s = FillInputs(m.program, f.seed, *sizes, values, &notes);
  if (!s.ok()) return Fail(c.out, s);
  for (const std::string& n : notes) Note(c.out, "note: " + n);
  const NamedSizes symbols = SizesOf(m.program.Entry(), *sizes);

  auto once = [&]() -> Result<double> {
    auto start = Clock::now();
    Result<std::vector<Value>> out = opened->executable->Run(values, symbols);
    if (!out.ok()) return out.status();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  Result<double> first = once();
  if (!first.ok()) return Fail(c.out, first.status());
  auto warm_until = Clock::now() + std::chrono::duration<double>(f.seconds / 10);
  while (Clock::now() < warm_until && !Interrupted())
    if (Result<double> t = once(); !t.ok()) return Fail(c.out, t.status());
  std::vector<double> times;
  auto until = Clock::now() + std::chrono::duration<double>(f.seconds);
  auto progress = ProgressOf(c.out);
  while (!Interrupted() &&
         (f.runs ? static_cast<int>(times.size()) < f.runs : times.size() < 3 || Clock::now() < until)) {
    Result<double> t = once();
    if (!t.ok()) return Fail(c.out, t.status());
    times.push_back(*t);
    if (progress && times.size() % 16 == 1)
      progress("runs", f.runs ? double(times.size()) / f.runs
                              : 1 - std::chrono::duration<double>(until - Clock::now()).count() / f.seconds);
  }
  EndProgress(c.out);
  if (Interrupted()) return Fail(c.out, InterruptedError());
  std::sort(times.begin(), times.end());
  auto quantile = [&](double q) { return times[std::min(times.size() - 1, static_cast<size_t>(q * times.size()))]; };
  nlohmann::json j;
  j["model"] = f.model.model, j["backend"] = f.model.backend, j["runs"] = times.size();
  j["median_seconds"] = quantile(0.5), j["p90_seconds"] = quantile(0.9), j["p99_seconds"] = quantile(0.99),
  j["min_seconds"] = times[0];
  j["first_run_seconds"] = *first, j["load_seconds"] = opened->load_seconds,
  j["compile_seconds"] = opened->compile_seconds;
  j["peak_memory_bytes"] = PeakBytes();
  for (const auto& [phase, value] : opened->executable->Report()) j["report"][phase] = value;
  if (c.out.json) {
    PrintJson(j);
    return kExitOk;
  }
  printf("median      %s   (min %s, p90 %s, p99 %s; %zu runs)\n", HumanSeconds(quantile(0.5)).c_str(),
         HumanSeconds(times[0]).c_str(), HumanSeconds(quantile(0.9)).c_str(), HumanSeconds(quantile(0.99)).c_str(),
         times.size());
  printf("first run   %s\n", HumanSeconds(*first).c_str());
  printf("compile     %s   (reading and checking %s)\n", HumanSeconds(opened->compile_seconds).c_str(),
         HumanSeconds(opened->load_seconds).c_str());
  for (const auto& [name, value] : opened->executable->Report())
    printf("  %-24s%s\n", name.c_str(), Shown(name, value).c_str());
  printf("peak memory %s\n", HumanBytes(PeakBytes()).c_str());
  return kExitOk;
}

}  // namespace

Runner AddBench(CLI::App& app, Common& c) {
  auto f = std::make_shared<BenchFlags>();
  f->model.AddTo(app);
  f->model.AddPipelineTo(app);
  app.add_option("--seconds", f->seconds, "time to measure for")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--runs", f->runs, "a fixed number of runs instead")->check(CLI::NonNegativeNumber);
  app.add_option("--seed", f->seed, "seed of random inputs")->capture_default_str();
  return [f, &c] { return Bench(*f, c); };
}

}  // namespace headrace
