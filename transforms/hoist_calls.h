// Calls that take long and that only some indices of a map decide on are computed once for each of these, before it.
//
//   map i in 0:N, j in 0:64, n in 0:3 { Y[i, j] += pow(z, f64(n)) * X[n, i, j] }
//     →  map n in 0:3 { once[n] = pow(z, f64(n)) }
//        map i in 0:N, j in 0:64, n in 0:3 { Y[i, j] += once[n] * X[n, i, j] }
//
// So is a number of many steps that is a function of indices alone: where resampling reads, and by what it multiplies. What keeps an index
// inside of its array stays there.
//
// Maps, also within each other, whose numbers of iterations are known. A call that a choice may leave out is computed in any case where all
// that it reads is read in any case, too, and else under the same choice, where that is one of few indices as well:
//
//   map i in 0:N, n in 0:3 { Y[i] += (t[n] == 0 ? 1 : pow(z, t[n])) * X[n, i] }
//     →  map n in 0:3 { once[n] = t[n] == 0 ? 0 : pow(z, t[n]) } ; map … { Y[i] += (t[n] == 0 ? 1 : once[n]) * X[n, i] }
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> HoistCalls(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
