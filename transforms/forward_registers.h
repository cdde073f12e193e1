// Maps whose statements but the last only hold elements in registers become maps of one statement: such a map is a plain loop
// nest, whose loops may be exchanged, whose sums have accumulators, and which may be a matrix product.
//
//   map i in 0:N, j in 0:M { g = G[i]; D[j] += g * X[i, j] }   →   map i in 0:N, j in 0:M { D[j] += G[i] * X[i, j] }
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> ForwardRegisters(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
