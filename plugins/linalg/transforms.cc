// Discrete Fourier transforms of the last dimension, by their definition: n^2 operations, any length, real and complex.
// Angles are those of k·t modulo n, an exact integer, so that long transforms lose no accuracy to large angles.
#include "plugins/linalg/families.h"

namespace linalg_ops {

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
      .Sample("X: c64[3, 4]");
}

}  // namespace linalg_ops
