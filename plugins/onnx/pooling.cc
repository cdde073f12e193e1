// Pools: windows as in convolution.cc, reduced by maximum, mean or norm.
#include "plugins/onnx/families.h"

namespace onnx_ops {

// Neither a mean nor a maximum of nothing.
const char kNotEmpty[] = "require dims(X)[2:rank(X)] > 0 else \"X has an empty spatial dimension\"\n";

void RegisterPooling(Registrar& r) {
  const std::string window = Window("X", "Y", "X");
  r.op("MaxPool")
      .Doc("Maximum over a sliding window, and on demand where it was.")
      .Pure(
          window +
          "let at = p * st + k * dl - lo\n"
          "Y[n, c, p..] max= X[n, c, at] ?? lowest() over k.. in 0:K\n"
          "if has(Indices) {\n"
          "  let x = X[n, c, at] ?? lowest()  # NaN is the largest: the first in a window has its place\n"
          "  Indices[n, c, p..] min= (x == Y[n, c, p..] || isnan(x)) && all(at >= 0 && at < xd) ? fold(at, xd) : 1e18 over k.. in 0:K\n"
          "  let first = Indices[n, c, p..] ; let q = unfold(first, xd)  # a window of padding alone has no place\n"
          "  let place = (storage_order ?: 0) == 0 ? first : fold(reverse(q), reverse(xd))\n"
          "  Indices[n, c, p..] = first == 1e18 ? -1 : (n * dim(X, 1) + c) * prod(xd) + place\n"
          "}")
      .Backward(
          window +  // the first maximum of a window takes its gradient
          "let at = p * st + k * dl - lo ; let back = q + lo - k * dl ; let x = X[n, c, at] ?? lowest()\n"
          "if has(Indices) {\n"
          "  let flat = (n * dim(X, 1) + c) * prod(xd) + ((storage_order ?: 0) == 0 ? fold(q, xd) : fold(reverse(q), reverse(xd)))\n"
          "  dX[n, c, q..] += all(back % st == 0) && (Indices[n, c, back // st] ?? -1) == flat ? dY[n, c, back // st] ?? 0 : 0 "
          "over n in 0:dim(X, 0), c in 0:dim(X, 1), q.. in 0:xd, k.. in 0:K\n"
          "} else {\n"
          "  A[n, c, p..] min= (x == Y[n, c, p..] || isnan(x)) && all(at >= 0 && at < xd) ? i32(fold(k, K)) : i32(prod(K)) over k.. in 0:K\n"
          "  if all(K <= st) && all(dl == 1) {\n"  // windows that don't meet
          "    let w = (q + lo) // st ; let inside = (q + lo) % st\n"
          "    dX[n, c, q..] = all(inside < K) && (A[n, c, w] ?? -1) == i32(fold(inside, K)) ? dY[n, c, w] ?? 0 : 0 "
          "over n in 0:dim(X, 0), c in 0:dim(X, 1), q.. in 0:xd\n"
          "  } else if all(dl == 1) {  # elements that lie f after a window's start meet every st-th of its places only\n"
          "    let s = 0 * xd + st ; let start = lo // s\n"
          "    P[n, c, f.., r..] += all(f + j * s < K) && (A[n, c, r + start - j] ?? -1) == i32(fold(f + j * s, K)) ? dY[n, c, r + start - j] ?? 0 : 0 "
          "over n in 0:dim(X, 0), c in 0:dim(X, 1), f.. in 0:min(s, K), r.. in 0 : (xd + lo - 1) // s - start + 1, j.. in 0 : (K + s - 1) // s\n"
          "    dX[n, c, q..] = P[n, c, (q + lo) % s, (q + lo) // s - start] ?? 0 over n in 0:dim(X, 0), c in 0:dim(X, 1), q.. in 0:xd\n"
          "  } else {\n"
          "    dX[n, c, q..] += all(back % st == 0) && (A[n, c, back // st] ?? -1) == i32(fold(k, K)) ? dY[n, c, back // st] ?? 0 : 0 "
          "over n in 0:dim(X, 0), c in 0:dim(X, 1), q.. in 0:xd, k.. in 0:K\n"
          "  }\n"
          "}")
      .Sample("X: f32[1, 2, 5, 5]; attr kernel_shape = [3, 3], strides = [2, 2]")
      .Sample("X: f32[1, 2, 7, 5]; attr kernel_shape = [2, 2], strides = [2, 3], pads = [1, 0, 0, 1]")
      .Sample("X: f32[1, 1, 6]; attr kernel_shape = [2], pads = [1, 1]")
      .Sample("X: f32[1, 2, 5, 4]; attr kernel_shape = [2, 3], auto_pad = \"SAME_LOWER\"")
      .Sample("X: f32[1, 1, 6, 6]; attr kernel_shape = [2, 2], dilations = [2, 2], ceil_mode = 1, strides = [3, 3]")
      .Sample("X: f32[1, 2, 4, 4]; attr kernel_shape = [2, 2], storage_order = 1; out Y, Indices");
  r.op("AveragePool")
      .Doc("Mean over a sliding window; padding counts only on demand.")
      .Pure(
          window +
          "let hi = auto_pad == \"NOTSET\" ? (pads ?: 0)[N:2*N] : auto_pad == \"VALID\" ? 0 : total - lo\n"
          "let at = p * st + k * dl - lo\n"
          "S[n, c, p..] += X[n, c, at] ?? 0 over k.. in 0:K, p.. in 0:yd\n"
          "let last = (yd - 1) * st + (K - 1) * dl - lo\n"
          "if surely(all(lo == 0 && last < xd)) { Y[n, c, p..] = S[n, c, p..] / prod(K) } else {\n"
          "  C[p..] += all((count_include_pad ?: 0) ? at < xd + hi : at >= 0 && at < xd) ? 1.0 : 0.0 over k.. in 0:K, p.. in 0:yd\n"
          "  Y[n, c, p..] = S[n, c, p..] / C[p..]\n"
          "}")
      .Backward(
          window +
          "let hi = auto_pad == \"NOTSET\" ? (pads ?: 0)[N:2*N] : auto_pad == \"VALID\" ? 0 : total - lo\n"
          "let at = p * st + k * dl - lo ; let back = q + lo - k * dl\n"
          "C[p..] += all((count_include_pad ?: 0) ? at < xd + hi : at >= 0 && at < xd) ? 1.0 : 0.0 over k.. in 0:K, p.. in 0:yd\n"
          "G[n, c, p..] = dY[n, c, p..] / C[p..]\n"
          "if all(dl == 1) {  # elements that lie f after a window's start meet every st-th of its places only\n"
          "  let s = 0 * xd + st ; let start = lo // s\n"
          "  P[n, c, f.., r..] += all(f + j * s < K) ? G[n, c, r + start - j] ?? 0 : 0 "
          "over n in 0:dim(X, 0), c in 0:dim(X, 1), f.. in 0:min(s, K), r.. in 0 : (xd + lo - 1) // s - start + 1, j.. in 0 : (K + s - 1) // s\n"
          "  dX[n, c, q..] = P[n, c, (q + lo) % s, (q + lo) // s - start] ?? 0 over n in 0:dim(X, 0), c in 0:dim(X, 1), q.. in 0:xd\n"
          "} else {\n"
          "  dX[n, c, q..] += all(back % st == 0) ? G[n, c, back // st] ?? 0 : 0 "
          "over n in 0:dim(X, 0), c in 0:dim(X, 1), q.. in 0:xd, k.. in 0:K\n"
          "}")
      .Sample("X: f32[1, 2, 5, 5]; attr kernel_shape = [3, 3], pads = [1, 1, 1, 1]")
      .Sample("X: f32[1, 2, 5, 5]; attr kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1")
      .Sample("X: f32[1, 1, 7]; attr kernel_shape = [3], strides = [3], ceil_mode = 1")
      .Sample("X: f32[1, 1, 6, 6]; attr kernel_shape = [2, 2], dilations = [2, 2], auto_pad = \"SAME_UPPER\"");
  r.op("LpPool")
      .Doc("L-p norm over a sliding window.")
      .Pure(window +
            "S[n, c, q..] += pow(abs(X[n, c, q * st + k * dl - lo] ?? 0), p) over k.. in 0:K, q.. in 0:yd\n"
            "Y[n, c, q..] = pow(S[n, c, q..], 1 / p)")
      .Backward(window +
                "let back = i + lo - k * dl ; let x = X[n, c, i..]\n"
                "G[n, c, q..] = Y[n, c, q..] == 0 ? 0 : dY[n, c, q..] * pow(Y[n, c, q..], 1 - p)\n"
                "T[n, c, i..] += all(back % st == 0) ? G[n, c, back // st] ?? 0 : 0 "
                "over n in 0:dim(X, 0), c in 0:dim(X, 1), i.. in 0:xd, k.. in 0:K\n"
                "dX[n, c, i..] = T[n, c, i..] * sign(x) * pow(abs(x), p - 1)")
      .Sample("X: f32[1, 2, 5, 5]; attr kernel_shape = [2, 2], p = 3")
      .Sample("X: f32[1, 2, 5, 5]; attr kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]")
      .Sample("X: f32[1, 1, 6]; attr kernel_shape = [2], p = 1, dilations = [2]");
  r.op("GlobalAveragePool")
      .Doc("Mean over all spatial dimensions.")
      .Pure(kNotEmpty + std::string("Y[n, c, 0@range(2, rank(X))] += X[n, c, p..] * (1 / len(p))"))
      .Backward("dX[n, c, p..] = dY[n, c, 0@range(2, rank(X))] * (1 / len(p))")
      .Sample("X: f32[2, 3, 4, 4]")
      .Sample("X: f32[1, 2, 5]")
      .Sample("X: f32[1, 2, 2, 3, 2]");
  r.op("GlobalMaxPool")
      .Doc("Maximum over all spatial dimensions.")
      .Pure(kNotEmpty + std::string("Y[n, c, 0@range(2, rank(X))] max= X[n, c, p..]"))
      .Backward(
          "let x = X[n, c, p..] ; let at = fold(p, dims(X)[2:rank(X)])\n"  // the first maximum, as AdaptiveMaxPool(1)
          "A[n, c] min= x == Y[n, c, 0@range(2, rank(X))] || isnan(x) ? at : len(p)\n"
          "dX[n, c, p..] = at == A[n, c] ? dY[n, c, 0@range(2, rank(X))] : 0")
      .Sample("X: f32[2, 3, 4, 4]")
      .Sample("X: f32[1, 2, 5]")
      .Sample("X: f32[1, 2, 2, 3, 2]");
  r.op("GlobalLpPool")
      .Doc("L-p norm over all spatial dimensions.")
      .Pure("Y[n, c, 0@range(2, rank(X))] += pow(abs(X[n, c, q..]), p)\nY = pow(Y, 1.0 / p)")
      .Backward(
          "let y = Y[n, c, 0@range(2, rank(X))] ; let x = X[n, c, q..]\n"
          "dX[n, c, q..] = y == 0 ? 0 : dY[n, c, 0@range(2, rank(X))] * sign(x) * pow(abs(x) / y, p - 1)")
      .Sample("X: f32[2, 3, 4]; attr p = 2")
      .Sample("X: f32[2, 3, 4]; attr p = 1")
      .Sample("X: f32[2, 3, 4]; attr p = 3");
  r.op("MaxUnpool")
      .Doc("Puts values back where a MaxPool found them, zero elsewhere.")
      .Pure(
          "let N = rank(X) - 2\n"
          "let U = (dims(X)[2:N+2] - 1) * (strides ?: 1) + kernel_shape - (pads ?: 0)[0:N] - (pads ?: 0)[N:2*N]\n"
          "output = 0\n"
          "output[unfold(I[i..], concat(dims(X)[0:2], U))] = X[i..]")
      .Backward(
          "let N = rank(X) - 2\n"
          "let U = (dims(X)[2:N+2] - 1) * (strides ?: 1) + kernel_shape - (pads ?: 0)[0:N] - (pads ?: 0)[N:2*N]\n"
          "dX[i..] = doutput[unfold(I[i..], concat(dims(X)[0:2], U))]")
      .Sample("X: f32[1, 1, 2, 2]; I: i64[1, 1, 2, 2] = [5, 7, 13, 15]; attr kernel_shape = [2, 2], strides = [2, 2]")
      .Sample("X: f32[1, 1, 3]; I: i64[1, 1, 3] = [0, 3, 5]; attr kernel_shape = [2], strides = [2]")
      .Sample("X: f32[1, 1, 2, 2]; I: i64[1, 1, 2, 2] = [0, 2, 6, 8]; attr kernel_shape = [1, 1], strides = [2, 2]");
  r.op("RoiAlign")
      .Doc("Samples regions of interest bilinearly into a fixed grid.")
      .Pure(
          "let P = [output_height, output_width] ; let xd = dims(X)[2:4]\n"
          "let off = (coordinate_transformation_mode ?: \"output_half_pixel\") == \"half_pixel\" ? 0.5 : 0\n"
          "let a = [rois[r, 1], rois[r, 0]] * spatial_scale - off ; let b = [rois[r, 3], rois[r, 2]] * spatial_scale - off\n"
          "let sz = off == 0 ? max(b - a, 1) : b - a\n"
          "let g = (sampling_ratio ?: 0) > 0 ? f32(0 * sz) + sampling_ratio : ceil(sz / P)\n"
          "let gmax = (sampling_ratio ?: 0) > 0 ? 0 * P + sampling_ratio : (xd + P - 1) // P + 1\n"
          "let n = max(prod(g), 1) ; let y(s) = a + (p + (s + 0.5) / g) * (sz / P)\n"
          "let there(s) = all(s >= 0 && s < g) ; let live(s) = there(s) && all(y(s) >= -1 && y(s) <= xd)\n"
          "let at(s) = min(max(y(s), 0), xd - 1) ; let w(s) = prod(max(1 - abs(at(s) - (floor(at(s)) + u)), 0))\n"
          "let x(s) = (live(s) ? w(s) : 0) * X[batch_indices[r], c, (live(s) ? min(floor(at(s)) + u, xd - 1.0) : 0.0 * u)]\n"
          "let largest(s) = there(s) ? x(s) : any(g <= 0) ? 0 : lowest()\n"
          "let many = (sampling_ratio ?: 0) == 0\n"
          "if many { L[] max= any(g > gmax) ? 1.0 : 0.0 }\n"
          // Of a box larger than the image there are more samples than that, of which few lie in the image: at least half a pixel apart.
          "if many && L[] > 0 {\n"
          "  let first = clamp(floor((-1 - a - p * (sz / P)) * g / (sz / P) - 0.5) - 1, 0, max(g - 1, 0))\n"
          "  if mode == \"avg\" { Y[r, c, p..] += x(first + s) / n over s.. in 0 * P : 2 * xd + 8, u.. in [0,0]:[2,2], p.. in [0,0]:P }\n"
          "  else { Y[r, c, p..] max= largest(first + s) over s.. in 0 * P : 2 * xd + 8, u.. in [0,0]:[2,2], p.. in [0,0]:P }\n"
          "} else {\n"
          "  if mode == \"avg\" { Y[r, c, p..] += x(s) / n over s.. in 0 * P : gmax, u.. in [0,0]:[2,2], p.. in [0,0]:P }\n"
          "  else { Y[r, c, p..] max= largest(s) over s.. in 0 * P : gmax, u.. in [0,0]:[2,2], p.. in [0,0]:P }\n"
          "}")
      .Sample(
          "X: f32[1, 1, 6, 6]; rois: f32[1, 4] = [0, 0, 4, 4]; batch_indices: i64[1] = [0]; "
          "attr output_height = 2, output_width = 2, sampling_ratio = 2")
      .Sample(
          "X: f32[2, 1, 6, 6]; rois: f32[2, 4] = [0, 0, 4, 4, 1.5, 1, 5, 3]; batch_indices: i64[2] = [0, 1]; attr output_height = 2, output_width = 2, mode = \"max\", sampling_ratio = 1")
      .Sample(
          "X: f32[1, 2, 6, 6]; rois: f32[2, 4] = [0, 0, 4, 4, -20, -20, 30, 30]; batch_indices: i64[2] = [0, 0]; attr output_height = 3, output_width = 2, spatial_scale = 0.5, coordinate_transformation_mode = \"output_half_pixel\"");
  r.op("MaxRoiPool")
      .Doc("Maximum over each cell of a grid laid on a region of interest; zero for an empty cell.")
      .Pure(
          "let P = pooled_shape ; let xd = dims(X)[2:4]\n"
          "let a = floor([rois[r, 2], rois[r, 1]] * spatial_scale + 0.5) ; let b = floor([rois[r, 4], rois[r, 3]] * spatial_scale + 0.5)\n"
          "let bin = max(b - a + 1, 1) / P\n"
          "let start = clamp(floor(p * bin) + a, 0, xd) ; let end = clamp(ceil((p + 1) * bin) + a, 0, xd)\n"
          "let full = all(end > start)\n"
          "Y[r, c, p..] max= full ? (all(q >= start && q < end) ? X[i64(rois[r, 0]), c, q] : -inf) : 0 over q.. in 0 * xd : xd, p.. in 0 * P : P")
      .Sample("X: f32[1, 1, 6, 6]; rois: f32[1, 5] = [0, 0, 0, 4, 4]; attr pooled_shape = [2, 2]")
      .Sample("X: f32[2, 1, 6, 6]; rois: f32[2, 5] = [0, 0, 0, 4, 4, 1, 2, 2, 5, 5]; attr pooled_shape = [3, 2]")
      .Sample(
          "X: f32[1, 1, 6, 6]; rois: f32[1, 5] = [0, 2, 0, 10, 8]; attr pooled_shape = [2, 2], spatial_scale = 0.5");
}

}  // namespace onnx_ops
