// Reverse accumulation on the graph of one expression: users before operands, each node's adjoint complete when it is
// reached. Contributions out of an arm of `c ? a : b` live in that arm's context, so a factor that is inf or NaN in the arm
// not taken never meets the gradient.
#include "autodiff/derivative.h"

#include <cmath>
#include <string>
#include <unordered_map>

#include "autodiff/expression_dag.h"
#include "ir/analysis/type_inference.h"
#include "ir/expr/functions.h"

namespace headrace::autodiff {
namespace {

class Differentiator {
 public:
  Differentiator(const Sdfg& s, const std::function<bool(Name)>& active) : dag_(s), contexts_(dag_), active_(active) {}

  Result<Derivative> Run(const Expr& value, const Expr& seed, const std::function<Name(std::string_view)>& fresh) {
    const Ref root = dag_.Intern(value);
    const int n = dag_.size();
    FindActive(n);
    at_ = contexts_.Analyze({root});
    at_.resize(n);  // bounds of reads were added behind the value
    adjoint_.resize(n);
    Derivative out;
    if (depends_[root]) adjoint_[root].push_back({0, Convert(dag_.Intern(seed), dag_.type(root))});
    std::vector<Ref> roots;
    for (Ref r = n - 1; r >= 0 && status_.ok(); --r) {
      if (adjoint_[r].empty()) continue;
      const Ref g = contexts_.Sum(at_[r], adjoint_[r]);
      if (!dag_.expr(r).Is(ExprKind::kRead)) {
        Operands(r, g);
        continue;
      }
      Read(r, g);
      const Expr read = dag_.expr(r);
      if (!active_(read->name)) continue;
      roots.push_back(dag_.Cast(read->dtype, contexts_.Restrict(g, at_[r])));
      const bool indexed = read->args.size() > (read->has_default ? 1 : 0);
      out.contributions.push_back({read, {}, read->has_default || (at_[r] != 0 && indexed)});
    }
    if (!status_.ok()) return status_;
    const auto safe = [this, n](Ref r) {
      const Expr& e = dag_.expr(r);
      bool data = false;  // an index that is data
      for (size_t i = 0; i + (e->has_default ? 1 : 0) < e->args.size(); ++i) data |= !IsIndexExpr(e->args[i]);
      return e->args.empty() || (r < n && at_[r] == 0) || (e->has_default && !data);
    };
    const std::vector<Expr> values = Linearize(dag_, roots, safe, fresh, &out.shared);
    for (size_t i = 0; i < values.size(); ++i) out.contributions[i].value = values[i];
    return out;
  }

 private:
  // Which values vary with the active containers.
  void FindActive(int n) {
    depends_.assign(n, false);
    for (Ref r = 0; r < n; ++r) {
      const Expr& e = dag_.expr(r);
      if (!IsFloat(e->dtype) && !IsComplex(e->dtype)) continue;
      bool d = e.Is(ExprKind::kRead) && active_(e->name);
      const std::vector<Ref>& args = dag_.args(r);
      for (size_t k = e.Is(ExprKind::kSelect) ? 1 : 0; k < args.size(); ++k) d = d || depends_[args[k]];
      static const Name kConstant[] = {"hold", "floor", "ceil", "rint", "trunc", "sign"};
      for (Name f : kConstant) d = d && !(e.Is(ExprKind::kCall) && e->name == f);
      depends_[r] = d && !(e.Is(ExprKind::kBinary) && e->op == Op::kFloorDiv);
    }
  }

  // An adjoint as one of type t: casts of floats are transposed by casts, the cast of a real to a complex number by the real part.
  Ref Convert(Ref g, DType t) {
    t = ComputeType(t);
    if (IsComplex(dag_.type(g)) && !IsComplex(t))
      return dag_.Cast(t, dag_.Call("real", {g}, dag_.type(g) == DType::kC64 ? DType::kF32 : DType::kF64));
    return dag_.Cast(t, g);
  }

  void Give(Ref to, Ref g, int context) {
    if (depends_[to]) adjoint_[to].push_back({context, Convert(g, dag_.type(to))});
  }

  void Read(Ref r, Ref g) {
    if (!dag_.args(r).empty()) Give(dag_.args(r)[0], g, contexts_.Arm(at_[r], dag_.InBounds(dag_.expr(r)), false));
  }

  void Operands(Ref r, Ref g) {
    const Expr e = dag_.expr(r);
    const std::vector<Ref> a = dag_.args(r);
    const int at = at_[r];
    switch (e->kind) {
      case ExprKind::kSelect:
        Give(a[1], g, contexts_.Arm(at, a[0], true));
        Give(a[2], g, contexts_.Arm(at, a[0], false));
        return;
      case ExprKind::kCast: {
        if (!e->saturate) return Give(a[0], g, at);
        const Ref limit = Number(HighestFloat(e->dtype), a[0]),
                  inside = Less(dag_.Call("abs", {a[0]}, dag_.type(a[0])), limit, Op::kLe);
        return Give(a[0], dag_.Select(inside, g, Number(0, g)), at);
      }
      case ExprKind::kUnary:
        if (e->op == Op::kNeg) return Give(a[0], dag_.Neg(g), at);
        break;
      case ExprKind::kBinary:
        if (Arithmetic(r, e->op, a, g, at)) return;
        break;
      case ExprKind::kCall:
        if (a.size() == 1) {
          const Ref d = Unary(e->name.view(), r, a[0], g);
          if (d >= 0) return Give(a[0], d, at);
        } else if (Function(e->name.view(), r, a, g, at)) {
          return;
        }
        break;
      default: break;
    }
    const std::string what =
        e.Is(ExprKind::kCall) ? "the function '" + e->name.str() + "'" : "'" + std::string(OpToken(e->op)) + "'";
    status_ = UnsupportedError("E0803", 
        what + (IsComplex(e->dtype) ? " of complex numbers" : "") + " has no derivative, in " + ToString(e),
        "write hold(…) around it if its derivative shall be 0");
  }

  bool Arithmetic(Ref r, Op op, const std::vector<Ref>& a, Ref g, int at) {
    const Ref x = a[0], y = a[1];
    switch (op) {
      case Op::kAdd:
        Give(x, g, at);
        Give(y, g, at);
        return true;
      case Op::kSub:
        Give(x, g, at);
        Give(y, dag_.Neg(g), at);
        return true;
      case Op::kMul:
        if (depends_[x]) Give(x, dag_.Mul(g, y), at);
        if (depends_[y]) Give(y, dag_.Mul(g, x), at);
        return true;
      case Op::kDiv:  // -g * ((x / y) / y), not g / y * r: g / y overflows where x / y is 0
        if (depends_[x]) Give(x, dag_.Div(g, y), at);
        if (depends_[y]) Give(y, dag_.Neg(dag_.Mul(g, dag_.Div(r, y))), at);
        return true;
      case Op::kMod:  // x - floor(x / y) * y
        Give(x, g, at);
        if (depends_[y]) Give(y, dag_.Neg(dag_.Mul(g, dag_.Call("floor", {dag_.Div(x, y)}, dag_.type(r)))), at);
        return true;
      default: return false;
    }
  }

  // g times the derivative of `r` = fn(x); -1 when there is no rule.
  Ref Unary(std::string_view fn, Ref r, Ref x, Ref g) {
    const DType t = dag_.type(x);
    const auto call = [&](const char* f, Ref a) { return dag_.Call(f, {a}, t); };
    const auto number = [&](double v) { return dag_.Literal(v, t); };
    const auto square = [&](Ref a) { return dag_.Mul(a, a); };
    const auto one_minus_square = [&] {
      return dag_.Mul(dag_.Sub(number(1), x), dag_.Add(number(1), x));
    };  // no cancellation near 1
    if (IsComplex(t) && (fn == "abs" || fn == "real" || fn == "imag" || fn == "conj")) return ComplexPart(fn, r, x, g);
    if (fn == "exp") return dag_.Mul(g, r);
    if (fn == "expm1") return dag_.Mul(g, dag_.Add(r, number(1)));
    if (fn == "log") return dag_.Div(g, x);
    if (fn == "log1p") return dag_.Div(g, dag_.Add(x, number(1)));
    if (fn == "log2") return dag_.Div(g, dag_.Mul(x, number(M_LN2)));
    if (fn == "sqrt") return dag_.Div(g, dag_.Mul(number(2), r));
    if (fn == "rsqrt") return dag_.Mul(dag_.Mul(number(-0.5), g), dag_.Mul(r, square(r)));
    if (fn == "sin") return dag_.Mul(g, call("cos", x));
    if (fn == "cos") return dag_.Neg(dag_.Mul(g, call("sin", x)));
    if (fn == "tan") return dag_.Mul(g, dag_.Add(number(1), square(r)));
    if (fn == "sinh") return dag_.Mul(g, call("cosh", x));
    if (fn == "cosh") return dag_.Mul(g, call("sinh", x));
    if (fn == "tanh") return dag_.Mul(g, dag_.Sub(number(1), square(r)));
    if (IsComplex(t)) return -1;
    if (fn == "asin") return dag_.Div(g, call("sqrt", one_minus_square()));
    if (fn == "acos") return dag_.Neg(dag_.Div(g, call("sqrt", one_minus_square())));
    if (fn == "atan") return dag_.Div(g, dag_.Add(square(x), number(1)));
    if (fn == "asinh") return dag_.Div(g, call("sqrt", dag_.Add(square(x), number(1))));
    if (fn == "acosh") return dag_.Div(g, call("sqrt", dag_.Mul(dag_.Sub(x, number(1)), dag_.Add(x, number(1)))));
    if (fn == "atanh") return dag_.Div(g, one_minus_square());
    if (fn == "erf") return dag_.Mul(dag_.Mul(number(M_2_SQRTPI), g), call("exp", dag_.Neg(square(x))));
    if (fn == "abs") return dag_.Mul(g, call("sign", x));
    return -1;
  }

  // The pairing is Re(adjoint · dz).
  Ref ComplexPart(std::string_view fn, Ref r, Ref z, Ref g) {
    const DType c = dag_.type(z), part = c == DType::kC64 ? DType::kF32 : DType::kF64;
    const auto complex = [&](Ref re, Ref im) { return dag_.Call("complex", {re, im}, c); };
    if (fn == "conj") return dag_.Call("conj", {g}, c);
    if (fn == "real") return complex(g, dag_.Literal(0, part));
    if (fn == "imag") return complex(dag_.Literal(0, part), dag_.Neg(g));
    const Ref zero = dag_.Binary(Op::kEq, r, dag_.Literal(0, part)),
              scale = dag_.Select(zero, dag_.Literal(0, part), dag_.Div(g, r));
    return dag_.Mul(dag_.Cast(c, scale), dag_.Call("conj", {z}, c));
  }

  bool Function(std::string_view fn, Ref r, const std::vector<Ref>& a, Ref g, int at) {
    const Ref x = a[0], y = a[1], zero = Number(0, g);
    if (fn == "min" || fn == "max") {
      // Half each at a tie; both where one is NaN.
      const Op loses = fn == "max" ? Op::kLt : Op::kGt;
      const auto share = [&](Ref mine, Ref other) {
        const Ref tie = dag_.Binary(Op::kEq, mine, other);
        return dag_.Select(Less(mine, other, loses), zero, dag_.Select(tie, dag_.Mul(Number(0.5, g), g), g));
      };
      if (depends_[x]) Give(x, share(x, y), at);
      if (depends_[y]) Give(y, share(y, x), at);
      return true;
    }
    if (fn == "clamp") {  // 1 at the bounds; where they cross, the value is the upper one
      const Ref lo = y, hi = a[2];
      if (depends_[x])
        Give(x, dag_.Select(dag_.Binary(Op::kAnd, Less(lo, x, Op::kLe), Less(x, hi, Op::kLe)), g, zero), at);
      if (depends_[lo]) Give(lo, dag_.Select(dag_.Binary(Op::kAnd, Less(x, lo), Less(lo, hi)), g, zero), at);
      if (depends_[hi]) Give(hi, dag_.Select(dag_.Binary(Op::kOr, Less(hi, x), Less(hi, lo)), g, zero), at);
      return true;
    }
    if (fn == "pow") {
      Power(r, x, y, g, at);
      return true;
    }
    if (fn == "fmod") {
      Give(x, g, at);
      if (depends_[y]) Give(y, dag_.Neg(dag_.Mul(g, dag_.Call("trunc", {dag_.Div(x, y)}, dag_.type(r)))), at);
      return true;
    }
    if (fn == "fma") {
      if (depends_[x]) Give(x, dag_.Mul(g, y), at);
      if (depends_[y]) Give(y, dag_.Mul(g, x), at);
      if (depends_[a[2]]) Give(a[2], g, at);
      return true;
    }
    if (fn == "atan2") {
      Angle(x, y, g, at);
      return true;
    }
    if (fn == "complex") {
      const DType part = dag_.type(x);
      if (depends_[x]) Give(x, dag_.Call("real", {g}, part), at);
      if (depends_[y]) Give(y, dag_.Neg(dag_.Call("imag", {g}, part)), at);
      return true;
    }
    return false;
  }

  void Power(Ref r, Ref x, Ref y, Ref g, int at) {
    const DType t = dag_.type(r);
    if (depends_[x]) {
      const std::optional<double> k = dag_.Number(y);
      if (k == 0.0) {
      } else if (k == 1.0) {
        Give(x, g, at);
      } else if (k) {
        const Ref less = *k == 2.0 ? x : *k == 3.0 ? dag_.Mul(x, x) : dag_.Call("pow", {x, Number(*k - 1, r)}, t);
        Give(x, dag_.Mul(g, dag_.Mul(Number(*k, r), less)), at);
      } else {
        const Ref less = dag_.Call("pow", {x, dag_.Sub(y, Number(1, r))}, t);
        Give(x, dag_.Select(dag_.Binary(Op::kEq, y, Number(0, y)), Number(0, g), dag_.Mul(g, dag_.Mul(y, less))), at);
      }
    }
    if (depends_[y]) {
      Ref flat = dag_.Binary(Op::kEq, x, Number(0, x));  // 0 to a positive power stays 0
      if (!IsComplex(t)) flat = dag_.Binary(Op::kAnd, flat, Less(Number(0, y), y, Op::kLe));
      Give(y, dag_.Select(flat, Number(0, g), dag_.Mul(g, dag_.Mul(r, dag_.Call("log", {x}, t)))), at);
    }
  }

  // atan2(y, x): x / (x² + y²) and -y / (x² + y²) without squares that overflow or vanish; 0 at the origin.
  void Angle(Ref y, Ref x, Ref g, int at) {
    const DType t = dag_.type(x);
    const auto abs = [&](Ref v) { return dag_.Call("abs", {v}, t); };
    const Ref wide = Less(abs(y), abs(x)), big = dag_.Select(wide, x, y), small = dag_.Select(wide, y, x);
    const Ref q = dag_.Div(small, big), one = Number(1, q),
              scale = dag_.Div(g, dag_.Mul(big, dag_.Add(one, dag_.Mul(q, q))));
    const Ref origin = dag_.Binary(Op::kEq, big, Number(0, big)), turned = dag_.Mul(scale, q);
    if (depends_[y]) Give(y, dag_.Select(origin, Number(0, g), dag_.Select(wide, scale, turned)), at);
    if (depends_[x]) Give(x, dag_.Select(origin, Number(0, g), dag_.Neg(dag_.Select(wide, turned, scale))), at);
  }

  Ref Number(double v, Ref like) { return dag_.Literal(v, dag_.type(like)); }
  Ref Less(Ref a, Ref b, Op op = Op::kLt) { return dag_.Binary(op, a, b); }

  ExpressionDag dag_;
  Contexts contexts_;
  const std::function<bool(Name)>& active_;
  std::vector<bool> depends_;
  std::vector<int> at_;
  std::vector<std::vector<Contexts::Item>> adjoint_;
  Status status_;
};

}  // namespace

Result<Derivative> Differentiate(const Sdfg& s, const Expr& value, const Expr& seed,
                                 const std::function<bool(Name container)>& active,
                                 const std::function<Name(std::string_view)>& fresh) {
  return Differentiator(s, active).Run(value, seed, fresh);
}

}  // namespace headrace::autodiff
