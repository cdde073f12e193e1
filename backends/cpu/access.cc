#include "backends/cpu/access.h"

namespace headrace::cpu {

Name BaseOf(const Sdfg& s, Name container) {
  const Container* c = s.Find(container);
  while (c && c->kind == ContainerKind::kView) c = s.Find(c->base);
  return c ? c->name : container;
}

void CollectReads(const Expr& e, std::vector<RawAccess>* out) {
  Visit(e, [&](const Expr& x) {
    if (!x.Is(ExprKind::kRead)) return true;
    RawAccess a;
    a.container = x->name;
    a.index = x->args;
    if (x->has_default) a.index.pop_back();
    a.flat = x->flat;
    out->push_back(std::move(a));
    return true;
  });
}

namespace {

void Collect(const Sdfg& s, NodeId n, std::vector<RawAccess>* out) {
  const Body& body = s.nodes[n].body;
  if (const auto* t = std::get_if<Tasklet>(&body)) {
    CollectReads(t->value, out);
    for (const Expr& i : t->index) CollectReads(i, out);
    if (t->op != WriteOp::kAssign) out->push_back({t->target, t->index, t->flat, false, t->op});
    out->push_back({t->target, t->index, t->flat, true, t->op});
  } else if (const auto* m = std::get_if<Map>(&body)) {
    for (const Range& r : m->ranges)
      for (const Expr& b : {r.begin, r.end, r.step})
        if (b) CollectReads(b, out);
  } else if (const auto* i = std::get_if<If>(&body)) {
    CollectReads(i->condition, out);
  } else if (const auto* k = std::get_if<Touch>(&body)) {
    for (const Expr& e : k->index) CollectReads(e, out);
  }
  ForEachBody(body, [&](const std::vector<NodeId>& inside) {
    for (NodeId c : inside) Collect(s, c, out);
  });
}

}  // namespace

std::vector<RawAccess> AccessesOf(const Sdfg& s, NodeId n) {
  std::vector<RawAccess> out;
  Collect(s, n, &out);
  return out;
}

}  // namespace headrace::cpu
