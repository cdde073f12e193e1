// Statements that walk a large matrix row by row become one walk, for each of them alone would fetch it from memory again. What is summed
// over the rows is summed in parts of them, which threads share out, and the parts are added up in their order.
//
//   state {                                                     transient partial: f64[16, 5000]
//     map i in 0:4000, j in 0:5000 {                            state {
//       y[i] += A[i, j] * x[j]                                    map part in 0:16 {
//     }                                                             map d0 in 0:5000 { partial[part, d0] = 0 }
//     map i in 0:4000, j in 0:5000 {                                map row in 0:250 {
//       z[j] += A[i, j] * y[i]                            →           map j in 0:5000 { y[250*part + row] += A[250*part + row, j] * x[j] }
//     }                                                               map j in 0:5000 { partial[part, j] += A[250*part + row, j] * … }
//   }                                                               }
//                                                                 }
//                                                                 map d0 in 0:5000 {
//                                                                   map part in 0:16 { z[d0] += partial[part, d0] }
//                                                                 }
//                                                               }
//
// Only where each statement takes a few operations for each element of the matrix (products of matrices have tiles of their own), where
// all sizes are known, and where what a row reads and writes stays near. How many parts there are depends on the number of rows alone.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

struct RowLimits {
  size_t bytes = 4 << 20;        // of a matrix that is fetched again by each statement
  size_t row_bytes = 768 << 10;  // that all statements use for one row, at most
  size_t rows = 64;              // fewer are too few to share out
  size_t parts = 16;             // of the rows, about; a divisor of their number
};
Result<bool> FuseRows(Program& p, const RowLimits& limits = {}, const Ask& ask = IsAdvised);

}  // namespace headrace
