#include "transforms/dead_code.h"

#include "ir/analysis/dataflow.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

class Eliminator {
 public:
  Eliminator(const Program& p, Sdfg* s, const Ask& ask) : p_(p), s_(*s), ask_(ask) {}

  bool Run() {
    for (Name n : s_.order) {
      const Container& c = s_.Get(n);
      if (c.kind == ContainerKind::kParameter || c.kind == ContainerKind::kState) Live(n);
    }
    for (Name n : s_.parameters) Live(n);
    Control(s_.body);
    for (const Leaf& l : leaves_)  // a node that defines a size that somebody uses is live
      for (Name d : l.defines) definers_[d].push_back(&l - leaves_.data());
    writers_.reserve(s_.order.size()), live_.reserve(s_.order.size());
    for (size_t i = 0; i < leaves_.size(); ++i)
      for (Name w : leaves_[i].writes) writers_[w].push_back(i);
    std::vector<Name> roots(live_.begin(), live_.end());
    for (Name n : roots) Producers(n);
    for (Name n : symbols_) Definers(n);
    Spread();
    // Consumers before producers: what stays nevertheless keeps alive what it reads and what else writes its results.
    for (size_t i = leaves_.size(); i-- > 0;) {
      if (leaves_[i].live || ask_(Match{s_.name, {leaves_[i].node}, {}, {}, "", true})) continue;
      Mark(i);
      for (Name w : leaves_[i].writes)
        if (Live(w)) Producers(w);
      Spread();
    }
    bool changed = false;
    for (const Leaf& l : leaves_) {
      if (l.live) continue;
      s_.nodes.Mutable(l.node).body = std::monostate{};
      changed = true;
    }
    if (changed) transforms::RemoveEmptied(&s_);
    changed |= DropEmptyControl(&s_.body);
    return DropContainers() || changed;
  }

 private:
  struct Leaf {
    NodeId node;
    std::vector<Name> reads, writes, symbols, defines;  // roots
    bool live = false;
  };

  void Spread() {
    while (!work_.empty()) {
      const size_t i = work_.back();
      work_.pop_back();
      for (Name r : leaves_[i].reads)
        if (Live(r)) Producers(r);
      for (Name sym : leaves_[i].symbols)
        if (symbols_.insert(sym).second) Definers(sym);
    }
  }
  bool Live(Name root) { return live_.insert(root).second; }
  void Producers(Name root) {
    for (size_t i : writers_[root]) Mark(i);
    // The sizes of a live container must be there.
    for (const Expr& d : s_.Get(root).shape)
      for (Name n : FreeSymbols(d))
        if (symbols_.insert(n).second) Definers(n);
  }
  void Definers(Name symbol) {
    auto it = definers_.find(symbol);
    if (it == definers_.end()) return;
    for (size_t i : it->second) Mark(i);
  }
  void Mark(size_t i) {
    if (leaves_[i].live) return;
    leaves_[i].live = true;
    work_.push_back(i);
  }

  void Reads(const Expr& e, Leaf* l) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) l->reads.push_back(RootOf(s_, x->name));
      if (x.Is(ExprKind::kSymbol)) l->symbols.push_back(x->name);
      return true;
    });
  }
  // Conditions and computed sizes are taken to be needed; loops and branches that lose their content go later.
  void Condition(const Expr& e) {
    Leaf l;
    Reads(e, &l);
    for (Name n : l.reads) Live(n);
    symbols_.insert(l.symbols.begin(), l.symbols.end());
  }
  void Control(const std::vector<BlockId>& body) {
    ForEachBlock(s_, body, [&](BlockId b) {
      const auto& c = s_.blocks[b].control;
      if (auto* l = std::get_if<Loop>(&c)) Condition(l->init), Condition(l->condition), Condition(l->update);
      if (auto* d = std::get_if<Conditional>(&c))
        for (const Branch& br : d->branches) Condition(br.condition);
      if (auto* a = std::get_if<Assign>(&c)) Condition(a->value);
      if (auto* r = std::get_if<Require>(&c)) Condition(r->condition);
      if (auto* st = std::get_if<State>(&c))
        for (NodeId n : st->statements) Statement(n);
    });
  }
  void Statement(NodeId id) {
    const Body& b = s_.nodes[id].body;
    if (auto* m = std::get_if<Map>(&b)) {
      Leaf ranges;
      for (const Range& r : m->ranges) Reads(r.begin, &ranges), Reads(r.end, &ranges), Reads(r.step, &ranges);
      for (Name n : ranges.reads) Live(n);
      std::vector<Name> saved = outer_symbols_;
      outer_symbols_.insert(outer_symbols_.end(), ranges.symbols.begin(), ranges.symbols.end());
      for (NodeId n : m->body) Statement(n);
      outer_symbols_ = std::move(saved);
      return;
    }
    if (auto* choice = std::get_if<If>(&b)) {
      Condition(choice->condition);
      for (const auto* body : {&choice->body, &choice->otherwise})
        for (NodeId n : *body) Statement(n);
      return;
    }
    if (auto* check = std::get_if<Check>(&b)) {
      Live(RootOf(s_, check->container));
      for (const Expr& e : check->index) Condition(e);
      return;
    }
    Leaf l;
    l.node = id;
    l.symbols = outer_symbols_;
    if (auto* t = std::get_if<Tasklet>(&b)) {
      Reads(t->value, &l);
      for (const Expr& e : t->index) Reads(e, &l);
      l.writes.push_back(RootOf(s_, t->target));
    } else if (auto* n = std::get_if<Nested>(&b)) {
      for (const auto& v : n->symbols) Reads(v.second, &l);
      for (const Argument& a : n->arguments)
        for (const Expr& e : a.index) Reads(e, &l);
    } else if (auto* lib = std::get_if<Library>(&b)) {
      l.defines = lib->defines;
    } else {
      return;
    }
    if (!std::holds_alternative<Tasklet>(b)) {
      for (const Touched& t : TouchedBy(s_, id, callees_)) {
        if (t.read) l.reads.push_back(t.root);
        if (t.write) l.writes.push_back(t.root);
      }
      Registers(b, &l);
      if (auto* lib = std::get_if<Library>(&b); lib && lib->outputs.empty()) l.live = true;  // called for what it does
    }
    if (l.live) work_.push_back(leaves_.size());
    leaves_.push_back(std::move(l));
  }

  // What TouchedBy leaves out: a call or library node in a map takes registers, too.
  void Registers(const Body& b, Leaf* l) {
    auto touch = [&](Name n, bool read, bool write) {
      const Container* c = n.empty() ? nullptr : s_.Find(n);
      if (!c || c->storage != Storage::kRegister) return;
      if (read) l->reads.push_back(n);
      if (write) l->writes.push_back(n);
    };
    if (auto* n = std::get_if<Nested>(&b)) {
      for (const Argument& a : n->arguments) {
        const Direction d = callees_.Of(n->callee, a.port);
        touch(a.container, d == Direction::kIn || d == Direction::kInOut, d == Direction::kOut || d == Direction::kInOut);
      }
    } else if (auto* lib = std::get_if<Library>(&b)) {
      for (const Port& port : lib->inputs) touch(port.container, true, false);
      for (const Port& port : lib->outputs) touch(port.container, false, true);
    }
  }

  // Loops and branches without content; a loop whose end is uncertain stays.
  bool DropEmptyControl(std::vector<BlockId>* body) {
    std::vector<BlockId> kept;
    bool changed = false;
    for (BlockId b : *body) {
      auto c = s_.blocks[b].control;
      if (auto* st = std::get_if<State>(&c)) {
        if (st->statements.empty() && body->size() > 1) {
          changed = true;
          continue;
        }
      } else if (auto* l = std::get_if<Loop>(&c)) {
        std::vector<BlockId> inner = l->body;
        if (DropEmptyControl(&inner)) changed = true, std::get<Loop>(s_.blocks.Mutable(b).control).body = inner;
        if (Empty(inner) && AsRange(*l)) {
          changed = true;
          continue;
        }
      } else if (auto* d = std::get_if<Conditional>(&c)) {
        std::vector<Branch> branches = d->branches;
        bool inside = false, all_empty = true;
        for (Branch& br : branches) {
          inside |= DropEmptyControl(&br.body);
          all_empty &= Empty(br.body);
        }
        if (all_empty) {
          changed = true;
          continue;
        }
        if (inside) changed = true, std::get<Conditional>(s_.blocks.Mutable(b).control).branches = branches;
      }
      kept.push_back(b);
    }
    if (kept.size() != body->size()) *body = std::move(kept);
    return changed;
  }
  bool Empty(const std::vector<BlockId>& body) const {
    for (BlockId b : body) {
      auto* st = std::get_if<State>(&s_.blocks[b].control);
      if (!st || !st->statements.empty()) return false;
    }
    return true;
  }

  bool DropContainers() {
    std::unordered_set<Name> used(s_.parameters.begin(), s_.parameters.end(), s_.order.size());
    auto reads = [&](const Expr& e) {
      Visit(e, [&](const Expr& x) {
        if (x.Is(ExprKind::kRead)) used.insert(x->name);
        return true;
      });
    };
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      const auto& c = s_.blocks[b].control;
      if (auto* l = std::get_if<Loop>(&c)) reads(l->init), reads(l->condition), reads(l->update);
      if (auto* d = std::get_if<Conditional>(&c))
        for (const Branch& br : d->branches) reads(br.condition);
      if (auto* a = std::get_if<Assign>(&c)) reads(a->value);
    });
    ForEachNode(s_, [&](NodeId id) {
      const Body& b = s_.nodes[id].body;
      if (auto* t = std::get_if<Tasklet>(&b)) {
        used.insert(t->target);
        reads(t->value);
        for (const Expr& e : t->index) reads(e);
      } else if (auto* l = std::get_if<Library>(&b)) {
        for (const auto* ports : {&l->inputs, &l->outputs})
          for (const Port& q : *ports) used.insert(q.container);
      } else if (auto* n = std::get_if<Nested>(&b)) {
        for (const Argument& a : n->arguments) {
          used.insert(a.container);
          for (const Expr& e : a.index) reads(e);
        }
        for (const auto& v : n->symbols) reads(v.second);
      } else if (auto* m = std::get_if<Map>(&b)) {
        for (const Range& r : m->ranges) reads(r.begin), reads(r.end);
      } else if (auto* choice = std::get_if<If>(&b)) {
        reads(choice->condition);
      } else if (auto* check = std::get_if<Check>(&b)) {
        used.insert(check->container);
        for (const Expr& e : check->index) reads(e);
      }
    });
    for (size_t i = s_.order.size(); i-- > 0;) {  // a used view keeps its base; bases may be declared after
      for (Name n = s_.order[i]; used.count(n);) {
        const Container& c = s_.Get(n);
        if (c.kind != ContainerKind::kView || !used.insert(c.base).second) break;
        n = c.base;
      }
    }
    std::unordered_set<Name> dead;
    for (Name n : s_.order)
      if (!used.count(n) && s_.Get(n).kind != ContainerKind::kState) dead.insert(n);
    transforms::RemoveContainers(&s_, dead);
    return !dead.empty();
  }

  const Program& p_;
  Callees callees_{p_};
  Sdfg& s_;
  const Ask& ask_;
  std::vector<Leaf> leaves_;
  std::vector<Name> outer_symbols_;
  std::unordered_set<Name> live_, symbols_;
  std::unordered_map<Name, std::vector<size_t>> writers_, definers_;
  std::vector<size_t> work_;
};

}  // namespace

Result<bool> EliminateDeadCode(Program& p, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) changed |= Eliminator(p, &p.Mutable(p.sdfgs[i]->name), ask).Run();
  // SDFGs that nothing reaches from the entry.
  std::unordered_set<Name> reached;
  std::vector<Name> work = {p.entry, Name("init")};  // `init` runs once, by name
  while (!work.empty()) {
    Name n = work.back();
    work.pop_back();
    const Sdfg* s = p.Find(n);
    if (!s || !reached.insert(n).second) continue;
    ForEachNode(*s, [&](NodeId id) {
      if (auto* c = std::get_if<Nested>(&s->nodes[id].body)) work.push_back(c->callee);
      if (auto* l = std::get_if<Library>(&s->nodes[id].body))
        for (const auto& a : l->attributes)
          if (auto* g = std::get_if<Name>(&a.second.value)) work.push_back(*g);
    });
  }
  size_t before = p.sdfgs.size();
  std::vector<std::shared_ptr<Sdfg>> kept;
  for (auto& s : p.sdfgs)
    if (reached.count(s->name)) kept.push_back(s);
  p.sdfgs = std::move(kept);
  return changed || p.sdfgs.size() != before;
}

}  // namespace headrace
