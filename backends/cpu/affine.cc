#include "backends/cpu/affine.h"

namespace headrace::cpu {

bool Mentions(const Expr& e, Name index) {
  bool found = false;
  Visit(e, [&](const Expr& x) { return found |= x.Is(ExprKind::kSymbol) && x->name == index, !found; });
  return found;
}

std::optional<Expr> Coefficient(const Expr& e, Name index) {
  if (!Mentions(e, index)) return IntExpr(0);
  if (!IsIndexExpr(e)) return std::nullopt;
  const Expr at0 = Substitute(e, {{index, IntExpr(0)}}), at1 = Substitute(e, {{index, IntExpr(1)}});
  const Expr slope = at1 - at0;
  if (Mentions(slope, index) || Simplify(e) != at0 + slope * SymbolExpr(index)) return std::nullopt;
  return slope;
}

namespace {

std::optional<Expr> CollapseOffset(const Expr& e, Name a, Name b, const Expr& extent_b) {
  if (!Mentions(e, a) && !Mentions(e, b)) return e;
  const auto ca = Coefficient(e, a), cb = Coefficient(e, b);
  if (!ca || !cb || Mentions(*ca, b) || Mentions(*cb, a)) return std::nullopt;
  if (*ca != *cb * extent_b) return std::nullopt;
  return Substitute(e, {{a, IntExpr(0)}, {b, IntExpr(0)}}) + *cb * SymbolExpr(a);
}

}  // namespace

std::optional<LoweredStmt> Collapse(const LoweredStmt& s, Name a, Name b, const Expr& extent_b) {
  if (s.condition && (Mentions(s.condition, a) || Mentions(s.condition, b))) return std::nullopt;
  LoweredStmt out = s;
  const auto target = CollapseOffset(s.linear, a, b, extent_b);
  if (!target) return std::nullopt;
  out.linear = *target;
  bool ok = true;
  // Outside of offsets the indices may not occur at all; inside, only as a walk. Reads are replaced by marks first.
  out.value = Transform(s.value, [&](const Expr& e) -> Expr {
    if (!ok || !e.Is(ExprKind::kRead)) return e;
    auto offset = CollapseOffset(e->args[0], a, b, extent_b);
    if (!offset) return ok = false, e;
    return WithArgs(e, {*offset});
  });
  if (!ok) return std::nullopt;
  Visit(out.value, [&](const Expr& e) {
    if (e.Is(ExprKind::kRead)) return false;  // already done (data-dependent offsets had no a or b)
    if (e.Is(ExprKind::kSymbol) && (e->name == a || e->name == b)) ok = false;
    return ok;
  });
  if (!ok) return std::nullopt;
  if (s.report)  // it names the element by both
    out.report = Substitute(s.report, {{a, FloorDiv(SymbolExpr(a), extent_b)}, {b, Mod(SymbolExpr(a), extent_b)}});
  return out;
}

Expr SimplifyInRange(const Expr& e, const std::vector<IndexExtent>& extents, const Assumptions& as) {
  if (!e) return e;
  Assumptions known = as;
  for (const IndexExtent& x : extents) known.bounds.insert(known.bounds.begin(), {x.index, Interval{0, x.extent - 1}});
  bool changed = false;
  const Expr out = Transform(e, [&](const Expr& x) -> Expr {
    if (IsFn(x, "reflect") && IsIndexExpr(x) && AsInt(x->args[1])) {
      const Interval b = BoundsOf(x->args[0], known);
      if (!b.lo || !b.hi || *b.lo < 0 || *b.hi >= *AsInt(x->args[1])) return x;
      changed = true;
      return x->args[0];
    }
    if (!x.Is(ExprKind::kBinary) || (x->op != Op::kFloorDiv && x->op != Op::kMod) || !x->args[1].Is(ExprKind::kInt) ||
        !IsIndexExpr(x))
      return x;
    const Interval b = BoundsOf(x->args[0], known);
    if (!b.lo || !b.hi || *b.lo < 0 || *b.hi >= x->args[1]->ivalue) return x;
    changed = true;
    return x->op == Op::kMod ? x->args[0] : WithType(IntExpr(0), x->dtype);
  });
  return changed ? Simplify(out) : e;
}

LoweredStmt SimplifyInRange(LoweredStmt s, const std::vector<IndexExtent>& extents, const Assumptions& as) {
  s.linear = SimplifyInRange(s.linear, extents, as);
  s.condition = SimplifyInRange(s.condition, extents, as);
  s.value = SimplifyInRange(s.value, extents, as);
  return s;
}

LoweredStmt SubstituteIndex(LoweredStmt s, Name index, const Expr& by) {
  for (Expr* e : {&s.linear, &s.condition, &s.value, &s.report})
    if (*e) *e = Substitute(*e, {{index, by}});
  return s;
}

int64_t SplitDivisor(const LoweredStmt& s, Name index) {
  int64_t divisor = 0;
  for (const Expr& e : {s.linear, s.condition, s.value})
    if (e)
      Visit(e, [&](const Expr& x) {
        if (x.Is(ExprKind::kBinary) && (x->op == Op::kFloorDiv || x->op == Op::kMod) && x->args[1].Is(ExprKind::kInt) &&
            x->args[0].Is(ExprKind::kSymbol) && x->args[0]->name == index)
          divisor = x->args[1]->ivalue;
        return true;
      });
  return divisor;
}

std::vector<Expr> Offsets(const LoweredStmt& s) {
  std::vector<Expr> out = {s.linear};
  Visit(s.value, [&](const Expr& e) {
    if (e.Is(ExprKind::kRead)) out.push_back(e->args[0]);
    return true;
  });
  return out;
}

}  // namespace headrace::cpu
