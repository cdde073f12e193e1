// Says of which symbols nothing shows that they are 0 or more. Sizes are, so analyses take every symbol to be, unless the
// program says otherwise; a number from data, a parameter that stands in no shape and the variable of a loop need not be.
//
//   sdfg f(k: i64[1], x: f32[N], y: f32) {        sdfg f(k: i64[1], x: f32[N], y: f32) {
//     let n = k[0]                           →      assume -9223372036854775808 <= n
//     y = x[n + 1]                                  let n = k[0]
//   }                                               y = x[n + 1]    # so both sides are checked
//                                                 }
#pragma once
#include "ir/graph/graph.h"

namespace headrace {

bool AssumeSigns(Program& p);

}  // namespace headrace
