// Convolutions: `Window` is the geometry that they share with the pools.
#include "plugins/onnx/families.h"

namespace onnx_ops {

std::string Window(const std::string& x, const std::string& y, const std::string& w) {
  return "let N = rank(" + x + ") - 2 ; let xd = dims(" + x + ")[2:N+2] ; let yd = dims(" + y +
         ")[2:N+2]\n"
         "let st = strides ?: 1 ; let dl = dilations ?: 1 ; let K = kernel_shape ?: dims(" +
         w +
         ")[2:N+2]\n"
         "let total = max((yd - 1) * st + (K - 1) * dl + 1 - xd, 0)\n"
         "let lo = auto_pad == \"SAME_UPPER\" ? total // 2 : auto_pad == \"SAME_LOWER\" ? (total + 1) // 2 :\n"
         "         auto_pad == \"VALID\" ? 0 : (pads ?: 0)[0:N]\n";
}

namespace {
// A channel that X lacks would read as padding.
std::string Channels(const std::string& x, const std::string& w) {
  return "require dim(" + x + ", 1) == D * group else \"" + x + " has {} channels where " + w +
         " and group need {}\", dim(" + x + ", 1), D * group\n"
         "require dims(" + w + ")[2:rank(" + w + ")] > 0 else \"" + w + " has an empty window\"\n"
         "require dim(" + w + ", 0) == M * group else \"" + w + " has {} outputs, which {} groups don't divide\", dim(" +
         w + ", 0), group\n";
}
}  // namespace

void RegisterConvolution(Registrar& r) {
  r.op("Conv")
      .Doc("Convolution of any number of spatial dimensions; grouped and dilated on demand.")
      .Pure(Window("X", "Y", "W") +
            "let D = dim(W, 1) ; let M = dim(W, 0) // group\n" +
            Channels("X", "W") +
            "Y[n, o, p..] = B[o] ?: 0\n"
            "Y[n, o, p..] += (X[n, o // M * D + c, p * st + k * dl - lo] ?? 0) * W[o, c, k..]")
      .Backward(
          Window("X", "Y", "W") +
          "let D = dim(W, 1) ; let M = dim(W, 0) // group ; let back = q + lo - k * dl\n"
          "if group == 1 && D < 8 && M >= 16 && (all(st == 1) || all(dl == 1)) {  # tiles of few channels stay empty: products first, "
          "then their sums\n"
          "  Q[n, c, k.., p..] += dY[n, m, p..] * W[m, c, k..] over c in 0:D, k.. in 0 * xd : 0 * xd + K, p.. in 0:yd, n in 0:dim(X, 0), m in 0:M\n"
          "  if all(st == 1) {\n"
          "    dX[n, c, q..] += Q[n, c, k.., back] ?? 0 over q.. in 0:xd, c in 0:D, k.. in 0 * xd : 0 * xd + K\n"
          "  } else {\n"
          "    let s = 0 * xd + st ; let first = lo // s\n"
          "    R[n, c, f.., r..] += Q[n, c, f + j * s, r + first - j] ?? 0 "
          "over f.. in 0:min(s, K), r.. in 0 : (xd + lo - 1) // s - first + 1, j.. in 0 : (K + s - 1) // s, n in 0:dim(X, 0), c in 0:D\n"
          "    dX[n, c, q..] = R[n, c, (q + lo) % s, (q + lo) // s - first] ?? 0 over c in 0:D, q.. in 0:xd\n"
          "  }\n"
          "} else if all(st == 1) {\n"
          "  dX[n, c, q..] += (dY[n, c // D * M + m, q + k * dl - ((K - 1) * dl - lo)] ?? 0) * W[c // D * M + m, c % D, K - 1 - k] "
          "over c in 0:group*D, q.. in 0:xd, m in 0:M, k.. in 0 * xd : 0 * xd + K\n"
          "} else if all(dl == 1) {  # elements that lie f after a window's start meet every st-th weight only\n"
          "  let s = 0 * xd + st ; let first = lo // s\n"
          "  P[n, c, f.., r..] += (dY[n, c // D * M + m, r + first - j] ?? 0) * (W[c // D * M + m, c % D, f + j * s] ?? 0) "
          "over f.. in 0:min(s, K), r.. in 0 : (xd + lo - 1) // s - first + 1, j.. in 0 : (K + s - 1) // s, n in 0:dim(X, 0), c in 0:group*D, m in 0:M\n"
          "  dX[n, c, q..] = P[n, c, (q + lo) % s, (q + lo) // s - first] ?? 0 over c in 0:group*D, q.. in 0:xd\n"
          "} else {\n"
          "  dX[n, c, q..] += (all(back % st == 0) ? dY[n, c // D * M + m, back // st] ?? 0 : 0) * W[c // D * M + m, c % D, k..] "
          "over c in 0:group*D, q.. in 0:xd, m in 0:M\n"
          "}\n"
          "dW[o, c, k..] += dY[n, o, p..] * (X[n, o // M * D + c, p * st + k * dl - lo] ?? 0)\n"
          "dB[o] += dY[n, o, p..]")
      .Sample("X: f32[2, 3, 5, 6]; W: f32[4, 3, 3, 3]; B: f32[4]; attr pads = [1, 1, 1, 1]")
      .Sample("X: f32[1, 4, 7]; W: f32[4, 2, 3]; attr group = 2, strides = [2], dilations = [2]")
      .Sample(
          "X: f32[1, 2, 5, 4]; W: f32[2, 1, 2, 3]; B: f32[2]; attr group = 2, auto_pad = \"SAME_UPPER\", strides = [2, 1]")
      .Sample("X: f32[1, 1, 3, 4, 3]; W: f32[2, 1, 2, 2, 2]")
      .Sample("X: f32[2, 2, 7, 6]; W: f32[2, 2, 3, 2]; attr strides = [3, 2], pads = [1, 0, 2, 1]")
      .Sample("X: f32[1, 4, 9]; W: f32[4, 2, 2]; attr group = 2, strides = [3], pads = [2, 0]")
      .Sample("X: f32[2, 3, 4, 5]; W: f32[16, 3, 3, 2]; attr pads = [1, 1, 1, 0], dilations = [1, 2]")
      .Sample("X: f32[1, 2, 6, 5]; W: f32[16, 2, 3, 4]; attr pads = [1, 2, 0, 1], strides = [2, 3]");
  r.op("ConvInteger")
      .Doc("Convolution of small integers less their zero points, in 32 bits.")
      .Pure(
          Window("x", "y", "w") +
          "let D = dim(w, 1) ; let M = dim(w, 0) // group\n" +
          Channels("x", "w") +
          "let xz = i32(x_zero_point ?: 0)\n"
          "let wz = has(w_zero_point) && rank(w_zero_point) == 1 ? (len(w_zero_point) == 1 ? w_zero_point[0] : w_zero_point[o]) : w_zero_point ?: 0\n"
          "y[n, o, p..] += (i32(x[n, o // M * D + c, p * st + k * dl - lo] ?? x_zero_point ?: 0) - xz) * (i32(w[o, c, k..]) - i32(wz))")
      .Sample("x: u8[1, 2, 4, 4]; w: u8[3, 2, 3, 3]; x_zero_point: u8[] = 5; attr pads = [1, 1, 1, 1]");
  r.op("QLinearConv")
      .Doc("Convolution of quantised tensors, quantised again.")
      .Pure(
          Window("x", "y", "w") +
          "let D = dim(w, 1) ; let M = dim(w, 0) // group\n" +
          Channels("x", "w") +
          "let wz = rank(w_zero_point) == 1 ? (len(w_zero_point) == 1 ? w_zero_point[0] : w_zero_point[o]) : w_zero_point\n"
          "T[n, o, p..] += (i32(x[n, o // M * D + c, p * st + k * dl - lo] ?? x_zero_point) - i32(x_zero_point)) * (i32(w[o, c, k..]) - i32(wz)) "
          "over p.. in 0:yd, n in 0:dim(x, 0), o in 0:dim(w, 0)\n"
          "let ws = rank(w_scale) == 1 ? (len(w_scale) == 1 ? w_scale[0] : w_scale[o]) : w_scale\n"
          "let b = B[o] ?: 0\n"
          "y[n, o, p..] = sat(rint(f32(T[n, o, p..] + i32(b)) * (x_scale * ws / y_scale)) + f32(y_zero_point))")
      .Sample(
          "x: u8[1, 2, 4, 4]; x_scale: f32[] = 0.1; x_zero_point: u8[] = 5; w: u8[3, 2, 3, 3]; w_scale: f32[] = 0.2; "
          "w_zero_point: u8[] = 9; y_scale: f32[] = 0.5; y_zero_point: u8[] = 100");
  const std::string transposed =
      "let N = rank(X) - 2 ; let xd = dims(X)[2:N+2] ; let yd = dims(Y)[2:N+2]\n"
      "let st = strides ?: 1 ; let dl = dilations ?: 1 ; let K = kernel_shape ?: dims(W)[2:N+2]\n"
      "let total = (xd - 1) * st + (output_padding ?: 0) + (K - 1) * dl + 1 - yd\n"
      "let lo = auto_pad == \"SAME_UPPER\" ? total // 2 : auto_pad == \"SAME_LOWER\" ? total - total // 2 :\n"
      "         has(output_shape) && !has(pads) ? total - total // 2 : (pads ?: 0)[0:N]\n"
      "let C = dim(X, 1) // group ; let M = dim(W, 1)\n"
      "require dims(W)[2:N+2] > 0 else \"W has an empty window\"\n"
      "require dim(W, 0) == C * group else \"W has {} inputs where X and group need {}\", dim(W, 0), C * group\n";
  r.op("ConvTranspose")
      .Doc("Transposed convolution: every input element adds a scaled kernel to the output.")
      .Pure(
          transposed +
          "Y[n, o, p..] = B[o] ?: 0\n"
          "if all(st == 1) {\n"
          "  Y[n, g*M + o, p..] += (X[n, g*C + c, p + lo - k * dl] ?? 0) * W[g*C + c, o, k..] over p.. in 0:yd, g in 0:group, c in 0:C, o in 0:M\n"
          "} else if all(dl == 1) {  # elements that lie f after a window's start meet every st-th weight only\n"
          "  let s = 0 * xd + st ; let first = lo // s\n"
          "  P[n, o, f.., r..] += (X[n, o // M * C + c, r + first - j] ?? 0) * (W[o // M * C + c, o % M, f + j * s] ?? 0) "
          "over f.. in 0:min(s, K), r.. in 0 : (yd + lo - 1) // s - first + 1, j.. in 0 : (K + s - 1) // s, n in 0:dim(X, 0), o in 0:group*M, c in 0:C\n"
          "  Y[n, o, p..] += P[n, o, (p + lo) % s, (p + lo) // s - first] ?? 0 over p.. in 0:yd, o in 0:group*M\n"
          "} else {\n"
          "  Y[n, g*M + o, i * st + k * dl - lo] ?? += X[n, g*C + c, i..] * W[g*C + c, o, k..] over g in 0:group, c in 0:C, o in 0:M\n"
          "}")
      .Backward(
          transposed +
          "let d = dY[n, g*M + o, i * st + k * dl - lo] ?? 0\n"
          "dX[n, g*C + c, i..] += d * W[g*C + c, o, k..] over n in 0:dim(X, 0), i.. in 0:xd, g in 0:group, c in 0:C, o in 0:M\n"
          "dW[g*C + c, o, k..] += X[n, g*C + c, i..] * d over g in 0:group, c in 0:C, o in 0:M\n"
          "dB[o] += dY[n, o, p..]")
      .Sample("X: f32[1, 2, 3, 3]; W: f32[2, 4, 3, 3]; attr strides = [2, 2]")
      .Sample(
          "X: f32[1, 4, 3]; W: f32[4, 2, 2]; B: f32[4]; attr group = 2, strides = [2], output_padding = [1], dilations = [2]")
      .Sample("X: f32[1, 2, 3, 3]; W: f32[2, 1, 3, 3]; attr pads = [1, 1, 1, 1]")
      .Sample("X: f32[1, 1, 3, 3]; W: f32[1, 2, 3, 3]; attr auto_pad = \"SAME_LOWER\", strides = [2, 2]");
  r.op("DeformConv")
      .Doc("Convolution whose taps are moved by learnt offsets, read bilinearly (two spatial dimensions).")
      .Pure(
          "let N = rank(X) - 2 ; let st = strides ?: 1 ; let dl = dilations ?: 1 ; let lo = (pads ?: 0)[0:N]\n"
          "let K = dims(W)[2:4] ; let D = dim(W, 1) ; let M = dim(W, 0) // group ; let E = dim(X, 1) // offset_group\n"
          "require dim(X, 1) == group * D else \"X has {} channels and the weights are for {}\", dim(X, 1), group * D\n"
          "require dim(W, 0) % group == 0 else \"W has {} filters, which {} groups don't divide\", dim(W, 0), group\n"
          "require dim(X, 1) % offset_group == 0 else \"X has {} channels, which {} offset groups don't divide\", dim(X, 1), offset_group\n"
          "require dim(offset, 0) == dim(X, 0) && dim(offset, 1) == 2 * offset_group * prod(K) && dim(offset, 2) == dim(Y, 2) && dim(offset, 3) == dim(Y, 3) "
          "else \"offset is [{}, {}, {}, {}] where [{}, {}, {}, {}] is needed\", dim(offset, 0), dim(offset, 1), dim(offset, 2), dim(offset, 3), "
          "dim(X, 0), 2 * offset_group * prod(K), dim(Y, 2), dim(Y, 3)\n"
          "if has(mask) { require dim(mask, 0) == dim(X, 0) && dim(mask, 1) == offset_group * prod(K) && dim(mask, 2) == dim(Y, 2) && dim(mask, 3) == dim(Y, 3) "
          "else \"mask is [{}, {}, {}, {}] where [{}, {}, {}, {}] is needed\", dim(mask, 0), dim(mask, 1), dim(mask, 2), dim(mask, 3), "
          "dim(X, 0), offset_group * prod(K), dim(Y, 2), dim(Y, 3) }\n"
          "let z = (g * D + c) // E ; let at0 = z * 2 * prod(K) + fold(k, K) * 2\n"
          "let at = p * st + k * dl - lo + [offset[n, at0, p..], offset[n, at0 + 1, p..]]\n"
          "let q = floor(at) + u ; let f = at - floor(at)\n"
          "let w = prod(u == 0 ? 1 - f : f) * (mask[n, z * prod(K) + fold(k, K), p..] ?: 1)\n"
          "S[n, g, c, k.., p..] += (X[n, g * D + c, q] ?? 0) * w "
          "over u.. in 0 * K : 0 * K + 2, k.. in 0 : K, g in 0:group, c in 0:D, n in 0:dim(X, 0), p.. in 0:dims(Y)[2:4]\n"
          "Y[n, g * M + o, p..] += S[n, g, c, k.., p..] * W[g * M + o, c, k..] over o in 0:M, g in 0:group\n"
          "if has(B) { Y[n, o, p..] = Y[n, o, p..] + B[o] }")
      .Sample("X: f32[1, 1, 3, 3]; W: f32[1, 1, 2, 2]; offset: f32[1, 8, 2, 2] in [-0.5, 0.5]; B: f32[1]")
      .Sample(
          "X: f32[1, 2, 4, 4]; W: f32[2, 1, 2, 2]; offset: f32[1, 8, 5, 5] in [-0.5, 0.5]; mask: f32[1, 4, 5, 5] in [0, 1]; attr group = 2, pads = [1, 1, 1, 1]")
      .Sample(
          "X: f32[1, 2, 4, 4]; W: f32[1, 2, 2, 2]; offset: f32[1, 16, 2, 2] in [-0.5, 0.5]; attr offset_group = 2, strides = [2, 2]");
  r.op("CausalConvWithState")
      .Doc("Depthwise causal convolution along time that carries its last inputs as state.")
      .Pure(
          "let K = dim(weight, 2) ; let T = dim(input, 2)\n"
          "require dim(weight, 1) == 1 else \"weight has {} channels per group where 1 is needed\", dim(weight, 1)\n"
          "if has(past_state) { require dim(past_state, 0) == dim(input, 0) && dim(past_state, 1) == dim(input, 1) && dim(past_state, 2) == K - 1 "
          "else \"past_state is [{}, {}, {}] where [{}, {}, {}] is needed\", "
          "dim(past_state, 0), dim(past_state, 1), dim(past_state, 2), dim(input, 0), dim(input, 1), K - 1 }\n"
          "let at(s) = s < K - 1 ? past_state[b, c, s + 0] ?: 0 : input[b, c, s - (K - 1)]\n"
          "E[b, c, s] = at(s) over s in 0:T + K - 1, b in 0:dim(input, 0), c in 0:dim(input, 1)\n"
          "Z[b, c, t] = bias[c] ?: 0 over t in 0:T, b in 0:dim(input, 0), c in 0:dim(input, 1)\n"
          "Z[b, c, t] += E[b, c, t + k] * weight[c, 0, k]\n"
          "output = activation == \"silu\" || activation == \"swish\" ? f32(Z) / (1 + exp(-f32(Z))) : Z\n"
          "present_state[b, c, s] = E[b, c, T + s]")
      .Sample("input: f32[1, 2, 5]; weight: f32[2, 1, 3]; bias: f32[2]")
      .Sample("input: f32[2, 2, 4]; weight: f32[2, 1, 3]; past_state: f32[2, 2, 2]; out output, present_state")
      .Sample("input: f32[1, 2, 5]; weight: f32[2, 1, 2]; bias: f32[2]; attr activation = \"silu\"");
  r.op("Col2Im")
      .Doc("Sums blocks back into an image.")
      .Pure(
          "let N = len(image_shape) ; let K = block_shape\n"
          "let st = strides ?: 1 ; let dl = dilations ?: 1 ; let lo = (pads ?: 0)[0:N] ; let hi = (pads ?: 0)[N:2*N]\n"
          "let L = (image_shape + lo + hi - (K - 1) * dl - 1) // st + 1\n"
          "require dim(input, 1) % prod(K) == 0 else \"input has {} rows, no multiple of the {} elements of a block\", dim(input, 1), prod(K)\n"
          "require dim(input, 2) == prod(L) else \"input has {} blocks where {} fit into the image\", dim(input, 2), prod(L)\n"
          "output = 0\n"
          "output[n, c, b * st + k * dl - lo] ?? += input[n, c * prod(K) + fold(k, K), fold(b, L)] "
          "over b.. in 0:L, k.. in 0:K, c in 0:dim(output, 1)")
      .Backward(
          "let N = len(image_shape) ; let K = block_shape\n"
          "let st = strides ?: 1 ; let dl = dilations ?: 1 ; let lo = (pads ?: 0)[0:N] ; let hi = (pads ?: 0)[N:2*N]\n"
          "let L = (image_shape + lo + hi - (K - 1) * dl - 1) // st + 1\n"
          "dinput[n, c * prod(K) + fold(k, K), fold(b, L)] = doutput[n, c, b * st + k * dl - lo] ?? 0 "
          "over b.. in 0:L, k.. in 0:K, c in 0:dim(output, 1)")
      .Sample("input: f32[1, 5, 5]; image_shape: i64[2] = [5, 5]; block_shape: i64[2] = [1, 5]")
      .Sample("input: f32[1, 4, 4]; image_shape: i64[2] = [4, 4]; block_shape: i64[2] = [2, 2]; attr strides = [2, 2]")
      .Sample(
          "input: f32[1, 4, 9]; image_shape: i64[2] = [3, 3]; block_shape: i64[2] = [2, 2]; attr pads = [1, 1, 1, 1], dilations = [2, 2]");
}

}  // namespace onnx_ops
