// Maps over elements one after the other go by the dimensions of the arrays that they see through flat views, where the statements
// around them do: they fuse with these.
//
//   view t: f64[8 * N] of T                                     view u: f64[8, N] of U
//   map i in 0:8, j in 0:N { T[i, j] = S[i] * 2 }               map i in 0:8, j in 0:N { T[i, j] = S[i] * 2 }
//   map d in 0:8 * N { U[d] = t[d] + 1 }                 →      map i in 0:8, j in 0:N { u[i, j] = T[i, j] + 1 }
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> Unflatten(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
