// Mixed precision of library nodes, before they are expanded (docs/mixed_precision.md): ops that are narrow (autocast_ops.h) get
// their f32 operands as f16 or bf16 and give the same, wide ones stay f32, others have the type that their operands come in. What
// the program takes, gives and keeps has the type it had. A value is cast once, a constant here.
//
//   onnx.MatMul(A = X, B = W) -> (Y = P)          map i0 in 0:4, i1 in 0:8 { X_bf16[i0, i1] = bf16(X[i0, i1]) }
//   onnx.Relu(X = P) -> (Y = Q)               →   onnx.MatMul(A = X_bf16, B = W_bf16) -> (Y = P)      # W_bf16: a constant
//   onnx.Softmax(input = Q) -> (output = Y)       onnx.Relu(X = P) -> (Y = Q)                         # P, Q: bf16
//                                                 map i0 in 0:4, i1 in 0:6 { Q_f32[i0, i1] = f32(Q[i0, i1]) }
//                                                 onnx.Softmax(input = Q_f32) -> (output = Y)
#pragma once
#include "ir/registry/registry.h"

namespace headrace {

Result<bool> Autocast(Program& p, DType to, const Registry& r);

}  // namespace headrace
