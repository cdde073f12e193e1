#include "backends/cpu/guards.h"

#include <utility>

#include "backends/cpu/affine.h"

namespace headrace::cpu {
namespace {

// Adds one comparison of a guard's conjunction; false when it is not linear in the index.
bool AddTerm(const Expr& term, Name index, GuardSplit* out) {
  if (term.Is(ExprKind::kBinary) && term->op == Op::kAnd)
    return AddTerm(term->args[0], index, out) && AddTerm(term->args[1], index, out);
  if (!Mentions(term, index)) {
    out->when = out->when ? WithType(BinaryExpr(Op::kAnd, out->when, term), DType::kBool) : term;
    return true;
  }
  if (!term.Is(ExprKind::kBinary) || (term->op != Op::kGe && term->op != Op::kLt)) return false;
  const Expr &a = term->args[0], &b = term->args[1];
  if (!IsIndexExpr(a) || !IsIndexExpr(b) || Mentions(b, index)) return false;
  const auto slope = Coefficient(a, index);
  const auto c = slope ? AsInt(*slope) : std::nullopt;
  if (!c || *c == 0) return false;
  const Expr rest = Substitute(a, {{index, IntExpr(0)}});
  // k * index + r >= 0
  const int64_t k = term->op == Op::kGe ? *c : -*c;
  const Expr r = term->op == Op::kGe ? rest - b : b - IntExpr(1) - rest;
  if (k > 0) out->from.push_back(FloorDiv(IntExpr(k - 1) - r, IntExpr(k)));
  else out->below.push_back(FloorDiv(r, IntExpr(-k)) + IntExpr(1));
  return true;
}

// reflect(i, n), max(i, lo), min(i, hi): i where it is within the border, and what says so.
std::optional<std::pair<Expr, std::vector<Expr>>> Unbordered(const Expr& e, Name index) {
  const bool mirrored = IsFn(e, "reflect"), least = IsFn(e, "max"), most = IsFn(e, "min");
  if (!(mirrored || least || most) || e->args.size() != 2 || !IsIndexExpr(e)) return std::nullopt;
  const size_t at = mirrored || Mentions(e->args[0], index) ? 0 : 1;
  const Expr &i = e->args[at], &border = e->args[1 - at];
  if (!Mentions(i, index) || Mentions(border, index)) return std::nullopt;
  std::vector<Expr> terms;
  if (mirrored || least) terms.push_back(BinaryExpr(Op::kGe, i, mirrored ? IntExpr(0) : border));
  if (mirrored || most) terms.push_back(BinaryExpr(Op::kLt, i, mirrored ? border : border + IntExpr(1)));
  return std::make_pair(i, terms);
}

}  // namespace

std::optional<GuardSplit> SplitGuards(const Expr& value, Name index, bool always) {
  GuardSplit out;
  bool any = false, ok = true, strided = always;
  out.inside = Transform(value, [&](const Expr& e) -> Expr {
    if (!ok) return e;
    if (const auto inside = Unbordered(e, index)) {
      any = strided = true;
      for (const Expr& term : inside->second) ok = ok && AddTerm(term, index, &out);
      return inside->first;
    }
    if (!IsFn(e, kGuardFn) || !Mentions(e->args[0], index)) return e;
    any = true;
    Visit(e->args[1], [&](const Expr& r) {
      if (!r.Is(ExprKind::kRead)) return true;
      const auto c = Coefficient(r->args[0], index);
      strided |= !c || (AsInt(*c) != 0 && AsInt(*c) != 1);
      return true;
    });
    ok = AddTerm(e->args[0], index, &out);
    return e->args[1];
  });
  if (!any || !ok || !strided) return std::nullopt;
  return out;
}

}  // namespace headrace::cpu
