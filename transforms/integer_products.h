// Products of quantised operands are summed as integers, and scaled once: what the sums are of is read as it lies, 8 bits each.
//
//   map i in 0:M, k in 0:K { D[i, k] = f32(i64(A[i, k]) - i64(7)) * s }        map i in 0:M, j in 0:N { T[i, j] = 0 }
//   map k in 0:K, j in 0:N { E[k, j] = f32(i64(B[k, j])) * t }           →     map i in 0:M, j in 0:N, k in 0:K {
//   map i in 0:M, j in 0:N { Y[i, j] = b[j] }                                    T[i, j] += i32(A[i, k]) * i32(B[k, j])
//   map i in 0:M, j in 0:N, k in 0:K { Y[i, j] += D[i, k] * E[k, j] }          }
//                                                                              map i in 0:M, j in 0:N {
//                                                                                Y[i, j] = b[j] + f32(T[i, j] - c[j]) * (s * t)
//                                                                              }
//
// c: the zero point times the sums of a constant B, a constant, too. Where the device multiplies u8 by i8 and adds up at once, operands
// are made so (B[k, j] - 128), and zero points taken off by sums of either operand; else before the product. What lies outside of an
// image is its zero point. Legal where neither scales nor zero points depend on what is summed over, and no sum can leave 32 bits:
// results differ in rounding only, and integer sums are exact (docs/quantisation.md). Other dequantised elements are computed where
// they are read, if each reader takes each of them once.
#pragma once
#include "ir/registry/transformation.h"
#include "transforms/schedule/device.h"

namespace headrace {

Result<bool> IntegerProducts(Program& p, const schedule::Device& device, const Ask& ask = IsAdvised);

}  // namespace headrace
