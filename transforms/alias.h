// Statements work in place: what they write takes the array of an input that is not used any more, if it is as large.
//
//   map i in 0:N { T[i] = X[i] * X[i] }    # X for the last time     →     map i in 0:N { X[i] = X[i] * X[i] }
//   map i in 0:N { Y[i] = T[i] + 1 }                                       map i in 0:N { Y[i] = X[i] + 1 }
//
// Legal where every iteration writes an element of its own, and reads of the input none but that one, before; or, in rows, only
// elements of its row before the row is written (in_place.h): a softmax has one array. Both are transients; or the array for which
// this is the last time lies in a result of the program, which is first written here, from the beginning. Other shapes of an
// array become views of the place. Calls of functions that say so (hr_in_place) do the same. Inside loops nothing changes: there
// an array is needed again by the next round.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> Alias(Program& p, const Registry& r, const Ask& ask = IsAdvised);

}  // namespace headrace
