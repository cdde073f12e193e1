// The next panel of weights, where they are panels already, is brought near while the points of an image meet this one.
//   P: f32[64, 512, 32], 49 points in 4 tiles  →  for c in 0:512 { prefetch P[j1 // 32 + 1, 0, (512 * tile + c) * 8] ; … }
#include "transforms/schedule/channels_schedule.h"
#include "transforms/schedule/prefetch.h"

namespace headrace::schedule {

// What is in a block of terms lies in one piece.
bool ChannelsScheduler::AsksAhead() const {
  int64_t all = LengthOf(c_.columns);
  for (const Range& r : c_.terms) all *= LengthOf(r);
  return packed_ && all >= d_.prefetch_elements && (block_.one() || cut_term_ == 0);
}

ChannelsScheduler::Statements ChannelsScheduler::Prefetch() {
  if (!AsksAhead()) return {};
  const Expr line = has_lines_ ? FloorDiv(SymbolExpr(y1_) - lines_.begin(), Expr(tile_lines_)) : Expr(0);
  const int64_t lines = Ceil(lines_.length, tile_lines_), rows = Ceil(row_.length, tile_rows_);
  const auto ahead = AheadOf(width_, lines * rows, line * Expr(rows) + FloorDiv(SymbolExpr(x1_) - row_.begin(), Expr(tile_rows_)));
  if (!ahead) return {};
  NameMap to = {{j1_, SymbolExpr(j1_) + Expr(width_)}};
  Expr step(0);
  int64_t steps = 1;
  for (size_t k = 0; k < panel_.terms.size(); ++k) {
    const bool last = k + 1 == panel_.terms.size();
    const Range r = last ? panel_.Groups() : panel_.terms[k].range;
    const int64_t length = Ceil(panel_.terms[k].length, last ? panel_.group : 1);
    step = step * Expr(length) + SymbolExpr(r.index) - r.begin, steps *= length;
    to.emplace_back(r.index, r.begin);
  }
  to.emplace_back(u_, ahead->Place(step, Expr(steps)));
  const Expr read = PackedWeights(0);
  Touch out{read->name, {}, read->flat, TouchKind::kPrefetch};
  for (const Expr& e : read->args) out.index.push_back(Substitute(e, to));
  return {s_->AddNode(out)};
}

}  // namespace headrace::schedule
