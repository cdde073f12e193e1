// Types of elaborated values (NOTATION, "Types"): untyped numbers take the type of what they meet, floats of two widths
// meet in the wider one, everything else needs a cast that the form writes.
#include <cmath>
#include <limits>

#include "ir/elaborate/elaborate_internal.h"

namespace headrace {
namespace elaborate {
namespace {

constexpr DType kIndexT = DType::kIndex;
constexpr DType kRealT = DType::kReal;

bool IsHalf(DType t) { return IsFloat(t) && t != kRealT && t != DType::kF32 && t != DType::kF64; }
bool IsBound(const Expr& e) {  // lowest() or highest(), until their type is known
  return e.Is(ExprKind::kCall) && e->args.empty() && (e->name == Name("lowest") || e->name == Name("highest"));
}
bool IsLiteral(const Expr& e) {
  return e.Is(ExprKind::kInt) || e.Is(ExprKind::kFloat) || e.Is(ExprKind::kBool) || IsBound(e);
}

class Typer {
 public:
  Typer(const TypeScope& scope, Place at) : scope_(scope), at_(at) {}

  // The tree with dtypes; untyped parts stay kIndex or kReal.
  Expr Lower(const Expr& e) {
    auto it = memo_.find(e.id());
    if (it != memo_.end()) return it->second;
    Expr out = LowerNode(e);
    memo_.emplace(e.id(), out);
    keep_.push_back(e);
    return out;
  }

  // An untyped tree as a value of type t (or of f64 / i64 for kNone).
  Expr Adapt(const Expr& e, DType t) {
    if (!IsUntyped(e->dtype)) return e;
    if (t == DType::kNone) t = e->dtype == kIndexT ? DType::kI64 : DType::kF64;
    if (IsBound(e)) return Bound(e->name == Name("highest"), t);
    if (e.Is(ExprKind::kInt)) return IntLiteral(e->ivalue, t);
    if (e.Is(ExprKind::kFloat)) return RealLiteral(e->fvalue, t);
    // A choice between numbers is a choice between typed numbers: no conversion at run time.
    if (e.Is(ExprKind::kSelect) && (IsLiteral(e->args[1]) || IsLiteral(e->args[2])) &&
        !(e->dtype == kIndexT && t == DType::kI64))
      return WithType(SelectExpr(e->args[0], Adapt(e->args[1], t), Adapt(e->args[2], t)), t);
    if (e->dtype == kIndexT) {
      if (t == DType::kBool) Fail(at_, "a size can't be used as a bool here", "compare it: x != 0");
      return t == DType::kI64 ? e : CastExpr(t, e);
    }
    if (!IsFloat(t) && !IsComplex(t))
      Fail(at_, "a real number meets values of type " + std::string(DTypeName(t)),
           "write cast(…) for the type you want, or // to divide sizes");
    Expr real = Reals(e);
    return t == DType::kF64 ? real : CastExpr(t, real);
  }

  Expr Convert(const Expr& lowered, DType target) {
    Expr e = Adapt(lowered, target);
    if (target == DType::kNone || e->dtype == target) return e;
    if (IsFloat(e->dtype) && (IsFloat(target) || IsComplex(target))) return e;  // implicit at assignment
    if (target == DType::kBool && e->dtype == kIndexT) return e;
    if (e->dtype == kIndexT && target == DType::kI64) return e;
    Fail(at_,
         "a value of type " + std::string(DTypeName(e->dtype)) + " is assigned to one of type " +
             std::string(DTypeName(target)),
         "convert it: cast(…) or sat(…)");
  }

  Expr Condition(const Expr& lowered) {
    if (lowered->dtype == DType::kBool) return lowered;
    if (IsUntyped(lowered->dtype) || IsInteger(lowered->dtype)) {
      if (std::optional<bool> t = AsTruth(lowered)) return WithType(BoolExpr(*t), DType::kBool);
      return Lower(BinaryExpr(Op::kNe, lowered, IntExpr(0)));
    }
    Fail(at_, "a condition of type " + std::string(DTypeName(lowered->dtype)), "compare it with something");
  }

  Expr Index(const Expr& e) {
    Expr l = Lower(e);
    if (IsFloat(l->dtype)) return CastExpr(DType::kI64, Adapt(l, DType::kF64));
    if (l->dtype == DType::kBool) return CastExpr(DType::kI64, l);
    return l;
  }

 private:
  Expr LowerNode(const Expr& e) {
    switch (e->kind) {
      case ExprKind::kInt: return WithType(e, kIndexT);
      case ExprKind::kFloat: return WithType(e, IsUntyped(e->dtype) || e->dtype == DType::kNone ? kRealT : e->dtype);
      case ExprKind::kBool: return WithType(e, DType::kBool);
      case ExprKind::kSymbol: return WithType(e, kIndexT);
      case ExprKind::kRead: return Read(e);
      case ExprKind::kUnary: return Unary(e);
      case ExprKind::kBinary: return Binary(e);
      case ExprKind::kSelect: {
        Expr c = Condition(Lower(e->args[0])), a = Lower(e->args[1]), b = Lower(e->args[2]);
        DType t = Meet(&a, &b, "the two branches of '? :'");
        return WithType(SelectExpr(c, a, b), t);
      }
      case ExprKind::kCall: return Call(e);
      case ExprKind::kCast: {
        Expr a = Lower(e->args[0]);
        if (IsLiteral(a) && IsUntyped(a->dtype) && !e->saturate && !(a.Is(ExprKind::kFloat) && IsInteger(e->dtype)) &&
            !IsBound(a))
          return Adapt(a, e->dtype);
        if (IsUntyped(a->dtype)) a = Adapt(a, DType::kNone);
        if (a->dtype == e->dtype && !e->saturate) return a;
        return WithType(CastExpr(e->dtype, a, e->saturate), e->dtype);
      }
      default: Fail(At(e).line ? At(e) : at_, "this can't be used as a value here: " + ToString(e));
    }
  }

  Expr Read(const Expr& e) {
    const Container& c = scope_.sdfg->Get(e->name);
    std::vector<Expr> args;
    const size_t n = e->args.size() - (e->has_default ? 1 : 0);
    for (size_t i = 0; i < n; ++i) args.push_back(Index(e->args[i]));
    if (e->has_default) {
      Expr d = Adapt(Lower(e->args[n]), c.dtype);
      if (d->dtype != c.dtype && !(d->dtype == kIndexT && c.dtype == DType::kI64)) {
        if (!IsFloat(d->dtype) || !IsFloat(c.dtype))
          Fail(at_, "the value after '?\?' has type " + std::string(DTypeName(d->dtype)) + ", '" + e->name.str() +
                        "' has " + std::string(DTypeName(c.dtype)));
        d = CastExpr(c.dtype, d);
      }
      args.push_back(d);
    }
    return WithType(WithArgs(e, std::move(args)), c.dtype);
  }

  Expr Unary(const Expr& e) {
    Expr a = Lower(e->args[0]);
    if (e->op == Op::kNot) return WithType(UnaryExpr(Op::kNot, Condition(a)), DType::kBool);
    return WithType(UnaryExpr(e->op, a), a->dtype);
  }

  Expr Binary(const Expr& e) {
    Expr a = Lower(e->args[0]), b = Lower(e->args[1]);
    switch (e->op) {
      case Op::kAnd:
      case Op::kOr: return WithType(BinaryExpr(e->op, Condition(a), Condition(b)), DType::kBool);
      case Op::kEq:
      case Op::kNe:
      case Op::kLt:
      case Op::kLe:
      case Op::kGt:
      case Op::kGe: {
        DType t = Meet(&a, &b, OpToken(e->op));
        if (t == kRealT) a = Adapt(a, DType::kF64), b = Adapt(b, DType::kF64);
        return WithType(BinaryExpr(e->op, a, b), DType::kBool);
      }
      default: break;
    }
    DType t = Meet(&a, &b, OpToken(e->op));
    if (e->op == Op::kDiv && t == kIndexT) t = kRealT;  // sizes divide exactly
    if (e->op == Op::kFloorDiv && (IsFloat(t) || IsHalf(t))) {
      if (t == kRealT) a = Adapt(a, DType::kF64), b = Adapt(b, DType::kF64), t = DType::kF64;
      return WithType(CallExpr("floor", {WithType(BinaryExpr(Op::kDiv, a, b), t)}), t);
    }
    return WithType(BinaryExpr(e->op, a, b), t);
  }

  Expr Call(const Expr& e) {
    if (IsBound(e)) return WithType(e, kIndexT);
    const FunctionInfo* f = FindFunction(e->name.view());
    if (!f) Fail(At(e).line ? At(e) : at_, "there is no function '" + e->name.str() + "'");
    std::vector<Expr> args;
    for (const Expr& a : e->args) args.push_back(Lower(a));
    DType t = args.empty() ? kIndexT : args[0]->dtype;
    switch (f->type) {
      case FnType::kFloatUnary:
        if (t == kIndexT) args[0] = Adapt(args[0], DType::kF64), t = DType::kF64;
        if (!IsFloat(t) && !IsComplex(t))
          Fail(At(e).line ? At(e) : at_, "'" + e->name.str() + "' takes floats, got " + std::string(DTypeName(t)),
               "convert first: f32(…)");
        if ((e->name == Name("real") || e->name == Name("imag")) && IsComplex(t))
          t = t == DType::kC64 ? DType::kF32 : DType::kF64;
        break;
      case FnType::kPredicate:
        if (IsInteger(t) || t == DType::kBool)
          return WithType(BoolExpr(false), DType::kBool);  // integers are neither NaN nor infinite
        args[0] = Adapt(args[0], DType::kNone);
        t = DType::kBool;
        break;
      case FnType::kSameUnary:
        if (t == DType::kBool) args[0] = CastExpr(DType::kI64, args[0]), t = DType::kI64;
        if (e->name == Name("abs") && IsComplex(t)) t = t == DType::kC64 ? DType::kF32 : DType::kF64;
        break;
      case FnType::kRandom: t = DType::kF32; break;
      case FnType::kDot: t = e->name == Name("dot2") ? DType::kF32 : DType::kI32; break;
      case FnType::kFloatBinary:
        if (e->name == Name("pow")) return Power(args);
        [[fallthrough]];
      default:
        for (int round = 0; round < 2; ++round)
          for (size_t i = 1; i < args.size(); ++i) t = Meet(&args[0], &args[i], "'" + e->name.str() + "'");
        if ((f->type == FnType::kFloatBinary || f->type == FnType::kFloatNary) && t == kIndexT) {
          for (Expr& a : args) a = Adapt(a, DType::kF64);
          t = DType::kF64;
        }
        if (e->name == Name("complex")) t = t == DType::kF64 ? DType::kC128 : DType::kC64;
        break;
    }
    return WithType(CallExpr(e->name, std::move(args)), t);
  }

  // pow(x, y) has the type of x where both are of a kind; an integer to a real power is computed in f64.
  Expr Power(std::vector<Expr> args) {
    Expr x = args[0], y = args[1];
    if (IsUntyped(x->dtype) && !IsUntyped(y->dtype)) x = Adapt(x, IsFloat(y->dtype) ? y->dtype : DType::kNone);
    if (IsUntyped(x->dtype)) x = Adapt(x, DType::kF64);
    if (IsUntyped(y->dtype)) y = IsFloat(x->dtype) || y->dtype == kIndexT ? Adapt(y, x->dtype) : Adapt(y, DType::kF64);
    DType t = x->dtype;
    if (IsInteger(t) && IsFloat(y->dtype)) t = DType::kF64;
    if (x->dtype != t) x = CastExpr(t, x);
    if (y->dtype != t) y = CastExpr(t, y);
    return WithType(CallExpr("pow", {x, y}), t);
  }

  template <typename Text>
  DType Meet(Expr* a, Expr* b, const Text& what) {
    const DType x = (*a)->dtype, y = (*b)->dtype;
    if (x == y) return x;
    if (IsUntyped(x) && IsUntyped(y)) return kRealT;
    if (IsUntyped(x)) return *a = Adapt(*a, y), Met(*a, y);
    if (IsUntyped(y)) return *b = Adapt(*b, x), Met(*b, x);
    if (IsComplex(x) && (IsFloat(y) || IsComplex(y)))
      return x == DType::kC64 && y == DType::kC128 ? (*a = CastExpr(y, *a), y) : (*b = CastExpr(x, *b), x);
    if (IsComplex(y) && IsFloat(x)) return *a = CastExpr(y, *a), y;
    if (IsFloat(x) && IsFloat(y)) {
      const DType t = x == DType::kF64 || y == DType::kF64 ? DType::kF64 : DType::kF32;
      if (x != t) *a = CastExpr(t, *a);
      if (y != t) *b = CastExpr(t, *b);
      return t;
    }
    Fail(at_,
         "values of type " + std::string(DTypeName(x)) + " and " + std::string(DTypeName(y)) + " meet in " +
             std::string(what),
         "convert one of them: f32(…), i64(…), cast(…)");
  }
  DType Met(const Expr& e, DType t) { return e->dtype == kIndexT ? DType::kI64 : t; }

  Expr IntLiteral(int64_t v, DType t) {
    if (IsFloat(t) || IsComplex(t)) return WithType(FloatExpr(static_cast<double>(v)), IsComplex(t) ? Part(t) : t);
    if (t == DType::kBool) {
      if (v != 0 && v != 1) Fail(at_, "the number " + std::to_string(v) + " meets bools");
      return WithType(BoolExpr(v != 0), t);
    }
    if (t == DType::kString) Fail(at_, "the number " + std::to_string(v) + " meets strings");
    if (v < LowestInt(t) || (v > 0 && static_cast<uint64_t>(v) > HighestInt(t)))
      Fail(at_, "the number " + std::to_string(v) + " does not fit in " + std::string(DTypeName(t)));
    return WithType(IntExpr(v), t);
  }
  Expr RealLiteral(double v, DType t) {
    if (IsFloat(t) || IsComplex(t)) return WithType(FloatExpr(v), IsComplex(t) ? Part(t) : t);
    if (v == std::floor(v) && std::abs(v) < 9.2e18) return IntLiteral(static_cast<int64_t>(v), t);
    if (std::isinf(v)) return Bound(v > 0, t);  // the infinity of a type without one is its limit
    Fail(at_, "the number " + ToString(FloatExpr(v)) + " meets values of type " + std::string(DTypeName(t)));
  }
  static DType Part(DType complex) { return complex == DType::kC64 ? DType::kF32 : DType::kF64; }

  Expr Bound(bool high, DType t) {
    if (IsFloat(t)) {
      const bool finite = IsFp8(t) || BitWidth(t) <= 8;
      const double v = finite ? HighestFloat(t) : std::numeric_limits<double>::infinity();
      return WithType(FloatExpr(high ? v : -v), t);
    }
    if (t == DType::kBool) return WithType(BoolExpr(high), t);
    if (!IsInteger(t)) Fail(at_, "type " + std::string(DTypeName(t)) + " has no lowest or highest value");
    if (high && t == DType::kU64) return WithType(CastExpr(t, IntExpr(-1)), t);
    return WithType(IntExpr(high ? static_cast<int64_t>(HighestInt(t)) : LowestInt(t)), t);
  }

  // An untyped real tree computed in f64.
  Expr Reals(const Expr& e) {
    if (!IsUntyped(e->dtype)) return e;
    if (e.Is(ExprKind::kFloat) || e.Is(ExprKind::kInt) || IsBound(e)) return Adapt(e, DType::kF64);
    if (e->dtype == kIndexT) return CastExpr(DType::kF64, e);
    std::vector<Expr> args = e->args;
    const size_t first = e.Is(ExprKind::kSelect) ? 1 : 0;
    for (size_t i = first; i < args.size(); ++i) args[i] = Reals(args[i]);
    return WithType(WithArgs(e, std::move(args)), DType::kF64);
  }

  const TypeScope& scope_;
  Place at_;
  std::unordered_map<const void*, Expr> memo_;
  std::vector<Expr> keep_;  // memo keys must stay alive
};

}  // namespace

Expr TypeValue(const TypeScope& scope, const Expr& e, DType target, Place at) {
  Typer t(scope, at);
  return t.Convert(t.Lower(e), target);
}

Expr TypeIndex(const TypeScope& scope, const Expr& e, Place at) { return Typer(scope, at).Index(e); }

Expr TypeCondition(const TypeScope& scope, const Expr& e, Place at) {
  Typer t(scope, at);
  return t.Condition(t.Lower(e));
}

DType TemporaryType(const TypeScope& scope, const Expr& e, WriteOp op, Place at) {
  Expr l = Typer(scope, at).Lower(e);
  DType t = l->dtype;
  if (t == kIndexT) return DType::kI64;
  if (t == kRealT) return scope.has_f64 ? DType::kF64 : DType::kF32;
  // Sums and computed values of half types are kept in f32; copies and extrema stay as they are.
  const bool copy = l.Is(ExprKind::kRead) || l.Is(ExprKind::kCast) || l.Is(ExprKind::kSelect);
  if (IsHalf(t) && (op == WriteOp::kAdd || op == WriteOp::kMul || (op == WriteOp::kAssign && !copy)))
    return DType::kF32;
  return t;
}

Expr Identity(WriteOp op, DType t) {
  static const Sdfg* const kEmpty = new Sdfg();
  TypeScope scope{kEmpty};
  Expr e = op == WriteOp::kAdd   ? IntExpr(0)
           : op == WriteOp::kMul ? IntExpr(1)
                                 : CallExpr(op == WriteOp::kMax ? "lowest" : "highest", {});
  return TypeValue(scope, e, t, {});
}

std::optional<DType> TypeFromOnnx(int64_t n) {
  static const DType kTypes[] = {DType::kNone,       DType::kF32,  DType::kU8,       DType::kI8,         DType::kU16,
                                 DType::kI16,        DType::kI32,  DType::kI64,      DType::kString,     DType::kBool,
                                 DType::kF16,        DType::kF64,  DType::kU32,      DType::kU64,        DType::kC64,
                                 DType::kC128,       DType::kBF16, DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2,
                                 DType::kF8E5M2FNUZ, DType::kU4,   DType::kI4,       DType::kF4E2M1,     DType::kF8E8M0,
                                 DType::kU2,         DType::kI2};
  if (n <= 0 || n >= static_cast<int64_t>(sizeof(kTypes) / sizeof(kTypes[0]))) return std::nullopt;
  return kTypes[n];
}

}  // namespace elaborate
}  // namespace headrace
