// Random differentiable programs from a seed: loops, branches, exits, overwrites, scans, gathers, scatters, slices and
// sizes from data, views, calls, library nodes, complex numbers.
// Made so that finite differences can judge them: values stay within a few units, functions are smooth, and what decides a
// branch, a trip count or an extremum keeps far from its kink.
#pragma once
#include <cstdint>
#include <string>

#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {

// The first k statements are the same for any larger number of them. Without `symbols` every size is a number; `scale`
// multiplies the sizes.
Case RandomCase(uint64_t seed, int statements, bool symbols = true, int64_t scale = 1);

}  // namespace headrace::autodiff::testing
