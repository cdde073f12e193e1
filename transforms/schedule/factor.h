// Factors of a product that are smaller than what it is computed in, as where a device adds up groups of such (dot2, dot4).
#pragma once
#include "ir/graph/graph.h"

namespace headrace::schedule {

// The factor as a value of type `small`, without its conversion to `wide`; null where it is more than that.
//   f32(bf16(X[i])), bf16, f32  →  bf16(X[i])
Expr Factor(const Sdfg& s, Expr factor, DType small, DType wide);
// Of bytes, also 128 more or less than one of the other sign.
//   i32(i8(X[i])) + 128, u8, i32  →  u8(i32(i8(X[i])) + 128)
Expr ByteFactor(const Sdfg& s, const Expr& factor, DType small, DType wide);

}  // namespace headrace::schedule
