// Loops that do nothing but name sizes that nobody reads: what gradients leave of forward loops.
//
//   for i in 0:N { let n = I[i] }                        →    for i in 0:N { let n = I[i] ; state { map j in 0:n { … } } }
//   for i in 0:N { let n = I[i] ; state { map j in 0:n { … } } }
#pragma once
#include <unordered_set>

#include "ir/graph/graph.h"

namespace headrace::transforms {

// Symbols that somebody reads where no `let` of the same list of blocks, or of one around it, stands before.
std::unordered_set<Name> ExposedSymbols(const Sdfg& s);
// Whether all that the loop does is to set others, and nothing of it may stop the program.
bool SetsUnusedSymbols(const Sdfg& s, const Loop& loop, const std::unordered_set<Name>& exposed);

}  // namespace headrace::transforms
