// Products of quantised matrices and images.
#include "plugins/onnxruntime/families.h"

namespace onnxruntime_ops {

std::string DynamicScale(const std::string& x) {
  return "hi[] max= " + x + " ; lo[] min= " + x +
         "\n"
         "span[] = max(hi, 0) - min(lo, 0)\n"
         "step[] = span == 0 ? 1 : span / 255\n"
         "zero[] = rint(clamp(0 - min(lo, 0) / step, 0, 255))\n";
}

namespace {

// A scale or zero point of one element, or one for each column n.
std::string PerColumn(const std::string& port) {
  return "(rank(" + port + ") == 0 ? " + port + "[] : " + port + "[n * min(dim(" + port + ", 0) - 1, 1)])";
}
// One number for all columns, or one for each.
std::string ColumnSizes(const std::string& port, const std::string& columns) {
  return "if has(" + port + ") { if rank(" + port + ") > 0 { require dim(" + port + ", 0) == " + columns + " || dim(" + port +
         ", 0) == 1 else \"" + port + " has {} elements where {} are needed\", dim(" + port + ", 0), " + columns + " } }\n";
}
std::string ZeroPerColumn(const std::string& port) { return "(has(" + port + ") ? i32(" + PerColumn(port) + ") : i32(0))"; }

const char kInnerSizes[] =
    "require dim(A, -1) == dim(B, -2) else \"A has {} columns and B {} rows\", dim(A, -1), dim(B, -2)\n";

const char kMatrixSizes[] =
    "let r = max(rank(A), rank(B)) ; let fa = concat(0 * range(r - rank(A)) + 1, dims(A)[0:rank(A) - 2])\n"
    "let fb = concat(0 * range(r - rank(B)) + 1, dims(B)[0:rank(B) - 2])\n"
    "shape Y[fa == fb ? fa : fa == 1 ? fb : fa, dim(A, -2), dim(B, -1)]";

}  // namespace

void RegisterQuantizedProducts(Registrar& r) {
  r.op("com.microsoft.MatMulIntegerToFloat")
      .Doc("Product of quantised matrices, as floats.")
      .Input("A", "integer")
      .Input("B", "integer")
      .Input("a_scale", "float")
      .Input("b_scale", "float")
      .Input("a_zero_point", "integer", /*optional=*/true)
      .Input("b_zero_point", "integer", /*optional=*/true)
      .Input("bias", "float", /*optional=*/true)
      .Output("Y", "a_scale")
      .Shape(kMatrixSizes)
      .Pure(kInnerSizes + ColumnSizes("b_scale", "dim(B, -1)") + ColumnSizes("b_zero_point", "dim(B, -1)") +
            "P = i32(A) - i32(a_zero_point ?: 0)\nQ[.., k, n] = i32(B[.., k, n]) - " + ZeroPerColumn("b_zero_point") +
            "\n"
            "T[.., m, n] += P[.., m, k] * Q[.., k, n]\n"
            "s[n] = a_scale * " + PerColumn("b_scale") + " over n in 0:dim(B, -1)\n"
            "Y[.., m, n] = cast(T[.., m, n], dtype(a_scale)) * s[n] + (bias[n] ?: 0)")
      .Sample(
          "A: u8[2, 3, 4] in [0, 255]; B: i8[4, 5] in [-127, 127]; a_scale: f32[] = 0.02; b_scale: f32[5] in [0.01, 0.1]; a_zero_point: u8[] = 128; b_zero_point: i8[5] in [-9, 9]; bias: f32[5]")
      .Sample("A: u8[2, 4] in [0, 255]; B: u8[4, 3] in [0, 255]; a_scale: f32[] = 0.02; b_scale: f32[] = 0.03")
      .Sample("A: u8[2, 3]; B: u8[3, 2]; a_scale: f32[] in [0.01, 0.1]; b_scale: f32[2] in [0.01, 0.1]; bias: f32[2]");
  r.op("com.microsoft.DynamicQuantizeMatMul")
      .Doc("Product with a quantised matrix of an operand that is quantised by its own range.")
      .Input("A", "float")
      .Input("B", "integer")
      .Input("b_scale", "float")
      .Input("b_zero_point", "integer", /*optional=*/true)
      .Input("bias", "float", /*optional=*/true)
      .Output("Y", "A")
      .Shape(kMatrixSizes)
      .Pure(kInnerSizes + ColumnSizes("b_scale", "dim(B, -1)") + ColumnSizes("b_zero_point", "dim(B, -1)") +
            DynamicScale("A[i..]") +
            "q = A / step[]\n"
            "P = i32(clamp(rint(q) + zero[], 0, 255)) - i32(zero[])\n"
            "Q[.., k, n] = i32(B[.., k, n]) - " + ZeroPerColumn("b_zero_point") +
            "\n"
            "T[.., m, n] += P[.., m, k] * Q[.., k, n]\n"
            "s[n] = step[] * " + PerColumn("b_scale") + " over n in 0:dim(B, -1)\n"
            "Y[.., m, n] = cast(T[.., m, n], dtype(A)) * s[n] + (bias[n] ?: 0)")
      .Sample(
          "A: f32[2, 3, 4]; B: i8[4, 5] in [-127, 127]; b_scale: f32[5] in [0.01, 0.1]; b_zero_point: i8[5] in [-9, 9]; bias: f32[5]")
      .Sample("A: f32[2, 4] in [1, 2]; B: u8[4, 3] in [0, 255]; b_scale: f32[] = 0.03; b_zero_point: u8[] = 120")
      .Sample("A: f32[2, 2]; B: i8[2, 3] in [-127, 127]; b_scale: f32[3] in [0.01, 0.1]");
  r.op("com.microsoft.QGemm")
      .Doc("alpha A B + C of quantised matrices, quantised again or, without an output scale, as floats.")
      .Input("A", "integer")
      .Input("a_scale", "float")
      .Input("a_zero_point", "integer")
      .Input("B", "integer")
      .Input("b_scale", "float")
      .Input("b_zero_point", "integer")
      .Input("C", "i32", /*optional=*/true)
      .Input("y_scale", "float", /*optional=*/true)
      .Input("y_zero_point", "integer", /*optional=*/true)
      .Output("Y", "y_zero_point|a_scale")
      .Attribute("alpha", "float", "1")
      .Attribute("transA", "int", "0")
      .Attribute("transB", "int", "0")
      .Shape("shape Y[transA ? dim(A, 1) : dim(A, 0), transB ? dim(B, 0) : dim(B, 1)]")
      .Pure("let a = transA ? A[k, m] : A[m, k] ; let b = transB ? B[n, k] : B[k, n]\n"
            + ColumnSizes("b_scale", "dim(Y, 1)") + ColumnSizes("b_zero_point", "dim(Y, 1)") +
            "T[m, n] += (i32(a) - i32(a_zero_point)) * (i32(b) - " + ZeroPerColumn("b_zero_point") + ")\n"
            "if has(C) { T = T[..] + C[..] }\n"
            "s[n] = alpha * a_scale * " + PerColumn("b_scale") + " over n in 0:dim(Y, 1)\n"
            "if has(y_scale) { v[n] = s[n] / y_scale\n"
            "  Y[m, n] = sat(rint(cast(T[m, n], dtype(a_scale)) * v[n]) + cast(y_zero_point ?: 0, dtype(a_scale))) }\n"
            "else { Y[m, n] = cast(T[m, n], dtype(a_scale)) * s[n] }")
      .Sample(
          "A: u8[2, 3] in [0, 255]; a_scale: f32[] = 0.02; a_zero_point: u8[] = 100; B: i8[4, 3] in [-127, 127]; b_scale: f32[4] in [0.01, 0.03]; b_zero_point: i8[4] in [-9, 9]; C: i32[4] in [-900, 900]; y_scale: f32[] = 0.5; y_zero_point: u8[] = 120; attr transB = 1, alpha = 0.5")
      .Sample(
          "A: u8[2, 3] in [0, 255]; a_scale: f32[] = 0.02; a_zero_point: u8[] = 100; B: u8[3, 4] in [0, 255]; b_scale: f32[] = 0.01; b_zero_point: u8[] = 120");
  r.op("com.microsoft.QLinearConv")
      .Doc("Convolution of quantised tensors, quantised again, channels first or last.")
      .Input("x", "integer")
      .Input("x_scale", "f32")
      .Input("x_zero_point", "integer")
      .Input("w", "integer")
      .Input("w_scale", "f32")
      .Input("w_zero_point", "integer")
      .Input("y_scale", "f32")
      .Input("y_zero_point", "integer")
      .Input("B", "i32", /*optional=*/true)
      .Output("y", "y_zero_point")
      .Attribute("auto_pad", "string", "\"NOTSET\"")
      .Attribute("channels_last", "int", "0")
      .Attribute("dilations", "ints")
      .Attribute("group", "int", "1")
      .Attribute("kernel_shape", "ints")
      .Attribute("pads", "ints")
      .Attribute("strides", "ints")
      .Shape("let N = rank(x) - 2 ; let xd = channels_last ? dims(x)[1:N+1] : dims(x)[2:N+2] ; let K = kernel_shape ?: dims(w)[2:N+2]\n"
             "let ceil_mode = 0\n" + WindowSizes() +
             "if channels_last { shape y[dim(x, 0), out, dim(w, 0)] } else { shape y[dim(x, 0), dim(w, 0), out] }")
      .Pure("let N = rank(x) - 2 ; let xd = channels_last ? dims(x)[1:N+1] : dims(x)[2:N+2] ; let K = kernel_shape ?: dims(w)[2:N+2]\n"
            "let yd = channels_last ? dims(y)[1:N+1] : dims(y)[2:N+2] ; let st = strides ?: 1 ; let dl = dilations ?: 1\n"
            "let total = max((yd - 1) * st + (K - 1) * dl + 1 - xd, 0)\n"
            "let lo = auto_pad == \"SAME_UPPER\" ? total // 2 : auto_pad == \"SAME_LOWER\" ? (total + 1) // 2 : auto_pad == \"VALID\" ? 0 : (pads ?: 0)[0:N]\n"
            "let D = dim(w, 1) ; let M = dim(w, 0) // group ; let C = channels_last ? dim(x, N + 1) : dim(x, 1)\n"
            "require C == D * group else \"x has {} channels where w and group need {}\", C, D * group\n"
            "require dim(w, 0) == M * group else \"w has {} outputs, which {} groups don't divide\", dim(w, 0), group\n"
            "let at = p * st + k * dl - lo\n"
            "let v = channels_last ? (x[n, at, o // M * D + c] ?? x_zero_point) : (x[n, o // M * D + c, at] ?? x_zero_point)\n"
            "let wz = (rank(w_zero_point) == 0 ? w_zero_point[] : surely(dim(w_zero_point, 0) == 1) ? w_zero_point[0] : w_zero_point[o])\n"
            "let ws = (rank(w_scale) == 0 ? w_scale[] : surely(dim(w_scale, 0) == 1) ? w_scale[0] : w_scale[o])\n"
            "T[n, o, p..] += (i32(v) - i32(x_zero_point)) * (i32(w[o, c, k..]) - i32(wz)) over p.. in 0:yd, n in 0:dim(x, 0), o in 0:dim(w, 0)\n"
            "let b = B[o] ?: 0\n"
            "s[o] = f32(x_scale) * f32(ws) / f32(y_scale) over o in 0:dim(w, 0)\n"
            "U[n, o, p..] = f32(T[n, o, p..] + i32(b)) * s[o]\n"
            "if channels_last { y[n, p.., o] = sat(rint(U[n, o, p..]) + f32(y_zero_point)) } else { y = sat(rint(U) + f32(y_zero_point)) }")
      .Sample(
          "x: u8[1, 4, 4, 2] in [0, 255]; x_scale: f32[] = 0.02; x_zero_point: u8[] = 100; w: i8[3, 2, 3, 3] in [-127, 127]; w_scale: f32[3] in [0.01, 0.03]; w_zero_point: i8[3] = [0, 0, 0]; y_scale: f32[] = 0.1; y_zero_point: u8[] = 120; B: i32[3] in [-900, 900]; attr channels_last = 1, pads = [1, 1, 1, 1]")
      .Sample(
          "x: u8[1, 2, 5] in [0, 255]; x_scale: f32[] = 0.02; x_zero_point: u8[] = 100; w: u8[2, 1, 3] in [0, 255]; w_scale: f32[] = 0.02; w_zero_point: u8[] = 120; y_scale: f32[] = 0.1; y_zero_point: u8[] = 120; attr group = 2, strides = [2]");
}

}  // namespace onnxruntime_ops
