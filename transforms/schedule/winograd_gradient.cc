#include "transforms/schedule/winograd_gradient.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"
#include "transforms/schedule/winograd_transform.h"

namespace headrace::schedule {
namespace {

// Whole tiles of columns, as many in each part.
int64_t PartOf(int64_t count, int64_t most, int64_t width) { return Ceil(Ceil(count, width), Ceil(count, most)) * width; }

}  // namespace

bool WinogradGradientScheduler::Applies() {
  if (!c_.turned || !c_.outer.empty() || !c_.blocks.empty() || c_.points.size() != 3 || c_.terms.size() != 2 || c_.type != DType::kF32) return false;
  const std::vector<Range> taps(c_.points.begin(), c_.points.end() - 1);
  const auto gradients = WindowReadOf(*s_, c_.weights);
  const auto lines = WindowAlong(c_.data, c_.terms[0].index, taps), row = WindowAlong(c_.data, c_.terms[1].index, taps);
  if (!gradients || gradients->outside || !lines || !row || lines->term == row->term) return false;
  along_lines_ = *lines, along_row_ = *row;
  k_ = taps[taps[0].index == lines->term ? 0 : 1], l_ = taps[taps[0].index == lines->term ? 1 : 0];
  lines_.whole = c_.terms[0], row_.whole = c_.terms[1];
  for (const Range& r : c_.terms) {  // gradients are those of the places, and there are no others: beyond the last one a tile has zeros
    const auto at = std::find(gradients->index.begin(), gradients->index.end(), SymbolExpr(r.index));
    if (at == gradients->index.end()) return false;
    if (s_->Get(gradients->container).shape[static_cast<size_t>(at - gradients->index.begin())] != r.end) return false;
  }
  data_.read = c_.data, data_.channels.whole = c_.points.back();
  gradients_.read = *gradients, gradients_.channels.whole = c_.columns;
  if (!ReadsPlainly(*s_, data_.read, c_.points.back().index) || !ReadsPlainly(*s_, gradients_.read, c_.columns.index)) return false;
  const WinogradSizes n{ImagesOf(c_.around, d_), LengthOf(lines_.whole), LengthOf(row_.whole), LengthOf(c_.points.back()), LengthOf(c_.columns)};
  return std::min(n.channels, n.results) >= d_.winograd_channels && SavesEnough(n, d_);
}

// Parts of both sides, more where there would be too few for the threads. They decide on no bits.
void WinogradGradientScheduler::CutChannels() {
  const auto step = [&](const Side& side) { return StepOf(*s_, c_.sum.target, c_.sum.index, false, side.channels.whole.index); };
  const bool data = step(data_) < step(gradients_);
  columns_ = data ? &data_ : &gradients_, rows_ = data ? &gradients_ : &data_;
  const int64_t lanes = std::max<int64_t>(1, d_.vector_bytes / ByteSize(DType::kF32));
  width_ = d_.tile_vectors * lanes;
  const int64_t rows = LengthOf(rows_->channels.whole), columns = LengthOf(columns_->channels.whole);
  int64_t high = d_.winograd_span, wide = d_.winograd_span;
  const auto parts = [&] { return Ceil(rows, high) * Ceil(columns, wide); };
  while (parts() < d_.product_parts && std::max(high, wide) > d_.winograd_channels) (high >= wide ? high : wide) /= 2;
  rows_->channels.length = PartOf(rows, high, 1), columns_->channels.length = PartOf(columns, wide, width_);
  for (Side* side : {rows_, columns_}) side->channels.first = FreshIn(*s_, side->channels.whole.index.str() + "_0");
}

// Blocks of tiles are terms of a sum: their sizes depend on shapes alone.
bool WinogradGradientScheduler::LayOut() {
  lines_.first = FreshIn(*s_, lines_.whole.index.str() + "_0");
  row_.first = FreshIn(*s_, row_.whole.index.str() + "_0");
  const int64_t most = d_.winograd_elements / (kProducts * d_.winograd_span);
  const TileBlock block = BlockOfTiles(Ceil(LengthOf(lines_.whole), kPoints), Ceil(LengthOf(row_.whole), kPoints), most, d_);
  tile_lines_ = block.lines, tile_columns_ = block.columns;
  lines_.length = kPoints * tile_lines_, row_.length = kPoints * tile_columns_;
  for (Side* side : {&data_, &gradients_}) {
    const Parts& c = side->channels;
    std::vector<Moving> moving = {
        {c.whole.index, c.begin(), c.length, LengthOf(c.whole) % c.length != 0},
        {lines_.whole.index, lines_.begin(), lines_.length, LengthOf(lines_.whole) % lines_.length != 0},
        {row_.whole.index, row_.begin(), row_.length, LengthOf(row_.whole) % row_.length != 0}};
    if (side == &data_) moving.push_back({k_.index, Expr(0), kTaps, false}), moving.push_back({l_.index, Expr(0), kTaps, false});
    side->strip = Strip::Of(*s_, side->read, moving);
    if (!side->strip) return false;
    side->strip->Declare(s_, DType::kF32, d_);
  }
  return true;
}

// Bands of whole blocks, where one thread would have all channels: as many as shapes decide, for they are terms of a sum, too.
void WinogradGradientScheduler::CutLines() {
  const int64_t blocks = Ceil(LengthOf(lines_.whole), lines_.length);
  const bool one = std::max(LengthOf(rows_->channels.whole), LengthOf(columns_->channels.whole)) <= d_.winograd_channels && d_.block_threads == 1;
  bands_ = {lines_.whole, one ? Ceil(blocks, d_.term_parts) * lines_.length : LengthOf(lines_.whole), FreshIn(*s_, "band")};
}

std::vector<Expr> WinogradGradientScheduler::SumAt(Expr product, Expr row, Expr column) const {
  std::vector<Expr> out = {std::move(product), std::move(row), std::move(column)};
  if (!bands_.one()) out.insert(out.begin(), FloorDiv(bands_.begin(), Expr(bands_.length)));
  return out;
}

// v[e, tile, c] or g[e, tile, o], 0 beyond the last channel.
WinogradGradientScheduler::Statements WinogradGradientScheduler::Transform(Side* side, bool data) {
  side->tiles = Local(data ? "v" : "g", {kProducts, LinesApart(tile_lines_ * tile_columns_, side->channels.length, d_), side->channels.length});
  const Name line = FreshIn(*s_, "ty"), column = FreshIn(*s_, "tx"), c = FreshIn(*s_, "q");
  const auto at = [&](NameMap* places, const WindowOfThree& w, const Expr& begin, Name tile, int64_t i) {
    const int64_t k = data ? std::min(i, kTaps - 1) : 0;  // the i-th place is tap k of point i - k
    places->emplace_back(w.point, begin + Expr(kPoints) * SymbolExpr(tile) + Expr(i - k));
    if (data) places->emplace_back(w.term, Expr(w.back ? kTaps - 1 - k : k));
  };
  const auto read = [&](int64_t i, int64_t k) {
    NameMap places = {{side->channels.whole.index, side->channels.begin() + SymbolExpr(c)}};
    at(&places, along_lines_, lines_.begin(), line, i);
    at(&places, along_row_, row_.begin(), column, k);
    return side->strip->Read(places);
  };
  const auto put = [&](int64_t i, int64_t k, Expr value) {
    return Put(side->tiles, {Expr(kSide * i + k), Expr(tile_columns_) * SymbolExpr(line) + SymbolExpr(column), SymbolExpr(c)}, std::move(value));
  };
  Statements out = side->strip->Fill(s_);
  Add(&out, Wrap(s_, {{{UpTo(line, tile_lines_), UpTo(column, tile_columns_)}, Schedule::kSequential}, {{UpTo(c, side->channels.length)}, Schedule::kVector}},
                 TransformBothSides(s_, data ? kTurnedDataTransform : kGradientTransform, read, put)));
  return out;
}

// m[e, r1 + r, u1 + u] of a block of tiles.
WinogradGradientScheduler::Statements WinogradGradientScheduler::Tile(int64_t count, Name e) {
  const Name t = Local("t", {count, width_}, Storage::kRegister), p = FreshIn(*s_, "p");
  const Expr row = SymbolExpr(r1_) + SymbolExpr(r_), column = SymbolExpr(u1_) + SymbolExpr(u_);
  const Level each{{UpTo(r_, count)}, Schedule::kUnroll}, lanes{{UpTo(u_, width_)}, Schedule::kVector};
  const std::vector<Expr> at = {SymbolExpr(r_), SymbolExpr(u_)};
  const Expr fma = CallExpr("fma", {ReadExpr(rows_->tiles, {SymbolExpr(e), SymbolExpr(p), row}),
                                    ReadExpr(columns_->tiles, {SymbolExpr(e), SymbolExpr(p), column}), ReadExpr(t, at)});
  Statements out = Wrap(s_, {each, lanes}, {Put(t, at, FloatExpr(0))});
  Add(&out, Wrap(s_, {{{UpTo(p, tile_lines_ * tile_columns_)}, Schedule::kSequential}, each, lanes}, {Put(t, at, fma)}));
  Add(&out, Wrap(s_, {each, lanes}, {Put(sums_, SumAt(SymbolExpr(e), row, column), ReadExpr(t, at), WriteOp::kAdd)}));
  return out;
}

WinogradGradientScheduler::Statements WinogradGradientScheduler::Products() {
  const int64_t rows = rows_->channels.length, columns = columns_->channels.length;
  const int64_t high = Ceil(rows, Ceil(rows, d_.point_rows)), rest = rows % high;
  const Name e = FreshIn(*s_, "w");
  Statements some = Tile(high, e);
  if (rest != 0) some = {s_->AddNode(If{BinaryExpr(Op::kLe, SymbolExpr(r1_) + Expr(high), Expr(rows)), some, Tile(rest, e)})};
  return Wrap(s_, {{{UpTo(e, kProducts), UpTo(u1_, columns, width_), UpTo(r1_, rows, high)}, Schedule::kSequential}}, some);
}

// Of all channels of a part that there are. Lanes write to memory where that runs along them; where the taps lie between two channels, a row
// is there one channel after the other.
WinogradGradientScheduler::Statements WinogradGradientScheduler::Results() {
  const Parts &rows = rows_->channels, &columns = columns_->channels;
  const Expr row = SymbolExpr(rows.whole.index);
  const bool along = StepOf(*s_, c_.sum.target, c_.sum.index, false, columns.whole.index) == 1;
  const Name channel = along ? u_ : columns.whole.index;
  const Name near = along ? Name() : Local("x", {kTaps, kTaps, columns.length});
  const auto read = [&](int64_t i, int64_t k) {
    return ReadExpr(sums_, {Expr(kSide * i + k), row - rows.begin(), SymbolExpr(u_) - columns.begin()});
  };
  Statements completed;
  const auto complete = [&](int64_t i, int64_t k, const Expr& value) {
    const auto tap = [](const WindowOfThree& w, int64_t n) { return std::make_pair(w.term, Expr(w.back ? kTaps - 1 - n : n)); };
    Add(&completed, CompletedAt(s_, completion_, {tap(along_lines_, i), tap(along_row_, k), {columns.whole.index, SymbolExpr(channel)}}, value));
  };
  const auto put = [&](int64_t i, int64_t k, Expr value) {
    const Name at = along ? Local("x", {}, Storage::kRegister) : near;
    const std::vector<Expr> index = {Expr(i), Expr(k), SymbolExpr(u_) - columns.begin()};
    complete(i, k, along ? ReadExpr(at, {}) : ReadExpr(at, {Expr(i), Expr(k), SymbolExpr(channel) - columns.begin()}));
    return Put(at, along ? std::vector<Expr>() : index, std::move(value));
  };
  Statements each = TransformBothSides(s_, kTurnedResultsTransform, read, put);
  if (along) Add(&each, completed);
  each = Wrap(s_, {{{columns.Within(u_, 1)}, Schedule::kVector}}, each);
  if (!along) Add(&each, Wrap(s_, {{{columns.Within(channel, 1)}, Schedule::kSequential}}, completed));
  return Wrap(s_, {{{rows.Within(rows.whole.index, 1)}, Schedule::kSequential}}, each);
}

// The sums of all bands, in their order.
WinogradGradientScheduler::Statements WinogradGradientScheduler::AddUp() {
  const int64_t rows = rows_->channels.length, columns = columns_->channels.length;
  const Name all = Local("m", {kProducts, LinesApart(rows, columns, d_), columns}), bands = sums_;
  const Name e = FreshIn(*s_, "z0"), row = FreshIn(*s_, "z1"), band = FreshIn(*s_, "z2");
  const Level lanes{{UpTo(u_, columns)}, Schedule::kVector};
  const std::vector<Expr> at = {SymbolExpr(e), SymbolExpr(row), SymbolExpr(u_)};
  const Expr read = ReadExpr(bands, {SymbolExpr(band), at[0], at[1], at[2]});
  Statements each = Wrap(s_, {lanes}, {Put(all, at, FloatExpr(0))});
  Add(&each, Wrap(s_, {{{UpTo(band, Ceil(LengthOf(bands_.whole), bands_.length))}, Schedule::kSequential}, lanes}, {Put(all, at, read, WriteOp::kAdd)}));
  sums_ = all;
  return Wrap(s_, {{{UpTo(e, kProducts), UpTo(row, rows)}, Schedule::kSequential}}, each);
}

std::optional<std::vector<NodeId>> WinogradGradientScheduler::Run() {
  CutChannels();
  if (!LayOut()) return std::nullopt;
  CutLines();
  r_ = FreshIn(*s_, "r"), u_ = FreshIn(*s_, "u"), r1_ = FreshIn(*s_, "r1"), u1_ = FreshIn(*s_, "u1");
  const int64_t rows = rows_->channels.length, columns = columns_->channels.length;
  std::vector<int64_t> shape = {kProducts, LinesApart(rows, columns, d_), columns};
  if (!bands_.one()) shape.insert(shape.begin(), Ceil(LengthOf(bands_.whole), bands_.length));
  sums_ = Local(bands_.one() ? "m" : "partial", shape);
  const Name e = FreshIn(*s_, "z0"), row = FreshIn(*s_, "z1");
  Statements out = Wrap(s_, {{{UpTo(e, kProducts), UpTo(row, rows)}, Schedule::kSequential}, {{UpTo(u_, columns)}, Schedule::kVector}},
                        {Put(sums_, SumAt(SymbolExpr(e), SymbolExpr(row), SymbolExpr(u_)), FloatExpr(0))});
  Statements block = Transform(&data_, true);
  Add(&block, Transform(&gradients_, false));
  Add(&block, Products());
  std::vector<Range> blocks = c_.around, units;
  if (!lines_.one()) blocks.push_back(bands_.Within(lines_.first, lines_.length));
  row_.AddTo(&blocks);
  Add(&out, Wrap(s_, {{blocks, Schedule::kSequential}}, block));
  if (!bands_.one()) {
    bands_.AddTo(&units);
    out = Wrap(s_, {{units, Schedule::kParallel}}, out);
    Add(&out, AddUp());
    Add(&out, Results());
    return out;
  }
  Add(&out, Results());
  for (const Side* side : {rows_, columns_}) side->channels.AddTo(&units);
  return Wrap(s_, {{units, Schedule::kParallel}}, out);
}

}  // namespace headrace::schedule
