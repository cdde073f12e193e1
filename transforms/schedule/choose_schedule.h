// The strategy: an unscheduled kernel gets the loops, parts, lanes and partial results that a device description asks for.
//
//   kernel k(p0: f32[n0], p1: f32[n0], n0: symbol) { map i0 in 0:n0 { p0[i0] = p1[i0] * 2 } }
//     →  kernel k(p0: f32[n0], p1: f32[n0], n0: symbol) for cpu {
//          map i0_0 in 0:n0:16384 @parallel { map i0 in i0_0:+16384 @vector { p0[i0] = p1[i0] * 2 } } }
//
// Kernels that no strategy fits, or whose schedule the verifier can't show to be right, stay as they are: a backend runs
// their statement.
#pragma once
#include "ir/registry/transformation.h"
#include "transforms/schedule/device.h"

namespace headrace {

// Whether it gives a kernel the tiles of a product.
namespace schedule {
bool IsTiled(const Program& p, const Sdfg& kernel, const Device& d);
}

Result<bool> ChooseSchedule(Program& p, const schedule::Device& device, const Ask& ask = IsAdvised);

}  // namespace headrace
