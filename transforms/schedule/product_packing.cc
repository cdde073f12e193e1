// What a product packs: columns as panels, one for each tile's, or as lines where several indices are columns; rows as strips.
//   W: f32[128, 64], read as W[j, k], columns j, terms k, 32 columns in a tile, turned 8 at a time
//     →  local b: f32[4, 64, 32] @worker
//        for j2 in 0:128:8 { for k in 0:64 { map j in j2:+8 @vector { b[j2 // 32, k, j2 % 32 + j - j2] = W[j, k] } } }
#include <algorithm>

#include "transforms/schedule/peel.h"
#include "transforms/schedule/product_schedule.h"

namespace headrace::schedule {
namespace {

Expr FlatOf(const std::vector<Range>& ranges) {
  Expr at(0);
  for (const Range& r : ranges) at = at * r.end + SymbolExpr(r.index);
  return at;
}

}  // namespace

void ProductScheduler::Columns() {
  if (p_.columns.size() == 1 && p_.depth.size() == 1 && p_.around.empty()) {
    const Name column = p_.columns[0].index;
    packed_ = PackedColumns(0);
    if (!packed_) packing_ = PackingOf(*s_, p_.column_operand, column_type_, column, {p_.depth[0].index}, tile_columns_, group_);
  }
  if (packed_) return;
  panels_ = p_.columns.size() == 1 && columns_.most > tile_columns_;
  if (panels_) {
    packed_columns_ = Packed("b", column_type_, {Expr(Ceil(columns_.most, tile_columns_))}, tile_columns_);
    return;
  }
  int64_t line = RoundUp(columns_.most, tile_columns_);
  if (line * ByteSize(p_.type) % d_.cache_stride == 0) line += d_.vector_bytes / ByteSize(p_.type);  // lines in different sets
  packed_columns_ = Packed("b", column_type_, {}, line);
}

// The indices that the depth of a block consists of.
std::vector<Range> ProductScheduler::DepthLoops() const {
  std::vector<Range> loops = p_.depth;
  if (AsInt(depth_.part) == 0) return loops;
  if (loops.size() == 1) return {depth_.Within(loops[0].index, Expr(1))};
  const Expr inner = CountOf({loops.begin() + 1, loops.end()});
  loops[0].begin = FloorDiv(SymbolExpr(depth_.parts), inner);
  loops[0].end = Min(loops[0].begin + FloorDiv(depth_.part, inner), loops[0].end);
  return loops;
}

std::vector<Range> ProductScheduler::ColumnLoops() const {
  std::vector<Range> loops = p_.columns;
  if (AsInt(columns_.part) == 0) return loops;
  if (loops.size() == 1) return {columns_.Within(loops[0].index, Expr(1))};
  const Expr inner = CountOf({loops.begin() + 1, loops.end()});
  loops[0].begin = FloorDiv(SymbolExpr(columns_.parts), inner);
  loops[0].end = Min(loops[0].begin + FloorDiv(columns_.part, inner), loops[0].end);
  return loops;
}

// Memory runs along the depth of the columns, which lie lines apart: packing them takes its time.
bool ProductScheduler::TurnsColumns() const {
  return StepOf(p_.column_operand, p_.columns.back().index) >= d_.transpose_elements &&
         std::any_of(p_.depth.begin(), p_.depth.end(), [&](const Range& r) { return Along(p_.column_operand, r.index); });
}

// Few columns, and a long last index of the depth that memory runs along: whole lines of it are read.
bool ProductScheduler::ReadsLinesOfDepth() const {
  const auto columns = AsInt(ColumnLoops().back().end), along = AsInt(p_.depth.back().end);
  return columns && along && *columns < d_.transpose_elements && *columns < *along && p_.depth.size() > 1 &&
         Along(p_.column_operand, p_.depth.back().index);
}

// Columns that are turned at once: fewer where all their lines share one set of a cache, and would push each other out of it.
int64_t ProductScheduler::TurnedAtOnce() const {
  int64_t bytes = ByteSize(p_.type);
  Visit(p_.column_operand, [&](const Expr& e) {
    if (e.Is(ExprKind::kRead)) bytes = ByteSize(s_->Get(e->name).dtype);
    return true;
  });
  const bool one_set = StepOf(p_.column_operand, p_.columns.back().index) * bytes % (4 * d_.cache_stride) == 0;
  return one_set ? std::max<int64_t>(1, d_.transpose_elements / 2) : d_.transpose_elements;
}

// The place of column `begin + within`, where `begin` is the first of a panel.
ProductScheduler::Place ProductScheduler::PlaceOfColumn(const Expr& begin, const Expr& within) const {
  const Expr from = begin - columns_.first();
  if (!panels_) return {{}, from + within};
  return {{FloorDiv(from, Expr(tile_columns_))}, within};
}

// Lines of the columns of one tile, or some columns at a time where memory runs along the depth.
ProductScheduler::Statements ProductScheduler::PackPanels(const Stretch& x) {
  const Range lane = ColumnLoops().back();
  const bool turned = TurnsColumns();
  const Expr tile(tile_columns_), step(turned ? std::min(TurnedAtOnce(), tile_columns_) : tile_columns_);
  const Range some{FreshIn(*s_, lane.index.str() + "_2"), lane.begin, lane.end, step};
  const Expr begin = SymbolExpr(some.index), before = panels_ && turned ? Mod(begin - columns_.first(), tile) : Expr(0);
  const Place place = PlaceOfColumn(begin, before + SymbolExpr(lane.index) - begin);
  const Statements copies = Copies(x, p_.column_operand, packed_columns_, place.before, place.slot);
  const Statements lanes = PeeledLanes(s_, schedule::Within(some, lane.index), copies);
  if (turned) return Wrap(s_, {{{some}, Schedule::kSequential}, {x.depth, Schedule::kSequential}}, lanes);
  return Wrap(s_, {{x.depth, Schedule::kSequential}, {{some}, Schedule::kSequential}}, lanes);
}

ProductScheduler::Statements ProductScheduler::PackLines(const Stretch& x) {
  std::vector<Range> columns = ColumnLoops(), depth = x.depth;
  const Range lane = columns.back();
  const Statements copies = Copies(x, p_.column_operand, packed_columns_, {}, FlatOf(p_.columns) - columns_.first());
  columns.pop_back();
  if (ReadsLinesOfDepth()) {
    const Range along = depth.back();
    depth.pop_back();
    columns.push_back(lane);
    depth.insert(depth.end(), columns.begin(), columns.end());
    return Wrap(s_, {{depth, Schedule::kSequential}}, PeeledLanes(s_, along, copies));
  }
  if (TurnsColumns()) {
    columns.push_back(lane);
    return Wrap(s_, {{columns, Schedule::kSequential}, {depth, Schedule::kSequential}}, copies);
  }
  depth.insert(depth.end(), columns.begin(), columns.end());
  return Wrap(s_, {{depth, Schedule::kSequential}}, PeeledLanes(s_, lane, copies));
}

ProductScheduler::Statements ProductScheduler::PackColumns() {
  if (packed_) return {};
  Statements out = ClearLastPanel();
  for (const Stretch& x : Stretches()) {
    if (panels_ || (rows_first() && TurnsColumns())) Add(&out, TurnsSquares(x) ? PackSquares(x) : PackPanels(x));
    else Add(&out, PackLines(x));
  }
  Add(&out, Pad());
  return out;
}

// The last tile is read whole, and so is the last group.
ProductScheduler::Statements ProductScheduler::Pad() {
  const Expr tile(tile_columns_), left = columns_.count - columns_.first();
  const bool one = AsInt(columns_.part) == 0;
  const Expr filled = one ? left : Min(left, columns_.part), below = FloorDiv(filled + tile - Expr(1), tile) * tile;
  if (panels_) {
    if (group_ == 1 || IsMultiple(depth_.count, group_)) return {};
    const Range panel{FreshIn(*s_, "q"), Expr(0), FloorDiv(below, tile), Expr(1)};
    return Wrap(s_, {{{panel}, Schedule::kSequential}}, PadGroups({SymbolExpr(panel.index)}, packed_columns_, {u_, Expr(0), tile, Expr(1)}));
  }
  Statements out = PadGroups({}, packed_columns_, {u_, Expr(0), filled, Expr(1)});
  if (IsMultiple(columns_.count, tile_columns_) && !ragged_) return out;
  Add(&out, Wrap(s_, {{{GroupsOfBlock()}, Schedule::kSequential}, {{{u_, filled, below, Expr(1)}}, Schedule::kVector}}, Zeros({}, SymbolExpr(u_))));
  return out;
}

// Of one group of what is packed.
ProductScheduler::Statements ProductScheduler::Zeros(const std::vector<Expr>& before, const Expr& slot) {
  Statements zeros;
  for (int64_t k = 0; k < group_; ++k)
    zeros.push_back(Put(packed_columns_, PlaceIn(before, PlaceOfGroup(), slot, Expr(k)), WriteOp::kAssign, Zero()));
  return zeros;
}

// The last panel that a block fills in part is zero before it is.
ProductScheduler::Statements ProductScheduler::ClearLastPanel() {
  if (!panels_ || (IsMultiple(columns_.count, tile_columns_) && !ragged_)) return {};
  const Expr tile(tile_columns_), left = columns_.count - columns_.first(), last((columns_.most + tile_columns_ - 1) / tile_columns_ - 1);
  const bool one = AsInt(columns_.part) == 0;
  const Expr panel = AsInt(last) == 0 ? last : Min(FloorDiv(one ? left : Min(left, columns_.part), tile), last);
  return Wrap(s_, {{{GroupsOfBlock()}, Schedule::kSequential}, {{{u_, Expr(0), tile, Expr(1)}}, Schedule::kVector}}, Zeros({panel}, SymbolExpr(u_)));
}

// Where the strip of a tile's rows lies in what is packed.
std::vector<Expr> ProductScheduler::PlaceOfStrip() const {
  if (strips_ > 1) return {FloorDiv(SymbolExpr(i1_) - SymbolExpr(i2_), Expr(tile_rows_))};
  if (rows_first()) return {};
  return {FloorDiv(SymbolExpr(i1_) - rows_.first(), Expr(tile_rows_))};
}

bool ProductScheduler::RowsGoAlongDepth() const {
  return !Along(p_.row_operand, p_.row.index) && Along(p_.row_operand, p_.depth.back().index);
}

ProductScheduler::Statements ProductScheduler::Strip(const Range& row, const Expr& slot) {
  const Expr index = SymbolExpr(row.index) + (AsInt(row.begin) == 0 ? SymbolExpr(i1_) : Expr(0));
  const Expr operand = Substitute(p_.row_operand, {{p_.row.index, index}});
  const bool along = RowsGoAlongDepth();
  Statements out;
  for (const Stretch& x : Stretches()) {
    const Statements copies = Copies(x, operand, packed_rows_, PlaceOfStrip(), slot);
    std::vector<Range> depth = x.depth;
    if (!along) {
      Add(&out, Wrap(s_, {{depth, Schedule::kSequential}, {{row}, Schedule::kVector}}, copies));
      continue;
    }
    const Range lane = depth.back();
    depth.pop_back();
    depth.insert(depth.begin(), row);
    Add(&out, Wrap(s_, {{depth, Schedule::kSequential}}, PeeledLanes(s_, lane, copies)));
  }
  Add(&out, PadGroups(PlaceOfStrip(), packed_rows_, {r_, Expr(0), Expr(tile_rows_), Expr(1)}));
  return out;
}

// A strip of as many rows as a tile has, one element of the depth after the other.
ProductScheduler::Statements ProductScheduler::PackRows(const Range& tiles) {
  const Range whole{r_, Expr(0), Expr(tile_rows_), Expr(1)};
  Statements full = Strip(whole, SymbolExpr(r_));
  if (!IsMultiple(rows_.count, tile_rows_)) {
    const Range rest = schedule::Within(tiles, r_);
    full = {s_->AddNode(If{BinaryExpr(Op::kLe, SymbolExpr(i1_) + Expr(tile_rows_), rows_.count), full,
                           Strip(rest, SymbolExpr(r_) - SymbolExpr(i1_))})};
  }
  return full;
}

// Where memory runs along them, lines of several strips are read whole, for those of one lie far apart, and each strip would bring all of
// them again.
void ProductScheduler::Rows() {
  const int64_t strips = Ceil(rows_.most, tile_rows_), most = std::max<int64_t>(1, d_.packed_rows / tile_rows_);
  if (lines_) {
    int64_t line = depth_.most;
    if (line * ByteSize(row_type_) % d_.cache_stride == 0) line += d_.vector_bytes / ByteSize(row_type_);  // lines in different sets
    std::vector<Expr> shape = rows_first() ? std::vector<Expr>() : std::vector<Expr>{Expr(strips)};
    shape.insert(shape.end(), {Expr(tile_rows_), Expr(line)});
    packed_rows_ = schedule::Local(s_, "a", row_type_, std::move(shape), Storage::kWorker);
    return;
  }
  if (!rows_first()) {
    packed_rows_ = Packed("a", row_type_, {Expr(strips)}, tile_rows_);
    return;
  }
  if (group_ == 1 && Along(p_.row_operand, p_.row.index)) strips_ = Ceil(strips, Ceil(strips, most));  // as many each time
  if (strips_ > 1) i2_ = FreshIn(*s_, p_.row.index.str() + "_2");
  packed_rows_ = strips_ > 1 ? Packed("a", row_type_, {Expr(strips_)}, tile_rows_, /*apart=*/true) : Packed("a", row_type_, {}, tile_rows_);
}

// Whether all strips that are packed at once are whole tiles, of one part; null: they always are.
Expr ProductScheduler::StripsAreWhole() const {
  const int64_t together = strips_ * tile_rows_;
  const Expr end = SymbolExpr(i2_) + Expr(together);
  const bool aligned = AsInt(rows_.part) == 0 || IsMultiple(rows_.part, together);
  Expr whole = aligned && IsMultiple(rows_.count, together) ? Expr() : BinaryExpr(Op::kLe, end, rows_.count);
  if (aligned) return whole;
  const Expr within = BinaryExpr(Op::kLe, end, rows_.first() + rows_.part);
  return whole ? BinaryExpr(Op::kAnd, whole, within) : within;
}

// `tiles`: those of the strips.
ProductScheduler::Statements ProductScheduler::PackStrips(const Range& tiles) {
  const Expr i1 = SymbolExpr(i1_), r = SymbolExpr(r_), tile(tile_rows_), whole = StripsAreWhole();
  const Range row = UpTo(r_, tile_rows_), strip = UpTo(FreshIn(*s_, "q"), strips_);
  const Expr q = SymbolExpr(strip.index), place = PlaceOfStrip()[0];
  Statements all, some;
  for (const Stretch& x : Stretches()) {
    const auto copies = [&](const Range& rows, const Expr& index, const Expr& at, const Expr& slot) {
      const Expr operand = Substitute(p_.row_operand, {{p_.row.index, index}});
      return Wrap(s_, {{{rows}, Schedule::kVector}}, Copies(x, operand, packed_rows_, {at}, slot));
    };
    const auto lines = [&](const Range& strips, const Statements& body) {
      return Wrap(s_, {{x.depth, Schedule::kSequential}, {{strips}, Schedule::kSequential}}, body);
    };
    Add(&all, lines(strip, copies(row, SymbolExpr(i2_) + tile * q + r, q, r)));
    if (!whole) continue;
    Statements each = copies(row, i1 + r, place, r);
    if (!IsMultiple(rows_.count, tile_rows_)) {
      const Statements rest = copies(schedule::Within(tiles, r_), r, place, r - i1);
      each = {s_->AddNode(If{BinaryExpr(Op::kLe, i1 + tile, rows_.count), each, rest})};
    }
    Add(&some, lines(tiles, each));
  }
  return whole ? Statements{s_->AddNode(If{whole, all, some})} : all;
}

// `tile`: what is done with each of the tiles.
ProductScheduler::Statements ProductScheduler::InStrips(const Range& tiles, const Range& columns, const Statements& tile) {
  const Range some{i2_, tiles.begin, tiles.end, Expr(strips_ * tile_rows_)};
  Range each = schedule::Within(some, i1_);
  each.step = Expr(tile_rows_);
  Statements out = PackStrips(each);
  Add(&out, Wrap(s_, {{{each, columns}, Schedule::kSequential}}, tile));
  return Wrap(s_, {{{some}, Schedule::kSequential}}, out);
}

}  // namespace headrace::schedule
