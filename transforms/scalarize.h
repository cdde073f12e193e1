// Turns arrays that live within one iteration of a map into registers: written first, then used, always at the element or
// (short, static) row that belongs to the iteration, and used nowhere else.
//
//   transient T: f32[N]                                    transient T: f32 @register
//   map i in 0:N { T[i] = X[i] + 1; Y[i] = T[i] * T[i] } →  map i in 0:N { T = X[i] + 1; Y[i] = T * T }
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> Scalarize(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
