// Channels innermost where a network gains from it: images between convolutions, poolings and what is elementwise.
//
//   before:  transient A: f32[N, 8, 32, 32]                after:  transient A: f32[N, 8, 32, 32] layout [d0, d2, d3, d1]
//            constant W: f32[8, 8, 3, 3] = …                       constant W: f32[8, 8, 3, 3] = … layout [d2, d3, d1, d0]
//            … B[n, o, p, q] += A[n, c, p + k, q + l] * W[o, c, k, l] …
//
// Containers that statements walk alike are one set. It is turned where what its sums gain is more than what other statements,
// views, inputs and outputs lose (layout_cost.h; the numbers are the device description's); single containers are then turned
// back where that is better. Subsets stay as they are: only where elements lie changes, and no value. What the program takes
// and gives, and what library nodes and calls use, stays row-major.
#pragma once
#include "ir/registry/transformation.h"
#include "transforms/schedule/device.h"

namespace headrace {

Result<bool> AssignLayouts(Program& p, const schedule::Device& device, const Ask& ask = IsAdvised);

}  // namespace headrace
