#include "autodiff/statement_access.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"

namespace headrace::autodiff {
namespace {

bool Contains(const std::vector<Name>& list, Name n) { return std::find(list.begin(), list.end(), n) != list.end(); }

class Finder {
 public:
  Finder(const Program& p, const Sdfg& s) : callees_(p), s_(s) {}

  void Statement(NodeId n, const std::vector<Name>& bound) {
    const Body& b = s_.nodes[n].body;
    if (auto* t = std::get_if<Tasklet>(&b)) {
      for (const Expr& e : t->index) Read(e, bound);
      Read(t->value, bound);
      Touch(t->target, t->op != WriteOp::kAssign, true);
    } else if (auto* m = std::get_if<Map>(&b)) {
      std::vector<Name> inside = bound;
      for (const Range& r : m->ranges) {
        for (const Expr& e : {r.begin, r.end, r.step}) Read(e, inside);
        inside.push_back(r.index);
        out_.indices.insert(r.index);
      }
      for (NodeId c : m->body) Statement(c, inside);
    } else if (auto* call = std::get_if<Nested>(&b)) {
      Put(&out_.callees, call->callee);
      for (const Argument& a : call->arguments) {
        for (const Expr& e : a.index) Read(e, bound);
        const Direction d = callees_.Of(call->callee, a.port);
        Touch(a.container, d != Direction::kOut, d == Direction::kOut || d == Direction::kInOut);
      }
      for (const auto& x : call->symbols) Read(x.second, bound);
    } else if (auto* l = std::get_if<Library>(&b)) {
      for (const Port& port : l->inputs) Touch(port.container, true, false);
      for (const Port& port : l->outputs) Touch(port.container, false, true);
      for (const auto& a : l->attributes)
        if (auto* graph = std::get_if<Name>(&a.second.value)) Put(&out_.callees, *graph);
      out_.defines |= !l->defines.empty();
    }
  }
  Accesses Take() { return std::move(out_); }

 private:
  static void Put(std::vector<Name>* list, Name n) {
    if (!Contains(*list, n)) list->push_back(n);
  }
  void Read(const Expr& e, const std::vector<Name>& bound) {
    Visit(e, [&](const Expr& x) {
      const bool named = x.Is(ExprKind::kRead) || (x.Is(ExprKind::kSymbol) && !Contains(bound, x->name));
      if (named && s_.Find(x->name)) Touch(x->name, true, false);
      else if (named) Put(&out_.symbols, x->name);
      return true;
    });
  }
  void Touch(Name n, bool read, bool write) {
    const Container* c = n.empty() ? nullptr : s_.Find(n);
    if (!c) return;
    if (c->storage == Storage::kRegister) return Put(&out_.local, n);
    for (Access& a : out_.containers) {
      if (a.container != n) continue;
      a.read |= read, a.write |= write;
      return;
    }
    out_.containers.push_back({n, read, write, false});
  }

  Callees callees_;
  const Sdfg& s_;
  Accesses out_;
};

// Does a map write every element of an array before it reads it? The first access must be an assignment at bare indices over
// whole dimensions. Where maps are around both it and another access, that one must stay in what their iteration has written.
class Overwriting {
 public:
  Overwriting(const Sdfg& s, Name array) : s_(s), array_(array), root_(RootOf(s, array)) {}

  bool Run(NodeId n) {
    Walk(n);
    if (!clear_ || sites_.empty()) return false;
    const Site& first = sites_[0];
    if (!first.assigns || !CoversAll(first)) return false;
    for (const Site& site : sites_)
      if (!InIteration(first, site)) return false;
    return true;
  }

 private:
  struct Site {
    std::vector<NodeId> maps;
    std::vector<Expr> index;
    bool assigns = false, flat = false;
  };
  void Walk(NodeId n) {
    const Body& b = s_.nodes[n].body;
    if (auto* t = std::get_if<Tasklet>(&b)) {
      for (const Expr& e : t->index) Reads(e);
      Reads(t->value);
      if (t->target == array_)
        sites_.push_back({maps_, t->index, t->op == WriteOp::kAssign && !t->guarded && !t->flat, t->flat});
      else clear_ &= RootOf(s_, t->target) != root_;
    } else if (auto* m = std::get_if<Map>(&b)) {
      for (const Range& r : m->ranges)
        for (const Expr& e : {r.begin, r.end, r.step}) Reads(e);
      maps_.push_back(n);
      for (NodeId c : m->body) Walk(c);
      maps_.pop_back();
    } else if (auto* call = std::get_if<Nested>(&b)) {
      for (const Argument& a : call->arguments) clear_ &= RootOf(s_, a.container) != root_;
    } else if (auto* l = std::get_if<Library>(&b)) {
      for (const auto* ports : {&l->inputs, &l->outputs})
        for (const Port& port : *ports) clear_ &= port.container.empty() || RootOf(s_, port.container) != root_;
    }
  }
  void Reads(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (!x.Is(ExprKind::kRead)) return true;
      if (x->name == array_)
        sites_.push_back({maps_, {x->args.begin(), x->args.end() - (x->has_default ? 1 : 0)}, false, x->flat});
      else clear_ &= RootOf(s_, x->name) != root_;
      return true;
    });
  }
  const Range* RangeOf(const Site& site, Name index, size_t* depth) const {
    for (*depth = site.maps.size(); (*depth)-- > 0;)
      for (const Range& r : std::get<Map>(s_.nodes[site.maps[*depth]].body).ranges)
        if (r.index == index) return &r;
    return nullptr;
  }
  bool CoversAll(const Site& site) const {
    const std::vector<Expr>& shape = s_.Get(array_).shape;
    std::vector<Name> used;
    if (site.index.size() != shape.size()) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      const Expr& e = site.index[d];
      if (AsInt(e) == 0 && AsInt(shape[d]) == 1) continue;
      if (!e.Is(ExprKind::kSymbol) || Contains(used, e->name)) return false;
      used.push_back(e->name);
      size_t depth = 0;
      const Range* r = RangeOf(site, e->name, &depth);
      if (!r || AsInt(r->begin) != 0 || (r->step && AsInt(r->step) != 1)) return false;
      if (!(r->end == shape[d]) && ProveEq(r->end, shape[d], s_.assumptions) != Truth::kYes) return false;
    }
    for (NodeId m : site.maps)  // a map over nothing writes nothing
      for (const Range& r : std::get<Map>(s_.nodes[m].body).ranges)
        if (!Contains(used, r.index)) return false;
    return true;
  }
  bool InIteration(const Site& first, const Site& other) const {
    size_t shared = 0;
    while (shared < first.maps.size() && shared < other.maps.size() && first.maps[shared] == other.maps[shared]) ++shared;
    if (shared == 0) return true;  // everything is written by then
    if (other.flat || other.index.size() != first.index.size()) return false;
    for (size_t d = 0; d < first.index.size(); ++d) {
      if (!first.index[d].Is(ExprKind::kSymbol)) continue;
      size_t depth = 0;
      const Range* r = RangeOf(first, first.index[d]->name, &depth);
      if (!r || depth >= shared) continue;
      size_t again = 0;
      if (!(other.index[d] == first.index[d]) || RangeOf(other, first.index[d]->name, &again) != r) return false;
    }
    return true;
  }

  const Sdfg& s_;
  Name array_, root_;
  std::vector<NodeId> maps_;
  std::vector<Site> sites_;  // in the order of the text
  bool clear_ = true;        // nothing else touches the same memory
};

bool Overwrites(const Program& p, const Sdfg& s, NodeId n, Name array);

// The first statement of a callee that touches a parameter decides.
bool CalleeOverwrites(const Program& p, const Sdfg& callee, Name parameter) {
  auto touches = [&](const std::vector<Touched>& all) {
    return std::any_of(all.begin(), all.end(), [&](const Touched& t) { return t.root == parameter; });
  };
  for (BlockId b : callee.body) {
    if (!touches(TouchedBy(p, callee, b))) continue;
    auto* st = std::get_if<State>(&callee.blocks[b].control);
    if (!st) return false;
    for (NodeId n : st->statements)
      if (touches(TouchedBy(p, callee, n))) return Overwrites(p, callee, n, parameter);
  }
  return false;
}

bool Overwrites(const Program& p, const Sdfg& s, NodeId n, Name array) {
  const Body& b = s.nodes[n].body;
  const Name root = RootOf(s, array);
  if (auto* call = std::get_if<Nested>(&b)) {
    const Sdfg* callee = p.Find(call->callee);
    const Argument* to = nullptr;
    for (const Argument& a : call->arguments) {
      if (RootOf(s, a.container) != root) continue;
      if (to || a.container != array || !a.index.empty()) return false;
      to = &a;
    }
    return callee && to && CalleeOverwrites(p, *callee, to->port);
  }
  if (auto* l = std::get_if<Library>(&b)) {
    for (const Port& port : l->inputs)
      if (!port.container.empty() && RootOf(s, port.container) == root) return false;
    return std::any_of(l->outputs.begin(), l->outputs.end(), [&](const Port& port) { return port.container == array; });
  }
  return Overwriting(s, array).Run(n);
}

// One memory under several names, one of which is written: the base and its views take their place.
void JoinNames(const Sdfg& s, Accesses* all) {
  std::vector<Access> out;
  for (const Access& a : all->containers) {
    const Name root = RootOf(s, a.container);
    Access joint{root, false, false, false};
    bool several = false;
    for (const Access& other : all->containers) {
      if (RootOf(s, other.container) != root) continue;
      several |= other.container != a.container;
      joint.read |= other.read, joint.write |= other.write;
    }
    if (!several || !joint.write) {
      out.push_back(a);
      continue;
    }
    if (std::none_of(out.begin(), out.end(), [&](const Access& x) { return x.container == root; })) out.push_back(joint);
    std::vector<Name> chain;
    for (Name v = a.container; v != root; v = s.Get(v).base) chain.insert(chain.begin(), v);
    for (Name v : chain)
      if (!Contains(all->views, v)) all->views.push_back(v);
  }
  all->containers = std::move(out);
}

void SymbolsOf(const std::vector<Expr>& list, Accesses* all) {
  for (const Expr& e : list)
    if (e)
      for (Name x : FreeSymbols(e))
        if (!Contains(all->symbols, x)) all->symbols.push_back(x);
}

}  // namespace

Accesses AccessesOf(const Program& p, const Sdfg& s, NodeId n) {
  Finder finder(p, s);
  finder.Statement(n, {});
  Accesses out = finder.Take();
  for (Access& a : out.containers) a.whole = a.write && Overwrites(p, s, n, a.container);
  JoinNames(s, &out);
  for (Name r : out.local) SymbolsOf(s.Get(r).shape, &out);
  for (Name v : out.views) {
    const Container& c = s.Get(v);
    SymbolsOf(c.shape, &out), SymbolsOf(c.strides, &out), SymbolsOf({c.offset}, &out);
  }
  return out;
}

}  // namespace headrace::autodiff
