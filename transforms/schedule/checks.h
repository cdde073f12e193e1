// What has to be asked before a statement: where an index is read from memory nobody can show that it is inside.
//   Y[i, d] = W[I[i], d]  →  check W[I[i], d] ; Y[i, d] = W[I[i], d]
#pragma once
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::schedule {

// Whether a value from memory decides on it.
bool IsFromMemory(const Expr& index);
// The questions of one tasklet, in the order in which it comes to what they are about. Reads that a condition decides on have
// shown by it that they are inside.
std::vector<Check> ChecksOf(const Sdfg& s, const Tasklet& t);

}  // namespace headrace::schedule
