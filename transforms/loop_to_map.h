// Loops whose iterations don't need each other become maps, statement by statement. What an iteration keeps for itself gets an
// element for each; sums over the iterations are accumulated, in any order.
//
//   transient t: f64                                transient t: f64[N, M]
//   for i in 0:N {                                  map i in 0:N, j in 0:M { t[i, j] = 0.0 }
//     for j in 0:M {                                map i in 0:N, j in 0:M, k in i + 1:N {
//       t = 0.0                                       t[i, j] += A[k, i] * B[k, j]
//       map k in 0:N - i - 1 {                      }
//         t += A[k + i + 1, i] * B[k + i + 1, j] →  map i in 0:N, j in 0:M { B[i, j] = B[i, j] + t[i, j] }
//       }
//       B[i, j] = B[i, j] + t
//     }
//   }
//
// Legal where no statement depends on a later one of an earlier iteration, or on itself: by what the statements read and write as
// boxes, compared by isl for two iterations; unknown counts as a dependence. Accumulations by one operator don't depend on each other.
// A loop stays where one iteration's own arrays would take much more memory than what the loop works on.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> LoopToMap(Program& p, const Ask& ask = IsAdvised);

// What a statement adds to an element in place it accumulates, where it does nothing else with the array. Sums over loops are found by
// it, and adjoints of sums read no element and move no gradient.
//
//   map i in 0:N { A[i] = A[i] - Q[i] * r }   →   map i in 0:N { A[i] += -(Q[i] * r) }
Result<bool> Accumulate(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
