// Where transients live: one arena per SDFG, planned from lifetimes; containers whose size the run defines get slots of
// their own.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::cpu {

struct MemoryPlan {
  std::map<Name, int64_t> fixed;  // byte offsets known now
  int64_t fixed_bytes = 0;
  std::map<Name, int> block;         // sizes symbolic: block number; offset = fixed_bytes + sizes of earlier blocks
  std::vector<Expr> block_elements;  // element count per block …
  std::vector<int64_t> block_width;  // … and bytes per element
  std::vector<Name> dynamic;         // allocated when their sizes are defined
};

// Symbols that get their value inside: assigned, defined by library nodes, loop variables.
std::set<Name> DefinedInside(const Sdfg& s);
MemoryPlan PlanMemory(const Sdfg& s);

}  // namespace headrace::cpu
