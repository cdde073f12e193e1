#include "ir/analysis/sets.h"

#include <algorithm>

#include "ir/analysis/sets_isl.h"

namespace headrace {
namespace {

Expr StepOf(const Range& r) { return r.step ? r.step : Expr(1); }

// Last value a range takes at most, and first at least; inclusive. Null for steps of unknown sign.
struct Hull {
  Expr lo, hi;
};
Hull HullOf(const Range& r, const Assumptions& as) {
  Expr step = StepOf(r);
  if (auto s = AsInt(step)) {
    if (*s > 0) return {r.begin, r.end - Expr(1)};
    if (*s < 0) return {r.end + Expr(1), r.begin};
    return {};
  }
  Interval b = BoundsOf(step, as);
  if (b.lo && *b.lo > 0) return {r.begin, r.end - Expr(1)};
  if (b.hi && *b.hi < 0) return {r.end + Expr(1), r.begin};
  return {};
}

// The last value of a range of literals; else `most`.
Expr LastOf(const Range& r, const Expr& most) {
  const auto begin = AsInt(r.begin), end = AsInt(r.end), step = AsInt(StepOf(r));
  return begin && end && step && *step > 1 && *begin < *end ? Expr(*begin + (*end - 1 - *begin) / *step * *step) : most;
}

bool MentionsAny(const Expr& e, const std::vector<Range>& ranges) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    if (x.Is(ExprKind::kSymbol))
      for (const Range& r : ranges) found |= r.index == x->name;
    return !found;
  });
  return found;
}

bool SameRange(const Range& a, const Range& b) {
  return a.begin == b.begin && a.end == b.end && StepOf(a) == StepOf(b);
}
bool IsUnitStep(const Range& r) { return AsInt(StepOf(r)) == 1; }
bool IsPoint(const Range& r) { return IsUnitStep(r) && r.end == r.begin + Expr(1); }

// begin and end of a unit-step range of literals.
std::optional<std::pair<int64_t, int64_t>> Literal(const Range& r) {
  auto b = AsInt(r.begin), e = AsInt(r.end);
  if (!b || !e || !IsUnitStep(r)) return {};
  return std::make_pair(*b, *e);
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

// e = Σ coefficient·index + rest, coefficients free of the indices.
struct LinearForm {
  std::vector<Expr> coefficients;
  Expr rest;
};
bool LinearIn(const Expr& e, const std::vector<Range>& ranges, LinearForm* out) {
  bool plain = true;  // only sums, differences, products and negations may hide a linear form
  Visit(e, [&](const Expr& x) {
    if (x.Is(ExprKind::kInt) || x.Is(ExprKind::kSymbol)) return false;
    if (x.Is(ExprKind::kBinary) && (x->op == Op::kAdd || x->op == Op::kSub || x->op == Op::kMul)) return plain;
    if (x.Is(ExprKind::kUnary) && x->op == Op::kNeg) return plain;
    if (MentionsAny(x, ranges) || !IsIndexExpr(x)) plain = false;
    return false;
  });
  if (!plain) return false;
  NameMap zero;
  for (const Range& r : ranges) zero.push_back({r.index, Expr(0)});
  out->rest = Substitute(e, zero);
  out->coefficients.clear();
  for (const Range& r : ranges) {
    bool used = false;
    Visit(e, [&](const Expr& x) {
      used |= x.Is(ExprKind::kSymbol) && x->name == r.index;
      return !used;
    });
    if (!used) {
      out->coefficients.push_back(Expr(0));
      continue;
    }
    Expr c = Simplify(Substitute(e, {{r.index, Expr(r.index) + Expr(1)}}) - e);
    if (MentionsAny(c, ranges)) return false;
    out->coefficients.push_back(c);
  }
  return true;
}

// `e` or what it is at most (at least), without the indices: null where nothing says so.
Expr Without(const std::vector<Range>& ranges, const Expr& e, bool at_most) {
  if (!MentionsAny(e, ranges)) return e;
  if (!e.Is(ExprKind::kCall) || e->name != Name(at_most ? "min" : "max")) return {};
  Expr out;
  for (const Expr& a : e->args)
    if (const Expr x = Without(ranges, a, at_most)) out = !out ? x : at_most ? Min(out, x) : Max(out, x);
  return out;
}

// An index as a digit of a number: by how much its values differ at least, and at most. No spread: not known.
struct Digit {
  int64_t step = 1;
  Expr spread;
};
Digit DigitOf(const Range& r, const std::vector<Range>& ranges, const Assumptions& as) {
  const int64_t step = AsInt(StepOf(r)).value_or(0);
  if (step < 1) {
    const Hull h = HullOf(r, as);
    return {1, h.lo && !MentionsAny(h.lo, ranges) && !MentionsAny(h.hi, ranges) ? h.hi - h.lo : Expr()};
  }
  // Where the first value moves, two may be nearer than a step.
  const Expr first = Without(ranges, r.begin, /*at_most=*/false), end = Without(ranges, r.end, /*at_most=*/true);
  if (!first || !end) return {};
  const Expr spread = end - first - Expr(1);
  if (first != r.begin) return {1, spread};
  const auto known = AsInt(spread);
  return {step, known && *known >= 0 ? Expr(*known / step * step) : spread};
}

// Injectivity by elimination: an index is determined once some position fixes it given the determined ones. Positions
// that hold several undetermined indices count when they are a mixed-radix number (i*N + j with 0 ≤ j < N).
Truth InjectiveByElimination(const std::vector<Range>& ranges, const std::vector<Expr>& index, const Assumptions& as) {
  std::vector<bool> known(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) known[i] = IsPoint(ranges[i]);
  // x // n and x % n together determine x (coordinates of a flat offset).
  std::vector<Expr> given = index;
  for (size_t i = 0; i < given.size() && given.size() < 32; ++i) {
    for (size_t j = 0; j < given.size(); ++j) {
      const Expr m = given[j];
      if (!m.Is(ExprKind::kBinary) || m->op != Op::kMod) continue;
      const Expr x = m->args[0], n = m->args[1];
      bool quotient = FloorDiv(x, n) == given[i];
      if (!quotient && x.Is(ExprKind::kBinary) && x->op == Op::kFloorDiv)  // x = a // c: then x // n is a // (c*n)
        quotient = FloorDiv(x->args[0], x->args[1] * n) == given[i];
      if (!quotient) continue;
      if (std::find(given.begin(), given.end(), m->args[0]) == given.end()) given.push_back(m->args[0]), i = 0;
    }
  }
  std::vector<LinearForm> forms;
  for (const Expr& e : given) {
    LinearForm f;
    if (LinearIn(e, ranges, &f)) forms.push_back(std::move(f));
  }
  std::vector<Digit> digits;
  for (const Range& r : ranges) digits.push_back(DigitOf(r, ranges, as));
  for (bool progress = true; progress;) {
    progress = false;
    for (const LinearForm& f : forms) {
      std::vector<size_t> open;
      for (size_t i = 0; i < ranges.size(); ++i)
        if (!known[i] && !(AsInt(f.coefficients[i]) == 0)) open.push_back(i);
      if (open.empty()) continue;
      auto nonzero = [&](const Expr& c) {
        Interval b = BoundsOf(c, as);
        return (b.lo && *b.lo > 0) || (b.hi && *b.hi < 0);
      };
      auto magnitude = [&](size_t i) {
        const Expr& c = f.coefficients[i];
        Interval b = BoundsOf(c, as);
        if (b.lo && *b.lo >= 0) return c;
        if (b.hi && *b.hi <= 0) return Expr(0) - c;
        return Expr();
      };
      auto least = [&](size_t i) { return magnitude(i) * Expr(digits[i].step); };  // two values of the index differ by that, or more
      auto most = [&](size_t i) { return magnitude(i) * digits[i].spread; };       // and by that at most
      if (open.size() == 1) {
        size_t i = open[0];
        // A symbolic coefficient that is ≥ 0 may still be 0; extents of such symbols being 0 leaves no iteration at all.
        if (!nonzero(f.coefficients[i])) continue;
        known[i] = progress = true;
        continue;
      }
      // Mixed radix: order by magnitude; each step must be more than what all smaller digits reach together.
      bool ok = true;
      for (size_t i : open) ok &= magnitude(i) && digits[i].spread;
      if (!ok) continue;
      std::vector<size_t> order;
      std::vector<size_t> rest = open;
      Expr reach(0);  // largest sum of the digits placed so far
      while (ok && !rest.empty()) {
        size_t best = rest.size();
        for (size_t k = 0; k < rest.size() && best == rest.size(); ++k) {
          Expr m = least(rest[k]);
          if (ProveLe(reach + Expr(1), m, as) != Truth::kYes) continue;
          bool smallest = true;
          for (size_t o = 0; o < rest.size(); ++o)
            if (o != k && ProveLe(m, least(rest[o]), as) != Truth::kYes &&
                ProveLe(reach + most(rest[k]) + Expr(1), least(rest[o]), as) != Truth::kYes)
              smallest = false;
          if (smallest) best = k;
        }
        if (best == rest.size()) {
          ok = false;
          break;
        }
        reach = reach + most(rest[best]);
        rest.erase(rest.begin() + best);
      }
      if (!ok) continue;
      for (size_t i : open) known[i] = true;
      progress = true;
    }
  }
  return std::all_of(known.begin(), known.end(), [](bool k) { return k; }) ? Truth::kYes : Truth::kUnknown;
}

// Inside a map every range has a point, so an index's range being non-empty says its bounds are ordered: extents are ≥ 1.
// That makes symbolic strides such as N in i*N + j positive.
Assumptions WithNonEmptyRanges(const std::vector<Range>& ranges, const Assumptions& as) {
  Assumptions out = as;
  auto at_least_one = [&](const Expr& e) {
    if (!e || !e.Is(ExprKind::kSymbol)) return;
    for (auto& b : out.bounds) {
      if (b.first != e->name) continue;
      if (!b.second.lo || *b.second.lo < 1) b.second.lo = 1;
      return;
    }
    out.bounds.push_back({e->name, Interval{1, {}}});
  };
  for (const Range& r : ranges)
    if (AsInt(r.begin) == 0 && AsInt(StepOf(r)).value_or(0) > 0) at_least_one(r.end);
  return out;
}

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
  if (same) {  // equal boxes overlap unless they are empty
    for (const Range& r : a.dims) {
      Hull h = HullOf(r, as);
      if (!h.lo || ProveLe(h.lo, h.hi, as) != Truth::kYes) return Truth::kUnknown;
    }
    return Truth::kYes;
  }
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
      if (outer.dims.size() == 1 && want->first < want->second) return Truth::kNo;
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

Truth IsInjective(const std::vector<Range>& ranges, const std::vector<Expr>& index, const Assumptions& as) {
  // Usual case first: every index stands bare somewhere.
  bool bare = true;
  for (const Range& r : ranges) {
    bool found = false;
    for (const Expr& e : index) found |= e.Is(ExprKind::kSymbol) && e->name == r.index;
    bare &= found;
  }
  if (bare) return Truth::kYes;
  for (const Expr& e : index)
    if (!IsIndexExpr(e)) return Truth::kUnknown;
  // An index that no position mentions repeats every element, as soon as its range has two points.
  for (const Range& r : ranges) {
    bool used = false;
    for (const Expr& e : index)
      Visit(e, [&](const Expr& x) {
        used |= x.Is(ExprKind::kSymbol) && x->name == r.index;
        return !used;
      });
    if (used || IsPoint(r)) continue;
    Hull h = HullOf(r, as);
    if (h.lo && ProveLe(h.lo + Expr(1), h.hi, as) == Truth::kYes) return Truth::kNo;
    if (h.lo && ProveLe(h.hi, h.lo, as) == Truth::kYes) continue;
    return Truth::kUnknown;
  }
  if (InjectiveByElimination(ranges, index, WithNonEmptyRanges(ranges, as)) == Truth::kYes) return Truth::kYes;
  return isl_sets::IsInjective(ranges, index, as);
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
