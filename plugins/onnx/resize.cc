// Resampling: Resize, Upsample, GridSample, AffineGrid. A tap's weight depends on its distance in source coordinates.
#include "plugins/onnx/families.h"

namespace onnx_ops {
namespace {

// `x` is the source coordinate of output point p; a tap at distance u from it weighs w1, 1 - u or a cubic in u. Coordinates
// are computed as ONNX Runtime does, operation by operation: in f32 (of f64 data and integers only where they choose an element or the
// extrapolated value), and a millionth from the middle of two elements counts as the middle.
const char kResize[] = R"(
let all_axes = axes ?: range(rank(X)) ; let from = dim(X, all_axes) ; let to = dim(Y, all_axes)
let policy = keep_aspect_ratio_policy ?: "stretch" ; let by_scale = len(scales ?: []) > 0
let by = by_scale ? scales : policy == "stretch" ? f64(to) / from : policy == "not_larger" ? least(f64(sizes) / from) : most(f64(sizes) / from)
let c = coordinate_transformation_mode ; let crop = c == "tf_crop_and_resize"
let moved = crop || (!by_scale && policy == "stretch" ? from != to : by != 1 || from != to)  # the other axes are copied
let ax = keep(all_axes, moved) ; let R = len(all_axes)
let near = mode == "nearest" || len(ax) == 0 ; let short = near || crop || !(dtype(X) == f64 || is_int(X))
let t(v) = short ? f32(f64(v)) : v ; let tp = short ? f32(p) : p  # f64: also where v is f32 already, it is rounded here
let xd = keep(from, moved) ; let yd = keep(to, moved) ; let exact = keep(0 * from + by, moved) ; let sc = t(exact)
let L = by_scale ? xd * exact : yd ; let whole = surely(all(exact == floor(exact)))
let boxed = len(roi ?: []) > 0
if crop { require dim(roi, 0) == 2 * R else "roi has {} elements where {} are needed", dim(roi, 0), 2 * R }
let a0 = boxed ? keep(roi[0:R], moved) : 0 ; let a1 = boxed ? keep(roi[R:2*R], moved) : 1
let h = tp + 0.5 ; let last = t(xd - 1) ; let half = t(t(h / sc) - 0.5) ; let off = t(t(xd / 2) * t(1 - t(yd / t(sc * xd))))
let x = c == "asymmetric" ? (whole ? p / exact : t(tp / sc)) : c == "align_corners" ? t(tp * last / t(max(L - 1, 1))) :
        c == "pytorch_half_pixel" ? (yd > 1 ? half : 0) :
        c == "half_pixel_symmetric" ? t(f64(off) + f64(h) / f64(sc) - 0.5) :
        crop ? (yd > 1 ? t(t(t(a0) * last) + t(t(t(tp * t(t(a1) - t(a0))) * last) / t(yd - 1))) : t(0.5 * (a0 + a1) * last)) : half
let outside = crop && any(x < 0 || x > xd - 1)
if near {
  let q = nearest_mode == "floor" ? floor(x) : nearest_mode == "ceil" ? ceil(x) :
          nearest_mode == "round_prefer_floor" ? ceil(f64(x) - 0.500001) : floor(f64(x) + 0.500001)
  Y[o.., p..@ax] = outside ? extrapolation_value : X[o.., clamp(q, 0, xd - 1)@ax] over Y
} else {
  let z = (antialias ?: 0) ? min(exact, 1) : 0 * xd + 1.0
  let b = floor(x) ; let n = mode == "linear" ? 1 : 2
  # How far taps lie at most, n / z rounded up; of sizes by integers, which may be names.
  let s = !(antialias ?: 0) ? 0 * xd + n : by_scale || policy != "stretch" ? ceil(n / z) : max((n * xd + yd - 1) // max(yd, 1), n)
  let at = b + k
  let u = abs(at - x) * z
  let w1 = mode == "linear" ? max(1 - u, 0) :
           u <= 1 ? ((cubic_coeff_a + 2) * u - (cubic_coeff_a + 3)) * u * u + 1 :
           u < 2 ? ((cubic_coeff_a * u - 5 * cubic_coeff_a) * u + 8 * cubic_coeff_a) * u - 4 * cubic_coeff_a : 0
  let w = prod((exclude_outside ?: 0) && (at < 0 || at >= xd) ? 0 : w1)
  # Linear weights sum to one: no normalisation.
  if mode == "linear" && !(antialias ?: 0) && !(exclude_outside ?: 0) && !crop && !is_int(X) {
    Y[o.., p..@ax] += X[o.., clamp(at, 0, xd - 1)@ax] * w over k.. in 0*s : 0*s + 2, p.. in 0:yd
  } else {
  let fine(v) = is_int(X) ? f64(v) : v
  V[o.., p..] += fine(X[o.., clamp(at, 0, xd - 1)@ax]) * fine(w) over k.. in 1 - s : s + 1, p.. in 0:yd
  W[p..] += fine(w) over k.. in 1 - s : s + 1, p.. in 0:yd
  if is_int(X) { Y[o.., p..@ax] = outside ? sat(rint(f64(extrapolation_value))) : sat(rint(V[o.., p..] / W[p..])) }
  else { Y[o.., p..@ax] = outside ? extrapolation_value : V[o.., p..] / W[p..] }
  }
})";

// Upsample and Resize-10: coordinates are p / scale; the nearest element is the next one where the image shrinks.
const char kUpsample[] = R"(
let moved = scales != 1 ; let ax = keep(range(rank(X)), moved) ; let xd = dim(X, ax) ; let yd = dim(Y, ax)
let t(v) = mode == "nearest" || dtype(X) != f64 ? f32(f64(v)) : v
let sc = keep(scales, moved) ; let x = surely(all(sc == floor(sc))) ? p / sc : t(t(p) / t(sc))
if mode == "nearest" { Y[o.., p..@ax] = X[o.., clamp(sc < 1 ? ceil(x) : floor(x), 0, xd - 1)@ax] over Y }
else {
  let at = floor(x) + k ; let w = prod(max(1 - abs(at - x), 0))
  if is_int(X) {
    V[o.., p..] += f64(X[o.., clamp(at, 0, xd - 1)@ax]) * f64(w) over k.. in 0 * xd : 0 * xd + 2, p.. in 0:yd
    Y[o.., p..@ax] = sat(rint(V[o.., p..]))
  } else { Y[o.., p..@ax] += X[o.., clamp(at, 0, xd - 1)@ax] * w over k.. in 0 * xd : 0 * xd + 2, p.. in 0:yd }
})";

const char kGridSample[] = R"(
let xd = dims(X)[2:rank(X)]
let fold2(v, a, b) = b - abs(fmod(abs(v - a), 2 * (b - a)) - (b - a))
let N = rank(X) - 2
require dim(grid, -1) == N else "grid has {} coordinates for {} spatial dimensions of X", dim(grid, -1), N
require xd > 0 else "X has an empty spatial dimension"
let g = N == 3 ? [grid[n, p.., 2], grid[n, p.., 1], grid[n, p.., 0]] : N == 2 ? [grid[n, p.., 1], grid[n, p.., 0]] : [grid[n, p.., 0]]
let x = align_corners ? (g + 1) / 2 * (xd - 1) : ((g + 1) * xd - 1) / 2
let clip(v) = v <= 0 ? 0 : v >= xd - 1 ? xd - 1 : v  # no gradient at the border
let ref = clip(align_corners ? fold2(x, 0 * xd, xd - 1.0) : fold2(x, 0 * xd - 0.5, xd - 0.5))
let m = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode
let y = padding_mode == "border" && m != "cubic" ? clip(x) : padding_mode == "reflection" && m != "cubic" ? ref : x
let q = m == "nearest" ? rint(y) : floor(y) + k
let f = y - floor(y)
let u = k <= 0 ? f - k : k - f  # the distance; abs would have no derivative on the grid
let w = m == "nearest" ? 1 : m == "linear" ? 1 - u :
        u <= 1 ? (1.25 * u - 2.25) * u * u + 1 : u < 2 ? ((-0.75 * u + 3.75) * u - 6) * u + 3 : 0
let at = padding_mode == "border" ? clamp(q, 0, xd - 1) :
         padding_mode == "reflection" ? (align_corners ? reflect(i64(q), xd) : fold2(q + 0.0, 0 * xd - 0.5, xd - 0.5)) : q
let r = m == "cubic" ? 2 : 1
Y[n, c, p..] += (X[n, c, at] ?? 0) * prod(w) over k.. in (m == "nearest" ? xd * 0 : xd * 0 + 1 - r) : (m == "nearest" ? xd * 0 + 1 : xd * 0 + r + 1))";

}  // namespace

void RegisterResize(Registrar& r) {
  r.op("Resize")
      .Doc("Resamples along some axes: nearest, linear or cubic, with a choice of coordinate systems.")
      .Versions(11)
      .Pure(kResize)
      .Sample("X: f32[1, 1, 2, 4]; scales: f32[4] = [1, 1, 2, 1.5]; attr mode = \"linear\"")
      .Sample("X: f32[1, 1, 4, 4]; sizes: i64[4] = [1, 1, 3, 3]; attr mode = \"cubic\"")
      .Sample("X: f32[1, 2, 2]; sizes: i64[3] = [1, 2, 2]; attr mode = \"cubic\"")
      .Sample(
          "X: f32[1, 1, 4, 4]; sizes: i64[2] = [6, 7]; attr mode = \"nearest\", axes = [2, 3], coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\"")
      .Sample(
          "X: f32[1, 1, 4, 4]; sizes: i64[2] = [6, 9]; attr mode = \"linear\", axes = [2, 3], keep_aspect_ratio_policy = \"not_larger\"")
      .Sample(
          "X: f32[1, 1, 4, 4]; sizes: i64[2] = [6, 9]; attr mode = \"nearest\", axes = [3, 2], keep_aspect_ratio_policy = \"not_smaller\"")
      .Sample("X: f32[1, 1, 4, 4]; scales: f32[4] = [1, 1, 0.5, 0.6]; attr mode = \"linear\", antialias = 1")
      .Sample(
          "X: f32[1, 1, 4, 4]; scales: f32[4] = [1, 1, 0.8, 2]; attr mode = \"cubic\", exclude_outside = 1, cubic_coeff_a = -0.5, coordinate_transformation_mode = \"align_corners\"")
      .Sample(
          "X: f32[1, 1, 4, 4]; roi: f32[8] = [0, 0, 0.4, 0.6, 1, 1, 1, 1.2]; sizes: i64[4] = [1, 1, 3, 3]; attr mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\", extrapolation_value = 10.0")
      .Sample(
          "X: f32[1, 1, 4, 4]; sizes: i64[4] = [1, 1, 1, 8]; attr mode = \"linear\", coordinate_transformation_mode = \"pytorch_half_pixel\"")
      .Sample(
          "X: f32[1, 1, 4, 4]; scales: f32[4] = [1, 1, 2.3, 2.7]; attr mode = \"linear\", coordinate_transformation_mode = \"half_pixel_symmetric\"");
  r.op("Resize")
      .Doc("Resamples by scales: nearest or linear.")
      .Versions(10, 10)
      .Pure(kUpsample)
      .Sample("X: f32[1, 1, 2, 3]; scales: f32[4] = [1, 1, 2, 2]; attr mode = \"linear\"")
      .Sample("X: f32[1, 1, 4, 4]; scales: f32[4] = [1, 1, 0.6, 1.5]; attr mode = \"nearest\"")
      .Sample("X: f32[1, 1, 4, 4]; scales: f32[4] = [1, 1, 0.6, 1.5]; attr mode = \"linear\"");
  r.op("Upsample")
      .Doc("Resamples by scales: nearest or linear.")
      .Versions(7)
      .Pure(kUpsample)
      .Sample("X: f32[1, 1, 2, 3]; scales: f32[4] = [1, 1, 2, 2]; attr mode = \"nearest\"")
      .Sample("X: f32[1, 1, 2, 3]; scales: f32[4] = [1, 1, 1.5, 2]; attr mode = \"linear\"")
      .Sample("X: f32[2, 3]; scales: f32[2] = [2, 1]; attr mode = \"linear\"");
  r.op("Upsample")
      .Doc("Resamples height and width by scales: nearest or linear.")
      .Versions(1, 6)
      .Pure("let scales = [1, 1, height_scale, width_scale]" + std::string(kUpsample))
      .Sample("X: f32[1, 1, 2, 3]; attr height_scale = 2.0, width_scale = 2.0")
      .Sample("X: f32[1, 1, 2, 3]; attr height_scale = 1.5, width_scale = 2.0, mode = \"bilinear\"")
      .Sample("X: f32[1, 2, 3, 3]; attr height_scale = 1.0, width_scale = 3.0, mode = \"nearest\"");
  r.op("GridSample")
      .Doc("Samples at coordinates in [-1, 1] given per output point.")
      .Pure(kGridSample)
      .Sample("X: f32[1, 1, 3, 3]; grid: f32[1, 2, 2, 2] in [-1, 1]")
      .Sample(
          "X: f32[1, 2, 3, 4]; grid: f32[1, 2, 2, 2] in [-1.2, 1.2]; attr mode = \"nearest\", padding_mode = \"border\"")
      .Sample(
          "X: f32[1, 2, 3, 4]; grid: f32[1, 2, 2, 2] in [-1.2, 1.2]; attr mode = \"cubic\", padding_mode = \"reflection\", align_corners = 1")
      .Sample(
          "X: f32[1, 2, 3, 4]; grid: f32[1, 2, 2, 2] in [-1.2, 1.2]; attr mode = \"linear\", padding_mode = \"reflection\"")
      .Sample("X: f32[1, 1, 2, 3, 3]; grid: f32[1, 1, 2, 2, 3] in [-1, 1]; attr align_corners = 1");
  r.op("AffineGrid")
      .Doc("Coordinates in [-1, 1] of a regular grid, transformed by a matrix per sample.")
      .Pure(
          "let D = len(size) - 2 ; let dims_ = size[2:D+2]\n"
          "let at = align_corners ? f64(p) * 2 / max(dims_ - 1, 1) - 1 : (2 * f64(p) + 1) / dims_ - 1\n"
          "require dim(theta, 0) == size[0] else \"theta has {} matrices where {} are needed\", dim(theta, 0), size[0]\n"
          "require dim(theta, 1) == D && dim(theta, 2) == D + 1 else \"theta has matrices of {} by {} where {} by {} are needed\", "
          "dim(theta, 1), dim(theta, 2), D, D + 1\n"
          "H[p.., i] = i == D ? 1 : reverse(at)[i] over p.. in 0:dims_, i in 0:D+1\n"
          "grid[n, p.., d] += theta[n, d, i] * H[p.., i]")
      .Sample("theta: f32[2, 2, 3]; size: i64[4] = [2, 1, 2, 3]")
      .Sample("theta: f32[2, 3, 4]; size: i64[5] = [2, 1, 2, 3, 2]; attr align_corners = 1")
      .Sample("theta: f32[2, 2, 3]; size: i64[4] = [2, 1, 3, 2]; attr align_corners = 1");
}

}  // namespace onnx_ops
