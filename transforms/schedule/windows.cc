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
WindowsScheduler::Statements WindowsScheduler::Step(const Expr& value, Name tile, const RowSpan& rows, int64_t lanes) {
  const std::vector<Expr> at = {SymbolExpr(r_), SymbolExpr(u_)};
  const bool fused = IsFloat(w_.type) && w_.sum.op == WriteOp::kAdd && value.Is(ExprKind::kBinary) && value->op == Op::kMul;
  const Expr t = ReadExpr(tile, at);
  Tasklet step{tile, at, false, false, fused ? WriteOp::kAssign : w_.sum.op, value};
  if (fused) step.value = CallExpr("fma", {Widened(*s_, value->args[0], w_.type), Widened(*s_, value->args[1], w_.type), t});
  return Wrap(s_, {{{{r_, Expr(rows.begin), Expr(rows.end), Expr(1)}}, Schedule::kUnroll},
                   {{{u_, Expr(0), Expr(lanes), Expr(1)}}, Schedule::kVector}},
              {s_->AddNode(step)});
}

// The tile from what it starts at to what becomes of it.
WindowsScheduler::Statements WindowsScheduler::Tiled(Name t, int64_t rows, int64_t lanes, const NameMap& at, Statements terms) {
  const std::vector<Level> each = {{{{r_, Expr(0), Expr(rows), Expr(1)}}, Schedule::kUnroll},
                                   {{{u_, Expr(0), Expr(lanes), Expr(1)}}, Schedule::kVector}};
  Statements out = Wrap(s_, each, {s_->AddNode(Tasklet{t, {SymbolExpr(r_), SymbolExpr(u_)}, false, false, WriteOp::kAssign,
                                                       IdentityOf(w_.sum.op, w_.type)})});
  Add(&out, std::move(terms));
  const Schedule how = OperationsOf(s_, completion_) <= d_.tile_operations ? Schedule::kUnroll : Schedule::kSequential;
  Add(&out, Wrap(s_, {{each[0].ranges, how}, each[1]}, CompletedAt(s_, completion_, at, ReadExpr(t, {SymbolExpr(r_), SymbolExpr(u_)}))));
  return out;
}

WindowsScheduler::Statements WindowsScheduler::Tile(const Expr& x, int64_t rows, const Expr& c, int64_t lanes, bool border) {
  const Name t = Local("t", {rows, lanes});
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
    return Wrap(s_, {{inner, Schedule::kSequential}}, Step(Substitute(v, at), t, {0, rows}, lanes));
  });
  return Tiled(t, rows, lanes, at, Wrap(s_, {{outer, Schedule::kSequential}}, term));
}

// Terms of a line of the window, place by place.
WindowsScheduler::Statements WindowsScheduler::BorderSteps(const Expr& value, Name tile, int64_t first, int64_t rows, int64_t lanes,
                                                           const NameMap& at) {
  const Expr reached = Substitute(Where(value, borders_.along), at), beyond = Substitute(Outside(value, borders_.along), at);
  Statements out;
  for (const ReachedSpans& places : reach_->Spans(first, rows)) {
    Statements steps;
    for (const RowSpan& span : places.rows)
      if (span.reached || beyond != IdentityOf(w_.sum.op, w_.type)) Add(&steps, Step(span.reached ? reached : beyond, tile, span, lanes));
    const Range at_places{reach_->place().index, Expr(places.begin), Expr(places.end), Expr(1)};
    if (!steps.empty()) Add(&out, Wrap(s_, {{{at_places}, Schedule::kSequential}}, std::move(steps)));
  }
  return out;
}

WindowsScheduler::Statements WindowsScheduler::BorderTile(int64_t first, const Expr& x, int64_t rows, const Expr& c, int64_t lanes) {
  const Name t = Local("t", {rows, lanes});
  const NameMap at = {{w_.points.back().index, x + SymbolExpr(r_)}, {w_.lane.index, c + SymbolExpr(u_)}};
  std::vector<Range> others;
  for (const Range& r : w_.terms)
    if (r.index != reach_->place().index) others.push_back(r);
  const Statements terms = OnEachSide(s_, w_.sum.value, borders_.across, [&](const Expr& v) {
    if (v == IdentityOf(w_.sum.op, w_.type)) return Statements{};
    if (v != Outside(v, borders_.along)) return BorderSteps(v, t, first, rows, lanes, at);
    return Wrap(s_, {{{reach_->place()}, Schedule::kSequential}}, Step(Substitute(v, at), t, {0, rows}, lanes));
  });
  return Tiled(t, rows, lanes, at, Wrap(s_, {{others, Schedule::kSequential}}, terms));
}

// Elements that are smaller than their sums: compilers fill a vector with them, and halve those of the sums where lanes are fewer.
bool WindowsScheduler::ReadsSmaller() const {
  bool smaller = false;
  Visit(w_.sum.value, [&](const Expr& e) {
    smaller |= e.Is(ExprKind::kRead) && ByteSize(s_->Get(e->name).dtype) < ByteSize(w_.type);
    return !smaller;
  });
  return smaller;
}

WindowsScheduler::Statements WindowsScheduler::Tiles(const Range& at, int64_t rows, int64_t vectors, Place place) {
  const int64_t count = LengthOf(w_.lane), lanes = std::max<int64_t>(1, d_.vector_bytes / ByteSize(w_.type)), whole = count / lanes;
  int64_t many = std::min(vectors, whole);
  while (many > 1 && whole % many != 0 && !ReadsSmaller()) --many;
  const int64_t even = many > 0 ? whole / many * many : 0;
  const Expr x = SymbolExpr(at.index);
  const auto tile = [&](const Expr& c, int64_t wide) {
    return place == Place::kAtBorder ? BorderTile(*AsInt(at.begin), x, rows, c, wide) : Tile(x, rows, c, wide, place == Place::kAlone);
  };
  Statements out;
  if (many > 0) {
    const Range channels{c0_, Expr(0), Expr(even * lanes), Expr(many * lanes)};
    out = Wrap(s_, {{{at, channels}, Schedule::kSequential}}, tile(SymbolExpr(c0_), many * lanes));
  }
  if (even < whole) Add(&out, Wrap(s_, {{{at}, Schedule::kSequential}}, tile(Expr(even * lanes), (whole - even) * lanes)));
  if (count % lanes != 0)
    Add(&out, Wrap(s_, {{{at}, Schedule::kSequential}}, tile(Expr(whole * lanes), count % lanes)));
  return out;
}

// As few tiles as rows of registers allow, the longer ones first; those within the borders in loops.
WindowsScheduler::Statements WindowsScheduler::BalancedLines() {
  const int64_t length = LengthOf(w_.points.back()), count = (length + d_.window_rows - 1) / d_.window_rows;
  const auto begin = [&](int64_t tile) { return length / count * tile + std::min(tile, length % count); };
  const auto rows = [&](int64_t tile) { return begin(tile + 1) - begin(tile); };
  const auto inside = [&](int64_t tile) { return begin(tile) >= borders_.first && begin(tile + 1) <= borders_.last; };
  Statements out;
  for (int64_t tile = 0, next = 0; tile < count; tile = next) {
    next = tile + 1;
    while (inside(tile) && next < count && inside(next) && rows(next) == rows(tile)) ++next;
    Add(&out, Tiles({x1_, Expr(begin(tile)), Expr(begin(next)), Expr(rows(tile))}, rows(tile), d_.window_vectors,
                    inside(tile) ? Place::kInside : Place::kAtBorder));
  }
  return out;
}

WindowsScheduler::Statements WindowsScheduler::Lines() {
  if (reach_) return BalancedLines();
  const auto [first, last] = std::pair(borders_.first, borders_.last);
  const int64_t rows = std::max<int64_t>(1, std::min(d_.window_rows, last - first)), whole = (last - first) / rows * rows;
  Statements out;
  const auto tiles = [&](int64_t from, int64_t to, int64_t high, bool border) {
    if (from >= to) return;
    Add(&out, Tiles({x1_, Expr(from), Expr(to), Expr(high)}, high, border ? d_.window_border_vectors : d_.window_vectors,
                    border ? Place::kAlone : Place::kInside));
  };
  tiles(0, first, 1, true);
  tiles(first, first + whole, rows, false);
  tiles(first + whole, last, last - first - whole, false);
  tiles(last, LengthOf(w_.points.back()), 1, true);
  return out;
}

std::optional<std::vector<NodeId>> WindowsScheduler::Run() {
  borders_ = BordersOf(w_.sum.value, w_.points.back(), w_.terms);
  reach_ = WindowReach::Of(borders_, w_.points.back(), w_.terms);
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
