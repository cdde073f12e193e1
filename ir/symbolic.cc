// Canonical forms of index arithmetic. Every rule below is an identity of exact integers with floor division, for any
// signs of the symbols and non-zero divisors; the property test checks them at random points against sympy.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "ir/status.h"
#include "ir/symbolic_poly.h"

namespace headrace {
namespace {

using namespace symbolic;  // NOLINT: this file is its other half

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

bool IsIndexDType(DType t) { return t == DType::kNone || t == DType::kIndex || t == DType::kI64; }

Expr Atom(const Expr& e) {
  if (e->canonical) return e;
  ExprNode n = *e;
  n.canonical = true;
  return Expr(std::move(n));
}
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

// a // k. Splits off what k divides, cancels common divisors, merges nested divisions, then asks the bounds.
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
    if (lo == hi && !__builtin_mul_overflow(-lo, k, &shift) && AddScaled(ConstantPoly(shift), 1, &rest)) return FromPoly(rest);
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

// a <= b whatever the symbols are.
bool AlwaysLe(const Expr& a, const Expr& b) {
  auto d = ToPoly(b);
  const auto p = ToPoly(a);
  if (!d || !p || !AddScaled(*p, -1, &*d)) return false;
  const Interval range = FreeBounds(*d);
  return range.lo && *range.lo >= 0;
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

namespace {

bool IsComparison(Op op) { return op >= Op::kEq && op <= Op::kGe; }

// Is this node index arithmetic, given that its arguments are?
bool IsIndexNode(const ExprNode& n) {
  if (!IsIndexDType(n.dtype)) return false;
  switch (n.kind) {
    case ExprKind::kInt: case ExprKind::kSymbol: return true;
    case ExprKind::kUnary: return n.op == Op::kNeg || n.op == Op::kBitNot;
    case ExprKind::kBinary: return n.op != Op::kDiv && n.op <= Op::kBitXor;
    case ExprKind::kCall: {
      static const Name kMinName = "min", kMaxName = "max", kClamp = "clamp", kWrap = "wrap", kReflect = "reflect", kAbs = "abs";
      const size_t arity = n.args.size();
      return (n.name == kAbs && arity == 1) || (n.name == kClamp && arity == 3) ||
             (arity == 2 && (n.name == kMinName || n.name == kMaxName || n.name == kWrap || n.name == kReflect));
    }
    default: return false;
  }
}

enum class Sort { kIndex, kCondition, kOther };  // kCondition: a bool of index expressions

Sort SortOf(const ExprNode& n, const std::vector<Sort>& args) {
  const auto all = [&](size_t from, Sort s) {
    return std::all_of(args.begin() + from, args.end(), [s](Sort x) { return x == s; });
  };
  if (n.kind == ExprKind::kBool) return Sort::kCondition;
  if (n.kind == ExprKind::kBinary && IsComparison(n.op) && all(0, Sort::kIndex)) return Sort::kCondition;
  if (n.kind == ExprKind::kBinary && (n.op == Op::kAnd || n.op == Op::kOr) && all(0, Sort::kCondition)) return Sort::kCondition;
  if (n.kind == ExprKind::kUnary && n.op == Op::kNot && all(0, Sort::kCondition)) return Sort::kCondition;
  if (n.kind == ExprKind::kSelect && IsIndexDType(n.dtype) && args[0] == Sort::kCondition && all(1, Sort::kIndex)) return Sort::kIndex;
  return all(0, Sort::kIndex) && IsIndexNode(n) ? Sort::kIndex : Sort::kOther;
}

Sort SortOf(const Expr& e) {
  std::vector<Sort> args;
  for (const Expr& a : e->args) args.push_back(a ? SortOf(a) : Sort::kOther);
  return SortOf(*e, args);
}

std::optional<bool> Decide(Op op, const Interval& d) {  // of a - b
  const auto lo = [&](int64_t v) { return d.lo && *d.lo >= v; };
  const auto hi = [&](int64_t v) { return d.hi && *d.hi <= v; };
  const bool zero = lo(0) && hi(0), never = lo(1) || hi(-1);
  switch (op) {
    case Op::kEq: return zero ? std::optional<bool>(true) : never ? std::optional<bool>(false) : std::nullopt;
    case Op::kNe: return zero ? std::optional<bool>(false) : never ? std::optional<bool>(true) : std::nullopt;
    case Op::kLt: return hi(-1) ? std::optional<bool>(true) : lo(0) ? std::optional<bool>(false) : std::nullopt;
    case Op::kLe: return hi(0) ? std::optional<bool>(true) : lo(1) ? std::optional<bool>(false) : std::nullopt;
    case Op::kGt: return lo(1) ? std::optional<bool>(true) : hi(0) ? std::optional<bool>(false) : std::nullopt;
    case Op::kGe: return lo(0) ? std::optional<bool>(true) : hi(-1) ? std::optional<bool>(false) : std::nullopt;
    default: return std::nullopt;
  }
}

Expr SimplifyIndexCall(const Expr& e) {
  const auto& a = e->args;
  const std::string_view fn = e->name.view();
  if (fn == "min") return Min(a[0], a[1]);
  if (fn == "max") return Max(a[0], a[1]);
  if (fn == "clamp") return Min(Max(a[0], a[1]), a[2]);
  const Interval range = FreeBounds(a[0]);
  const bool negative = range.hi && *range.hi < 0, natural = range.lo && *range.lo >= 0;
  if (fn == "abs") {
    if (natural) return a[0];
    if (negative) return IntExpr(0) - a[0];
  } else if (fn == "wrap") {
    if (natural) return a[0];
    if (negative) return a[0] + a[1];
  } else if (fn == "reflect") {
    const auto i = AsInt(a[0]), n = AsInt(a[1]);
    if (n && *n == 1) return IntExpr(0);
    int64_t period;
    if (i && n && *n > 1 && !__builtin_mul_overflow(*n - 1, int64_t{2}, &period)) {
      const int64_t m = ModInt(*i, period);
      return IntExpr(m < *n ? m : period - m);
    }
  }
  return Atom(e);
}

Expr SimplifyIndexBinary(const Expr& e) {
  const Expr &a = e->args[0], &b = e->args[1];
  switch (e->op) {
    case Op::kAdd: return a + b;
    case Op::kSub: return a - b;
    case Op::kMul: return a * b;
    case Op::kFloorDiv: return FloorDiv(a, b);
    case Op::kMod: return Mod(a, b);
    default: break;
  }
  const auto x = AsInt(a), y = AsInt(b);
  if ((e->op == Op::kShl || e->op == Op::kShr) && y && *y >= 0 && *y < 62) {
    const Expr power = IntExpr(int64_t{1} << *y);
    return e->op == Op::kShl ? a * power : FloorDiv(a, power);
  }
  if (x && y && e->op == Op::kBitAnd) return IntExpr(*x & *y);
  if (x && y && e->op == Op::kBitOr) return IntExpr(*x | *y);
  if (x && y && e->op == Op::kBitXor) return IntExpr(*x ^ *y);
  return Atom(e);
}

std::optional<double> AsUntypedNumber(const Expr& e) {
  const bool untyped = e->dtype == DType::kNone || IsUntyped(e->dtype) || e->dtype == DType::kF64;
  if (e.Is(ExprKind::kFloat) && untyped) return e->fvalue;
  if (e.Is(ExprKind::kInt) && untyped && std::abs(e->ivalue) <= int64_t{1} << 53) return static_cast<double>(e->ivalue);
  return std::nullopt;
}

// Arithmetic of untyped literals is exact where a double is; alone such literals are f64, so this is what would be computed.
Expr FoldReals(const Expr& e) {
  if (e.Is(ExprKind::kUnary) && e->op == Op::kNeg && e->args[0].Is(ExprKind::kFloat)) {
    return WithType(FloatExpr(-e->args[0]->fvalue), e->args[0]->dtype);
  }
  if (!e.Is(ExprKind::kBinary)) return e;
  const auto x = AsUntypedNumber(e->args[0]), y = AsUntypedNumber(e->args[1]);
  if (!x || !y) return e;
  const bool ints = e->args[0].Is(ExprKind::kInt) && e->args[1].Is(ExprKind::kInt);
  double v;
  switch (e->op) {
    case Op::kAdd: v = *x + *y; break;
    case Op::kSub: v = *x - *y; break;
    case Op::kMul: v = *x * *y; break;
    case Op::kDiv:
      if (*y == 0) return e;
      if (ints && e->args[0]->ivalue % e->args[1]->ivalue == 0) {
        return WithType(IntExpr(e->args[0]->ivalue / e->args[1]->ivalue), e->dtype == DType::kReal ? DType::kNone : e->dtype);
      }
      v = *x / *y;
      break;
    case Op::kEq: return BoolExpr(*x == *y);
    case Op::kNe: return BoolExpr(*x != *y);
    case Op::kLt: return BoolExpr(*x < *y);
    case Op::kLe: return BoolExpr(*x <= *y);
    case Op::kGt: return BoolExpr(*x > *y);
    case Op::kGe: return BoolExpr(*x >= *y);
    default: return e;
  }
  return WithType(FloatExpr(v), e->dtype);
}

// An exact division of sizes that comes out even is a size: `2*N / 2`.
Expr ExactDivision(const Expr& e, const std::vector<Sort>& sorts) {
  if (!e.Is(ExprKind::kBinary) || e->op != Op::kDiv || sorts[0] != Sort::kIndex || sorts[1] != Sort::kIndex) return e;
  if (e->dtype != DType::kNone && !IsUntyped(e->dtype)) return e;
  const auto a = ToPoly(e->args[0]), b = ToPoly(e->args[1]);
  if (!a || !b) return e;
  if (auto q = ExactQuotient(*a, *b)) return FromPoly(*q);
  return e;
}

// Conditions and selects: only what needs no knowledge of the operands' types.
Expr FoldLogic(const Expr& e, const std::vector<Sort>& sorts) {
  const auto value = [](const Expr& x) { return x.Is(ExprKind::kBool) ? std::optional<bool>(x->ivalue != 0) : std::nullopt; };
  if (e.Is(ExprKind::kSelect)) {
    if (auto c = value(e->args[0])) {
      // A branch may have got its type from the other one (`x ? 1 : X[i]`): only the same sort, or a typed branch, is safe.
      const Expr& taken = e->args[*c ? 1 : 2];
      const bool safe = e->dtype == DType::kNone || taken->dtype == e->dtype || IsUntyped(e->dtype);
      if (safe) return taken;
    }
    if (e->args[1] == e->args[2]) return e->args[1];
    return e;
  }
  if (e.Is(ExprKind::kUnary) && e->op == Op::kNot) {
    if (auto v = value(e->args[0])) return WithType(BoolExpr(!*v), e->dtype);
    return e;
  }
  if (!e.Is(ExprKind::kBinary)) return e;
  if (e->op == Op::kAnd || e->op == Op::kOr) {
    const bool neutral = e->op == Op::kAnd;
    for (int i = 0; i < 2; ++i) {
      if (auto v = value(e->args[i])) return *v == neutral ? e->args[1 - i] : e->args[i];
    }
    return e;
  }
  if (IsComparison(e->op) && sorts[0] == Sort::kIndex && sorts[1] == Sort::kIndex) {
    auto d = ToPoly(e->args[0]);
    const auto p = ToPoly(e->args[1]);
    if (d && p && AddScaled(*p, -1, &*d)) {
      if (auto known = Decide(e->op, FreeBounds(*d))) return WithType(BoolExpr(*known), e->dtype);
    }
  }
  return e;
}

class Simplifier {
 public:
  struct Done { Expr e; Sort sort; };

  const Done& Run(const Expr& e) {
    auto it = memo_.find(e.id());
    if (it == memo_.end()) {
      keep_.push_back(e);
      it = memo_.emplace(e.id(), Compute(e)).first;
    }
    return it->second;
  }

 private:
  Done Compute(const Expr& e) {
    if (e->canonical) return {e, IsIndexDType(e->dtype) ? Sort::kIndex : SortOf(e)};
    std::vector<Expr> args;
    std::vector<Sort> sorts;
    bool changed = false;
    for (const Expr& a : e->args) {
      if (!a) {
        args.push_back(a);
        sorts.push_back(Sort::kOther);
        continue;
      }
      const Done& d = Run(a);
      args.push_back(d.e);
      sorts.push_back(d.sort);
      changed |= d.e.id() != a.id();
    }
    const Expr x = changed ? WithArgs(e, std::move(args)) : e;
    const Sort sort = SortOf(*x, sorts);
    if (sort != Sort::kIndex) {
      Expr out = FoldLogic(x, sorts);
      if (out.id() == x.id()) out = FoldReals(x);
      if (out.id() == x.id()) out = ExactDivision(x, sorts);
      return {out, out.id() == x.id() ? sort : SortOf(out)};
    }
    const DType t = x->dtype;
    Expr out;
    switch (x->kind) {
      case ExprKind::kUnary: {
        const auto v = AsInt(x->args[0]);
        out = x->op == Op::kNeg ? IntExpr(0) - x->args[0] : v ? IntExpr(~*v) : Atom(x);
        break;
      }
      case ExprKind::kBinary: out = SimplifyIndexBinary(x); break;
      case ExprKind::kCall: out = SimplifyIndexCall(x); break;
      case ExprKind::kSelect: out = FoldLogic(x, sorts); break;
      default: out = x; break;
    }
    if (t != DType::kNone) out = WithType(out, t);
    return {out->canonical ? out : Atom(out), Sort::kIndex};
  }

  std::unordered_map<const void*, Done> memo_;
  std::vector<Expr> keep_;  // a freed node's address must not be met again
};

}  // namespace

Expr Simplify(const Expr& e) {
  if (!e || e->canonical) return e;
  return Simplifier().Run(e).e;
}

bool IsIndexExpr(const Expr& e) { return e && SortOf(e) == Sort::kIndex; }

}  // namespace headrace
