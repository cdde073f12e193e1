// Lanes of bytes by themselves. Compilers make vectors of as many lanes as the smallest elements of a loop fill, and short ones of all that is
// wider; so what is computed with bytes has lanes of its own, between those that read the bytes and those that write them.
//
//   map u in 0:32 @vector {                                       local w: i32[32]
//     Y[i, u] = u8(min(max(i32(t[u]) + i32(X[i, u]), 0), 255))    map u in 0:32 @vector { w[u] = i32(X[i, u]) }
//   }                                                        →    local q: i32[32]
//                                                                 map u in 0:32 @vector { q[u] = min(max(i32(t[u]) + w[u], 0), 255) }
//                                                                 map u in 0:32 @vector { Y[i, u] = u8(q[u]) }
//
// What is rounded to bytes, sat(rint(x) + f32(z), u8), is held as the f32 x: the lanes that write it are one step (hr_round_lanes of `cpu`).
// Lanes that fill no whole vector come behind those that do; fewer than half a vector stay as they are.
#pragma once
#include "ir/graph/graph.h"

namespace headrace::schedule {

// Of a kernel that has its schedule; `lanes`: how many i32 fill a vector.
void PartByteLanes(Sdfg* s, int64_t lanes);

}  // namespace headrace::schedule
