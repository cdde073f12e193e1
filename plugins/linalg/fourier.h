// Discrete Fourier transforms in n log n operations, of any length.
#pragma once
#include <cstdint>

namespace linalg_ops {

// `rows` transforms of `n` complex numbers each, one after the other in memory: numpy.fft.fft, or ifft where `inverse`. Numbers are
// two floats where `single`, else two doubles; the work is done in double.
void FourierTransforms(bool single, int64_t rows, int64_t n, bool inverse, const void* x, void* y);

}  // namespace linalg_ops
