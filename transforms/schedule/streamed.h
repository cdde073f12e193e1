// What a kernel that moves much writes and doesn't read goes past the caches (docs/schedules.md): plain stores would read each line of
// memory first, and push out what is still needed. A few lines of memory at a time are computed in registers, and copied.
//
//   map i in 0:1000000 @vector { Y[i] = A[i] + B[i] }
//     →  for i0 in 0:1000000:128 {
//          if i0 + 128 <= 1000000 {
//            local t: f32[128]
//            map u in 0:128 @vector { t[u] = A[i0 + u] + B[i0 + u] }
//            map u in 0:128 @stream { Y[i0 + u] = t[u] }
//          } else {
//            map i in i0:+128 @vector { Y[i] = A[i] + B[i] }
//          }
//        }
#pragma once
#include "ir/graph/graph.h"
#include "transforms/schedule/device.h"

namespace headrace::schedule {

// Of a kernel that has its schedule; `loops`: as it was before.
void StreamStores(Sdfg* s, const Sdfg& loops, const Device& d);

}  // namespace headrace::schedule
