// The Gelu family.
#include "plugins/onnxruntime/families.h"

namespace onnxruntime_ops {

namespace {

// A bias has one element for each of the last dimension.
std::string LastSizes(const std::string& x, const std::string& bias) {
  return "require dim(" + bias + ", 0) == dim(" + x + ", -1) else \"" + bias + " has {} elements where {} are needed\", dim(" + bias +
         ", 0), dim(" + x + ", -1)\n";
}

}  // namespace

void RegisterActivations(Registrar& r) {
  const std::string exact = "let gelu(v) = 0.5 * v * (1 + erf(v * 0.7071067811865476))\n";
  const std::string fast = "let gelu(v) = 0.5 * v * (1 + tanh(v * (0.7978845608028654 + 0.035677408136300125 * v * v)))\n";
  r.op("com.microsoft.Gelu")
      .Doc("x times the normal distribution function of x.")
      .Input("X", "float")
      .Output("Y", "float")
      .Shape("shape Y[dims(X)]")
      .Pure(exact + "Y = gelu(X)")
      .Sample("X: f32[2, 3]; at 0, -0")
      .Sample("X: f32[4] in [-6, 6]")
      .Sample("X: f32[]");
  r.op("com.microsoft.BiasGelu")
      .Doc("Gelu of A + B, B added along the last dimension.")
      .Input("A", "float")
      .Input("B", "float")
      .Output("C", "float")
      .Shape("shape C[dims(A)]")
      .Pure(exact + LastSizes("A", "B") + "T = A[..] + B[..]\nC = gelu(T)")
      .Sample("A: f32[2, 3, 4]; B: f32[4]")
      .Sample("A: f32[3]; B: f32[3]")
      .Sample("A: f32[1, 2]; B: f32[2] in [-6, 6]");
  r.op("com.microsoft.FastGelu")
      .Doc("Gelu by its approximation with tanh, of X or of X + bias.")
      .Input("X", "float")
      .Input("bias", "float", /*optional=*/true)
      .Output("Y", "float")
      .Shape("shape Y[dims(X)]")
      .Pure(fast + "if has(bias) {\n" + LastSizes("X", "bias") + "  T = X[..] + bias[..] ; Y = gelu(T) } else { Y = gelu(X) }")
      .Sample("X: f32[2, 3, 4]; bias: f32[4]")
      .Sample("X: f32[5]")
      .Sample("X: f32[2, 2] in [-6, 6]; bias: f32[2]");
  r.op("com.microsoft.QuickGelu")
      .Doc("x times the sigmoid of alpha x.")
      .Input("X", "float")
      .Output("Y", "float")
      .Attribute("alpha", "float", "1.702")
      .Shape("shape Y[dims(X)]")
      .Pure("Y = X / (1 + exp(-alpha * X))")
      .Sample("X: f32[2, 3]")
      .Sample("X: f32[4]; attr alpha = 1.0")
      .Sample("X: f32[2] in [-9, 9]");
  r.op("com.microsoft.GemmFastGelu")
      .Doc("FastGelu of a matrix product.")
      .Input("X", "float")
      .Input("W", "float")
      .Input("bias", "float", /*optional=*/true)
      .Output("Y", "float")
      .Shape("shape Y[dims(X)[0:rank(X) - 1], dim(W, 1)]")
      .Pure(fast +
            "T[.., m, n] += X[.., m, k] * W[k, n]\n"
            "if has(bias) { T = T[..] + bias[..] }\n"
            "Y = gelu(T)")
      .Sample("X: f32[2, 3, 4]; W: f32[4, 5]; bias: f32[5]")
      .Sample("X: f32[2, 3]; W: f32[3, 2]")
      .Sample("X: f32[1, 2]; W: f32[2, 1]; bias: f32[1]");
}

}  // namespace onnxruntime_ops
