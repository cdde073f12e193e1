// The verifier: run after every pass in tests and debug builds. Reports everything that is wrong, with places.
#pragma once
#include "ir/graph/graph.h"

namespace headrace {

// Names defined and used once, types (type_inference.h), subsets within bounds where provable, no two iterations of a map
// writing one element without wcr (races; unknown is allowed only for data-dependent indices and `??`), every read
// preceded by a write or an argument, loops and branches well formed, calls matching their callee, no recursion, outputs
// written, register containers static and inside maps, places in the arena apart while they are in use.
Status Verify(const Program& p);
Status Verify(const Program& p, const Sdfg& s);
// The part about places in the arena: what a backend that goes by them asks first.
Status VerifyArena(const Sdfg& s);

}  // namespace headrace
