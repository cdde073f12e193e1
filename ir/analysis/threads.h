// What the threads of a block of a grid share.
#pragma once
#include <vector>

#include "ir/graph/graph.h"

namespace headrace {

// Locals of which several threads use one element, or one that the block uses as a whole. Registers can't hold these.
//   map u in 0:256 @block { p[u] = X[u] } ; map u in 0:256 @block { Y[u] = p[255 - u] }  →  p
//   map u in 0:256 @block { p[u] = X[u] } ; map u in 0:256 @block { Y[u] = 2 * p[u] }    →  none
std::vector<Name> SharedByThreads(const Sdfg& s, const std::vector<NodeId>& statements);

}  // namespace headrace
