// Sizes as a number times what does not depend on it: 4 * N * 64 is 256 · N, 6 * N * C + 4 * C is 2 · (3 * N * C + 2 * C).
#pragma once
#include "ir/expr/expr.h"

namespace headrace {

struct Factored {
  int64_t number = 1;  // > 0
  Expr rest;           // canonical; its coefficients have no common divisor
};
// Of an index expression; 0 is 1 · 0. Where int64 would overflow the number is 1.
Factored TakeFactor(const Expr& e);

}  // namespace headrace
