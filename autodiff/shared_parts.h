// What several taps over the same ranges compute again for each neighbour, computed once: divisions and functions.
//
//   map i in 1:99 { D[i - 1] += G[i] / X[i] * 2; D[i] += G[i] / X[i] * 3; D[i + 1] += G[i] / X[i] * 4 }
//     →  map i in 1:99 { part[i - 1] = G[i] / X[i] }
//        map i in 1:99 { D[i - 1] += part[i - 1] * 2; D[i] += part[i - 1] * 3; D[i + 1] += part[i - 1] * 4 }
#pragma once
#include "autodiff/emit.h"
#include "autodiff/taps.h"

namespace headrace::autodiff {

// Of taps some of which are about to be gathered: the maps that come before them.
std::vector<NodeId> ShareParts(Sdfg* s, FreshNames* names, std::vector<Tap>* taps);

}  // namespace headrace::autodiff
