#include "transforms/schedule/window_weights.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/schedule/channels.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

bool WalksByOne(const Sdfg& s, const WindowRead& read, Name index) {
  return StepOf(s, read.container, read.index, false, index) == 1 &&
         std::find(read.index.begin(), read.index.end(), SymbolExpr(index)) != read.index.end();
}

// Some dimension of the read moves with both.
bool MoveTogether(const WindowRead& read, const Range& a, const Range& b) { return HasWindow(read.index, {a}, {b}); }

void Take(std::vector<Range>* from, std::vector<Range>::iterator at, Range* to) { *to = *at, from->erase(at); }

}  // namespace

std::optional<WindowWeights> WindowWeightsOf(const Sdfg& s, const Nest& n, const Tasklet& sum, const std::vector<bool>& apart,
                                             DType type, const Device& d) {
  if (!IsPlainSum(s, sum) || sum.op != WriteOp::kAdd || !sum.value.Is(ExprKind::kBinary) || sum.value->op != Op::kMul) return std::nullopt;
  WindowWeights w;
  w.sum = sum;
  w.type = type;
  if (!IsFloat(w.type) || IsComplex(w.type)) return std::nullopt;
  std::optional<WindowRead> reads[2] = {WindowReadOf(s, sum.value->args[0]), WindowReadOf(s, sum.value->args[1])};
  if (!reads[0] || !reads[1]) return std::nullopt;
  for (const auto& read : reads)  // products of integers are none of floats
    if (read->more != 0 || (read->cast != DType::kNone && read->cast != type)) return std::nullopt;

  const Offset target = OffsetOf(s, sum.target, sum.index);
  std::vector<Range> lanes;
  for (size_t i = 0; i < n.ranges.size(); ++i) {
    const Range& r = n.ranges[i];
    const bool kept = Mentions(target.elements, r.index);
    if (kept && (!apart[i] || !StrideOf(target.elements, r.index) || LengthOf(r) < 1)) return std::nullopt;
    const bool lane = kept && LengthOf(r) > 1 && WalksByOne(s, *reads[0], r.index) && WalksByOne(s, *reads[1], r.index);
    (lane ? lanes : kept ? w.taps : w.terms).push_back(r);
  }
  if (lanes.size() != 1 || w.taps.empty() || w.terms.empty()) return std::nullopt;
  w.lane = lanes[0];

  const WindowRead& data = HasWindow(reads[0]->index, w.taps, w.terms) ? *reads[0] : *reads[1];
  Order(s, data.container, data.index, &w.terms);
  Take(&w.terms, w.terms.end() - 1, &w.line);
  const auto tap = std::find_if(w.taps.begin(), w.taps.end(), [&](const Range& r) { return MoveTogether(data, r, w.line); });
  if (tap == w.taps.end() || LengthOf(w.line) < 1) return std::nullopt;
  Take(&w.taps, tap, &w.tap);
  int64_t results = LengthOf(w.tap);
  for (const Range& r : w.taps) results *= LengthOf(r);
  const bool asks_lane = !BordersOf(sum.value, w.lane, {}).along.empty();
  return results > d.window_terms || asks_lane ? std::nullopt : std::optional(w);
}

std::vector<Expr> WindowWeightsScheduler::Places(const Expr& lane) const {
  std::vector<Expr> out;
  for (const Range& r : all_taps_) out.push_back(SymbolExpr(r.index));
  out.push_back(lane);
  return out;
}

std::vector<int64_t> WindowWeightsScheduler::TapLengths() const {
  std::vector<int64_t> out;
  for (const Range& r : all_taps_) out.push_back(LengthOf(r));
  return out;
}

// Of the longest term that is known. How many parts depends on shapes alone, as it says in which order terms are added up.
void WindowWeightsScheduler::CutTerms() {
  int64_t work = 2 * LengthOf(w_.lane) * LengthOf(w_.line), length = 1;
  for (const int64_t n : TapLengths()) work *= n;
  for (size_t i = 0; i < w_.terms.size(); ++i) {
    const int64_t n = LengthOf(w_.terms[i]);
    if (n > length) cut_ = i, length = n;
  }
  for (size_t i = 0; i < w_.terms.size(); ++i)
    if (i != cut_) work *= std::max<int64_t>(1, AsInt(w_.terms[i].end).value_or(1));
  const int64_t worth = (d_.chunk_operations + work - 1) / work, few = (length + d_.most_parts - 1) / d_.most_parts;
  part_length_ = std::min(length, std::max(worth, few));
  parts_ = (length + part_length_ - 1) / part_length_;
}

// For each of the taps and lanes.
WindowWeightsScheduler::Statements WindowWeightsScheduler::Each(int64_t lanes, const Statements& body) {
  return Wrap(s_, {{all_taps_, Schedule::kSequential}, {{{u_, Expr(0), Expr(lanes), Expr(1)}}, Schedule::kVector}}, body);
}

Expr WindowWeightsScheduler::Fused(const Expr& value, const Expr& sum) const {
  return CallExpr("fma", {Widened(*s_, value->args[0], w_.type), Widened(*s_, value->args[1], w_.type), sum});
}

// Places that some tap of their own reaches beyond the line.
WindowWeightsScheduler::Statements WindowWeightsScheduler::AtBorder(const Expr& value, int64_t from, int64_t to) {
  if (from >= to) return {};
  const std::vector<Expr> at = Places(SymbolExpr(u_));
  const auto add = [&](const Expr& v) {
    const Range lanes{u_, Expr(0), s_->Get(sums_).shape.back(), Expr(1)};
    return Wrap(s_, {{{lanes}, Schedule::kVector}}, {Put(s_, sums_, at, WriteOp::kAssign, Fused(v, ReadExpr(sums_, at)))});
  };
  const Statements term = OnEachSide(s_, value, borders_.along, add);
  return Wrap(s_, {{{{w_.line.index, Expr(from), Expr(to), Expr(1)}, w_.tap}, Schedule::kSequential}}, term);
}

// The places between, whose results are in registers.
WindowWeightsScheduler::Statements WindowWeightsScheduler::Within(const Expr& value) {
  if (borders_.first >= borders_.last) return {};
  const int64_t lanes = *AsInt(s_->Get(sums_).shape.back());
  const Name t = schedule::Local(s_, "t", w_.type, {w_.tap.end, Expr(lanes)}, Storage::kRegister);
  const std::vector<Expr> at = {SymbolExpr(w_.tap.index), SymbolExpr(u_)}, place = Places(SymbolExpr(u_));
  const Range lane{u_, Expr(0), Expr(lanes), Expr(1)};
  const std::vector<Level> tile = {{{w_.tap}, Schedule::kUnroll}, {{lane}, Schedule::kVector}};
  Statements out = Wrap(s_, tile, {Put(s_, t, at, WriteOp::kAssign, FloatExpr(0))});
  std::vector<Level> walk = tile;
  walk.insert(walk.begin(), {{{w_.line.index, Expr(borders_.first), Expr(borders_.last), Expr(1)}}, Schedule::kSequential});
  Add(&out, Wrap(s_, walk, {Put(s_, t, at, WriteOp::kAssign, Fused(Where(value, borders_.along), ReadExpr(t, at)))}));
  Add(&out, Wrap(s_, tile, {Put(s_, sums_, place, WriteOp::kAdd, ReadExpr(t, at))}));
  return out;
}

WindowWeightsScheduler::Statements WindowWeightsScheduler::Line(const Expr& value) {
  Statements out = AtBorder(value, 0, borders_.first);
  Add(&out, Within(value));
  Add(&out, AtBorder(value, borders_.last, LengthOf(w_.line)));
  return out;
}

// Some channels of one part of the terms.
WindowWeightsScheduler::Statements WindowWeightsScheduler::Unit(const Expr& channel, int64_t lanes) {
  std::vector<Expr> shape;
  for (const int64_t n : TapLengths()) shape.push_back(Expr(n));
  shape.push_back(Expr(lanes));
  sums_ = schedule::Local(s_, "sums", w_.type, shape, Storage::kRegister);
  const std::vector<Expr> at = Places(SymbolExpr(u_));
  Statements out = Each(lanes, {Put(s_, sums_, at, WriteOp::kAssign, FloatExpr(0))});

  const Expr value = Substitute(w_.sum.value, {{w_.lane.index, channel + SymbolExpr(u_)}});
  std::vector<Range> around = w_.terms;
  if (parts_ > 1) {
    const Expr begin = SymbolExpr(part_) * Expr(part_length_), end = begin + Expr(part_length_), all = around[cut_].end;
    around[cut_].begin = begin;
    around[cut_].end = *AsInt(all) % part_length_ == 0 ? end : Min(end, all);
  }
  around.insert(around.end(), w_.taps.begin(), w_.taps.end());
  Add(&out, Wrap(s_, {{around, Schedule::kSequential}},
                 OnEachSide(s_, value, borders_.across, [&](const Expr& v) { return Line(v); })));

  if (parts_ > 1) {
    std::vector<Expr> place = Places(channel + SymbolExpr(u_));
    place.insert(place.begin(), SymbolExpr(part_));
    Add(&out, Each(lanes, {Put(s_, partial_, place, WriteOp::kAssign, ReadExpr(sums_, at))}));
  } else {
    const NameMap place = {{w_.lane.index, channel + SymbolExpr(u_)}};
    Add(&out, Each(lanes, CompletedAt(s_, completion_, place, ReadExpr(sums_, at))));
  }
  return out;
}

// `count` blocks of `lanes` channels from `first` on.
WindowWeightsScheduler::Statements WindowWeightsScheduler::Blocks(int64_t first, int64_t count, int64_t lanes) {
  if (count == 0) return {};
  std::vector<Range> units;
  if (parts_ > 1) units.push_back({part_, Expr(0), Expr(parts_), Expr(1)});
  Expr channel(first);
  if (count > 1) {
    units.push_back({FreshIn(*s_, w_.lane.index.str() + "_0"), Expr(0), Expr(count), Expr(1)});
    channel = channel + Expr(lanes) * SymbolExpr(units.back().index);
  }
  return Wrap(s_, {{units, Schedule::kParallel}}, Unit(channel, lanes));
}

// What the parts have summed is added up.
WindowWeightsScheduler::Statements WindowWeightsScheduler::Finish(int64_t channels) {
  if (parts_ == 1) return {};
  std::vector<Range> around = all_taps_;
  Range lane{w_.lane.index, Expr(0), Expr(channels), Expr(1)};
  if (channels > d_.sum_elements) {
    const Cut cut = Split(*s_, lane, Expr(d_.sum_elements));
    around.insert(around.begin(), cut.parts);
    lane = cut.within;
  }
  const Name again = FreshIn(*s_, "part_1"), sums = schedule::Local(s_, "sums", w_.type, {Expr(std::min(channels, d_.sum_elements))}, Storage::kRegister);
  const std::vector<Expr> at = {SymbolExpr(lane.index) - lane.begin};
  std::vector<Expr> place = Places(SymbolExpr(lane.index));
  place.insert(place.begin(), SymbolExpr(again));
  const Level lanes{{lane}, Schedule::kVector};
  Statements body = Wrap(s_, {lanes}, {Put(s_, sums, at, WriteOp::kAssign, FloatExpr(0))});
  Add(&body, Wrap(s_, {{{{again, Expr(0), Expr(parts_), Expr(1)}}, Schedule::kSequential}, lanes},
                  {Put(s_, sums, at, WriteOp::kAdd, ReadExpr(partial_, place))}));
  Add(&body, Wrap(s_, {lanes}, CompletedAt(s_, completion_, {}, ReadExpr(sums, at))));
  return Wrap(s_, {{around, Schedule::kSequential}}, body);
}

std::vector<NodeId> WindowWeightsScheduler::Run() {
  all_taps_ = w_.taps;
  all_taps_.push_back(w_.tap);
  borders_ = BordersOf(w_.sum.value, w_.line, {w_.tap});
  u_ = FreshIn(*s_, "u"), part_ = FreshIn(*s_, "part_0");
  const int64_t channels = LengthOf(w_.lane), vector = std::max<int64_t>(1, d_.vector_bytes / ByteSize(w_.type)), whole = channels / vector;
  int64_t many = std::max<int64_t>(1, std::min(d_.window_vectors, whole));
  while (whole % many != 0) --many;
  const int64_t lanes = many * vector, rest = channels % vector;
  CutTerms();
  if (parts_ > 1) {
    std::vector<Expr> shape = {Expr(parts_)};
    for (const int64_t n : TapLengths()) shape.push_back(Expr(n));
    shape.push_back(Expr(channels));
    partial_ = schedule::Local(s_, "partial", w_.type, shape, Storage::kWorker);
  }
  Statements out = Blocks(0, whole / many, lanes);
  Add(&out, Blocks(channels - rest, rest > 0, rest));
  Add(&out, Finish(channels));
  return out;
}

}  // namespace headrace::schedule
