// What lies along one range is written along another one. That goes by squares: every line is read and written whole, where lanes that
// write to a line each take twice the time.
//   map i in 0:1024, j in 0:512 { Y[j, i] = X[i, j] }
//     →  map i0 in 0:1024:32, j0 in 0:512:32 @parallel {
//          local t: f32[32, 32]
//          for i in i0:+32 { map j in j0:+32 @vector { t[i - i0, j - j0] = X[i, j] } }
//          for j in j0:+32 { map i in i0:+32 @vector { Y[j, i] = t[i - i0, j - j0] } }
//        }
#include <algorithm>
#include <utility>

#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

// Of a square of `most`: less where that leaves nothing over, all of a length that is a little more.
int64_t SideOf(const Range& r, int64_t most) {
  const int64_t length = AsInt(r.end).value_or(0);
  if (length % most == 0) return most;
  if (length < 2 * most) return length;
  return length % (most / 2) == 0 ? most / 2 : most;
}

}  // namespace

bool Scheduler::IsReadAlong(NodeId id, Name index) const {
  const std::vector<ElementAccess> all = AccessesOf(*s_, id);
  return std::any_of(all.begin(), all.end(), [&](const ElementAccess& a) {
    const Offset at = OffsetOf(*s_, a.container, a.index, a.flat);
    return !a.write && at.elements && Coefficient(at.elements, index) == Expr(1);
  });
}

// `lanes`, and `across` of `outer`: what is read lies along one of them, what is written along the other.
std::optional<Scheduler::Statements> Scheduler::Transposed(const Nest& n, Range lanes, std::vector<Range> outer, size_t across) {
  const auto* tasklet = n.body.size() == 1 ? std::get_if<Tasklet>(&s_->nodes[n.body[0]].body) : nullptr;
  if (!tasklet || tasklet->guarded || !Questions(*tasklet).empty() || d_.square_elements < 2) return std::nullopt;
  Tasklet t = *tasklet;
  Range other = outer[across];
  const DType stored = s_->Get(t.target).dtype;
  const Offset at = OffsetOf(*s_, t.target, t.index, t.flat);
  const auto step = [&](const Range& r) { return at.elements ? Coefficient(at.elements, r.index) : std::nullopt; };
  if (step(lanes) == Expr(1) && !IsReadAlong(n.body[0], lanes.index)) std::swap(lanes, other);
  if (step(other) != Expr(1) || !step(lanes) || !AsInt(*step(lanes))) return std::nullopt;

  const int64_t high = SideOf(other, d_.square_elements), wide = SideOf(lanes, d_.square_elements);
  if (std::min(high, wide) < d_.square_elements / 2) return std::nullopt;  // of a line little would be read
  outer.erase(outer.begin() + static_cast<long>(across));
  const Cut rows = Split(*s_, other, Expr(high)), columns = Split(*s_, lanes, Expr(wide));
  outer.push_back(rows.parts), outer.push_back(columns.parts);
  const Shared shared = ShareOut(*s_, outer, Expr(OperationsOf(*s_, n.body) * high * wide), d_);
  Range row = rows.within, column = columns.within;
  for (const auto* list : {&shared.units, &shared.within})
    for (const Range& r : *list) {
      if (r.index == rows.parts.index) row = Within(r, row.index);
      if (r.index == columns.parts.index) column = Within(r, column.index);
    }
  const Name square = Local("t", t.op == WriteOp::kAssign ? stored : ComputeType(stored), {Expr(high), Expr(wide)});
  const std::vector<Expr> place = {SymbolExpr(row.index) - row.begin, SymbolExpr(column.index) - column.begin};
  const auto walk = [&](const Range& slow, const Range& fast, NodeId id) {
    return Wrap(s_, {{{slow}, Schedule::kSequential}}, Walk(fast, {id}, true, /*whole_rows=*/false));
  };
  Statements body = walk(row, column, Put(square, place, WriteOp::kAssign, t.value));
  t.value = ReadExpr(square, place);
  Add(&body, walk(column, row, s_->AddNode(std::move(t))));
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

}  // namespace headrace::schedule
