// DynamicQuantizeLSTM: both products of a step have quantised weights and quantise their other operand by its own range.
#include "plugins/onnxruntime/families.h"

namespace onnxruntime_ops {
namespace {

// A scale or zero point of a direction, or of each of its columns j.
std::string Of(const std::string& port) {
  return "(rank(" + port + ") == 1 ? " + port + "[d] : surely(dim(" + port + ", 1) == 1) ? " + port + "[d, 0] : " + port +
         "[d, j])";
}

// P[i.., k], the elements of `x` in steps of `s` less their zero point, all of one range.
std::string Quantised(const std::string& x, const std::string& index, const std::string& s) {
  const std::string all = x + index;
  return s + "hi[] = 0.0 ; " + s + "lo[] = 0.0 ; " + s + "hi[] max= " + all + " ; " + s + "lo[] min= " + all + "\n" + s + "span[] = max(" + s + "hi, 0) - min(" + s +
         "lo, 0)\n" + s + "step[] = " + s + "span == 0 ? 1 : " + s + "span / 255\n" + s + "zero[] = rint(clamp(0 - min(" + s +
         "lo, 0) / " + s + "step, 0, 255))\n" + s + "q" + index + " = " + all + " / " + s + "step\n" + s + "p" + index +
         " = i32(clamp(rint(" + s + "q" + index + ") + " + s + "zero, 0, 255)) - i32(" + s + "zero)\n";
}

}  // namespace

void RegisterQuantizedLayers(Registrar& r) {
  r.op("com.microsoft.DynamicQuantizeLSTM")
      .Doc("Long short-term memory layer with quantised weights, stored as [inputs, gates].")
      .Input("X", "float")
      .Input("W", "integer")
      .Input("R", "integer")
      .Input("B", "float", /*optional=*/true)
      .Input("sequence_lens", "i32", /*optional=*/true)
      .Input("initial_h", "float", /*optional=*/true)
      .Input("initial_c", "float", /*optional=*/true)
      .Input("P", "float", /*optional=*/true)
      .Input("W_scale", "float")
      .Input("W_zero_point", "integer")
      .Input("R_scale", "float")
      .Input("R_zero_point", "integer")
      .Output("Y", "X", /*optional=*/true)
      .Output("Y_h", "X", /*optional=*/true)
      .Output("Y_c", "X", /*optional=*/true)
      .Attribute("activation_alpha", "floats")
      .Attribute("activation_beta", "floats")
      .Attribute("activations", "strings")
      .Attribute("clip", "float")
      .Attribute("direction", "string", "\"forward\"")
      .Attribute("hidden_size", "int")
      .Attribute("input_forget", "int", "0")
      .Shape(
          "let D = direction == \"bidirectional\" ? 2 : 1 ; let H = dim(R, 1)\n"
          "shape Y[dim(X, 0), D, dim(X, 1), H] ; shape Y_h[D, dim(X, 1), H] ; shape Y_c[D, dim(X, 1), H]")
      .Pure(
          "let T = dim(X, 0) ; let N = dim(X, 1) ; let H = dim(R, 1) ; let G = 4\n"
          "let f = activations ?: [\"Sigmoid\", \"Tanh\", \"Tanh\", \"Sigmoid\", \"Tanh\", \"Tanh\"]\n"
          "let D = direction == \"bidirectional\" ? 2 : 1\n"
          "require dim(W, 0) == D else \"W has {} directions where {} are needed\", dim(W, 0), D\n"
          "require dim(W_scale, 0) == D && dim(R_scale, 0) == D else \"W_scale has {} directions and R_scale {} where {} are needed\", dim(W_scale, 0), dim(R_scale, 0), D\n"
          "require dim(W_zero_point, 0) == D && dim(R_zero_point, 0) == D else \"W_zero_point has {} directions and R_zero_point {} where {} are needed\", "
          "dim(W_zero_point, 0), dim(R_zero_point, 0), D\n"
          "require dim(R, 0) == D else \"R has {} directions where {} are needed\", dim(R, 0), D\n"
          "if has(B) { require dim(B, 0) == D && dim(B, 1) == 8 * H else \"B is [{}, {}] where [{}, {}] is needed\", dim(B, 0), dim(B, 1), D, 8 * H }\n"
          "if has(P) { require dim(P, 0) == D && dim(P, 1) == 3 * H else \"P is [{}, {}] where [{}, {}] is needed\", dim(P, 0), dim(P, 1), D, 3 * H }\n"
          "let cl(v) = has(clip) ? clamp(v, -clip, clip) : v\n"
          "c[d, b, j] = initial_c[d, b, j] ?: 0 over d in 0:D, b in 0:N, j in 0:H\n"
          "h[d, b, j] = initial_h[d, b, j] ?: 0 over d in 0:D, b in 0:N, j in 0:H\n" +
          Quantised("X", "[t, b, i]", "x") +
          "each d in 0:D {\n"
          "  ax[t, b, j] = xp[t, b, 0] - xp[t, b, 0] over t in 0:T, b in 0:N, j in 0:G*H\n"  // each direction and step begins anew
          "  ax[t, b, j] += xp[t, b, i] * (i32(W[d, i, j]) - i32(" + Of("W_zero_point") + "))\n"
          "  gx[t, b, j] = cast(ax[t, b, j], dtype(X)) * (xstep * " + Of("W_scale") + ") + (B[d, j + 0] ?: 0) + (B[d, G*H + j] ?: 0) over t in 0:T, b in 0:N, j in 0:G*H\n"
          "  for s in 0:T {\n"
          "    let back = direction == \"reverse\" || d == 1\n"
          "    let len_ = sequence_lens[b] ?: T\n"
          "    let live = s < len_\n"
          "    let at = live ? (back ? len_ - 1 - s : s) : s\n"
          "    hd[b, i] = h[d, b, i] over b in 0:N, i in 0:H\n" +
          Quantised("hd", "[b, i]", "h") +
          "    ah[b, j] = hp[b, 0] - hp[b, 0] over b in 0:N, j in 0:G*H\n"
          "    ah[b, j] += hp[b, i] * (i32(R[d, i, j]) - i32(" + Of("R_zero_point") + "))\n"
          "    gh[b, j] = cast(ah[b, j], dtype(X)) * (hstep * " + Of("R_scale") + ") over b in 0:N, j in 0:G*H\n"
          "    let u(q) = gx[at, b, q*H + j] + gh[b, q*H + j]\n"
          "    let peep(q, v) = has(P) ? u(q) + P[d, q*H + j] * v : u(q)\n"
          "    ig[b, j] = call(f, 3*d, cl(peep(0, c[d, b, j]))) over b in 0:N, j in 0:H\n"
          "    let forget = input_forget ? 1 - ig[b, j] : call(f, 3*d, cl(peep(2, c[d, b, j])))\n"
          "    cn[b, j] = forget * c[d, b, j] + ig[b, j] * call(f, 3*d+1, cl(u(3))) over b in 0:N, j in 0:H\n"
          "    hn[b, j] = call(f, 3*d, cl(peep(1, cn[b, j]))) * call(f, 3*d+2, cn[b, j]) over b in 0:N, j in 0:H\n"
          "    c[d, b, j] = live ? cn[b, j] : c[d, b, j] over b in 0:N, j in 0:H\n"
          "    h[d, b, j] = live ? hn[b, j] : h[d, b, j] over b in 0:N, j in 0:H\n"
          "    if has(Y) { Y[at, d, b, j] = live ? hn[b, j] : 0 over b in 0:N, j in 0:H }\n"
          "  }\n"
          "}\n"
          "Y_h = h ; Y_c = c")
      .Sample(
          "X: f32[3, 1, 4]; W: i8[1, 4, 8] in [-127, 127]; R: i8[1, 2, 8] in [-127, 127]; B: f32[1, 16]; W_scale: f32[1] = [0.01]; W_zero_point: i8[1] = [0]; R_scale: f32[1] = [0.02]; R_zero_point: i8[1] = [0]; attr hidden_size = 2")
      .Sample(
          "X: f32[2, 1, 3]; W: u8[2, 3, 8] in [0, 255]; R: u8[2, 2, 8] in [0, 255]; initial_h: f32[2, 1, 2]; initial_c: f32[2, 1, 2]; W_scale: f32[2] = [0.01, 0.02]; W_zero_point: u8[2] = [120, 130]; R_scale: f32[2] = [0.02, 0.01]; R_zero_point: u8[2] = [120, 130]; attr hidden_size = 2, direction = \"bidirectional\"")
      .Sample(
          "X: f32[2, 2, 2]; W: i8[1, 2, 4] in [-127, 127]; R: i8[1, 1, 4] in [-127, 127]; P: f32[1, 3]; sequence_lens: i32[2] = [2, 1]; W_scale: f32[1, 4] in [0.01, 0.02]; W_zero_point: i8[1, 4] = [0, 0, 0, 0]; R_scale: f32[1, 4] in [0.01, 0.02]; R_zero_point: i8[1, 4] = [0, 0, 0, 0]; attr hidden_size = 1, direction = \"reverse\", clip = 2.0");
}

}  // namespace onnxruntime_ops
