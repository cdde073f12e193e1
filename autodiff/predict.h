// What a backend will allocate for a program, before there is a backend.
#pragma once
#include <optional>

#include "ir/registry/registry.h"

namespace headrace::autodiff {

// The arena of the program once it is lowered (pipeline `loops`), by the planner that the pass plan-memory asks. Nothing where a
// size is not among `sizes`, or defined inside the run.
std::optional<int64_t> PredictedArena(Program p, const std::vector<std::pair<Name, int64_t>>& sizes, const Registry& r);

}  // namespace headrace::autodiff
