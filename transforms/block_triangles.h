// Sums of products over a triangle of indices as loops over blocks of rows: a rectangle, which products have tiles for, and the small
// triangle beside it.
//
//   map i in 0:500, j in 0:500 - i, k in 0:600 { P[i, j] += A[k, i] * A[k, i + j] }
//     →  for block in 0:7 {
//          state {
//            map i in 64 * block:64 * block + 64, j in 0:64 * block - i + 64, k in 0:600 { P[i, j] += A[k, i] * A[k, i + j] }
//            map i in 64 * block:64 * block + 64, j in 64 * block + 64:500, k in 0:600 { P[i, j - i] += A[k, i] * A[k, j] }
//          }
//        }
//        … and the same of the rows that are left, 448:500
//
// Maps of one sum of known sizes, of which one range begins or ends with the index of another one. Iterations of a map have no order.
#pragma once
#include <functional>

#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> BlockTriangles(Program& p, const Ask& ask = IsAdvised);

namespace transforms {

// Arrays of the program's own that such a sum finds at [x, y] beside others at x + y get their elements there, too, so that
// rectangles are rectangles in memory: T[i, j] is T[i, i + j] from then on, in all statements, if that is inside everywhere.
// straighten_triangles.cc
bool StraightenTriangles(Sdfg* s, const std::function<bool(NodeId)>& is_triangle);

}  // namespace transforms
}  // namespace headrace
