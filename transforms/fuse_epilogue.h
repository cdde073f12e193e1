// Sums of products are computed with what they start at and what becomes of them, element by element: a bias, an activation, a
// residual need no walk through memory of their own.
//
//   map i in 0:M, j in 0:N { T[i, j] = 0 }                               map i in 0:M, j in 0:N {
//   map i in 0:M, j in 0:N, k in 0:K { T[i, j] += A[i, k] * B[k, j] }  →   T[i, j] = 0
//   map i in 0:M, j in 0:N { Y[i, j] = max(T[i, j] + b[j], 0) }            map k in 0:K { T[i, j] += A[i, k] * B[k, j] }
//                                                                          Y[i, j] = max(T[i, j] + b[j], 0)
//                                                                        }
//
// Only where the strategy still gives the product its tiles, `device` being what it is asked for; T becomes a register by
// scalarize, if nothing else reads it. It comes after reverse mode, which needs what tails read.
#pragma once
#include "ir/registry/transformation.h"
#include "transforms/kernel.h"
#include "transforms/schedule/device.h"

namespace headrace {

// What `fuse-maps` is asked for then: its Find and Apply take single steps.
transforms::FusionLimits ProductFusion(const Program& p, const schedule::Device& device);
Result<bool> FuseEpilogue(Program& p, const schedule::Device& device);

}  // namespace headrace
