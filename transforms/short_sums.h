// Sums over very few terms are written out, term by term: what is left goes element by element, and fuses as such.
//
//   map k in 0:2, j in 0:N, i in 0:2 { Y[i, j] += A[i, k] * X[k, j] }
//     →  map i in 0:2, j in 0:N { Y[i, j] += A[i, 0] * X[0, j] ; Y[i, j] += A[i, 1] * X[1, j] }
//
// The order of terms is the map's. Matrix products whose other sides are both long stay: tiles use each operand many times.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> WriteOutShortSums(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
