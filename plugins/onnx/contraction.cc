// Matrix products and their quantised forms. Einsum's form is computed from its equation (einsum.cc).
#include "plugins/onnx/families.h"

namespace onnx_ops {

void RegisterContraction(Registrar& r) {
  r.op("MatMul")
      .Doc("Matrix product of the last two dimensions, the others broadcast; 1-D operands are vectors.")
      .Pure(
          "let rank(m) = rank(A) > 1 ; let rank(n) = rank(B) > 1\n"
          "Y[.., m.., n..] += A[.., m.., k] * B[.., k, n..]")
      .Backward(
          "let rank(m) = rank(A) > 1 ; let rank(n) = rank(B) > 1\n"
          "dA[.., m.., k] += dY[.., m.., n..] * B[.., k, n..]\n"
          "dB[.., k, n..] += A[.., m.., k] * dY[.., m.., n..]")
      .Sample("A: f32[2, 3, 4]; B: f32[4, 5]")
      .Sample("A: f32[4]; B: f32[2, 4, 3]")
      .Sample("A: f32[3, 4]; B: f32[4]")
      .Sample("A: f32[2, 1, 3, 2]; B: f32[4, 2, 2]");
  r.op("Gemm")
      .Doc("alpha A B + beta C, either operand transposed on demand.")
      .Pure(
          "let a = transA ? A[k, m] : A[m, k]\n"
          "let b = transB ? B[n, k] : B[k, n]\n"
          "T[m, n] += a * b\n"
          "Y = alpha * T + beta * (C ?: 0)")
      .Backward(
          "let a = transA ? A[k, m] : A[m, k]\n"
          "let b = transB ? B[n, k] : B[k, n]\n"
          "if transA { dA[k, m] += alpha * dY[m, n] * b } else { dA[m, k] += alpha * dY[m, n] * b }\n"
          "if transB { dB[n, k] += alpha * dY[m, n] * a } else { dB[k, n] += alpha * dY[m, n] * a }\n"
          "dC += beta * dY")
      .Sample("A: f32[2, 3]; B: f32[3, 4]; C: f32[4]; attr alpha = 0.5, beta = 2.0")
      .Sample("A: f32[3, 2]; B: f32[4, 3]; attr transA = 1, transB = 1")
      .Sample("A: f32[2, 3]; B: f32[4, 3]; C: f32[2, 1]; attr transB = 1, beta = 0.5");
  r.op("MatMulInteger")
      .Doc("Matrix product of small integers less their zero points, in 32 bits.")
      .Pure(
          "let rank(m) = rank(A) > 1 ; let rank(n) = rank(B) > 1\n"
          "let rows = rank(B) > 1 ? dim(B, -2) : dim(B, 0)\n"
          "require dim(A, -1) == rows else \"A has {} columns and B {} rows\", dim(A, -1), rows\n"
          "if has(a_zero_point) && rank(a_zero_point) == 1 && len(a_zero_point) > 1 { P[.., i, k] = i32(A[.., i, k]) - i32(a_zero_point[i]) }\n"
          "else { P = i32(A) - i32(a_zero_point ?: 0) }\n"
          "Q = i32(B) - i32(b_zero_point ?: 0)\n"
          "Y[.., m.., n..] += P[.., m.., k] * Q[.., k, n..]")
      .Sample("A: u8[2, 3]; B: i8[3, 4]; a_zero_point: u8[] = 12");
  r.op("QLinearMatMul")
      .Doc("Matrix product of quantised tensors, quantised again.")
      .Pure(
          "require dim(a, -1) == dim(b, -2) else \"a has {} columns and b {} rows\", dim(a, -1), dim(b, -2)\n"
          "P = i32(a) - i32(a_zero_point) ; Q = i32(b) - i32(b_zero_point)\n"
          "T[.., m, n] += P[.., m, k] * Q[.., k, n]\n"
          "y = sat(rint(f32(T) * (f32(a_scale) * f32(b_scale) / f32(y_scale))) + f32(y_zero_point))")
      .Sample(
          "a: u8[2, 3]; a_scale: f32[] = 0.1; a_zero_point: u8[] = 12; b: u8[3, 4]; b_scale: f32[] = 0.2; "
          "b_zero_point: u8[] = 7; y_scale: f32[] = 0.5; y_zero_point: u8[] = 100");
}

}  // namespace onnx_ops
