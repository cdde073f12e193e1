// What takes long and depends on no argument is computed when the program is compiled: twiddle factors, windows, positions' sines.
//
//   transient T: f64[64]                                  constant T: f64[64] = [1, 0.540302, …]
//   map i in 0:64 { T[i] = cos(f64(i)) }             →    map i in 0:64 { Y[i] = X[i] * T[i] }
//   map i in 0:64 { Y[i] = X[i] * T[i] }
//
// Maps of numbers of iterations that are known, outside of loops and branches, with a call that takes long, or many steps, for each element,
// whose array nothing else writes. Equal arrays are one. The backend `interpreter` computes them; without it they stay.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

struct ConstantLimits {
  size_t array_bytes = 4 << 20;     // of one
  size_t short_bytes = 64 << 10;    // of one without such a call, but of many steps
  size_t program_bytes = 16 << 20;  // of all of a program
};

Result<bool> ComputeConstants(Program& p, const ConstantLimits& limits, const Registry& r, const Ask& ask = IsAdvised);

}  // namespace headrace
