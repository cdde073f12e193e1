// Denormals: floats below the smallest normal one (2^-126 in f32 and bf16), kept with fewer bits, which processors compute up
// to a hundred times slower with. In an sdfg marked `@flush` arithmetic takes them for zero and gives zero instead of them;
// what only moves a value (a copy, a choice, a change of sign) may keep it. f16 computes in f32, whose normal numbers hold all
// of its own: nothing changes for it. docs/denormals.md
#pragma once
#include "ir/graph/graph.h"

namespace headrace {

// Does it compute what never flushes? That is f64 and c128, for which doubles are chosen to be exact, and f8e8m0, whose smallest
// number is a denormal in f32: a statement that writes such a container, reads one (a double for anything but a cast to another
// type, as an optimizer's rate is: f32(rate)), or casts to one. Calls count in the callee.
bool NeedsDenormals(const Sdfg& s);
// Has it floats at all, in containers?
bool HasFloats(const Sdfg& s);

}  // namespace headrace
