// Canonical forms of index arithmetic. Every rule below is an identity of exact integers with floor
// division, for any signs of the symbols and non-zero divisors; the property test checks them at
// random points against sympy.
#include <algorithm>
#include <limits>

#include "ir/base/status.h"
#include "ir/expr/symbolic_poly.h"

namespace headrace {
namespace {

using namespace symbolic;  // NOLINT: this file is its other half

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Expr BinaryAtom(Op op, const Expr& a, const Expr& b) { return Atom(BinaryExpr(op, a, b)); }

// ---- a // b and a % b ----

// The atoms that every term of both polynomials has: `(N*x) // (N*y)` is `x // y`.
std::vector<Expr> CommonAtoms(const Poly& a, const Poly& b) {
  std::vector<Expr> common = b.terms[0].atoms;
  for (const Poly* p : {&a, &b}) {
    for (const Term& t : p->terms) {
      std::vector<Expr> kept;
      std::set_intersection(common.begin(), common.end(), t.atoms.begin(), t.atoms.end(), std::back_inserter(kept),
                            [](const Expr& x, const Expr& y) { return Compare(x, y) < 0; });
      common = std::move(kept);
    }
  }
  return common;
}

Poly WithoutFactor(const Poly& p, const Term& factor) {
  Poly q, rest;
  HR_CHECK(DivideByTerm(p, factor, &q, &rest) && rest.terms.empty(), "a common factor divides");
  return q;
}

std::optional<Expr> DivideConstant(const Poly& a, int64_t k);

std::optional<Expr> FloorDivPoly(const Poly& a, const Poly& b) {
  if (b.terms.empty()) return std::nullopt;  // by zero: left as it is
  if (a.terms.empty()) return IntExpr(0);
  if (b.IsConstant()) return DivideConstant(a, b.Constant());
  if (auto q = ExactQuotient(a, b)) return FromPoly(*q);
  Term common{CommonAtoms(a, b), 1};
  if (!common.atoms.empty()) return FloorDiv(FromPoly(WithoutFactor(a, common)), FromPoly(WithoutFactor(b, common)));
  if (b.terms.size() > 1) return std::nullopt;
  Poly quotient, rest;
  if (!DivideByTerm(a, b.terms[0], &quotient, &rest)) return std::nullopt;
  if (quotient.terms.empty()) return std::nullopt;
  const Expr r = FromPoly(rest);
  return FromPoly(quotient) + FloorDiv(r, FromPoly(b));
}

// a // k. Splits off what k divides, cancels common divisors, merges nested divisions, then asks
// the bounds.
std::optional<Expr> DivideConstant(const Poly& a, int64_t k) {
  if (k == 1) return FromPoly(a);
  if (k == kMin) return std::nullopt;
  if (k < 0) {  // a // k = -a // -k
    Poly negated;
    if (!AddScaled(a, -1, &negated)) return std::nullopt;
    return FloorDiv(FromPoly(negated), IntExpr(-k));
  }
  Poly quotient, rest;
  int64_t g = k;
  for (const Term& t : a.terms) {
    Poly one;
    one.terms.push_back({t.atoms, 1});
    int64_t q = 0, r = t.coefficient;
    if (t.atoms.empty() || r % k == 0) {
      q = FloorDivInt(r, k);
      r = ModInt(r, k);
    }
    if (!AddScaled(one, q, &quotient) || !AddScaled(one, r, &rest)) return std::nullopt;
    if (r != 0 && !t.atoms.empty()) g = Gcd(g, r);
  }
  if (rest.terms.empty()) return FromPoly(quotient);
  if (rest.IsConstant()) return FromPoly(quotient);  // 0 ≤ rest / k < 1
  // floor((g*x + c) / (g*k)) = floor((x + floor(c/g)) / k) for g > 0.
  if (g > 1) {
    Poly reduced;
    for (const Term& t : rest.terms) {
      Poly one;
      one.terms.push_back({t.atoms, 1});
      if (!AddScaled(one, FloorDivInt(t.coefficient, g), &reduced)) return std::nullopt;
    }
    return FromPoly(quotient) + FloorDiv(FromPoly(reduced), IntExpr(k / g));
  }
  const Interval range = FreeBounds(rest);
  if (range.lo && range.hi) {
    int64_t lo = FloorDivInt(*range.lo, k), hi = FloorDivInt(*range.hi, k);
    if (lo == hi) return FromPoly(quotient) + IntExpr(lo);
  }
  // (x // m + c) // k = (x + m*c) // (m*k) for m, k > 0.
  if (rest.terms[0].coefficient == 1 && rest.terms[0].atoms.size() == 1 &&
      (rest.terms.size() == 1 || (rest.terms.size() == 2 && rest.terms[1].atoms.empty()))) {
    const Expr& inner = rest.terms[0].atoms[0];
    if (inner.Is(ExprKind::kBinary) && inner->op == Op::kFloorDiv) {
      const auto m = AsInt(inner->args[1]);
      auto x = ToPoly(inner->args[0]);
      int64_t product, shift;
      if (m && *m > 0 && x && !__builtin_mul_overflow(*m, k, &product) &&
          !__builtin_mul_overflow(*m, rest.Constant(), &shift) && AddScaled(ConstantPoly(shift), 1, &*x)) {
        return FromPoly(quotient) + FloorDiv(FromPoly(*x), IntExpr(product));
      }
    }
  }
  if (quotient.terms.empty()) return std::nullopt;
  return FromPoly(quotient) + BinaryAtom(Op::kFloorDiv, FromPoly(rest), IntExpr(k));
}

// `c * (x % m)` is `c * x` modulo k when k divides c * m.
bool DropInnerMods(const Poly& a, int64_t k, Poly* out, bool* changed) {
  for (const Term& t : a.terms) {
    Poly replaced;
    replaced.terms.push_back(t);
    for (size_t i = 0; i < t.atoms.size(); ++i) {
      const Expr& mod = t.atoms[i];
      if (!mod.Is(ExprKind::kBinary) || mod->op != Op::kMod) continue;
      const auto m = AsInt(mod->args[1]);
      int64_t product;
      if (!m || __builtin_mul_overflow(t.coefficient, *m, &product) || product % k != 0) continue;
      const auto x = ToPoly(mod->args[0]);
      Poly others;
      others.terms.push_back(t);
      others.terms[0].atoms.erase(others.terms[0].atoms.begin() + i);
      const auto p = x ? Multiply(others, *x) : std::nullopt;
      if (!p) return false;
      replaced = *p;
      *changed = true;
      break;
    }
    if (!AddScaled(replaced, 1, out)) return false;
  }
  return true;
}

std::optional<Expr> ModConstant(const Poly& a, int64_t k) {
  if (k == 1 || k == -1) return IntExpr(0);
  if (k == kMin) return std::nullopt;
  if (k < 0) {  // a % k = -(-a % -k)
    Poly negated;
    if (!AddScaled(a, -1, &negated)) return std::nullopt;
    return IntExpr(0) - Mod(FromPoly(negated), IntExpr(-k));
  }
  Poly flat;
  bool changed = false;
  if (!DropInnerMods(a, k, &flat, &changed)) return std::nullopt;
  Poly rest;
  int64_t g = k;
  for (const Term& t : flat.terms) {
    const int64_t r = t.atoms.empty() ? ModInt(t.coefficient, k) : t.coefficient % k;
    changed |= r != t.coefficient;
    Poly one;
    one.terms.push_back({t.atoms, 1});
    if (!AddScaled(one, r, &rest)) return std::nullopt;
    if (r != 0) g = Gcd(g, r);
  }
  if (rest.IsConstant()) return IntExpr(rest.Constant());
  if (changed) return Mod(FromPoly(rest), IntExpr(k));
  if (g > 1) {  // (g*x) % (g*k) = g * (x % k)
    Poly reduced, q;
    if (!DivideByTerm(rest, {{}, g}, &reduced, &q)) return std::nullopt;
    return IntExpr(g) * Mod(FromPoly(reduced), IntExpr(k / g));
  }
  const Interval range = FreeBounds(rest);
  if (range.lo && range.hi) {
    const int64_t lo = FloorDivInt(*range.lo, k), hi = FloorDivInt(*range.hi, k);
    int64_t shift;
    if (lo == hi && !__builtin_mul_overflow(-lo, k, &shift) && AddScaled(ConstantPoly(shift), 1, &rest))
      return FromPoly(rest);
  }
  return std::nullopt;
}

std::optional<Expr> ModPoly(const Poly& a, const Poly& b) {
  if (b.terms.empty()) return std::nullopt;
  if (a.terms.empty()) return IntExpr(0);
  if (b.IsConstant()) return ModConstant(a, b.Constant());
  if (ExactQuotient(a, b)) return IntExpr(0);
  Term common{CommonAtoms(a, b), 1};
  if (!common.atoms.empty()) {
    Poly factor;
    factor.terms.push_back(common);
    return FromPoly(factor) * Mod(FromPoly(WithoutFactor(a, common)), FromPoly(WithoutFactor(b, common)));
  }
  if (b.terms.size() > 1) return std::nullopt;
  Poly quotient, rest;
  if (!DivideByTerm(a, b.terms[0], &quotient, &rest)) return std::nullopt;
  if (quotient.terms.empty()) return std::nullopt;
  return Mod(FromPoly(rest), FromPoly(b));
}

// ---- min and max ----

void Flatten(Name fn, const Expr& e, std::vector<Expr>* out) {
  if (e.Is(ExprKind::kCall) && e->name == fn && e->args.size() == 2) {
    Flatten(fn, e->args[0], out);
    Flatten(fn, e->args[1], out);
  } else {
    out->push_back(e);
  }
}

// a <= b whatever the symbols are. A minimum is at most each of its arguments, a maximum at least.
bool AlwaysLe(const Expr& a, const Expr& b, int depth = 2) {
  auto d = ToPoly(b);
  if (const auto p = ToPoly(a); d && p && AddScaled(*p, -1, &*d)) {
    const Interval range = FreeBounds(*d);
    if (range.lo && *range.lo >= 0) return true;
  }
  if (depth == 0) return false;
  std::vector<Expr> least, most;
  Flatten("min", a, &least);
  Flatten("max", b, &most);
  auto below = [&](const Expr& x) { return AlwaysLe(x, b, depth - 1); };
  auto above = [&](const Expr& x) { return AlwaysLe(a, x, depth - 1); };
  return (least.size() > 1 && std::any_of(least.begin(), least.end(), below)) ||
         (most.size() > 1 && std::any_of(most.begin(), most.end(), above));
}

Expr Extremum(bool is_min, const Expr& a, const Expr& b) {
  const Name fn = is_min ? "min" : "max";
  std::vector<Expr> all;
  Flatten(fn, a, &all);
  Flatten(fn, b, &all);
  std::sort(all.begin(), all.end(), [](const Expr& x, const Expr& y) {
    const bool constant = x.Is(ExprKind::kInt), other = y.Is(ExprKind::kInt);
    return constant != other ? other : Compare(x, y) < 0;  // constants last
  });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<bool> dropped(all.size());
  for (size_t i = 0; i < all.size() && all.size() <= 16; ++i) {
    for (size_t j = 0; j < all.size() && !dropped[i]; ++j) {
      if (i == j || dropped[j]) continue;
      dropped[i] = is_min ? AlwaysLe(all[j], all[i]) : AlwaysLe(all[i], all[j]);
    }
  }
  Expr out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (dropped[i]) continue;
    out = out ? Atom(CallExpr(fn, {out, all[i]})) : all[i];
  }
  return out;
}

}  // namespace

// ---- operators ----

Expr operator+(const Expr& a0, const Expr& b0) {
  const Expr a = Simplify(a0), b = Simplify(b0);
  auto p = ToPoly(a);
  const auto q = ToPoly(b);
  if (p && q && AddScaled(*q, 1, &*p)) return FromPoly(std::move(*p));
  return BinaryAtom(Op::kAdd, a, b);
}

Expr operator-(const Expr& a0, const Expr& b0) {
  const Expr a = Simplify(a0), b = Simplify(b0);
  auto p = ToPoly(a);
  const auto q = ToPoly(b);
  if (p && q && AddScaled(*q, -1, &*p)) return FromPoly(std::move(*p));
  return BinaryAtom(Op::kSub, a, b);
}

Expr operator*(const Expr& a0, const Expr& b0) {
  const Expr a = Simplify(a0), b = Simplify(b0);
  const auto p = ToPoly(a), q = ToPoly(b);
  if (p && q) {
    if (auto out = Multiply(*p, *q)) return FromPoly(std::move(*out));
  }
  return BinaryAtom(Op::kMul, a, b);
}

Expr FloorDiv(const Expr& a0, const Expr& b0) {
  const Expr a = Simplify(a0), b = Simplify(b0);
  const auto p = ToPoly(a), q = ToPoly(b);
  if (p && q) {
    if (auto out = FloorDivPoly(*p, *q)) return *out;
  }
  return BinaryAtom(Op::kFloorDiv, a, b);
}

Expr Mod(const Expr& a0, const Expr& b0) {
  const Expr a = Simplify(a0), b = Simplify(b0);
  const auto p = ToPoly(a), q = ToPoly(b);
  if (p && q) {
    if (auto out = ModPoly(*p, *q)) return *out;
  }
  return BinaryAtom(Op::kMod, a, b);
}

Expr Min(const Expr& a, const Expr& b) { return Extremum(true, Simplify(a), Simplify(b)); }
Expr Max(const Expr& a, const Expr& b) { return Extremum(false, Simplify(a), Simplify(b)); }

std::optional<int64_t> AsInt(const Expr& e) {
  if (e.Is(ExprKind::kInt)) return e->ivalue;
  return std::nullopt;
}

}  // namespace headrace
