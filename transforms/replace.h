// Puts a call of another program wherever the entry computes a pattern: one state of library nodes, whose ops, ports, attributes,
// types and sizes that are numbers must agree, in the order of the pattern. What is inside of the pattern is read by nothing else;
// `inline-nested` inlines the calls.
//
//   pattern      sdfg p(X: f32[N], Y: f32[N]) { onnx.Softplus(X = X) -> (Y = Y) }
//   replacement  sdfg relu(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = max(X[i], 0) } }
//
//   onnx.Softplus(X = A) -> (Y = B)     →     call relu(X = A, Y = B)
#pragma once
#include "ir/registry/registry.h"

namespace headrace {

// How many there were. E0361 for what is no pattern, or a replacement with other parameters.
Result<int> Replace(Program& p, const Program& pattern, const Program& replacement, const Registry& r);

}  // namespace headrace
