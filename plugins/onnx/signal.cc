// Fourier transforms, windows and mel weights. The forms are the definitions, quadratic in the length.
#include "plugins/onnx/families.h"

namespace onnx_ops {

void RegisterSignal(Registrar& r) {
  r.op("DFT")
      .Doc("Discrete Fourier transform along an axis, or its inverse; onesided on demand.")
      .Pure(
          "let ax = wrap(axis ?: -2, rank(input))\n"
          "let n = dft_length ?: (inverse && onesided ? 2 * dim(input, ax) - 2 : dim(input, ax))\n"
          "let a = f64(2 * pi * ((k * t) % n)) / n * (inverse ? 1 : -1)\n"
          "require dim(input, -1) == 1 || (dim(input, -1) == 2 && (!onesided || inverse)) else \"input has {} numbers per element; 1 is real, 2 are complex\", dim(input, -1)\n"
          // Parts of numbers, c of the data and d of the result, are terms and columns of one product; of long ones the other factor would
          // take too much memory.
          "if inverse && onesided {\n"
          "  let m = k == 0 || 2 * k == n ? 1 : 2\n"
          "  if n <= 1024 {\n"
          "    T[k, c, t] = m * (c == 0 ? cos(a) : -sin(a)) / n over k in 0:n // 2 + 1, c in 0:2, t in 0:n\n"
          "    S[o.., t] += f64(input[o.., k + 0 @ax, c]) * T[k, c, t] over k in 0:n // 2 + 1, c in 0:2, t in 0:n\n"
          "    output[o.., t@ax, 0] = cast(S[o.., t])\n"
          "  } else {\n"
          "    R[o.., t] += m * (f64(input[o.., k + 0 @ax, 0]) * cos(a) - f64(input[o.., k + 0 @ax, 1]) * sin(a)) / n over k in 0:n // 2 + 1, t in 0:n\n"
          "    output[o.., t@ax, 0] = cast(R[o.., t])\n"
          "  }\n"
          "} else if n <= 1024 {\n"
          "  T[t, c, k, d] = (c == d ? cos(a) : d == 0 ? -sin(a) : sin(a)) / (inverse ? n : 1) "
          "over t in 0:n, c in 0:dim(input, -1), k in 0:dim(output, ax), d in 0:2\n"
          "  S[o.., k, d] += f64(input[o.., t@ax, c] ?? 0) * T[t, c, k, d] over t in 0:n, c in 0:dim(input, -1), k in 0:dim(output, ax), d in 0:2\n"
          "  output[o.., k@ax, d] = cast(S[o.., k, d])\n"
          "} else {\n"
          "  let re = f64(input[o.., t@ax, 0] ?? 0) ; let im = dim(input, -1) == 1 ? 0 : f64(input[o.., t@ax, 1] ?? 0)\n"
          "  let s = inverse ? n : 1\n"
          "  R[o.., k] += (re * cos(a) - im * sin(a)) / s over t in 0:n, k in 0:dim(output, ax)\n"
          "  I[o.., k] += (re * sin(a) + im * cos(a)) / s over t in 0:n, k in 0:dim(output, ax)\n"
          "  output[o.., k@ax, 0] = cast(R[o.., k]) ; output[o.., k@ax, 1] = cast(I[o.., k])\n"
          "}")
      .Sample("input: f32[1, 8, 1]")
      .Sample("input: f32[1, 8, 2]; attr inverse = 1")
      .Sample("input: f32[2, 5, 1]; attr onesided = 1")
      .Sample("input: f32[2, 3, 4, 2]; dft_length: i64[] = 6; axis: i64[] = 1");
  r.op("STFT")
      .Doc("Fourier transforms of overlapping frames.")
      .Pure(
          "let n = has(window) ? dim(window, 0) : frame_length\n"
          "if rank(signal) == 3 { require dim(signal, 2) == 1 || dim(signal, 2) == 2 else \"signal has {} numbers per element; 1 is real, 2 are complex\", dim(signal, 2) }\n"
          "let w = window[t] ?: 1\n"
          "let a = -2 * pi * f64((k * t) % n) / n\n"
          "let at = f * frame_step + t ; let real = rank(signal) == 2\n"
          "let re = (real ? signal[b, at] : signal[b, at, 0]) * w\n"
          "let im = real ? 0 : dim(signal, 2) == 1 ? 0 : signal[b, at, 1] * w\n"
          "output[b, f, k, 0] += re * cos(a) - im * sin(a) over t in 0:n\n"
          "output[b, f, k, 1] += re * sin(a) + im * cos(a) over t in 0:n")
      .Sample("signal: f32[1, 16, 1]; frame_step: i64[] = 4; frame_length: i64[] = 8")
      .Sample("signal: f32[2, 12, 1]; frame_step: i64[] = 3; window: f32[6] in [0, 1]; attr onesided = 1")
      .Sample("signal: f32[2, 10]; frame_step: i64[] = 2; frame_length: i64[] = 4")
      .Sample("signal: f32[1, 10, 2]; frame_step: i64[] = 2; frame_length: i64[] = 4; attr onesided = 0");
  r.op("BlackmanWindow")
      .Doc("Blackman window of a given size.")
      .Pure(
          "let n = periodic ? size : size - 1\noutput[i] = 0.42 - 0.5 * cos(2 * pi * f64(i) / n) + 0.08 * cos(4 * pi * f64(i) / n)")
      .Sample("size: i64[] = 10")
      .Sample("size: i64[] = 10; attr periodic = 0");
  r.op("HammingWindow")
      .Doc("Hamming window of a given size.")
      .Pure("let n = periodic ? size : size - 1\noutput[i] = 25.0 / 46 - 21.0 / 46 * cos(2 * pi * f64(i) / n)")
      .Sample("size: i64[] = 10")
      .Sample("size: i64[] = 10; attr periodic = 0");
  r.op("HannWindow")
      .Doc("Hann window of a given size.")
      .Pure("let n = periodic ? size : size - 1\noutput[i] = 0.5 - 0.5 * cos(2 * pi * f64(i) / n)")
      .Sample("size: i64[] = 10; attr periodic = 0")
      .Sample("size: i64[] = 7; attr output_datatype = 11");
  r.op("MelWeightMatrix")
      .Doc("Triangular mel filters over the bins of a spectrum.")
      .Pure(
          "let mel(h) = 2595 * log(1 + h / 700) / log(10) ; let hz(m) = 700 * (exp(m / 2595 * log(10)) - 1)\n"
          "let lo = mel(f64(lower_edge_hertz)) ; let st = (mel(f64(upper_edge_hertz)) - lo) / (num_mel_bins + 2)\n"
          "let f(q) = floor((f64(dft_length) + 1) * hz(lo + q * st) / sample_rate)\n"
          "let a = f(f64(m)) ; let b = f(f64(m) + 1) ; let c = f(f64(m) + 2)\n"
          "output[k, m] = b == a && k == b ? 1 : k >= b && k < c ? (c - k) / (c - b) : k >= a && k <= b ? (k - a) / (b - a) : 0")
      .Sample(
          "num_mel_bins: i64[] = 4; dft_length: i64[] = 16; sample_rate: i64[] = 8192; lower_edge_hertz: f32[] = 0; upper_edge_hertz: f32[] = 4096")
      .Sample(
          "num_mel_bins: i64[] = 8; dft_length: i64[] = 200; sample_rate: i64[] = 16000; lower_edge_hertz: f32[] = 300; upper_edge_hertz: f32[] = 8000");
}

}  // namespace onnx_ops
