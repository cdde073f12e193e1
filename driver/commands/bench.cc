// headrace bench: warm-up, then timed runs; median and p90, throughput, compile time split, peak memory; another runtime in
// turns with ours.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <optional>

#include "driver/commands/profile.h"
#include "driver/commands/verify.h"
#include "driver/peer.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;
using Times = std::vector<double>;

struct BenchFlags {
  ModelFlags model;
  std::vector<std::string> inputs;
  std::string compare;
  double seconds = 2;
  int runs = 0;
  uint64_t seed = 0;
  bool profile = false;
};

bool IsTime(const std::string& name) { return name.find(" seconds") != std::string::npos; }

// A figure of a backend's report: its name ends with its unit, or it is a count.
std::string Shown(const std::string& name, double value) {
  if (IsTime(name)) return HumanSeconds(value);
  if (name.find(" bytes") != std::string::npos) return HumanBytes(value);
  return std::to_string(static_cast<int64_t>(value));
}

// Of this process. What getrusage says is inherited: it is never less than the parent's was.
int64_t PeakBytes() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  return 0;
}

double Quantile(Times times, double q) {
  std::sort(times.begin(), times.end());
  return times[std::min(times.size() - 1, static_cast<size_t>(q * static_cast<double>(times.size())))];
}

// The size that every input and output has in front, if it is one: samples in a run.
std::optional<int64_t> BatchSize(const NamedValues& inputs, const std::vector<Value>& outputs) {
  std::optional<int64_t> size;
  const auto agrees = [&](const Value& v) {
    if (v.kind != Value::kTensor || v.tensor.shape.empty()) return false;
    if (!size) size = v.tensor.shape[0];
    return *size == v.tensor.shape[0];
  };
  for (const auto& [name, v] : inputs)
    if (!agrees(v)) return std::nullopt;
  for (const Value& v : outputs)
    if (!agrees(v)) return std::nullopt;
  return inputs.empty() || !size || *size == 0 ? std::nullopt : size;
}

struct Measured {
  double first = 0;
  Times ours, theirs, ratios;  // ratios: by turn, ours to theirs
  std::optional<int64_t> batch;
};

class Bencher {
 public:
  Bencher(const BenchFlags& f, Executable& e, const NamedValues& values, const NamedSizes& symbols, Peer* peer)
      : f_(f), executable_(e), values_(values), symbols_(symbols), peer_(peer) {}

  // A fixed number of runs is that many and no others: for the few that a slow model allows.
  Result<Measured> Run() {
    std::vector<Value> outputs;
    HR_ASSIGN_OR_RETURN(out_.first, Once(&outputs));
    out_.batch = BatchSize(values_, outputs);
    outputs.clear();
    if (f_.runs > 0) out_.ours.push_back(out_.first);
    else HR_RETURN_IF_ERROR(WarmUp());
    HR_RETURN_IF_ERROR(peer_ ? InTurns() : Alone());
    return std::move(out_);
  }

 private:
  Result<double> Once(std::vector<Value>* keep = nullptr) {
    if (Interrupted()) return InterruptedError();
    const auto start = Clock::now();
    Result<std::vector<Value>> results = executable_.Run(values_, symbols_);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!results.ok()) return results.status();
    if (keep) *keep = std::move(*results);
    return seconds;
  }

  Status WarmUp() {
    const auto until = Clock::now() + std::chrono::duration<double>(f_.seconds / 10);
    while (Clock::now() < until) HR_RETURN_IF_ERROR(Once().status());
    return {};
  }

  Status Alone() {
    const auto until = Clock::now() + std::chrono::duration<double>(f_.seconds);
    while (f_.runs ? static_cast<int>(out_.ours.size()) < f_.runs : out_.ours.size() < 3 || Clock::now() < until) {
      HR_ASSIGN_OR_RETURN(double t, Once());
      out_.ours.push_back(t);
    }
    return {};
  }

  // In turns of a twentieth of a second or one run, so that what else the machine does meets both. With a fixed number one
  // run each.
  Status InTurns() {
    constexpr double kTurn = 0.05;
    if (f_.runs == 0) HR_RETURN_IF_ERROR(peer_->Turn(f_.seconds / 10, 0).status());
    const auto until = Clock::now() + std::chrono::duration<double>(2 * f_.seconds);
    for (int turn = 0; f_.runs ? turn < f_.runs : turn < 3 || Clock::now() < until; ++turn) {
      Times ours;
      if (f_.runs > 0 && turn == 0) ours.push_back(out_.first);
      const auto end = Clock::now() + std::chrono::duration<double>(kTurn);
      while (ours.empty() || (f_.runs == 0 && Clock::now() < end)) {
        HR_ASSIGN_OR_RETURN(double t, Once());
        ours.push_back(t);
      }
      HR_ASSIGN_OR_RETURN(Times theirs, peer_->Turn(kTurn, f_.runs ? 1 : 0));
      out_.ratios.push_back(Quantile(ours, 0.5) / Quantile(theirs, 0.5));
      if (f_.runs == 0 || turn > 0) out_.ours.insert(out_.ours.end(), ours.begin(), ours.end());
      out_.theirs.insert(out_.theirs.end(), theirs.begin(), theirs.end());
    }
    return {};
  }

  const BenchFlags& f_;
  Executable& executable_;
  const NamedValues& values_;
  const NamedSizes& symbols_;
  Peer* peer_;
  Measured out_;
};

nlohmann::json ToJson(const BenchFlags& f, const Opened& opened, const Measured& t, const Peer* peer) {
  nlohmann::json j;
  j["model"] = f.model.model, j["backend"] = f.model.backend, j["runs"] = t.ours.size();
  j["median_seconds"] = Quantile(t.ours, 0.5), j["p90_seconds"] = Quantile(t.ours, 0.9);
  j["p99_seconds"] = Quantile(t.ours, 0.99), j["min_seconds"] = Quantile(t.ours, 0);
  j["first_run_seconds"] = t.first, j["load_seconds"] = opened.load_seconds;
  j["compile_seconds"] = opened.compile_seconds, j["peak_memory_bytes"] = PeakBytes();
  if (!opened.request.plan.empty()) j["plan"] = Print(opened.request.plan);
  if (t.batch) {
    j["batch_size"] = *t.batch;
    j["items_per_second"] = static_cast<double>(*t.batch) / Quantile(t.ours, 0.5);
  }
  for (const auto& [name, value] : opened.executable->Report())
    j["report"][name] = IsTime(name) ? nlohmann::json(value) : nlohmann::json(static_cast<int64_t>(value));
  if (peer) {
    j["compared"] = {{"runtime", f.compare},
                     {"version", peer->version()},
                     {"runs", t.theirs.size()},
                     {"median_seconds", Quantile(t.theirs, 0.5)},
                     {"min_seconds", Quantile(t.theirs, 0)},
                     {"ratio", Quantile(t.ratios, 0.5)}};
  }
  return j;
}

void PrintTimes(const BenchFlags& f, const Opened& opened, const Measured& t, const Peer* peer) {
  const auto at = [&](double q) { return HumanSeconds(Quantile(t.ours, q)); };
  printf("median      %s   (min %s, p90 %s, p99 %s; %zu runs)\n", at(0.5).c_str(), at(0).c_str(), at(0.9).c_str(),
         at(0.99).c_str(), t.ours.size());
  if (t.batch)
    printf("throughput  %.4g items/s   (%lld in a run)\n", static_cast<double>(*t.batch) / Quantile(t.ours, 0.5),
           static_cast<long long>(*t.batch));
  if (peer) {
    const double ratio = Quantile(t.ratios, 0.5);
    printf("%-11s %s   (%s %s; %zu runs in turns)\n", "compared", HumanSeconds(Quantile(t.theirs, 0.5)).c_str(),
           f.compare.c_str(), peer->version().c_str(), t.theirs.size());
    printf("ratio       %.3g   (%.3g times %s as %s)\n", ratio, ratio <= 1 ? 1 / ratio : ratio,
           ratio <= 1 ? "as fast" : "as long", f.compare.c_str());
  }
  if (!opened.request.plan.empty()) printf("plan        %s   (--plan none: without)\n", f.model.plan == "auto" ? "kept" : f.model.plan.c_str());
  printf("first run   %s\n", HumanSeconds(t.first).c_str());
  printf("compile     %s   (reading and checking %s)\n", HumanSeconds(opened.compile_seconds).c_str(),
         HumanSeconds(opened.load_seconds).c_str());
  for (const auto& [name, value] : opened.executable->Report())
    printf("  %-28s%s\n", name.c_str(), Shown(name, value).c_str());
  printf("peak memory %s\n", HumanBytes(static_cast<double>(PeakBytes())).c_str());
}

Status Bench(const BenchFlags& f, const Common& c) {
  if (f.profile) HR_RETURN_IF_ERROR(f.model.WantModel("profiled"));
  Registry r;
  HR_RETURN_IF_ERROR(OpenRegistry(r, c));
  auto early = std::make_shared<EarlyValues>(r, f.inputs);
  HR_ASSIGN_OR_RETURN(Opened opened, OpenModel(r, f.model, c, [early](const std::string& name, int index) {
    return (*early)(name, index);
  }));
  const ImportedModel& m = opened.model.model;
  HR_ASSIGN_OR_RETURN(NamedValues values, ReadInputs(m, f.inputs));
  FitValues(m.program, values);
  HR_ASSIGN_OR_RETURN(NamedSizes sizes, f.model.Sizes());
  std::vector<std::string> notes;
  HR_RETURN_IF_ERROR(FillInputs(m.program, f.seed, sizes, values, &notes));
  for (const std::string& n : notes) Note(c.out, "note: " + n);
  HR_RETURN_IF_ERROR(CheckAssumed(m, values));
  const NamedSizes symbols = SizesOf(m.program.Entry(), sizes);
  std::unique_ptr<Peer> peer;
  if (!f.compare.empty()) {
    HR_ASSIGN_OR_RETURN(auto given, PeerInputs(f.model, opened.model, values, f.compare));
    HR_ASSIGN_OR_RETURN(peer, Peer::Start({f.compare, f.model.model, std::move(given), f.model.threads}));
  }
  EndProgress(c.out);  // nothing is drawn while time is taken
  HR_ASSIGN_OR_RETURN(Measured t, Bencher(f, *opened.executable, values, symbols, peer.get()).Run());
  std::optional<ProgramProfile> profile;
  if (f.profile) {
    CompileRequest request = opened.request;
    request.options.progress = nullptr, request.warn = nullptr;
    HR_ASSIGN_OR_RETURN(profile, ProfileProgram(r, m.program, request, values, symbols, f.seconds));
  }
  if (c.out.json) {
    nlohmann::json j = ToJson(f, opened, t, peer.get());
    if (profile) j["profile"] = ProfileJson(*profile);
    PrintJson(j);
  } else {
    PrintTimes(f, opened, t, peer.get());
    if (profile) PrintProfile(*profile);
  }
  return {};
}

int RunBench(const BenchFlags& f, const CLI::App& app, const Common& c) {
  Status s = NoEffect(app, "--seconds", f.runs == 0, "--runs says how many runs there are");
  if (s.ok()) s = Bench(f, c);
  return s.ok() ? static_cast<int>(kExitOk) : Fail(c.out, s);
}

}  // namespace

Runner AddBench(CLI::App& app, Common& c) {
  auto f = std::make_shared<BenchFlags>();
  f->model.AddTo(app, ModelFlags::kArtifactsToo);
  app.add_option("--input", f->inputs,
                 "NAME=VALUE: @FILE.npy, @FILE.npz, @FILE.npz:ARRAY, 3, [0,1] (repeatable); others are random, seeded")
      ->allow_extra_args(false);
  f->model.AddPipelineTo(app);
  f->model.AddPlanTo(app);
  app.add_option("--seconds", f->seconds, "time to measure for")->capture_default_str()->check(Number(false));
  app.add_option("--runs", f->runs, "this many runs, without a warm-up")->check(Number(false));
  app.add_option("--compare", f->compare, "onnxruntime, torch, reference: time it as well, in turns with ours; the ratio")
      ->check(OneOf({"onnxruntime", "torch", "reference"}));
  app.add_flag("--profile", f->profile, "time, traffic and operations of each statement, by where it came from in the model");
  app.add_option("--seed", f->seed, "seed of random inputs")->capture_default_str()->check(Number(true));
  return [f, &app, &c] { return RunBench(*f, app, c); };
}

}  // namespace headrace
