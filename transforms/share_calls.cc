#include "transforms/share_calls.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "ir/analysis/dataflow.h"
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

// What registers hold, each from its assignment on, as long as what it was computed of is the same.
class Held {
 public:
  explicit Held(const Sdfg& s) : s_(s) {}

  // The value of `e`: itself, but for a register that holds one.
  Expr Value(const Expr& e) const {
    const auto it = e.Is(ExprKind::kRead) && e->args.empty() ? values_.find(e->name) : values_.end();
    return it == values_.end() ? e : it->second;
  }
  void After(NodeId n) {
    const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body);
    if (!t) return values_.clear();
    const Name root = RootOf(s_, t->target);
    for (auto it = values_.begin(); it != values_.end();) it = it->first == root || Reads(it->second, root) ? values_.erase(it) : std::next(it);
    const Container& c = s_.Get(t->target);
    const bool whole = c.storage == Storage::kRegister && c.shape.empty() && t->op == WriteOp::kAssign && !t->guarded && !t->flat;
    if (!whole || Reads(t->value, root)) return;
    const Result<Expr> typed = InferTypes(s_, t->value);
    if (typed.ok() && (*typed)->dtype == c.dtype) values_[root] = t->value;  // nothing is rounded on the way
  }

 private:
  bool Reads(const Expr& e, Name root) const {
    for (Name n : ReadContainers(e))
      if (RootOf(s_, n) == root) return true;
    return false;
  }

  const Sdfg& s_;
  std::map<Name, Expr> values_;
};

class Sharing {
 public:
  Sharing(const Sdfg& s, const Held& held) : s_(s), held_(held) {}

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
  Expr UnderSoftplus(const Expr& held) const {
    const Expr e = held_.Value(held);
    const bool sum = e.Is(ExprKind::kBinary) && e->op == Op::kAdd;
    const Expr log = sum ? held_.Value(e->args[1]) : e, exp = IsCall(log, "log1p") ? held_.Value(log->args[0]) : Expr();
    if (!exp || !IsCall(exp, "exp")) return {};
    if (!sum) return exp->args[0];
    const Expr power = held_.Value(exp->args[0]), size = power.Is(ExprKind::kUnary) && power->op == Op::kNeg ? held_.Value(power->args[0]) : Expr();
    if (!size || !IsCall(size, "abs")) return {};
    const Expr &x = size->args[0], most = held_.Value(e->args[0]);
    return IsCall(most, "max") && most->args[0] == x && IsZero(most->args[1]) ? x : Expr();
  }
  // tanh(log(1 + e)) = ((1 + e)² - 1) / ((1 + e)² + 1). From 20 on it is 1 in every type, and n stays finite.
  Expr Quotient(const Expr& tanh) const {
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
  const Held& held_;
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
    if (shared->kernel) continue;
    std::vector<std::pair<NodeId, Expr>> values;
    const auto share = [&](NodeId n, const Held& held) {
      const auto* t = std::get_if<Tasklet>(&shared->nodes[n].body);
      if (!t || !MayShare(t->value)) return;
      const Expr value = Sharing(*shared, held).Of(t->value);
      Match m;
      m.sdfg = shared->name;
      m.statements = {n};
      if (value != t->value && ask(m)) values.emplace_back(n, value);
    };
    const auto may_share = [&](NodeId n) {
      const auto* t = std::get_if<Tasklet>(&shared->nodes[n].body);
      return t && MayShare(t->value);
    };
    ForEachNode(*shared, [&](NodeId n) { share(n, Held(*shared)); }, false);
    ForEachNode(*shared, [&](NodeId n) {
      const auto* map = std::get_if<Map>(&shared->nodes[n].body);
      if (!map || std::none_of(map->body.begin(), map->body.end(), may_share)) return;
      Held held(*shared);
      for (NodeId inner : map->body) share(inner, held), held.After(inner);
    });
    if (values.empty()) continue;
    Sdfg& s = p.Mutable(shared->name);
    for (const auto& [n, value] : values) std::get<Tasklet>(s.nodes.Mutable(n).body).value = value;
    changed = true;
  }
  return changed;
}

}  // namespace headrace
