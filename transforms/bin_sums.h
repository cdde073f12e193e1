// Histograms: where each iteration sums what lies in an interval of its own, every element is looked at once, its interval found by
// bisection, and what it adds is added there.
//
//   map i in 0:100 {                                          map j in 0:N { … at[j] = … }   the i, if any, where c holds for j
//     t = 0.0                                                 map i in 0:100 { sums[i] = 0.0 }
//     map j in 0:N {                                      →   map j in 0:N { sums[at[j]] ?? += V[j] }
//       c = r * f64(i) <= X[j] && X[j] < r * f64(i + 1)       map i in 0:100 {
//       t += c ? V[j] : 0.0                                     t = 0.0
//     }                                                         t += sums[i]
//     Y[i] = t                                                  Y[i] = t
//   }                                                         }
//
// The lower bound must grow or fall with i whatever the data are (a number made of i, times, divided by, plus or minus what i does not
// change), and the upper bound be the lower one of i + 1: then at most one i holds. Where the bounds fall or are no numbers none does,
// which is asked again of the i that was found. In `i`, known sizes; the sums that one element is in come in the order of the elements.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> BinSums(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
