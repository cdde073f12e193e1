// Interval arithmetic over the canonical form, and proofs of order built on it.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "ir/expr/symbolic_poly.h"

namespace headrace {
namespace symbolic {
namespace {

// Interval ends that may be infinite; finite ones are exact in 128 bits until they leave int64,
// which makes them infinite.
using Wide = __int128;
struct End {
  int infinite = 0;
  Wide value = 0;
};  // infinite: -1, 0 or +1
struct Range {
  End lo{-1, 0}, hi{1, 0};
};

End Finite(Wide v) {
  if (v > std::numeric_limits<int64_t>::max()) return {1, 0};
  if (v < std::numeric_limits<int64_t>::min()) return {-1, 0};
  return {0, v};
}
// As a lower (upper) end: what overflowed the wrong way is simply unknown.
End AsLow(End e) { return e.infinite > 0 ? End{0, std::numeric_limits<int64_t>::max()} : e; }
End AsHigh(End e) { return e.infinite < 0 ? End{0, std::numeric_limits<int64_t>::min()} : e; }

bool Less(const End& a, const End& b) {
  if (a.infinite != b.infinite) return a.infinite < b.infinite;
  return a.infinite == 0 && a.value < b.value;
}
int SignOf(const End& e) { return e.infinite ? e.infinite : (e.value > 0) - (e.value < 0); }

End Times(const End& a, const End& b) {
  const int sign = SignOf(a) * SignOf(b);
  if (sign == 0) return {0, 0};
  if (a.infinite || b.infinite) return {sign, 0};
  return Finite(a.value * b.value);
}

Range Hull(std::initializer_list<End> ends) {
  Range r{*ends.begin(), *ends.begin()};
  for (const End& e : ends) {
    if (Less(e, r.lo)) r.lo = e;
    if (Less(r.hi, e)) r.hi = e;
  }
  return {AsLow(r.lo), AsHigh(r.hi)};
}

Range Union(const Range& a, const Range& b) { return {Less(a.lo, b.lo) ? a.lo : b.lo, Less(a.hi, b.hi) ? b.hi : a.hi}; }

Range Product(const Range& a, const Range& b) {
  return Hull({Times(a.lo, b.lo), Times(a.lo, b.hi), Times(a.hi, b.lo), Times(a.hi, b.hi)});
}

Range Plus(const Range& a, const Range& b) {
  const auto add = [](const End& x, const End& y) {
    if (x.infinite) return x;
    return y.infinite ? y : Finite(x.value + y.value);
  };
  return {AsLow(add(a.lo, b.lo)), AsHigh(add(a.hi, b.hi))};
}

Range Point(int64_t v) { return {{0, v}, {0, v}}; }

Range Negate(const Range& a) {
  const auto minus = [](const End& e) { return e.infinite ? End{-e.infinite, 0} : Finite(-e.value); };
  return {AsLow(minus(a.hi)), AsHigh(minus(a.lo))};
}

End DivideEnd(const End& a, const End& b) {  // floor(a / b), b ≥ 1
  if (b.infinite) return {0, a.infinite > 0 ? Wide{0} : Wide{SignOf(a) < 0 ? -1 : 0}};
  if (a.infinite) return a;
  const Wide q = a.value / b.value;
  return {0, a.value % b.value != 0 && a.value < 0 ? q - 1 : q};
}

// One question. Expressions share subtrees, and a chain of `x // 2 + x % 3` has exponentially many paths: after a few
// nodes, ranges are remembered.
struct Question {
  const Assumptions* as = nullptr;
  int visits = 0;
  std::unordered_map<const void*, Range> known;  // of nodes of the asker's tree
};

Range RangeOf(const Expr& e, Question& as);

Range RangeOf(const Poly& p, Question& as) {
  Range sum = Point(0);
  for (const Term& t : p.terms) {
    Range product = Point(t.coefficient);
    for (size_t i = 0; i < t.atoms.size(); ++i) {
      const Range atom = RangeOf(t.atoms[i], as);
      if (i + 1 < t.atoms.size() && t.atoms[i] == t.atoms[i + 1]) {  // squares are not negative
        Range square = Product(atom, atom);
        if (SignOf(square.lo) < 0) square.lo = {0, 0};
        product = Product(product, square);
        ++i;
      } else {
        product = Product(product, atom);
      }
    }
    sum = Plus(sum, product);
  }
  return sum;
}

Range FloorDivRange(const Range& a, const Range& b) {
  if (SignOf(b.hi) < 0) return FloorDivRange(Negate(a), Negate(b));
  if (SignOf(b.lo) < 0) {  // the divisor may have either sign: |a // b| ≤ |a|
    return Union(Union(a, Negate(a)), Point(0));
  }
  Range divisor = b;
  if (SignOf(divisor.lo) == 0) divisor.lo = {0, 1};
  if (SignOf(divisor.hi) == 0) divisor.hi = {0, 1};
  // An infinite dividend over an unbounded divisor may be anything between its sign's ends.
  Range r = Hull({DivideEnd(a.lo, divisor.lo), DivideEnd(a.lo, divisor.hi), DivideEnd(a.hi, divisor.lo),
                  DivideEnd(a.hi, divisor.hi)});
  return SignOf(b.lo) == 0 ? Union(r, Point(0)) : r;  // division by zero gives 0
}

Range ModRange(const Range& a, const Range& b) {
  Range r;
  if (SignOf(b.lo) >= 0) {
    r.lo = {0, 0};
    r.hi = b.hi.infinite ? b.hi : End{0, std::max<Wide>(b.hi.value - 1, 0)};
    if (SignOf(a.lo) >= 0) {
      if (SignOf(b.lo) > 0 && Less(a.hi, b.lo)) return a;
      if (Less(a.hi, r.hi)) r.hi = a.hi;
    }
  } else if (SignOf(b.hi) <= 0) {
    r.hi = {0, 0};
    r.lo = b.lo.infinite ? b.lo : End{0, b.lo.value + 1};
  } else {
    r.lo = b.lo;
    r.hi = b.hi;
  }
  return r;
}

Range SymbolRange(Name n, const Assumptions* as) {
  Range r;
  if (as == nullptr) return r;
  const auto known = as->Find(n);
  if (!known) {
    r.lo = {0, 0};
    return r;
  }
  if (known->lo) r.lo = {0, *known->lo};
  if (known->hi) r.hi = {0, *known->hi};
  return r;
}

Range CallRange(const Expr& e, Question& as) {
  const std::string_view fn = e->name.view();
  std::vector<Range> a;
  for (const Expr& x : e->args) a.push_back(RangeOf(x, as));
  if ((fn == "min" || fn == "max") && !a.empty()) {
    Range r = a[0];
    for (const Range& x : a) {
      if (fn == "min" ? Less(x.lo, r.lo) : Less(r.lo, x.lo)) r.lo = x.lo;
      if (fn == "min" ? Less(x.hi, r.hi) : Less(r.hi, x.hi)) r.hi = x.hi;
    }
    return r;
  }
  if (fn == "wrap" && a.size() == 2) {
    if (SignOf(a[0].lo) >= 0) return a[0];
    Range below = Plus(a[0], a[1]);  // for i < 0: at most n - 1
    const Range top = Plus(a[1], Point(-1));
    if (Less(top.hi, below.hi)) below.hi = top.hi;
    if (SignOf(a[0].hi) < 0) return below;
    return Union({{0, 0}, a[0].hi}, below);
  }
  if (fn == "reflect" && a.size() == 2) {
    Range r{{0, 0}, Plus(a[1], Point(-1)).hi};
    if (SignOf(r.hi) < 0) r.hi = {0, 0};
    return r;
  }
  if (fn == "abs" && a.size() == 1) {
    Range r = Union(a[0], Negate(a[0]));
    if (SignOf(a[0].lo) >= 0) return a[0];
    if (SignOf(a[0].hi) <= 0) return Negate(a[0]);
    r.lo = {0, 0};
    return r;
  }
  return {};
}

Range Compute(const Expr& e, Question& as) {
  switch (e->kind) {
    case ExprKind::kInt: return Point(e->ivalue);
    case ExprKind::kBool: return Point(e->ivalue != 0);
    case ExprKind::kSymbol: return SymbolRange(e->name, as.as);
    case ExprKind::kSelect: return Union(RangeOf(e->args[1], as), RangeOf(e->args[2], as));
    case ExprKind::kCall: return CallRange(e, as);
    case ExprKind::kUnary: return e->op == Op::kNeg ? Negate(RangeOf(e->args[0], as)) : Range{};
    case ExprKind::kBinary: {
      if (e->op == Op::kFloorDiv) return FloorDivRange(RangeOf(e->args[0], as), RangeOf(e->args[1], as));
      if (e->op == Op::kMod) return ModRange(RangeOf(e->args[0], as), RangeOf(e->args[1], as));
      if (e->op == Op::kAdd || e->op == Op::kSub || e->op == Op::kMul) {
        const auto p = ToPoly(e);
        if (p && !(p->terms.size() == 1 && p->terms[0].atoms.size() == 1 && p->terms[0].atoms[0] == e))
          return RangeOf(*p, as);
      }
      return {};
    }
    default: return {};
  }
}

Range RangeOf(const Expr& e, Question& as) {
  if (e->args.empty() || ++as.visits < 64) return Compute(e, as);
  auto it = as.known.find(e.id());
  if (it != as.known.end()) return it->second;
  const Range r = Compute(e, as);
  as.known.emplace(e.id(), r);
  return r;
}

template <typename T>
Range RangeOf(const T& e, const Assumptions* as) {
  Question question;
  question.as = as;
  return RangeOf(e, question);
}

Interval ToInterval(const Range& r) {
  Interval out;
  if (!r.lo.infinite) out.lo = static_cast<int64_t>(r.lo.value);
  if (!r.hi.infinite) out.hi = static_cast<int64_t>(r.hi.value);
  return out;
}

// A polynomial that is ≤ c * atom, for each way that helps: what is known of `//`, `%`, min and max
// in terms of their arguments, where the interval of the atom alone says too little.
std::vector<Poly> Below(const Expr& atom, int64_t c, const Assumptions& as) {
  std::vector<Poly> out;
  const auto add = [&](const Expr& e, int64_t scale, int64_t constant) {
    Poly p;
    const auto q = ToPoly(e);
    if (q && AddScaled(*q, scale, &p) && AddScaled(ConstantPoly(constant), 1, &p)) out.push_back(std::move(p));
  };
  if (atom.Is(ExprKind::kBinary) && (atom->op == Op::kFloorDiv || atom->op == Op::kMod)) {
    const Expr &x = atom->args[0], &k = atom->args[1];
    if (atom->op == Op::kMod) {
      // 0 ≤ x % k ≤ k - 1 for k > 0, and x % k ≤ x for x ≥ 0.
      if (SignOf(RangeOf(k, &as).lo) <= 0 || c > 0) return out;
      int64_t minus_c;
      if (!__builtin_sub_overflow(int64_t{0}, c, &minus_c)) add(k, c, minus_c);
      if (SignOf(RangeOf(x, &as).lo) >= 0) add(x, c, 0);
      return out;
    }
    // x - k + 1 ≤ k * (x // k) ≤ x.
    if (const auto n = AsInt(k); n && *n > 0 && c % *n == 0) {
      const int64_t m = c / *n;
      int64_t slack;
      if (m > 0 && !__builtin_mul_overflow(m, 1 - *n, &slack)) add(x, m, slack);
      else if (m < 0) add(x, m, 0);
    } else if (c < 0 && SignOf(RangeOf(x, &as).lo) >= 0 && SignOf(RangeOf(k, &as).lo) > 0) {
      add(x, c, 0);  // x // k ≤ x
    }
    return out;
  }
  if (atom.Is(ExprKind::kCall)) {
    const std::string_view fn = atom->name.view();
    if ((fn == "max" && c > 0) || (fn == "min" && c < 0)) {
      for (const Expr& a : atom->args) add(a, c, 0);
    }
  }
  return out;
}

// Every symbol with a known lower bound becomes bound + itself, so that products of what is left
// are not negative: N*M - N with M ≥ 1 is N*M' ≥ 0.
std::optional<Poly> Shifted(const Poly& p, const Assumptions& as, Assumptions* shifted) {
  Poly out;
  *shifted = as;
  for (const Term& t : p.terms) {
    Poly product = ConstantPoly(t.coefficient);
    for (const Expr& a : t.atoms) {
      Poly factor = AtomPoly(a);
      if (a.Is(ExprKind::kSymbol)) {
        const auto known = as.Find(a->name);
        if (known && known->lo && *known->lo != 0 && !AddScaled(ConstantPoly(*known->lo), 1, &factor))
          return std::nullopt;
      }
      const auto next = Multiply(product, factor);
      if (!next) return std::nullopt;
      product = *next;
    }
    if (!AddScaled(product, 1, &out)) return std::nullopt;
  }
  for (auto& [name, range] : shifted->bounds) {
    if (!range.lo) continue;
    if (range.hi && __builtin_sub_overflow(*range.hi, *range.lo, &*range.hi)) range.hi.reset();
    range.lo = 0;
  }
  return out;
}

bool NotNegative(const Poly& p, const Assumptions& as, int depth) {
  if (SignOf(RangeOf(p, &as).lo) >= 0) return true;
  // The shift is for terms over symbols alone: an atom like N // 2 is not rewritten.
  const bool plain = std::all_of(p.terms.begin(), p.terms.end(), [](const Term& t) {
    return std::all_of(t.atoms.begin(), t.atoms.end(), [](const Expr& a) { return a.Is(ExprKind::kSymbol); });
  });
  if (plain) {
    Assumptions shifted;
    const auto q = Shifted(p, as, &shifted);
    return q && SignOf(RangeOf(*q, &shifted).lo) >= 0;
  }
  if (depth == 0) return false;
  for (size_t i = 0; i < p.terms.size(); ++i) {
    const Term& t = p.terms[i];
    if (t.atoms.size() != 1) continue;
    Poly base = p;
    int64_t c = t.coefficient;
    const Expr atom = t.atoms[0];
    // Scale so that the divisor of a `//` divides its coefficient; the sign stays.
    if (atom.Is(ExprKind::kBinary) && atom->op == Op::kFloorDiv) {
      const auto k = AsInt(atom->args[1]);
      if (k && *k > 1 && c % *k != 0) {
        Poly scaled;
        if (!AddScaled(p, *k, &scaled)) continue;
        base = std::move(scaled);
        c *= *k;
      }
    }
    for (const Poly& below : Below(atom, c, as)) {
      Poly q = base;
      q.terms.erase(q.terms.begin() + i);
      if (AddScaled(below, 1, &q) && NotNegative(q, as, depth - 1)) return true;
    }
  }
  return false;
}

}  // namespace

Interval BoundsWith(const Expr& e, const Assumptions* as) { return ToInterval(RangeOf(e, as)); }
Interval BoundsWith(const Poly& p, const Assumptions* as) { return ToInterval(RangeOf(p, as)); }
Interval FreeBounds(const Expr& e) { return BoundsWith(e, nullptr); }
Interval FreeBounds(const Poly& p) { return BoundsWith(p, nullptr); }

// b - a + shift ≥ 0?
static bool ProvedLe(const Expr& a, const Expr& b, int64_t shift, const Assumptions& as) {
  auto d = ToPoly(b);
  const auto p = ToPoly(a);
  if (!d || !p || !AddScaled(*p, -1, &*d) || !AddScaled(ConstantPoly(shift), 1, &*d)) return false;
  return NotNegative(*d, as, 4);
}

}  // namespace symbolic

std::optional<Interval> Assumptions::Find(Name n) const {
  for (const auto& [name, interval] : bounds) {
    if (name == n) return interval;
  }
  return std::nullopt;
}

Interval BoundsOf(const Expr& e, const Assumptions& a) { return symbolic::BoundsWith(Simplify(e), &a); }

Truth ProveLe(const Expr& a0, const Expr& b0, const Assumptions& as) {
  if (!IsIndexExpr(a0) || !IsIndexExpr(b0)) return Truth::kUnknown;
  const Expr a = Simplify(a0), b = Simplify(b0);
  if (symbolic::ProvedLe(a, b, 0, as)) return Truth::kYes;
  if (symbolic::ProvedLe(b, a, -1, as)) return Truth::kNo;
  return Truth::kUnknown;
}

Truth ProveEq(const Expr& a0, const Expr& b0, const Assumptions& as) {
  const Expr a = Simplify(a0), b = Simplify(b0);
  if (a == b) return Truth::kYes;
  if (!IsIndexExpr(a) || !IsIndexExpr(b)) return Truth::kUnknown;
  if (symbolic::ProvedLe(a, b, -1, as) || symbolic::ProvedLe(b, a, -1, as)) return Truth::kNo;
  if (symbolic::ProvedLe(a, b, 0, as) && symbolic::ProvedLe(b, a, 0, as)) return Truth::kYes;
  return Truth::kUnknown;
}

}  // namespace headrace
