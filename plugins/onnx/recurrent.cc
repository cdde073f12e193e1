// Recurrent layers: one `for` over time. What the gates get from the input, gx, is one product for all times; what they get
// from the state, gh, one for all gates.
#include "plugins/onnx/families.h"

namespace onnx_ops {
namespace {

// Sizes, activations and clipping; `gates` gates, default activations per direction.
std::string Head(int gates, const std::string& activations, const std::string& states) {
  return "let lay = layout ?: 0\n"
         "let T = !lay ? dim(X, 0) : dim(X, 1) ; let N = !lay ? dim(X, 1) : dim(X, 0) ; let H = dim(R, 2)\n"
         "let D = direction == \"bidirectional\" ? 2 : 1\n"
         "let G = " +
         std::to_string(gates) +
         "\n"
         "let f = activations ?: " +
         activations +
         "\n"
         "let cl(v) = has(clip) ? clamp(v, -clip, clip) : v\n"
         "require dim(W, 0) == D else \"W has {} directions where {} are needed\", dim(W, 0), D\n"
         "require dim(R, 0) == D else \"R has {} directions where {} are needed\", dim(R, 0), D\n"
         "if has(B) {\n"
         "  require dim(B, 0) == D else \"B has {} directions where {} are needed\", dim(B, 0), D\n"
         "  require dim(B, 1) == 2 * G * H else \"B has {} elements where {} are needed\", dim(B, 1), 2 * G * H\n"
         "}\n" +
         states;
}

std::string Initial(const std::string& state) {
  return state + "[d, b, j] = !lay ? initial_" + state + "[d, b, j] ?: 0 : initial_" + state +
         "[b, d, j] ?: 0 over d in 0:D, b in 0:N, j in 0:H\n";
}

const char kStep[] =
    "each d in 0:D {\n"
    "gx[q, b, j] = (B[d, j + 0] ?: 0) over q in 0:T, b in 0:N, j in 0:G*H\n"
    "gx[q, b, j] += W[d, j, i] * (!lay ? X[q, b, i] : X[b, q, i]) over q in 0:T, b in 0:N\n"
    "for s in 0:T {\n"
    "  let back = direction == \"reverse\" || d == 1\n"
    "  let len_ = sequence_lens[b] ?: T\n"
    "  let t = back ? len_ - 1 - s : s\n"
    "  let live = s < len_\n"
    "  let at = live ? t : s\n"
    "  gh[b, j] = (B[d, G*H + j] ?: 0) over b in 0:N, j in 0:G*H\n"
    "  gh[b, j] += R[d, j, i] * h[d, b, i] over i in 0:H\n";

const char kOutput[] =
    "  if has(Y) { if !lay { Y[at, d, b, j] = live ? new : 0 over b in 0:N, j in 0:H } else { Y[b, at, d, j] = live ? new : 0 over b in 0:N, j in 0:H } }\n"
    "} }\n";

std::string Final(const std::string& state) {
  return "if has(Y_" + state + ") { if !lay { Y_" + state + "[d, b, j] = " + state + "[d, b, j] } else { Y_" + state +
         "[b, d, j] = " + state + "[d, b, j] } }\n";
}

}  // namespace

void RegisterRecurrent(Registrar& r) {
  r.op("RNN")
      .Doc("Simple recurrent layer, forward, reverse or both.")
      .Pure(Head(1, "[\"Tanh\", \"Tanh\"]", Initial("h")) + kStep +
            "  hn[b, j] = call(f, d, cl(gx[at, b, j] + gh[b, j])) over b in 0:N, j in 0:H\n"
            "  let new = hn[b, j]\n"
            "  h[d, b, j] = live ? new : h[d, b, j] over b in 0:N, j in 0:H\n" +
            kOutput + Final("h"))
      .Sample("X: f32[3, 2, 4]; W: f32[1, 5, 4]; R: f32[1, 5, 5]; attr hidden_size = 5")
      .Sample(
          "X: f32[3, 2, 4]; W: f32[2, 5, 4]; R: f32[2, 5, 5]; B: f32[2, 10]; initial_h: f32[2, 2, 5]; attr hidden_size = 5, direction = \"bidirectional\", activations = [\"Relu\", \"Tanh\"]")
      .Sample(
          "X: f32[3, 2, 4]; W: f32[1, 5, 4]; R: f32[1, 5, 5]; sequence_lens: i32[2] = [2, 3]; attr hidden_size = 5, direction = \"reverse\", clip = 1.5")
      .Sample(
          "X: f32[3, 2, 4]; W: f32[2, 5, 4]; R: f32[2, 5, 5]; attr hidden_size = 5, direction = \"bidirectional\", activations = [\"LeakyRelu\", \"ScaledTanh\"], activation_alpha = [0.3, 1.7], activation_beta = [0.6]")
      .Sample(
          "X: f32[2, 3, 4]; W: f32[1, 5, 4]; R: f32[1, 5, 5]; attr hidden_size = 5, layout = 1, activations = [\"Affine\"], activation_alpha = [0.5], activation_beta = [0.1]");
  r.op("GRU")
      .Doc("Gated recurrent unit layer, forward, reverse or both.")
      .Pure(
          Head(3, "[\"Sigmoid\", \"Tanh\", \"Sigmoid\", \"Tanh\"]", Initial("h")) + kStep +
          "  z[b, j] = call(f, 2*d, cl(gx[at, b, j] + gh[b, j])) over b in 0:N, j in 0:H\n"
          "  r[b, j] = call(f, 2*d, cl(gx[at, b, H + j] + gh[b, H + j])) over b in 0:N, j in 0:H\n"
          "  if linear_before_reset ?: 0 { c[b, j] = r[b, j] * gh[b, 2*H + j] }\n"
          "  else { c[b, j] = B[d, 5*H + j] ?: 0 over b in 0:N, j in 0:H\n"
          "         c[b, j] += R[d, 2*H + j, i] * r[b, i] * h[d, b, i] }\n"
          "  hn[b, j] = (1 - z[b, j]) * call(f, 2*d+1, cl(gx[at, b, 2*H + j] + c[b, j])) + z[b, j] * h[d, b, j] over b in 0:N, j in 0:H\n"
          "  let new = hn[b, j]\n"
          "  h[d, b, j] = live ? new : h[d, b, j] over b in 0:N, j in 0:H\n" +
          kOutput + Final("h"))
      .Sample("X: f32[3, 2, 4]; W: f32[1, 15, 4]; R: f32[1, 15, 5]; attr hidden_size = 5")
      .Sample(
          "X: f32[3, 2, 4]; W: f32[2, 15, 4]; R: f32[2, 15, 5]; B: f32[2, 30]; initial_h: f32[2, 2, 5]; attr hidden_size = 5, direction = \"bidirectional\", linear_before_reset = 1")
      .Sample(
          "X: f32[3, 2, 4]; W: f32[1, 15, 4]; R: f32[1, 15, 5]; sequence_lens: i32[2] = [3, 1]; attr hidden_size = 5, direction = \"reverse\", clip = 1.5")
      .Sample(
          "X: f32[3, 2, 4]; W: f32[1, 15, 4]; R: f32[1, 15, 5]; attr hidden_size = 5, activations = [\"HardSigmoid\", \"Softsign\"], activation_alpha = [0.3], activation_beta = [0.4]");
  r.op("LSTM")
      .Doc("Long short-term memory layer, forward, reverse or both, with peepholes.")
      .Pure(Head(4, "[\"Sigmoid\", \"Tanh\", \"Tanh\", \"Sigmoid\", \"Tanh\", \"Tanh\"]", Initial("c") + Initial("h")) +
            kStep +
            "  let u(q) = gx[at, b, q*H + j] + gh[b, q*H + j]\n"
            "  if has(P) { require dim(P, 0) == D && dim(P, 1) == 3 * H else \"P is [{}, {}] where [{}, {}] is needed\", dim(P, 0), dim(P, 1), D, 3 * H }\n"
            "  let peep(q, v) = has(P) ? u(q) + P[d, q*H + j] * v : u(q)\n"
            "  ig[b, j] = call(f, 3*d, cl(peep(0, c[d, b, j]))) over b in 0:N, j in 0:H\n"
            "  let forget = (input_forget ?: 0) ? 1 - ig[b, j] : call(f, 3*d, cl(peep(2, c[d, b, j])))\n"
            "  cn[b, j] = forget * c[d, b, j] + ig[b, j] * call(f, 3*d+1, cl(u(3))) over b in 0:N, j in 0:H\n"
            "  hn[b, j] = call(f, 3*d, cl(peep(1, cn[b, j]))) * call(f, 3*d+2, cn[b, j]) over b in 0:N, j in 0:H\n"
            "  let new = hn[b, j]\n"
            "  c[d, b, j] = live ? cn[b, j] : c[d, b, j] over b in 0:N, j in 0:H\n"
            "  h[d, b, j] = live ? new : h[d, b, j] over b in 0:N, j in 0:H\n" +
            kOutput + Final("h") + Final("c"))
      .Sample("X: f32[3, 2, 4]; W: f32[1, 20, 4]; R: f32[1, 20, 5]; attr hidden_size = 5")
      .Sample(
          "X: f32[3, 2, 4]; W: f32[2, 20, 4]; R: f32[2, 20, 5]; attr hidden_size = 5, direction = \"bidirectional\"")
      .Sample(
          "X: f32[3, 2, 4]; W: f32[1, 20, 4]; R: f32[1, 20, 5]; B: f32[1, 40]; sequence_lens: i32[2] = [3, 1]; initial_h: f32[1, 2, 5]; initial_c: f32[1, 2, 5]; P: f32[1, 15]; attr hidden_size = 5, clip = 2.0")
      .Sample("X: f32[2, 3, 4]; W: f32[1, 20, 4]; R: f32[1, 20, 5]; attr hidden_size = 5, layout = 1, input_forget = 1")
      .Sample(
          "X: f32[3, 2, 4]; W: f32[1, 20, 4]; R: f32[1, 20, 5]; attr hidden_size = 5, activations = [\"HardSigmoid\", \"Elu\", \"ThresholdedRelu\"], activation_alpha = [0.3, 0.7, 0.2], activation_beta = [0.4]");
}

}  // namespace onnx_ops
