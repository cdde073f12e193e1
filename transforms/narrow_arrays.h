// Arrays of f32 that hold nothing but widened halves hold the halves: half the memory, and products of them are products of halves.
//
//   map i in 0:N { g[i] = f32(h[i]) }                      map i in 0:N { g[i] = h[i] }
//   map i in 0:M, k in 0:N { Y[i] += g[k] * W[i, k] }  →  map i in 0:M, k in 0:N { Y[i] += f32(g[k]) * W[i, k] }
//
// Gradients that PyTorch computes under autocast are such arrays.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> NarrowArrays(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
