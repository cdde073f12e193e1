#include "backends/cpu/access.h"

#include <algorithm>
#include <map>

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
  } else if (const auto* k = std::get_if<Check>(&body)) {
    for (const Expr& e : k->index) CollectReads(e, out);
  }
  ForEachBody(body, [&](const std::vector<NodeId>& inside) {
    for (NodeId c : inside) Collect(s, c, out);
  });
}

bool Reads(const Expr& e) {
  bool found = false;
  Visit(e, [&](const Expr& x) { return found |= x.Is(ExprKind::kRead), !found; });
  return found;
}

bool Mentions(const Expr& e, Name n) {
  bool found = false;
  Visit(e, [&](const Expr& x) { return found |= x.Is(ExprKind::kSymbol) && x->name == n, !found; });
  return found;
}

}  // namespace

std::vector<RawAccess> AccessesOf(const Sdfg& s, NodeId n) {
  std::vector<RawAccess> out;
  Collect(s, n, &out);
  return out;
}

std::vector<bool> DisjointDims(const Sdfg& s, const std::vector<Range>& ranges, const std::vector<NodeId>& body,
                               const std::set<Name>& shared) {
  std::vector<RawAccess> all;
  for (NodeId n : body) Collect(s, n, &all);
  std::map<Name, std::vector<const RawAccess*>> written;
  for (const RawAccess& a : all)
    if (const Name base = BaseOf(s, a.container);
        a.write && (s.Get(base).storage != Storage::kRegister || shared.count(base)))
      written[base];
  for (const RawAccess& a : all)
    if (auto it = written.find(BaseOf(s, a.container)); it != written.end()) it->second.push_back(&a);
  std::vector<bool> disjoint(ranges.size(), true);
  for (const auto& [base, accesses] : written) {
    const bool scatter = std::any_of(accesses.begin(), accesses.end(), [](const RawAccess* a) {
      return a->write && std::any_of(a->index.begin(), a->index.end(), Reads);
    });
    // One plain write and nothing else: the verifier has shown that no two iterations share an element.
    if (accesses.size() == 1 && accesses[0]->op == WriteOp::kAssign && !scatter) continue;
    for (size_t r = 0; r < ranges.size(); ++r) {
      // One and the same dimension is this index (or the same expression of it alone) in every access.
      bool owned = false;
      const RawAccess& first = *accesses[0];
      for (size_t d = 0; d < first.index.size() && !owned; ++d) {
        const Expr& e = first.index[d];
        if (!Mentions(e, ranges[r].index) || Reads(e)) continue;
        bool alone = e.Is(ExprKind::kSymbol);
        if (!alone && IsIndexExpr(e)) {  // c * i + rest, where rest has no other index of this map
          const Expr at0 = Substitute(e, {{ranges[r].index, IntExpr(0)}}),
                     at1 = Substitute(e, {{ranges[r].index, IntExpr(1)}});
          const auto slope = AsInt(at1 - at0);
          alone = slope && *slope != 0 && Simplify(e) == at0 + IntExpr(*slope) * SymbolExpr(ranges[r].index);
          for (const Range& other : ranges)
            if (other.index != ranges[r].index && Mentions(e, other.index)) alone = false;
        }
        if (!alone) continue;
        owned = std::all_of(accesses.begin(), accesses.end(), [&](const RawAccess* a) {
          return a->container == first.container && a->flat == first.flat && a->index.size() == first.index.size() &&
                 a->index[d] == e;
        });
        // Free symbols that are inner map indices would make `rest` vary: reject them.
        if (owned && !e.Is(ExprKind::kSymbol)) {
          std::vector<Name> inner;
          std::function<void(NodeId)> visit = [&](NodeId n) {
            if (const auto* m = std::get_if<Map>(&s.nodes[n].body)) {
              for (const Range& x : m->ranges) inner.push_back(x.index);
              for (NodeId c : m->body) visit(c);
            }
          };
          for (NodeId n : body) visit(n);
          for (Name n : inner)
            if (Mentions(e, n)) owned = false;
        }
      }
      if (!owned) disjoint[r] = false;
    }
  }
  return disjoint;
}

std::vector<std::pair<NodeId, Name>> RegisterHomes(const Sdfg& s, NodeId top) {
  std::map<Name, std::vector<NodeId>> path_of;  // longest common path of maps
  std::vector<NodeId> path;
  auto use = [&](Name container) {
    const Name base = BaseOf(s, container);
    const Container* c = s.Find(base);
    if (!c || c->storage != Storage::kRegister) return;
    auto [it, fresh] = path_of.emplace(base, path);
    if (fresh) return;
    size_t k = 0;
    while (k < it->second.size() && k < path.size() && it->second[k] == path[k]) ++k;
    it->second.resize(k);
  };
  std::function<void(NodeId)> visit = [&](NodeId n) {
    if (const auto* m = std::get_if<Map>(&s.nodes[n].body)) {
      path.push_back(n);
      for (NodeId c : m->body) visit(c);
      path.pop_back();
      return;
    }
    for (const RawAccess& a : AccessesOf(s, n)) use(a.container);
    if (const auto* call = std::get_if<Nested>(&s.nodes[n].body))
      for (const Argument& a : call->arguments) use(a.container);
  };
  visit(top);
  std::vector<std::pair<NodeId, Name>> out;
  for (const auto& [name, maps] : path_of) out.push_back({maps.empty() ? top : maps.back(), name});
  return out;
}

}  // namespace headrace::cpu
