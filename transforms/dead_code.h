// Removes statements whose results nobody reads, then containers without uses. Outputs, persistent containers and the sizes
// that live nodes define keep their producers alive.
//
//   T[i] = X[i] * 2; Y[i] = X[i]     →     Y[i] = X[i]
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> EliminateDeadCode(Program& p, const Ask& ask = IsAdvised);

// A parameter that was given and returned is so without a use, too: `inout` says no more of one that nothing uses any more, `inout out` does.
void KeepOutputs(const Program& p, Sdfg* s);

}  // namespace headrace
