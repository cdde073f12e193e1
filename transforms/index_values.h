// Arrays whose elements are cheap functions of their indices alone are computed where they are read: grids, ranges, ones.
//
//   map i in 0:2, j in 0:N { R[i, j] = i64(j) }
//   map j in 0:8 { Y[j] = X[j] * f64(R[1, j]) }     →     map j in 0:8 { Y[j] = X[j] * f64(i64(j)) }
//
// Transients that one statement writes as a whole, and that only values and indices inside of the array read.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> ForwardIndexValues(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
