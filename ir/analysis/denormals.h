// Denormals: floats below the smallest normal one (2^-126 in f32 and bf16), kept with fewer bits, which processors compute up
// to a hundred times slower with. In an sdfg marked `@flush` arithmetic takes them for zero and gives zero instead of them;
// what only moves a value (a copy, a choice, a change of sign) may keep it. f16 computes in f32, whose normal numbers hold all
// of its own: nothing changes for it. docs/denormals.md
#pragma once
#include "ir/graph/graph.h"

namespace headrace {

// Has it values whose arithmetic never flushes? Those of containers and casts of f64 and c128, for which doubles are chosen
// to be exact, and of f8e8m0, whose smallest is a denormal in f32. Calls count in the callee.
bool NeedsDenormals(const Sdfg& s);
// Has it floats at all, in containers?
bool HasFloats(const Sdfg& s);

}  // namespace headrace
