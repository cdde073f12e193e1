// Arrays that most statements walk across memory, lane by lane, have the dimension that these go along innermost: what is computed column
// by column lies column by column.
//
//   transient P: f64[100, 100]                                            transient P: f64[100, 100] layout [d1, d0]
//   for j in 1:100 {                                                 →    for j in 1:100 {
//     state { map i in 0:100 { P[i, j] = U[j, i] / P[i, j - 1] } }          state { map i in 0:100 { P[i, j] = U[j, i] / P[i, j - 1] } }
//   }                                                                     }
//
// One after the other, while what is read or written across memory becomes less, loops counted (layout_cost.h). What the program takes and
// gives is copied into an array that lies so, and back, where that is less, too. Subsets stay as they are, and so does what others have laid
// out, what has views, and what library nodes and calls use.
#pragma once
#include "ir/registry/transformation.h"
#include "transforms/schedule/device.h"

namespace headrace {

Result<bool> TurnArrays(Program& p, const schedule::Device& device, const Ask& ask = IsAdvised);

}  // namespace headrace
