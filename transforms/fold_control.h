// Removes control flow that sizes decide: branches with constant conditions, loops and maps without iterations, loops and
// maps with one. A parameter that loses its last writer is marked `out`: it stays an output.
//
//   if 2 > 1 { A } else { B }     →      A
//   for t in 0:1 { Y[t] = 0 }     →      Y[0] = 0
//   map i in 4:4 { … }            →
//   for t = 0; t < 0 && go; … { } →
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> FoldControl(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
