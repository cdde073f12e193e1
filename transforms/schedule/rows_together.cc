// Rows of some length, each with a sum that what comes after waits for: some rows take turns, so that the end of one's sum is added up while
// the next one's terms are read. Each row is added up as it is alone.
//   map i in 0:N { s = 0; map j in 0:128 { s += X[i, j] }; map j in 0:128 { Y[i, j] = X[i, j] - s } }
//     →  map i0 in 0:N:8 @parallel {
//          local s: f32[8]
//          for u in 0:min(N - i0, 8) { s[u] = 0; map j in 0:128 { s[u] += X[i0 + u, j] } }
//          for u in 0:min(N - i0, 8) { map j in 0:128 { Y[i0 + u, j] = X[i0 + u, j] - s[u] } }
//        }
#include <algorithm>
#include <unordered_map>

#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

constexpr int64_t kMostRows = 8;  // more of them hide nothing more

// Each map, with the numbers before it that it needs.
std::vector<std::vector<NodeId>> MapsWithNumbers(const Sdfg& s, const std::vector<NodeId>& body) {
  std::vector<std::vector<NodeId>> pieces;
  bool ended = true;
  for (NodeId id : body) {
    if (ended) pieces.emplace_back();
    pieces.back().push_back(id);
    ended = std::holds_alternative<Map>(s.nodes[id].body);
  }
  return pieces;
}

}  // namespace

std::optional<Scheduler::Statements> Scheduler::RowsTogether(const Nest& n) {
  if (RowsAtOnce(n) < 2) return std::nullopt;
  return Try([&] { return TryRowsTogether(n); });
}

// 1: no map waits for a sum of its row, or rows are long enough that this doesn't matter.
int64_t Scheduler::RowsAtOnce(const Nest& n) const {
  int64_t longest = 0;
  bool waits = false;
  std::unordered_set<Name> sums;  // and what comes of them
  for (NodeId id : n.body) {
    const auto* m = std::get_if<Map>(&s_->nodes[id].body);
    if (!m && !std::holds_alternative<Tasklet>(s_->nodes[id].body)) return 1;
    const std::vector<ElementAccess> all = AccessesOf(*s_, id);
    const bool of_sum = std::any_of(all.begin(), all.end(), [&](const ElementAccess& a) { return !a.write && sums.count(a.root) > 0; });
    for (const ElementAccess& a : all) {
      if (homes_.count(a.root) && (a.flat || a.container != a.root)) return 1;
      if (a.write && (m ? a.op != WriteOp::kAssign : of_sum)) sums.insert(a.root);
    }
    if (!m) continue;
    const auto trips = AsInt(TripsOf(m->ranges));
    if (m->schedule != Schedule::kDefault || !OfTasklets(NestOf(*s_, id)) || !trips || *trips < d_.short_sum) return 1;
    longest = std::max(longest, *trips);
    waits |= of_sum;
  }
  if (!waits) return 1;
  const int64_t rows = std::min(kMostRows, d_.rows_together / longest);
  return std::min(rows, AsInt(n.ranges.back().end).value_or(2 * rows) / 2);  // groups for threads
}

std::optional<Scheduler::Statements> Scheduler::TryRowsTogether(Nest n) {
  while (n.ranges.size() > 1 && MayCollapse(n, n.ranges.size() - 2, n.ranges.size() - 1)) Merge(&n, n.ranges.size() - 2, n.ranges.size() - 1);
  const int64_t rows = RowsAtOnce(n);
  const Range row = n.ranges.back();
  const Range blocks{FreshIn(*s_, row.index.str() + "_0"), Expr(0), row.end, Expr(rows)};
  const Around around(s_, blocks.index);
  const Expr left = row.end - SymbolExpr(blocks.index);
  const Range of_block{row.index, Expr(0), AsInt(row.end) && IsMultiple(row.end, rows) ? Expr(rows) : Min(left, Expr(rows)), Expr(1)};
  std::unordered_map<Name, Name> arrays;
  for (Name name : PassedOn(n, MapsWithNumbers(*s_, n.body))) {
    const Container c = s_->Get(name);
    std::vector<Expr> shape = c.shape;
    shape.insert(shape.begin(), Expr(rows));
    const Name array = schedule::Local(s_, name.str() + "_rows", c.dtype, std::move(shape), c.storage);
    arrays[name] = array;
    homes_[array] = n.owner.value;
    accesses_[array] = INT32_MAX;  // seen under one name
  }
  SubstituteIn(s_, n.body, {{row.index, SymbolExpr(blocks.index) + SymbolExpr(row.index)}});
  SpreadOut(n.body, arrays, {SymbolExpr(row.index)});
  const Expr work = WorkOf(n.body) * Expr(rows);
  Statements body;
  for (const Statements& piece : MapsWithNumbers(*s_, n.body)) {
    Statements inside;
    for (NodeId id : piece) {
      auto scheduled = Inside(id);
      if (!scheduled) return std::nullopt;
      Add(&inside, *scheduled);
    }
    Add(&body, Wrap(s_, {{{of_block}, Schedule::kSequential}}, std::move(inside)));
  }
  std::vector<Range> outer(n.ranges.begin(), n.ranges.end() - 1);
  outer.push_back(blocks);
  const Shared shared = ShareOut(*s_, outer, work, d_);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

}  // namespace headrace::schedule
