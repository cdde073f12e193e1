#include "transforms/schedule/winograd.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"
#include "transforms/schedule/winograd_transform.h"

namespace headrace::schedule {
namespace {

bool IsZero(const Expr& e) { return AsInt(e) == 0 || (e.Is(ExprKind::kFloat) && e->fvalue == 0); }

}  // namespace

std::optional<WindowOfThree> WindowAlong(const WindowRead& data, Name place, const std::vector<Range>& taps) {
  const Expr* along = nullptr;
  for (const Expr& e : data.index) {
    if (!Mentions(e, place)) continue;
    if (along) return std::nullopt;
    along = &e;
  }
  const auto by = along ? Coefficient(*along, place) : std::nullopt;
  if (!by || AsInt(*by) != 1) return std::nullopt;
  WindowOfThree out{place, Name(), false};
  for (const Range& r : taps) {
    if (!Mentions(*along, r.index)) continue;
    const auto step = Coefficient(*along, r.index);
    if (out.term != Name() || LengthOf(r) != kTaps || !step || std::abs(AsInt(*step).value_or(0)) != 1) return std::nullopt;
    out.term = r.index, out.back = AsInt(*step) == -1;
  }
  return out.term == Name() ? std::nullopt : std::optional<WindowOfThree>(out);
}

bool ReadsPlainly(const Sdfg& s, const WindowRead& data, Name channel) {
  if (s.Get(data.container).dtype != DType::kF32 || data.cast != DType::kNone || data.more != 0) return false;
  if (data.outside && !IsZero(data.outside)) return false;
  const bool alone = std::find(data.index.begin(), data.index.end(), SymbolExpr(channel)) != data.index.end();
  return alone && StepOf(s, data.container, data.index, false, channel) == 1;
}

int64_t ImagesOf(const std::vector<Range>& ranges, const Device& d) {
  int64_t n = 1;
  for (const Range& r : ranges) n = std::min<int64_t>(1 << 20, n * std::max<int64_t>(1, AsInt(r.end).value_or(d.symbol_size)));
  return n;
}

bool SavesEnough(const WinogradSizes& n, const Device& d) {
  const auto of = [](int64_t k) { return static_cast<double>(k); };
  const double images = of(n.images), channels = of(n.channels), results = of(n.results);
  const double tiles = of(Ceil(n.lines, kPoints) * Ceil(n.row, kPoints));
  const double direct = of(kTaps * kTaps * n.lines * n.row) * channels * results * images;
  const double ours = images * tiles * kProducts * (channels * results + 4 * (channels + results)) + 2 * kProducts * channels * results;
  return 100 * ours <= of(100 - d.winograd_gain) * direct;
}

TileBlock BlockOfTiles(int64_t lines, int64_t columns, int64_t most, const Device& d) {
  TileBlock out{0, columns};
  while (out.columns > most && out.columns >= 2 * d.winograd_tiles) out.columns = Ceil(out.columns, 2);
  for (int64_t some = 1; some <= (out.columns == columns ? lines : 1); ++some) {
    if (out.lines != 0 && 8 * Ceil(lines, some) * some > 9 * lines) continue;
    if (out.lines == 0 || out.lines * columns < d.winograd_tiles || some * columns <= most) out.lines = some;
  }
  return out;
}

int64_t LinesApart(int64_t lines, int64_t elements, const Device& d) {
  return lines + (lines * elements * ByteSize(DType::kF32) % d.cache_stride == 0 ? 1 : 0);
}

bool WinogradScheduler::Applies() {
  if (c_.turned || !c_.around.empty() || !c_.outer.empty() || !c_.blocks.empty() || c_.points.size() < 2 || c_.terms.size() != 3) return false;
  lines_.whole = c_.points[c_.points.size() - 2], row_.whole = c_.points.back();
  others_.assign(c_.points.begin(), c_.points.end() - 2);
  const auto lines = WindowAlong(c_.data, lines_.whole.index, c_.terms), row = WindowAlong(c_.data, row_.whole.index, c_.terms);
  if (!lines || !row || lines->term == row->term || LengthOf(lines_.whole) < 1 || c_.type != DType::kF32) return false;
  along_lines_ = *lines, along_row_ = *row;
  channel_ = *std::find_if(c_.terms.begin(), c_.terms.end(), [&](const Range& r) { return r.index != lines->term && r.index != row->term; });
  const WinogradSizes n{ImagesOf(others_, d_), LengthOf(lines_.whole), LengthOf(row_.whole), LengthOf(channel_), LengthOf(c_.columns)};
  return std::min(n.channels, n.results) >= d_.winograd_channels && ReadsPlainly(*s_, c_.data, channel_.index) && SavesEnough(n, d_);
}

// As many lines as their data, transformed, stay near.
bool WinogradScheduler::CutPoints() {
  lines_.first = FreshIn(*s_, lines_.whole.index.str() + "_0");
  row_.first = FreshIn(*s_, row_.whole.index.str() + "_0");
  const int64_t most = d_.winograd_elements / (kProducts * LengthOf(channel_));
  const TileBlock block = BlockOfTiles(Ceil(LengthOf(lines_.whole), kPoints), Ceil(LengthOf(row_.whole), kPoints), most, d_);
  tile_lines_ = block.lines, tile_columns_ = block.columns;
  lines_.length = kPoints * tile_lines_, row_.length = kPoints * tile_columns_;
  strip_ = Strip::Of(*s_, c_.data,
                     {{along_lines_.term, Expr(0), kTaps, false}, {along_row_.term, Expr(0), kTaps, false},
                      {channel_.index, Expr(0), LengthOf(channel_), false},
                      {lines_.whole.index, lines_.begin(), lines_.length, LengthOf(lines_.whole) % lines_.length != 0},
                      {row_.whole.index, row_.begin(), row_.length, LengthOf(row_.whole) % row_.length != 0}});
  return strip_.has_value();
}

// All channels of results, or parts of them where there would be too few units for the threads: a batch that is not known may be one image,
// and has the smaller parts the fewer it has.
void WinogradScheduler::CutColumns() {
  const int64_t lanes = std::max<int64_t>(1, d_.vector_bytes / ByteSize(DType::kF32));
  width_ = LengthOf(c_.columns) <= lanes ? lanes : d_.tile_vectors * lanes;
  const int64_t panels = Ceil(LengthOf(c_.columns), width_);
  int64_t units = Ceil(LengthOf(lines_.whole), lines_.length) * Ceil(LengthOf(row_.whole), row_.length);
  Expr images(1);
  for (const Range& r : others_) {
    if (const auto known = AsInt(r.end)) units = std::min<int64_t>(1 << 20, units * std::max<int64_t>(1, *known));
    else images = images * r.end;
  }
  const int64_t parts = std::min(panels, Ceil(d_.product_parts, units)), length = Ceil(panels, parts) * width_;
  columns_ = {c_.columns, length, FreshIn(*s_, c_.columns.index.str() + "_0")};
  if (!columns_.one() && !AsInt(images)) columns_.by = Expr(length) * Min(Max(images, Expr(1)), Expr(Ceil(panels * width_, length)));
}

// The weights are panels of transformed windows already.
bool WinogradScheduler::FindTransformed() {
  Visit(c_.weights, [&](const Expr& e) {
    if (e.Is(ExprKind::kRead)) weights_ = e->name;
    return weights_ == Name();
  });
  if (weights_ == Name() || along_lines_.back || along_row_.back) return false;
  const Container& c = s_->Get(weights_);
  const std::vector<Expr> shape = {Expr(Ceil(LengthOf(c_.columns), width_)), Expr(kProducts), channel_.end, Expr(width_)};
  if (c.kind != ContainerKind::kParameter || c.dtype != DType::kF32 || !c.row_major() || c.shape != shape) return false;
  const Expr column = SymbolExpr(c_.columns.index), channel = SymbolExpr(channel_.index), width(width_);
  const auto element = [&](int64_t e) { return ReadExpr(weights_, {FloorDiv(column, width), Expr(e), channel, Mod(column, width)}); };
  return c_.weights == WeightsOf(element, SymbolExpr(along_lines_.term), SymbolExpr(along_row_.term));
}

Expr WinogradScheduler::Weight(const Expr& e) const {
  if (near_) return ReadExpr(weights_, {e, SymbolExpr(channel_.index), SymbolExpr(u_)});
  return ReadExpr(weights_, {FloorDiv(SymbolExpr(j_), Expr(width_)), e, SymbolExpr(channel_.index), SymbolExpr(u_)});
}

// Once, for all parts: b[j // 32, 4*i + k, c, u]; near: of one panel. Beyond the last channel 0.
WinogradScheduler::Statements WinogradScheduler::TransformWeights() {
  const int64_t count = LengthOf(c_.columns), rest = count % width_, panels = Ceil(count, width_);
  if (!along_lines_.back && !along_row_.back) {
    packing_ = PackingOf(*s_, c_.weights, DType::kF32, c_.columns.index, {along_lines_.term, along_row_.term, channel_.index}, width_);
    if (packing_) packing_->transformed = true;
  }
  std::vector<int64_t> shape = {panels, kProducts, LinesApart(LengthOf(channel_), width_, d_), width_};
  if (near_) shape.erase(shape.begin());
  weights_ = Local("b", shape);
  const Expr j = SymbolExpr(j_), u = SymbolExpr(u_);
  const auto tap = [](const WindowOfThree& w, int64_t k) { return std::make_pair(w.term, Expr(w.back ? kTaps - 1 - k : k)); };
  const auto lanes = [&](int64_t begin, int64_t end, bool there) {
    const auto read = [&](int64_t i, int64_t k) {
      return Substitute(c_.weights, {{c_.columns.index, j + u}, tap(along_lines_, i), tap(along_row_, k)});
    };
    const auto put = [&](int64_t i, int64_t k, Expr value) {
      return Put(weights_, Weight(Expr(kSide * i + k))->args, there ? value : FloatExpr(0));
    };
    Statements body;
    if (there) body = TransformBothSides(s_, kWeightsTransform, read, put);
    for (int64_t e = 0; !there && e < kProducts; ++e) body.push_back(put(e / kSide, e % kSide, {}));
    return Wrap(s_, {{{{u_, Expr(begin), Expr(end), Expr(1)}}, Schedule::kVector}}, body);
  };
  Statements some = lanes(0, rest == 0 ? width_ : rest, true);
  if (rest != 0) Add(&some, lanes(rest, width_, false));
  if (rest != 0 && panels > 1) some = {s_->AddNode(If{BinaryExpr(Op::kLe, j + Expr(width_), Expr(count)), lanes(0, width_, true), some})};
  if (near_) return Wrap(s_, {{{UpTo(channel_.index, LengthOf(channel_))}, Schedule::kSequential}}, some);
  const int64_t vectors = Ceil(width_ * ByteSize(DType::kF32), d_.vector_bytes);
  const Shared shared = ShareOut(*s_, {UpTo(j_, count, width_), UpTo(channel_.index, LengthOf(channel_))}, Expr(4 * kProducts * vectors), d_);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, some);
}

WinogradScheduler::Statements WinogradScheduler::EachTile(Name line, Name column, const Level& lanes, const Statements& body) const {
  return Wrap(s_, {{{UpTo(line, tile_lines_), UpTo(column, tile_columns_)}, Schedule::kSequential}, lanes}, body);
}

// v[e, tile, c] of the strip: rows 2*line to 2*line + 3.
WinogradScheduler::Statements WinogradScheduler::TransformData() {
  const int64_t channels = LengthOf(channel_), line_bytes = channels * ByteSize(DType::kF32);
  const int64_t apart = line_bytes % d_.cache_stride == 0 ? d_.vector_bytes / ByteSize(DType::kF32) : 0;  // tiles in different sets
  data_ = Local("v", {kProducts, tile_lines_ * tile_columns_, channels + apart});
  const Name line = FreshIn(*s_, "ty"), column = FreshIn(*s_, "tx");
  const auto at = [&](NameMap* places, const WindowOfThree& w, const Expr& begin, Name tile, int64_t i) {
    const int64_t k = std::min(i, kTaps - 1);  // the i-th place is tap k of point i - k
    places->emplace_back(w.point, begin + Expr(kPoints) * SymbolExpr(tile) + Expr(i - k));
    places->emplace_back(w.term, Expr(w.back ? kTaps - 1 - k : k));
  };
  const auto read = [&](int64_t i, int64_t k) {
    NameMap places;
    at(&places, along_lines_, lines_.begin(), line, i);
    at(&places, along_row_, row_.begin(), column, k);
    return strip_->Read(places);
  };
  const auto put = [&](int64_t i, int64_t k, Expr value) {
    return Put(data_, {Expr(kSide * i + k), TileOf(SymbolExpr(line), SymbolExpr(column)), SymbolExpr(channel_.index)}, std::move(value));
  };
  return EachTile(line, column, {{UpTo(channel_.index, channels)}, Schedule::kVector}, TransformBothSides(s_, kDataTransform, read, put));
}

// m[e, p + r, u] for some tiles p.
WinogradScheduler::Statements WinogradScheduler::Tile(int64_t rows, Name e, Name p) {
  const Name t = Local("t", {rows, width_}, Storage::kRegister), r = FreshIn(*s_, "r");
  const Expr tile = SymbolExpr(p) + SymbolExpr(r), u = SymbolExpr(u_), c = SymbolExpr(channel_.index);
  const Level each{{UpTo(r, rows)}, Schedule::kUnroll}, lanes{{UpTo(u_, width_)}, Schedule::kVector};
  const std::vector<Expr> at = {SymbolExpr(r), u};
  const Expr fma = CallExpr("fma", {ReadExpr(data_, {SymbolExpr(e), tile, c}), Weight(SymbolExpr(e)), ReadExpr(t, at)});
  Statements out = Wrap(s_, {each, lanes}, {Put(t, at, FloatExpr(0))});
  Add(&out, Wrap(s_, {{{UpTo(channel_.index, LengthOf(channel_))}, Schedule::kSequential}, each, lanes}, {Put(t, at, fma)}));
  Add(&out, Wrap(s_, {each, lanes}, {Put(sums_, {SymbolExpr(e), tile, u}, ReadExpr(t, at))}));
  return out;
}

WinogradScheduler::Statements WinogradScheduler::Products() {
  const int64_t tiles = tile_lines_ * tile_columns_, rows = Ceil(tiles, Ceil(tiles, d_.point_rows)), rest = tiles % rows;
  sums_ = Local("m", {kProducts, LinesApart(tiles, width_, d_), width_});
  const Name e = FreshIn(*s_, "w"), p = FreshIn(*s_, "p");
  Statements some = Tile(rows, e, p);
  if (rest != 0) some = {s_->AddNode(If{BinaryExpr(Op::kLe, SymbolExpr(p) + Expr(rows), Expr(tiles)), some, Tile(rest, e, p)})};
  return Wrap(s_, {{{UpTo(e, kProducts), UpTo(p, tiles, rows)}, Schedule::kSequential}}, some);
}

WinogradScheduler::Statements WinogradScheduler::TransformSums() {
  results_ = Local("z", {lines_.length, row_.length, width_});
  const Name line = FreshIn(*s_, "ty"), column = FreshIn(*s_, "tx");
  const auto read = [&](int64_t i, int64_t k) {
    return ReadExpr(sums_, {Expr(kSide * i + k), TileOf(SymbolExpr(line), SymbolExpr(column)), SymbolExpr(u_)});
  };
  const auto put = [&](int64_t i, int64_t k, Expr value) {
    return Put(results_, {Expr(kPoints) * SymbolExpr(line) + Expr(i), Expr(kPoints) * SymbolExpr(column) + Expr(k), SymbolExpr(u_)}, std::move(value));
  };
  return EachTile(line, column, {{UpTo(u_, width_)}, Schedule::kVector}, TransformBothSides(s_, kResultsTransform, read, put));
}

WinogradScheduler::Statements WinogradScheduler::Results() {
  const int64_t count = LengthOf(c_.columns), rest = count % width_;
  const Expr j = SymbolExpr(j_), line = SymbolExpr(lines_.whole.index) - lines_.begin(), point = SymbolExpr(row_.whole.index) - row_.begin();
  const auto some = [&](int64_t columns) {
    const Statements completed =
        CompletedAt(s_, completion_, {{c_.columns.index, j + SymbolExpr(u_)}}, ReadExpr(results_, {line, point, SymbolExpr(u_)}));
    return Wrap(s_, {{{UpTo(u_, columns)}, Schedule::kVector}}, completed);
  };
  Statements all = some(rest == 0 || count > width_ ? width_ : rest);
  if (rest != 0 && count > width_) all = {s_->AddNode(If{BinaryExpr(Op::kLe, j + Expr(width_), Expr(count)), all, some(rest)})};
  return Wrap(s_, {{{lines_.Within(lines_.whole.index, 1), row_.Within(row_.whole.index, 1)}, Schedule::kSequential}}, all);
}

// Whether every unit works on panels of its own, if there is one image: what is transformed of many weights is then used where it is made.
bool WinogradScheduler::MayBeNear() const {
  const int64_t weights = kTaps * kTaps * LengthOf(channel_) * LengthOf(c_.columns);
  return !packed_ && lines_.one() && row_.one() && weights >= d_.prefetch_elements;
}

WinogradScheduler::Statements WinogradScheduler::Images(bool near) {
  near_ = near;
  Statements out = packed_ || near ? Statements() : TransformWeights();
  strip_->Declare(s_, DType::kF32, d_);
  Statements body = strip_->Fill(s_);
  Add(&body, TransformData());
  Statements panel = near ? TransformWeights() : Statements();
  Add(&panel, Products());
  Add(&panel, TransformSums());
  Add(&panel, Results());
  Add(&body, Wrap(s_, {{{columns_.Within(j_, width_)}, Schedule::kSequential}}, panel));
  std::vector<Range> units = others_;
  lines_.AddTo(&units);
  row_.AddTo(&units);
  columns_.AddTo(&units);
  Add(&out, Wrap(s_, {{units, Schedule::kParallel}}, body));
  return out;
}

std::optional<std::vector<NodeId>> WinogradScheduler::Run() {
  if (!CutPoints()) return std::nullopt;
  CutColumns();
  j_ = FreshIn(*s_, c_.columns.index.str() + "_1"), u_ = FreshIn(*s_, "u");
  packed_ = FindTransformed();
  const Expr images = CountOf(others_);
  const auto bounds = BoundsOf(images, s_->assumptions);
  if (!MayBeNear() || bounds.lo.value_or(0) > 1) return Images(false);
  if (bounds.hi && *bounds.hi <= 1) return Images(true);
  Statements one = Images(true), several = Images(false);
  return Statements{s_->AddNode(If{BinaryExpr(Op::kLe, images, Expr(1)), std::move(one), std::move(several)})};
}

}  // namespace headrace::schedule
