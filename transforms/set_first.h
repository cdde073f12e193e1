// Arrays that a body of statements sets before it reads them.
#pragma once
#include <vector>

#include "ir/analysis/dataflow.h"

namespace headrace::transforms {

// Does the first statement that touches `n` set all that others touch of it, without reading what was there before? `memlets`: of each
// statement. What a map reads at the place that its own body has set is what it has set: `map i { T[i] = X[i] ; Y[i] = T[i] }`.
bool SetFirst(const Sdfg& s, Name n, const std::vector<NodeId>& statements, const std::vector<std::vector<Memlet>>& memlets,
              const Assumptions& as);

}  // namespace headrace::transforms
