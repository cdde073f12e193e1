// Removes statements whose results nobody reads, then containers without uses. Outputs, persistent containers and the sizes
// that live nodes define keep their producers alive.
//
//   T[i] = X[i] * 2; Y[i] = X[i]     →     Y[i] = X[i]
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> EliminateDeadCode(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
