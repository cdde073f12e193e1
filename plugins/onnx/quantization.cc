// Quantise and dequantise: per tensor, per axis or in blocks along an axis.
#include "plugins/onnx/families.h"

namespace onnx_ops {

void RegisterQuantization(Registrar& r) {
  r.op("QuantizeLinear")
      .Doc("x / y_scale, rounded to even, plus the zero point, saturated.")
      .Pure(
          "let q(v) = is_int(y) ? rint(v) : v  # u and t are rounded to f32 before rint sees them\n"
          "if rank(y_scale) == 0 || (block_size ?: 0) == 0 && len(y_scale) == 1 {\n"
          "  u = f32(x) / f32(y_scale)\n"
          "  y = sat(q(u) + f32(y_zero_point ?: 0))\n"
          "} else { if (block_size ?: 0) == 0 {\n"
          "  t[o.., k@(axis ?: 1)] = f32(x[o.., k@(axis ?: 1)]) / f32(y_scale[k])\n"
          "  y[o.., k@(axis ?: 1)] = sat(q(t[o.., k@(axis ?: 1)]) + f32(y_zero_point[k] ?: 0))\n"
          "} else {\n"
          "  t[o.., k@axis] = f32(x[o.., k@axis]) / f32(y_scale[o.., k // block_size @axis])\n"
          "  y[o.., k@axis] = sat(q(t[o.., k@axis]) + f32(y_zero_point[o.., k // block_size @axis] ?: 0))\n"
          "} }")
      .Sample("x: f32[2, 3] in [-100, 100]; y_scale: f32[] = 0.5; y_zero_point: u8[] = 128")
      .Sample("x: f32[2, 3]; y_scale: f32[3] in [0.1, 1]; y_zero_point: i8[3]; attr axis = 1")
      .Sample("x: f32[2, 4]; y_scale: f32[2, 2] in [0.1, 1]; y_zero_point: u8[2, 2]; attr axis = 1, block_size = 2")
      .Sample("x: f32[2, 3] in [-500, 500]; y_scale: f32[] = 1; attr output_dtype = 17")
      .Sample("x: f32[2, 3]; y_scale: f32[2] in [0.1, 1]; attr axis = 0, output_dtype = 3");
  r.op("DequantizeLinear")
      .Doc("(x - zero point) times the scale.")
      .Pure(
          "if rank(x_scale) == 0 { y = f32(wide(x) - wide(x_zero_point ?: 0)) * x_scale }\n"
          "else { if (block_size ?: 0) == 0 {\n"
          "  if len(x_scale) == 1 { y = f32(wide(x) - wide(x_zero_point ?: 0)) * x_scale }\n"
          "  else { y[o.., k@(axis ?: 1)] = f32(wide(x[o.., k@(axis ?: 1)]) - wide(x_zero_point[k] ?: 0)) * x_scale[k] } }\n"
          "else { y[o.., k@axis] = f32(wide(x[o.., k@axis]) - wide(x_zero_point[o.., k // block_size @axis] ?: 0)) * x_scale[o.., k // block_size @axis] } }")
      .Sample("x: u8[2, 3]; x_scale: f32[] = 0.5; x_zero_point: u8[] = 128")
      .Sample(
          "x: i8[2, 4] in [-128, 127]; x_scale: f32[2, 2] in [0.1, 1]; x_zero_point: i8[2, 2] in [-9, 9]; attr axis = -1, block_size = 2")
      .Sample("x: u8[3, 2]; x_scale: f32[3] in [0.1, 1]; attr axis = 0")
      .Sample("x: i8[2, 3] in [-128, 127]; x_scale: f32[3] in [0.1, 1]; x_zero_point: i8[3] in [-9, 9]; attr axis = 1");
  r.op("DynamicQuantizeLinear")
      .Doc("Quantises to u8 with scale and zero point from the data's own range.")
      .Pure(
          "hi[] max= x[i..] ; lo[] min= x[i..]\n"
          "y_scale[] = (max(hi, 0) - min(lo, 0)) / 255\n"
          "y_zero_point[] = sat(rint(0 - min(lo, 0) / y_scale))\n"
          "q = x / y_scale\n"
          "y = sat(rint(q) + f32(y_zero_point))")
      .Sample("x: f32[2, 3] in [-2, 5]")
      .Sample("x: f32[5] in [1, 3]")
      .Sample("x: f32[2, 2] in [-4, -1]");
}

}  // namespace onnx_ops
