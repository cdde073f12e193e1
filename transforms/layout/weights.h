// Weights of sums over images, with the channels of the result side by side.
//
//   constant W: f32[8, 4, 3, 3] = …                        →  constant W: f32[8, 4, 3, 3] = … layout [d2, d3, d1, d0]
//   map n, o, p, q, c, k, l { Y[n, o, p, q] += X[n, c, p + k, q + l] * W[o, c, k, l] }
//
// A constant is turned when the program is compiled, and only where all its readers want it so. A parameter is copied into a
// transient before the sum, where the sum has many times the work.
#pragma once
#include "transforms/layout/layout_cost.h"

namespace headrace::layout {

// The sum's weights as they would lie then.
void LayWeights(Sdfg* s, const ImageSum& sum);

// `statements`: those with sums whose images have their channels innermost now.
bool TurnWeights(const Program& p, Sdfg* s, const std::vector<NodeId>& statements, const schedule::Device& d);

}  // namespace headrace::layout
