#include "autodiff/map_tree.h"

#include <algorithm>

namespace headrace::autodiff {

MapTree LoadTree(const Sdfg& s, NodeId n) {
  MapTree t;
  t.node = s.nodes[n].body;
  t.origin = s.nodes[n].origin;
  t.source = n;
  if (t.IsMap()) {
    for (NodeId c : t.map().body) t.body.push_back(LoadTree(s, c));
    t.map().body.clear();
  }
  return t;
}

NodeId StoreTree(Sdfg* s, const MapTree& t) {
  Body b = t.node;
  if (auto* m = std::get_if<Map>(&b))
    for (const MapTree& c : t.body) m->body.push_back(StoreTree(s, c));
  return s->AddNode(std::move(b), t.origin);
}

const MapTree& At(const MapTree& root, const TreePath& path) {
  const MapTree* t = &root;
  for (size_t k : path) t = &t->body[k];
  return *t;
}
MapTree& At(MapTree& root, const TreePath& path) {
  return const_cast<MapTree&>(At(const_cast<const MapTree&>(root), path));
}

std::vector<const MapTree*> MapsAround(const MapTree& root, const TreePath& path) {
  std::vector<const MapTree*> out;
  const MapTree* t = &root;
  for (size_t i = 0; t->IsMap(); t = &t->body[path[i++]]) {
    out.push_back(t);
    if (i == path.size()) break;
  }
  return out;
}

std::vector<Range> RangesAround(const MapTree& root, const TreePath& path) {
  std::vector<Range> out;
  for (const MapTree* t : MapsAround(root, path))
    out.insert(out.end(), t->map().ranges.begin(), t->map().ranges.end());
  return out;
}

TreeAccesses AccessesOf(const Program& p, const Sdfg& s, const MapTree& root) {
  TreeAccesses out;
  TreePath path;
  auto reads = [&](const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (!x.Is(ExprKind::kRead)) return true;
      TreeAccess a;
      a.container = x->name;
      a.root = RootOf(s, x->name);
      a.index = IndexOf(x);
      a.flat = x->flat;
      a.guarded = x->has_default;
      a.leaf = out.leaves.size();
      out.all.push_back(std::move(a));
      return true;
    });
  };
  auto opaque = [&](Name n, bool write, std::vector<Expr> index) {
    if (n.empty()) return;
    TreeAccess a;
    a.container = n;
    a.root = RootOf(s, n);
    a.index = std::move(index);
    a.write = write;
    a.whole = true;
    a.leaf = out.leaves.size();
    out.all.push_back(std::move(a));
  };
  Callees callees(p);
  std::function<void(const MapTree&)> walk = [&](const MapTree& t) {
    if (t.IsMap()) {
      for (size_t i = 0; i < t.body.size(); ++i) {
        path.push_back(i);
        walk(t.body[i]);
        path.pop_back();
      }
      return;
    }
    if (auto* k = t.tasklet()) {
      reads(k->value);
      for (const Expr& e : k->index) reads(e);
      TreeAccess a;
      a.container = k->target;
      a.root = RootOf(s, k->target);
      a.index = k->index;
      a.write = true;
      a.flat = k->flat;
      a.guarded = k->guarded;
      a.op = k->op;
      a.leaf = out.leaves.size();
      out.all.push_back(std::move(a));
    } else if (auto* l = std::get_if<Library>(&t.node)) {
      for (const Port& q : l->inputs) opaque(q.container, false, {});
      for (const Port& q : l->outputs) opaque(q.container, true, {});
    } else if (auto* n = std::get_if<Nested>(&t.node)) {
      for (const Argument& a : n->arguments) {
        for (const Expr& e : a.index) reads(e);
        const Direction d = callees.Of(n->callee, a.port);
        if (d != Direction::kOut) opaque(a.container, false, a.index);
        if (d == Direction::kOut || d == Direction::kInOut) opaque(a.container, true, a.index);
      }
      for (const auto& x : n->symbols) reads(x.second);
    }
    out.leaves.push_back({path, t.tasklet() == nullptr});
  };
  walk(root);
  return out;
}

std::pair<MapTree, MapTree> SplitTree(const MapTree& root, const TreePath& at) {
  MapTree a = root, b = root;
  MapTree *pa = &a, *pb = &b;
  for (size_t i = 0; i < at.size(); ++i) {
    const size_t k = at[i];
    const bool last = i + 1 == at.size();
    pa->body.resize(last ? k : k + 1);
    pb->body.erase(pb->body.begin(), pb->body.begin() + static_cast<std::ptrdiff_t>(k));
    if (last) break;
    pa = &pa->body[k];
    pb = &pb->body[0];
  }
  std::function<void(MapTree*)> prune = [&](MapTree* t) {
    for (MapTree& c : t->body) prune(&c);
    t->body.erase(
        std::remove_if(t->body.begin(), t->body.end(), [](const MapTree& c) { return c.IsMap() && c.body.empty(); }),
        t->body.end());
  };
  prune(&a);
  prune(&b);
  return {std::move(a), std::move(b)};
}

void TransformTree(MapTree* t, const std::function<Expr(const Expr&)>& fn) {
  if (auto* k = t->tasklet()) {
    for (Expr& e : k->index) e = fn(e);
    k->value = fn(k->value);
  } else if (t->IsMap()) {
    for (Range& r : t->map().ranges)
      for (Expr* e : {&r.begin, &r.end, &r.step})
        if (*e) *e = fn(*e);
    for (MapTree& c : t->body) TransformTree(&c, fn);
  } else if (auto* n = std::get_if<Nested>(&t->node)) {
    for (Argument& a : n->arguments)
      for (Expr& e : a.index) e = fn(e);
    for (auto& x : n->symbols) x.second = fn(x.second);
  }
}

}  // namespace headrace::autodiff
