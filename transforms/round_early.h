// Arrays of f32 that are only read rounded to one type of halves hold what is rounded: half the memory, and the same values. Sums are
// added up as before, and rounded right behind them, where a product does so in its tiles.
//
//   map i in 0:M, j in 0:N { T[i, j] = 0 }                               map i in 0:M, j in 0:N { S[i, j] = 0 }
//   map i in 0:M, j in 0:N, k in 0:K { T[i, j] += A[i, k] * B[k, j] }  →  map i in 0:M, j in 0:N, k in 0:K { S[i, j] += A[i, k] * B[k, j] }
//   map i in 0:M, j in 0:N { U[j, i] = T[i, j] }                         map i in 0:M, j in 0:N { T[i, j] = bf16(S[i, j]) }
//   map i in 0:M, j in 0:N { Y[i, j] = bf16(U[i, j]) }                   map i in 0:M, j in 0:N { U[j, i] = T[i, j] }
//                                                                        map i in 0:M, j in 0:N { Y[i, j] = U[i, j] }
//
// So are results of layers under autocast, and the gradients that flow back to them.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> RoundEarly(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
