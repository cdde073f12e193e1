// Library nodes of programs written by hand or by others, against what the registry infers of them.
#pragma once
#include "ir/registry/registry.h"

namespace headrace {

// Declared outputs that can't be what their op gives: another type, rank or size. What can't be decided is left to the run.
Status VerifyOutputs(const Registry& r, const Program& p);

}  // namespace headrace
