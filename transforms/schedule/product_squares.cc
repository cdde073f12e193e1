// Columns of a product that memory runs across, as panels: squares are turned in registers, where lanes that read a line each take twice the
// time.
//   W: f32[128, 70], read as W[j, k], columns j, terms k, 32 columns in a tile
//     →  local b: f32[4, 70, 32] @worker
//        for j2 in 0:128:16 {
//          for k2 in 0:70:16 {
//            if k2 + 16 <= 70 { map r in 0:16 @unroll { map u in 0:16 @vector { b[j2 // 32, k2 + r, j2 % 32 + u] = W[j2 + u, k2 + r] } } }
//            else { for k in k2:+16 { map u in 0:16 @vector { b[j2 // 32, k, j2 % 32 + u] = W[j2 + u, k] } } } } }
// Pairs of terms in bf16 are as wide as numbers, and turned like them: b[j2 // 32, d2 + r, j2 % 32 + u, 0] = W[j2 + u, 2 * (d2 + r)], and the
// second of each beside it.
#include "ir/analysis/layout.h"
#include "transforms/schedule/product_schedule.h"

namespace headrace::schedule {

bool ProductScheduler::TurnsSquares(const Stretch& x) const {
  const int64_t side = d_.register_square;
  const Expr& w = p_.column_operand;
  const bool numbers = group_ == 1 && column_type_ == DType::kF32, pairs = group_ == 2 && column_type_ == DType::kBF16;
  if (side < 2 || tile_columns_ % side != 0 || x.elements != group_ || !(numbers || pairs) || !TurnsColumns()) return false;
  if (!w.Is(ExprKind::kRead) || w->has_default || !Along(w, p_.depth.back().index)) return false;
  const DType stored = s_->Get(w->name).dtype;
  const int64_t terms = AsInt(x.depth.size() > 1 ? p_.depth.back().end : depth_.count).value_or(side * group_), columns = columns_.most;
  return ((numbers && stored == DType::kF32) || stored == DType::kBF16) && terms >= side * group_ && columns >= side;
}

// Of `side` columns from `begin` on; the last terms of a block may be fewer than a square has.
ProductScheduler::Statements ProductScheduler::Squares(const Stretch& x, const Place& place, const Expr& begin) {
  const Range terms = x.depth.back();
  const int64_t side = d_.register_square;
  const Expr operand = Substitute(p_.column_operand, {{p_.columns.back().index, begin + SymbolExpr(u_)}});
  const Level lanes{{UpTo(u_, side)}, Schedule::kVector};
  const Range some{FreshIn(*s_, terms.index.str() + "_2"), terms.begin, terms.end, Expr(side)};
  const Expr first = SymbolExpr(some.index);
  Stretch lines = x;
  lines.last = Substitute(x.last, {{terms.index, first + SymbolExpr(r_)}});
  Statements square = Wrap(s_, {{{UpTo(r_, side)}, Schedule::kUnroll}, lanes}, Copies(lines, operand, packed_columns_, place.before, place.slot));
  const bool one = x.depth.size() == 1;
  const int64_t together = side * group_;
  const bool whole = one ? IsMultiple(depth_.count, together) && (AsInt(depth_.part) == 0 || IsMultiple(depth_.part, together))
                         : IsMultiple(terms.end, side);
  if (!whole) {
    const Level rest{{schedule::Within(some, terms.index)}, Schedule::kSequential};
    const Statements each = Wrap(s_, {rest, lanes}, Copies(x, operand, packed_columns_, place.before, place.slot));
    square = {s_->AddNode(If{BinaryExpr(Op::kLe, first + Expr(side), terms.end), square, each})};
  }
  std::vector<Range> loops = x.depth;
  loops.back() = some;
  return Wrap(s_, {{loops, Schedule::kSequential}}, square);
}

// The last columns of a part may be fewer than a square has.
ProductScheduler::Statements ProductScheduler::PackSquares(const Stretch& x) {
  const Range columns = ColumnLoops().back();
  const int64_t side = d_.register_square;
  const Range some{FreshIn(*s_, columns.index.str() + "_2"), columns.begin, columns.end, Expr(side)};
  const Expr begin = SymbolExpr(some.index), before = panels_ ? Mod(begin - columns_.first(), Expr(tile_columns_)) : Expr(0);
  Statements squares = Squares(x, PlaceOfColumn(begin, before + SymbolExpr(u_)), begin);
  const bool whole = IsMultiple(columns_.count, side) && (AsInt(columns_.part) == 0 || IsMultiple(columns_.part, side));
  if (!whole) {
    const Place place = PlaceOfColumn(begin, before + SymbolExpr(columns.index) - begin);
    const Statements lines = Wrap(s_, {{x.depth, Schedule::kSequential}, {{schedule::Within(some, columns.index)}, Schedule::kVector}},
                                  Copies(x, p_.column_operand, packed_columns_, place.before, place.slot));
    squares = {s_->AddNode(If{BinaryExpr(Op::kLe, begin + Expr(side), columns.end), squares, lines})};
  }
  return Wrap(s_, {{{some}, Schedule::kSequential}}, squares);
}

}  // namespace headrace::schedule
