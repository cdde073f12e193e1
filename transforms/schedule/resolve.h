// Accesses of a kernel are proven to be inside, or say what they need: reads with a value for outside become selects that ask
// for what is not proven, and nothing else.
//   map i in 0:N { Y[i] = X[i - 1] ?? 0 }  →  map i in 0:N { Y[i] = i - 1 >= 0 ? X[i - 1] : 0 }
#pragma once
#include <string>

#include "ir/graph/graph.h"

namespace headrace::schedule {

// `before` gets what has to stand before the kernel's statements. "" where all is resolved, else why an access can't be.
std::string ResolveAccesses(Sdfg* kernel, std::vector<NodeId>* before);

}  // namespace headrace::schedule
