// Loops over elementwise maps, whose iterations meet at equal elements only: block by block, each through all iterations while it is near.
//
//   for t in 0:T { map i in 0:N { X[i] = R[i] * X[i] * (1 - X[i]) } }
//     →  map b in 0:N:512 @parallel { for t in 0:T { map i in b:+512 @vector { X[i] = R[i] * X[i] * (1 - X[i]) } } }
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::schedule {

// A range that all the maps have, and that can be cut.
struct LoopBlocks {
  std::vector<size_t> places;  // among the ranges of each map
  Expr begin, end;
  Expr bytes;  // of what one index of it has from one iteration to the next, or keeps for itself
  std::unordered_map<Name, size_t> dimensions;  // of what is written: the one that is the index wherever it is used

  // Whether an array of a block's own elements would do, and is much less than the whole one.
  bool MayKeep(const Sdfg& s, Name array) const;
};
// The outermost first. `statements`: those of the loops, and of loops in them: maps, and tasklets, of which each sets a number that every
// iteration has for itself; `variables`: the loops'.
std::vector<LoopBlocks> BlocksOf(const Sdfg& s, const std::vector<NodeId>& statements, const std::unordered_set<Name>& variables);

}  // namespace headrace::schedule
