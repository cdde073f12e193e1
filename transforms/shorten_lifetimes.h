// Moves statements to where fewer bytes are in use at once: what uses arrays for the last time right behind what it needs, what makes
// arrays right before what needs them. So an optimizer's update follows the gradient that it reads, whose memory the next gradient gets.
//
//   map … { grad_W[i, j] += H[k, i] * grad_Y[k, j] }             map … { grad_H[k, i] += grad_Y[k, j] * W[i, j] }
//   map … { grad_H[k, i] += grad_Y[k, j] * W[i, j] }       →     map … { grad_W[i, j] += H[k, i] * grad_Y[k, j] }
//   map … { grad_V[i, j] += X[k, i] * grad_H[k, j] }             map … { W[i, j] = W[i, j] - rate * grad_W[i, j] }
//   map … { W[i, j] = W[i, j] - rate * grad_W[i, j] }            map … { grad_V[i, j] += X[k, i] * grad_H[k, j] }
//   map … { V[i, j] = V[i, j] - rate * grad_V[i, j] }            map … { V[i, j] = V[i, j] - rate * grad_V[i, j] }
//
// Between statements of states that follow each other; a step is taken where it is never more that is in use, symbols counted as
// `symbol_size`. What can fail keeps its place among updates of parameters.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

struct LifetimeLimits {
  double least_bytes = 65536;  // that a step has less in use
  int64_t symbol_size = 16;    // what a size counts as that is not known
};
Result<bool> ShortenLifetimes(Program& p, const LifetimeLimits& limits = {}, const Ask& ask = IsAdvised);

}  // namespace headrace
