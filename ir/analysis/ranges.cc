#include "ir/analysis/ranges.h"

#include <optional>

namespace headrace {

Expr StepOf(const Range& r) { return r.step ? r.step : Expr(1); }
bool IsUnitStep(const Range& r) { return AsInt(StepOf(r)) == 1; }
bool IsPoint(const Range& r) { return IsUnitStep(r) && r.end == r.begin + Expr(1); }

bool MentionsAny(const Expr& e, const std::vector<Range>& ranges) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    if (x.Is(ExprKind::kSymbol))
      for (const Range& r : ranges) found |= r.index == x->name;
    return !found;
  });
  return found;
}

Hull HullOf(const Range& r, const Assumptions& as) {
  Expr step = StepOf(r);
  if (auto s = AsInt(step)) {
    if (*s > 0) return {r.begin, r.end - Expr(1)};
    if (*s < 0) return {r.end + Expr(1), r.begin};
    return {};
  }
  Interval b = BoundsOf(step, as);
  if (b.lo && *b.lo > 0) return {r.begin, r.end - Expr(1)};
  if (b.hi && *b.hi < 0) return {r.end + Expr(1), r.begin};
  return {};
}

bool LinearIn(const Expr& e, const std::vector<Range>& ranges, LinearForm* out) {
  bool plain = true;  // only sums, differences, products and negations may hide a linear form
  Visit(e, [&](const Expr& x) {
    if (x.Is(ExprKind::kInt) || x.Is(ExprKind::kSymbol)) return false;
    if (x.Is(ExprKind::kBinary) && (x->op == Op::kAdd || x->op == Op::kSub || x->op == Op::kMul)) return plain;
    if (x.Is(ExprKind::kUnary) && x->op == Op::kNeg) return plain;
    if (MentionsAny(x, ranges) || !IsIndexExpr(x)) plain = false;
    return false;
  });
  if (!plain) return false;
  NameMap zero;
  for (const Range& r : ranges) zero.push_back({r.index, Expr(0)});
  out->rest = Substitute(e, zero);
  out->coefficients.clear();
  for (const Range& r : ranges) {
    bool used = false;
    Visit(e, [&](const Expr& x) {
      used |= x.Is(ExprKind::kSymbol) && x->name == r.index;
      return !used;
    });
    if (!used) {
      out->coefficients.push_back(Expr(0));
      continue;
    }
    Expr c = Simplify(Substitute(e, {{r.index, Expr(r.index) + Expr(1)}}) - e);
    if (MentionsAny(c, ranges)) return false;
    out->coefficients.push_back(c);
  }
  return true;
}

Assumptions WithNonEmptyRanges(const std::vector<Range>& ranges, const Assumptions& as) {
  Assumptions out = as;
  auto at_least_one = [&](const Expr& e) {
    if (!e || !e.Is(ExprKind::kSymbol)) return;
    for (auto& b : out.bounds) {
      if (b.first != e->name) continue;
      if (!b.second.lo || *b.second.lo < 1) b.second.lo = 1;
      return;
    }
    out.bounds.push_back({e->name, Interval{1, {}}});
  };
  for (const Range& r : ranges)
    if (AsInt(r.begin) == 0 && AsInt(StepOf(r)).value_or(0) > 0) at_least_one(r.end);
  return out;
}

}  // namespace headrace
