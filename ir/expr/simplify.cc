// Simplify: index arithmetic anywhere in a tree goes to canonical form (symbolic.cc), constants
// fold, floats stay.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ir/expr/symbolic_poly.h"

namespace headrace {
namespace {

using namespace symbolic;  // NOLINT: this file is its other half

bool IsIndexDType(DType t) { return t == DType::kNone || t == DType::kIndex || t == DType::kI64; }

bool IsComparison(Op op) { return op >= Op::kEq && op <= Op::kGe; }

// Is this node index arithmetic, given that its arguments are?
bool IsIndexNode(const ExprNode& n) {
  if (!IsIndexDType(n.dtype)) return false;
  switch (n.kind) {
    case ExprKind::kInt:
    case ExprKind::kSymbol: return true;
    case ExprKind::kUnary: return n.op == Op::kNeg || n.op == Op::kBitNot;
    case ExprKind::kBinary: return n.op != Op::kDiv && n.op <= Op::kBitXor;
    case ExprKind::kCall: {
      static const Name kMinName = "min", kMaxName = "max", kClamp = "clamp", kWrap = "wrap", kReflect = "reflect",
                        kAbs = "abs";
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
  if (n.kind == ExprKind::kBinary && (n.op == Op::kAnd || n.op == Op::kOr) && all(0, Sort::kCondition))
    return Sort::kCondition;
  if (n.kind == ExprKind::kUnary && n.op == Op::kNot && all(0, Sort::kCondition)) return Sort::kCondition;
  if (n.kind == ExprKind::kSelect && IsIndexDType(n.dtype) && args[0] == Sort::kCondition && all(1, Sort::kIndex))
    return Sort::kIndex;
  return all(0, Sort::kIndex) && IsIndexNode(n) ? Sort::kIndex : Sort::kOther;
}

Sort SortOf(const Expr& e, std::unordered_map<const void*, Sort>* known) {
  if (e->canonical && IsIndexDType(e->dtype)) return Sort::kIndex;
  if (e->args.empty()) return SortOf(*e, {});
  if (auto it = known->find(e.id()); it != known->end()) return it->second;
  std::vector<Sort> args;
  for (const Expr& a : e->args) args.push_back(a ? SortOf(a, known) : Sort::kOther);
  return known->emplace(e.id(), SortOf(*e, args)).first->second;
}

Sort SortOf(const Expr& e) {
  std::unordered_map<const void*, Sort> known;
  return SortOf(e, &known);
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
  if (e.Is(ExprKind::kInt) && untyped && e->ivalue >= -(int64_t{1} << 53) && e->ivalue <= int64_t{1} << 53)
    return static_cast<double>(e->ivalue);
  return std::nullopt;
}

// Arithmetic of untyped literals is exact where a double is; alone such literals are f64, so this
// is what would be computed.
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
        return WithType(IntExpr(e->args[0]->ivalue / e->args[1]->ivalue),
                        e->dtype == DType::kReal ? DType::kNone : e->dtype);
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
  const auto value = [](const Expr& x) {
    return x.Is(ExprKind::kBool) ? std::optional<bool>(x->ivalue != 0) : std::nullopt;
  };
  if (e.Is(ExprKind::kSelect)) {
    if (auto c = value(e->args[0])) {
      // A branch may have got its type from the other one (`x ? 1 : X[i]`): only the same sort, or
      // a typed branch, is safe.
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
  struct Done {
    Expr e;
    Sort sort;
  };

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
