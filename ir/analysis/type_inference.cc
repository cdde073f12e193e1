#include "ir/analysis/type_inference.h"

#include <cmath>
#include <map>
#include <utility>

#include "ir/base/closest_word.h"
#include "ir/expr/functions.h"

namespace headrace {
namespace {

constexpr DType kIndexT = DType::kIndex;
constexpr DType kRealT = DType::kReal;

std::string Shown(DType t) {
  return t == kIndexT  ? "an integer without type"
         : t == kRealT ? "a real number without type"
                       : std::string(DTypeName(t));
}
std::string CastHint(DType to) {
  return "cast it: " + std::string(IsUntyped(to) || to == DType::kNone ? "f32" : DTypeName(to)) + "(…)";
}
bool IsLiteral(const Expr& e) { return e.Is(ExprKind::kInt) || e.Is(ExprKind::kFloat); }
bool IsNumeric(DType t) { return IsInteger(t) || IsFloat(t) || IsComplex(t); }
DType PartType(DType complex) { return complex == DType::kC64 ? DType::kF32 : DType::kF64; }
bool IsComparison(Op op) { return op >= Op::kEq && op <= Op::kGe; }

Expr At(const Expr& made, const Expr& from) {
  if (made.id() == from.id() || (made->line == from->line && made->column == from->column)) return made;
  ExprNode n = *made;
  n.line = from->line;
  n.column = from->column;
  return Expr(std::move(n));
}
Expr Cast(DType t, const Expr& e) { return At(CastExpr(t, e), e); }

class Typer {
 public:
  explicit Typer(const Sdfg& s) : s_(s) {}
  Status status() const { return status_; }

  // `index`: e counts elements, so integers in it are i64. Untyped trees come back as kIndex or
  // kReal.
  Expr Type(const Expr& e, bool index) {
    if (!e) {
      Fail(Expr(0), "E0601", "an expression is missing", "");
      return Expr(0);
    }
    const auto key = std::make_pair(e.id(), index);
    auto it = memo_.find(key);
    if (it != memo_.end()) return it->second;
    Expr out = status_.ok() ? Node(e, index) : e;
    if (status_.ok() && index && IsInteger(out->dtype) && out->dtype != kIndexT && out->dtype != DType::kI64) {
      out = Cast(DType::kI64, out);
    }
    keep_.push_back(e);
    memo_.emplace(key, out);
    return out;
  }

  // An untyped tree as a value of type t; kNone: as i64 or f64.
  Expr Adapt(const Expr& e, DType t) {
    if (!IsUntyped(e->dtype) || !status_.ok()) return e;
    if (t == DType::kNone) t = e->dtype == kIndexT ? DType::kI64 : DType::kF64;
    if (IsUntyped(t)) return e;
    if (IsLiteral(e)) return Literal(e, t);
    if (t == DType::kBool || t == DType::kString) {
      Fail(e, "E0602", Shown(e->dtype) + " meets values of type " + std::string(DTypeName(t)),
           t == DType::kBool ? "compare it: x != 0" : "");
      return e;
    }
    if (e->dtype == kIndexT && t == DType::kI64) return WithType(e, t);
    // A choice between numbers is a choice between typed numbers: no conversion at run time.
    if (e.Is(ExprKind::kSelect) && (IsLiteral(e->args[1]) || IsLiteral(e->args[2]))) {
      return WithType(WithArgs(e, {e->args[0], Adapt(e->args[1], t), Adapt(e->args[2], t)}), t);
    }
    if (e->dtype == kIndexT) return Cast(t, e);
    if (IsInteger(t)) {
      Fail(e, "E0603", "a real number meets integers of type " + std::string(DTypeName(t)),
           "cast one of them: f32(…), " + std::string(DTypeName(t)) + "(…), or divide sizes with //");
      return e;
    }
    const Expr real = Real(e);
    return t == DType::kF64 ? real : Cast(t, real);
  }

  void Fail(const Expr& at, const char* code, std::string message, std::string hint, std::string got = "",
            std::string expected = "") {
    if (!status_.ok()) return;
    Diagnostic d;
    d.code = code;
    d.message = std::move(message) + (at->line > 0 || IsLiteral(at) ? "" : ", in " + ToString(at));
    d.line = at->line;
    d.column = at->column;
    d.got = std::move(got);
    d.expected = std::move(expected);
    d.hint = std::move(hint);
    status_ = Status(std::move(d));
  }

 private:
  Expr Node(const Expr& e, bool index) {
    switch (e->kind) {
      case ExprKind::kInt: return WithType(e, kIndexT);
      case ExprKind::kFloat: return WithType(e, kRealT);
      case ExprKind::kBool: return WithType(e, DType::kBool);
      case ExprKind::kString: return WithType(e, DType::kString);
      case ExprKind::kSymbol: return Symbol(e);
      case ExprKind::kRead: return Read(e);
      case ExprKind::kUnary: return Unary(e, index);
      case ExprKind::kBinary: return Binary(e, index);
      case ExprKind::kSelect: return Select(e, index);
      case ExprKind::kCall: return Call(e, index);
      case ExprKind::kCast: return CastTo(e);
      default:
        Fail(e, "E0604", "'" + ToString(e) + "' belongs to pure forms and has no value here", "write every index out");
        return e;
    }
  }

  Expr Symbol(const Expr& e) {
    const Container* c = s_.Find(e->name);
    if (c == nullptr) return WithType(e, kIndexT);
    if (!c->shape.empty()) {
      Fail(e, "E0605",
           "'" + e->name.str() + "' is a tensor and needs an index for each of its " + std::to_string(c->shape.size()) +
               " dimensions",
           "write " + e->name.str() + "[…]");
      return e;
    }
    return Read(At(ReadExpr(e->name, {}), e));
  }

  Expr Read(const Expr& e) {
    const Container* c = s_.Find(e->name);
    if (c == nullptr) {
      Fail(e, "E0606", "there is no container '" + e->name.str() + "'", "declare it, or give it as a parameter");
      return e;
    }
    if (c->dtype == DType::kNone || c->kind == ContainerKind::kSequence) {
      Fail(e, "E0607", "'" + e->name.str() + "' is a sequence: its elements can't be read by index",
           "use a node such as SequenceAt");
      return e;
    }
    std::vector<Expr> args;
    const size_t n = e->args.size() - (e->has_default ? 1 : 0);
    for (size_t i = 0; i < n; ++i) args.push_back(Index(e->args[i]));
    if (e->has_default) {
      Expr d = Adapt(Type(e->args[n], false), c->dtype);
      if (d->dtype != c->dtype) {
        if (IsFloat(d->dtype) && IsFloat(c->dtype)) {
          d = Cast(c->dtype, d);
        } else {
          Fail(d, "E0608", "the value after '?\?' must have the type of '" + e->name.str() + "'", CastHint(c->dtype),
               Shown(d->dtype), Shown(c->dtype));
        }
      }
      args.push_back(d);
    }
    return WithType(WithArgs(e, std::move(args)), c->dtype);
  }

  Expr Index(const Expr& e) {
    const Expr i = Type(e, true);
    if (!IsInteger(i->dtype)) Fail(i, "E0609", "an index must be an integer", "cast it: i64(…)", Shown(i->dtype));
    return i;
  }

  Expr Condition(const Expr& e, const char* what) {
    const Expr c = Type(e, false);
    if (c->dtype != DType::kBool)
      Fail(c, "E0610", std::string(what) + " must be a bool", "compare it: x != 0", Shown(c->dtype), "bool");
    return c;
  }

  Expr Unary(const Expr& e, bool index) {
    if (e->op == Op::kNot) return WithType(WithArgs(e, {Condition(e->args[0], "what '!' negates")}), DType::kBool);
    const Expr a = Type(e->args[0], index);
    const DType t = a->dtype;
    const bool fits = e->op == Op::kBitNot ? IsInteger(t) || t == DType::kBool : IsNumeric(t);
    if (!fits)
      Fail(e, "E0611", "'" + std::string(OpToken(e->op)) + "' can't be applied to " + Shown(t),
           e->op == Op::kBitNot ? "" : CastHint(t), Shown(t));
    return WithType(WithArgs(e, {a}), t);
  }

  Expr Binary(const Expr& e, bool index) {
    const Op op = e->op;
    if (op == Op::kAnd || op == Op::kOr) {
      const std::string what = "each side of '" + std::string(OpToken(op)) + "'";
      const Expr a = Condition(e->args[0], what.c_str()), b = Condition(e->args[1], what.c_str());
      return WithType(WithArgs(e, {a, b}), DType::kBool);
    }
    Expr a = Type(e->args[0], index), b = Type(e->args[1], index);
    if (IsComparison(op)) return Comparison(e, a, b);
    DType t = Meet(e, &a, &b);
    const bool bitwise = op >= Op::kBitAnd && op <= Op::kBitXor, shift = op == Op::kShl || op == Op::kShr;
    bool fits = IsNumeric(t);
    if (bitwise) fits = IsInteger(t) || t == DType::kBool;
    if (shift) fits = IsInteger(t);
    if ((op == Op::kFloorDiv || op == Op::kMod) && IsComplex(t)) fits = false;
    if (!fits)
      Fail(e, "E0611", "'" + std::string(OpToken(op)) + "' can't be applied to " + Shown(t),
           t == DType::kBool ? CastHint(DType::kNone) : "", Shown(t));
    if (op == Op::kDiv && t == kIndexT) t = kRealT;  // sizes divide exactly
    return WithType(WithArgs(e, {a, b}), t);
  }

  Expr Comparison(const Expr& e, Expr a, Expr b) {
    // Integers against a size are compared in i64: the size might not fit in their type.
    for (Expr* x : {&a, &b}) {
      const Expr& other = x == &a ? b : a;
      if (other->dtype == kIndexT && !IsLiteral(other) && IsInteger((*x)->dtype) && BitWidth((*x)->dtype) < 64)
        *x = Cast(DType::kI64, *x);
    }
    DType t = Meet(e, &a, &b);
    if (t == kRealT) {
      a = Adapt(a, DType::kF64);
      b = Adapt(b, DType::kF64);
    }
    const bool ordered = e->op != Op::kEq && e->op != Op::kNe;
    if (ordered && (IsComplex(t) || t == DType::kString || t == DType::kBool)) {
      Fail(e, "E0611", "values of type " + Shown(t) + " have no order", t == DType::kBool ? "cast them: i32(…)" : "",
           Shown(t));
    }
    return WithType(WithArgs(e, {a, b}), DType::kBool);
  }

  Expr Select(const Expr& e, bool index) {
    const Expr c = Condition(e->args[0], "the condition of '? :'");
    Expr a = Type(e->args[1], index), b = Type(e->args[2], index);
    const DType t = Meet(e, &a, &b);
    return WithType(WithArgs(e, {c, a, b}), t);
  }

  Expr CastTo(const Expr& e) {
    const DType t = e->dtype;
    if (t == DType::kNone || IsUntyped(t)) {
      Fail(e, "E0612", "this cast does not say to which type", "write the type: f32(…)");
      return e;
    }
    const Expr a = Type(e->args[0], false);
    const DType from = a->dtype;
    if (from == DType::kString || t == DType::kString) {
      if (from != t) Fail(e, "E0613", "strings are not converted by a cast", "use a Cast node", Shown(from), Shown(t));
    } else if (IsComplex(from) && !IsComplex(t)) {
      Fail(e, "E0613", "a complex number has no single value of type " + Shown(t), "take real(…), imag(…) or abs(…)",
           Shown(from), Shown(t));
    }
    if (!status_.ok()) return e;
    // Numbers are converted here and now; one that does not fit, and `sat`, at run time by the
    // rules of the conversion.
    const bool literal = IsLiteral(a) && IsUntyped(from) && !e->saturate &&
                         (IsFloat(t) || IsComplex(t) || (a.Is(ExprKind::kInt) && Fits(a->ivalue, t)));
    if (literal) return Literal(a, t);
    return WithType(WithArgs(e, {Adapt(a, DType::kNone)}), t);
  }

  Expr Call(const Expr& e, bool index) {
    const FunctionInfo* f = FindFunction(e->name.view());
    const std::string fn = "'" + e->name.str() + "'";
    if (f == nullptr) {
      Fail(e, "E0614", "there is no function " + fn, Suggestion(e->name.view()));
      return e;
    }
    const int n = static_cast<int>(e->args.size());
    if (n < f->min_arity || n > f->max_arity) {
      Fail(e, "E0615", fn + " takes " + std::to_string(f->min_arity) + (f->min_arity == 1 ? " argument" : " arguments"),
           std::string(f->doc), std::to_string(n));
      return e;
    }
    const bool counts =
        index && (f->type == FnType::kSameNary || f->type == FnType::kIndexFn || e->name == Name("abs"));
    std::vector<Expr> args;
    for (const Expr& a : e->args) args.push_back(Type(a, counts));
    if (!status_.ok()) return e;
    DType t = args[0]->dtype;
    const auto need = [&](bool ok, const char* what, const std::string& hint) {
      if (!ok) Fail(e, "E0616", fn + " takes " + what, hint, Shown(t));
    };
    switch (f->type) {
      case FnType::kFloatUnary:
        if (t == kIndexT) t = kRealT;
        if (f->name == "real" || f->name == "imag") {
          need(IsComplex(t), "complex numbers", "");
          if (IsComplex(t)) t = PartType(t);
          break;
        }
        need(IsFloat(t) || IsComplex(t), "floats", "convert first: f32(…)");
        break;
      case FnType::kSameUnary:
        if (f->name == "popcount") need(IsInteger(t), "integers", "");
        else if (f->name == "conj") need(IsComplex(t), "complex numbers", "");
        else if (f->name == "abs" && IsComplex(t)) t = PartType(t);
        else if (f->name != "hold" || !IsComplex(t))
          need(IsInteger(t) || IsFloat(t), "numbers", t == DType::kBool ? CastHint(DType::kNone) : "");
        if (IsInteger(t) && (f->name == "floor" || f->name == "ceil" || f->name == "rint" || f->name == "trunc"))
          return args[0];
        break;
      case FnType::kSameNary:
      case FnType::kFloatNary:
        // Twice, because the type may only come with the last argument.
        for (int round = 0; round < 2; ++round) {
          for (size_t i = 1; i < args.size(); ++i) t = Meet(e, &args[0], &args[i]);
        }
        if (f->type == FnType::kFloatNary) need(IsFloat(t), "floats", "convert first: f32(…)");
        else need(IsInteger(t) || IsFloat(t) || t == DType::kBool, "numbers that have an order", "");
        break;
      case FnType::kDot: {
        const bool floats = f->name == "dot2";
        t = floats ? DType::kF32 : DType::kI32;
        for (size_t i = 0; i < args.size(); ++i) {
          const bool sum = i + 1 == args.size();
          if (IsUntyped(args[i]->dtype)) args[i] = Adapt(args[i], sum ? t : floats ? DType::kBF16 : DType::kI8);
          const DType is = args[i]->dtype;
          const bool fits = sum ? is == t : floats ? is == DType::kBF16 : is == DType::kI8 || is == DType::kU8;
          if (!status_.ok() || fits) continue;
          Fail(e, "E0616", fn + (floats ? " takes factors in bf16 and a sum in f32" : " takes factors in i8 or u8 and a sum in i32"),
               floats ? "convert first: bf16(…)" : "convert first: i8(…)", Shown(is));
        }
        break;
      }
      case FnType::kFloatBinary:
        t = Meet(e, &args[0], &args[1]);
        if (t == kIndexT) t = kRealT;
        if (f->name == "complex") {
          if (t == kRealT) {
            for (Expr& a : args) a = Adapt(a, DType::kF64);
            t = DType::kF64;
          }
          need(t == DType::kF32 || t == DType::kF64, "two f32 or two f64", "convert first: f32(…)");
          t = t == DType::kF32 ? DType::kC64 : DType::kC128;
        } else {
          need(IsFloat(t) || (IsInteger(t) && f->name != "atan2") || (IsComplex(t) && f->name == "pow"), "floats",
               "convert first: f32(…)");
        }
        break;
      case FnType::kPredicate:
        if (IsInteger(t)) return At(WithType(BoolExpr(false), DType::kBool), e);
        need(IsFloat(t), "floats", "");
        args[0] = Adapt(args[0], DType::kF64);
        t = DType::kBool;
        break;
      case FnType::kIndexFn:
        t = Meet(e, &args[0], &args[1]);
        need(IsInteger(t), "integers", "cast first: i64(…)");
        break;
      case FnType::kRandom:
        for (Expr& a : args) {
          t = a->dtype;
          need(IsInteger(t), "integers", "cast first: i64(…)");
          if (status_.ok() && t != kIndexT && t != DType::kI64) a = Cast(DType::kI64, a);
        }
        t = DType::kF32;
        break;
      case FnType::kBitcast: break;
    }
    return WithType(WithArgs(e, std::move(args)), t);
  }

  // The type in which two values meet; untyped ones adapt.
  DType Meet(const Expr& e, Expr* a, Expr* b) {
    const DType x = (*a)->dtype, y = (*b)->dtype;
    if (x == y || !status_.ok()) return x;
    if (IsUntyped(x) && IsUntyped(y)) return kRealT;
    if (IsUntyped(x)) return *a = Adapt(*a, y), y;
    if (IsUntyped(y)) return *b = Adapt(*b, x), x;
    const std::string where = e.Is(ExprKind::kSelect) ? "the two branches of '? :'"
                              : e.Is(ExprKind::kCall) ? "'" + e->name.str() + "'"
                                                      : "'" + std::string(OpToken(e->op)) + "'";
    const DType to = (IsFloat(x) || IsComplex(x)) && (!IsFloat(y) || BitWidth(x) > BitWidth(y)) ? x : y;
    Fail(e, "E0617", "values of two types meet in " + where, "cast one of them: " + std::string(DTypeName(to)) + "(…)",
         Shown(x) + " and " + Shown(y));
    return x;
  }

  static bool Fits(int64_t v, DType t) {
    if (t == DType::kBool) return v == 0 || v == 1;
    return v >= LowestInt(t) && (v <= 0 || static_cast<uint64_t>(v) <= HighestInt(t));
  }

  // A number as one of type t. Floats narrower than f32 keep the f32 value: they are computed with
  // in f32.
  Expr Literal(const Expr& e, DType t) {
    const double v = e.Is(ExprKind::kInt) ? static_cast<double>(e->ivalue) : e->fvalue;
    if (IsComplex(t)) return Cast(t, Literal(e, PartType(t)));
    if (IsFloat(t))
      return At(WithType(FloatExpr(t == DType::kF64 ? v : static_cast<double>(static_cast<float>(v))), t), e);
    if (t == DType::kString) {
      Fail(e, "E0602", "the number " + ToString(e) + " meets strings", "");
      return e;
    }
    int64_t i = e->ivalue;
    if (e.Is(ExprKind::kFloat)) {
      if (v != std::floor(v) || std::fabs(v) >= 9.2e18) {  // not inf and nan either
        Fail(e, "E0603", "the number " + ToString(e) + " meets integers of type " + std::string(DTypeName(t)),
             "cast the integers: f32(…)");
        return e;
      }
      i = static_cast<int64_t>(v);
    }
    if (!Fits(i, t)) {
      Fail(e, "E0618", "the number " + ToString(e) + " does not fit in " + std::string(DTypeName(t)),
           "cast it if wrapping is meant: " + std::string(DTypeName(t)) + "(" + ToString(e) + ")");
      return e;
    }
    return At(t == DType::kBool ? WithType(BoolExpr(i != 0), t) : WithType(IntExpr(i), t), e);
  }

  // An untyped real tree, computed in f64.
  Expr Real(const Expr& e) {
    if (!IsUntyped(e->dtype)) return e;
    if (IsLiteral(e)) return Literal(e, DType::kF64);
    if (e->dtype == kIndexT) return Cast(DType::kF64, e);
    std::vector<Expr> args = e->args;
    for (size_t i = e.Is(ExprKind::kSelect) ? 1 : 0; i < args.size(); ++i) args[i] = Real(args[i]);
    return WithType(WithArgs(e, std::move(args)), DType::kF64);
  }

  static std::string Suggestion(std::string_view name) {
    std::vector<std::string> names;
    for (const FunctionInfo& f : ScalarFunctions()) names.emplace_back(f.name);
    const std::string close = ClosestWord(std::string(name), names);
    return close.empty() ? "functions are listed in docs/notation.md" : "did you mean '" + close + "'?";
  }

  const Sdfg& s_;
  Status status_;
  std::map<std::pair<const void*, bool>, Expr> memo_;
  std::vector<Expr> keep_;  // memo keys must stay alive
};

}  // namespace

Result<Expr> InferTypes(const Sdfg& s, const Expr& e, DType expected) {
  Typer typer(s);
  const bool index = expected == kIndexT;
  Expr out = typer.Type(e, index);
  if (!typer.status().ok()) return typer.status();
  if (index) {
    if (IsInteger(out->dtype)) return out;
    typer.Fail(out, "E0609", "an index or size must be an integer", "cast it: i64(…)", Shown(out->dtype));
    return typer.status();
  }
  out = typer.Adapt(out, expected == kRealT ? DType::kNone : expected);
  if (!typer.status().ok()) return typer.status();
  return out;
}

Result<Expr> TypedValue(const Sdfg& s, const Tasklet& t) {
  const Container* target = s.Find(t.target);
  if (target == nullptr) return InvalidError("E0606", "there is no container '" + t.target.str() + "'");
  const DType want = target->dtype;
  HR_ASSIGN_OR_RETURN(Expr e, InferTypes(s, t.value, want));
  if (e->dtype == want) return e;
  if (IsFloat(e->dtype) && IsFloat(want)) {
    const DType to = t.op == WriteOp::kAssign ? want : ComputeType(want);
    return e->dtype == to ? e : Cast(to, e);
  }
  if ((IsFloat(e->dtype) || IsComplex(e->dtype)) && IsComplex(want)) return Cast(want, e);
  Typer typer(s);
  typer.Fail(e, "E0619", "the value assigned to '" + t.target.str() + "' has another type", CastHint(want),
             Shown(e->dtype), Shown(want));
  return typer.status();
}

DType ComputeType(DType t) { return IsFloat(t) && t != DType::kF64 && t != kRealT ? DType::kF32 : t; }

}  // namespace headrace
