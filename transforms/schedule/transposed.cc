// What lies along one range is written along another one. Where the lines that are written are so far apart that they share the few places
// that a cache has for them, that goes by squares: every line is read and written whole.
//   map i in 0:1024, j in 0:512 { Y[j, i] = X[i, j] }
//     →  map i0 in 0:1024:16, j0 in 0:512:16 @parallel {
//          local t: f32[16, 16]
//          for i in i0:+16 { map j in j0:+16 @vector { t[i - i0, j - j0] = X[i, j] } }
//          for j in j0:+16 { map i in i0:+16 @vector { Y[j, i] = t[i - i0, j - j0] } }
//        }
#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {

// `lanes`: the range along which what is read lies; `across`: of `outer`.
std::optional<Scheduler::Statements> Scheduler::Transposed(const Nest& n, const Range& lanes, std::vector<Range> outer, size_t across) {
  const auto* tasklet = n.body.size() == 1 ? std::get_if<Tasklet>(&s_->nodes[n.body[0]].body) : nullptr;
  if (!tasklet || tasklet->guarded || !Questions(*tasklet).empty()) return std::nullopt;
  Tasklet t = *tasklet;
  const Range other = outer[across];
  const DType stored = s_->Get(t.target).dtype;
  const Offset at = OffsetOf(*s_, t.target, t.index, t.flat);
  const auto along = at.elements ? Coefficient(at.elements, other.index) : std::nullopt;
  const auto apart = at.elements ? Coefficient(at.elements, lanes.index) : std::nullopt;
  if (!along || AsInt(*along) != 1 || !apart || !AsInt(*apart) || *AsInt(*apart) * ByteSize(stored) % (2 * d_.cache_stride) != 0)
    return std::nullopt;

  const int64_t side = d_.transpose_elements;
  outer.erase(outer.begin() + static_cast<long>(across));
  const Cut rows = Split(*s_, other, Expr(side)), columns = Split(*s_, lanes, Expr(side));
  outer.push_back(rows.parts), outer.push_back(columns.parts);
  const Shared shared = ShareOut(*s_, outer, Expr(OperationsOf(*s_, n.body) * side * side), d_);
  Range row = rows.within, column = columns.within;
  for (const auto* list : {&shared.units, &shared.within})
    for (const Range& r : *list) {
      if (r.index == rows.parts.index) row = Within(r, row.index);
      if (r.index == columns.parts.index) column = Within(r, column.index);
    }
  const Name square = Local("t", t.op == WriteOp::kAssign ? stored : ComputeType(stored), {Expr(side), Expr(side)});
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
