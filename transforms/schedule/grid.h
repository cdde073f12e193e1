// A schedule of threads with vectors, as one for an accelerator: units become blocks of a grid, lanes the threads of a block.
//   map i0 in 0:N:8 @parallel { for i in i0:+8 { local p: f32[256] ; map u in 0:256 @vector { p[u] = 0 } … } }
//     →  map i0 in 0:N:8 @grid { for i in i0:+8 { local p: f32[256] @shared ; map u in 0:256 @block { p[u] = 0 } … } }
// What stands between two regions of threads, and is done once, is done by a grid of one block. What the threads of a block share
// lies in shared memory; where each has an element of its own wherever it is used, in its registers.
#pragma once
#include <string>

#include "ir/graph/graph.h"
#include "transforms/schedule/device.h"

namespace headrace::schedule {

// "", or why the device can't take it; the kernel is spoilt then.
std::string OntoGrid(Sdfg* kernel, const Device& d);

}  // namespace headrace::schedule
