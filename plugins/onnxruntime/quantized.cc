// Quantise, dequantise, and operators between whose quantised input and output nothing but elements is computed.
#include "plugins/onnxruntime/families.h"

namespace onnxruntime_ops {
namespace {

// Two operands broadcast against one another.
const char kBroadcast[] =
    "let r = max(rank(A), rank(B))\n"
    "let a = concat(0 * range(r - rank(A)) + 1, dims(A)) ; let b = concat(0 * range(r - rank(B)) + 1, dims(B))\n"
    "shape C[a == b ? a : a == 1 ? b : a]";

void Binary(Registrar& r, const std::string& op, const std::string& doc, const std::string& pure) {
  r.op("com.microsoft." + op)
      .Doc(doc)
      .Input("A", "integer")
      .Input("A_scale", "f32")
      .Input("A_zero_point", "integer", /*optional=*/true)
      .Input("B", "integer")
      .Input("B_scale", "f32")
      .Input("B_zero_point", "integer", /*optional=*/true)
      .Input("C_scale", "f32")
      .Input("C_zero_point", "integer", /*optional=*/true)
      .Output("C", "A")
      .Shape(kBroadcast)
      .Pure(pure)
      .Sample(
          "A: u8[2, 3] in [0, 255]; A_scale: f32[] = 0.02; A_zero_point: u8[] = 100; B: u8[3] in [0, 255]; B_scale: f32[] = 0.03; B_zero_point: u8[] = 120; C_scale: f32[] = 0.05; C_zero_point: u8[] = 128")
      .Sample("A: i8[2, 1] in [-128, 127]; A_scale: f32[] = 0.02; B: i8[2, 4] in [-128, 127]; B_scale: f32[] = 0.03; C_scale: f32[] = 0.04");
}

void Unary(Registrar& r, const std::string& op, const std::string& doc, const std::string& value, bool alpha) {
  auto block = r.op("com.microsoft." + op);
  block.Doc(doc)
      .Input("X", "integer")
      .Input("X_scale", "f32")
      .Input("X_zero_point", "integer", /*optional=*/true)
      .Input("Y_scale", "f32")
      .Input("Y_zero_point", "integer", /*optional=*/true)
      .Output("Y", "X")
      .Shape("shape Y[dims(X)]")
      .Pure(
          "T = (f32(X) - f32(X_zero_point ?: 0)) * f32(X_scale)\n"
          "U = " + value + "\n"
          "V = U / f32(Y_scale)\n"
          "Y = sat(rint(V) + f32(Y_zero_point ?: 0))")
      .Sample(
          "X: u8[2, 3] in [0, 255]; X_scale: f32[] = 0.03; X_zero_point: u8[] = 128; Y_scale: f32[] = 0.02; Y_zero_point: u8[] = 10")
      .Sample("X: i8[4] in [-128, 127]; X_scale: f32[] = 0.03; Y_scale: f32[] = 0.01");
  if (alpha) block.Attribute("alpha", "float", "0.01");
}

}  // namespace

void RegisterQuantized(Registrar& r) {
  r.op("com.microsoft.QuantizeLinear")
      .Doc("x / y_scale, rounded to even, plus the zero point, saturated.")
      .Input("x", "float")
      .Input("y_scale", "float")
      .Input("y_zero_point", "integer", /*optional=*/true)
      .Output("y", "y_zero_point|u8")
      .Attribute("axis", "int", "1")
      .Shape("shape y[dims(x)]")
      .Pure(
          "if rank(y_scale) == 0 || len(y_scale) == 1 {\n"
          "  u = f32(x) / f32(y_scale)\n"
          "  y = sat(rint(u) + f32(y_zero_point ?: 0))\n"
          "} else {\n"
          "  u[o.., k@axis] = f32(x[o.., k@axis]) / f32(y_scale[k])\n"
          "  y[o.., k@axis] = sat(rint(u[o.., k@axis]) + f32(y_zero_point[k] ?: 0))\n"
          "}")
      .Sample("x: f32[2, 3] in [-100, 100]; y_scale: f32[] = 0.5; y_zero_point: u8[] = 128")
      .Sample("x: f32[2, 3] in [-9, 9]; y_scale: f32[3] in [0.1, 1]; y_zero_point: u16[3] in [100, 900]");
  r.op("com.microsoft.DequantizeLinear")
      .Doc("(x - zero point) times the scale.")
      .Input("x", "integer")
      .Input("x_scale", "float")
      .Input("x_zero_point", "integer", /*optional=*/true)
      .Output("y", "x_scale")
      .Attribute("axis", "int", "1")
      .Shape("shape y[dims(x)]")
      .Pure(
          "if rank(x_scale) == 0 || len(x_scale) == 1 { y = cast(wide(x) - wide(x_zero_point ?: 0), dtype(x_scale)) * x_scale }\n"
          "else { y[o.., k@axis] = cast(wide(x[o.., k@axis]) - wide(x_zero_point[k] ?: 0), dtype(x_scale)) * x_scale[k] }")
      .Sample("x: u8[2, 3]; x_scale: f32[] = 0.5; x_zero_point: u8[] = 128")
      .Sample("x: u16[2, 3] in [200, 999]; x_scale: f32[2] in [0.1, 1]; attr axis = 0")
      .Sample("x: i8[2, 3]; x_scale: f32[3] in [0.1, 1]; x_zero_point: i8[3]");
  // The sums are carried out as ONNX Runtime does: the zero points first, then both operands in steps of the result.
  Binary(r, "QLinearAdd", "Sum of quantised tensors, quantised again.",
         "ra = f32(A_scale) / f32(C_scale) ; rb = f32(B_scale) / f32(C_scale)\n"
         "z = f32(C_zero_point ?: 0) - (ra * f32(A_zero_point ?: 0) + rb * f32(B_zero_point ?: 0))\n"
         "T = z[..] + ra[..] * f32(A[..]) + rb[..] * f32(B[..])\n"
         "C = sat(rint(T))");
  Binary(r, "QLinearMul", "Product of quantised tensors, quantised again.",
         "s = f32(A_scale) * f32(B_scale) / f32(C_scale)\n"
         "P = (f32(A[..]) - f32(A_zero_point ?: 0)) * (f32(B[..]) - f32(B_zero_point ?: 0))\n"
         "T = P[..] * s[..]\n"
         "C = sat(rint(T) + f32(C_zero_point ?: 0))");
  Unary(r, "QLinearSigmoid", "Sigmoid of a quantised tensor, quantised again.", "1 / (1 + exp(-T))", false);
  Unary(r, "QLinearLeakyRelu", "LeakyRelu of a quantised tensor, quantised again.", "T < 0 ? alpha * T : T", true);
  r.op("com.microsoft.QLinearSoftmax")
      .Doc("Softmax of a quantised tensor, quantised again; up to opset 12 over all dimensions from the axis on.")
      .Input("X", "integer")
      .Input("X_scale", "f32")
      .Input("x_zero_point", "integer", /*optional=*/true)
      .Input("y_scale", "f32")
      .Input("y_zero_point", "integer")
      .Output("Y", "X")
      .Attribute("axis", "int", "-1")
      .RequiredAttribute("opset", "int")
      .Shape("shape Y[dims(X)]")
      .Pure(
          "let at = axis < 0 ? axis + rank(X) : axis\n"
          "let ax = opset < 13 ? range(at, rank(X)) : [at]\n"
          "let rank(k) = opset < 13 ? rank(X) - at : 1\n"
          "T = (f32(X) - f32(x_zero_point ?: 0)) * f32(X_scale)\n"
          "M[o..] max= T[o.., k..@ax]\n"
          "E[o.., k..@ax] = exp(T[o.., k..@ax] - M[o..])\n"
          "S[o..] += E[o.., k..@ax]\n"
          "U[o.., k..@ax] = E[o.., k..@ax] / S[o..]\n"
          "V = U / f32(y_scale)\n"
          "Y = sat(rint(V) + f32(y_zero_point))")
      .Sample(
          "X: u8[2, 3, 4] in [0, 255]; X_scale: f32[] = 0.03; x_zero_point: u8[] = 128; y_scale: f32[] = 0.004; y_zero_point: u8[] = 0; attr opset = 13, axis = 1")
      .Sample(
          "X: i8[2, 3, 2] in [-128, 127]; X_scale: f32[] = 0.03; y_scale: f32[] = 0.004; y_zero_point: i8[] = -128; attr opset = 12, axis = 1");
  r.op("com.microsoft.QLinearConcat")
      .Doc("Quantised tensors, each with scale and zero point, side by side in steps of the result.")
      .Input("Y_scale", "f32")
      .Input("Y_zero_point", "integer")
      .Input("inputs", "any", /*optional=*/false, /*variadic=*/true)
      .Output("Y", "Y_zero_point")
      .RequiredAttribute("axis", "int")
      .Shape(
          "let i = 0 ; let total = 0\n"
          "each T in inputs { if i % 3 == 0 { let total = total + dim(T, axis) } ; let i = i + 1 }\n"
          "let at = 0\n"
          "each T in inputs { if at % 3 == 0 { shape Y[range(rank(T)) == (axis < 0 ? axis + rank(T) : axis) ? total : dims(T)] } ; let at = at + 1 }")
      .Pure(
          "let i = 0 ; let at = 0\n"
          "each T in inputs {\n"
          "  let x = s ; let s = z ; let z = T\n"
          "  if i % 3 == 2 {\n"
          "    Y[o.., at + k @axis] = sat(rint(f32(f32((f32(x[o.., k@axis]) - f32(z[])) * f32(s[])) / f32(Y_scale))) + f32(Y_zero_point)) over k in 0:dim(x, axis)\n"
          "    let at = at + dim(x, axis)\n"
          "  }\n"
          "  let i = i + 1\n"
          "}")
      .Sample(
          "Y_scale: f32[] = 0.05; Y_zero_point: u8[] = 100; inputs: u8[2, 3] in [0, 255]; inputs: f32[] = 0.05; inputs: u8[] = 100; inputs: u8[2, 2] in [0, 255]; inputs: f32[] = 0.02; inputs: u8[] = 7; attr axis = 1");
  r.op("com.microsoft.QLinearWhere")
      .Doc("Elements of one or the other quantised tensor, in steps of the result.")
      .Input("condition", "bool")
      .Input("X", "integer")
      .Input("x_scale", "f32")
      .Input("x_zero_point", "integer")
      .Input("Y", "integer")
      .Input("y_scale", "f32")
      .Input("y_zero_point", "integer")
      .Input("z_scale", "f32")
      .Input("z_zero_point", "integer")
      .Output("Z", "X")
      .Shape(
          "let r = max(max(rank(X), rank(Y)), rank(condition))\n"
          "let a = concat(0 * range(r - rank(X)) + 1, dims(X)) ; let b = concat(0 * range(r - rank(Y)) + 1, dims(Y))\n"
          "let c = concat(0 * range(r - rank(condition)) + 1, dims(condition)) ; let d = a == b ? a : a == 1 ? b : a\n"
          "shape Z[d == c ? d : d == 1 ? c : d]")
      .Pure(
          "a = (f32(X) - f32(x_zero_point)) * f32(x_scale) ; b = (f32(Y) - f32(y_zero_point)) * f32(y_scale)\n"
          "u = a / f32(z_scale[]) ; v = b / f32(z_scale[])\n"
          "T = condition[..] ? u[..] : v[..]\n"
          "Z = sat(rint(T) + f32(z_zero_point))")
      .Sample(
          "condition: bool[2, 1] = [true, false]; X: u8[2, 3] in [0, 255]; x_scale: f32[] = 0.02; x_zero_point: u8[] = 100; Y: u8[3] in [0, 255]; y_scale: f32[] = 0.03; y_zero_point: u8[] = 120; z_scale: f32[] = 0.04; z_zero_point: u8[] = 110");
}

}  // namespace onnxruntime_ops
