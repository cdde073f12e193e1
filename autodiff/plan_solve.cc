#include <algorithm>
#include <numeric>

#include "autodiff/plan_model.h"
#include "autodiff/plan_problem.h"

namespace headrace::autodiff {
namespace {

constexpr int kMostVariables = 1500;  // beyond, only the starting plans are improved
constexpr int kExactVariables = 24;   // up to here solutions that don't fit are forbidden one by one
constexpr int kMostFlips = 400;

class Solver {
 public:
  Solver(const PlanModel& m, int64_t limit) : m_(m), limit_(limit) {}

  Solution Run() {
    Try(DefaultChoice(m_));
    if (best_.feasible) {
      best_.solver = "none needed";
      best_.minimum = best_.arena;
      return best_;
    }
    Try(RecomputeAllChoice(m_));
    for (int parts : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48}) Try(Checkpoints(parts));
    if (!best_.feasible) Lower(smallest_, limit_);
    if (best_.feasible) Improve();
    Exact();
    if (best_.feasible) Improve();
    best_.minimum = minimum_;
    return best_;
  }

 private:
  // Notes the choice if it is the best so far; true when it fits.
  bool Try(const Choice& c) {
    Timeline t = Evaluate(m_, c);
    if (t.peak > limit_ && minimum_ >= 0 && t.peak >= minimum_) return false;
    const int64_t arena = ArenaOf(t);
    if (minimum_ < 0 || arena < minimum_) {
      minimum_ = arena;
      smallest_ = c;
    }
    const bool fits = arena <= limit_;
    if (fits && (!best_.feasible || t.extra_work < best_.timeline.extra_work)) {
      best_.choice = c;
      best_.timeline = std::move(t);
      best_.arena = arena;
      best_.feasible = true;
    }
    return fits;
  }

  // Keeps what crosses `parts` evenly spaced places of the forward part, each moved to the narrowest place near it.
  Choice Checkpoints(int parts) const {
    std::vector<int64_t> crossing(m_.forward + 1, 0), made(m_.forward + 1, 0);
    std::vector<std::pair<int, int>> span(m_.values.size());
    for (size_t v = 0; v < m_.values.size(); ++v)
      for (int u : m_.values[v].producers)  // ascending; the backward part may write it once more
        if (u < m_.forward) span[v] = {u, u};
    for (int u = 0; u < m_.forward; ++u)
      for (int a : m_.units[u].reads)
        if (const int v = m_.arrays[a].value; v >= 0) span[v].second = std::max(span[v].second, u);
    for (size_t v = 0; v < m_.values.size(); ++v) {
      made[span[v].first] += m_.values[v].bytes;
      for (int u = span[v].first; u < span[v].second; ++u) crossing[u] += m_.values[v].bytes;
    }
    const int64_t all = std::accumulate(made.begin(), made.end(), int64_t{0});
    std::vector<int> places;
    int64_t sum = 0;
    for (int u = 0, next = 1; u < m_.forward; ++u) {
      sum += made[u];
      if (next < parts && sum >= all / parts * next) places.push_back(u), ++next;
    }
    Choice c = RecomputeAllChoice(m_);
    const int window = std::max(1, m_.forward / (3 * parts));
    for (int place : places) {
      int at = place;
      for (int u = std::max(0, place - window); u <= std::min(m_.forward - 1, place + window); ++u)
        if (crossing[u] < crossing[at]) at = u;
      for (size_t v = 0; v < m_.values.size(); ++v)
        if (span[v].first <= at && at < span[v].second && !m_.values[v].cheap) c[v] = Fate::kKeep;
    }
    return c;
  }

  // Flips the value that lowers the peak most, until it fits or nothing helps.
  void Lower(Choice c, int64_t limit) {
    Timeline t = Evaluate(m_, c);
    for (int flips = 0; flips < kMostFlips && t.peak > limit;) {
      int which = -1;
      Timeline better = t;
      for (size_t v = 0; v < c.size() && flips < kMostFlips; ++v) {
        if (!m_.values[v].recomputable || m_.values[v].cheap) continue;
        ++flips;
        Choice d = c;
        d[v] = d[v] == Fate::kKeep ? Fate::kOnce : Fate::kKeep;
        Timeline u = Evaluate(m_, d);
        if (u.peak < better.peak) better = std::move(u), which = static_cast<int>(v);
      }
      if (which < 0) break;
      c[which] = c[which] == Fate::kKeep ? Fate::kOnce : Fate::kKeep;
      t = std::move(better);
      Try(c);
    }
  }

  // Keeps what can be kept after all, the most work per byte first.
  void Improve() {
    std::vector<int> order;
    for (size_t v = 0; v < m_.values.size(); ++v)
      if (best_.choice[v] != Fate::kKeep && m_.values[v].bytes > 0) order.push_back(static_cast<int>(v));
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return m_.values[a].work * static_cast<double>(m_.values[b].bytes) >
             m_.values[b].work * static_cast<double>(m_.values[a].bytes);
    });
    for (int v : order) {
      Choice c = best_.choice;
      c[v] = Fate::kKeep;
      Try(c);
    }
  }

  void Exact() {
    PlanProblem problem(m_);
    const int n = problem.variables();
    if (n == 0 || n > kMostVariables) {
      best_.solver = n == 0 ? "nothing to decide"
                            : "too large for HiGHS (" + std::to_string(n) + " values): checkpoints, improved";
      return;
    }
    const bool small = n <= kExactVariables;
    if (!best_.feasible) {
      // Can it be done at all? Of large problems the smallest plan found so far has to do.
      for (int round = 0; round < (small ? 200 : 0) && !best_.feasible; ++round) {
        const auto least = problem.Solve(-1, &smallest_);
        if (!least.found || (least.optimal && least.bytes >= static_cast<double>(minimum_) * (1 - 1e-6))) break;
        Try(least.choice);
        problem.Forbid(least.choice);
      }
      if (!best_.feasible) {
        best_.solver = "no plan within the limit";
        return;
      }
      Improve();
    }
    int64_t aim = limit_, nodes = 0;
    bool proven = false, answered = false;
    for (int round = 0; round < (small ? 2000 : 3); ++round) {
      const auto a = problem.Solve(aim, &best_.choice);
      nodes += a.nodes;
      answered |= a.found || a.infeasible;
      if (!a.found) {
        proven = a.infeasible && aim == limit_;  // all that would fit have been seen
        break;
      }
      if (a.optimal && a.work >= problem.WorkOf(best_.choice) - 1e-9) {
        proven = aim == limit_;  // nothing better is left
        break;
      }
      if (Try(a.choice)) {
        proven = a.optimal && aim == limit_;
        break;
      }
      if (small) problem.Forbid(a.choice);
      else aim -= std::max(ArenaOf(Evaluate(m_, a.choice)) - limit_, limit_ / 200);
      if (aim <= 0) break;
    }
    best_.solver = std::string("HiGHS: ") +
                   (proven     ? "optimal"
                    : answered ? "node limit"
                               : "no answer, checkpoints improved") +
                   ", " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes") + ", " + std::to_string(n) +
                   " values";
  }

  const PlanModel& m_;
  const int64_t limit_;
  Solution best_;
  Choice smallest_;
  int64_t minimum_ = -1;
};

}  // namespace

Solution SolvePlan(const PlanModel& m, int64_t limit) { return Solver(m, limit).Run(); }

}  // namespace headrace::autodiff
