// Turns arrays that live within one iteration of a map into registers: written first, then used, always at the element or
// (short, static) row that belongs to the iteration, and used nowhere else.
//
//   transient T: f32[N]                                    transient T: f32 @register
//   map i in 0:N { T[i] = X[i] + 1; Y[i] = T[i] * T[i] } →  map i in 0:N { T = X[i] + 1; Y[i] = T * T }
//
// `localize-rows` gives rows of any length to the workers that run the iterations, where these are many:
//
//   transient T: f32[N, M]                                              transient T: f32[M] @worker
//   map i in 0:N {                                                      map i in 0:N {
//     map k in 0:M { T[i, k] = exp(X[i, k]); S += T[i, k] }       →       map k in 0:M { T[k] = exp(X[i, k]); S += T[k] }
//     map k in 0:M { Y[i, k] = f16(T[i, k] / S) } }                       map k in 0:M { Y[i, k] = f16(T[k] / S) } }
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> Scalarize(Program& p, const Ask& ask = IsAdvised);
Result<bool> LocalizeRows(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
