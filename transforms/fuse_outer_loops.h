// Neighbouring maps become one loop around them where each iteration has its own part of what they pass on: arrays that only they
// use need to hold one part at a time, and lose the dimension.
//
//   transient S: f32[B, N, N]                                     transient S: f32[N, N]
//   state {                                                       for b in 0:B {
//     map b in 0:B, i in 0:N, j in 0:N { S[b, i, j] = … }           state {
//     map b in 0:B, i in 0:N, k in 0:K, j in 0:N {            →       map i in 0:N, j in 0:N { S[i, j] = … }
//       O[b, i, k] += S[b, i, j] * V[b, j, k]                         map i in 0:N, k in 0:K, j in 0:N { O[b, i, k] += S[i, j] * V[b, j, k] }
//     }                                                             }
//   }                                                             }
//
// What stands between them goes before the loop or after it. Advised where fewer bytes are in use at once then, near the most that the
// SDFG ever has in use, and the statements of an iteration have enough to do for many threads. The pass keeps what it made of an SDFG
// only if its arena needs less.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

struct OuterLoopLimits {
  size_t least_bytes = 8 << 20;        // that a loop saves
  size_t least_operations = 32 << 20;  // of each statement in an iteration, on average
  int64_t symbol_size = 16;            // what a size counts as that is not known
};
Result<bool> FuseOuterLoops(Program& p, const OuterLoopLimits& limits = {});
Result<bool> FuseOuterLoopsAt(Program& p, const OuterLoopLimits& limits, const Ask& ask);  // its steps

}  // namespace headrace
