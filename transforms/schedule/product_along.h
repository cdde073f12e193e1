// The schedule of a product both of whose operands lie along its terms in memory, with few rows or columns: laying them out as tiles read
// them would take as long as the sums. Tiles of results have sums of `partial-bytes` in registers each, lanes along the terms.
//   map o in 0:64, c in 0:64, l in 0:2, n in 0:N, x in 0:2048 { dW[o, c, l] += dY[n, o, x] * X[n, c, x + 16*l] }
//     →  map o0 in 0:64:16 @parallel {
//          local m: f32[16, 64, 2] @worker
//          for n in 0:N, l in 0:2, o1 in o0:+16:4, c1 in 0:64:6 {
//            local t: f32[4, 6, 16]
//            for x in 0:2048:16 { map r in 0:4, q in 0:6 @unroll { map u in 0:16 @vector {
//              t[r, q, u] = fma(dY[n, o1 + r, x + u], X[n, c1 + q, x + u + 16*l], t[r, q, u]) } } }
//            map r in 0:4, q in 0:6 @unroll { map u in 0:16 @halves { m[o1 - o0 + r, c1 + q, l] += t[r, q, u] } }
//          }
//          for o in o0:+16, l in 0:2 { map c in 0:64 @vector { dW[o, c, l] += m[o - o0, c, l] } }
//        }
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/elements.h"
#include "transforms/schedule/parts.h"
#include "transforms/schedule/product.h"
#include "transforms/schedule/steps.h"

namespace headrace::schedule {

class ProductAlongScheduler {
 public:
  ProductAlongScheduler(Sdfg* s, const Device& d, Product p, Completion completion)
      : s_(s), d_(d), p_(std::move(p)), completion_(std::move(completion)) {}
  bool Applies();
  std::vector<NodeId> Run();  // after Applies

 private:
  using Statements = std::vector<NodeId>;
  bool LiesAlong(const Expr& operand) const;
  void CutRows();
  Statements Tiles();
  Statements Tile(int64_t rows, int64_t columns);
  Statements Results();
  std::vector<Expr> Place(const Expr& row, const Expr& column) const;  // in the sums
  NodeId Put(Name target, std::vector<Expr> index, WriteOp op, Expr value) {
    return schedule::Put(s_, target, std::move(index), op, std::move(value));
  }

  Sdfg* s_;
  const Device& d_;
  Product p_;
  Completion completion_;
  Parts rows_;
  Range column_;               // the longest of the columns,
  std::vector<Range> others_;  // and the others
  Range terms_;                // the innermost of them
  int64_t lanes_ = 1, tile_rows_ = 1, tile_columns_ = 1;
  Name sums_;
  Name i_, j_, r_, q_, u_;     // the first row and column of a tile, one of each in it, and a lane
};

}  // namespace headrace::schedule
