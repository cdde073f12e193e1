// Sums of gradients in f16 and bf16 are carried in f32 and rounded once, as forms do it.
//
//   map n in 0:N, i in 0:4 { grad_B[i] += grad_Y[n, i] }
//   →  transient grad_B_sum: f32[4]; … grad_B_sum[i] += grad_Y[n, i] …; map i in 0:4 { grad_B[i] = grad_B_sum[i] }
#pragma once
#include "ir/graph/graph.h"

namespace headrace::autodiff {

// In the blocks of the entry from `first` on: containers of a half type that something is added to there, unless calls or the blocks before
// use them. Transients become f32 themselves, with their views; library nodes take them rounded, once they are whole.
void WidenSums(Program* p, size_t first);

}  // namespace headrace::autodiff
