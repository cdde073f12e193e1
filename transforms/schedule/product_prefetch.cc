// While a block of columns is multiplied the next one is brought near, or its first strip of rows would wait for memory: panel by panel,
// each strip of rows a part, some at each step of the depth.
//   W: f32[5632, 2048], read as W[j, k], columns j, terms k; 16 strips of 8 rows, 32 columns in a tile
//     →  for k in k0:+1024 { prefetch W[j1 + (k0 + 1024) // 2048 * 128 + i1 // 8 * 2 + (k - k0) % 2, (k0 + 1024) % 2048 + k - k0] ; … }
#include <algorithm>

#include "transforms/schedule/prefetch.h"
#include "transforms/schedule/product_schedule.h"

namespace headrace::schedule {
namespace {

// The read that an expression consists of, whatever it is converted by; null: it has several, or none.
Expr OnlyRead(const Expr& e) {
  Expr read;
  int64_t reads = 0;
  Visit(e, [&](const Expr& x) {
    if (x.Is(ExprKind::kRead)) read = x, ++reads;
    return true;
  });
  return reads == 1 ? read : Expr();
}

}  // namespace

// Columns that no cache keeps, in several blocks.
bool ProductScheduler::AsksAhead() const {
  const auto columns = AsInt(columns_.count), terms = AsInt(depth_.count);
  if (p_.columns.size() != 1 || p_.depth.size() != 1 || !p_.around.empty() || !columns || !terms) return false;
  return *columns * *terms >= d_.prefetch_elements && (AsInt(columns_.part) != 0 || AsInt(depth_.part) != 0);
}

int64_t ProductScheduler::StripsOfRows() const {
  return Ceil(std::min(AsInt(rows_.count).value_or(d_.product_part), rows_.most), tile_rows_);
}

// The block after this: the next terms, or the first ones of the next part of the columns.
ProductScheduler::Block ProductScheduler::NextBlock() const {
  const int64_t terms = *AsInt(depth_.count), part = AsInt(depth_.part) == 0 ? terms : depth_.most, all = Ceil(terms, part) * part;
  const Expr next = depth_.first() + Expr(part);
  return {Mod(next, Expr(all)), SymbolExpr(j1_) + FloorDiv(next, Expr(all)) * columns_.part, Expr(Ceil(part, group_))};
}

// Of panels: they lie in memory as they are read.
Touch ProductScheduler::PanelAhead(const Block& next, const Expr& place) const {
  const Expr read = PackedColumns(0);
  NameMap to = {{j1_, next.column}, {u_, place}, {d1_, group_ == 1 ? next.first : Expr(0)}};
  if (group_ > 1) to.emplace_back(depth_.parts, next.first);
  Touch out{read->name, {}, read->flat, TouchKind::kPrefetch};
  for (const Expr& e : read->args) out.index.push_back(Substitute(e, to));
  return out;
}

// Of columns that are no panels yet: those whose lines lie along the terms. Where lines lie along the columns processors see it themselves.
ProductScheduler::Statements ProductScheduler::Prefetch() {
  if (!AsksAhead()) return {};
  const Expr row = SymbolExpr(i1_) - rows_.first(), step = SymbolExpr(d1_) - (group_ == 1 ? depth_.first() : Expr(0));
  const auto ahead = AheadOf(tile_columns_, StripsOfRows(), FloorDiv(row, Expr(tile_rows_)));
  if (!ahead) return {};
  const Block next = NextBlock();
  if (packed_) return {s_->AddNode(PanelAhead(next, ahead->Place(step, next.steps)))};
  const Expr read = OnlyRead(p_.column_operand);
  if (!read || read->has_default) return {};
  const Name column = p_.columns[0].index, term = p_.depth[0].index;
  if (!Along(read, term)) return {};
  const Expr each(ahead->columns);
  const NameMap to = {{column, next.column + ahead->strip * each + Mod(step, each)}, {term, next.first + step * Expr(group_)}};
  Touch out{read->name, {}, read->flat, TouchKind::kPrefetch};
  for (const Expr& e : read->args) out.index.push_back(Substitute(e, to));
  return {s_->AddNode(out)};
}

}  // namespace headrace::schedule
