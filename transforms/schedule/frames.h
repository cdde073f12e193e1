// Sums over windows of small images: each image is laid out with its border around it, so that rows shorter than vectors run in
// whole ones, whose last lanes count for nothing, and nobody asks where an element is.
//   map n in 0:N, i in 0:14, j in 0:14, a in 0:3, b in 0:3 { Y[n, i, j] += (i + a >= 1 && … ? X[n, i + a - 1, j + b - 1] : 0) * W[n, a, b] }
//     →  map n in 0:N @parallel {
//          local frame: f32[16, 18] @worker
//          …
//          for i1 in 0:14:6 {
//            local t: f32[6, 16]
//            …
//            for a in 0:3, b in 0:3 { map r in 0:6 @unroll { map u in 0:16 @vector { t[r, u] += frame[i1 + r + a, u + b] * W[n, a, b] } } }
//            map r in 0:6 @unroll { map j in 0:14 @vector { Y[n, i1 + r, j] += t[r, j] } } } }
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/device.h"
#include "transforms/schedule/elements.h"
#include "transforms/schedule/nest.h"

namespace headrace::schedule {

// A sum whose terms read one array at places that move with a row, a column and the window.
struct Frames {
  Tasklet sum;
  std::vector<Range> outer, window;  // images, and the terms of one result
  Range row, column;                 // the column walks the target by one
  Expr choice;                       // in the sum's value: inside ? X[…] : a constant
  size_t row_dimension = 0, column_dimension = 0;  // of X
  int64_t row_begin = 0, row_end = 0, column_begin = 0;  // what the windows reach, before 0 and beyond the end
};
std::optional<Frames> FramesOf(const Sdfg& s, const Nest& n, const Tasklet& sum, const std::vector<bool>& apart, DType type, const Device& d);
std::optional<std::vector<NodeId>> ScheduleFrames(Sdfg* s, const Device& d, const Frames& f, const Completion& completion);

}  // namespace headrace::schedule
