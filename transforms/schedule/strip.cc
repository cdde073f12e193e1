#include "transforms/schedule/strip.h"

#include <algorithm>
#include <numeric>

#include "ir/analysis/layout.h"
#include "transforms/schedule/peel.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {

std::optional<Strip> Strip::Of(const Sdfg& s, const WindowRead& read, const std::vector<Moving>& moving) {
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
  return strip.dimensions_.empty() ? std::nullopt : std::optional<Strip>(strip);
}

int64_t Strip::elements() const {
  int64_t n = 1;
  for (const Dimension& d : dimensions_) n = std::min<int64_t>(int64_t{1} << 40, n * d.extent);
  return n;
}

void Strip::Declare(Sdfg* s, DType type, const Device& d) {
  Container c;
  c.name = FreshIn(*s, "a");
  c.dtype = type;
  for (const Dimension& x : dimensions_) c.shape.push_back(Expr(x.extent));
  if (const int64_t line = dimensions_.back().extent; line * ByteSize(type) % d.cache_stride == 0)
    c.shape.back() = Expr(line + d.vector_bytes / ByteSize(type));  // points in different sets
  c.storage = Storage::kWorker;
  buffer_ = c.name;
  s->Add(std::move(c));
}

std::vector<NodeId> Strip::Fill(Sdfg* s) const {
  std::vector<Range> loops;
  std::vector<Expr> slot, source = read_.index;
  Expr inside, in_lane;
  const auto ask = [](Expr* all, const Expr& c) { *all = *all ? BinaryExpr(Op::kAnd, *all, c) : c; };
  for (size_t k = 0; k < dimensions_.size(); ++k) {
    const Dimension& d = dimensions_[k];
    const Name q = FreshIn(*s, "q" + std::to_string(k));
    loops.push_back({q, Expr(0), Expr(d.extent), Expr(1)});
    slot.push_back(SymbolExpr(q));
    source[d.of] = d.first + Expr(d.step) * SymbolExpr(q);
    Expr* const all = k + 1 == dimensions_.size() ? &in_lane : &inside;
    if (d.below) ask(all, BinaryExpr(Op::kGe, source[d.of], Expr(0)));
    if (d.above) ask(all, BinaryExpr(Op::kLt, source[d.of], s->Get(read_.container).shape[d.of]));
  }
  const Range lane = loops.back();
  loops.pop_back();
  const auto put = [&](const Expr& value) { return s->AddNode(Tasklet{buffer_, slot, false, false, WriteOp::kAssign, value}); };
  const Expr outside = read_.outside ? read_.outside : FloatExpr(0), value = ReadExpr(read_.container, source);
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
