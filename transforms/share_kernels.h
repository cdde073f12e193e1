// Scheduled kernels that differ in numbers only, sizes of arrays and bounds of loops, become one: what differs is given by the calls.
// Numbers that vary together are one symbol, times what all values have in common, so that what is known of multiples stays known.
//
//   kernel k0(p0: f32[n0, 64, 56], n0: symbol) for cpu { map i in 0:n0 @parallel { for j in 0:64, k in 0:56 { … } } }
//   kernel k1(p0: f32[n0, 128, 28], n0: symbol) for cpu { map i in 0:n0 @parallel { for j in 0:128, k in 0:28 { … } } }
//     →  kernel k0(p0: f32[n0, 64 * n1, 28 * n2], n0: symbol, n1: symbol, n2: symbol) for cpu { … }
//        call k0(p0 = X, n0 := N, n1 := 1, n2 := 2) ; call k0(p0 = Y, n0 := N, n1 := 2, n2 := 1)
//
// What decides on code stays a number (kernel_numbers.h), and kernels of which the verifier can't show any more that they stay inside,
// and race nowhere, stay apart.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> ShareKernels(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
