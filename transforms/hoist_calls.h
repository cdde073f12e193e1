// Calls that take long and that only some indices of a map decide on are computed once for each of these, before it.
//
//   map i in 0:N, j in 0:64, n in 0:3 { Y[i, j] += pow(z, f64(n)) * X[n, i, j] }
//     →  map n in 0:3 { once[n] = pow(z, f64(n)) }
//        map i in 0:N, j in 0:64, n in 0:3 { Y[i, j] += once[n] * X[n, i, j] }
//
// So is a number of many steps that is a function of indices alone: where resampling reads, and by what it multiplies. What keeps an index
// inside of its array stays there.
//
// Maps, also within each other, whose numbers of iterations are known. A call that a choice may leave out is computed in any case, so all
// that it reads must be read in any case, too.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> HoistCalls(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
