// What is rounded to 8 bits has one scale: integers times constants, over a constant, are one multiplication and addition each.
//
//   map i in 0:M, j in 0:N {                                     map i in 0:M, j in 0:N {
//     S = 0                                                        S = 0
//     map k in 0:K { S += i32(A[i, k]) * i32(B[k, j]) }            map k in 0:K { S += i32(A[i, k]) * i32(B[k, j]) }
//     y = b[j] + f32(S - c[j]) * (s * t[j])                  →     Y[i, j] = sat(rint(fma(f32(S), m[j], n[j])) + f32(z), u8)
//     u = y / q                                                  }
//     Y[i, j] = sat(rint(u) + f32(z), u8)
//   }
//
// m[j] = s * t[j] / q and n[j] = b[j] / q - c[j] * m[j], computed in f64. Legal where all but the integers is constant; results differ in
// rounding only, as sums of integers do (docs/quantisation.md). It comes last among what is done with maps, when elements are in registers.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> FoldScales(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
