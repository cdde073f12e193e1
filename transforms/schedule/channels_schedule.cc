#include "transforms/schedule/channels_schedule.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
Name ChannelsScheduler::Local(const std::string& stem, std::vector<int64_t> shape, Storage storage) {
  return schedule::Local(s_, stem, c_.type, {shape.begin(), shape.end()}, storage);
}

void ChannelsScheduler::ChooseTile() {
  const int64_t rows = LengthOf(row_.whole), most = d_.point_rows;
  tile_rows_ = RowsOfTiles(rows, most, d_);
  if (has_lines_ && tile_rows_ == rows) tile_lines_ = std::clamp<int64_t>(most / rows, 1, LengthOf(lines_.whole));
  const int64_t lanes = std::max<int64_t>(1, d_.vector_bytes / ByteSize(c_.type));
  width_ = LengthOf(c_.columns) <= lanes ? lanes : d_.tile_vectors * lanes;
}

// The data of one block of terms, for so many lines and points of each.
bool ChannelsScheduler::SetStrip(int64_t lines, int64_t row) {
  std::vector<Moving> moving;
  for (size_t k = 0; k < panel_.terms.size(); ++k) {
    const Term& t = panel_.terms[k];
    moving.push_back({t.range.index, t.first, t.length, LengthOf(c_.terms[k]) % t.length != 0});
  }
  lines_.length = lines, row_.length = row;
  if (has_lines_) moving.push_back({lines_.whole.index, lines_.begin(), lines, LengthOf(lines_.whole) % lines != 0});
  moving.push_back({row_.whole.index, row_.begin(), row, LengthOf(row_.whole) % row != 0});
  const Name last = c_.terms.back().index;
  strip_ = Strip::Of(*s_, c_.data, moving, panel_.group > 1 && !beside_ ? last : Name());
  return strip_ && (!beside_ || strip_->PutBeside(*s_, last, panel_.group));
}

// Of a strip: small ones are as many more, but where each lies beside several.
int64_t ChannelsScheduler::MostElements() const { return (beside_ ? 1 : panel_.group) * d_.strip_elements; }

// As many lines as their data stay near; of lines that are too long, parts. Those of a gradient of weights are the places of a window, for
// which the same data are laid out: all of them, also for parts of the channels.
bool ChannelsScheduler::CutPoints() {
  const int64_t lines = LengthOf(lines_.whole), row = LengthOf(row_.whole);
  int64_t part = row;
  const auto halve = [&] { part = Ceil(Ceil(part, 2), tile_rows_) * tile_rows_; };
  while (!inside_.empty() && ResultsOf(part) * width_ > d_.panel_elements && part > tile_rows_) halve();
  while (SetStrip(1, part) && strip_->elements() > MostElements() && part > tile_rows_) halve();
  if (!strip_) return false;
  const int64_t most = MostLines();
  int64_t high = 1;  // few points would not be worth the weights
  const auto one_more = [&] {
    return SetStrip(high + 1, part) && (strip_->elements() <= MostElements() || high * part < d_.strip_points);
  };
  while ((part == row || c_.turned) && high < most && one_more()) ++high;
  high = Ceil(lines, Ceil(lines, high));
  return SetStrip(std::min(lines, Ceil(high, tile_lines_) * tile_lines_), part);
}

// Bytes of whole images stay near: where too few panels are left for the threads, lines are shared out.
int64_t ChannelsScheduler::MostLines() const {
  const int64_t lines = LengthOf(lines_.whole);
  if (weight_type_ != DType::kI8) return lines;
  int64_t others = std::min(Ceil(LengthOf(c_.columns), width_), d_.product_parts);
  for (const auto* list : {&c_.outer, &c_.blocks, &others_})
    for (const Range& r : *list) others = std::min<int64_t>(1 << 20, others * std::max<int64_t>(1, AsInt(r.end).value_or(64)));
  return std::max(tile_lines_, Ceil(lines, Ceil(d_.product_parts, others)));
}

bool ChannelsScheduler::NamePoints() {
  row_.whole = c_.points.back();
  row_.first = FreshIn(*s_, row_.whole.index.str() + "_0");
  others_.assign(c_.points.begin(), c_.points.end() - 1);
  has_lines_ = !others_.empty() && LengthOf(others_.back()) > 0;
  if (has_lines_) {
    lines_.whole = others_.back();
    lines_.first = FreshIn(*s_, lines_.whole.index.str() + "_0");
    others_.pop_back();
  } else {
    lines_.whole = {Name(), Expr(0), Expr(1), Expr(1)};
  }
  if (!has_lines_ && others_.size() > 1) return false;  // the weights would be packed for each line
  // … or for each few points: the phases of a gradient by the data of a convolution with steps
  if (!others_.empty() && LengthOf(others_.back()) > 1 && LengthOf(lines_.whole) * LengthOf(row_.whole) < d_.few_columns) return false;
  ChooseTile();
  return true;
}

// Whole panels, at most some at a time, and more parts where there would be too few for the threads: a batch that is not known may be one
// image.
void ChannelsScheduler::CutColumns() {
  const int64_t count = LengthOf(c_.columns), panels = Ceil(count, width_);
  const int64_t most = inside_.empty() ? panels : std::max<int64_t>(1, d_.panel_elements / (ResultsOf(row_.length) * width_));
  int64_t others = Ceil(LengthOf(lines_.whole), lines_.length) * Ceil(LengthOf(row_.whole), row_.length);
  for (const auto* list : {&c_.outer, &c_.blocks, &others_})
    for (const Range& r : *list) others = std::min<int64_t>(1 << 20, others * std::max<int64_t>(1, AsInt(r.end).value_or(1)));
  const int64_t parts = std::min(panels, std::max({Ceil(panels, most), Ceil(count, d_.columns_span), Ceil(d_.product_parts, others)}));
  columns_ = {c_.columns, Ceil(panels, parts) * width_, FreshIn(*s_, c_.columns.index.str() + "_0")};
}

// Whether results of what is around the lines lie between those of a line, as of a window's rows where its gradient is laid out by channels:
// they are written one soon after the other, so that memory has whole lines from them (where columns are enough for the threads).
bool ChannelsScheduler::SharesLines() const {
  const Offset at = OffsetOf(*s_, c_.sum.target, c_.sum.index);
  const auto step = [&](const Range& r) { return AsInt(StrideOf(at.elements, r.index)).value_or(0); };
  const int64_t by = step(row_.whole);
  return c_.turned && !others_.empty() && std::all_of(others_.begin(), others_.end(), [&](const Range& r) {
           return LengthOf(r) > 0 && step(r) > 0 && step(r) < by;
         });
}

// Of one column.
int64_t ChannelsScheduler::ResultsOf(int64_t row) const {
  int64_t n = LengthOf(lines_.whole) * row;
  for (const Range& r : inside_) n *= LengthOf(r);
  return n;
}

// Small images are terms of one sum.
void ChannelsScheduler::TakeImages(int64_t most) {
  int64_t count = 2;
  for (const Range& r : c_.terms) count *= LengthOf(r);
  if (!c_.turned || c_.around.empty() || LengthOf(c_.around.back()) < 1 || count > most) return;
  c_.terms.insert(c_.terms.begin(), c_.around.back());
  c_.around.pop_back();
}

// Results side by side in a tile lie apart in memory: they are collected, and written along the points.
bool ChannelsScheduler::Across() const {
  const Offset at = OffsetOf(*s_, c_.sum.target, c_.sum.index);
  return AsInt(StrideOf(at.elements, c_.columns.index)) != 1;
}

// How many there are at a time decides on bits, and is the same whatever vectors and tiles are. Lines of images go with their border:
// as many as stay near. Channels are cut where lines of memory end.
void ChannelsScheduler::CutTerms() {
  const int64_t most = std::min(d_.point_terms, d_.panel_elements / std::min(LengthOf(c_.columns), d_.columns_span));
  TakeImages(most);
  int64_t count = 1;
  for (size_t k = 0; k < c_.terms.size(); ++k) {
    count *= LengthOf(c_.terms[k]);
    if (!c_.turned && LengthOf(c_.terms[k]) > LengthOf(c_.terms[cut_term_])) cut_term_ = k;
  }
  const int64_t all = LengthOf(c_.terms[cut_term_]), line = c_.turned ? panel_.group : d_.transpose_elements;
  int64_t blocks = std::min(all, Ceil(count, std::max<int64_t>(1, most)));
  const auto length = [&] { return blocks > 1 ? Ceil(Ceil(all, blocks), line) * line : all; };
  if (weight_type_ == DType::kI8) blocks = 1;  // sums of integers are exact, and what is laid out is small
  CutTerms(length());
  const auto is_far = [&] { return SetStrip(1, LengthOf(row_.whole)) && strip_->elements() > d_.strip_elements; };
  while (c_.turned && blocks < all && is_far()) ++blocks, CutTerms(length());
}

void ChannelsScheduler::CutTerms(int64_t length) {
  const Range& r = c_.terms[cut_term_];
  block_ = {r, length, block_.first == Name() ? FreshIn(*s_, r.index.str() + "_0") : block_.first};
  panel_.terms.clear();
  for (const Range& t : c_.terms) {
    if (t.index == r.index) panel_.terms.push_back({block_.Within(t.index, 1), block_.begin(), std::min(length, LengthOf(r))});
    else panel_.terms.push_back({t, Expr(0), LengthOf(t)});
  }
}

NameMap ChannelsScheduler::Here(int64_t element) const {
  NameMap at = {{row_.whole.index, SymbolExpr(x1_) + SymbolExpr(r_)}, {c_.columns.index, SymbolExpr(j1_) + SymbolExpr(u_)}};
  if (has_lines_) at.emplace_back(lines_.whole.index, SymbolExpr(y1_) + SymbolExpr(q_));
  if (panel_.group > 1) at.emplace_back(panel_.terms.back().range.index, panel_.Innermost(element));
  return at;
}

// A tile's sums go where they belong: to the results, or what they are collected in.
ChannelsScheduler::Statements ChannelsScheduler::Store(Name tile, const std::vector<Level>& each) {
  const Expr q = SymbolExpr(q_), r = SymbolExpr(r_), u = SymbolExpr(u_), j1 = SymbolExpr(j1_);
  if (sums_ != Name()) {
    const Expr line = has_lines_ ? SymbolExpr(y1_) + q - lines_.begin() : q;
    return Wrap(s_, each, {Put(sums_, {line, SymbolExpr(x1_) + r - row_.begin(), j1 - columns_.begin() + u}, WriteOp::kAdd,
                               ReadExpr(tile, {q, r, u}))});
  }
  const int64_t count = LengthOf(c_.columns), rest = count % width_;
  const Schedule rows = OperationsOf(s_, completion_) <= d_.tile_operations ? Schedule::kUnroll : Schedule::kSequential;
  const auto some = [&](int64_t columns) {
    const Level lanes{{{u_, Expr(0), Expr(columns), Expr(1)}}, Schedule::kVector};
    return Wrap(s_, {{each[0].ranges, rows}, lanes}, CompletedAt(s_, completion_, Here(), ReadExpr(tile, {q, r, u})));
  };
  if (rest == 0 || count < width_) return some(rest == 0 ? width_ : rest);
  return {s_->AddNode(If{BinaryExpr(Op::kLe, j1 + Expr(width_), Expr(count)), some(width_), some(rest)})};
}

ChannelsScheduler::Statements ChannelsScheduler::Tile(int64_t lines, int64_t rows) {
  const Name t = Local("t", {lines, rows, width_}, Storage::kRegister);
  const std::vector<Expr> at = {SymbolExpr(q_), SymbolExpr(r_), SymbolExpr(u_)};
  const std::vector<Level> each = {
      {{{q_, Expr(0), Expr(lines), Expr(1)}, {r_, Expr(0), Expr(rows), Expr(1)}}, Schedule::kUnroll},
      {{{u_, Expr(0), Expr(width_), Expr(1)}}, Schedule::kVector}};
  std::vector<Range> terms;
  for (const Term& x : panel_.terms) terms.push_back(x.range);
  terms.back() = panel_.Groups();
  Statements out = Wrap(s_, each, {Put(t, at, WriteOp::kAssign, Zero())});
  Statements body = Wrap(s_, {each[0], each[1]}, {Step(t)});
  Add(&body, Prefetch());
  Add(&out, Wrap(s_, {{terms, Schedule::kSequential}}, body));
  Add(&out, Store(t, each));
  return out;
}

ChannelsScheduler::Statements ChannelsScheduler::Tiles() {
  const int64_t lines = LengthOf(lines_.whole), rows = LengthOf(row_.whole);
  Statements tile = Tile(tile_lines_, tile_rows_);
  const auto ends = [&](Name first, int64_t step, int64_t count, const Statements& rest) {
    tile = {s_->AddNode(If{BinaryExpr(Op::kLe, SymbolExpr(first) + Expr(step), Expr(count)), tile, rest})};
  };
  if (rows % tile_rows_ != 0) ends(x1_, tile_rows_, rows, Tile(tile_lines_, rows % tile_rows_));
  if (lines % tile_lines_ != 0) ends(y1_, tile_lines_, lines, Tile(lines % tile_lines_, tile_rows_));
  std::vector<Range> loops = {panel_.parts};
  if (has_lines_) loops.push_back(lines_.Within(y1_, tile_lines_));
  loops.push_back(row_.Within(x1_, tile_rows_));
  return Wrap(s_, {{loops, Schedule::kSequential}}, tile);
}

// Not where the points of a tile would share the few places that a cache has for them.
bool ChannelsScheduler::ReadsInPlace() const {
  const DType stored = s_->Get(c_.data.container).dtype;
  const bool as_it_is = (c_.data.cast == DType::kNone ? stored : c_.data.cast) == data_type_ && (stored == data_type_ || !IsFloat(stored));
  if (c_.data.outside || c_.data.more != 0 || !as_it_is || !LieInMemory(panel_.group)) return false;
  const Offset at = OffsetOf(*s_, c_.data.container, c_.data.index);
  const auto step = at.elements ? Coefficient(at.elements, row_.whole.index) : std::nullopt;
  const int64_t by = step ? AsInt(*step).value_or(0) : 0;
  return by * ByteSize(stored) % (2 * d_.cache_stride) != 0;
}

// Of sums that were collected.
ChannelsScheduler::Statements ChannelsScheduler::Results() {
  const Expr u = SymbolExpr(u_), x = SymbolExpr(row_.whole.index);
  const Expr line = has_lines_ ? SymbolExpr(lines_.whole.index) - lines_.begin() : Expr(0);
  std::vector<Range> loops;
  const auto add_part_of = [&](const Range& r, int64_t length, int64_t most) {
    if (length <= most) return r;
    const Cut parts = Split(*s_, r, Expr(most), {lines_.first, row_.first, columns_.first});
    loops.push_back(parts.parts);
    return parts.within;
  };
  Range lane = columns_.Within(u_, 1), point = row_.Within(row_.whole.index, 1);
  if (Across()) {  // by blocks, so that lines of both stay near
    std::swap(lane, point);
    point = add_part_of(point, columns_.length, d_.transpose_elements);
    lane = add_part_of(lane, row_.length, d_.square_elements);
    loops.push_back(point);
  }
  if (has_lines_) loops.push_back(lines_.Within(lines_.whole.index, 1));
  if (!Across()) loops.push_back(point);
  return Wrap(s_, {{loops, Schedule::kSequential}, {{lane}, Schedule::kVector}},
              CompletedAt(s_, completion_, {{c_.columns.index, u}}, ReadExpr(sums_, {line, x - row_.begin(), u - columns_.begin()})));
}

// Of the columns of one part.
ChannelsScheduler::Statements ChannelsScheduler::Part() {
  Statements block;
  if (!in_place_) block = strip_->Fill(s_);
  if (!packed_) Add(&block, FillPanels(s_, panel_, c_.weights, d_.register_square));
  Add(&block, Tiles());
  std::vector<Range> blocks = c_.around;
  block_.AddTo(&blocks);
  block = Wrap(s_, {{blocks, Schedule::kSequential}}, block);
  if (sums_ == Name()) return block;
  const Name q0 = FreshIn(*s_, "z0"), q1 = FreshIn(*s_, "z1");
  const std::vector<Range> all = {{q0, Expr(0), Expr(lines_.length), Expr(1)}, {q1, Expr(0), Expr(row_.length), Expr(1)}};
  const Level lanes{{{u_, Expr(0), Expr(panel_.panels * width_), Expr(1)}}, Schedule::kVector};
  Statements out = Wrap(s_, {{all, Schedule::kSequential}, lanes},
                        {Put(sums_, {SymbolExpr(q0), SymbolExpr(q1), SymbolExpr(u_)}, WriteOp::kAssign, Zero())});
  Add(&out, block);
  Add(&out, Results());
  return out;
}

void ChannelsScheduler::Pack() {
  DeclarePanels(s_, weight_type_, &panel_);
  std::vector<Name> terms;
  for (const Range& r : c_.terms) terms.push_back(r.index);
  if (c_.around.empty()) packing_ = PackingOf(*s_, c_.weights, weight_type_, c_.columns.index, terms, width_, panel_.group);
}

std::optional<std::vector<NodeId>> ChannelsScheduler::Run() {
  if (LengthOf(c_.columns) < d_.few_columns || !NamePoints()) return std::nullopt;
  if (SharesLines() && Ceil(LengthOf(c_.columns), width_) >= d_.product_parts) inside_.swap(others_);
  ChooseGroup();
  CutTerms();
  if (!CutPoints()) return std::nullopt;
  CutColumns();
  x1_ = FreshIn(*s_, row_.whole.index.str() + "_1"), j1_ = FreshIn(*s_, c_.columns.index.str() + "_1");
  if (has_lines_) y1_ = FreshIn(*s_, lines_.whole.index.str() + "_1");
  const std::vector<Name> named = {x1_, j1_, y1_};
  r_ = FreshIn(*s_, "r", named), u_ = FreshIn(*s_, "u", named), q_ = FreshIn(*s_, "q", named);
  in_place_ = ReadsInPlace();
  panel_.width = width_, panel_.count = LengthOf(c_.columns);
  panel_.columns = c_.columns.index, panel_.u = u_;
  panel_.parts = columns_.Within(j1_, width_), panel_.panels = Ceil(columns_.length, width_);
  packed_ = PackedWeights(0);
  if (!packed_) Pack();
  if (!in_place_) strip_->Declare(s_, data_type_, d_, panel_.group);
  const bool adds = completion_.statements.size() == 1 && s_->Get(c_.sum.target).dtype == c_.type;  // each part of the terms its own
  if (((!block_.one() || !c_.around.empty()) && !adds) || Across())
    sums_ = Local("sums", {lines_.length, row_.length, panel_.panels * width_}, Storage::kWorker);
  const Statements body = Wrap(s_, {{inside_, Schedule::kSequential}}, Part());
  std::vector<Range> units = c_.outer;
  units.insert(units.end(), others_.begin(), others_.end());
  lines_.AddTo(&units);
  row_.AddTo(&units);
  units.insert(units.end(), c_.blocks.begin(), c_.blocks.end());
  columns_.AddTo(&units);
  int64_t terms = 1;
  for (const Range& r : c_.terms) terms *= LengthOf(r);
  const int64_t lanes = std::max<int64_t>(1, d_.vector_bytes / ByteSize(c_.type));
  const Expr work = Expr(lines_.length * row_.length * Ceil(terms, panel_.group) * Ceil(columns_.length, lanes)) * CountOf(c_.around) * CountOf(inside_);
  const Shared shared = ShareOut(*s_, units, work, d_);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

}  // namespace headrace::schedule
