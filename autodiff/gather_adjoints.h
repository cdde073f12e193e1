// Stencil adjoints in gather form: maps that add to one array at different distances become one map that sums what each adds to
// an element. It runs without atomics and vectorises; the edges, where not all of them add, are maps of their own.
//
//   map i in 1:N - 1 { dX[i - 1] += g(i) }         map i in 2:N - 2 { dX[i] += g(i + 1) + g(i - 1) }
//   map i in 1:N - 1 { dX[i + 1] += g(i) }    →    map i in 0:2 { dX[i] += i < N - 2 ? g(i + 1) : 0 }    (and the sum's other half)
//                                                  map i in N - 2:N { … }
//
// Where the array was cleared just before, the sum is assigned.
#pragma once
#include "ir/graph/graph.h"

namespace headrace::autodiff {

Result<bool> GatherAdjoints(Program& p);
// Only from this top-level block of the entry on.
bool GatherAdjoints(const Program& p, Sdfg* s, size_t first_block);

}  // namespace headrace::autodiff
