// Both sides of a choice that call the same function share one call, for in lanes both sides are computed; a square is a product,
// and tanh of a logarithm a quotient. The same values, to a rounding, for less work.
//   Y[i] = c ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x))  →  Y[i] = (c ? exp(c ? x : -x) : 1) / (1 + exp(c ? x : -x))
//   Y[i] = pow(x, 2)                                      →  Y[i] = x * x
//   Y[i] = tanh(log1p(exp(x)))                            →  Y[i] = n / (n + 2), n = e * (e + 2), e = exp(x > 20 ? 20 : x)
// The last is Mish without its factor: tanh of softplus, also as softplus is written for large x: max(x, 0) + log1p(exp(-abs(x))), and
// where a register of the same iteration holds it.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> ShareCalls(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
