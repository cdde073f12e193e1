// What passes over f16 and bf16 ask.
#pragma once
#include <algorithm>

#include "ir/graph/graph.h"

namespace headrace::transforms {

inline bool IsHalf(DType t) { return t == DType::kF16 || t == DType::kBF16; }
inline bool IsLiteral(const Expr& e) { return e.Is(ExprKind::kFloat) || e.Is(ExprKind::kInt); }
inline bool IsZero(const Expr& e) {
  if (e.Is(ExprKind::kCast)) return IsZero(e->args[0]);
  return e.Is(ExprKind::kFloat) ? e->fvalue == 0 : AsInt(e) == 0;
}
inline bool HasHalves(const Sdfg& s) {
  return std::any_of(s.order.begin(), s.order.end(), [&](Name n) { return IsHalf(s.Get(n).dtype); });
}

}  // namespace headrace::transforms
