#include <algorithm>

#include "autodiff/plan_model.h"

namespace headrace::autodiff {
namespace {

// Uses of a cheap value that are no further apart share a copy; units that only fill arrays don't count.
constexpr int kNeighbours = 3;

// Numbers originals and copies: array a is a; member k of copy g of value v comes after all arrays.
class Instances {
 public:
  Instances(const PlanModel& m, const Schedule& s)
      : m_(m), s_(s), position_(m.arrays.size(), 0), first_(m.values.size(), 0) {
    count_ = static_cast<int>(m.arrays.size());
    for (size_t v = 0; v < m.values.size(); ++v) {
      for (size_t k = 0; k < m.values[v].members.size(); ++k) position_[m.values[v].members[k]] = static_cast<int>(k);
      first_[v] = count_;
      count_ += static_cast<int>(s.generations[v].size() * m.values[v].members.size());
    }
  }
  int count() const { return count_; }
  int Copy(int array, int value, int generation) const {
    return first_[value] + generation * static_cast<int>(m_.values[value].members.size()) + position_[array];
  }
  // What a step finds under an array's name.
  int Read(const Step& step, int array) const {
    const int v = m_.arrays[array].value;
    if (v < 0 || step.at < m_.forward) return array;
    if (v == step.value) return Copy(array, v, step.generation);
    if (!m_.arrays[array].arena) return array;
    const int g = s_.Copy(v, step.at);
    return g < 0 ? array : Copy(array, v, g);
  }
  int Write(const Step& step, int array) const {
    return step.value >= 0 ? Copy(array, step.value, step.generation) : array;
  }

 private:
  const PlanModel& m_;
  const Schedule& s_;
  std::vector<int> position_, first_;
  int count_ = 0;
};

}  // namespace

int Schedule::Copy(int value, int at) const {
  const std::vector<Generation>& list = generations[value];
  for (size_t g = list.size(); g-- > 0;)
    if (list[g].start <= at) return static_cast<int>(g);
  return -1;
}

Schedule MakeSchedule(const PlanModel& m, const Choice& c) {
  Schedule s;
  const int n = static_cast<int>(m.values.size()), units = static_cast<int>(m.units.size());
  s.generations.resize(n);
  std::vector<int> place(units);
  for (int u = 1; u < units; ++u) place[u] = place[u - 1] + !m.units[u - 1].reads.empty();
  std::vector<std::vector<int>> uses(n);
  std::vector<std::vector<std::pair<int, int>>> starting(units - m.forward);  // by backward unit: (value, generation)
  for (int v = n; v-- > 0;) {
    if (c[v] == Fate::kKeep || !m.values[v].recomputable) continue;
    std::vector<int>& at = uses[v];
    at.insert(at.end(), m.values[v].uses.begin(), m.values[v].uses.end());
    if (at.empty()) continue;
    std::sort(at.begin(), at.end());
    std::vector<Generation>& list = s.generations[v];
    for (int u : at) {
      if (list.empty() || (c[v] == Fate::kEach && place[u] - place[list.back().last] > kNeighbours)) list.push_back({u, u});
      list.back().last = u;
    }
    for (size_t g = 0; g < list.size(); ++g) {
      starting[list[g].start - m.forward].push_back({v, static_cast<int>(g)});
      for (int i : m.values[v].inputs) uses[i].push_back(list[g].start);
    }
  }
  s.steps.reserve(units * 2);
  for (int u = 0; u < units; ++u) {
    if (u >= m.forward) {
      auto& list = starting[u - m.forward];
      std::reverse(list.begin(), list.end());  // values in their order
      for (const auto& [v, g] : list)
        for (int producer : m.values[v].producers) s.steps.push_back({producer, u, v, g});
    }
    s.steps.push_back({u, u});
  }
  return s;
}

Timeline Evaluate(const PlanModel& m, const Schedule& s, const std::vector<bool>* without) {
  const Instances instances(m, s);
  const int steps = static_cast<int>(s.steps.size());
  Timeline t;
  t.dead.assign(steps, false);
  std::vector<char> needed(instances.count(), 0);
  std::vector<int> first(instances.count(), -1), last(instances.count(), -1);
  for (int i = steps; i-- > 0;) {
    const Step& step = s.steps[i];
    const Unit& u = m.units[step.unit];
    bool live = u.stays;
    for (int a : u.writes) live |= (step.value < 0 && !m.arrays[a].arena) || needed[instances.Write(step, a)];
    if (!live) {
      t.dead[i] = true;
      if (step.value < 0 && step.unit < m.forward) t.extra_work -= u.work;
      continue;
    }
    if (step.value >= 0) t.extra_work += u.work;
    auto touch = [&](int instance) {
      if (last[instance] < 0) last[instance] = i;
      first[instance] = i;
    };
    for (int a : u.reads) {
      const int instance = instances.Read(step, a);
      needed[instance] = 1;
      touch(instance);
    }
    for (int a : u.writes) touch(instances.Write(step, a));
  }
  std::vector<int64_t> change(steps + 1, 0);
  auto count = [&](int instance, int64_t bytes) {
    if (first[instance] < 0) return;
    change[first[instance]] += bytes;
    change[last[instance] + 1] -= bytes;
    t.items.push_back({first[instance], last[instance], bytes});
  };
  for (size_t a = 0; a < m.arrays.size(); ++a) {
    const int v = m.arrays[a].value;
    if (m.arrays[a].arena && !(without && v >= 0 && (*without)[v])) count(static_cast<int>(a), m.arrays[a].bytes);
  }
  for (size_t v = 0; v < m.values.size(); ++v) {
    if (without && (*without)[v]) continue;
    for (size_t g = 0; g < s.generations[v].size(); ++g)
      for (int a : m.values[v].members)
        count(instances.Copy(a, static_cast<int>(v), static_cast<int>(g)), m.arrays[a].bytes);
  }
  t.live.resize(steps);
  int64_t live = 0;
  for (int i = 0; i < steps; ++i) {
    live += change[i];
    const int64_t workspace = t.dead[i] ? 0 : m.units[s.steps[i].unit].workspace;
    if (workspace > 0) t.items.push_back({i, i, workspace});
    t.live[i] = live + workspace;
    t.peak = std::max(t.peak, t.live[i]);
  }
  return t;
}

Choice DefaultChoice(const PlanModel& m) {
  Choice c(m.values.size(), Fate::kKeep);
  for (size_t v = 0; v < c.size(); ++v)
    if (m.values[v].cheap) c[v] = Fate::kEach;
  return c;
}

Choice RecomputeAllChoice(const PlanModel& m) {
  Choice c(m.values.size(), Fate::kKeep);
  for (size_t v = 0; v < c.size(); ++v)
    if (m.values[v].recomputable) c[v] = Fate::kOnce;
  return c;
}

}  // namespace headrace::autodiff
