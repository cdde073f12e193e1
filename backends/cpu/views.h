// Views that may reach outside their bases: a generated program looks before a statement uses one.
#pragma once
#include <set>

#include "ir/graph/graph.h"

namespace headrace::cpu {

// The elements of a container's memory, up to its last one.
Expr MemoryExtent(const Container& c);
// Views whose elements can't be proven to lie within the memory of their bases.
std::set<Name> LooseViews(const Sdfg& s);

}  // namespace headrace::cpu
