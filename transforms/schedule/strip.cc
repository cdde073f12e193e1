#include "transforms/schedule/strip.h"

#include <algorithm>
#include <numeric>

#include "ir/analysis/layout.h"
#include "transforms/schedule/peel.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {

std::optional<Strip> Strip::Of(const Sdfg& s, const WindowRead& read, const std::vector<Moving>& moving, Name innermost) {
  Strip strip;
  strip.read_ = read;
  for (size_t d = 0; d < read.index.size(); ++d) {
    Dimension dim{d, 1, 0, read.index[d], read.below[d], read.above[d], {}};
    for (const Moving& m : moving) {
      if (!Mentions(read.index[d], m.index)) continue;
      const auto slope = Coefficient(read.index[d], m.index);
      const int64_t by = slope ? AsInt(*slope).value_or(0) : 0;
      if (by == 0) return std::nullopt;
      if (m.length > 1) dim.step = std::gcd(dim.step, by);
      dim.first = Substitute(dim.first, {{m.index, by < 0 ? m.begin + Expr(m.length - 1) : m.begin}});
      dim.below |= m.ragged && by < 0, dim.above |= m.ragged && by > 0;
      dim.moving.emplace_back(m, by);
    }
    dim.step = std::max<int64_t>(1, dim.step);
    for (const auto& [m, by] : dim.moving) dim.extent += std::abs(by) / dim.step * (m.length - 1);
    if (!dim.moving.empty()) strip.dimensions_.push_back(dim);
    else if (read.below[d] || read.above[d]) return std::nullopt;
  }
  std::stable_sort(strip.dimensions_.begin(), strip.dimensions_.end(), [&](const Dimension& x, const Dimension& y) {
    return StrideIn(s, read.container, x.of) > StrideIn(s, read.container, y.of);
  });
  std::stable_partition(strip.dimensions_.begin(), strip.dimensions_.end(), [&](const Dimension& x) {
    return innermost == Name() || std::none_of(x.moving.begin(), x.moving.end(), [&](const auto& m) { return m.first.index == innermost; });
  });
  return strip.dimensions_.empty() ? std::nullopt : std::optional<Strip>(strip);
}

int64_t Strip::elements() const {
  int64_t n = 1;
  for (const Dimension& d : dimensions_) n = std::min<int64_t>(int64_t{1} << 40, n * d.extent);
  return n;
}

void Strip::Declare(Sdfg* s, DType type, const Device& d, int64_t group) {
  Container c;
  c.name = FreshIn(*s, "a");
  c.dtype = type;
  for (const Dimension& x : dimensions_) c.shape.push_back(Expr(x.extent));
  const int64_t line = (dimensions_.back().extent + group - 1) / group * group;
  c.shape.back() = Expr(line);
  if (line * ByteSize(type) % d.cache_stride == 0)
    c.shape.back() = Expr(line + d.vector_bytes / ByteSize(type));  // points in different sets
  c.storage = Storage::kWorker;
  buffer_ = c.name;
  s->Add(std::move(c));
}

std::vector<NodeId> Strip::Fill(Sdfg* s) const {
  std::vector<Range> loops;
  std::vector<Expr> slot, source = read_.index;
  Expr inside, in_lane;
  size_t last = 0;  // neighbours in memory
  const auto step = [&](size_t k) { return StrideIn(*s, read_.container, dimensions_[k].of); };
  for (size_t k = 0; k < dimensions_.size(); ++k)
    if (step(k) <= step(last)) last = k;
  const auto ask = [](Expr* all, const Expr& c) { *all = *all ? BinaryExpr(Op::kAnd, *all, c) : c; };
  for (size_t k = 0; k < dimensions_.size(); ++k) {
    const Dimension& d = dimensions_[k];
    const Name q = FreshIn(*s, "q" + std::to_string(k));
    loops.push_back({q, Expr(0), Expr(d.extent), Expr(1)});
    slot.push_back(SymbolExpr(q));
    source[d.of] = d.first + Expr(d.step) * SymbolExpr(q);
    Expr* const all = k == last ? &in_lane : &inside;
    if (d.below) ask(all, BinaryExpr(Op::kGe, source[d.of], Expr(0)));
    if (d.above) ask(all, BinaryExpr(Op::kLt, source[d.of], s->Get(read_.container).shape[d.of]));
  }
  const Range lane = loops[last];
  loops.erase(loops.begin() + static_cast<long>(last));
  const auto put = [&](const Expr& value) { return s->AddNode(Tasklet{buffer_, slot, false, false, WriteOp::kAssign, value}); };
  const DType type = s->Get(buffer_).dtype;
  const auto converted = [&](Expr e) {
    if (e.Is(ExprKind::kInt)) return e + Expr(read_.more);
    if (read_.cast == DType::kNone || e.Is(ExprKind::kFloat)) return e;
    e = CastExpr(read_.cast, e);
    if (read_.more != 0) e = BinaryExpr(Op::kAdd, e, Expr(read_.more));
    return read_.cast == type ? e : CastExpr(type, e);
  };
  const Expr outside = read_.outside ? converted(read_.outside) : IdentityOf(WriteOp::kAdd, type);
  const Expr value = converted(ReadExpr(read_.container, source));
  std::vector<NodeId> copy = in_lane ? PeeledLanes(s, lane, {put(SelectExpr(in_lane, value, outside))})
                                     : Wrap(s, {{{lane}, Schedule::kVector}}, {put(value)});
  if (inside) copy = {s->AddNode(If{inside, copy, Wrap(s, {{{lane}, Schedule::kVector}}, {put(outside)})})};
  return Wrap(s, {{loops, Schedule::kSequential}}, copy);
}

Expr Strip::Read(const NameMap& indices) const {
  std::vector<Expr> at;
  for (const Dimension& d : dimensions_) {
    at.push_back(Expr(0));
    for (const auto& [m, by] : d.moving) {
      const Expr moved = SymbolExpr(m.index) - m.begin;
      at.back() = at.back() + Expr(std::abs(by) / d.step) * (by < 0 ? Expr(m.length - 1) - moved : moved);
    }
    at.back() = Substitute(at.back(), indices);
  }
  return ReadExpr(buffer_, at);
}

}  // namespace headrace::schedule
