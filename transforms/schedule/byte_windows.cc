#include "transforms/schedule/byte_windows.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/factor.h"
#include "transforms/schedule/scheduler.h"
#include "transforms/schedule/steps.h"

namespace headrace::schedule {
namespace {

constexpr int64_t kGroup = 4, kApart = 2;  // places of a group, and between the begins of two

int64_t SlopeOf(const Expr& e, Name index) {
  const auto by = Coefficient(e, index);
  return by ? AsInt(*by).value_or(0) : 0;
}

}  // namespace

bool FitsByteWindows(int64_t taps, int64_t by) {
  return taps > 1 && by >= 1 && kApart % by == 0 && taps + (kApart / by - 1) * by <= kGroup;
}

// Unsigned data by signed weights.
bool ByteWindowsScheduler::TakeOperands() {
  const Expr& value = w_.sum.value;
  if (w_.type != DType::kI32 || w_.sum.op != WriteOp::kAdd || !value.Is(ExprKind::kBinary) || value->op != Op::kMul) return false;
  for (const size_t side : {0u, 1u}) {
    const auto data = WindowReadOf(*s_, value->args[side]);
    weights_ = Factor(*s_, value->args[1 - side], DType::kI8, w_.type);
    if (!data || !weights_ || !weights_.Is(ExprKind::kRead)) continue;
    const DType stored = s_->Get(data->container).dtype;
    if (!(stored == DType::kU8 && data->more == 0) && !(stored == DType::kI8 && data->more == 128)) continue;
    if (std::any_of(w_.points.begin(), w_.points.end(), [&](const Range& p) { return Mentions(weights_, p.index); })) continue;
    data_ = *data;
    if (stored == DType::kU8) data_.cast = DType::kNone;
    return true;
  }
  return false;
}

// The dimension that the points of a line and one term walk, and nothing else does.
bool ByteWindowsScheduler::TakeLine() {
  row_ = w_.points.back();
  int dimensions = 0;
  for (const Expr& e : data_.index) {
    if (!Mentions(e, row_.index)) continue;
    ++dimensions;
    for (const Range& t : w_.terms)
      if (Mentions(e, t.index)) tap_ = t, by_ = SlopeOf(e, t.index) == 1 ? SlopeOf(e, row_.index) : 0;
  }
  if (dimensions != 1 || tap_.index == Name() || !FitsByteWindows(LengthOf(tap_), by_)) return false;
  for (const Range& t : w_.terms)
    if (t.index != tap_.index) terms_.push_back(t);
  const auto mentions = std::count_if(data_.index.begin(), data_.index.end(), [&](const Expr& e) { return Mentions(e, tap_.index); });
  phases_ = kApart / by_, groups_ = Ceil(LengthOf(row_), phases_);
  const int64_t lanes = d_.vector_bytes / ByteSize(w_.type);
  if (mentions != 1 || lanes < 1 || LengthOf(w_.lane) % lanes != 0) return false;
  width_ = LengthOf(w_.lane) % (d_.window_vectors * lanes) == 0 ? d_.window_vectors * lanes : lanes;
  return std::find(data_.index.begin(), data_.index.end(), SymbolExpr(w_.lane.index)) != data_.index.end();
}

bool ByteWindowsScheduler::SetStrip(int64_t lines) {
  lines_.length = lines;
  std::vector<Moving> moving = {{tap_.index, Expr(0), kGroup, true},
                                {row_.index, Expr(0), groups_ * phases_, true},
                                {w_.lane.index, columns_.begin(), width_, false}};
  for (const Range& t : terms_) moving.push_back({t.index, Expr(0), LengthOf(t), false});
  if (has_lines_) moving.push_back({lines_.whole.index, lines_.begin(), lines, LengthOf(lines_.whole) % lines != 0});
  strip_ = Strip::Of(*s_, data_, moving, w_.lane.index);
  return strip_.has_value();
}

// As many lines as stay near, and parts for the threads.
bool ByteWindowsScheduler::CutLines() {
  has_lines_ = w_.points.size() > 1 && LengthOf(w_.points[w_.points.size() - 2]) > 0;
  lines_.whole = has_lines_ ? w_.points[w_.points.size() - 2] : Range{Name(), Expr(0), Expr(1), Expr(1)};
  if (has_lines_) lines_.first = FreshIn(*s_, lines_.whole.index.str() + "_0");
  const int64_t all = LengthOf(lines_.whole);
  int64_t high = all;
  while (SetStrip(high) && strip_->elements() > d_.strip_elements && high > 1) high = Ceil(high, 2);
  return strip_.has_value();
}

void ByteWindowsScheduler::NameIndices() {
  g_ = FreshIn(*s_, row_.index.str() + "_1"), c1_ = FreshIn(*s_, w_.lane.index.str() + "_1");
  columns_ = {w_.lane, width_, FreshIn(*s_, w_.lane.index.str() + "_0")};
  r_ = FreshIn(*s_, "r"), u_ = FreshIn(*s_, "u"), e_ = FreshIn(*s_, "e");
}

void ByteWindowsScheduler::Pack() {
  std::vector<Name> terms;
  panel_.width = width_, panel_.count = width_, panel_.panels = 1, panel_.columns = w_.lane.index, panel_.u = u_;
  panel_.parts = columns_.Within(c1_, width_);
  panel_.group = kGroup, panel_.groups = FreshIn(*s_, tap_.index.str() + "_4");
  for (const Range& t : terms_) panel_.terms.push_back({t, Expr(0), LengthOf(t)}), terms.push_back(t.index);
  panel_.terms.push_back({tap_, Expr(0), LengthOf(tap_)}), terms.push_back(tap_.index);
  packed_ = Weight(0);
  if (packed_) return;
  DeclarePanels(s_, DType::kI8, &panel_);
  packing_ = PackingOf(*s_, weights_, DType::kI8, w_.lane.index, terms, width_, kGroup);
}

// Null before `Pack` where they are no panels.
Expr ByteWindowsScheduler::Weight(int64_t tap) const {
  if (panel_.buffer != Name())
    return Substitute(panel_.Read(tap), {{panel_.groups, Expr(0)}});
  return ReadPacked(*s_, weights_, DType::kI8, w_.lane.index, width_, SymbolExpr(c1_), SymbolExpr(u_), {tap_.index, kGroup, Expr(0)}, tap);
}

// Of lane `u_` of the lines that the indices of points and terms say.
Expr ByteWindowsScheduler::Group(const Expr& group, int64_t element) const {
  const Expr read = strip_->Read({});
  std::vector<Expr> index(read->args.begin(), read->args.end() - 2);
  index.insert(index.end(), {group, SymbolExpr(u_), Expr(element)});
  return ReadExpr(laid_out_, index);
}

ByteWindowsScheduler::Statements ByteWindowsScheduler::FillGroups() {
  const Expr read = strip_->Read({}), g = SymbolExpr(g_), e = SymbolExpr(e_), u = SymbolExpr(u_);
  std::vector<Range> loops;
  std::vector<Expr> from, to, shape = s_->Get(read->name).shape;
  for (size_t k = 0; k + 2 < shape.size(); ++k) {
    const Name q = FreshIn(*s_, "q" + std::to_string(k));
    loops.push_back({q, Expr(0), shape[k], Expr(1)});
    from.push_back(SymbolExpr(q));
  }
  to = from;
  from.insert(from.end(), {Expr(kApart) * g + e, u}), to.insert(to.end(), {g, u, e});
  shape.resize(loops.size());
  shape.insert(shape.end(), {Expr(groups_ + d_.window_rows), Expr(width_), Expr(kGroup)});  // a tile may end behind the last one
  laid_out_ = Local(s_, "d", DType::kU8, shape, Storage::kWorker);
  loops.push_back(UpTo(g_, groups_));
  return Wrap(s_, {{loops, Schedule::kSequential}, {{UpTo(e_, kGroup)}, Schedule::kUnroll}, {{UpTo(u_, width_)}, Schedule::kVector}},
              {Put(s_, laid_out_, to, WriteOp::kAssign, ReadExpr(read->name, from))});
}

// A group's products are added to the point of it whose window begins `phase` points on.
NodeId ByteWindowsScheduler::Step(Name tile, int64_t phase) {
  const std::vector<Expr> at = {Expr(phases_) * SymbolExpr(r_) + Expr(phase), SymbolExpr(u_)};
  std::vector<Expr> factors;
  for (int64_t k = 0; k < kGroup; ++k) {
    factors.push_back(Group(SymbolExpr(g_) + SymbolExpr(r_), k));
    factors.push_back(k < phase * by_ ? Expr(0) : Weight(k - phase * by_));
  }
  factors.push_back(ReadExpr(tile, at));
  return Put(s_, tile, at, WriteOp::kAssign, CallExpr("dot4", factors));
}

ByteWindowsScheduler::Statements ByteWindowsScheduler::Tile(int64_t rows) {
  const Expr r = SymbolExpr(r_), u = SymbolExpr(u_);
  const Name t = Local(s_, "t", w_.type, {Expr(rows), Expr(width_)}, Storage::kRegister);
  const Level lanes{{UpTo(u_, width_)}, Schedule::kVector};
  Statements out = Wrap(s_, {{{UpTo(r_, rows)}, Schedule::kUnroll}, lanes}, {Put(s_, t, {r, u}, WriteOp::kAssign, Expr(0))}), steps;
  for (int64_t phase = 0; phase < phases_ && phase < rows; ++phase)
    Add(&steps, Wrap(s_, {{{UpTo(r_, Ceil(rows - phase, phases_))}, Schedule::kUnroll}, lanes}, {Step(t, phase)}));
  Add(&out, Wrap(s_, {{terms_, Schedule::kSequential}}, steps));
  const Schedule how = OperationsOf(s_, completion_) <= d_.tile_operations ? Schedule::kUnroll : Schedule::kSequential;
  const NameMap at = {{row_.index, Expr(phases_) * SymbolExpr(g_) + r}, {w_.lane.index, SymbolExpr(c1_) + u}};
  Add(&out, Wrap(s_, {{{UpTo(r_, rows)}, how}, lanes}, CompletedAt(s_, completion_, at, ReadExpr(t, {r, u}))));
  return out;
}

ByteWindowsScheduler::Statements ByteWindowsScheduler::Tiles() {
  const int64_t row = LengthOf(row_), high = std::max<int64_t>(1, d_.window_rows / phases_), rows = high * phases_, whole = row / rows * rows;
  const Range groups = UpTo(g_, Ceil(row, phases_), high);
  Statements out = Tile(std::min(row, rows));
  if (whole > 0 && whole < row) {
    const Expr fits = BinaryExpr(Op::kLe, SymbolExpr(g_) + Expr(high), Expr(row / phases_));
    out = {s_->AddNode(If{fits, out, Tile(row - whole)})};
  }
  out = Wrap(s_, {{{groups}, Schedule::kSequential}}, out);
  std::vector<Range> loops = {panel_.parts};
  if (has_lines_) loops.push_back(lines_.Within(lines_.whole.index, 1));
  return Wrap(s_, {{loops, Schedule::kSequential}}, out);
}

std::optional<std::vector<NodeId>> ByteWindowsScheduler::Run() {
  if (d_.byte_dot != kGroup || !TakeOperands() || !TakeLine()) return std::nullopt;
  NameIndices();
  if (!CutLines()) return std::nullopt;
  strip_->Declare(s_, DType::kU8, d_);
  const Expr read = strip_->Read({});
  const size_t n = read->args.size();
  if (n < 2 || !Mentions(read->args[n - 1], w_.lane.index) || !Mentions(read->args[n - 2], row_.index)) return std::nullopt;
  Statements body = strip_->Fill(s_);
  Add(&body, FillGroups());
  Pack();
  if (!packed_) Add(&body, FillPanels(s_, panel_, weights_, d_.register_square));
  Add(&body, Tiles());
  std::vector<Range> units(w_.points.begin(), w_.points.end() - (has_lines_ ? 2 : 1));
  lines_.AddTo(&units);
  columns_.AddTo(&units);
  int64_t terms = 1;
  for (const Range& t : terms_) terms *= LengthOf(t);
  const Expr work(lines_.length * LengthOf(row_) * width_ * (terms + 1) * 2);
  const Shared shared = ShareOut(*s_, units, work, d_);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

}  // namespace headrace::schedule
