#include "transforms/schedule/product_along.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/packed.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
bool ProductAlongScheduler::LiesAlong(const Expr& operand) const {
  if (!operand.Is(ExprKind::kRead) || operand->flat || operand->has_default || s_->Get(operand->name).dtype != p_.type) return false;
  return StepOf(*s_, operand->name, {operand->args.begin(), operand->args.end()}, false, terms_.index) == 1;
}

// Weights that could be packed before any call are better off so.
bool ProductAlongScheduler::Applies() {
  if ((p_.type != DType::kF32 && p_.type != DType::kF64) || p_.depth.empty()) return false;
  terms_ = p_.depth.back();
  rows_.whole = p_.row;
  others_ = p_.columns;
  const auto longest = std::max_element(others_.begin(), others_.end(), [](const Range& x, const Range& y) { return LengthOf(x) < LengthOf(y); });
  column_ = *longest;
  others_.erase(longest);
  int64_t columns = LengthOf(column_);
  for (const Range& r : others_) columns = LengthOf(r) < 1 ? -1 : columns * LengthOf(r);
  const int64_t rows = LengthOf(p_.row), fewer = std::min({rows, columns, LengthOf(column_)});
  if (fewer < d_.few_columns || std::min(rows, columns) > d_.along_results || LengthOf(terms_) < d_.long_sum) return false;
  const bool one_term = p_.depth.size() == 1 && p_.around.empty();
  if (one_term && others_.empty() && PackingOf(*s_, p_.column_operand, p_.type, column_.index, {terms_.index}, 1)) return false;
  return LiesAlong(p_.row_operand) && LiesAlong(p_.column_operand);
}

// As many results as registers have sums; parts of rows for the threads.
void ProductAlongScheduler::CutRows() {
  lanes_ = std::max<int64_t>(1, d_.partial_bytes / ByteSize(p_.type));
  const int64_t results = std::max<int64_t>(1, d_.tile_rows * d_.tile_vectors * d_.vector_bytes / std::max(d_.partial_bytes, d_.vector_bytes));
  while ((tile_rows_ + 1) * (tile_rows_ + 1) <= results) ++tile_rows_;
  tile_columns_ = results / tile_rows_;
  const int64_t rows = LengthOf(rows_.whole), tiles = Ceil(rows, tile_rows_);
  rows_.length = std::min(rows, Ceil(tiles, std::min(tiles, d_.product_parts)) * tile_rows_);
  rows_.first = FreshIn(*s_, rows_.whole.index.str() + "_0");
}

std::vector<Expr> ProductAlongScheduler::Place(const Expr& row, const Expr& column) const {
  std::vector<Expr> at = {row - rows_.begin()};
  for (const Range& r : others_) at.push_back(SymbolExpr(r.index));
  at.push_back(column);
  return at;
}

ProductAlongScheduler::Statements ProductAlongScheduler::Tile(int64_t rows, int64_t columns) {
  const Name t = Local(s_, "t", p_.type, {Expr(rows), Expr(columns), Expr(lanes_)}, Storage::kRegister), x = FreshIn(*s_, terms_.index.str() + "_1");
  const Expr row = SymbolExpr(i_) + SymbolExpr(r_), column = SymbolExpr(j_) + SymbolExpr(q_);
  const std::vector<Expr> at = {SymbolExpr(r_), SymbolExpr(q_), SymbolExpr(u_)};
  const Level each{{UpTo(r_, rows), UpTo(q_, columns)}, Schedule::kUnroll};
  const auto lanes = [&](int64_t count) { return Level{{UpTo(u_, count)}, Schedule::kVector}; };
  const auto step = [&](const Expr& first) {
    const NameMap place = {{p_.row.index, row}, {column_.index, column}, {terms_.index, first + SymbolExpr(u_)}};
    return Put(t, at, WriteOp::kAssign, CallExpr("fma", {Substitute(p_.row_operand, place), Substitute(p_.column_operand, place), ReadExpr(t, at)}));
  };
  const int64_t rest = LengthOf(terms_) % lanes_, whole = LengthOf(terms_) - rest;
  const Expr zero = FloatExpr(0);
  Statements out = Wrap(s_, {each, lanes(lanes_)}, {Put(t, at, WriteOp::kAssign, zero)});
  Add(&out, Wrap(s_, {{{UpTo(x, whole, lanes_)}, Schedule::kSequential}, each, lanes(lanes_)}, {step(SymbolExpr(x))}));
  if (rest != 0) Add(&out, Wrap(s_, {each, lanes(rest)}, {step(Expr(whole))}));
  const Level halves{{UpTo(u_, lanes_)}, Schedule::kHalves};
  Add(&out, Wrap(s_, {each, halves}, {Put(sums_, Place(row, column), WriteOp::kAdd, ReadExpr(t, at))}));
  return out;
}

ProductAlongScheduler::Statements ProductAlongScheduler::Tiles() {
  const int64_t rows = LengthOf(rows_.whole), columns = LengthOf(column_);
  const int64_t high = std::min(tile_rows_, rows), wide = std::min(tile_columns_, columns);
  Statements tile = Tile(high, wide);
  const auto ends = [&](Name first, int64_t step, int64_t count, const Statements& whole, const Statements& rest) {
    return Statements{s_->AddNode(If{BinaryExpr(Op::kLe, SymbolExpr(first) + Expr(step), Expr(count)), whole, rest})};
  };
  if (columns % wide != 0) tile = ends(j_, wide, columns, tile, Tile(high, columns % wide));
  if (rows % high != 0) {
    Statements last = Tile(rows % high, wide);
    if (columns % wide != 0) last = ends(j_, wide, columns, last, Tile(rows % high, columns % wide));
    tile = ends(i_, high, rows, tile, last);
  }
  std::vector<Range> loops = p_.around;
  loops.insert(loops.end(), p_.depth.begin(), p_.depth.end() - 1);
  loops.insert(loops.end(), others_.begin(), others_.end());
  loops.push_back(rows_.Within(i_, high));
  loops.push_back(UpTo(j_, columns, wide));
  return Wrap(s_, {{loops, Schedule::kSequential}}, tile);
}

// Of all rows of a part.
ProductAlongScheduler::Statements ProductAlongScheduler::Results() {
  std::vector<Range> loops = {rows_.Within(p_.row.index, 1)};
  loops.insert(loops.end(), others_.begin(), others_.end());
  const Expr sum = ReadExpr(sums_, Place(SymbolExpr(p_.row.index), SymbolExpr(column_.index)));
  return Wrap(s_, {{loops, Schedule::kSequential}, {{column_}, Schedule::kVector}}, CompletedAt(s_, completion_, {}, sum));
}

std::vector<NodeId> ProductAlongScheduler::Run() {
  CutRows();
  i_ = FreshIn(*s_, p_.row.index.str() + "_1"), j_ = FreshIn(*s_, column_.index.str() + "_1");
  r_ = FreshIn(*s_, "r"), q_ = FreshIn(*s_, "q"), u_ = FreshIn(*s_, "u");
  std::vector<Expr> shape = {Expr(rows_.length)};
  for (const Range& r : others_) shape.push_back(r.end);
  shape.push_back(column_.end);
  sums_ = Local(s_, "m", p_.type, shape, Storage::kWorker);
  std::vector<Range> all = {rows_.Within(i_, 1)};
  all.insert(all.end(), others_.begin(), others_.end());
  Statements out = Wrap(s_, {{all, Schedule::kSequential}, {{UpTo(u_, LengthOf(column_))}, Schedule::kVector}},
                        {Put(sums_, Place(SymbolExpr(i_), SymbolExpr(u_)), WriteOp::kAssign, FloatExpr(0))});
  Add(&out, Tiles());
  Add(&out, Results());
  std::vector<Range> units = p_.outer;
  rows_.AddTo(&units);
  return Wrap(s_, {{units, Schedule::kParallel}}, out);
}

}  // namespace headrace::schedule
