// One step of an optimizer for one parameter, as PyTorch defines it: W becomes W_new. The learning rate and the number of the
// step (from 1) are scalars of the run; what depends on them alone is computed in f64. `scale`, the factor of ClipNorm,
// multiplies the gradient first. Where `go` is false nothing changes.
#include <string>

#include "plugins/training/families.h"

namespace training_ops {
namespace {

// The gradient in the parameter's type, scaled; with the decay of an L2 penalty.
const char* const kGradient =
    "let T = dtype(W)\n"
    "let raw = has(scale) ? G[..] * cast(scale, T) : G[..]\n"
    "let g = weight_decay == 0 ? raw : raw + weight_decay * W[..]\n";

// `text` where the step is taken, else the old value.
std::string Kept(const std::string& text, const std::string& old) { return "(go ?: true) ? " + text + " : " + old; }

std::string Adam(const std::string& gradient, const std::string& parameter) {
  return "let T = dtype(W)\n"
         "let raw = has(scale) ? G[..] * cast(scale, T) : G[..]\n" +
         gradient +
         "size[] = rate / (1 - pow(beta1, f64(step)))\n"
         "root[] = sqrt(1 - pow(beta2, f64(step)))\n"
         "m_new = " + Kept("m + (1 - beta1) * (g - m)", "m") + "\n"
         "v_new = " + Kept("beta2 * v + (1 - beta2) * g * g", "v") + "\n"
         "W_new = " + Kept(parameter + " - cast(size, T) * m_new / (sqrt(v_new) / cast(root, T) + epsilon)", "W");
}

}  // namespace

void RegisterOptimizers(Registrar& r) {
  r.op("train.ClipNorm")
      .Doc("The factor that brings the norm of all gradients together down to max_norm; 1 where it is smaller.")
      .Input("gradients", "float", /*optional=*/false, /*variadic=*/true)
      .Output("scale", "f64")
      .Attribute("max_norm", "float", "1")
      .Shape("shape scale[]")
      .Pure(
          "each g in gradients { S[] += f64(g[k..]) * f64(g[k..]) }\n"
          "scale[] = min(max_norm / (sqrt(S) + 1e-6), 1)")
      .Sample("gradients: f32[2, 3]; gradients: f32[4]; gradients: f32[] in [1, 2]; attr max_norm = 0.5")
      .Sample("gradients: f32[3] in [0.1, 0.2]; gradients: f32[2, 1] in [0.1, 0.2]; attr max_norm = 100.0")
      .Sample("gradients: f64[2, 2] in [1, 2]");
  r.op("train.SGD")
      .Doc("Gradient descent: W - rate * gradient. Weight decay adds to the gradient.")
      .Input("W", "float")
      .Input("G", "float")
      .Input("rate", "f64")
      .Input("scale", "f64", /*optional=*/true)
      .Input("go", "bool", /*optional=*/true)
      .Output("W_new", "float")
      .Attribute("weight_decay", "float", "0")
      .Shape("shape W_new[dims(W)]")
      .Pure(kGradient + ("W_new = " + Kept("W - cast(rate, T) * g", "W")))
      .Sample("W: f32[2, 3]; G: f32[2, 3]; rate: f64[] in [0.05, 0.2]")
      .Sample("W: f32[4]; G: f32[4]; rate: f64[] in [0.05, 0.2]; scale: f64[] in [0.1, 1]; attr weight_decay = 0.1")
      .Sample("W: f64[]; G: f64[]; rate: f64[] in [0.05, 0.2]")
      .Sample("W: f32[3]; G: f32[3]; rate: f64[] in [0.05, 0.2]; go: bool[] = false");
  r.op("train.Momentum")
      .Doc(
          "Gradient descent with momentum: m becomes momentum * m + gradient, W loses rate * m. Weight decay adds to the gradient.")
      .Input("W", "float")
      .Input("G", "float")
      .Input("m", "float")
      .Input("rate", "f64")
      .Input("scale", "f64", /*optional=*/true)
      .Input("go", "bool", /*optional=*/true)
      .Output("W_new", "float")
      .Output("m_new", "float")
      .Attribute("momentum", "float", "0.9")
      .Attribute("weight_decay", "float", "0")
      .Shape("shape W_new[dims(W)] ; shape m_new[dims(W)]")
      .Pure(kGradient + ("m_new = " + Kept("momentum * m + g", "m") + "\nW_new = " + Kept("W - cast(rate, T) * m_new", "W")))
      .Sample("W: f32[2, 3]; G: f32[2, 3]; m: f32[2, 3]; rate: f64[] in [0.05, 0.2]")
      .Sample(
          "W: f32[4]; G: f32[4]; m: f32[4]; rate: f64[] in [0.05, 0.2]; scale: f64[] in [0.1, 1]; "
          "attr momentum = 0.5, weight_decay = 0.1")
      .Sample("W: f64[]; G: f64[]; m: f64[]; rate: f64[] in [0.05, 0.2]")
      .Sample("W: f32[3]; G: f32[3]; m: f32[3]; rate: f64[] in [0.05, 0.2]; go: bool[] = true");
  const char* const samples[] = {
      "W: f32[2, 3]; G: f32[2, 3]; m: f32[2, 3]; v: f32[2, 3] in [0.1, 1]; rate: f64[] in [0.05, 0.2]; step: i64[] = 1",
      "W: f32[4]; G: f32[4]; m: f32[4]; v: f32[4] in [0.1, 1]; rate: f64[] in [0.05, 0.2]; step: i64[] in [3, 3]; "
      "scale: f64[] in [0.1, 1]; attr beta1 = 0.8, beta2 = 0.9, epsilon = 0.01, weight_decay = 0.1",
      "W: f64[]; G: f64[]; m: f64[]; v: f64[] in [0.1, 1]; rate: f64[] in [0.05, 0.2]; step: i64[] in [1000, 1000]",
      "W: f32[3]; G: f32[3]; m: f32[3]; v: f32[3] in [0.1, 1]; rate: f64[] in [0.05, 0.2]; step: i64[] = 2; go: bool[] = false"};
  auto adam = [&](const char* name, const char* doc, const char* decay, const std::string& form) {
    auto op = r.op(name);
    op.Doc(doc)
        .Input("W", "float")
        .Input("G", "float")
        .Input("m", "float")
        .Input("v", "float")
        .Input("rate", "f64")
        .Input("step", "i64")
        .Input("scale", "f64", /*optional=*/true)
        .Input("go", "bool", /*optional=*/true)
        .Output("W_new", "float")
        .Output("m_new", "float")
        .Output("v_new", "float")
        .Attribute("beta1", "float", "0.9")
        .Attribute("beta2", "float", "0.999")
        .Attribute("epsilon", "float", "1e-8")
        .Attribute("weight_decay", "float", decay)
        .Shape("shape W_new[dims(W)] ; shape m_new[dims(W)] ; shape v_new[dims(W)]")
        .Pure(form);
    for (const char* s : samples) op.Sample(s);
  };
  adam(
      "train.Adam",
      "Adam with bias correction; m and v are the means of gradient and squared gradient. Weight decay adds to the gradient.",
      "0", Adam("let g = weight_decay == 0 ? raw : raw + weight_decay * W[..]\n", "W"));
  adam("train.AdamW", "Adam with decoupled weight decay: W loses rate * weight_decay * W besides.", "0.01",
       Adam("let g = raw\n", "W * cast(1 - rate * weight_decay, T)"));
}

}  // namespace training_ops
