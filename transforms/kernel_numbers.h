// The numbers of a scheduled kernel that may be given where it is called, in the order in which the kernel is walked: sizes and strides
// of arrays, bounds of loops, what indices are multiplied by. Not those that decide on code: of lanes and what is unrolled, of registers,
// of steps within a thread's part, divisors, distances that code which is apart or unrolled walks, numbers in values, and 0 and 1 anywhere.
//
//   view v: f32[n0, #, #] of p0 strides [#, 1, #]
//   map i0 in 0:n0, i2_0 in 0:#:# @parallel { for i2 in i2_0:+#:14 { map u in 0:32 @vector { v[i0, u, i2] = p1[# * i2 + u] } } }
#pragma once
#include <functional>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::transforms {

// The kernel with each of them replaced by what `value` says.
Sdfg WithNumbers(const Sdfg& kernel, const std::function<Expr(int64_t)>& value);

}  // namespace headrace::transforms
