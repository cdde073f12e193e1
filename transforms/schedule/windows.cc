#include "transforms/schedule/windows.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

void Add(std::vector<NodeId>* to, const std::vector<NodeId>& more) { to->insert(to->end(), more.begin(), more.end()); }

void Conjuncts(const Expr& c, std::vector<Expr>* out) {
  if (c.Is(ExprKind::kBinary) && c->op == Op::kAnd) return Conjuncts(c->args[0], out), Conjuncts(c->args[1], out);
  if (std::find(out->begin(), out->end(), c) == out->end()) out->push_back(c);
}

Expr All(const std::vector<Expr>& conditions) {
  Expr all;
  for (const Expr& c : conditions) all = all ? BinaryExpr(Op::kAnd, all, c) : c;
  return all;
}

bool MentionsAny(const std::vector<Expr>& list, Name index) {
  return std::any_of(list.begin(), list.end(), [&](const Expr& e) { return Mentions(e, index); });
}

}  // namespace

Name WindowsScheduler::Local(const std::string& stem, std::vector<int64_t> shape) {
  return schedule::Local(s_, stem, w_.type, {shape.begin(), shape.end()}, Storage::kRegister);
}

// Which points of a line ask for nothing along it, whatever the term.
void WindowsScheduler::Borders() {
  const Range& line = w_.points.back();
  std::vector<Expr> conditions;
  Visit(w_.sum.value, [&](const Expr& e) {
    if (e.Is(ExprKind::kSelect)) Conjuncts(e->args[0], &conditions);
    return true;
  });
  first_ = 0, last_ = LengthOf(line);
  for (const Expr& c : conditions) {
    if (!Mentions(c, line.index)) {
      across_.push_back(c);
      continue;
    }
    along_.push_back(c);
    Expr slack = c->op == Op::kGe ? c->args[0] - c->args[1] : c->args[1] - Expr(1) - c->args[0];  // 0 or more where it holds
    for (const Range& t : w_.terms) {  // at the worst term
      const auto by = Coefficient(slack, t.index);
      const int64_t step = by ? AsInt(*by).value_or(0) : 0;
      slack = Substitute(slack, {{t.index, step < 0 ? t.end - Expr(1) : Expr(0)}});
    }
    const auto by = Coefficient(slack, line.index);
    const int64_t step = by ? AsInt(*by).value_or(0) : 0;
    const auto rest = AsInt(Substitute(slack, {{line.index, Expr(0)}}));
    if (step == 0 || !rest) last_ = 0;  // nobody knows
    else if (step > 0) first_ = std::max(first_, *AsInt(FloorDiv(Expr(step - 1 - *rest), Expr(step))));
    else last_ = std::min(last_, *AsInt(FloorDiv(Expr(*rest), Expr(-step))) + 1);
  }
  first_ = std::min(first_, LengthOf(line));
  last_ = std::max(first_, last_);
}

Expr WindowsScheduler::Where(const Expr& value, const std::vector<Expr>& conditions) {
  return Transform(value, [&](const Expr& e) -> Expr {
    if (!e.Is(ExprKind::kSelect)) return e;
    std::vector<Expr> all, left;
    Conjuncts(e->args[0], &all);
    for (const Expr& c : all)
      if (std::find(conditions.begin(), conditions.end(), c) == conditions.end()) left.push_back(c);
    return left.empty() ? e->args[1] : WithArgs(e, {All(left), e->args[1], e->args[2]});
  });
}

// Reads that ask for less than all of them still ask: one may be outside where another isn't.
Expr WindowsScheduler::Outside(const Expr& value, const std::vector<Expr>& conditions) {
  return Transform(value, [&](const Expr& e) -> Expr {
    if (!e.Is(ExprKind::kSelect)) return e;
    std::vector<Expr> all;
    Conjuncts(e->args[0], &all);
    const bool each = std::all_of(conditions.begin(), conditions.end(),
                                  [&](const Expr& c) { return std::find(all.begin(), all.end(), c) != all.end(); });
    return each ? e->args[2] : e;
  });
}

// One term for each result of a tile.
WindowsScheduler::Statements WindowsScheduler::Step(const Expr& value, Name tile, int64_t rows, int64_t lanes) {
  const std::vector<Expr> at = {SymbolExpr(r_), SymbolExpr(u_)};
  const bool fused = IsFloat(w_.type) && w_.sum.op == WriteOp::kAdd && value.Is(ExprKind::kBinary) && value->op == Op::kMul;
  const Expr t = ReadExpr(tile, at);
  Tasklet step{tile, at, false, false, fused ? WriteOp::kAssign : w_.sum.op, value};
  const auto wide = [&](const Expr& e) {
    return s_->Get(w_.sum.target).dtype == w_.type || e.Is(ExprKind::kInt) || e.Is(ExprKind::kFloat) ? e : CastExpr(w_.type, e);
  };
  if (fused) step.value = CallExpr("fma", {wide(value->args[0]), wide(value->args[1]), t});
  return Wrap(s_, {{{{r_, Expr(0), Expr(rows), Expr(1)}}, Schedule::kUnroll}, {{{u_, Expr(0), Expr(lanes), Expr(1)}}, Schedule::kVector}},
              {s_->AddNode(step)});
}

WindowsScheduler::Statements WindowsScheduler::Tile(const Expr& x, int64_t rows, const Expr& c, int64_t lanes, bool border) {
  const Name t = Local("t", {rows, lanes});
  const std::vector<Level> each = {{{{r_, Expr(0), Expr(rows), Expr(1)}}, Schedule::kUnroll},
                                   {{{u_, Expr(0), Expr(lanes), Expr(1)}}, Schedule::kVector}};
  const NameMap at = {{w_.points.back().index, border ? x : x + SymbolExpr(r_)}, {w_.lane.index, c + SymbolExpr(u_)}};
  // Of a border's only point.
  const auto here = [&](const Expr& e) { return Substitute(e, {{w_.points.back().index, x}}); };
  std::vector<Expr> conditions = across_;
  if (border) conditions.insert(conditions.end(), along_.begin(), along_.end());
  const Expr all = All(conditions);
  std::vector<Range> outer, inner;  // terms that something is asked of, and others
  for (const Range& r : w_.terms) (border || MentionsAny(across_, r.index) ? outer : inner).push_back(r);
  const Expr here_along = border ? w_.sum.value : Where(w_.sum.value, along_), within = Where(here_along, conditions);
  Statements term = Wrap(s_, {{inner, Schedule::kSequential}}, Step(Substitute(within, at), t, rows, lanes));
  if (all) {
    const Expr outside = Outside(here_along, conditions);
    Statements otherwise;
    if (outside != IdentityOf(w_.sum.op, w_.type))
      otherwise = Wrap(s_, {{inner, Schedule::kSequential}}, Step(Substitute(outside, at), t, rows, lanes));
    term = {s_->AddNode(If{here(all), term, otherwise})};
  }
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
  const int64_t rows = std::max<int64_t>(1, std::min(d_.window_rows, last_ - first_)), whole = (last_ - first_) / rows * rows;
  Statements out;
  const auto tiles = [&](int64_t from, int64_t to, int64_t high, bool border) {
    if (from >= to) return;
    Add(&out, Tiles({x1_, Expr(from), Expr(to), Expr(high)}, high, border ? d_.window_border_vectors : d_.window_vectors, border));
  };
  tiles(0, first_, 1, true);
  tiles(first_, first_ + whole, rows, false);
  tiles(first_ + whole, last_, last_ - first_ - whole, false);
  tiles(last_, LengthOf(w_.points.back()), 1, true);
  return out;
}

std::optional<std::vector<NodeId>> WindowsScheduler::Run() {
  Borders();
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
