#include "autodiff/plan.h"

#include <algorithm>

#include "autodiff/plan_checkpoint.h"
#include "autodiff/plan_model.h"
#include "autodiff/plan_rewrite.h"

namespace headrace::autodiff {
namespace {

std::string Bytes(int64_t n) {
  static const char* const kUnits[] = {"bytes", "KiB", "MiB", "GiB"};
  double v = static_cast<double>(n);
  int u = 0;
  for (; v >= 1024 && u < 3; ++u) v /= 1024;
  char text[64];
  snprintf(text, sizeof text, u == 0 ? "%.0f %s" : "%.2f %s", v, kUnits[u]);
  return u == 0 ? text : std::string(text) + " (" + std::to_string(n) + " bytes)";
}

Status Fits(const Timeline& t, const Options& o) {
  const int64_t arena = o.memory_limit ? ArenaOf(t) : 0;
  return arena > o.memory_limit.value_or(0) ? LimitTooSmall(*o.memory_limit, arena) : Status();
}

bool Names(const std::vector<Name>& names, const PlanModel& m, const PlannedValue& v) {
  return std::any_of(v.members.begin(), v.members.end(),
                     [&](int a) { return std::count(names.begin(), names.end(), m.arrays[a].name) > 0; });
}

std::string Reason(const PlanModel& m, const PlannedValue& v, Fate fate, bool copied, const Options& o) {
  if (Names(copied ? o.recompute : o.store, m, v)) return copied ? "recomputed: as asked for" : "kept: as asked for";
  if (fate != Fate::kKeep && copied) {
    if (o.keep == Keep::kRecomputeAll) return "recomputed: everything is";
    if (v.cheap) return "recomputed: elementwise from values that are there";
    return o.memory_limit ? "recomputed: to stay within the memory limit" : "recomputed: little work for its size";
  }
  for (int a : v.members)
    if (m.arrays[a].tape) return "kept: values that are overwritten";
  if (!v.recomputable) return "kept: what it is computed from does not last";
  return "kept: read by the backward part";
}

void FillReport(const PlanModel& m, const Choice& choice, const Schedule& s, const Timeline& t, const Options& o,
                Report* report) {
  for (size_t v = 0; v < m.values.size(); ++v) {
    const PlannedValue& value = m.values[v];
    const bool copied = !s.generations[v].empty();
    if (value.uses.empty() && !copied) continue;
    for (int a : value.members) {
      if (!m.arrays[a].arena) continue;
      bool read = false;
      for (int u : value.uses) read |= std::count(m.units[u].reads.begin(), m.units[u].reads.end(), a) > 0;
      if (!read && !copied) continue;
      report->items.push_back({m.arrays[a].name, Reason(m, value, choice[v], copied, o), m.arrays[a].bytes, copied});
    }
  }
  report->predicted_peak = m.guessed.empty() ? ArenaOf(t) : 0;
  const Timeline kept = Evaluate(m, Choice(m.values.size(), Fate::kKeep));
  report->recompute_work = m.forward_work > 0 ? std::max(0.0, t.extra_work - kept.extra_work) / m.forward_work : 0;
}

constexpr int64_t kLargeBytes = 8 << 20;
constexpr double kWorkPerByte = 128, kMostWork = 0.25;  // the latter: of the forward part's, all together

// Values that little work makes again for their size, from what is there anyway: the weights of an attention, which are larger than
// what they come from. Products with parameters are none: they do much for each element.
class LargeValues {
 public:
  LargeValues(const PlanModel& m, Choice* choice) : m_(m), choice_(*choice) {}

  void Recompute() {
    double left = kMostWork * m_.forward_work;
    for (size_t v = 0; v < m_.values.size(); ++v) {
      const PlannedValue& value = m_.values[v];
      if (choice_[v] != Fate::kKeep || value.uses.empty() || value.bytes < kLargeBytes) continue;
      std::vector<int> again;
      double work = 0;
      if (!Add(static_cast<int>(v), &again, &work)) continue;
      if (work > left || work > kWorkPerByte * static_cast<double>(value.bytes)) continue;
      left -= work;
      for (int a : again) choice_[static_cast<size_t>(a)] = Fate::kOnce;
    }
  }

 private:
  // The value, and all that it needs and that is not there.
  bool Add(int v, std::vector<int>* again, double* work) const {
    if (std::count(again->begin(), again->end(), v) > 0) return true;
    const PlannedValue& value = m_.values[static_cast<size_t>(v)];
    if (!value.recomputable || again->size() >= kMostAgain) return false;
    for (int u : value.producers) {
      const Unit& unit = m_.units[static_cast<size_t>(u)];
      for (int a : unit.reads)
        if (!unit.elementwise && m_.arrays[static_cast<size_t>(a)].value < 0) return false;
    }
    again->push_back(v), *work += value.work;
    return std::all_of(value.inputs.begin(), value.inputs.end(), [&](int i) { return IsThere(i) || Add(i, again, work); });
  }
  bool IsThere(int v) const {
    const PlannedValue& value = m_.values[static_cast<size_t>(v)];
    const bool outside = std::none_of(value.members.begin(), value.members.end(),
                                      [&](int a) { return m_.arrays[static_cast<size_t>(a)].arena; });
    return outside || !value.uses.empty();
  }

  static constexpr size_t kMostAgain = 8;
  const PlanModel& m_;
  Choice& choice_;
};

constexpr size_t kMostLoops = 3;  // beyond, the loops with the largest tapes

// Loops in segments are tried in every combination, each with the best plan for the rest.
Result<Solution> SolveWithin(int64_t limit, const Options& o, const Registry& r, Combined* c, PlanModel* m,
                             Report* report) {
  Solution best = SolvePlan(*m, limit);
  report->minimum_peak = best.minimum;
  std::vector<TapedLoop> loops;
  if (!best.feasible || best.solver != "none needed") loops = FindTapedLoops(*c, o);
  std::stable_sort(loops.begin(), loops.end(), [](const TapedLoop& a, const TapedLoop& b) {
    return a.tape_bytes * a.trips > b.tape_bytes * b.trips;
  });
  if (loops.size() > kMostLoops) loops.resize(kMostLoops);
  const Combined plain = *c;
  auto work_of = [&](const PlanModel& model, BlockId block) {
    for (const Unit& u : model.units)
      if (!u.node.valid() && u.block == block) return u.work;
    return 0.0;
  };
  const PlanModel plain_model = *m;
  for (int which = 1; which < 1 << loops.size(); ++which) {
    Combined cut = plain;
    double again = 0;
    for (size_t k = 0; k < loops.size(); ++k) {
      if (!(which >> k & 1)) continue;
      CheckpointLoop(&cut, loops[k], BestSegment(loops[k]));
      again += work_of(plain_model, loops[k].forward);
    }
    PlanModel model = BuildPlanModel(cut, o, r);
    Solution s = SolvePlan(model, limit);
    report->minimum_peak = std::min(report->minimum_peak, s.minimum);
    s.timeline.extra_work += again;
    if (!s.feasible || (best.feasible && best.timeline.extra_work <= s.timeline.extra_work)) continue;
    s.solver += "; loops in segments: " + std::to_string(__builtin_popcount(static_cast<unsigned>(which)));
    best = std::move(s);
    *c = std::move(cut);
    *m = std::move(model);
  }
  if (!best.feasible) return LimitTooSmall(limit, report->minimum_peak);
  return best;
}

Status LimitNeedsSizes(const std::vector<Name>& sizes) {
  const auto listed = [&](const char* before, const char* after, const char* between) {
    std::string text;
    for (Name n : sizes) text += (text.empty() ? "" : between) + std::string(before) + n.str() + after;
    return text;
  };
  return UsageError("E0811", std::string("a memory limit needs the value of ") + (sizes.size() == 1 ? "size " : "sizes ") + listed("", "", ", "),
                    "say what to weigh bytes for: sizes={" + listed("\"", "\": 32", ", ") + "} in Python, " + listed("--dim ", "=32", " ") +
                        " at the command, sizes=\"" + listed("", "=32", ", ") + "\" of the pass; other values may be run afterwards");
}

Status Refused(const char* option, Name n, const std::string& why) {
  return UsageError("E0812", std::string("backward: option ") + option + " names '" + n.str() + "', " + why);
}

// What the caller decided about single arrays.
Status Decide(const Options& o, const PlanModel& m, Choice* choice) {
  for (const bool store : {true, false})
    for (Name n : store ? o.store : o.recompute) {
      const char* option = store ? "store" : "recompute";
      const auto array = std::find_if(m.arrays.begin(), m.arrays.end(), [&](const PlannedArray& a) { return a.name == n; });
      if (array == m.arrays.end() || array->value < 0) return Refused(option, n, "which is no array that the forward part computes");
      const PlannedValue& v = m.values[static_cast<size_t>(array->value)];
      if (!store && Names(o.store, m, v)) return Refused(option, n, "which is computed together with one that is to be stored");
      if (!store && !v.recomputable) return Refused(option, n, "which can't be computed again: what it is computed from does not last");
      (*choice)[static_cast<size_t>(array->value)] = store ? Fate::kKeep : Fate::kOnce;
    }
  return {};
}

}  // namespace

Status LimitTooSmall(int64_t limit, int64_t minimum) {
  Diagnostic d;
  d.kind = ErrorKind::kUnsupported;
  d.code = "E0815";
  d.message = "the memory limit of " + Bytes(limit) + " is below the minimum of " + Bytes(minimum);
  d.hint = "tape and workspace need that much with everything recomputed that helps; raise the limit to at least " +
           std::to_string(minimum);
  return Status(std::move(d));
}

Status PlanMemory(Combined* c, const Options& o, const Registry& r, Report* report) {
  SinkFills(c);
  if (o.keep == Keep::kRecomputeAll)
    for (const TapedLoop& l : FindTapedLoops(*c, o)) CheckpointLoop(c, l, std::max<int64_t>(2, BestSegment(l)));
  PlanModel m = BuildPlanModel(*c, o, r);
  if (o.memory_limit && !m.guessed.empty())
    return LimitNeedsSizes(m.guessed);
  Solution solution;
  if (o.keep == Keep::kSolve && o.memory_limit) {
    HR_ASSIGN_OR_RETURN(solution, SolveWithin(*o.memory_limit, o, r, c, &m, report));
  } else {
    solution.choice = o.keep == Keep::kStoreAll       ? Choice(m.values.size(), Fate::kKeep)
                      : o.keep == Keep::kRecomputeAll ? RecomputeAllChoice(m)
                                                      : DefaultChoice(m);
    if (o.keep == Keep::kSolve) LargeValues(m, &solution.choice).Recompute();
    solution.timeline = Evaluate(m, solution.choice);
    solution.solver = "none needed";
    HR_RETURN_IF_ERROR(Fits(solution.timeline, o));
  }
  if (!o.store.empty() || !o.recompute.empty()) {
    HR_RETURN_IF_ERROR(Decide(o, m, &solution.choice));
    solution.timeline = Evaluate(m, solution.choice);
    HR_RETURN_IF_ERROR(Fits(solution.timeline, o));
  }
  const Schedule schedule = MakeSchedule(m, solution.choice);
  report->solver = solution.solver;
  FillReport(m, solution.choice, schedule, solution.timeline, o, report);
  ApplySchedule(m, schedule, solution.timeline, c);
  const bool copies =
      std::any_of(schedule.steps.begin(), schedule.steps.end(), [](const Step& step) { return step.value >= 0; });
  if (copies || o.memory_limit) SetApart(c);
  return {};
}

}  // namespace headrace::autodiff
