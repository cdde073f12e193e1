#include "ir/analysis/layout.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/analysis/sets.h"

namespace headrace {
namespace {

bool IsLe(const Expr& a, const Expr& b, const Assumptions& as) { return a == b || ProveLe(a, b, as) == Truth::kYes; }

// From the first element to the last one, where no stride is negative.
Expr LastElement(const Container& c) {
  const std::vector<Expr> strides = StridesOf(c);
  Expr last(0);
  for (size_t d = 0; d < c.shape.size(); ++d) last = last + strides[d] * (c.shape[d] - Expr(1));
  return last;
}

// A float that is a whole number (and one as f32 too), as an index.
Expr Whole(const Expr& e) {
  if (e.Is(ExprKind::kFloat) && std::abs(e->fvalue) < 0x1p24 && e->fvalue == std::floor(e->fvalue))
    return IntExpr(static_cast<int64_t>(e->fvalue));
  if (e.Is(ExprKind::kCast) && e->dtype == DType::kF64 && IsIndexExpr(e->args[0])) return e->args[0];
  return IsIndexExpr(e) ? e : Expr();
}

// Whether i64(clamp(x, lo, hi)) of floats is an index of `extent` elements, whatever x is: NaN becomes 0.
bool IsClampedInto(const Expr& extent, const Expr& index, const Assumptions& as) {
  if (!index.Is(ExprKind::kCast) || index->dtype != DType::kI64) return false;
  const Expr& clamp = index->args[0];
  if (!clamp.Is(ExprKind::kCall) || clamp->name.view() != "clamp") return false;
  const Expr lo = Whole(clamp->args[1]), hi = Whole(clamp->args[2]);
  return lo && hi && IsLe(Expr(0), lo, as) && IsLe(lo, hi, as) && IsLe(hi + Expr(1), extent, as);
}

bool CountsUp(const Range& r) { return !r.step || AsInt(r.step).value_or(-1) > 0; }

// Those that matter for an index: its symbols', and those that their bounds speak of.
std::vector<Range> RangesFor(const Expr& index, const std::vector<Range>& ranges) {
  std::vector<Name> wanted = FreeSymbols(index);
  std::vector<Range> out;
  for (size_t i = ranges.size(); i-- > 0;) {
    const Range& r = ranges[i];
    if (std::find(wanted.begin(), wanted.end(), r.index) == wanted.end()) continue;
    out.insert(out.begin(), r);
    for (const Expr& bound : {r.begin, r.end})
      for (Name n : FreeSymbols(bound)) wanted.push_back(n);
  }
  return out;
}

}  // namespace

bool IsContiguous(const Container& c) {
  if (c.row_major()) return true;
  const std::vector<Expr> dense = RowMajorStrides(c.shape), strides = StridesOf(c);
  for (size_t d = 0; d < c.shape.size(); ++d)
    if (AsInt(c.shape[d]) != 1 && ProveEq(strides[d], dense[d]) != Truth::kYes) return false;
  return true;
}

Result<Tensor> InMemory(const Container& constant) {
  const Tensor& from = constant.data;
  if (constant.order.row_major() || !from.data || from.shape.size() != constant.order.dims().size()) return from;
  HR_ASSIGN_OR_RETURN(Tensor to, Tensor::Create(from.dtype, from.shape));
  const size_t rank = from.shape.size(), item = static_cast<size_t>(ByteSize(from.dtype));
  std::vector<int64_t> dense(rank, 1), extent(rank), stride(rank), at(rank, 0);
  for (size_t d = rank; d-- > 1;) dense[d - 1] = dense[d] * from.shape[d];
  for (size_t k = 0; k < rank; ++k) {
    const size_t d = static_cast<size_t>(constant.order.dims()[k]);
    extent[k] = from.shape[d], stride[k] = dense[d];
  }
  const char* source = from.data->data();
  char* target = to.data->data();
  int64_t offset = 0;
  for (int64_t n = from.elements(); n > 0; --n, target += item) {
    std::memcpy(target, source + offset * static_cast<int64_t>(item), item);
    for (size_t k = rank; k-- > 0;) {
      offset += stride[k];
      if (++at[k] < extent[k]) break;
      offset -= stride[k] * extent[k];
      at[k] = 0;
    }
  }
  return to;
}

Expr MemoryExtent(const Container& c) { return c.strides.empty() || IsContiguous(c) ? NumElements(c) : LastElement(c) + Expr(1); }

namespace {

// What is known of sizes, and of the indices of loops around a kernel's calls, which are no sizes.
Assumptions KnownIn(const Sdfg& s) {
  Assumptions as = s.assumptions;
  for (const Range& r : s.given) {
    if (as.Find(r.index)) continue;
    Interval bounds;
    if (CountsUp(r)) bounds.lo = AsInt(r.begin), bounds.hi = AsInt(r.end);
    if (bounds.hi) --*bounds.hi;
    as.bounds.push_back({r.index, bounds});
  }
  return as;
}

// a <= b for all points of the ranges, inside of which there is one at least. Where the difference moves one way along a range, its first
// or its last point decides.
bool IsLeIn(const std::vector<Range>& ranges, const Expr& a, const Expr& b, const Assumptions& as) {
  if (IsLe(a, b, as)) return true;
  Expr gap = b - a;
  for (size_t k = ranges.size(); k-- > 0;) {
    const Range& r = ranges[k];
    if (!Mentions(gap, r.index)) continue;
    const std::optional<Expr> slope = CountsUp(r) ? Coefficient(gap, r.index) : std::nullopt;
    if (!slope) return false;
    const bool rises = IsLe(Expr(0), *slope, as);
    if (!rises && !IsLe(*slope, Expr(0), as)) return false;
    gap = Substitute(gap, {{r.index, rises ? r.begin : r.end - Expr(1)}});
  }
  return IsLe(Expr(0), gap, as);
}

}  // namespace

bool LiesInside(const Sdfg& s, const Container& view) {
  const Container& base = s.Get(view.base);
  const Assumptions as = s.given.empty() ? s.assumptions : KnownIn(s);
  const auto le = [&](const Expr& a, const Expr& b) { return IsLeIn(s.given, a, b, as); };
  const Expr extent = MemoryExtent(base);
  if (!view.offset && view.strides.empty()) return le(NumElements(view), extent);
  Expr first = view.offset ? view.offset : Expr(0), last = first;  // of the elements that it reaches
  const std::vector<Expr> strides = StridesOf(view);
  for (size_t d = 0; d < strides.size(); ++d) {
    const Expr reach = strides[d] * (view.shape[d] - Expr(1));
    if (le(Expr(0), strides[d])) last = last + reach;
    else if (le(strides[d], Expr(0))) first = first + reach;
    else return false;
  }
  return le(Expr(0), first) && le(last + Expr(1), extent);
}

Offset OffsetOf(const Sdfg& s, Name container, const std::vector<Expr>& index, bool flat) {
  const Container* c = &s.Get(container);
  bool known = std::all_of(index.begin(), index.end(), IsIndexExpr);
  Expr at(0);
  if (flat && !IsContiguous(*c)) {
    known = false;  // its coordinates are quotients and remainders
  } else if (flat) {
    at = index[0];
  } else if (known) {
    const std::vector<Expr> strides = StridesOf(*c);
    for (size_t d = 0; d < index.size(); ++d) at = at + index[d] * strides[d];
  }
  for (; c->kind == ContainerKind::kView; c = &s.Get(c->base))
    if (known && c->offset) at = at + c->offset;
  return {c->name, known ? at : Expr()};
}

bool Mentions(const Expr& e, Name symbol) {
  bool found = false;
  Visit(e, [&](const Expr& x) { return found |= x.Is(ExprKind::kSymbol) && x->name == symbol, !found; });
  return found;
}

namespace {

// Of sums, and of products with what does not move: without a look at the whole. Null for others.
Expr SlopeOf(const Expr& e, Name index) {
  if (e.Is(ExprKind::kSymbol)) return Expr(e->name == index ? 1 : 0);
  if (e.Is(ExprKind::kBinary) && (e->op == Op::kAdd || e->op == Op::kSub || e->op == Op::kMul)) {
    const Expr a = SlopeOf(e->args[0], index), b = SlopeOf(e->args[1], index);
    if (!a || !b) return {};
    if (e->op == Op::kAdd) return a + b;
    if (e->op == Op::kSub) return a - b;
    if (AsInt(a) == 0) return e->args[0] * b;
    return AsInt(b) == 0 ? a * e->args[1] : Expr();
  }
  return Mentions(e, index) ? Expr() : Expr(0);
}

}  // namespace

std::optional<Expr> Coefficient(const Expr& e, Name index) {
  if (!Mentions(e, index)) return IntExpr(0);
  if (!IsIndexExpr(e)) return std::nullopt;
  if (const Expr slope = SlopeOf(e, index); slope && !Mentions(slope, index)) return slope;
  const Expr at0 = Substitute(e, {{index, IntExpr(0)}}), at1 = Substitute(e, {{index, IntExpr(1)}});
  const Expr slope = at1 - at0;
  if (Mentions(slope, index) || Simplify(e) != at0 + slope * SymbolExpr(index)) return std::nullopt;
  return slope;
}

Sides UnprovenSides(const std::vector<Range>& ranges, const Expr& index, const Expr& extent, const Assumptions& as) {
  if (IsClampedInto(extent, index, as)) return {};
  if (!IsIndexExpr(index)) return {true, true};
  const std::vector<Range> relevant = RangesFor(index, ranges);
  if (index.Is(ExprKind::kSymbol) && !relevant.empty()) {
    const Range& r = relevant.back();
    if (r.index == index->name && CountsUp(r) && AsInt(r.begin).value_or(-1) >= 0 && IsLe(r.end, extent, as)) return {};
  }
  if (WithinBounds(relevant, {index}, {extent}, as) == Truth::kYes) return {};
  Assumptions known = as;
  for (const Range& r : relevant) {
    if (!CountsUp(r)) continue;
    Interval b{BoundsOf(r.begin, as).lo, BoundsOf(r.end, as).hi};
    if (b.hi) --*b.hi;
    known.bounds.insert(known.bounds.begin(), {r.index, b});
  }
  const Interval b = BoundsOf(index, known), size = BoundsOf(extent, known);
  return {!(b.lo && *b.lo >= 0), !(b.hi && size.lo && *b.hi < *size.lo)};
}

}  // namespace headrace
