#include "transforms/schedule/factor.h"

#include "ir/analysis/type_inference.h"

namespace headrace::schedule {
namespace {

// Sums and products of small floats are rounded later, those of integers wrap.
bool HasItsType(const Expr& e) {
  if (e.Is(ExprKind::kInt) || (e.Is(ExprKind::kFloat) && e->fvalue == 0)) return IsInteger(e->dtype) || AsInt(e).value_or(0) == 0;
  if (e.Is(ExprKind::kSelect)) return HasItsType(e->args[1]) && HasItsType(e->args[2]);
  return e.Is(ExprKind::kRead) || e.Is(ExprKind::kCast) || IsInteger(e->dtype);
}

}  // namespace

Expr Factor(const Sdfg& s, Expr factor, DType small, DType wide) {
  while (factor.Is(ExprKind::kCast) && factor->dtype == wide && !factor->saturate) factor = factor->args[0];
  const Result<Expr> typed = InferTypes(s, factor);
  return typed.ok() && (*typed)->dtype == small && HasItsType(*typed) ? factor : Expr();
}

Expr ByteFactor(const Sdfg& s, const Expr& factor, DType small, DType wide) {
  if (const Expr same = Factor(s, factor, small, wide)) return same;
  const bool to_unsigned = small == DType::kU8;
  const bool shifted = factor.Is(ExprKind::kBinary) && factor->op == (to_unsigned ? Op::kAdd : Op::kSub) && AsInt(factor->args[1]) == 128;
  return shifted && Factor(s, factor->args[0], to_unsigned ? DType::kI8 : DType::kU8, wide) ? CastExpr(small, factor) : Expr();
}

}  // namespace headrace::schedule
