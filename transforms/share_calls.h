// Both sides of a choice that call the same function share one call, for in lanes both sides are computed; a square is a product.
// The same values for less work.
//   Y[i] = c ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x))  →  Y[i] = (c ? exp(c ? x : -x) : 1) / (1 + exp(c ? x : -x))
//   Y[i] = pow(x, 2)                                      →  Y[i] = x * x
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> ShareCalls(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
