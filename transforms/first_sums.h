// What is added to an array of zeros, once to each element, is stored there, and the zeros are not: adjoints that are handed on.
//
//   map i in 0:N { T[i] = G[i] ; G[i] = 0 }                   map i in 0:N { T[i] = G[i] }
//   map i in 0:8, j in 0:M { g[j, i] += V[i, j] }      →      map i in 0:8, j in 0:M { g[j, i] = V[i, j] }
//
// In one state, where nobody uses the array between the two.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> StoreFirstSums(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
