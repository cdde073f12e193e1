// What lies along one range is written along another one. That goes by squares: every line is read and written whole, where lanes that
// write to a line each take twice the time.
//   map i in 0:1024, j in 0:512 { Y[j, i] = X[i, j] }
//     →  map i0 in 0:1024:32, j0 in 0:512:32 @parallel {
//          local t: f32[32, 32]
//          for i in i0:+32 { map j in j0:+32 @vector { t[i - i0, j - j0] = X[i, j] } }
//          for j in j0:+32 { map i in i0:+32 @vector { Y[j, i] = t[i - i0, j - j0] } }
//        }
// Numbers that are copied are turned in registers:
//     →  map i0 in 0:1024:16, j0 in 0:512:16 @parallel {
//          map r in 0:16 @unroll { map u in 0:16 @vector { Y[j0 + r, i0 + u] = X[i0 + u, j0 + r] } }
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

// Of the squares that are turned in registers, where what is read along `column` is stored along another range as it is; 0: none is.
int64_t Scheduler::RegisterSquare(const Tasklet& t, const Range& row, const Range& column) const {
  const DType to = s_->Get(t.target).dtype;
  const bool widened = t.value.Is(ExprKind::kCast) && t.value->dtype == DType::kF32 && !t.value->saturate;
  const Expr& read = widened ? t.value->args[0] : t.value;
  if (d_.register_square < 2 || t.op != WriteOp::kAssign || !read.Is(ExprKind::kRead) || read->has_default) return 0;
  const DType from = s_->Get(read->name).dtype;
  if (to == from ? widened : to != DType::kF32 || from != DType::kBF16) return 0;
  const Offset at = OffsetOf(*s_, read->name, read->args, read->flat);
  const auto step = [&](Name index) { return at.elements ? Coefficient(at.elements, index) : std::nullopt; };
  if (step(column.index) != Expr(1) || !step(row.index)) return 0;
  const int64_t bytes = ByteSize(to);
  return bytes == 2 || bytes == 4 ? d_.register_square : bytes == 8 ? d_.register_square / 2 : 0;
}

// One square of a range from 0, or of a part of it; in the last one lines may be missing.
Scheduler::Statements Scheduler::TurnedSquare(const Tasklet& t, const Range& row, const Range& column, const Expr& rows, const Expr& columns,
                                              int64_t side) {
  const Name u = FreshIn(*s_, "u"), r = FreshIn(*s_, "r");
  const NodeId each = s_->AddNode(t), turned = s_->AddNode(t);
  SubstituteIn(s_, {turned}, {{row.index, row.begin + SymbolExpr(u)}, {column.index, column.begin + SymbolExpr(r)}});
  const Statements square =
      Wrap(s_, {{{UpTo(r, side)}, Schedule::kUnroll}, {{UpTo(u, side)}, Schedule::kVector}}, {turned});
  Expr whole;
  for (const auto& [range, end] : {std::pair(row, rows), std::pair(column, columns)}) {
    if (IsMultiple(end, side)) continue;
    const Expr fits = BinaryExpr(Op::kLe, range.begin + Expr(side), end);
    whole = whole ? BinaryExpr(Op::kAnd, whole, fits) : fits;
  }
  if (!whole) return square;
  const Statements lines = Wrap(s_, {{{column}, Schedule::kSequential}}, Walk(row, {each}, true, /*whole_rows=*/false));
  return {s_->AddNode(If{whole, square, lines})};
}

// `lanes`, and `across` of `outer`: what is read lies along one of them, what is written along the other.
std::optional<Scheduler::Statements> Scheduler::Transposed(const Nest& n, Range lanes, std::vector<Range> outer, size_t across,
                                                             bool share) {
  const auto* tasklet = n.body.size() == 1 ? std::get_if<Tasklet>(&s_->nodes[n.body[0]].body) : nullptr;
  if (!tasklet || tasklet->guarded || !Questions(*tasklet).empty() || d_.square_elements < 2) return std::nullopt;
  Tasklet t = *tasklet;
  Range other = outer[across];
  const DType stored = s_->Get(t.target).dtype;
  const Offset at = OffsetOf(*s_, t.target, t.index, t.flat);
  const auto step = [&](const Range& r) { return at.elements ? Coefficient(at.elements, r.index) : std::nullopt; };
  if (step(lanes) == Expr(1) && !IsReadAlong(n.body[0], lanes.index)) std::swap(lanes, other);
  if (step(other) != Expr(1) || !step(lanes) || !AsInt(*step(lanes))) return std::nullopt;

  int64_t high = SideOf(other, d_.square_elements), wide = SideOf(lanes, d_.square_elements);
  if (std::min(high, wide) < d_.square_elements / 2) return std::nullopt;  // of a line little would be read
  const int64_t in_registers = RegisterSquare(t, other, lanes);
  if (in_registers > 0) high = wide = in_registers;
  outer.erase(outer.begin() + static_cast<long>(across));
  const Cut rows = Split(*s_, other, Expr(high)), columns = Split(*s_, lanes, Expr(wide));
  outer.push_back(rows.parts), outer.push_back(columns.parts);
  const Shared shared = share ? ShareOut(*s_, outer, Expr(OperationsOf(*s_, n.body) * high * wide), d_) : Shared{{}, outer};
  Range row = rows.within, column = columns.within;
  for (const auto* list : {&shared.units, &shared.within})
    for (const Range& r : *list) {
      if (r.index == rows.parts.index) row = Within(r, row.index);
      if (r.index == columns.parts.index) column = Within(r, column.index);
    }
  const auto shared_out = [&](const Statements& body) {
    return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
  };
  if (in_registers > 0) return shared_out(TurnedSquare(t, row, column, other.end, lanes.end, in_registers));
  const Name square = Local("t", t.op == WriteOp::kAssign ? stored : ComputeType(stored), {Expr(high), Expr(wide)});
  const std::vector<Expr> place = {SymbolExpr(row.index) - row.begin, SymbolExpr(column.index) - column.begin};
  const auto walk = [&](const Range& slow, const Range& fast, NodeId id) {
    return Wrap(s_, {{{slow}, Schedule::kSequential}}, Walk(fast, {id}, true, /*whole_rows=*/false));
  };
  Statements body = walk(row, column, Put(square, place, WriteOp::kAssign, t.value));
  t.value = ReadExpr(square, place);
  if (const int64_t side = RegisterSquare(t, row, column); side > 0 && high % side == 0 && wide % side == 0) {
    std::vector<Name> taken;
    for (const auto* list : {&shared.units, &shared.within})
      for (const Range& r : *list) taken.push_back(r.index);
    const Cut lines = Split(*s_, row, Expr(side), taken), places = Split(*s_, column, Expr(side), taken);
    Add(&body, Wrap(s_, {{{lines.parts, places.parts}, Schedule::kSequential}},
                    TurnedSquare(t, lines.within, places.within, other.end, lanes.end, side)));
  } else {
    Add(&body, walk(column, row, s_->AddNode(std::move(t))));
  }
  return shared_out(body);
}

}  // namespace headrace::schedule
