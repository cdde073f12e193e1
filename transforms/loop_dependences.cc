#include "transforms/loop_dependences.h"

namespace headrace::transforms {
namespace {

bool CountsDown(const Range& r) { return r.step && AsInt(r.step).value_or(1) < 0; }

// The values that a loop's variable takes, at most, as a range that counts up.
Range Span(const Range& r) {
  if (CountsDown(r)) return {Name(), r.end + Expr(1), r.begin + Expr(1), Expr(1)};
  return {Name(), r.begin, r.end, Expr(1)};
}
Range Point(const Expr& at) { return {Name(), at, at + Expr(1), Expr(1)}; }

Subset At(Subset s, Name var, const Expr& value) {
  for (Range& r : s.dims) {
    r.begin = Substitute(r.begin, {{var, value}});
    r.end = Substitute(r.end, {{var, value}});
    if (r.step) r.step = Substitute(r.step, {{var, value}});
  }
  return s;
}

bool Commute(const Memlet& a, const Memlet& b) { return a.write && b.write && a.op == b.op && a.op != WriteOp::kAssign; }

}  // namespace

Assumptions WithLoops(Assumptions as, const std::vector<Range>& loops) {
  for (const Range& r : loops) {
    const Range span = Span(r);
    const Interval begin = BoundsOf(span.begin, as), end = BoundsOf(span.end, as);
    Interval of;
    of.lo = begin.lo;
    if (end.hi) of.hi = *end.hi - 1;
    as.bounds.insert(as.bounds.begin(), {r.index, of});
  }
  return as;
}

LoopDependences::LoopDependences(const Program& p, const Sdfg& s, const LoopNest& nest, const std::vector<NodeId>& statements,
                                 const std::unordered_set<Name>& apart)
    : s_(s), nest_(nest), distance_(s.FreshName("distance_of_iterations")) {
  assumptions_ = WithLoops(s.assumptions, nest.outer);
  assumptions_ = WithLoops(assumptions_, {nest.range});
  assumptions_.bounds.insert(assumptions_.bounds.begin(), {distance_, Interval{1, std::nullopt}});
  // Of what the program computes nothing is known, not even that it is a size.
  ForEachBlock(s, s.body, [&](BlockId b) {
    const Control& c = s.blocks[b].control;
    if (const auto* l = std::get_if<Loop>(&c); l && !l->var.empty()) assumptions_.bounds.push_back({l->var, Interval{}});
    if (const auto* let = std::get_if<Assign>(&c)) assumptions_.bounds.push_back({let->symbol, Interval{}});
  });
  for (NodeId n : statements) {
    std::vector<Memlet> kept;
    for (Memlet& m : MemletsOf(p, s, n))
      if (!apart.count(m.container)) kept.push_back(std::move(m));
    memlets_.push_back(std::move(kept));
  }
}

bool LoopDependences::Within(size_t a, size_t b) const {
  for (const Memlet& x : memlets_[a])
    for (const Memlet& y : memlets_[b])
      if (Conflict(x, y, false)) return true;
  return false;
}

bool LoopDependences::Carried(size_t a, size_t b) const {
  for (const Memlet& x : memlets_[a])
    for (const Memlet& y : memlets_[b])
      if (Conflict(x, y, true)) return true;
  return false;
}

bool LoopDependences::Conflict(const Memlet& a, const Memlet& b, bool carried) const {
  if (!a.write && !b.write) return false;
  if (RootOf(s_, a.container) != RootOf(s_, b.container) || Commute(a, b)) return false;
  if (a.container != b.container) return true;  // through views: not looked into
  const Expr v = SymbolExpr(nest_.range.index), d = SymbolExpr(distance_);
  const Expr later = !carried ? v : CountsDown(nest_.range) ? v - d : v + d;
  Subset first = a.subset, second = At(b.subset, nest_.range.index, later);
  // Both iterations are among the loop's, as are those of the loops around it: dimensions in which only such ones meet.
  auto meet = [&](const Expr& value, const Range& r) {
    first.dims.push_back(Point(value)), second.dims.push_back(Span(r));
  };
  meet(v, nest_.range);
  if (carried) meet(later, nest_.range);
  for (const Range& r : nest_.outer) meet(SymbolExpr(r.index), r);
  return Overlaps(first, second, assumptions_) != Truth::kNo;
}

}  // namespace headrace::transforms
