#include "transforms/dead_code.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/analysis/callees.h"
#include "transforms/by_name.h"
#include "transforms/dead_lets.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

class Eliminator {
 public:
  Eliminator(const Program& p, Sdfg* s, const Ask& ask) : p_(p), s_(*s), ask_(ask) {}

  bool Run() {
    NumberContainers();
    for (Name n : s_.parameters) Live(containers_.NumberOf(n));
    Control(s_.body);
    leaves_.push_back(NextLeaf({}));  // where the last one's lists end
    ListWriters();
    for (uint32_t n = 0; n < containers_.size(); ++n)
      if (live_[n]) Producers(n);
    for (Name n : symbols_) Definers(n);
    Spread();
    // Consumers before producers: what stays nevertheless keeps alive what it reads and what else writes its results.
    for (size_t i = leaves_.size() - 1; i-- > 0;) {
      if (leaves_[i].live || ask_(Match{s_.name, {leaves_[i].node}, {}, {}, "", true})) continue;
      Mark(i);
      for (uint32_t k = leaves_[i].writes; k < leaves_[i + 1].writes; ++k)
        if (Live(writes_[k])) Producers(writes_[k]);
      Spread();
    }
    bool changed = false;
    for (size_t i = 0; i + 1 < leaves_.size(); ++i) {
      if (leaves_[i].live) continue;
      s_.nodes.Mutable(leaves_[i].node).body = std::monostate{};
      changed = true;
    }
    if (changed) transforms::RemoveEmptied(&s_);
    changed |= DropEmptyControl(&s_.body);
    return DropContainers(changed ? Used() : named_) || changed;
  }

 private:
  static constexpr uint32_t kNone = transforms::ByName<const Container*>::kNone;
  // A statement that is no map: its lists begin here in those of all, and end where the next one's begin.
  struct Leaf {
    NodeId node;
    uint32_t reads, writes, symbols;
    bool live = false;
  };

  // Containers are numbers from here on, as `order` has them: walks look a name up once and are in arrays from then on.
  void NumberContainers() {
    containers_.Reserve(s_.order.size());
    std::vector<uint32_t> views;
    for (Name n : s_.order) {
      const Container& c = s_.Get(n);
      if (c.kind == ContainerKind::kView) views.push_back(containers_.size());
      live_.push_back(c.kind == ContainerKind::kParameter || c.kind == ContainerKind::kState);
      containers_[n] = &c;
    }
    base_.assign(containers_.size(), kNone);
    for (uint32_t v : views) base_[v] = containers_.NumberOf(containers_.At(v)->base);
    named_.resize(containers_.size());
  }
  // Of what the program names: it stays declared.
  uint32_t RootOf(Name name) {
    uint32_t n = containers_.NumberOf(name);
    if (n != kNone) named_[n] = true;
    for (uint32_t base = n; base != kNone; base = base_[n]) n = base;
    return n;
  }

  Leaf NextLeaf(NodeId node) const {
    return {node, static_cast<uint32_t>(reads_.size()), static_cast<uint32_t>(writes_.size()),
            static_cast<uint32_t>(leaf_symbols_.size())};
  }
  // For each container, the leaves that write it, one after the other in one array.
  void ListWriters() {
    writers_begin_.resize(containers_.size() + 1);
    for (uint32_t w : writes_) ++writers_begin_[w + 1];
    for (size_t n = 0; n < containers_.size(); ++n) writers_begin_[n + 1] += writers_begin_[n];
    writers_.resize(writes_.size());
    std::vector<uint32_t> next(writers_begin_.begin(), writers_begin_.end() - 1);
    for (size_t i = 0; i + 1 < leaves_.size(); ++i)
      for (uint32_t k = leaves_[i].writes; k < leaves_[i + 1].writes; ++k)
        writers_[next[writes_[k]]++] = static_cast<uint32_t>(i);
  }

  void Spread() {
    while (!work_.empty()) {
      const size_t i = work_.back();
      work_.pop_back();
      for (uint32_t k = leaves_[i].reads; k < leaves_[i + 1].reads; ++k)
        if (Live(reads_[k])) Producers(reads_[k]);
      for (uint32_t k = leaves_[i].symbols; !definers_.empty() && k < leaves_[i + 1].symbols; ++k)
        if (symbols_.insert(leaf_symbols_[k]).second) Definers(leaf_symbols_[k]);
    }
  }
  bool Live(uint32_t root) { return root != kNone && !std::exchange(live_[root], true); }
  void Producers(uint32_t root) {
    for (uint32_t k = writers_begin_[root]; k < writers_begin_[root + 1]; ++k) Mark(writers_[k]);
    if (definers_.empty()) return;
    // The sizes of a live container must be there.
    for (const Expr& d : containers_.At(root)->shape)
      Visit(d, [&](const Expr& x) {
        if (x.Is(ExprKind::kSymbol) && symbols_.insert(x->name).second) Definers(x->name);
        return true;
      });
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

  void Note(uint32_t root, bool read, bool write) {
    if (read && root != kNone) reads_.push_back(root);
    if (write && root != kNone) writes_.push_back(root);
  }
  // Of the leaf that is being made.
  void Reads(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) Note(RootOf(x->name), true, false);
      if (x.Is(ExprKind::kSymbol)) leaf_symbols_.push_back(x->name);
      return true;
    });
  }
  // Conditions and computed sizes are taken to be needed; loops and branches that lose their content go later.
  void Condition(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) Live(RootOf(x->name));
      if (x.Is(ExprKind::kSymbol)) symbols_.insert(x->name);
      return true;
    });
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
  // What a range reads is needed; its symbols are where something in the map is.
  void Bound(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) Live(RootOf(x->name));
      if (x.Is(ExprKind::kSymbol)) outer_symbols_.push_back(x->name);
      return true;
    });
  }
  void Statement(NodeId id) {
    const Body& b = s_.nodes[id].body;
    if (auto* m = std::get_if<Map>(&b)) {
      const size_t around = outer_symbols_.size();
      for (const Range& r : m->ranges) Bound(r.begin), Bound(r.end), Bound(r.step);
      for (NodeId n : m->body) Statement(n);
      outer_symbols_.resize(around);
      return;
    }
    if (auto* choice = std::get_if<If>(&b)) {
      Condition(choice->condition);
      for (const auto* body : {&choice->body, &choice->otherwise})
        for (NodeId n : *body) Statement(n);
      return;
    }
    if (auto* check = std::get_if<Touch>(&b)) {
      Live(RootOf(check->container));
      for (const Expr& e : check->index) Condition(e);
      return;
    }
    Leaf l = NextLeaf(id);
    if (auto* t = std::get_if<Tasklet>(&b)) {
      Reads(t->value);
      for (const Expr& e : t->index) Reads(e);
      Note(RootOf(t->target), false, true);
    } else if (auto* n = std::get_if<Nested>(&b)) {
      for (const auto& v : n->symbols) Reads(v.second);
      for (const Argument& a : n->arguments) {
        for (const Expr& e : a.index) Reads(e);
        const Direction d = callees_.Of(n->callee, a.port);
        Note(RootOf(a.container), d == Direction::kIn || d == Direction::kInOut, d == Direction::kOut || d == Direction::kInOut);
      }
    } else if (auto* lib = std::get_if<Library>(&b)) {
      for (const Port& port : lib->inputs) Note(RootOf(port.container), true, false);
      for (const Port& port : lib->outputs) Note(RootOf(port.container), false, true);
      l.live = lib->outputs.empty();  // called for what it does
      for (Name d : lib->defines) definers_[d].push_back(leaves_.size());  // live where somebody uses the size
    } else {
      return;
    }
    leaf_symbols_.insert(leaf_symbols_.end(), outer_symbols_.begin(), outer_symbols_.end());
    if (l.live) work_.push_back(leaves_.size());
    leaves_.push_back(l);
  }

  // Loops and branches without content; a loop whose end is uncertain stays.
  bool DropEmptyControl(std::vector<BlockId>* body) {
    std::vector<BlockId> kept;
    bool changed = false;
    for (BlockId b : *body) {
      if (const auto* st = std::get_if<State>(&s_.blocks[b].control)) {
        if (st->statements.empty() && body->size() > 1) changed = true;
        else kept.push_back(b);
        continue;
      }
      const auto c = s_.blocks[b].control;
      if (auto* l = std::get_if<Loop>(&c)) {
        std::vector<BlockId> inner = l->body;
        if (DropEmptyControl(&inner)) changed = true, std::get<Loop>(s_.blocks.Mutable(b).control).body = inner;
        if (AsRange(*l) && (Empty(inner) || OnlyNamesSizes(b))) {
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
  bool OnlyNamesSizes(BlockId loop) {
    const Loop& l = std::get<Loop>(s_.blocks[loop].control);
    const auto is_let = [&](BlockId b) { return std::holds_alternative<Assign>(s_.blocks[b].control); };
    if (std::none_of(l.body.begin(), l.body.end(), is_let)) return false;
    if (!exposed_) exposed_ = transforms::ExposedSymbols(s_);
    return transforms::SetsUnusedSymbols(s_, l, *exposed_);
  }
  bool Empty(const std::vector<BlockId>& body) const {
    for (BlockId b : body) {
      auto* st = std::get_if<State>(&s_.blocks[b].control);
      if (!st || !st->statements.empty()) return false;
    }
    return true;
  }

  // What is still named once statements have gone.
  std::vector<char> Used() const {
    std::vector<char> used(containers_.size());
    auto use = [&](Name n) {
      if (const uint32_t number = containers_.NumberOf(n); number != kNone) used[number] = true;
    };
    auto reads = [&](const Expr& e) {
      Visit(e, [&](const Expr& x) {
        if (x.Is(ExprKind::kRead)) use(x->name);
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
        use(t->target);
        reads(t->value);
        for (const Expr& e : t->index) reads(e);
      } else if (auto* l = std::get_if<Library>(&b)) {
        for (const auto* ports : {&l->inputs, &l->outputs})
          for (const Port& q : *ports) use(q.container);
      } else if (auto* n = std::get_if<Nested>(&b)) {
        for (const Argument& a : n->arguments) {
          use(a.container);
          for (const Expr& e : a.index) reads(e);
        }
        for (const auto& v : n->symbols) reads(v.second);
      } else if (auto* m = std::get_if<Map>(&b)) {
        for (const Range& r : m->ranges) reads(r.begin), reads(r.end), reads(r.step);
      } else if (auto* choice = std::get_if<If>(&b)) {
        reads(choice->condition);
      } else if (auto* check = std::get_if<Touch>(&b)) {
        use(check->container);
        for (const Expr& e : check->index) reads(e);
      }
    });
    return used;
  }

  bool DropContainers(std::vector<char> used) {
    for (uint32_t i = containers_.size(); i-- > 0;) {  // a used view keeps its base; bases may be declared after
      for (uint32_t n = i; used[n];) {
        const uint32_t base = base_[n];
        if (base == kNone || std::exchange(used[base], true)) break;
        n = base;
      }
    }
    for (Name n : s_.parameters)
      if (const uint32_t number = containers_.NumberOf(n); number != kNone) used[number] = true;
    std::unordered_set<Name> dead;
    for (uint32_t n = 0; n < containers_.size(); ++n)
      if (!used[n] && containers_.At(n)->kind != ContainerKind::kState) dead.insert(containers_.NameOf(n));
    transforms::RemoveContainers(&s_, dead);
    return !dead.empty();
  }

  const Program& p_;
  Callees callees_{p_};
  Sdfg& s_;
  const Ask& ask_;
  transforms::ByName<const Container*> containers_;
  std::vector<uint32_t> base_;       // by number, of views
  std::vector<char> live_, named_;   // by number
  std::vector<Leaf> leaves_;
  std::vector<uint32_t> reads_, writes_;  // of all leaves: roots
  std::vector<Name> leaf_symbols_, outer_symbols_;
  std::vector<uint32_t> writers_begin_, writers_;
  std::unordered_set<Name> symbols_;
  std::unordered_map<Name, std::vector<size_t>> definers_;
  std::vector<size_t> work_;
  std::optional<std::unordered_set<Name>> exposed_;  // symbols, once somebody asks
};

}  // namespace

void KeepOutputs(const Program& p, Sdfg* s) {
  std::vector<Name> asked;
  for (Name n : s->parameters)
    if (s->Get(n).inout && !s->Get(n).output) asked.push_back(n);
  if (asked.empty()) return;
  const transforms::UseIndex uses(p, *s);
  for (Name n : asked)
    if (uses.Of(n).First() > uses.Of(n).Last()) s->Mutable(n).output = true;
}

Result<bool> EliminateDeadCode(Program& p, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i)
    if (!p.sdfgs[i]->kernel && Eliminator(p, &p.Mutable(p.sdfgs[i]->name), ask).Run()) {
      KeepOutputs(p, &p.Mutable(p.sdfgs[i]->name));
      changed = true;
    }
  if (p.sdfgs.size() == 1 && p.Find(p.entry)) return changed;
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
