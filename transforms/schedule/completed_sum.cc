// Sums whose results lie side by side, with what is done before each term and with each result.
//   map c in 0:64 { S = 0 ; map p in 0:49 { r = max(X[p, c], 0) ; S += r } ; Y[c] = S / 49 }
//     →  local sums: f32[64]
//        …
//        for p in 0:49 { map c in 0:64 @vector { r = max(X[p, c], 0) ; sums[c] += r } }
//        map c in 0:64 @vector { Y[c] = sums[c] / 49 }
#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/type_inference.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {

std::optional<Scheduler::Statements> Scheduler::CompletedSum(const Nest& n) {
  const Sdfg before = *s_;  // what was changed on the way to finding that it is none
  auto sum = TryCompletedSum(n);
  if (!sum) *s_ = before;
  return sum;
}

std::optional<Scheduler::Statements> Scheduler::TryCompletedSum(const Nest& n) {
  Nest around = n;
  const auto map = std::find_if(around.body.begin(), around.body.end(),
                                [&](NodeId id) { return std::holds_alternative<Map>(s_->nodes[id].body); });
  if (map == around.body.end()) return std::nullopt;
  const Nest terms = NestOf(*s_, *map);
  if (!OfTasklets(terms)) return std::nullopt;
  Statements first(terms.body.begin(), terms.body.end() - 1);
  *map = s_->AddNode(Map{terms.ranges, {terms.body.back()}});
  auto elements = ElementsOf(s_, around);
  if (!elements) return std::nullopt;
  const NodeId adds = elements->nest.body[elements->sum];
  for (NodeId id : first) {  // registers of one term, filled from what nothing here writes
    const auto& t = std::get<Tasklet>(s_->nodes[id].body);
    if (t.op != WriteOp::kAssign || t.guarded || s_->Get(t.target).storage != Storage::kRegister || !IsPrivate(t.target, terms))
      return std::nullopt;
    for (const ElementAccess& a : AccessesOf(*s_, id))
      for (NodeId other : elements->nest.body)
        if (!a.write && RootOf(*s_, std::get<Tasklet>(s_->nodes[other].body).target) == a.root) return std::nullopt;
  }

  Nest all = elements->nest;
  all.body.insert(all.body.end(), first.begin(), first.end());
  if (!Prepare(&all)) return std::nullopt;
  elements->nest.ranges = all.ranges;
  const Completion completion = CompletionOf(*s_, *elements);
  const Tasklet sum = std::get<Tasklet>(s_->nodes[adds].body);
  all.body = first;
  all.body.push_back(adds);
  if (!TakesLanes(*s_, all.body) || !IdentityOf(sum.op, ComputeType(s_->Get(sum.target).dtype))) return std::nullopt;
  std::vector<bool> apart(n.ranges.size(), true);
  apart.resize(all.ranges.size(), false);
  const int lane = LaneRange(*s_, all);
  if (lane < 0 || !apart[lane]) return std::nullopt;
  return SumSideBySide(std::move(all), apart, lane, /*share=*/true, {{}, &completion});
}

}  // namespace headrace::schedule
