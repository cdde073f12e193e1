// Elementwise statements work in place: what they write takes the array of an input that is not used any more.
//
//   map i in 0:N { T[i] = X[i] * X[i] }    # X for the last time     →     map i in 0:N { X[i] = X[i] * X[i] }
//   map i in 0:N { Y[i] = T[i] + 1 }                                       map i in 0:N { Y[i] = X[i] + 1 }
//
// Legal where both are transients of one type and shape, every iteration writes an element of its own, and reads of the input
// none but that one, before. Calls of functions that say so (hr_in_place) do the same. Inside loops nothing changes: there an
// array is needed again by the next round.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> Alias(Program& p, const Registry& r, const Ask& ask = IsAdvised);

}  // namespace headrace
