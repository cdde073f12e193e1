// Puts the body of a loop or an `if` in which a tile lives, registers of two dimensions or more, into a map @apart: compilers keep
// a tile in registers where few other addresses are in sight. A body that may leave the kernel stays as it is: one that checks
// indices or asks for a worker's buffer; so do kernels of accelerators.
//
//   for i0 in 0:N:6 { local t: f32[6, 16]; … }   →   for i0 in 0:N:6 { map @apart { local t: f32[6, 16]; … } }
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> SeparateTiles(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
