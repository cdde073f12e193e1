// Lanes whose values come from one array or another, as a comparison says: each side has lanes of its own.
//   map j in 0:12 @vector { Y[i, j] = j < 5 ? A[i, j] : B[i, j - 5] }
//     →  map j in 0:5 @vector { Y[i, j] = A[i, j] } ; map j in 5:12 @vector { Y[i, j] = B[i, j - 5] }
#include <algorithm>

#include "ir/analysis/facts.h"
#include "ir/analysis/layout.h"
#include "transforms/schedule/peel.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

bool ReadsMemory(const Expr& e) { return !ReadContainers(e).empty(); }

bool ComparesSizes(const Expr& c) {
  return c.Is(ExprKind::kBinary) && (c->op == Op::kLt || c->op == Op::kLe || c->op == Op::kGt || c->op == Op::kGe) &&
         IsIndexExpr(c->args[0]) && IsIndexExpr(c->args[1]);
}

Expr ConditionOf(const Expr& value) {
  Expr found;
  Visit(value, [&](const Expr& e) {
    if (!found && e.Is(ExprKind::kSelect) && ComparesSizes(e->args[0]) && ReadsMemory(e->args[1]) && ReadsMemory(e->args[2]))
      found = e->args[0];
    return !found;
  });
  return found;
}

Expr OnOneSide(const Expr& value, const Expr& condition, bool yes) {
  return Transform(value, [&](const Expr& e) -> Expr {
    return e.Is(ExprKind::kSelect) && e->args[0] == condition ? e->args[yes ? 1 : 2] : e;
  });
}

}  // namespace

std::optional<Scheduler::Statements> Scheduler::BothSides(const Range& lane, const Statements& body) {
  Expr condition;
  for (NodeId id : body) {
    const auto& t = std::get<Tasklet>(s_->nodes[id].body);
    if (s_->Get(t.target).storage == Storage::kRegister) return std::nullopt;  // each side would need its own
    if (!condition) condition = ConditionOf(t.value);
  }
  if (!condition || ++choices_ > d_.most_choices) return std::nullopt;
  std::vector<Expr> yes, no;
  AddFacts(condition, true, &yes);
  AddFacts(condition, false, &no);
  const Range on[] = {CutByFacts({lane}, yes)[0], CutByFacts({lane}, no)[0]};
  const bool follows_lane = Mentions(condition, lane.index);
  if (follows_lane && on[0].begin == lane.begin && on[0].end == lane.end) return std::nullopt;
  Statements sides[2];
  for (int k : {0, 1}) {
    Statements copy;
    for (NodeId id : body) {
      Tasklet t = std::get<Tasklet>(s_->nodes[id].body);
      t.value = OnOneSide(t.value, condition, k == 0);
      copy.push_back(s_->AddNode(std::move(t)));
    }
    sides[k] = Lanes(follows_lane ? on[k] : lane, copy, /*whole_rows=*/false);
  }
  if (!follows_lane) return Statements{s_->AddNode(If{condition, sides[0], sides[1]})};
  sides[0].insert(sides[0].end(), sides[1].begin(), sides[1].end());
  return sides[0];
}

// Borders are peeled off long rows, and where a mask is slow.
Scheduler::Statements Scheduler::Lanes(const Range& lane, const Statements& body, bool whole_rows) {
  if (const auto sides = BothSides(lane, body)) return *sides;
  if (whole_rows || AsksForStrides(*s_, body, lane.index)) return PeeledLanes(s_, lane, body);
  return Wrap(s_, {{{lane}, Schedule::kVector}}, body);
}

}  // namespace headrace::schedule
