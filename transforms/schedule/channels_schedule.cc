#include "transforms/schedule/channels_schedule.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

void Add(std::vector<NodeId>* to, const std::vector<NodeId>& more) { to->insert(to->end(), more.begin(), more.end()); }

int64_t Ceil(int64_t n, int64_t by) { return (n + by - 1) / by; }

}  // namespace

Range ChannelsScheduler::Parts::Within(Name index, int64_t step) const {
  if (one()) return {index, Expr(0), whole.end, Expr(step)};
  return {index, SymbolExpr(first), Min(SymbolExpr(first) + Expr(length), whole.end), Expr(step)};
}

void ChannelsScheduler::Parts::AddTo(std::vector<Range>* units) const {
  if (!one()) units->push_back({first, Expr(0), whole.end, Expr(length)});
}

Name ChannelsScheduler::Local(const std::string& stem, std::vector<int64_t> shape, Storage storage) {
  Container c;
  c.name = FreshIn(*s_, stem);
  c.dtype = c_.type;
  for (int64_t n : shape) c.shape.push_back(Expr(n));
  c.storage = storage;
  const Name name = c.name;
  s_->Add(std::move(c));
  return name;
}

// All tiles of a row alike if they can be nearly as high, else one that is less high is left.
void ChannelsScheduler::ChooseTile() {
  const int64_t rows = LengthOf(row_.whole), most = d_.point_rows;
  int64_t even = most;
  while (3 * even > 2 * most && rows % even != 0) --even;
  tile_rows_ = rows % even == 0 ? even : Ceil(rows, Ceil(rows, most));
  const int64_t lanes = std::max<int64_t>(1, d_.vector_bytes / ByteSize(c_.type));
  width_ = LengthOf(c_.columns) <= lanes ? lanes : d_.tile_vectors * lanes;
}

// The data of so many lines and points of each.
bool ChannelsScheduler::SetStrip(int64_t lines, int64_t row) {
  std::vector<Moving> moving;
  for (const Range& t : c_.terms) moving.push_back({t.index, Expr(0), LengthOf(t)});
  lines_.length = lines, row_.length = row;
  if (has_lines_) moving.push_back({lines_.whole.index, lines_.begin(), lines, LengthOf(lines_.whole) % lines != 0});
  moving.push_back({row_.whole.index, row_.begin(), row, LengthOf(row_.whole) % row != 0});
  strip_ = Strip::Of(*s_, c_.data, moving);
  return strip_.has_value();
}

// As many lines as their data stay near; of lines that are too long, parts.
bool ChannelsScheduler::CutPoints() {
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
  ChooseTile();
  const int64_t lines = LengthOf(lines_.whole), row = LengthOf(row_.whole);
  int64_t part = row;
  while (SetStrip(1, part) && strip_->elements() > d_.strip_elements && part > tile_rows_)
    part = std::max<int64_t>(1, Ceil(part, 2) / tile_rows_) * tile_rows_;
  if (!strip_) return false;
  int64_t high = 1;
  while (part == row && high < lines && SetStrip(high + 1, row) && strip_->elements() <= d_.strip_elements) ++high;
  return SetStrip(Ceil(lines, Ceil(lines, high)), part);
}

// Whole panels; more parts where there would be too few for the threads.
void ChannelsScheduler::CutColumns() {
  const int64_t count = LengthOf(c_.columns), panels = Ceil(count, width_);
  int64_t others = Ceil(LengthOf(lines_.whole), lines_.length) * Ceil(LengthOf(row_.whole), row_.length);
  for (const auto* list : {&c_.outer, &c_.blocks, &others_})
    for (const Range& r : *list) others = std::min<int64_t>(1 << 20, others * std::max<int64_t>(1, AsInt(r.end).value_or(64)));
  const int64_t parts = std::min(panels, Ceil(d_.product_parts, others));
  columns_ = {c_.columns, Ceil(panels, parts) * width_, FreshIn(*s_, c_.columns.index.str() + "_0")};
}

void ChannelsScheduler::CutTerms() {
  int64_t count = 1;
  for (size_t k = 0; k < c_.terms.size(); ++k) {
    count *= LengthOf(c_.terms[k]);
    if (LengthOf(c_.terms[k]) > LengthOf(c_.terms[cut_term_])) cut_term_ = k;
  }
  const Range& r = c_.terms[cut_term_];
  const int64_t blocks = Ceil(count, d_.point_terms);
  channel_ = {r, Ceil(LengthOf(r), blocks), FreshIn(*s_, r.index.str() + "_0")};
  for (size_t k = 0; k < c_.terms.size(); ++k) {
    const Range& t = c_.terms[k];
    if (k == cut_term_) panel_.terms.push_back({channel_.Within(t.index, 1), channel_.begin(), channel_.length});
    else panel_.terms.push_back({t, Expr(0), LengthOf(t)});
  }
}

ChannelsScheduler::Statements ChannelsScheduler::Final(const Expr& row, const Expr& column, const Expr& value) {
  return {finish_({{row_.whole.index, row}, {c_.columns.index, column}}, value)};
}

// A tile's sums go where they belong: to the results, or what they are collected in.
ChannelsScheduler::Statements ChannelsScheduler::Rows(Name tile, int64_t rows, const Expr& row) {
  const Expr r = SymbolExpr(r_), u = SymbolExpr(u_), j1 = SymbolExpr(j1_);
  const Level all{{{r_, Expr(0), Expr(rows), Expr(1)}}, Schedule::kUnroll};
  const Level lanes{{{u_, Expr(0), Expr(width_), Expr(1)}}, Schedule::kVector};
  if (sums_ != Name()) {
    const Expr line = has_lines_ ? SymbolExpr(lines_.whole.index) - lines_.begin() : Expr(0);
    return Wrap(s_, {all, lanes}, {Put(sums_, {line, row - row_.begin(), u}, WriteOp::kAdd, ReadExpr(tile, {r, u}))});
  }
  const int64_t count = LengthOf(c_.columns);
  const auto whole = [&] { return Wrap(s_, {all, lanes}, Final(row, j1 + u, ReadExpr(tile, {r, u}))); };
  if (count % width_ == 0) return whole();
  const Range some{u_, j1, Min(j1 + Expr(width_), Expr(count)), Expr(1)};
  const auto part = [&] { return Wrap(s_, {all, {{some}, Schedule::kVector}}, Final(row, u, ReadExpr(tile, {r, u - j1}))); };
  if (count < width_) return part();
  return {s_->AddNode(If{BinaryExpr(Op::kLe, j1 + Expr(width_), Expr(count)), whole(), part()})};
}

ChannelsScheduler::Statements ChannelsScheduler::Tile(int64_t rows, const Expr& row) {
  const Name t = Local("t", {rows, width_}, Storage::kRegister);
  const Expr r = SymbolExpr(r_), u = SymbolExpr(u_);
  const std::vector<Level> each = {{{{r_, Expr(0), Expr(rows), Expr(1)}}, Schedule::kUnroll},
                                   {{{u_, Expr(0), Expr(width_), Expr(1)}}, Schedule::kVector}};
  std::vector<Range> terms;
  for (const Term& x : panel_.terms) terms.push_back(x.range);
  const NameMap at = {{row_.whole.index, row}};
  std::vector<Expr> index = c_.data.index;
  for (Expr& e : index) e = Substitute(e, at);
  const Expr left = in_place_ ? ReadExpr(c_.data.container, index) : strip_->Read(at);
  const Expr value = CallExpr("fma", {left, ReadExpr(panel_.buffer, {panel_.Place(), u}), ReadExpr(t, {r, u})});
  Statements out = Wrap(s_, each, {Put(t, {r, u}, WriteOp::kAssign, Zero())});
  Add(&out, Wrap(s_, {{terms, Schedule::kSequential}, each[0], each[1]}, {Put(t, {r, u}, WriteOp::kAssign, value)}));
  Add(&out, Rows(t, rows, row));
  return out;
}

ChannelsScheduler::Statements ChannelsScheduler::Tiles() {
  const int64_t rows = LengthOf(row_.whole);
  const Expr x1 = SymbolExpr(x1_), row = x1 + SymbolExpr(r_);
  Statements tile = Tile(tile_rows_, row);
  if (rows % tile_rows_ != 0)
    tile = {s_->AddNode(If{BinaryExpr(Op::kLe, x1 + Expr(tile_rows_), Expr(rows)), tile, Tile(rows % tile_rows_, row)})};
  std::vector<Range> loops;
  if (has_lines_) loops.push_back(lines_.Within(lines_.whole.index, 1));
  loops.push_back(row_.Within(x1_, tile_rows_));
  return Wrap(s_, {{loops, Schedule::kSequential}}, tile);
}

// Of sums that were collected.
ChannelsScheduler::Statements ChannelsScheduler::Results() {
  const Expr j1 = SymbolExpr(j1_), u = SymbolExpr(u_), x = SymbolExpr(row_.whole.index);
  const Expr line = has_lines_ ? SymbolExpr(lines_.whole.index) - lines_.begin() : Expr(0);
  std::vector<Range> loops;
  if (has_lines_) loops.push_back(lines_.Within(lines_.whole.index, 1));
  loops.push_back(row_.Within(row_.whole.index, 1));
  const Range some{u_, j1, Min(j1 + Expr(width_), Expr(LengthOf(c_.columns))), Expr(1)};
  return Wrap(s_, {{loops, Schedule::kSequential}, {{some}, Schedule::kVector}},
              Final(x, u, ReadExpr(sums_, {line, x - row_.begin(), u - j1})));
}

// Of the columns of one panel.
ChannelsScheduler::Statements ChannelsScheduler::Part() {
  Statements block = FillPanel(s_, panel_, c_.weights);
  Add(&block, Tiles());
  std::vector<Range> blocks;
  channel_.AddTo(&blocks);
  block = Wrap(s_, {{blocks, Schedule::kSequential}}, block);
  if (sums_ == Name()) return block;
  const Name q0 = FreshIn(*s_, "z0"), q1 = FreshIn(*s_, "z1");
  const std::vector<Range> all = {{q0, Expr(0), Expr(lines_.length), Expr(1)}, {q1, Expr(0), Expr(row_.length), Expr(1)}};
  Statements out = Wrap(s_, {{all, Schedule::kSequential}, {{{u_, Expr(0), Expr(width_), Expr(1)}}, Schedule::kVector}},
                        {Put(sums_, {SymbolExpr(q0), SymbolExpr(q1), SymbolExpr(u_)}, WriteOp::kAssign, Zero())});
  Add(&out, block);
  Add(&out, Results());
  return out;
}

std::optional<std::vector<NodeId>> ChannelsScheduler::Run() {
  if (LengthOf(c_.columns) < d_.few_columns || !CutPoints()) return std::nullopt;
  CutColumns();
  CutTerms();
  x1_ = FreshIn(*s_, row_.whole.index.str() + "_1"), j1_ = FreshIn(*s_, c_.columns.index.str() + "_1");
  r_ = FreshIn(*s_, "r"), u_ = FreshIn(*s_, "u");
  in_place_ = !c_.data.outside && s_->Get(c_.data.container).dtype == c_.type;
  panel_.width = width_, panel_.count = LengthOf(c_.columns);
  panel_.columns = c_.columns.index, panel_.first = j1_, panel_.u = u_;
  DeclarePanel(s_, c_.type, &panel_);
  if (!in_place_) strip_->Declare(s_, c_.type);
  if (!channel_.one() && (assigns_ || s_->Get(c_.sum.target).dtype != c_.type))
    sums_ = Local("sums", {lines_.length, row_.length, width_}, Storage::kWorker);
  Statements body;
  if (!in_place_) body = strip_->Fill(s_);
  Add(&body, Wrap(s_, {{{columns_.Within(j1_, width_)}, Schedule::kSequential}}, Part()));
  std::vector<Range> units = c_.outer;
  units.insert(units.end(), others_.begin(), others_.end());
  lines_.AddTo(&units);
  row_.AddTo(&units);
  units.insert(units.end(), c_.blocks.begin(), c_.blocks.end());
  columns_.AddTo(&units);
  int64_t terms = 1;
  for (const Range& r : c_.terms) terms *= LengthOf(r);
  const Expr work(lines_.length * row_.length * terms * Ceil(columns_.length, std::max<int64_t>(1, d_.vector_bytes / ByteSize(c_.type))));
  const Shared shared = ShareOut(*s_, units, work, d_);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

}  // namespace headrace::schedule
