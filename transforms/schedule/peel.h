// Lanes at borders: where a value asks for its place, the stretch on which the answers are yes runs without asking, and the
// rest one by one.
//   map i in 0:N @vector { Y[i] = 2*i - 1 >= 0 ? X[2*i - 1] : 0 }
//     →  for i in 0:min(1, N) { Y[i] = 2*i - 1 >= 0 ? X[2*i - 1] : 0 }
//        map i in 1:N @vector { Y[i] = X[2*i - 1] }
// The same where an index is mirrored at the ends of its range or held there: reflect(i - 2, N).
#pragma once
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::schedule {

// Whether reads that are asked for along `lane` go by other steps than one: a mask is as fast as peeling where not.
bool AsksForStrides(const Sdfg& s, const std::vector<NodeId>& body, Name lane);
// The map of `lane` over `body` (tasklets) in up to three parts; in one where no question is linear in the lane.
std::vector<NodeId> PeeledLanes(Sdfg* s, const Range& lane, const std::vector<NodeId>& body);

}  // namespace headrace::schedule
