#include "transforms/schedule/strip.h"

#include <algorithm>
#include <numeric>

#include "ir/analysis/layout.h"
#include "transforms/schedule/borders.h"
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
  if (count_ > 1) group = 1;  // whose groups lie beside each other
  const int64_t line = (dimensions_.back().extent + group - 1) / group * group;
  c.shape.back() = Expr(line);
  const int64_t bytes = count_ * ByteSize(type);
  if (line * bytes % d.cache_stride == 0) c.shape.back() = Expr(line + d.vector_bytes / bytes);  // points in different sets
  if (count_ > 1) c.shape.push_back(Expr(count_));
  c.storage = Storage::kWorker;
  buffer_ = c.name;
  s->Add(std::move(c));
}

size_t Strip::Lane(const Sdfg& s) const {
  size_t last = 0;
  const auto step = [&](size_t k) { return StrideIn(s, read_.container, dimensions_[k].of); };
  for (size_t k = 0; k < dimensions_.size(); ++k)
    if (step(k) <= step(last)) last = k;
  return last;
}

bool Strip::PutBeside(const Sdfg& s, Name term, int64_t count) {
  int found = 0;
  for (size_t k = 0; k < dimensions_.size(); ++k)
    for (const auto& [m, by] : dimensions_[k].moving)
      if (m.index == term) found += by > 0 ? 1 : 2, moved_ = k, apart_ = by / dimensions_[k].step;
  if (found != 1 || moved_ == Lane(s) || moved_ + 1 == dimensions_.size()) return false;
  count_ = count;
  dimensions_[moved_].extent -= apart_ * (count - 1);  // the last ones lie beside others
  return true;
}

Strip::Element Strip::At(const Sdfg& s, const std::vector<Range>& places, int64_t beside) const {
  Element e;
  e.source = read_.index;
  const size_t lane = Lane(s);
  const auto ask = [](Expr* all, const Expr& c) { *all = *all ? BinaryExpr(Op::kAnd, *all, c) : c; };
  for (size_t k = 0; k < dimensions_.size(); ++k) {
    const Dimension& d = dimensions_[k];
    const Expr place = SymbolExpr(places[k].index);
    e.slot.push_back(place);
    e.source[d.of] = d.first + Expr(d.step) * (k == moved_ && beside > 0 ? place + Expr(apart_ * beside) : place);
    Expr* const all = k == lane ? &e.in_lane : &e.inside;
    if (d.below) ask(all, BinaryExpr(Op::kGe, e.source[d.of], Expr(0)));
    if (d.above) ask(all, BinaryExpr(Op::kLt, e.source[d.of], s.Get(read_.container).shape[d.of]));
  }
  if (count_ > 1) e.slot.push_back(Expr(beside));
  return e;
}

std::vector<NodeId> Strip::Fill(Sdfg* s) const {
  std::vector<Range> places;
  for (size_t k = 0; k < dimensions_.size(); ++k) places.push_back({FreshIn(*s, "q" + std::to_string(k)), Expr(0), Expr(dimensions_[k].extent), Expr(1)});
  std::vector<Element> elements;
  for (int64_t k = 0; k < count_; ++k) elements.push_back(At(*s, places, k));
  std::vector<Range> loops = places;
  const Range lane = loops[Lane(*s)];
  loops.erase(loops.begin() + static_cast<long>(Lane(*s)));
  const DType type = s->Get(buffer_).dtype;
  const auto converted = [&](Expr e) {
    if (e.Is(ExprKind::kInt)) return e + Expr(read_.more);
    if (read_.cast == DType::kNone || e.Is(ExprKind::kFloat)) return e;
    e = CastExpr(read_.cast, e);
    if (read_.more != 0) e = BinaryExpr(Op::kAdd, e, Expr(read_.more));
    return read_.cast == type ? e : CastExpr(type, e);
  };
  const Expr outside = read_.outside ? converted(read_.outside) : IdentityOf(WriteOp::kAdd, type);
  const auto put = [&](const Element& e, const Expr& value) { return s->AddNode(Tasklet{buffer_, e.slot, false, false, WriteOp::kAssign, value}); };
  const auto copied = [&](const std::vector<Element>& some) {
    std::vector<NodeId> body;
    for (const Element& e : some) {
      const Expr value = converted(ReadExpr(read_.container, e.source));
      body.push_back(put(e, e.in_lane ? SelectExpr(e.in_lane, value, outside) : value));
    }
    return some[0].in_lane ? PeeledLanes(s, lane, body) : Wrap(s, {{{lane}, Schedule::kVector}}, body);
  };
  const auto either = [&](const Element& e) -> std::vector<NodeId> {
    if (!e.inside) return copied({e});
    return {s->AddNode(If{e.inside, copied({e}), Wrap(s, {{{lane}, Schedule::kVector}}, {put(e, outside)})})};
  };
  std::vector<NodeId> copy = count_ > 1 ? copied(elements) : either(elements[0]);
  if (count_ > 1 && elements[0].inside) {  // all of them are inside nearly everywhere
    Expr all;
    std::vector<Expr> asked;
    std::vector<NodeId> one_by_one;
    for (const Element& e : elements) {
      std::vector<Expr> conditions;
      Conjuncts(e.inside, &conditions);
      for (const Expr& c : conditions)
        if (std::find(asked.begin(), asked.end(), c) == asked.end()) asked.push_back(c), all = all ? BinaryExpr(Op::kAnd, all, c) : c;
      Add(&one_by_one, either(e));
    }
    copy = {s->AddNode(If{all, copy, one_by_one})};
  }
  return Wrap(s, {{loops, Schedule::kSequential}}, copy);
}

Expr Strip::Read(const NameMap& indices, int64_t beside) const {
  std::vector<Expr> at;
  for (const Dimension& d : dimensions_) {
    at.push_back(Expr(0));
    for (const auto& [m, by] : d.moving) {
      const Expr moved = SymbolExpr(m.index) - m.begin;
      at.back() = at.back() + Expr(std::abs(by) / d.step) * (by < 0 ? Expr(m.length - 1) - moved : moved);
    }
    at.back() = Substitute(at.back(), indices);
  }
  if (count_ > 1) at.push_back(Expr(beside));
  return ReadExpr(buffer_, at);
}

}  // namespace headrace::schedule
