#include "driver/parameters.h"

#include <algorithm>

namespace headrace {
namespace {

bool IsSmooth(DType t) { return IsFloat(t) || IsComplex(t); }

// Variadic ports and ports of ops without a signature may be differentiable.
bool MayCarryGradient(const Registry& r, const Library& l, Name port) {
  const OpSignature* op = r.FindOp(l.domain.str(), l.op.str(), l.version);
  if (!op) return true;
  for (const PortSignature& q : op->inputs)
    if (Name(q.name) == port) return q.differentiable;
  return true;
}

bool Reads(const Sdfg& s, const Expr& e, Name n);

// Uses of `constant` in ports where no gradient flows, and whether there are others.
struct Uses {
  std::vector<std::pair<NodeId, size_t>> fixed;
  bool others = false;
};

Uses UsesOf(const Registry& r, const Sdfg& s, Name constant) {
  Uses out;
  bool elsewhere = false;  // views, tasklets, calls
  ForEachNode(s, [&](NodeId n) {
    if (auto* l = std::get_if<Library>(&s.nodes[n].body)) {
      for (size_t i = 0; i < l->inputs.size(); ++i) {
        if (l->inputs[i].container != constant) continue;
        if (MayCarryGradient(r, *l, l->inputs[i].name)) out.others = true;
        else out.fixed.emplace_back(n, i);
      }
    } else if (auto* t = std::get_if<Tasklet>(&s.nodes[n].body)) {
      elsewhere |= Reads(s, t->value, constant);
    } else if (auto* call = std::get_if<Nested>(&s.nodes[n].body)) {
      for (const Argument& a : call->arguments) elsewhere |= a.container == constant;
    }
  });
  for (Name n : s.order) elsewhere |= s.Get(n).kind == ContainerKind::kView && s.Get(n).base == constant;
  out.others |= elsewhere;
  return out;
}

bool Reads(const Sdfg& s, const Expr& e, Name n) {
  if (!e) return false;
  if (e.Is(ExprKind::kRead) && e->name == n) return true;
  for (const Expr& a : e->args)
    if (Reads(s, a, n)) return true;
  return false;
}

}  // namespace

std::vector<Parameter> Differentiable(const ImportedModel& m, bool from_text) {
  std::vector<Parameter> out;
  const Sdfg& s = m.program.Entry();
  for (Name n : Inputs(m.program, s))
    if (const Container& c = s.Get(n); c.kind == ContainerKind::kParameter && IsSmooth(c.dtype))
      out.push_back({n, m.OriginalName(n), false});
  for (Name n : s.order) {
    const Container& c = s.Get(n);
    if (c.kind != ContainerKind::kConstant || !IsSmooth(c.dtype)) continue;
    if (c.origin.named()) out.push_back({n, c.origin.Label(), true});
    else if (from_text) out.push_back({n, n.str(), true});
  }
  return out;
}

bool GradientCanFlow(const Registry& r, const Program& p, Name constant) {
  return UsesOf(r, p.Entry(), constant).others;
}

Result<Tensor> MakeInput(const Registry& r, Program& p, const Parameter& q) {
  const Uses uses = UsesOf(r, p.Entry(), q.container);
  if (!uses.others) {
    std::string where;
    if (!uses.fixed.empty()) {
      const auto& l = std::get<Library>(p.Entry().nodes[uses.fixed[0].first].body);
      where = "; it goes into " + l.domain.str() + "." + l.op.str() + " as '" +
              l.inputs[uses.fixed[0].second].name.str() + "'";
    }
    return UsageError("E0447", "no gradient can flow to parameter '" + q.original + "'" + where);
  }
  Sdfg& s = p.MutableEntry();
  const Tensor data = s.Get(q.container).data;
  if (!uses.fixed.empty()) {
    Container copy = s.Get(q.container);
    copy.name = s.FreshName(q.container.str() + "_value");
    s.Add(copy);
    for (const auto& [n, i] : uses.fixed) {
      Node node = s.nodes[n];
      std::get<Library>(node.body).inputs[i].container = copy.name;
      s.nodes.Mutable(n) = std::move(node);
    }
  }
  Container& c = s.Mutable(q.container);
  c.kind = ContainerKind::kParameter;
  c.data = Tensor();
  s.parameters.push_back(q.container);
  std::stable_partition(s.order.begin(), s.order.end(),
                        [&](Name n) { return s.Get(n).kind == ContainerKind::kParameter; });
  return data;
}

}  // namespace headrace
