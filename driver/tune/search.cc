#include "driver/tune/search.h"

#include <algorithm>
#include <optional>
#include <set>

namespace headrace::tune {
namespace {

constexpr double kClearly = 0.97;     // of the time: less than measuring twice would give by chance
constexpr double kAtAll = 0.99;       // what a plan as a whole must save to be one
constexpr int kFinally = 4;           // times as long as a trial, for what is kept
constexpr double kShareOfChoices = 0.4;  // of the time, for what is chosen for the whole program
constexpr double kWorthTuning = 0.01; // of the whole time, or a kernel is left alone

Plan Together(const Plan& a, const Plan& b) {
  Plan out = a;
  for (const std::string& pass : b.without)
    if (std::find(out.without.begin(), out.without.end(), pass) == out.without.end()) out.without.push_back(pass);
  out.implementations.insert(out.implementations.end(), b.implementations.begin(), b.implementations.end());
  if (b.threads > 0) out.threads = b.threads;
  return out;
}

Plan WithoutKernels(Plan p) {
  p.kernels.clear();
  return p;
}

Plan::Numbers Changed(Plan::Numbers numbers, const Candidate& c) {
  for (auto& [name, value] : numbers)
    if (name == c.number) {
      value = c.value;
      return numbers;
    }
  numbers.emplace_back(c.number, c.value);
  return numbers;
}

std::string Text(const Plan::Numbers& numbers) {
  std::string text;
  for (const auto& [name, value] : numbers) text += (text.empty() ? "" : ", ") + name + " " + std::to_string(value);
  return text;
}

// A kernel on its way through the candidates.
struct Tuned {
  std::string key;
  double seconds = 0;
  Plan::Numbers numbers, trying;
  double ratio = 1;             // to the reference, with `numbers`
  size_t next = 0;              // among the candidates
  std::set<std::string> known;  // schedules that were tried
};

class Searcher {
 public:
  Searcher(Workbench& bench, const Say& say) : bench_(bench), say_(say) {}

  Result<Found> Run(const Plan& start, const std::vector<Choice>& choices) {
    HR_RETURN_IF_ERROR(UntilStopped(ChooseWhole(WithoutKernels(start), choices)));
    HR_RETURN_IF_ERROR(UntilStopped(TuneKernels(start)));
    const bool told = bench_.Finish();
    Result<Found> found = Best(start);
    if (found.ok() || told || found.status().kind() != ErrorKind::kInterrupted) return found;
    bench_.Finish();  // the first Ctrl-C ends the search, also where that has just ended by itself
    compared_.clear();
    return Best(start);
  }

 private:
  // What was found, measured once more.
  Result<Found> Best(const Plan& start) {
    Plan best = whole_;
    HR_ASSIGN_OR_RETURN(best.kernels, Confirmed());
    HR_RETURN_IF_ERROR(bench_.SetReference({}));
    for (const Plan& p : {best, whole_, start}) {  // a search that was ended early has not come to all of the last
      HR_ASSIGN_OR_RETURN(const bool good, IsGood(p));
      if (good) return std::move(out_);
    }
    out_.plan = {};
    out_.kernels.clear();
    return std::move(out_);
  }

  void Tell(const std::string& now) const {
    double saved = 0;
    for (const Tuned& t : kernels_) saved += t.seconds * (1 - t.ratio);
    say_(now, 1 / (whole_ratio_ * (1 - (all_seconds_ > 0 ? saved / all_seconds_ : 0))));
  }

  // A search that was told to stop has done what it could.
  Status UntilStopped(const Status& s) const { return !s.ok() && s.kind() == ErrorKind::kInterrupted && bench_.Stop() ? Status() : s; }

  // nullopt: the program can't be made so; wrong values are an error.
  Result<std::optional<Trial>> Try(const Plan& p, int times = 1) {
    ++out_.tries;
    Result<Trial> t = bench_.Try(p, times);
    if (t.ok()) return std::optional<Trial>(std::move(*t));
    if (t.status().kind() == ErrorKind::kMismatch || t.status().kind() == ErrorKind::kInterrupted) return t.status();
    Tell("failed: " + t.status().message());
    return std::optional<Trial>();
  }

  Status ChooseWhole(const Plan& start, const std::vector<Choice>& choices) {
    std::vector<Choice> all = choices;
    if (!start.empty()) all.insert(all.begin(), {"the plan so far", start});
    HR_RETURN_IF_ERROR(bench_.SetReference({}));
    for (const Choice& c : all) {
      if (bench_.Stop(kShareOfChoices)) break;
      const Plan p = Together(whole_, c.plan);
      const Result<bool> differs = bench_.Differs(p);
      if (!differs.ok() && differs.status().kind() == ErrorKind::kInterrupted) return differs.status();
      if (!differs.ok() || !*differs) continue;  // an implementation that serves no such node
      Tell(c.what);
      HR_ASSIGN_OR_RETURN(const std::optional<Trial> t, Try(p));
      if (!t || t->whole.Ratio() >= kClearly * whole_ratio_) continue;
      whole_ = p, whole_ratio_ = t->whole.Ratio();
    }
    return {};
  }

  Status TuneKernels(const Plan& start) {
    HR_RETURN_IF_ERROR(bench_.SetReference(whole_));
    HR_RETURN_IF_ERROR(CollectKernels(start));
    return Rounds();
  }

  Status CollectKernels(const Plan& start) {
    HR_ASSIGN_OR_RETURN(auto seconds, bench_.KernelSeconds());
    for (const auto& [key, s] : seconds) all_seconds_ += s;
    for (const auto& [key, s] : seconds) {
      if (s < kWorthTuning * all_seconds_) continue;
      Tuned t;
      t.key = key, t.seconds = s;
      if (const Plan::Kernel* k = start.Find(key)) t.trying = k->numbers;
      HR_ASSIGN_OR_RETURN(const std::string schedule, bench_.Schedule(key, {}));
      t.known.insert(schedule);
      kernels_.push_back(std::move(t));
    }
    std::stable_sort(kernels_.begin(), kernels_.end(), [](const Tuned& a, const Tuned& b) { return a.seconds > b.seconds; });
    return {};
  }

  // The next numbers that give the kernel a schedule that it has not had; false: there are none.
  Result<bool> Advance(Tuned* t) {
    if (!t->trying.empty() && t->next == 0) {  // those to start with
      HR_ASSIGN_OR_RETURN(const std::string schedule, bench_.Schedule(t->key, t->trying));
      if (t->known.insert(schedule).second) return true;
    }
    while (t->next < Candidates().size() && !bench_.Stop()) {
      t->trying = Changed(t->numbers, Candidates()[t->next++]);
      HR_ASSIGN_OR_RETURN(const std::string schedule, bench_.Schedule(t->key, t->trying));
      if (t->known.insert(schedule).second) return true;
    }
    t->trying.clear();
    return false;
  }

  // Each round is one program in which all kernels try something.
  Status Rounds() {
    while (!bench_.Stop()) {
      Plan p = whole_;
      const Tuned* first = nullptr;
      for (Tuned& t : kernels_) {
        HR_ASSIGN_OR_RETURN(const bool more, Advance(&t));
        if (bench_.Stop()) return {};
        if (!more) continue;
        if (!first) first = &t;
        p.kernels.push_back({t.key, t.trying, bench_.NameOf(t.key)});
      }
      if (p.kernels.empty()) return {};
      const std::string others = p.kernels.size() > 1 ? ", and " + std::to_string(p.kernels.size() - 1) + " more" : "";
      Tell(bench_.NameOf(first->key) + ": " + Text(first->trying) + others);
      HR_ASSIGN_OR_RETURN(const std::optional<Trial> trial, Try(p));
      if (!trial) continue;
      for (Tuned& t : kernels_) Judge(trial->kernels, &t);
    }
    return {};
  }

  static void Judge(const std::map<std::string, Pair>& measured, Tuned* t) {
    const auto it = measured.find(t->key);
    if (t->trying.empty() || it == measured.end() || it->second.Ratio() >= kClearly * t->ratio) return;
    t->numbers = t->trying, t->ratio = it->second.Ratio();
  }

  // The best numbers of all kernels in one program; those that are faster again.
  Result<std::vector<Plan::Kernel>> Confirmed() {
    Plan p = whole_;
    for (const Tuned& t : kernels_)
      if (!t.numbers.empty()) p.kernels.push_back({t.key, t.numbers, bench_.NameOf(t.key)});
    if (p.kernels.empty()) return p.kernels;
    Tell("the best of all, once more");
    HR_ASSIGN_OR_RETURN(const std::optional<Trial> again, Try(p, kFinally));
    std::vector<Plan::Kernel> kept;
    for (const Plan::Kernel& k : p.kernels) {
      if (!again) break;
      const auto it = again->kernels.find(k.key);
      if (it == again->kernels.end() || it->second.Ratio() >= kClearly) continue;
      kept.push_back(k);
      out_.kernels[k.key] = it->second;
    }
    return kept;
  }

  Result<bool> IsGood(const Plan& p) {
    if (p.empty() || !compared_.insert(Print(p)).second) return false;
    Tell("the plan, against none");
    HR_ASSIGN_OR_RETURN(const std::optional<Trial> t, Try(p, kFinally));
    if (!t || t->whole.Ratio() >= kAtAll) return false;
    out_.plan = p, out_.whole = t->whole;
    std::map<std::string, Pair> measured;
    for (const Plan::Kernel& k : p.kernels) {
      if (out_.kernels.count(k.key)) measured[k.key] = out_.kernels.at(k.key);
      else if (t->kernels.count(k.key)) measured[k.key] = t->kernels.at(k.key);
    }
    out_.kernels = std::move(measured);
    return true;
  }

  Workbench& bench_;
  const Say& say_;
  Found out_;
  std::set<std::string> compared_;  // plans as a whole, against none
  Plan whole_;  // the choices for the whole program
  double whole_ratio_ = 1, all_seconds_ = 0;  // with them, to the time without; of all kernels then
  std::vector<Tuned> kernels_;
};

}  // namespace

Workbench::~Workbench() = default;

double Pair::Reference() const { return std::min(reference[0], reference[1]); }
double Pair::Tried() const { return std::min(tried[0], tried[1]); }
double Pair::Ratio() const { return std::max(tried[0] / reference[0], tried[1] / reference[1]); }

Result<Found> Search(Workbench& bench, const Plan& start, const std::vector<Choice>& choices, const Say& say) {
  return Searcher(bench, say).Run(start, choices);
}

}  // namespace headrace::tune
