// An elementwise statement behind a call goes into it, where the function called takes it as an epilogue (hr_step): what a
// library of kernels can do to its result before it stores it.
//
//   call.product(A = X, W = W) -> (Y = T)
//   map i in 0:N, j in 0:8 { Y[i, j] = max(T[i, j] + b[j], 0) }
//     →  call.product{epilogue = ["bias e0 1", "relu"]}(A = X, W = W, e0 = b) -> (Y = Y)
//
// Nothing else reads T, and the call moves to where the statement stood: between the two, nothing writes what it reads.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> FuseCallEpilogue(Program& p, const Registry& r, const Ask& ask = IsAdvised);

}  // namespace headrace
