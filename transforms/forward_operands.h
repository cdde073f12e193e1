// What is cheap, element by element, and read by one sum of products only is computed where the product lays its operands out: a
// recomputed activation that the gradient of the next weights reads needs no walk through memory of its own.
//
//   map n in 0:N, p in 0:P, c in 0:96 { h[n, p, c] = max(x[n, p, c] - m[c], 0) }
//   map o in 0:16, c in 0:96, n in 0:N, p in 0:P { D[o, c] += g[n, p, o] * h[n, p, c] }
//   →
//   map o in 0:16, c in 0:96, n in 0:N, p in 0:P { D[o, c] += g[n, p, o] * max(x[n, p, c] - m[c], 0) }
//
// Only where elements that lie side by side belong to different results, and where the strategy still gives the product its tiles, `device`
// being what it is asked for; or where each element is a factor once, as keys are for one position of an attention, and everything that the
// sum reads then lies along its terms.
#pragma once
#include "ir/registry/transformation.h"
#include "transforms/schedule/device.h"

namespace headrace {

Result<bool> ForwardOperands(Program& p, const schedule::Device& device, const Ask& ask = IsAdvised);

}  // namespace headrace
