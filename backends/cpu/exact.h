// Values that need no rounding where they are stored.
#pragma once
#include "ir/expr/expr.h"

namespace headrace::cpu {

// Whether a lowered expression of small floats, computed in f32, is a number of bf16 wherever its reads are: it is one of them, or a
// constant, or its negative. NaN, too: no operation here makes one, or loses bits of one.
//   max(X[i], 0), 0 <= X[i] ? X[i] : -Y[i]
bool IsExactBf16(const Expr& e);

}  // namespace headrace::cpu
