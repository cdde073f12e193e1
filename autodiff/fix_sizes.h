// Sizes from data that change while a program runs. Afterwards every symbol is defined in one place and used only where that
// definition holds, so that what runs again, or backwards, sees the value it saw; and no container changes its size.
//
//   let n = a; S; let n = b; T          →  let n_1 = a; S(n_1); let n_2 = b; T(n_2)
//   for t in … { let n = c[t]; S }; T   →  for t in … { let n_1 = c[t]; n_now = n_1; S(n_1) }; let n_2 = n_now; T(n_2)
//   transient X: f64[n]                 →  call f_sizes(…, largest = largest); let size = largest
//                                          transient X_store: f64[size]; view X_1: f64[n_1] of X_store
//
// An output whose size changes is such a container, copied at the end under the size that it then has.
// `f_sizes` is the program again, up to the last use of such a container: it runs first, only to find the largest size.
#pragma once
#include "ir/graph/graph.h"

namespace headrace::autodiff {

Result<bool> FixSizes(Program& p);

}  // namespace headrace::autodiff
