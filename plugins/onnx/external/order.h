// The order of numbers as ops that sort promise it: stable, NaN behind everything, -0 equal to 0.
#pragma once
#include <cstdint>
#include <vector>

#include "plugins/onnx/external/call.h"

namespace onnx_ops::external {

// The places 0:n of the line x[first], x[first + step], …, sorted by what stands there; at least the `most` first ones are there and in
// order; without `in_order` they are just there. Descending order begins with NaN; equal elements keep their order in both. No strings,
// no complex numbers. Memory: up to 32 bytes for each element. Fails when the run is cancelled.
std::vector<int64_t> Order(const Call& call, const hr_value& x, int64_t first, int64_t step, int64_t n, int64_t most, bool descending,
                           bool in_order = true);

}  // namespace onnx_ops::external
