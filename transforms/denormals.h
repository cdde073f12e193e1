// Marks what may take denormal floats for zero: every sdfg and kernel that computes nothing in f64, c128 or f8e8m0. An entry that
// only calls goes with its callees, and what computes with no floats goes with the entry, so that no call between them changes the
// mode; changing it costs more than a small kernel. A program without floats that flush has no marks.
// With `keep` all marks go.
//
//   kernel k0(p0: f32[n0], p1: f32[n0], n0: symbol) for cpu { … }    →    kernel k0(p0: f32[n0], p1: f32[n0], n0: symbol) for cpu @flush { … }
#pragma once
#include "ir/base/status.h"
#include "ir/graph/graph.h"

namespace headrace {

Result<bool> MarkDenormals(Program& p, bool keep);

}  // namespace headrace
