#include "ir/analysis/sets.h"

#include <algorithm>

#include "ir/analysis/ranges.h"
#include "ir/analysis/sets_isl.h"

namespace headrace {
namespace {

// The last value of a range of literals; else `most`.
Expr LastOf(const Range& r, const Expr& most) {
  const auto begin = AsInt(r.begin), end = AsInt(r.end), step = AsInt(StepOf(r));
  return begin && end && step && *step > 1 && *begin < *end ? Expr(*begin + (*end - 1 - *begin) / *step * *step) : most;
}

bool SameRange(const Range& a, const Range& b) {
  return a.begin == b.begin && a.end == b.end && StepOf(a) == StepOf(b);
}

// begin and end of a unit-step range of literals.
std::optional<std::pair<int64_t, int64_t>> Literal(const Range& r) {
  auto b = AsInt(r.begin), e = AsInt(r.end);
  if (!b || !e || !IsUnitStep(r)) return {};
  return std::make_pair(*b, *e);
}

bool HasElements(const Subset& s, const Assumptions& as) {
  return std::all_of(s.dims.begin(), s.dims.end(), [&](const Range& r) {
    const Hull h = HullOf(r, as);
    return h.lo && ProveLe(h.lo, h.hi, as) == Truth::kYes;
  });
}

// ranges[i] for a bare index, else null.
const Range* BareIndex(const Expr& e, const std::vector<Range>& ranges) {
  if (!e.Is(ExprKind::kSymbol)) return nullptr;
  for (const Range& r : ranges)
    if (r.index == e->name) return &r;
  return nullptr;
}

// Bounds of an index expression with every name of `ranges` swept; inclusive, by interval arithmetic over symbols.
struct Sweep {
  const std::vector<Range>& ranges;
  const Assumptions& as;
  bool by_steps = false;  // the last value, not what is before the end

  Hull Of(const Expr& e, int depth = 0) const {
    if (!MentionsAny(e, ranges)) return {e, e};
    if (depth > 16) return {};
    if (e.Is(ExprKind::kSymbol)) {
      const Range& r = *BareIndex(e, ranges);
      Hull h = HullOf(r, as);
      if (!h.lo) return {};
      if (by_steps) h.hi = LastOf(r, h.hi);
      // Triangular loops: bounds that mention outer indices are swept in turn.
      Hull lo = Of(h.lo, depth + 1), hi = Of(h.hi, depth + 1);
      return lo.lo && hi.hi ? Hull{lo.lo, hi.hi} : Hull{};
    }
    if (e.Is(ExprKind::kUnary) && e->op == Op::kNeg) {
      Hull a = Of(e->args[0], depth);
      return a.lo ? Hull{Expr(0) - a.hi, Expr(0) - a.lo} : Hull{};
    }
    if (e.Is(ExprKind::kCall) && (e->name == Name("min") || e->name == Name("max"))) {
      bool is_min = e->name == Name("min");
      Hull out = Of(e->args[0], depth);
      for (size_t i = 1; i < e->args.size() && out.lo; ++i) {
        Hull b = Of(e->args[i], depth);
        if (!b.lo) return {};
        out = is_min ? Hull{Min(out.lo, b.lo), Min(out.hi, b.hi)} : Hull{Max(out.lo, b.lo), Max(out.hi, b.hi)};
      }
      return out;
    }
    if (!e.Is(ExprKind::kBinary)) return {};
    Hull a = Of(e->args[0], depth), b = Of(e->args[1], depth);
    if (!a.lo || !b.lo) return {};
    switch (e->op) {
      case Op::kAdd: return {a.lo + b.lo, a.hi + b.hi};
      case Op::kSub: return {a.lo - b.hi, a.hi - b.lo};
      case Op::kMul: {
        if (MentionsAny(e->args[0], ranges)) std::swap(a, b);
        if (!(a.lo == a.hi)) return {};
        Interval sign = BoundsOf(a.lo, as);
        if (sign.lo && *sign.lo >= 0) return {a.lo * b.lo, a.lo * b.hi};
        if (sign.hi && *sign.hi <= 0) return {a.lo * b.hi, a.lo * b.lo};
        return {};
      }
      case Op::kFloorDiv: {
        if (!(b.lo == b.hi) || BoundsOf(b.lo, as).lo.value_or(0) < 1) return {};
        return {FloorDiv(a.lo, b.lo), FloorDiv(a.hi, b.lo)};
      }
      case Op::kMod: {
        if (!(b.lo == b.hi) || BoundsOf(b.lo, as).lo.value_or(0) < 1) return {};
        if (ProveLe(Expr(0), a.lo, as) == Truth::kYes && ProveLe(a.hi, b.lo - Expr(1), as) == Truth::kYes) return a;
        return {Expr(0), b.lo - Expr(1)};
      }
      default: return {};
    }
  }
};

// Those of an expression's indices, and of what their ends speak of.
std::vector<Range> RangesOf(const Expr& e, const std::vector<Range>& ranges) {
  std::vector<Range> out;
  std::vector<Expr> speaks = {e};
  for (size_t k = ranges.size(); k-- > 0;) {  // ends speak of what is further out
    const Range& r = ranges[k];
    if (std::none_of(speaks.begin(), speaks.end(), [&](const Expr& x) { return MentionsAny(x, {r}); })) continue;
    out.insert(out.begin(), r);
    speaks.insert(speaks.end(), {r.begin, r.end});
  }
  return out;
}

}  // namespace

Subset FullSubset(const std::vector<Expr>& shape) {
  Subset s;
  for (const Expr& d : shape) s.dims.push_back({Name(), Expr(0), d, Expr(1)});
  return s;
}

std::string ToString(const Subset& s) {
  std::string out = "[";
  for (size_t i = 0; i < s.dims.size(); ++i) {
    const Range& r = s.dims[i];
    if (i) out += ", ";
    out += ToString(r.begin);
    if (IsPoint(r)) continue;
    out += ":" + ToString(r.end);
    if (!IsUnitStep(r)) out += ":" + ToString(r.step);
  }
  return out + "]";
}

Truth Overlaps(const Subset& a, const Subset& b, const Assumptions& as) {
  if (a.dims.size() != b.dims.size()) return Truth::kUnknown;
  bool same = true, unsure = false;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    const Range &x = a.dims[i], &y = b.dims[i];
    if (SameRange(x, y)) continue;
    same = false;
    if (auto lit = Literal(x), other = Literal(y); lit && other) {  // most often: parts of a static array
      if (lit->second <= other->first || other->second <= lit->first) return Truth::kNo;
      if (lit->first < lit->second && other->first < other->second) continue;
    }
    Hull p = HullOf(x, as), q = HullOf(y, as);
    if (!p.lo || !q.lo) {
      unsure = true;
      continue;
    }
    if (ProveLe(p.hi + Expr(1), q.lo, as) == Truth::kYes || ProveLe(q.hi + Expr(1), p.lo, as) == Truth::kYes)
      return Truth::kNo;
    // Hulls may overlap and strided points still miss each other: isl decides.
    if (!(IsUnitStep(x) && IsUnitStep(y) && ProveLe(p.lo, q.hi, as) == Truth::kYes &&
          ProveLe(q.lo, p.hi, as) == Truth::kYes && ProveLe(p.lo, p.hi, as) == Truth::kYes &&
          ProveLe(q.lo, q.hi, as) == Truth::kYes))
      unsure = true;
  }
  if (same) return HasElements(a, as) ? Truth::kYes : Truth::kUnknown;  // equal boxes overlap unless they are empty
  return unsure ? isl_sets::Overlaps(a, b, as) : Truth::kYes;
}

Truth Covers(const Subset& outer, const Subset& inner, const Assumptions& as) {
  if (outer.dims.size() != inner.dims.size()) return Truth::kUnknown;
  bool yes = true;
  for (size_t i = 0; i < outer.dims.size() && yes; ++i) {
    const Range &o = outer.dims[i], &n = inner.dims[i];
    if (SameRange(o, n)) continue;
    if (auto have = Literal(o), want = Literal(n); have && want) {
      if (have->first <= want->first && want->second <= have->second) continue;
      if (want->first < want->second) return HasElements(inner, as) ? Truth::kNo : Truth::kUnknown;
    }
    if (!IsUnitStep(o)) {
      yes = false;
      break;
    }
    Hull h = HullOf(n, as);
    yes = h.lo && ProveLe(o.begin, h.lo, as) == Truth::kYes && ProveLe(h.hi + Expr(1), o.end, as) == Truth::kYes;
  }
  return yes ? Truth::kYes : isl_sets::Covers(outer, inner, as);
}

Truth WithinBounds(const std::vector<Range>& ranges, const std::vector<Expr>& index, const std::vector<Expr>& shape,
                   const Assumptions& as) {
  if (index.size() != shape.size()) return Truth::kUnknown;
  std::vector<size_t> open;
  std::optional<Assumptions> inside;
  for (size_t i = 0; i < index.size(); ++i) {
    const Range* r = BareIndex(index[i], ranges);
    if (r && AsInt(r->begin).value_or(-1) >= 0 && r->end == shape[i] && AsInt(StepOf(*r)).value_or(0) > 0) continue;
    if (auto c = AsInt(index[i])) {
      if (*c < 0 && open.empty()) return Truth::kNo;
      if (auto d = AsInt(shape[i]); d && *c >= 0 && *c < *d) continue;
    }
    if (!IsIndexExpr(index[i])) return Truth::kUnknown;
    if (!inside) inside = WithNonEmptyRanges(ranges, as);
    Hull h = Sweep{ranges, *inside, /*by_steps=*/true}.Of(index[i]);
    const bool shown = h.lo && ProveLe(Expr(0), h.lo, *inside) == Truth::kYes &&
                       ProveLe(h.hi + Expr(1), shape[i], *inside) == Truth::kYes;
    if (!shown) open.push_back(i);
  }
  // One dimension at a time, with the ranges that it moves by: small questions, and the same ones again and again.
  const bool all = std::all_of(open.begin(), open.end(), [&](size_t i) {
    return isl_sets::WithinBounds(RangesOf(index[i], ranges), {index[i]}, {shape[i]}, as) == Truth::kYes;
  });
  return all ? Truth::kYes : isl_sets::WithinBounds(ranges, index, shape, as);
}

Box ImageBox(const std::vector<Range>& ranges, const std::vector<Expr>& index, const std::vector<Expr>& shape,
             const Assumptions& as) {
  Box box;
  box.exact = true;
  std::vector<Name> seen;  // indices already swept by an earlier dimension: a diagonal is no box
  for (size_t i = 0; i < index.size(); ++i) {
    const Expr& e = index[i];
    Expr dim = i < shape.size() ? shape[i] : Expr();
    auto whole = [&] {
      box.exact = false;
      box.subset.dims.push_back({Name(), Expr(0), dim ? dim : Expr(0), Expr(1)});
    };
    if (!IsIndexExpr(e)) {
      whole();
      continue;
    }
    if (const Range* r = BareIndex(e, ranges)) {
      bool free = !MentionsAny(r->begin, ranges) && !MentionsAny(r->end, ranges) && !MentionsAny(StepOf(*r), ranges);
      box.exact &= std::find(seen.begin(), seen.end(), r->index) == seen.end();
      seen.push_back(r->index);
      if (free && AsInt(StepOf(*r)).value_or(0) > 0) {
        box.subset.dims.push_back({Name(), r->begin, r->end, StepOf(*r)});
        continue;
      }
    } else if (!MentionsAny(e, ranges)) {
      box.subset.dims.push_back({Name(), e, e + Expr(1), Expr(1)});
      continue;
    }
    Hull h = Sweep{ranges, as}.Of(e);
    if (!h.lo) {
      whole();
      continue;
    }
    // Exact when the sum has unit steps over fresh indices with constant bounds.
    LinearForm f;
    bool exact = LinearIn(e, ranges, &f), unit = false;
    int64_t stride = 1;
    int moving = 0;
    for (size_t k = 0; exact && k < ranges.size(); ++k) moving += !(AsInt(f.coefficients[k]) == 0);
    for (size_t k = 0; exact && k < ranges.size(); ++k) {
      auto c = AsInt(f.coefficients[k]);
      if (c == 0) continue;
      if (c && moving == 1) stride = *c < 0 ? -*c : *c;  // 2*i + 1: every second element
      exact = c && (*c == 1 || *c == -1 || moving == 1) && IsUnitStep(ranges[k]) &&
              !MentionsAny(ranges[k].begin, ranges) && !MentionsAny(ranges[k].end, ranges) &&
              std::find(seen.begin(), seen.end(), ranges[k].index) == seen.end();
      unit = true;
      seen.push_back(ranges[k].index);
    }
    box.exact &= exact && unit;
    box.subset.dims.push_back({Name(), h.lo, h.hi + Expr(1), Expr(exact && unit ? stride : 1)});
  }
  return box;
}

}  // namespace headrace
