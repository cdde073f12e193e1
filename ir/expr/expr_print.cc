// Expressions as text: minimal parentheses, and parsing gives back an equal tree. Two things make
// that hold for numbers: the parser folds a minus directly before a number into the literal, so
// that a literal -3 prints as `-3` and the negation of the literal 3 as `-(3)`; and floats print
// with a point, an exponent, or as inf and nan.
#include <cmath>

#include "ir/expr/expr.h"
#include "ir/base/spelling.h"

namespace headrace {
namespace {

// Binding strength, weakest first, as in the grammar; but `a ?? b` and `a ?: b`, which the grammar
// binds as tightly as a minus, are put in parentheses in any arithmetic: `(X[i] ?? 0) * 2`.
enum Level {
  kSelectLevel,
  kGuardLevel,
  kOrLevel,
  kAndLevel,
  kBitOrLevel,
  kBitXorLevel,
  kBitAndLevel,
  kEqLevel,
  kOrderLevel,
  kShiftLevel,
  kAddLevel,
  kMulLevel,
  kUnaryLevel,
  kPostfixLevel
};

Level LevelOf(Op op) {
  switch (op) {
    case Op::kOr: return kOrLevel;
    case Op::kAnd: return kAndLevel;
    case Op::kBitOr: return kBitOrLevel;
    case Op::kBitXor: return kBitXorLevel;
    case Op::kBitAnd: return kBitAndLevel;
    case Op::kEq:
    case Op::kNe: return kEqLevel;
    case Op::kLt:
    case Op::kLe:
    case Op::kGt:
    case Op::kGe: return kOrderLevel;
    case Op::kShl:
    case Op::kShr: return kShiftLevel;
    case Op::kAdd:
    case Op::kSub: return kAddLevel;
    case Op::kMul:
    case Op::kDiv:
    case Op::kFloorDiv:
    case Op::kMod: return kMulLevel;
    default: return kUnaryLevel;
  }
}

Level LevelOf(const Expr& e) {
  switch (e->kind) {
    case ExprKind::kSelect: return kSelectLevel;
    case ExprKind::kBinary: return LevelOf(e->op);
    case ExprKind::kUnary: return kUnaryLevel;
    case ExprKind::kGuard:
    case ExprKind::kAbsent: return kGuardLevel;
    case ExprKind::kInt: return e->ivalue < 0 ? kUnaryLevel : kPostfixLevel;
    case ExprKind::kFloat: return std::signbit(e->fvalue) && !std::isnan(e->fvalue) ? kUnaryLevel : kPostfixLevel;
    case ExprKind::kRead: return e->has_default ? kGuardLevel : kPostfixLevel;
    // These stand in index lists only; anywhere else they are put in parentheses.
    case ExprKind::kColon:
    case ExprKind::kPlaced:
    case ExprKind::kSplice: return kSelectLevel;
    default: return kPostfixLevel;
  }
}

class Printer {
 public:
  std::string out;

  void Put(const Expr& e, Level weakest) {
    if (!e) {
      out += "<null>";
      return;
    }
    const bool parens = LevelOf(e) < weakest;
    if (parens) out += "(";
    Bare(e);
    if (parens) out += ")";
  }

 private:
  void List(const std::vector<Expr>& args, size_t count, const char* open, const char* close) {
    out += open;
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) out += ", ";
      Argument(args[i]);
    }
    out += close;
  }

  // Index lists allow what stands nowhere else: `:`, `a:b`, `x@axis`, `(list)..`.
  void Argument(const Expr& e) {
    if (e && LevelOf(e) == kSelectLevel) Bare(e);
    else Put(e, kSelectLevel);
  }

  void Binary(const Expr& e) {
    const Level level = LevelOf(e->op);
    // Comparisons don't chain.
    const bool comparison = level == kEqLevel || level == kOrderLevel;
    const Level left = comparison ? kShiftLevel : level;
    const Level right = comparison ? kShiftLevel : static_cast<Level>(level + 1);
    Put(e->args[0], left);
    out += " ";
    out += OpToken(e->op);
    out += " ";
    Put(e->args[1], right);
  }

  void Unary(const Expr& e) {
    out += OpToken(e->op);
    const Expr& a = e->args[0];
    const bool number = a.Is(ExprKind::kInt) || a.Is(ExprKind::kFloat);
    const bool minus = a.Is(ExprKind::kUnary) && a->op == Op::kNeg;
    if (e->op == Op::kNeg && (number || minus)) {
      out += "(";
      Bare(a);
      out += ")";
    } else {
      Put(a, kUnaryLevel);
    }
  }

  void Read(const Expr& e) {
    out += NameText(e->name);
    if (e->flat) out += ".flat";
    List(e->args, e->args.size() - (e->has_default ? 1 : 0), "[", "]");
    if (!e->has_default) return;
    out += " ?? ";
    Put(e->args.back(), kUnaryLevel);
  }

  void Cast(const Expr& e) {
    if (e->dtype == DType::kNone || IsUntyped(e->dtype)) {  // to the target's type
      List(e->args, 1, e->saturate ? "sat(" : "cast(", ")");
    } else if (e->saturate) {
      List(e->args, 1, "sat(", "");
      out += ", ";
      out += DTypeName(e->dtype);
      out += ")";
    } else {
      out += DTypeName(e->dtype);
      List(e->args, 1, "(", ")");
    }
  }

  void Bare(const Expr& e) {
    switch (e->kind) {
      case ExprKind::kInt: out += std::to_string(e->ivalue); break;
      case ExprKind::kFloat: out += FloatText(e->fvalue); break;
      case ExprKind::kBool: out += e->ivalue ? "true" : "false"; break;
      case ExprKind::kSymbol: out += NameText(e->name); break;
      case ExprKind::kRead: Read(e); break;
      case ExprKind::kUnary: Unary(e); break;
      case ExprKind::kBinary: Binary(e); break;
      case ExprKind::kSelect:
        Put(e->args[0], kOrLevel);
        out += " ? ";
        Put(e->args[1], kSelectLevel);
        out += " : ";
        Put(e->args[2], kSelectLevel);
        break;
      case ExprKind::kCall:
        out += NameText(e->name);
        List(e->args, e->args.size(), "(", ")");
        break;
      case ExprKind::kCast: Cast(e); break;
      case ExprKind::kString: out += StringText(e->text); break;
      case ExprKind::kGroup:
        out += NameText(e->name);
        out += "..";
        break;
      case ExprKind::kEllipsis: out += ".."; break;
      case ExprKind::kColon:
        if (e->args.size() == 2) {
          if (e->args[0]) Put(e->args[0], kOrLevel);
          out += ":";
          if (e->args[1]) Put(e->args[1], kOrLevel);
        } else {
          out += ":";
        }
        break;
      case ExprKind::kPlaced:
        Argument(e->args[0]);
        out += "@";
        Put(e->args[1], kUnaryLevel);
        break;
      case ExprKind::kSplice:
        out += "(";
        Put(e->args[0], kSelectLevel);
        out += ")..";
        break;
      case ExprKind::kList: List(e->args, e->args.size(), "[", "]"); break;
      case ExprKind::kIndex: {
        // `X[i]` of a name would be a read.
        const bool name = e->args[0].Is(ExprKind::kSymbol);
        if (name) out += "(";
        Put(e->args[0], kPostfixLevel);
        if (name) out += ")";
        List(std::vector<Expr>(e->args.begin() + 1, e->args.end()), e->args.size() - 1, "[", "]");
        break;
      }
      case ExprKind::kGuard:
      case ExprKind::kAbsent:
        Put(e->args[0], kPostfixLevel);
        out += e->kind == ExprKind::kGuard ? " ?? " : " ?: ";
        Put(e->args[1], kUnaryLevel);
        break;
    }
  }
};

}  // namespace

std::string ToString(const Expr& e) {
  Printer p;
  p.Put(e, kSelectLevel);
  return std::move(p.out);
}

}  // namespace headrace
