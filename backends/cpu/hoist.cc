#include "backends/cpu/hoist.h"

#include <algorithm>
#include <array>
#include <vector>

#include "backends/cpu/affine.h"
#include "backends/cpu/ctypes.h"
#include "backends/cpu/lower.h"

namespace headrace::cpu {
namespace {

bool Contains(const Expr& e, const std::function<bool(const Expr&)>& what) {
  bool found = false;
  Visit(e, [&](const Expr& x) { return found |= what(x), !found; });
  return found;
}

bool Concrete(DType t) {
  return t != DType::kNone && (IsFloat(t) || IsInteger(t) || t == DType::kBool) && t != DType::kReal &&
         t != DType::kIndex;
}

// Functions that take longer than a blend.
bool Expensive(const Expr& e) {
  static constexpr std::array<std::string_view, 19> kNames = {
      "exp",  "expm1", "log",  "log1p", "log2",  "sin",   "cos",   "tan", "asin", "acos",
      "atan", "sinh",  "cosh", "tanh",  "asinh", "acosh", "atanh", "erf", "pow"};
  return e.Is(ExprKind::kCall) && std::find(kNames.begin(), kNames.end(), e->name.view()) != kNames.end();
}

bool Floats(const Expr& e) { return IsFloat(e->dtype) && e->dtype != DType::kReal && !IsComplex(e->dtype); }

std::vector<Expr> ExpensiveCalls(const Expr& e) {
  std::vector<Expr> out;
  Visit(e, [&](const Expr& x) {
    if (IsFn(x, kGuardFn)) return false;
    if (Expensive(x) && Floats(x) && std::find(out.begin(), out.end(), x) == out.end()) out.push_back(x);
    return true;
  });
  return out;
}

Expr SwapIn(const Expr& e, const Expr& what, const Expr& by) {
  return Transform(e, [&](const Expr& x) { return x == what ? by : x; });
}

// c ? a : b, with the select as far down as divisions on both sides allow.
Expr Select(const Expr& c, const Expr& a, const Expr& b, DType t) {
  if (a == b) return a;
  const bool quotients = a.Is(ExprKind::kBinary) && b.Is(ExprKind::kBinary) && a->op == Op::kDiv && b->op == Op::kDiv &&
                         Floats(a) && a->dtype == b->dtype;
  if (quotients && (a->args[0] == b->args[0] || a->args[1] == b->args[1]))
    return WithArgs(a, {Select(c, a->args[0], b->args[0], a->dtype), Select(c, a->args[1], b->args[1], a->dtype)});
  return WithType(SelectExpr(c, a, b), t);
}

Expr MergeSelect(const Expr& e) {
  const Expr c = e->args[0];
  Expr a = e->args[1], b = e->args[2];
  if (!Floats(e) || Contains(e, [](const Expr& x) { return IsFn(x, kBadFn); })) return e;
  bool merged = false;
  std::vector<Expr> of_a = ExpensiveCalls(a), of_b = ExpensiveCalls(b);
  for (const Expr& x : of_a) {
    if (std::find(of_b.begin(), of_b.end(), x) != of_b.end()) continue;
    for (Expr& y : of_b) {
      if (!y || y->name != x->name || y->dtype != x->dtype || y->args.size() != x->args.size()) continue;
      if (std::find(of_a.begin(), of_a.end(), y) != of_a.end()) continue;
      std::vector<Expr> args;
      for (size_t i = 0; i < x->args.size() && Floats(x->args[i]) && y->args[i]->dtype == x->args[i]->dtype; ++i)
        args.push_back(Select(c, x->args[i], y->args[i], x->args[i]->dtype));
      if (args.size() != x->args.size()) continue;
      const Expr call = WithArgs(x, args);
      a = SwapIn(a, x, call);
      b = SwapIn(b, y, call);
      y = {};
      merged = true;
      break;
    }
    if (merged) break;  // calls within calls changed: once is what the forms need
  }
  return merged ? Select(c, a, b, e->dtype) : e;
}

}  // namespace

Expr Replace(const Expr& e, const Expr& what, const Expr& by) { return e ? SwapIn(e, what, by) : e; }

Expr FindInvariantCheck(const Expr& value, Name index) {
  if (!value) return {};
  auto bad = [](const Expr& x) { return IsFn(x, kBadFn); };
  if (IsFn(value, kGuardFn)) {
    if (Expr inner = FindInvariantCheck(value->args[0], index)) return inner;
    if (IsFn(value->args[2], kBadFn) && !Mentions(value->args[0], index) && !Contains(value->args[0], bad))
      return value;
    return {};
  }
  if (value.Is(ExprKind::kCall) && value->name.view()[0] == '$') return {};
  // What may not be evaluated is not checked.
  const bool first_only =
      value.Is(ExprKind::kSelect) || (value.Is(ExprKind::kBinary) && (value->op == Op::kAnd || value->op == Op::kOr));
  for (size_t i = 0; i < (first_only ? 1 : value->args.size()); ++i)
    if (Expr found = FindInvariantCheck(value->args[i], index)) return found;
  return {};
}

Expr LocalExpr(const std::string& text, DType t) {
  ExprNode n;
  n.kind = ExprKind::kCall;
  n.name = kLocalFn;
  n.text = text;
  n.dtype = t;
  return Expr(std::move(n));
}

Expr HoistInvariants(const Expr& value, Name index, const std::set<Name>& written, const std::string& nonempty,
                     const std::function<bool(Name)>& is_register, Env& env, Writer& w) {
  auto invariant = [&](const Expr& e) {
    return !Contains(e, [&](const Expr& x) {
      return (x.Is(ExprKind::kSymbol) && x->name == index) || (x.Is(ExprKind::kRead) && written.count(x->name)) ||
             IsFn(x, kBadFn);
    });
  };
  auto costs = [&](const Expr& e) {
    return Contains(e, [&](const Expr& x) {
      return (x.Is(ExprKind::kRead) && !is_register(x->name)) || Expensive(x) ||
             (x.Is(ExprKind::kCall) && x->name.view().substr(0, 4) == "sqrt") ||
             (x.Is(ExprKind::kBinary) && x->op == Op::kDiv && IsFloat(x->dtype));
    });
  };
  std::function<Expr(const Expr&)> visit = [&](const Expr& e) -> Expr {
    if (e->args.empty() && !e.Is(ExprKind::kRead)) return e;
    if (Concrete(e->dtype) && !IsComplex(e->dtype) && invariant(e)) {
      if (!costs(e)) return e;
      const DType t = e->dtype;
      const std::string name = "h" + std::to_string(env.next_temp++);
      const std::string type = ValueType(t);
      if (!nonempty.empty()) {
        w.Line(type + " " + name + " = 0;");
        w.Open("if (" + nonempty + ") {");
      }
      ExprCode code(env, w);
      code.Use(e);
      const std::string text = Bare(code.Value(e));
      w.Line((nonempty.empty() ? "const " + type + " " : "") + name + " = " + text + ";");
      if (!nonempty.empty()) w.Close();
      return LocalExpr(name, t);
    }
    if (e.Is(ExprKind::kRead) || IsFn(e, kGuardFn)) return e;  // an address; a read that must not happen unguarded
    std::vector<Expr> args;
    bool changed = false;
    for (const Expr& a : e->args) {
      args.push_back(visit(a));
      changed |= args.back().id() != a.id();
    }
    return changed ? WithArgs(e, args) : e;
  };
  return visit(value);
}

Expr CheaperCalls(const Expr& value) {
  return Transform(value, [](const Expr& e) {
    if (e.Is(ExprKind::kSelect)) return MergeSelect(e);
    if (!IsFn(e, "pow") || !Floats(e)) return e;
    Expr power = e->args[1];
    while (power.Is(ExprKind::kCast) && Floats(power)) power = power->args[0];
    const bool square = (power.Is(ExprKind::kFloat) && power->fvalue == 2) || AsInt(power) == 2;
    return square ? WithType(BinaryExpr(Op::kMul, e->args[0], e->args[0]), e->dtype) : e;
  });
}

}  // namespace headrace::cpu
