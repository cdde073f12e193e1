#include "ir/expr/broadcast.h"

namespace headrace {

Expr BroadcastSize(const Expr& a, const Expr& b, const Assumptions& as) {
  const std::optional<int64_t> x = AsInt(a), y = AsInt(b);
  if (x == 1 || a == b) return b;
  if (y == 1 || x) return a;
  if (y || ProveEq(a, b, as) == Truth::kYes) return y ? b : a;
  const Expr least = Min(a, b);
  if (ProveLe(IntExpr(1), least, as) == Truth::kYes) return Max(a, b);
  return Max(a, b) * Min(least, IntExpr(1));
}

}  // namespace headrace
