// Computes library nodes whose inputs are all constants, where a result has at most `max_bytes`: their outputs become constants.
// Random ops, nodes in loops and branches, and calls of C functions stay.
//
//   constant A: f32[2] = [1, 2]                         constant A: f32[2] = [1, 2]
//   onnx.Neg(X = A) -> (Y = T)                   →      constant T: f32[2] = [-1, -2]
//   onnx.Add(A = X, B = T) -> (C = Y)                   onnx.Add(A = X, B = T) -> (C = Y)
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

// E0363 where the backend `interpreter`, which computes them, is not loaded.
Result<bool> FoldConstants(Program& p, int64_t max_bytes, const Registry& r, const Ask& ask = IsAdvised);

}  // namespace headrace
