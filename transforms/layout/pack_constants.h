// Constants that matrix products and convolutions would pack for each call are packed when the program is compiled.
//
//   constant W: f32[64, 96] = …                              constant W_packed: f32[3, 64, 32] = …
//   map i in 0:M, j in 0:96, k in 0:64 {              →      map i in 0:M, j in 0:96, k in 0:64 {
//     Y[i, j] += X[i, k] * W[k, j]                             Y[i, j] += X[i, k] * W_packed[j // 32, k, j % 32]
//   }                                                        }
//
// Weights of 3 × 3 windows that are summed by fewer products are transformed for that (schedule/winograd.h), and read back by
// what undoes it: the statement computes what it did.
// How they are packed is asked of the strategy (transforms/schedule/packed.h), `device` being what it schedules for. Only where all
// that read a constant want it alike, and only what is read element by element under its own name: nothing is kept twice.
#pragma once
#include "ir/registry/transformation.h"
#include "transforms/schedule/device.h"

namespace headrace {

Result<bool> PackConstants(Program& p, const schedule::Device& device, const Ask& ask = IsAdvised);

}  // namespace headrace
