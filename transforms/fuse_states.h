// Merges states that follow each other, and drops empty ones: text order is the meaning, so borders between them say nothing.
//
//   state { A }  state { B }      →      state { A; B }
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> FuseStates(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
