#include "ir/expr/factor.h"
#include "ir/expr/symbolic_poly.h"

namespace headrace {

Factored TakeFactor(const Expr& e) {
  const Expr canonical = Simplify(e);
  std::optional<symbolic::Poly> p = symbolic::ToPoly(canonical);
  if (!p) return {1, canonical};
  int64_t common = 0;
  for (const symbolic::Term& t : p->terms) common = symbolic::Gcd(common, t.coefficient);
  if (common <= 1) return {1, canonical};
  for (symbolic::Term& t : p->terms) t.coefficient /= common;
  return {common, symbolic::FromPoly(std::move(*p))};
}

}  // namespace headrace
