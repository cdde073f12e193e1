#include "transforms/one_sided_sigmoids.h"

#include "ir/analysis/dataflow.h"
#include "ir/analysis/type_inference.h"

namespace headrace {
namespace {

bool IsNumber(const Expr& e, int value) { return AsInt(e) == value || (e.Is(ExprKind::kFloat) && e->fvalue == value); }
bool IsBinary(const Expr& e, Op op) { return e.Is(ExprKind::kBinary) && e->op == op; }
bool IsMinus(const Expr& e, const Expr& x) { return e.Is(ExprKind::kUnary) && e->op == Op::kNeg && e->args[0] == x; }
bool IsExp(const Expr& e) { return e.Is(ExprKind::kCall) && e->name.view() == "exp"; }

// c ? a : b by the sign of x: what there is of an x below 0, and of another one.
struct BySign {
  Expr x, below, other;
};
BySign SplitBySign(const Expr& e) {
  if (!e.Is(ExprKind::kSelect)) return {};
  const Expr& c = e->args[0];
  const bool below = IsBinary(c, Op::kLt) || IsBinary(c, Op::kLe), above = IsBinary(c, Op::kGt) || IsBinary(c, Op::kGe);
  if ((!below && !above) || !IsNumber(c->args[1], 0)) return {};
  return {c->args[0], e->args[below ? 1 : 2], e->args[below ? 2 : 1]};
}

// What `e` is the sigmoid of; null where it is none.
Expr UnderSigmoid(const Expr& e) {
  if (!IsBinary(e, Op::kDiv) || !IsBinary(e->args[1], Op::kAdd)) return {};
  const Expr& sum = e->args[1];
  const Expr exp = IsNumber(sum->args[0], 1) ? sum->args[1] : IsNumber(sum->args[1], 1) ? sum->args[0] : Expr();
  if (!exp || !IsExp(exp)) return {};
  const BySign over = SplitBySign(e->args[0]), power = SplitBySign(exp->args[0]);
  const bool fits = over.x && power.x && over.x == power.x && over.below == exp && IsNumber(over.other, 1);
  return fits && power.below == power.x && IsMinus(power.other, power.x) ? power.x : Expr();
}

Expr OneSided(const Sdfg& s, const Expr& value) {
  return Transform(value, [&](const Expr& e) {
    const Expr x = UnderSigmoid(e);
    if (!x) return e;
    const Result<Expr> typed = InferTypes(s, x);
    if (!typed.ok() || ((*typed)->dtype != DType::kF32 && (*typed)->dtype != DType::kBF16)) return e;
    return BinaryExpr(Op::kDiv, FloatExpr(1), BinaryExpr(Op::kAdd, FloatExpr(1), CallExpr("exp", {UnaryExpr(Op::kNeg, x)})));
  });
}

bool MayHold(const Expr& value) {
  bool found = false;
  Visit(value, [&](const Expr& e) { return found |= IsBinary(e, Op::kDiv) && e->args[0].Is(ExprKind::kSelect), !found; });
  return found;
}
// Whether a kernel's statement may: most kernels have none. They are looked at as they lie in memory.
bool MayHold(const Sdfg& s) {
  for (uint32_t i = 0; i < s.nodes.size(); ++i)
    if (const auto* t = std::get_if<Tasklet>(&s.nodes[NodeId{i}].body); t && MayHold(t->value)) return true;
  return false;
}

}  // namespace

Result<bool> OneSidedSigmoids(Program& p, const Ask& ask) {
  bool changed = false;
  for (const auto& shared : std::vector<std::shared_ptr<Sdfg>>(p.sdfgs)) {
    if (!shared->flush || (shared->kernel && !MayHold(*shared))) continue;
    std::vector<std::pair<NodeId, Expr>> values;
    ForEachNode(*shared, [&](NodeId n) {
      const auto* t = std::get_if<Tasklet>(&shared->nodes[n].body);
      if (!t || !MayHold(t->value)) return;
      const Expr value = OneSided(*shared, t->value);
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
