// What each iteration of a loop sets before it reads it, and nothing reads afterwards, has a name of its own there: what other statements
// keep under the same name stays where it is. So a loop that takes back what a loop before has overwritten reads its tape, and the two can
// be one kernel.
//
//   for t in T-1:-1:-1 { X[i] = tape[t, i] ; G[i] = G[i] * cos(X[i]) }   →   for t … { X_2[i] = tape[t, i] ; G[i] = G[i] * cos(X_2[i]) }
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> SplitLiveRanges(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
