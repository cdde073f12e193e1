// Sigmoids that choose the sign of their exponential, so that nothing overflows, need no choice where denormal floats count as zero
// (`@flush`): the exponential is infinite only where what is less than 2^-128 is zero. The same values, to a rounding, for less work.
//   y = (x < 0 ? exp(x < 0 ? x : -x) : 1) / (1 + exp(x < 0 ? x : -x))  →  y = 1 / (1 + exp(-x))
// In f32 and bf16 alone, whose exponent goes as far as that; after `denormals`. Derivatives were taken of the other form: of this one they
// would be inf / inf.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> OneSidedSigmoids(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
