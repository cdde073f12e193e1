// Tensors from nothing: constants, ranges, shapes, random numbers (a counter-based generator: a pure function of seed and place).
#include "plugins/onnx/families.h"

namespace onnx_ops {

void RegisterGenerators(Registrar& r) {
  r.op("Constant")
      .Doc("A constant tensor.")
      .Pure("OUT = value ?: value_float ?: value_int")
      .Sample("attr value_float = 0.5");
  r.op("ConstantOfShape")
      .Doc("A tensor of a given shape filled with one value.")
      .Pure("output = value ?: 0")
      .Sample("input: i64[2] = [2, 3]");
  r.op("Range")
      .Doc("start, start + delta, … below limit.")
      .Pure("output[i] = start + cast(i) * delta")
      .Sample("start: f32[] = 1; limit: f32[] = 5; delta: f32[] = 2");
  r.op("Shape")
      .Doc("The sizes of the dimensions, or of a part of them.")
      .Pure(
          "let n = rank(data) ; let b = start ?: 0\n"
          "let s = clamp(b < 0 ? b + n : b, 0, n)\n"
          "OUT[i] = concat(dims(data), [0])[s + i]")
      .Sample("data: f32[2, 3, 4]; attr start = 1");
  r.op("Size").Doc("The number of elements.").Pure("size[] = prod(dims(data))").Sample("data: f32[2, 3]");
  r.op("RandomUniform")
      .Doc("Uniform random numbers in [low, high).")
      .Pure("output.flat[i] = low + (high - low) * uniform(i64(seed ?: 0), i)")
      .Sample("attr shape = [2, 3], seed = 7.0");
  r.op("RandomUniformLike")
      .Doc("Uniform random numbers in [low, high), shaped like the input.")
      .Pure("output.flat[i] = low + (high - low) * uniform(i64(seed ?: 0), i)")
      .Sample("input: f32[2, 3]; attr seed = 7.0");
  r.op("RandomNormal")
      .Doc("Normally distributed random numbers.")
      .Pure("output.flat[i] = mean + scale * normal(i64(seed ?: 0), i)")
      .Sample("attr shape = [2, 3], seed = 7.0");
  r.op("RandomNormalLike")
      .Doc("Normally distributed random numbers, shaped like the input.")
      .Pure("output.flat[i] = mean + scale * normal(i64(seed ?: 0), i)")
      .Sample("input: f32[2, 3]; attr seed = 7.0");
  r.op("Bernoulli")
      .Doc("One with the given probability, else zero.")
      .Pure("output.flat[i] = uniform(i64(seed ?: 0), i) < f32(input.flat[i]) ? 1 : 0")
      .Sample("input: f32[2, 3] in [0, 1]; attr seed = 7.0");
  r.op("Multinomial")
      .Doc("Class numbers drawn with probabilities given by their logarithms, up to a constant.")
      .Pure(
          "M[b] max= input[b, k]\n"
          "E[b, k] = exp(f32(input[b, k]) - f32(M[b]))\n"
          "C[b, k] += j <= k ? E[b, j] : 0 over b in 0:dim(input, 0), k in 0:dim(input, 1), j in 0:dim(input, 1)\n"
          "let n = dim(input, 1) ; let u = uniform(i64(seed ?: 0), b * dim(output, 1) + s) * C[b, n - 1]\n"
          "output[b, s] += k < n - 1 && C[b, k] <= u ? 1 : 0 over b in 0:dim(input, 0), s in 0:dim(output, 1), k in 0:n")
      .Sample("input: f32[2, 3]; attr sample_size = 4, seed = 7.0");
}

}  // namespace onnx_ops
