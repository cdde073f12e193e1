#include "ir/analysis/facts.h"

#include "ir/analysis/layout.h"

namespace headrace {
namespace {

bool ComparesIndices(const Expr& e) {
  return e.Is(ExprKind::kBinary) && (e->op == Op::kLt || e->op == Op::kLe || e->op == Op::kGt || e->op == Op::kGe) &&
         IsIndexExpr(e->args[0]) && IsIndexExpr(e->args[1]);
}

Op Opposite(Op op) {
  switch (op) {
    case Op::kLt: return Op::kGe;
    case Op::kGe: return Op::kLt;
    case Op::kLe: return Op::kGt;
    default: return Op::kLe;
  }
}

// e >= 0, where the innermost index that it speaks of has the factor 1 or -1.
void Cut(const Expr& e, std::vector<Range>* ranges) {
  for (size_t i = ranges->size(); i-- > 0;) {
    Range& r = (*ranges)[i];
    if (!Mentions(e, r.index)) continue;
    const auto slope = Coefficient(e, r.index);
    const int64_t by = slope ? AsInt(*slope).value_or(0) : 0, step = r.step ? AsInt(r.step).value_or(0) : 1;
    if ((by != 1 && by != -1) || step < 1) return;
    const Expr rest = Substitute(e, {{r.index, Expr(0)}});
    if (by == 1) {
      r.begin = Max(r.begin, Expr(0) - rest);
      r.step = Expr(1);  // of more points than there are
    } else {
      r.end = Min(r.end, rest + Expr(1));
    }
    return;
  }
}

}  // namespace

void AddFacts(const Expr& condition, bool holds, std::vector<Expr>* facts) {
  if (condition.Is(ExprKind::kUnary) && condition->op == Op::kNot) return AddFacts(condition->args[0], !holds, facts);
  if (condition.Is(ExprKind::kBinary) && condition->op == (holds ? Op::kAnd : Op::kOr))
    return AddFacts(condition->args[0], holds, facts), AddFacts(condition->args[1], holds, facts);
  if (holds) facts->push_back(condition);
  else if (ComparesIndices(condition)) facts->push_back(BinaryExpr(Opposite(condition->op), condition->args[0], condition->args[1]));
  else facts->push_back(UnaryExpr(Op::kNot, condition));  // of floats that may be NaN, `a < b` has no opposite
}

std::vector<Range> CutByFacts(std::vector<Range> ranges, const std::vector<Expr>& facts) {
  for (const Expr& f : facts) {
    if (!ComparesIndices(f)) continue;
    const Expr &a = f->args[0], &b = f->args[1];
    if (f->op == Op::kGe) Cut(a - b, &ranges);
    if (f->op == Op::kGt) Cut(a - b - Expr(1), &ranges);
    if (f->op == Op::kLe) Cut(b - a, &ranges);
    if (f->op == Op::kLt) Cut(b - a - Expr(1), &ranges);
  }
  return ranges;
}

std::optional<bool> Decide(const Expr& e, const Assumptions& as) {
  if (!e) return true;
  Expr x = Simplify(e);
  if (x.Is(ExprKind::kBool) || x.Is(ExprKind::kInt)) return x->ivalue != 0;
  if (x.Is(ExprKind::kUnary) && x->op == Op::kNot) {
    auto v = Decide(x->args[0], as);
    if (v) return !*v;
    return {};
  }
  if (!x.Is(ExprKind::kBinary)) return {};
  const Expr &a = x->args[0], &b = x->args[1];
  if (x->op == Op::kAnd || x->op == Op::kOr) {
    auto p = Decide(a, as), q = Decide(b, as);
    bool absorbing = x->op == Op::kOr;
    if (p == absorbing || q == absorbing) return absorbing;
    if (p && q) return !absorbing;
    return {};
  }
  if (!IsIndexExpr(a) || !IsIndexExpr(b)) return {};
  auto le = [&](const Expr& p, const Expr& q) { return ProveLe(p, q, as); };
  switch (x->op) {
    case Op::kLe:
      if (le(a, b) == Truth::kYes) return true;
      if (le(b + Expr(1), a) == Truth::kYes) return false;
      return {};
    case Op::kLt:
      if (le(a + Expr(1), b) == Truth::kYes) return true;
      if (le(b, a) == Truth::kYes) return false;
      return {};
    case Op::kGe:
      if (le(b, a) == Truth::kYes) return true;
      if (le(a + Expr(1), b) == Truth::kYes) return false;
      return {};
    case Op::kGt:
      if (le(b + Expr(1), a) == Truth::kYes) return true;
      if (le(a, b) == Truth::kYes) return false;
      return {};
    case Op::kEq:
    case Op::kNe: {
      Truth t = ProveEq(a, b, as);
      if (t == Truth::kUnknown) return {};
      return (t == Truth::kYes) == (x->op == Op::kEq);
    }
    default: return {};
  }
}

}  // namespace headrace
