// The strategy: an unscheduled kernel gets the loops, parts, lanes and partial results that a device description asks for.
//
//   kernel k(p0: f32[n0], p1: f32[n0], n0: symbol) { map i0 in 0:n0 { p0[i0] = p1[i0] * 2 } }
//     →  kernel k(p0: f32[n0], p1: f32[n0], n0: symbol) for cpu {
//          map i0_0 in 0:n0:16384 @parallel { map i0 in i0_0:+16384 @vector { p0[i0] = p1[i0] * 2 } } }
//
// Kernels that no strategy fits, or whose schedule the verifier can't show to be right, stay as they are: a backend runs
// their statement.
#pragma once
#include <optional>

#include "plans/plan.h"
#include "ir/registry/transformation.h"
#include "transforms/schedule/device.h"
#include "transforms/schedule/packed.h"

namespace headrace {

namespace schedule {
// A product's tiles.
struct Tiles {
  std::optional<Packing> packing;  // how they want the weights that each call packs
  bool packed = false;             // they are packed already
};
// Those that it gives a kernel; nullopt: it gives it none.
std::optional<Tiles> TilesOf(const Program& p, const Sdfg& kernel, const Device& d);
}  // namespace schedule

// `plan`: the kernels that it names are scheduled as if the device had its numbers. Errors: E0369, for a number that no device has.
Result<bool> ChooseSchedule(Program& p, const schedule::Device& device, const Ask& ask = IsAdvised, const Plan& plan = {});

}  // namespace headrace
