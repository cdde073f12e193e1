// How the dimensions of a product are cut: its depth into blocks, rows and columns into parts for threads, and into tiles.
#include <algorithm>

#include "transforms/schedule/product_schedule.h"

namespace headrace::schedule {
namespace {

constexpr int64_t kLikely = 64;  // of something that is not known

// The longest that parts grow: whole ones together.
int64_t MostOf(int64_t part, int64_t least) { return part >= least ? least : RoundUp(least, part); }

}  // namespace

int64_t ProductScheduler::BlockRows() const { return TurnsColumns() ? d_.block_rows_turned : d_.block_rows; }

// Rows that are packed are so for each part of the columns.
int64_t ProductScheduler::BlockColumns() const { return in_place_ != Name() ? d_.block_columns : d_.block_columns_packed; }

// Rows that are packed are so as strips for each block of panels, or all of them before lines of columns. A strip of lines may be as long as
// rows that are read in place, if the columns that pass it are few, which no lanes decide on: bits would be theirs.
int64_t ProductScheduler::BlockDepth() const {
  if (in_place_ != Name()) return d_.block_depth;
  if (!rows_first()) return d_.block_depth_lines;
  const int64_t packed = d_.block_columns_packed * d_.block_depth_packed;
  return lines_ ? std::clamp(packed / wide_, d_.block_depth_packed, std::max(d_.block_depth_packed, d_.block_depth)) : d_.block_depth_packed;
}

// Blocks are of whole steps of the first index, all as long as each other if they can be.
bool ProductScheduler::CutDepth() {
  const std::vector<Range> rest(p_.depth.begin() + 1, p_.depth.end());
  const auto inner = AsInt(CountOf(rest));
  if (!inner || *inner < 1) return false;
  const int64_t longest = group_ * BlockDepth();  // of factors that are as much smaller
  const int64_t most = std::max<int64_t>(1, longest / *inner);
  const auto first = AsInt(p_.depth[0].end);
  int64_t step = most;
  if (first) {
    const int64_t blocks = std::max<int64_t>(1, (*first + most - 1) / most);
    step = std::max<int64_t>(1, (*first + blocks - 1) / blocks);
  }
  while (step * *inner % group_ != 0) ++step;  // whole groups
  depth_ = {CountOf(p_.depth), Expr(first && step >= *first ? 0 : step * *inner), step * *inner,
            FreshIn(*s_, p_.depth[0].index.str() + "_0")};
  return true;
}

// Even parts of at most a block each, and smaller ones where they would be too few for the threads, as many products as there are.
ProductScheduler::Counts ProductScheduler::CountsOf(int64_t products) const {
  const auto rows = AsInt(p_.row.end), columns = AsInt(CountOf(p_.columns));
  Counts n{rows ? std::max<int64_t>(1, Ceil(*rows, BlockRows())) : 1, columns ? std::max<int64_t>(1, Ceil(*columns, BlockColumns())) : 1};
  while (rows && columns && n.high * n.wide * products < d_.product_parts) {
    const int64_t tall = *rows / (n.high + 1), broad = *columns / (n.wide + 1);
    if (std::max(tall, broad) < d_.product_part) break;
    if (tall >= d_.product_part && (tall >= broad || broad < d_.product_part)) ++n.high;
    else ++n.wide;
  }
  return n;
}

// A batch that is not known may be one image: parts are smaller the fewer it has.
bool ProductScheduler::CutRowsAndColumns() {
  const auto times = [](int64_t n, int64_t more) { return std::min<int64_t>(1 << 20, n * std::max<int64_t>(1, more)); };
  int64_t known = 1, likely = 1;
  for (const Range& r : p_.outer) {
    const auto n = AsInt(r.end);
    known = times(known, n.value_or(1)), likely = times(likely, n.value_or(kLikely));
    if (!n) products_ = products_ * r.end;
  }
  const Counts least = CountsOf(likely), most = CountsOf(known);
  return CutRows(least.high, most.high) && CutColumns(least.wide, most.wide);
}

// So long parts, or as many of them together as there are products, up to `most`.
Expr ProductScheduler::Grown(int64_t part, int64_t most) const {
  if (part >= most) return Expr(part);
  return Expr(part) * Min(Max(products_, Expr(1)), Expr(Ceil(most, part)));
}

// Parts of the columns alone, or what goes around the product, are as many as threads want: parts of rows would each pack them again.
bool ProductScheduler::OthersSuffice() const {
  const auto columns = AsInt(CountOf(p_.columns));
  const int64_t outer = BoundsOf(CountOf(p_.outer), s_->assumptions).lo.value_or(0);
  return outer >= d_.product_parts || (columns && *columns >= d_.product_parts * BlockColumns());
}

bool ProductScheduler::CutRows(int64_t least, int64_t most) {
  const Expr m = p_.row.end;
  const auto rows = AsInt(m);
  const Name parts = FreshIn(*s_, p_.row.index.str() + "_0");
  tile_rows_ = d_.tile_rows;
  if (rows) {
    if (*rows < 1) return false;
    tile_rows_ = RowsOfTiles(*rows, tile_rows_, d_);
    const int64_t part = RoundUp(Ceil(*rows, most), tile_rows_), longest = MostOf(part, RoundUp(Ceil(*rows, least), tile_rows_));
    rows_ = {m, part >= *rows ? Expr(0) : Grown(part, longest), longest, parts};
    return true;
  }
  // As many parts as threads want, each of some tiles and at most a block. Sizes are mostly multiples of a power of 2, and a row that
  // is left over takes a third of a tile's time; but a tile needs sums enough.
  int64_t power = tile_rows_;
  while (power & (power - 1)) power &= power - 1;
  if (power * d_.tile_vectors >= d_.tile_sums) tile_rows_ = power;
  const int64_t some = Ceil(d_.product_part, tile_rows_), block = std::max(some, BlockRows() / tile_rows_);
  if (OthersSuffice()) {
    rows_ = {m, Expr(tile_rows_ * block), block * tile_rows_, parts};
    return true;
  }
  const Expr even = FloorDiv(m + Expr(d_.product_parts * tile_rows_ - 1), Expr(d_.product_parts * tile_rows_));
  rows_ = {m, Expr(tile_rows_) * Max(Expr(some), Min(even, Expr(block))), block * tile_rows_, parts};
  return true;
}

// Parts of columns are of whole steps of the first index, and of whole tiles if such are not too long.
bool ProductScheduler::CutColumns(int64_t least, int64_t most) {
  const Expr n = CountOf(p_.columns);
  const auto columns = AsInt(n), width = AsInt(CountOf({p_.columns.begin() + 1, p_.columns.end()}));
  if (!width || *width < 1 || (columns && *columns < 1)) return false;
  const int64_t lanes = std::max<int64_t>(1, d_.vector_bytes / ByteSize(p_.type));
  tile_columns_ = columns && *columns <= lanes ? lanes : d_.tile_vectors * lanes;
  const Name parts = FreshIn(*s_, p_.columns.back().index.str() + "_0");
  int64_t unit = *width;
  while (unit % tile_columns_ != 0 && unit + *width <= 2 * BlockColumns()) unit += *width;
  if (unit % tile_columns_ != 0) unit = *width;
  const int64_t block = std::max(unit, BlockColumns() / unit * unit);
  const auto length = [&](int64_t count) { return columns ? std::min(RoundUp(Ceil(*columns, count), unit), std::max(block, unit)) : block; };
  wide_ = columns ? std::min(Ceil(*columns, least), BlockColumns()) : BlockColumns();
  const int64_t part = length(most), longest = MostOf(part, length(least));
  const bool one = columns && part >= *columns;
  columns_ = {n, one ? Expr(0) : Grown(part, longest), one ? *columns : longest, parts};
  ragged_ = !one && part % tile_columns_ != 0;
  return true;
}

}  // namespace headrace::schedule
