// Discrete Fourier transforms of the last dimension, by their definition: n^2 operations, any length, real and complex. (In n log n:
// fourier.h.) Angles are those of k·t modulo n, an exact integer, so that long transforms lose no accuracy to large angles.
#include "plugins/linalg/families.h"

namespace linalg_ops {
namespace {

using headrace_plugin::Node;

// The matrix of a transform is symmetric: its adjoint, without conjugation as in JAX, is the same transform.
std::string FftBackward(const Node& node, const std::vector<std::string>&, const std::vector<std::string>&) {
  const hr_port* x = node.input("X");
  const std::string array = std::string(x->dtype == HR_C64 ? ": c64[" : ": c128[") + Node::Shape(x) + "]";
  return "sdfg fft_backward(dY" + array + ", dX" + array + ") {\n  linalg.Fft{inverse = " + node.attribute("inverse", "0") +
         "}(X = dY) -> (Y = dX)\n}\n";
}

}  // namespace

void RegisterTransforms(Registrar& r) {
  r.op("linalg.Fft")
      .Doc("numpy.fft.fft of the last dimension; with inverse = 1 numpy.fft.ifft.")
      .Input("X", "complex")
      .Output("Y", "complex")
      .Attribute("inverse", "int", "0")
      .Shape("shape Y[dims(X)]")
      .Pure(
          "let n = dim(X, -1)\n"
          "let sign = inverse ? 1 : -1\n"
          "W[m] = cast(exp(complex(f64(0), f64(sign * 2 * pi * m / n))), dtype(X)) over m in 0:n\n"
          "Y[o.., k] += X[o.., t] * W[k * t % n] over k in 0:n, t in 0:n\n"
          "if inverse { Y[o.., k] = Y[o.., k] / n }")
      .Sample("X: c128[2, 6]")
      .Sample("X: c128[5]; attr inverse = 1")
      .Sample("X: c128[2, 31]")
      .Sample("X: c64[3, 4]");
  r.backward("linalg.Fft", "the_same_transform", [](const Node&) { return std::string(); }, FftBackward);
}

}  // namespace linalg_ops
