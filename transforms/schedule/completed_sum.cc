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
  return Try([&] { return TryCompletedSum(n); });
}

// What is done before each term fills its registers, or elements that nothing around the sum touches, from what nothing there writes.
bool Scheduler::StandApart(const Statements& first, const Statements& around, const Nest& terms) const {
  std::unordered_set<Name> touched, written;
  for (NodeId id : around)
    for (const ElementAccess& a : AccessesOf(*s_, id)) (a.write ? written : touched).insert(a.root);
  for (NodeId id : first) {
    const auto& t = std::get<Tasklet>(s_->nodes[id].body);
    if (t.op != WriteOp::kAssign || t.guarded) return false;
    for (const ElementAccess& a : AccessesOf(*s_, id)) {
      const bool local = s_->Get(a.root).storage == Storage::kRegister;
      if (written.count(a.root) || (a.write && (local ? !IsPrivate(a.root, terms) : touched.count(a.root) > 0))) return false;
    }
  }
  return true;
}

// But for the sum, the last statement, iterations write elements of their own.
bool Scheduler::EachForItself(Nest n) {
  const Tasklet sum = std::get<Tasklet>(s_->nodes[n.body.back()].body);
  n.body.back() = Put(sum.target, sum.index, WriteOp::kAssign, sum.value);
  const std::vector<bool> apart = DisjointRanges(*s_, n);
  return std::all_of(apart.begin(), apart.end(), [](bool x) { return x; });
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
  Statements others = elements->nest.body;
  others.erase(others.begin() + static_cast<long>(elements->sum));
  if (!StandApart(first, others, terms)) return std::nullopt;

  Nest all = elements->nest;
  all.body.insert(all.body.end(), first.begin(), first.end());
  if (!Prepare(&all)) return std::nullopt;
  elements->nest.ranges = all.ranges;
  const Completion completion = CompletionOf(*s_, *elements);
  const Tasklet sum = std::get<Tasklet>(s_->nodes[adds].body);
  all.body = first;
  all.body.push_back(adds);
  if (!EachForItself(all) || !TakesLanes(*s_, all.body) || !IdentityOf(sum.op, SumTypeOf(*s_, completion))) return std::nullopt;
  std::vector<bool> apart(n.ranges.size(), true);
  apart.resize(all.ranges.size(), false);
  const int lane = LaneRange(*s_, all);
  if (lane < 0 || !apart[lane]) return std::nullopt;
  return SumSideBySide(std::move(all), apart, lane, /*share=*/true, {{}, &completion});
}

}  // namespace headrace::schedule
