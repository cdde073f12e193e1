#include "ir/analysis/tiles.h"

#include <algorithm>

namespace headrace {
namespace {

bool Speaks(const Expr& e, Name n) {
  const std::vector<Name> names = FreeSymbols(e);
  return std::find(names.begin(), names.end(), n) != names.end();
}

Expr StepOf(const Range& r) { return r.step ? r.step : Expr(1); }

bool IsCyclic(const Range& inner, const Range& outer) {
  return StepOf(outer) == Expr(1) && StepOf(inner) == outer.end - outer.begin;
}

}  // namespace

bool IsPartOf(const Range& inner, const Range& outer) {
  if (!inner.begin.Is(ExprKind::kSymbol) || inner.begin->name != outer.index) return false;
  return inner.end == Min(SymbolExpr(outer.index) + StepOf(outer), outer.end) || IsCyclic(inner, outer);
}

namespace {

// Joins one part with what it is of; false where there is none left.
bool JoinOne(std::vector<OrderedRange>* ranges, const std::vector<std::vector<Expr>*>& indices) {
  for (size_t i = ranges->size(); i-- > 0;) {  // from the inside: a part may be of a part
    OrderedRange& inner = (*ranges)[i];
    const auto end = ranges->begin() + static_cast<long>(i);
    const auto outer = std::find_if(ranges->begin(), end, [&](const OrderedRange& o) { return IsPartOf(inner.range, o.range); });
    if (outer == end) continue;
    const bool cyclic = IsCyclic(inner.range, outer->range);
    bool both = false;
    for (const auto* list : indices)
      for (const Expr& e : *list) both |= Speaks(e, outer->range.index);
    if (both && cyclic) continue;
    if (both) {
      const Name u(inner.range.index.str() + "'");
      const NameMap from_begin = {{inner.range.index, SymbolExpr(outer->range.index) + SymbolExpr(u)}};
      for (auto* list : indices)
        for (Expr& e : *list) e = Substitute(e, from_begin);
      inner.range = {u, Expr(0), StepOf(outer->range), StepOf(inner.range)};
      return true;
    }
    inner.range.begin = outer->range.begin;
    if (cyclic) inner.range.step = Expr(1);
    else inner.range.end = outer->range.end;
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

}  // namespace headrace
