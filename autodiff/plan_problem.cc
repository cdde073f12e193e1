#include "autodiff/plan_problem.h"

#include <algorithm>
#include <map>

#include "interfaces/highs_c_api.h"

namespace headrace::autodiff {
namespace {

constexpr int kMostKeys = 40;
constexpr int64_t kMostNodes = 20000;
constexpr int64_t kMostEntries = 500000000;  // of the matrix, looked at: nodes or iterations times its size

// Stops HiGHS by iterations, so that the same problem ends the same way on every machine.
void StopAfter(int when, const char*, const HighsCallbackDataOut* out, HighsCallbackDataIn* in, void* budget) {
  const int64_t done = when == kHighsCallbackMipInterrupt ? out->mip_total_lp_iterations : out->simplex_iteration_count;
  if (in && done > *static_cast<const int64_t*>(budget)) in->user_interrupt = 1;
}

}  // namespace

PlanProblem::PlanProblem(const PlanModel& m) : m_(m), items_(m.values.size()) {
  Relate();
  Intervals();
}

// Who reads whom, through cheap values, and where.
void PlanProblem::Relate() {
  const int n = static_cast<int>(m_.values.size());
  const Choice defaults = DefaultChoice(m_);
  const Schedule schedule = MakeSchedule(m_, defaults);
  std::vector<std::vector<int>> inputs(n);  // dear ones
  std::vector<double> cheap_work(n, 0);
  for (int v = 0; v < n; ++v) {
    const PlannedValue& value = m_.values[v];
    Item& item = items_[v];
    item.work = value.work;
    for (int i : value.inputs) {
      if (!m_.values[i].cheap) {
        inputs[v].push_back(i);
        continue;
      }
      inputs[v].insert(inputs[v].end(), inputs[i].begin(), inputs[i].end());
      item.work += items_[i].work;
    }
    std::sort(inputs[v].begin(), inputs[v].end());
    inputs[v].erase(std::unique(inputs[v].begin(), inputs[v].end()), inputs[v].end());
    if (value.cheap)
      for (const Generation& g : schedule.generations[v])
        for (int i : inputs[v]) items_[i].uses.push_back(g.start);
    else item.uses.insert(item.uses.end(), value.uses.begin(), value.uses.end());
    item.born = value.producers.empty() ? 0 : value.producers.front();
    item.last_forward = value.producers.empty() ? -1 : value.producers.back();
  }
  for (int u = 0; u < m_.forward; ++u)
    for (int a : m_.units[u].reads)
      if (const int v = m_.arrays[a].value; v >= 0) items_[v].last_forward = std::max(items_[v].last_forward, u);
  // From the last: what the backward part reads, and what copies of that would read.
  for (int v = n; v-- > 0;) {
    Item& item = items_[v];
    const PlannedValue& value = m_.values[v];
    if (value.cheap || value.bytes == 0) continue;
    std::sort(item.uses.begin(), item.uses.end());
    if (item.uses.empty() && item.readers.empty()) continue;
    item.relevant = true;
    if (!item.uses.empty()) item.first = item.uses.front(), item.last = item.uses.back();
    if (!value.recomputable) continue;
    deciding_.push_back(v);
    for (int i : inputs[v]) items_[i].readers.push_back(v);
  }
}

void PlanProblem::Intervals() {
  for (int v : deciding_)
    if (items_[v].first >= 0) keys_.push_back(items_[v].first);
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  if (keys_.size() > kMostKeys) {
    std::vector<int> some;
    for (int i = 0; i < kMostKeys; ++i) some.push_back(keys_[keys_.size() * i / kMostKeys]);
    keys_ = std::move(some);
  }
  for (int v = static_cast<int>(items_.size()); v-- > 0;) {  // readers come later
    Item& item = items_[v];
    item.earliest = static_cast<int>(keys_.size()) + 1;
    if (item.first >= 0) item.earliest = item.latest = Interval(item.first);
    for (int w : item.readers) {
      item.earliest = std::min(item.earliest, items_[w].earliest);
      if (item.first < 0) item.latest = std::max(item.latest, items_[w].latest);
    }
  }
  std::vector<bool> without(items_.size());
  for (size_t v = 0; v < items_.size(); ++v) without[v] = items_[v].relevant;
  const Schedule schedule = MakeSchedule(m_, DefaultChoice(m_));
  const Timeline rest = Evaluate(m_, schedule, &without);
  base_.assign(m_.units.size(), 0);
  for (size_t i = 0; i < schedule.steps.size(); ++i)
    base_[schedule.steps[i].at] = std::max(base_[schedule.steps[i].at], rest.live[i]);
}

// 0 = before any copy; i = from the i-th key on.
int PlanProblem::Interval(int unit) const {
  return static_cast<int>(std::upper_bound(keys_.begin(), keys_.end(), unit) - keys_.begin());
}

int PlanProblem::Add(double cost, bool integral) {
  vars_.push_back({cost, integral});
  return static_cast<int>(vars_.size()) - 1;
}

PlanProblem::Term PlanProblem::Begun(int v, int i) {
  const Item& item = items_[v];
  if (i < item.earliest || item.x < 0) return {};
  if (i >= item.latest) return {item.x, 0};
  if (begun_[v].empty()) begun_[v].assign(keys_.size() + 1, -1);
  if (begun_[v][i] < 0) {
    const int s = begun_[v][i] = Add(0, false);
    for (int w : item.readers) {
      const Term reader = Begun(w, i);
      if (reader.var >= 0) rows_.push_back({-1, 2, {{s, 1}, {reader.var, -1}, {item.x, -1}}});
    }
  }
  return {begun_[v][i], 0};
}

PlanProblem::Term PlanProblem::Wanted(int v, int i) {
  const Item& item = items_[v];
  bool any = false;
  for (int w : item.readers) any |= items_[w].latest >= i;
  if (!any) return {};
  if (wanted_[v].empty()) wanted_[v].assign(keys_.size() + 1, -1);
  if (wanted_[v][i] < 0) {
    const int q = wanted_[v][i] = Add(0, false);
    for (int w : item.readers) {
      if (items_[w].latest < i) continue;
      Row row{0, 2, {{q, 1}, {items_[w].x, -1}}};
      const Term begun = Begun(w, i - 1);
      if (begun.var == items_[w].x && begun.var >= 0) continue;
      if (begun.var >= 0) row.terms.push_back({begun.var, 1});
      rows_.push_back(std::move(row));
    }
  }
  return {wanted_[v][i], 0};
}

PlanProblem::Term PlanProblem::Alive(int v, int i) {
  const Item& item = items_[v];
  const Term wanted = Wanted(v, i);
  if (wanted.var < 0 || item.x < 0) return wanted;
  if (alive_[v].empty()) alive_[v].assign(keys_.size() + 1, -1);
  if (alive_[v][i] < 0) {
    const int w = alive_[v][i] = Add(0, false);
    rows_.push_back({0, 2, {{w, 1}, {wanted.var, -1}, {item.x, 1}}});  // kept and wanted
    const Term begun = Begun(v, i);
    if (begun.var >= 0 && item.readers.size() > 1)
      rows_.push_back({-1, 2, {{w, 1}, {wanted.var, -1}, {begun.var, -1}}});
  }
  return {alive_[v][i], 0};
}

// Bytes are counted in limits, so that coefficients stay near 1.
void PlanProblem::MemoryRows(int64_t limit) {
  const int least = limit < 0 ? Add(1, false) : -1;
  double& unit = unit_;
  unit = limit > 0 ? static_cast<double>(limit) : 1;
  if (limit < 0) {
    for (const Item& item : items_)
      if (item.relevant) unit += static_cast<double>(m_.values[&item - items_.data()].bytes);
    vars_[least].cost = 1000;
  }
  for (int t = 0; t < static_cast<int>(m_.units.size()); ++t) {
    const int i = t < m_.forward ? 0 : Interval(t);
    Row row{-1e30, (limit < 0 ? 0 : 1.0) - static_cast<double>(base_[t]) / unit, {}};
    double most = 0;
    for (size_t v = 0; v < items_.size(); ++v) {
      const Item& item = items_[v];
      if (!item.relevant) continue;
      const double bytes = static_cast<double>(m_.values[v].bytes) / unit;
      const bool direct = item.first >= 0;
      auto count = [&](Term term, double sign) {
        if (term.var < 0) return;
        row.terms.push_back({term.var, sign * bytes});
        if (sign > 0) most += bytes;
      };
      if (t < m_.forward) {
        if (t < item.born) continue;
        if (t <= item.last_forward) {
          row.upper -= bytes;
        } else if (direct) {
          row.upper -= bytes;
          count({item.x, 0}, -1);
        } else {
          count(Alive(static_cast<int>(v), 0), 1);
        }
      } else if (!direct) {
        count(Alive(static_cast<int>(v), i), 1);
      } else if (t > item.last) {
        count(Wanted(static_cast<int>(v), i), 1);
      } else {
        row.upper -= bytes;
        if (t < item.first) {
          count({item.x, 0}, -1);
          count(Begun(static_cast<int>(v), i), 1);
        }
      }
    }
    if (limit < 0) row.terms.push_back({least, -1});
    else if (most <= row.upper) continue;  // fits whatever is chosen
    rows_.push_back(std::move(row));
  }
}

// Relative to the forward part. Moving the computation costs nothing; a little, so that nothing moves without need.
double PlanProblem::CostOf(int v) const {
  const Item& item = items_[v];
  const bool forward_reader = item.last_forward > m_.values[v].producers.back();
  return (forward_reader || item.first < 0 ? item.work / std::max(1.0, m_.forward_work) : 0.0) + 1e-6;
}

double PlanProblem::WorkOf(const Choice& c) const {
  double work = 0;
  for (int v : deciding_)
    if (c[v] != Fate::kKeep) work += CostOf(v);
  return work;
}

PlanProblem::Answer PlanProblem::Solve(int64_t limit, const Choice* start) {
  Answer answer;
  vars_.clear();
  rows_.clear();
  for (auto* table : {&begun_, &wanted_, &alive_}) table->assign(items_.size(), {});
  for (int v : deciding_) items_[v].x = Add(CostOf(v), true);
  MemoryRows(limit);
  for (const Choice& c : forbidden_) {
    Row row{1, 1e30, {}};
    for (int v : deciding_) {
      const bool on = c[v] != Fate::kKeep;
      row.terms.push_back({items_[v].x, on ? -1.0 : 1.0});
      if (on) row.lower -= 1;
    }
    rows_.push_back(std::move(row));
  }
  const HighsInt columns = static_cast<HighsInt>(vars_.size()), rows = static_cast<HighsInt>(rows_.size());
  std::vector<double> cost, low(columns, 0), high(columns, 1), row_low, row_high, values;
  std::vector<HighsInt> begin, index, integral;
  for (const Var& v : vars_) cost.push_back(v.cost), integral.push_back(v.integral ? 1 : 0);
  if (limit < 0) high[deciding_.size()] = 1e30;
  for (const Row& r : rows_) {
    begin.push_back(static_cast<HighsInt>(index.size()));
    row_low.push_back(r.lower);
    row_high.push_back(r.upper);
    std::map<int, double> terms;  // one entry per variable
    for (const auto& [var, value] : r.terms) terms[var] += value;
    for (const auto& [var, value] : terms) index.push_back(var), values.push_back(value);
  }
  void* highs = Highs_create();
  Highs_setBoolOptionValue(highs, "output_flag", 0);
  Highs_setStringOptionValue(highs, "parallel", "off");
  Highs_setIntOptionValue(highs, "threads", 1);
  Highs_setIntOptionValue(highs, "random_seed", 1);
  // Nodes, not seconds: the same plan on every machine.
  const int64_t size = static_cast<int64_t>(index.size()) + 1;
  Highs_setIntOptionValue(highs, "mip_max_nodes",
                          static_cast<HighsInt>(std::clamp<int64_t>(kMostEntries / 125 / size, 20, kMostNodes)));
  int64_t iterations = std::clamp<int64_t>(kMostEntries / size, 1000, 1000000);
  Highs_setCallback(highs, StopAfter, &iterations);
  Highs_startCallback(highs, kHighsCallbackMipInterrupt);
  Highs_startCallback(highs, kHighsCallbackSimplexInterrupt);
  Highs_setDoubleOptionValue(highs, "mip_rel_gap", size < 5000 ? 1e-9 : 1e-3);
  if (size >= 5000) Highs_setDoubleOptionValue(highs, "mip_heuristic_effort", 0.01);
  HighsInt status = Highs_passMip(highs, columns, rows, static_cast<HighsInt>(index.size()), kHighsMatrixFormatRowwise,
                                  kHighsObjSenseMinimize, 0, cost.data(), low.data(), high.data(), row_low.data(),
                                  row_high.data(), begin.data(), index.data(), values.data(), integral.data());
  if (status != kHighsStatusError && start) {
    std::vector<HighsInt> which;
    std::vector<double> value;
    for (int v : deciding_) which.push_back(items_[v].x), value.push_back((*start)[v] == Fate::kKeep ? 0 : 1);
    Highs_setSparseSolution(highs, static_cast<HighsInt>(which.size()), which.data(), value.data());
  }
  if (status != kHighsStatusError) status = Highs_run(highs);
  const HighsInt model = status == kHighsStatusError ? -1 : Highs_getModelStatus(highs);
  answer.optimal = model == kHighsModelStatusOptimal;
  answer.infeasible = model == kHighsModelStatusInfeasible;
  int64_t nodes = 0;
  Highs_getInt64InfoValue(highs, "mip_node_count", &nodes);
  answer.nodes = std::max<int64_t>(0, nodes);
  HighsInt primal = 0;
  Highs_getIntInfoValue(highs, "primal_solution_status", &primal);
  if (model >= 0 && primal == 2) {
    std::vector<double> x(columns, 0);
    Highs_getSolution(highs, x.data(), nullptr, nullptr, nullptr);
    answer.found = true;
    (limit < 0 ? answer.bytes : answer.work) = limit < 0 ? x[deciding_.size()] * unit_ : Highs_getObjectiveValue(highs);
    answer.choice = DefaultChoice(m_);
    for (int v : deciding_)
      if (x[items_[v].x] > 0.5) answer.choice[v] = Fate::kOnce;
  }
  Highs_destroy(highs);
  return answer;
}

}  // namespace headrace::autodiff
