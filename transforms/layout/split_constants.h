// A constant that is read at known places of its first dimension only is several constants, one for each.
//
//   constant W: f32[2, 64, 96] = …                           constant W_0: f32[64, 96] = … ; constant W_1: f32[64, 96] = …
//   map … { A[i, j] += X[i, k] * W[0, k, j] }           →    map … { A[i, j] += X[i, k] * W_0[k, j] }
//   map … { B[i, j] += X[i, k] * W[1, k, j] }                map … { B[i, j] += X[i, k] * W_1[k, j] }
//
// The weights of a recurrent layer's two directions are: each is then packed as its own products read it (pack_constants.h). Only where the
// parts have two dimensions or more, and all that read the constant read elements of it under its own name. The parts share its memory.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> SplitConstants(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
