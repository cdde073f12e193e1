// Pools of quantised tensors, channels first or last.
#include "plugins/onnxruntime/families.h"

namespace onnxruntime_ops {
namespace {

// Where the image lies in the dimensions of X, for the attribute channels_last.
const char kImage[] =
    "let last = channels_last ?: 0 ; let N = rank(X) - 2 ; let K = kernel_shape\n"
    "let xd = last ? dims(X)[1:N+1] : dims(X)[2:N+2] ; let C = last ? dim(X, N + 1) : dim(X, 1)\n";

const char kGeometry[] =
    "let st = strides ?: 1 ; let dl = dilations ?: 1 ; let pad = auto_pad ?: \"NOTSET\"\n"
    "let total = max((yd - 1) * st + (K - 1) * dl + 1 - xd, 0)\n"
    "let lo = pad == \"SAME_UPPER\" ? total // 2 : pad == \"SAME_LOWER\" ? (total + 1) // 2 : pad == \"VALID\" ? 0 : (pads ?: 0)[0:N]\n"
    "let hi = pad == \"NOTSET\" ? (pads ?: 0)[N:2*N] : pad == \"VALID\" ? 0 : total - lo ; let at = p * st + k * dl - lo\n";

}  // namespace

void RegisterQuantizedPools(Registrar& r) {
  r.op("com.microsoft.NhwcMaxPool")
      .Doc("Maximum over a sliding window, channels last.")
      .Input("x", "integer")
      .Output("y", "x")
      .Attribute("auto_pad", "string", "\"NOTSET\"")
      .Attribute("ceil_mode", "int", "0")
      .Attribute("dilations", "ints")
      .RequiredAttribute("kernel_shape", "ints")
      .Attribute("pads", "ints")
      .Attribute("strides", "ints")
      .Shape("let N = rank(x) - 2 ; let K = kernel_shape ; let xd = dims(x)[1:N+1]\n" + WindowSizes() +
             "shape y[dim(x, 0), out, dim(x, N + 1)]")
      .Pure(std::string("let N = rank(x) - 2 ; let K = kernel_shape ; let xd = dims(x)[1:N+1] ; let yd = dims(y)[1:N+1]\n") +
            kGeometry + "y[n, p.., c] max= x[n, at, c] ?? lowest() over k.. in 0:K, n in 0:dim(x, 0), p.. in 0:yd, c in 0:dim(x, N + 1)")
      .Sample("x: u8[1, 5, 5, 2] in [0, 255]; attr kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]")
      .Sample("x: i8[1, 6, 3] in [-128, 127]; attr kernel_shape = [2], strides = [2]");
  r.op("com.microsoft.QLinearAveragePool")
      .Doc("Mean of a quantised tensor over a sliding window, quantised again.")
      .Input("X", "integer")
      .Input("x_scale", "f32")
      .Input("x_zero_point", "integer", /*optional=*/true)
      .Input("y_scale", "f32")
      .Input("y_zero_point", "integer", /*optional=*/true)
      .Output("Y", "X")
      .Attribute("auto_pad", "string", "\"NOTSET\"")
      .Attribute("ceil_mode", "int", "0")
      .Attribute("channels_last", "int", "0")
      .Attribute("count_include_pad", "int", "0")
      .RequiredAttribute("kernel_shape", "ints")
      .Attribute("pads", "ints")
      .Attribute("strides", "ints")
      .Shape(std::string(kImage) + "let dilations = 1\n" + WindowSizes() +
             "if last { shape Y[dim(X, 0), out, C] } else { shape Y[dim(X, 0), C, out] }")
      .Pure(std::string(kImage) + "let dilations = 1 ; let yd = last ? dims(Y)[1:N+1] : dims(Y)[2:N+2]\n" + kGeometry +
            "let x = last ? X[n, at, c] ?? 0 : X[n, c, at] ?? 0 ; let inside = all(at >= 0 && at < xd)\n"
            "S[n, c, p..] += inside ? i32(x) - i32(x_zero_point ?: 0) : i32(0) over k.. in 0:K, n in 0:dim(X, 0), c in 0:C, p.. in 0:yd\n"
            "Q[p..] += all(count_include_pad ? at < xd + hi : at >= 0 && at < xd) ? 1.0 : 0.0 over k.. in 0:K, p.. in 0:yd\n"
            "U[n, c, p..] = f32(S[n, c, p..]) * f32(x_scale)\n"
            "T[n, c, p..] = U[n, c, p..] / Q[p..]\n"
            "V = T / f32(y_scale)\n"
            "if last { Y[n, p.., c] = sat(rint(V[n, c, p..]) + f32(y_zero_point ?: 0)) }\n"
            "else { Y = sat(rint(V) + f32(y_zero_point ?: 0)) }")
      .Sample(
          "X: u8[1, 2, 5, 5] in [0, 255]; x_scale: f32[] = 0.02; x_zero_point: u8[] = 100; y_scale: f32[] = 0.01; y_zero_point: u8[] = 128; attr kernel_shape = [3, 3], pads = [1, 1, 1, 1]")
      .Sample(
          "X: u8[1, 4, 4, 2] in [0, 255]; x_scale: f32[] = 0.02; y_scale: f32[] = 0.01; attr kernel_shape = [2, 2], strides = [2, 2], channels_last = 1, count_include_pad = 1");
  r.op("com.microsoft.QLinearGlobalAveragePool")
      .Doc("Mean of a quantised tensor over all spatial dimensions, quantised again.")
      .Input("X", "integer")
      .Input("x_scale", "f32")
      .Input("x_zero_point", "integer")
      .Input("y_scale", "f32")
      .Input("y_zero_point", "integer")
      .Output("Y", "X")
      .Attribute("channels_last", "int", "0")
      .Shape(
          "let n = rank(X) - 2\n"
          "if channels_last { shape Y[dim(X, 0), 0 * range(n) + 1, dim(X, n + 1)] } else { shape Y[dim(X, 0), dim(X, 1), 0 * range(n) + 1] }")
      .Pure(
          "let rank(p) = rank(X) - 2 ; let x = channels_last ? X[n, p.., c] : X[n, c, p..]\n"
          "let C = channels_last ? dim(X, rank(X) - 1) : dim(X, 1)\n"
          "S[n, c] += i32(x) - i32(x_zero_point) over n in 0:dim(X, 0), c in 0:C\n"
          "T[n, c] = f32(S[n, c]) * (f32(x_scale) / (f32(y_scale) * f32(len(p))))\n"
          "if channels_last { Y[n, 0@range(1, rank(X) - 1), c] = sat(rint(T[n, c]) + f32(y_zero_point)) }\n"
          "else { Y[n, c, 0@range(2, rank(X))] = sat(rint(T[n, c]) + f32(y_zero_point)) }")
      .Sample(
          "X: u8[2, 3, 4, 4] in [0, 255]; x_scale: f32[] = 0.02; x_zero_point: u8[] = 100; y_scale: f32[] = 0.01; y_zero_point: u8[] = 128")
      .Sample(
          "X: u8[1, 4, 4, 3] in [0, 255]; x_scale: f32[] = 0.02; x_zero_point: u8[] = 100; y_scale: f32[] = 0.01; y_zero_point: u8[] = 128; attr channels_last = 1");
}

}  // namespace onnxruntime_ops
