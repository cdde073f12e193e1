// Folding of scalar arithmetic: literals exactly, sizes in canonical form, everything else kept.
#include <cmath>
#include <limits>

#include "ir/elaborate/elaborate_internal.h"

namespace headrace {
namespace elaborate {

void Fail(Place at, std::string message, std::string hint, ErrorKind kind) {
  Diagnostic d;
  d.kind = kind;
  d.code = kind == ErrorKind::kUnsupported ? "E0702" : "E0701";
  d.message = std::move(message);
  d.hint = std::move(hint);
  d.line = at.line;
  d.column = at.column;
  throw FormError{std::move(d)};
}

bool IsReserved(Name n) { return !n.empty() && n.view()[0] == '%'; }
bool IsEllipsisIndex(Name n) { return n.view().size() > 1 && n.view()[0] == '%' && n.view()[1] == '.'; }

std::optional<double> AsNumber(const Expr& e) {
  if (e.Is(ExprKind::kInt) || e.Is(ExprKind::kBool)) return static_cast<double>(e->ivalue);
  if (e.Is(ExprKind::kFloat)) return e->fvalue;
  return std::nullopt;
}

std::optional<bool> AsTruth(const Expr& e) {
  std::optional<double> v = AsNumber(e);
  if (!v) return std::nullopt;
  return *v != 0;
}

namespace {

constexpr double kExact = 9007199254740992.0;  // 2^53: integers below are exact in a double

std::optional<int64_t> IntLiteral(const Expr& e) {
  if (e.Is(ExprKind::kInt) || e.Is(ExprKind::kBool)) return e->ivalue;
  return std::nullopt;
}

bool Overflows(Op op, int64_t a, int64_t b) {
  int64_t r;
  switch (op) {
    case Op::kAdd: return __builtin_add_overflow(a, b, &r);
    case Op::kSub: return __builtin_sub_overflow(a, b, &r);
    case Op::kMul: return __builtin_mul_overflow(a, b, &r);
    default: return b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1);
  }
}

int64_t FloorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

Expr FoldInts(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kFloorDiv:
    case Op::kMod:
    case Op::kDiv:
      if (Overflows(op, a, b)) return op == Op::kDiv && b == 0 ? FloatExpr(static_cast<double>(a) / 0.0) : Expr();
      break;
    default: break;
  }
  switch (op) {
    case Op::kAdd: return IntExpr(a + b);
    case Op::kSub: return IntExpr(a - b);
    case Op::kMul: return IntExpr(a * b);
    case Op::kDiv: return a % b == 0 ? IntExpr(a / b) : FloatExpr(static_cast<double>(a) / static_cast<double>(b));
    case Op::kFloorDiv: return IntExpr(FloorDivide(a, b));
    case Op::kMod: return IntExpr(a - FloorDivide(a, b) * b);
    case Op::kShl: return b < 0 || b > 62 ? Expr() : IntExpr(static_cast<int64_t>(static_cast<uint64_t>(a) << b));
    case Op::kShr: return b < 0 || b > 62 ? Expr() : IntExpr(a >> b);
    case Op::kBitAnd: return IntExpr(a & b);
    case Op::kBitOr: return IntExpr(a | b);
    case Op::kBitXor: return IntExpr(a ^ b);
    case Op::kEq: return BoolExpr(a == b);
    case Op::kNe: return BoolExpr(a != b);
    case Op::kLt: return BoolExpr(a < b);
    case Op::kLe: return BoolExpr(a <= b);
    case Op::kGt: return BoolExpr(a > b);
    case Op::kGe: return BoolExpr(a >= b);
    default: return Expr();
  }
}

Expr FoldReals(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd: return FloatExpr(a + b);
    case Op::kSub: return FloatExpr(a - b);
    case Op::kMul: return FloatExpr(a * b);
    case Op::kDiv: return FloatExpr(a / b);
    case Op::kFloorDiv: return FloatExpr(std::floor(a / b));
    case Op::kMod: return b == 0 ? Expr() : FloatExpr(a - std::floor(a / b) * b);
    case Op::kEq: return BoolExpr(a == b);
    case Op::kNe: return BoolExpr(a != b);
    case Op::kLt: return BoolExpr(a < b);
    case Op::kLe: return BoolExpr(a <= b);
    case Op::kGt: return BoolExpr(a > b);
    case Op::kGe: return BoolExpr(a >= b);
    default: return Expr();
  }
}

std::optional<bool> Decide(Op op, const Expr& a, const Expr& b, const Assumptions& as) {
  auto from = [](Truth t, bool negate) -> std::optional<bool> {
    if (t == Truth::kUnknown) return std::nullopt;
    return (t == Truth::kYes) != negate;
  };
  switch (op) {
    case Op::kEq: return from(ProveEq(a, b, as), false);
    case Op::kNe: return from(ProveEq(a, b, as), true);
    case Op::kLe: return from(ProveLe(a, b, as), false);
    case Op::kGe: return from(ProveLe(b, a, as), false);
    case Op::kLt: return from(ProveLe(b, a, as), true);
    case Op::kGt: return from(ProveLe(a, b, as), true);
    default: return std::nullopt;
  }
}

}  // namespace

Expr AsIndexLiteral(const Expr& e) {
  if (e.Is(ExprKind::kFloat) && std::abs(e->fvalue) < kExact && e->fvalue == std::floor(e->fvalue))
    return IntExpr(static_cast<int64_t>(e->fvalue));
  if (e.Is(ExprKind::kBool)) return IntExpr(e->ivalue);
  return e;
}

Expr FoldUnary(Op op, const Expr& a) {
  if (op == Op::kNeg) {
    if (a.Is(ExprKind::kInt) && a->ivalue != std::numeric_limits<int64_t>::min()) return IntExpr(-a->ivalue);
    if (a.Is(ExprKind::kFloat)) return FloatExpr(-a->fvalue);
    if (IsIndexExpr(a)) return IntExpr(0) - a;
  }
  if (op == Op::kNot) {
    if (std::optional<bool> t = AsTruth(a)) return BoolExpr(!*t);
  }
  if (op == Op::kBitNot && a.Is(ExprKind::kInt)) return IntExpr(~a->ivalue);
  return UnaryExpr(op, a);
}

Expr FoldBinary(Op op, const Expr& a, const Expr& b, const Assumptions& as) {
  if (op == Op::kAnd || op == Op::kOr) {
    std::optional<bool> x = AsTruth(a), y = AsTruth(b);
    const bool absorbing = op == Op::kOr;
    if ((x && *x == absorbing) || (y && *y == absorbing)) return BoolExpr(absorbing);
    if (x && y) return BoolExpr(!absorbing);
    if (x) return b;
    if (y) return a;
    return BinaryExpr(op, a, b);
  }
  std::optional<int64_t> i = IntLiteral(a), j = IntLiteral(b);
  if (i && j) {
    if (Expr r = FoldInts(op, *i, *j)) return r;
    return BinaryExpr(op, a, b);
  }
  std::optional<double> x = AsNumber(a), y = AsNumber(b);
  if (x && y) {
    if (Expr r = FoldReals(op, *x, *y)) return r;
    return BinaryExpr(op, a, b);
  }
  if (IsIndexExpr(a) && IsIndexExpr(b)) {
    switch (op) {
      case Op::kAdd: return a + b;
      case Op::kSub: return a - b;
      case Op::kMul: return a * b;
      case Op::kFloorDiv: return j && *j == 0 ? BinaryExpr(op, a, b) : FloorDiv(a, b);
      case Op::kMod: return j && *j == 0 ? BinaryExpr(op, a, b) : Mod(a, b);
      case Op::kDiv:
        if (j && *j == 1) return a;
        if (ProveEq(a, b, as) == Truth::kYes) return IntExpr(1);
        return BinaryExpr(op, a, b);
      default: break;
    }
    if (std::optional<bool> t = Decide(op, a, b, as)) return BoolExpr(*t);
    return BinaryExpr(op, a, b);
  }
  // Exact for floats too: x * 1, x / 1, x - 0 (x + 0 is not: -0 + 0 = 0).
  const bool int_one = b.Is(ExprKind::kInt) && b->ivalue == 1, int_zero = b.Is(ExprKind::kInt) && b->ivalue == 0;
  if ((op == Op::kMul || op == Op::kDiv) && int_one) return a;
  if (op == Op::kMul && a.Is(ExprKind::kInt) && a->ivalue == 1) return b;
  if (op == Op::kSub && int_zero) return a;
  return BinaryExpr(op, a, b);
}

Expr FoldSelect(const Expr& c, const Expr& a, const Expr& b) {
  if (std::optional<bool> t = AsTruth(c)) return *t ? a : b;
  if (a == b) return a;
  return SelectExpr(c, a, b);
}

Expr FoldCast(DType t, const Expr& a, bool saturate) {
  // Casts of sizes and literals stay untyped, and exact: `f64(6) / 4` is 1.5, `i64(depth)` is an index.
  if (IsFloat(t) && (t == DType::kF64 || t == DType::kF32)) {
    if (a.Is(ExprKind::kInt)) return FloatExpr(static_cast<double>(a->ivalue));
    if (a.Is(ExprKind::kFloat) && t == DType::kF64) return a;
  }
  if (t == DType::kI64 && IsIndexExpr(a)) return a;
  if (t == DType::kI64 && a.Is(ExprKind::kFloat) && std::abs(a->fvalue) < kExact)
    return IntExpr(static_cast<int64_t>(a->fvalue));
  if (t == DType::kI32 && a.Is(ExprKind::kInt) && a->ivalue >= LowestInt(t) &&
      a->ivalue <= static_cast<int64_t>(HighestInt(t)))
    return a;
  if (a.Is(ExprKind::kCast) && a->dtype == t && a->saturate == saturate) return a;
  return CastExpr(t, a, saturate);
}

Expr FoldCall(Name fn, const std::vector<Expr>& args, const Assumptions& as) {
  const std::string f = fn.str();
  bool index = true, literal = true;
  for (const Expr& a : args) {
    index = index && IsIndexExpr(a);
    literal = literal && AsNumber(a).has_value();
  }
  if (index && !args.empty()) {
    if (f == "min" && args.size() == 2) return Min(args[0], args[1]);
    if (f == "max" && args.size() == 2) return Max(args[0], args[1]);
    if (f == "clamp" && args.size() == 3) return Min(Max(args[0], args[1]), args[2]);
    if (f == "wrap" && args.size() == 2) {
      if (ProveLe(IntExpr(0), args[0], as) == Truth::kYes) return args[0];
      if (ProveLe(args[0], IntExpr(-1), as) == Truth::kYes) return args[0] + args[1];
    }
    if (f == "abs") {
      if (ProveLe(IntExpr(0), args[0], as) == Truth::kYes) return args[0];
      return Max(args[0], IntExpr(0) - args[0]);
    }
    if (f == "floor" || f == "ceil" || f == "rint" || f == "trunc") return args[0];
  }
  if (f == "hold" && (index || literal) && args.size() == 1) return args[0];
  // floor(p / 2.0) of an index is p // 2.
  if ((f == "floor" || f == "ceil") && args.size() == 1 && args[0].Is(ExprKind::kBinary) && args[0]->op == Op::kDiv) {
    const Expr &a = args[0]->args[0], b = AsIndexLiteral(args[0]->args[1]);
    if (IsIndexExpr(a) && AsInt(b).value_or(0) > 0)
      return f == "floor" ? FloorDiv(a, b) : IntExpr(0) - FloorDiv(IntExpr(0) - a, b);
  }
  if (literal && args.size() == 1) {
    const double x = *AsNumber(args[0]);
    if (f == "floor") return AsIndexLiteral(FloatExpr(std::floor(x)));
    if (f == "ceil") return AsIndexLiteral(FloatExpr(std::ceil(x)));
    if (f == "rint") return AsIndexLiteral(FloatExpr(std::nearbyint(x)));
    if (f == "trunc") return AsIndexLiteral(FloatExpr(std::trunc(x)));
    if (f == "abs") return FloatExpr(std::abs(x));
    if (f == "sqrt") return FloatExpr(std::sqrt(x));
    if (f == "exp") return FloatExpr(std::exp(x));
    if (f == "log") return FloatExpr(std::log(x));
    if (f == "sin") return FloatExpr(std::sin(x));
    if (f == "cos") return FloatExpr(std::cos(x));
    if (f == "isnan") return BoolExpr(std::isnan(x));
    if (f == "isinf") return BoolExpr(std::isinf(x));
  }
  if (literal && args.size() == 2) {
    const double x = *AsNumber(args[0]), y = *AsNumber(args[1]);
    if (f == "max") return x >= y || std::isnan(x) ? args[0] : args[1];
    if (f == "min") return x <= y || std::isnan(x) ? args[0] : args[1];
    if (f == "pow") return FloatExpr(std::pow(x, y));
    if (f == "fmod" && y != 0) return FloatExpr(std::fmod(x, y));
  }
  if (literal && args.size() == 3 && f == "clamp") {
    const double x = *AsNumber(args[0]), lo = *AsNumber(args[1]), hi = *AsNumber(args[2]);
    return x < lo ? args[1] : x > hi ? args[2] : args[0];
  }
  return CallExpr(fn, args);
}

}  // namespace elaborate
}  // namespace headrace
