#include "ir/analysis/tiles.h"

#include <algorithm>
#include <optional>

namespace headrace {
namespace {

bool Speaks(const Expr& e, Name n) {
  bool found = false;
  Visit(e, [&](const Expr& x) { return found |= x.Is(ExprKind::kSymbol) && x->name == n, !found; });
  return found;
}

Expr StepOf(const Range& r) { return r.step ? r.step : Expr(1); }

// i in i0:-1:-1 begins where a part of i0's range does, and leaves it at once.
bool CountsDown(const Range& r) { return AsInt(StepOf(r)).value_or(1) < 0; }

bool IsCyclic(const Range& inner, const Range& outer) {
  return StepOf(outer) == Expr(1) && StepOf(inner) == outer.end - outer.begin;
}

// The arguments of max(a, max(b, c)) or min, as one list.
void Flatten(const Expr& e, const char* fn, std::vector<Expr>* out) {
  if (!e.Is(ExprKind::kCall) || e->name.view() != fn) return out->push_back(e);
  for (const Expr& a : e->args) Flatten(a, fn, out);
}

// Takes the upper bounds `needed` out of all that there are; false where one is missing and no lower one stands for it.
bool Remove(const std::vector<Expr>& needed, std::vector<Expr>* bounds) {
  for (const Expr& e : needed) {
    const auto it = std::find(bounds->begin(), bounds->end(), e);
    if (it != bounds->end()) bounds->erase(it);
    else if (std::none_of(bounds->begin(), bounds->end(), [&](const Expr& b) { return ProveLe(b, e) == Truth::kYes; }))
      return false;
  }
  return true;
}

// Whether the range has no part that is shorter than its step.
bool AllPartsAreWhole(const Range& r) { return AsInt(Mod(r.end - r.begin, StepOf(r))) == 0; }

// A stretch of a part: what else bounds it below and above.
struct Stretch {
  std::vector<Expr> from, below;
};
std::optional<Stretch> StretchOf(const Range& inner, const Range& outer) {
  Stretch s;
  if (CountsDown(inner) || CountsDown(outer)) return std::nullopt;
  const Expr begin = SymbolExpr(outer.index);
  if (!Speaks(inner.begin, outer.index)) return std::nullopt;
  if (inner.begin == begin && IsCyclic(inner, outer)) return s;
  Flatten(inner.begin, "max", &s.from);
  const auto at = std::find(s.from.begin(), s.from.end(), begin);
  if (at == s.from.end()) return std::nullopt;
  s.from.erase(at);
  std::vector<Expr> ends;
  Flatten(AllPartsAreWhole(outer) ? begin + StepOf(outer) : Min(begin + StepOf(outer), outer.end), "min", &ends);
  Flatten(inner.end, "min", &s.below);
  if (!Remove(ends, &s.below)) return std::nullopt;
  return s;
}

}  // namespace

bool IsPartOf(const Range& inner, const Range& outer) { return StretchOf(inner, outer).has_value(); }

namespace {

// Joins one part with what it is of; false where there is none left.
bool JoinOne(std::vector<OrderedRange>* ranges, const std::vector<std::vector<Expr>*>& indices) {
  for (size_t i = ranges->size(); i-- > 0;) {  // from the inside: a part may be of a part
    OrderedRange& inner = (*ranges)[i];
    const auto end = ranges->begin() + static_cast<long>(i);
    std::optional<Stretch> found;
    const auto outer = std::find_if(ranges->begin(), end, [&](const OrderedRange& o) {
      found = StretchOf(inner.range, o.range);
      return found.has_value();
    });
    if (outer == end) continue;
    const bool cyclic = inner.range.begin == SymbolExpr(outer->range.index) && IsCyclic(inner.range, outer->range);
    const Stretch stretch = std::move(*found);
    bool both = false;
    for (const auto* list : indices)
      for (const Expr& e : *list) both |= Speaks(e, outer->range.index);
    if (both && cyclic) continue;
    if (both) {
      const Name u(inner.range.index.str() + "'");
      const NameMap from_begin = {{inner.range.index, SymbolExpr(outer->range.index) + SymbolExpr(u)}};
      for (auto* list : indices)
        for (Expr& e : *list) e = Substitute(e, from_begin);
      for (size_t k = i + 1; k < ranges->size(); ++k)  // what begins or ends there
        for (Expr* e : {&(*ranges)[k].range.begin, &(*ranges)[k].range.end, &(*ranges)[k].range.step})
          if (*e) *e = Substitute(*e, from_begin);
      inner.range = {u, Expr(0), StepOf(outer->range), StepOf(inner.range)};
      return true;
    }
    const Name part = outer->range.index;
    if (!cyclic && AsInt(Mod(StepOf(outer->range), StepOf(inner.range))) != 0) inner.range.step = Expr(1);  // each part begins anew
    inner.range.begin = outer->range.begin;
    if (cyclic) inner.range.step = Expr(1);
    else inner.range.end = outer->range.end;
    for (const Expr& e : stretch.from)
      if (!Speaks(e, part)) inner.range.begin = Max(inner.range.begin, e);
    for (const Expr& e : stretch.below)
      if (!Speaks(e, part)) inner.range.end = Min(inner.range.end, e);
    inner.ordered = inner.ordered && outer->ordered;
    ranges->erase(outer);
    return true;
  }
  return false;
}

}  // namespace

void JoinParts(std::vector<OrderedRange>* ranges, const std::vector<std::vector<Expr>*>& indices) {
  while (JoinOne(ranges, indices)) {
  }
}

namespace {

// The number in a product; 1 if there is none.
int64_t NumberIn(const Expr& e) {
  if (!e.Is(ExprKind::kBinary) || e->op != Op::kMul) return 1;
  return AsInt(e->args[0]).value_or(AsInt(e->args[1]).value_or(1));
}

}  // namespace

void CountSteps(std::vector<OrderedRange>* ranges, const std::vector<std::vector<Expr>*>& indices, const Assumptions& as) {
  for (size_t k = 0; k < ranges->size(); ++k) {
    Range& r = (*ranges)[k].range;
    const int64_t by = r.step && !AsInt(r.step) ? NumberIn(r.step) : 1;
    const auto begin = AsInt(r.begin);
    if (by < 2 || BoundsOf(r.step, as).lo.value_or(0) < 1 || !begin || *begin % by != 0) continue;
    r = {r.index, Expr(*begin / by), FloorDiv(r.end + Expr(by - 1), Expr(by)), Expr(1)};
    const NameMap counted = {{r.index, Expr(by) * SymbolExpr(r.index)}};
    const auto count = [&](Expr* e) {
      if (*e) *e = Simplify(Substitute(*e, counted));
    };
    for (size_t i = k + 1; i < ranges->size(); ++i) {
      Range& inner = (*ranges)[i].range;
      count(&inner.begin), count(&inner.end), count(&inner.step);
    }
    for (std::vector<Expr>* index : indices)
      for (Expr& e : *index) count(&e);
  }
}

}  // namespace headrace
