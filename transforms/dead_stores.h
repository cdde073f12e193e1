// Removes statements whose results are overwritten before anybody reads them: what a forward pass computed last where its gradient
// begins by putting back what was there before.
//
//   map i in 0:N { S[i] = X[i] }                 map i in 0:N { S[i] = X[i] }
//   map i in 0:N { T[i] = S[i] }                 map i in 0:N { T[i] = S[i] }
//   map i in 0:N { S[i] = exp(S[i]) }       →    map i in 0:N { S[i] = T[i] }
//   map i in 0:N { S[i] = T[i] }                 map i in 0:N { Y[i] = S[i] }
//   map i in 0:N { Y[i] = S[i] }
//
// Statements between loops and branches, not in them.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> EliminateDeadStores(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
