#include "transforms/share_calls.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "ir/analysis/type_inference.h"

namespace headrace {
namespace {

// Functions that take longer than a choice.
bool TakesLong(const Expr& e) {
  static constexpr std::array<std::string_view, 19> kNames = {
      "exp",  "expm1", "log",  "log1p", "log2",  "sin",   "cos",   "tan", "asin", "acos",
      "atan", "sinh",  "cosh", "tanh",  "asinh", "acosh", "atanh", "erf", "pow"};
  return e.Is(ExprKind::kCall) && std::find(kNames.begin(), kNames.end(), e->name.view()) != kNames.end();
}

bool Contains(const std::vector<Expr>& list, const Expr& e) { return std::find(list.begin(), list.end(), e) != list.end(); }

Expr Replaced(const Expr& e, const Expr& what, const Expr& by) {
  return Transform(e, [&](const Expr& x) { return x == what ? by : x; });
}

class Sharing {
 public:
  explicit Sharing(const Sdfg& s) : s_(s) {}

  Expr Of(const Expr& value) const {
    return Transform(value, [&](const Expr& e) {
      if (e.Is(ExprKind::kSelect)) return Merged(e);
      if (!e.Is(ExprKind::kCall) || !IsRealFloat(TypeOf(e->args[0]))) return e;
      if (IsCall(e, "tanh")) return Quotient(e);
      if (!IsCall(e, "pow")) return e;
      const Expr& power = e->args[1];
      const bool square = (power.Is(ExprKind::kFloat) && power->fvalue == 2) || AsInt(power) == 2;
      return square ? BinaryExpr(Op::kMul, e->args[0], e->args[0]) : e;
    });
  }

 private:
  DType TypeOf(const Expr& e) const {
    const Result<Expr> typed = InferTypes(s_, e);
    return typed.ok() ? (*typed)->dtype : DType::kNone;
  }
  static bool IsCall(const Expr& e, std::string_view name) { return e.Is(ExprKind::kCall) && e->name.view() == name; }
  static bool IsRealFloat(DType t) { return IsFloat(t) && t != DType::kReal && !IsComplex(t); }

  static bool IsZero(const Expr& e) { return AsInt(e) == 0 || (e.Is(ExprKind::kFloat) && e->fvalue == 0); }
  // What softplus is of: log1p(exp(x)), max(x, 0) + log1p(exp(-abs(x))); null where `e` is no softplus.
  static Expr UnderSoftplus(const Expr& e) {
    const bool sum = e.Is(ExprKind::kBinary) && e->op == Op::kAdd;
    const Expr& log = sum ? e->args[1] : e;
    if (!IsCall(log, "log1p") || !IsCall(log->args[0], "exp")) return {};
    const Expr& power = log->args[0]->args[0];
    if (!sum) return power;
    if (!power.Is(ExprKind::kUnary) || power->op != Op::kNeg || !IsCall(power->args[0], "abs")) return {};
    const Expr &x = power->args[0]->args[0], &most = e->args[0];
    return IsCall(most, "max") && most->args[0] == x && IsZero(most->args[1]) ? x : Expr();
  }
  // tanh(log(1 + e)) = ((1 + e)² - 1) / ((1 + e)² + 1). From 20 on it is 1 in every type, and n stays finite.
  static Expr Quotient(const Expr& tanh) {
    const Expr x = UnderSoftplus(tanh->args[0]);
    if (!x) return tanh;
    const Expr most = FloatExpr(20), two = FloatExpr(2);
    const Expr e = CallExpr("exp", {SelectExpr(BinaryExpr(Op::kGt, x, most), most, x)});
    const Expr n = BinaryExpr(Op::kMul, e, BinaryExpr(Op::kAdd, e, two));
    return BinaryExpr(Op::kDiv, n, BinaryExpr(Op::kAdd, n, two));
  }

  std::vector<Expr> LongCalls(const Expr& e) const {
    std::vector<Expr> out;
    Visit(e, [&](const Expr& x) {
      if (TakesLong(x) && !Contains(out, x) && IsRealFloat(TypeOf(x))) out.push_back(x);
      return true;
    });
    return out;
  }

  // c ? a : b, with the choice as far down as divisions on both sides allow.
  static Expr Choice(const Expr& c, const Expr& a, const Expr& b) {
    if (a == b) return a;
    const bool quotients = a.Is(ExprKind::kBinary) && b.Is(ExprKind::kBinary) && a->op == Op::kDiv && b->op == Op::kDiv;
    if (quotients && (a->args[0] == b->args[0] || a->args[1] == b->args[1]))
      return BinaryExpr(Op::kDiv, Choice(c, a->args[0], b->args[0]), Choice(c, a->args[1], b->args[1]));
    return SelectExpr(c, a, b);
  }

  // The call of what each side gives it; null where their types differ.
  Expr Shared(const Expr& c, const Expr& x, const Expr& y) const {
    if (x->name != y->name || x->args.size() != y->args.size()) return {};
    std::vector<Expr> args;
    for (size_t i = 0; i < x->args.size(); ++i) {
      const DType t = TypeOf(x->args[i]);
      if (!IsRealFloat(t) || TypeOf(y->args[i]) != t) return {};
      args.push_back(Choice(c, x->args[i], y->args[i]));
    }
    return CallExpr(x->name.str(), std::move(args));
  }

  Expr Merged(const Expr& e) const {
    const Expr &c = e->args[0], &a = e->args[1], &b = e->args[2];
    const std::vector<Expr> of_a = LongCalls(a), of_b = LongCalls(b);
    for (const Expr& x : of_a)
      for (const Expr& y : of_b) {
        if (Contains(of_b, x) || Contains(of_a, y)) continue;
        if (const Expr call = Shared(c, x, y)) return Choice(c, Replaced(a, x, call), Replaced(b, y, call));
      }
    return e;  // calls within calls would change with the first: one is what the forms need
  }

  const Sdfg& s_;
};

bool MayShare(const Expr& value) {
  bool found = false;
  Visit(value, [&](const Expr& e) {
    return found |= e.Is(ExprKind::kSelect) || (e.Is(ExprKind::kCall) && (e->name.view() == "pow" || e->name.view() == "tanh")), !found;
  });
  return found;
}

}  // namespace

Result<bool> ShareCalls(Program& p, const Ask& ask) {
  bool changed = false;
  for (const auto& shared : std::vector<std::shared_ptr<Sdfg>>(p.sdfgs)) {
    std::vector<std::pair<NodeId, Expr>> values;
    ForEachNode(*shared, [&](NodeId n) {
      const auto* t = std::get_if<Tasklet>(&shared->nodes[n].body);
      if (!t || !MayShare(t->value)) return;
      const Expr value = Sharing(*shared).Of(t->value);
      Match m;
      m.sdfg = shared->name;
      m.statements = {n};
      if (value != t->value && ask(m)) values.emplace_back(n, value);
    });
    if (values.empty()) continue;
    Sdfg& s = p.Mutable(shared->name);
    for (const auto& [n, value] : values) std::get<Tasklet>(s.nodes.Mutable(n).body).value = value;
    changed = true;
  }
  return changed;
}

}  // namespace headrace
