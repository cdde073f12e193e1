// Sums of products over a triangle of indices as rectangles, which products have tiles for, and the small triangles beside them.
//
//   map i in 0:500, j in i:500, k in 0:600 { D[k, j] += G[i, j] * A[k, i] }
//     →  for block in 0:7 {
//          state { map i in 64 * block:64 * block + 64, j in 64 * block + 64:500, k in 0:600 { D[k, j] += G[i, j] * A[k, i] } }
//          … and squares of 32, of 16 and of 8 rows within the triangle that is left of these 64 rows
//        }
//        … and the rows that are left, 448:500, by 8
//        state {
//          map block in 0:62, i in 8 * block:8 * block + 8, j in 8 * block:8 * block + 8, k in 0:600 {
//            D[k, j] += j >= i ? G[i, j] * A[k, i] : 0
//          }
//        }
//        … and that of the last rows, 496:500
//
// A small triangle whose results are not its elements is a square like this: the choice is of products, for 0 times what lies outside
// might be NaN. Others stay triangles: map block in 0:62, i in 8 * block:8 * block + 8, j in i:8 * block + 8, …
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
