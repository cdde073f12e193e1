// Where the transients of a run lie: one arena per SDFG (ir/analysis/arena.h). The last pass before a backend: what moves
// statements afterwards may make two arrays meet, and loses the places.
//
//   transient T: f32[64]              arena { slot 0: 256 }
//   transient U: f32[64]         →    transient T: f32[64] @arena(0)
//   transient V: f32[64]              transient U: f32[64] @arena(0)    # T is not used any more
#pragma once
#include "ir/registry/registry.h"

namespace headrace {

Result<bool> PlanMemory(Program& p);

}  // namespace headrace
