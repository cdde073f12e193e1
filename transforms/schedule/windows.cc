#include "transforms/schedule/windows.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

bool MentionsAny(const std::vector<Expr>& list, Name index) {
  return std::any_of(list.begin(), list.end(), [&](const Expr& e) { return Mentions(e, index); });
}

}  // namespace

Name WindowsScheduler::Local(const std::string& stem, std::vector<int64_t> shape) {
  return schedule::Local(s_, stem, w_.type, {shape.begin(), shape.end()}, Storage::kRegister);
}

// One term for each result of a tile.
WindowsScheduler::Statements WindowsScheduler::Step(const Expr& value, Name tile, int64_t rows, int64_t lanes) {
  const std::vector<Expr> at = {SymbolExpr(r_), SymbolExpr(u_)};
  const bool fused = IsFloat(w_.type) && w_.sum.op == WriteOp::kAdd && value.Is(ExprKind::kBinary) && value->op == Op::kMul;
  const Expr t = ReadExpr(tile, at);
  Tasklet step{tile, at, false, false, fused ? WriteOp::kAssign : w_.sum.op, value};
  if (fused) step.value = CallExpr("fma", {Widened(*s_, value->args[0], w_.type), Widened(*s_, value->args[1], w_.type), t});
  return Wrap(s_, {{{{r_, Expr(0), Expr(rows), Expr(1)}}, Schedule::kUnroll}, {{{u_, Expr(0), Expr(lanes), Expr(1)}}, Schedule::kVector}},
              {s_->AddNode(step)});
}

WindowsScheduler::Statements WindowsScheduler::Tile(const Expr& x, int64_t rows, const Expr& c, int64_t lanes, bool border) {
  const Name t = Local("t", {rows, lanes});
  const std::vector<Level> each = {{{{r_, Expr(0), Expr(rows), Expr(1)}}, Schedule::kUnroll},
                                   {{{u_, Expr(0), Expr(lanes), Expr(1)}}, Schedule::kVector}};
  const NameMap at = {{w_.points.back().index, border ? x : x + SymbolExpr(r_)}, {w_.lane.index, c + SymbolExpr(u_)}};
  const auto& [along, across] = std::tie(borders_.along, borders_.across);
  std::vector<Expr> conditions = across;
  Expr value = Where(w_.sum.value, along);
  if (border) {  // of its only point
    conditions.insert(conditions.end(), along.begin(), along.end());
    for (Expr& c : conditions) c = Substitute(c, at);
    value = Substitute(w_.sum.value, at);
  }
  std::vector<Range> outer, inner;  // terms that something is asked of, and others
  for (const Range& r : w_.terms) (border || MentionsAny(across, r.index) ? outer : inner).push_back(r);
  const Statements term = OnEachSide(s_, value, conditions, [&](const Expr& v) {
    if (v == IdentityOf(w_.sum.op, w_.type)) return Statements{};
    return Wrap(s_, {{inner, Schedule::kSequential}}, Step(Substitute(v, at), t, rows, lanes));
  });
  Statements out = Wrap(s_, each, {s_->AddNode(Tasklet{t, {SymbolExpr(r_), SymbolExpr(u_)}, false, false, WriteOp::kAssign,
                                                       IdentityOf(w_.sum.op, w_.type)})});
  Add(&out, Wrap(s_, {{outer, Schedule::kSequential}}, term));
  const Schedule how = OperationsOf(s_, completion_) <= d_.tile_operations ? Schedule::kUnroll : Schedule::kSequential;
  Add(&out, Wrap(s_, {{each[0].ranges, how}, each[1]}, CompletedAt(s_, completion_, at, ReadExpr(t, {SymbolExpr(r_), SymbolExpr(u_)}))));
  return out;
}

WindowsScheduler::Statements WindowsScheduler::Tiles(const Range& at, int64_t rows, int64_t vectors, bool border) {
  const int64_t count = LengthOf(w_.lane), lanes = std::max<int64_t>(1, d_.vector_bytes / ByteSize(w_.type)), whole = count / lanes;
  int64_t many = std::min(vectors, whole);
  while (many > 1 && whole % many != 0) --many;
  const Expr x = SymbolExpr(at.index);
  Statements out;
  if (many > 0) {
    const Range channels{c0_, Expr(0), Expr(whole * lanes), Expr(many * lanes)};
    out = Wrap(s_, {{{at, channels}, Schedule::kSequential}}, Tile(x, rows, SymbolExpr(c0_), many * lanes, border));
  }
  if (count % lanes != 0)
    Add(&out, Wrap(s_, {{{at}, Schedule::kSequential}}, Tile(x, rows, Expr(whole * lanes), count % lanes, border)));
  return out;
}

WindowsScheduler::Statements WindowsScheduler::Lines() {
  const auto [first, last] = std::pair(borders_.first, borders_.last);
  const int64_t rows = std::max<int64_t>(1, std::min(d_.window_rows, last - first)), whole = (last - first) / rows * rows;
  Statements out;
  const auto tiles = [&](int64_t from, int64_t to, int64_t high, bool border) {
    if (from >= to) return;
    Add(&out, Tiles({x1_, Expr(from), Expr(to), Expr(high)}, high, border ? d_.window_border_vectors : d_.window_vectors, border));
  };
  tiles(0, first, 1, true);
  tiles(first, first + whole, rows, false);
  tiles(first + whole, last, last - first - whole, false);
  tiles(last, LengthOf(w_.points.back()), 1, true);
  return out;
}

std::optional<std::vector<NodeId>> WindowsScheduler::Run() {
  borders_ = BordersOf(w_.sum.value, w_.points.back(), w_.terms);
  int64_t terms = 1;
  for (const Range& r : w_.terms) terms *= LengthOf(r);
  if (terms > d_.window_terms) return std::nullopt;
  const Range line = w_.points.back();
  x1_ = FreshIn(*s_, line.index.str() + "_1"), c0_ = FreshIn(*s_, w_.lane.index.str() + "_0");
  r_ = FreshIn(*s_, "r"), u_ = FreshIn(*s_, "u");
  const Statements body = Lines();
  const std::vector<Range> units(w_.points.begin(), w_.points.end() - 1);
  const Shared shared = ShareOut(*s_, units, Expr(LengthOf(line) * LengthOf(w_.lane) * terms * 2), d_);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

}  // namespace headrace::schedule
