// What is dequantised, moved and quantised again by the same scale and zero point is moved as it is, 8 bits an element.
//
//   onnx.DequantizeLinear(x = q, x_scale = s, x_zero_point = z) -> (y = D)
//   onnx.Transpose(data = D) -> (transposed = T)                            →   onnx.Transpose(data = q) -> (transposed = r)
//   onnx.QuantizeLinear(x = T, y_scale = s, y_zero_point = z) -> (y = r)
//
// Whole numbers times a scale, over the scale, are the same numbers once they are rounded. Also across the maximum of windows, where the
// scale is more than 0. Others who read D or T keep what they read.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> ForwardQuantised(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
