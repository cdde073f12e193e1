// Sums of products whose operands have indices of their own: matrix products, convolutions, and their gradients.
//   map i in 0:M, j in 0:N, k in 0:K { C[i, j] += A[i, k] * B[k, j] }
//     →  row i, columns j, depth k, operands A[i, k] and B[k, j]
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/device.h"
#include "transforms/schedule/nest.h"

namespace headrace::schedule {

// Fewer are too few for a tile of sums to pay.
inline constexpr int64_t kLeastRows = 3, kLeastDepth = 8;

struct Product {
  Tasklet sum;                         // of one iteration
  DType type = DType::kNone;           // that it is computed in
  Expr row_operand, column_operand;    // whose product is added
  std::vector<Range> outer;            // everything else that the target is indexed by
  Range row;                           // in the row operand and the target
  std::vector<Range> columns;          // in the column operand and the target, which they walk as one; the innermost last
  std::vector<Range> depth;            // in both operands; the innermost last
  std::vector<Range> around;           // as depth, but around the product, which adds to the target each time
};
// `apart`: of each range, whether its iterations write different elements. Ranges begin at 0 and go by 1. As many columns as
// a block has are no longer joined with others. `type`: what the sum is computed in.
std::optional<Product> ProductOf(const Sdfg& s, const Nest& n, const Tasklet& sum, const std::vector<bool>& apart, DType type, const Device& d);

// How an element's place in memory moves with an index; null where it isn't so simple.
Expr StrideOf(const Expr& elements, Name index);
// Elements of all together.
Expr CountOf(const std::vector<Range>& ranges);

}  // namespace headrace::schedule
