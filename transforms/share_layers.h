// Layers of equal statements become one SDFG that is called for each: what comes after works on it once. Weights, and what
// layers hand on, are arguments; small constants must have equal values, and go along.
//
//   onnx.MatMul(A = x, B = w0) -> (Y = a0) ; onnx.Relu(X = a0) -> (Y = h)       call layer(x = x, w0 = w0, h = h)
//   onnx.MatMul(A = h, B = w1) -> (Y = a1) ; onnx.Relu(X = a1) -> (Y = y)   →   call layer(x = h, w0 = w1, h = y)
//
//   sdfg layer(x: f32[4, 4], w0: f32[4, 4], h: f32[4, 4]) {
//     onnx.MatMul(A = x, B = w0) -> (Y = a0) ; onnx.Relu(X = a0) -> (Y = h) }
//
// A layer has `least` statements or more. It begins where nothing that could be one kernel is cut in two; sums over images stay,
// for layouts are chosen for all of them. Programs with gradients stay unless gradients=true asks for them. The pass inline-nested{keep=…} leaves the calls, and a later one without it inlines them.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

struct LayerOptions {
  size_t least = 16;
  bool gradients = false;  // of programs with gradients, too
};
Result<bool> ShareLayers(Program& p, const Registry& r, const LayerOptions& o = {}, const Ask& ask = IsAdvised);

}  // namespace headrace
