// What functions of libraries of kernels ask for, given to their calls (hr_external): operands in the order in memory that they
// prefer, and scratch. The last pass of the level of loops: what moves statements or makes arrays anew comes before.
//
//   transient T: f32[N, 8, H, W]                         transient T: f32[N, 8, H, W] strides [8*H*W, 1, 8*W, 8]
//   map … { T[n, c, h, w] = … }                     →    map … { T[n, c, h, w] = … }
//   call.conv(X = T, W = W) -> (Y = Y)                   transient scratch: u8[4*H*W + 64]
//                                                        call.conv(X = T, W = W) -> (Y = Y, hr_scratch = scratch)
//
// An array of the run's own that nobody wants otherwise lies as asked; of any other a copy is put before the call, or behind it.
// Scratch has 64 bytes more than was asked for, which the function must leave alone. E0678: the function refuses.
#pragma once
#include "ir/registry/registry.h"

namespace headrace {

Result<bool> BindCalls(Program& p, const Registry& r);

}  // namespace headrace
