#include "ir/analysis/dataflow.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

namespace headrace {
namespace {

// Walks one statement with the ranges of the maps it is in.
class Collector {
 public:
  Collector(const Sdfg& s, Callees& callees) : s_(s), callees_(callees) {}

  void Statement(NodeId id) {
    const Body& body = s_.nodes[id].body;
    if (auto* t = std::get_if<Tasklet>(&body)) {
      Reads(t->value);
      for (const Expr& e : t->index) Reads(e);
      Write(*t);
    } else if (auto* m = std::get_if<Map>(&body)) {
      for (const Range& r : m->ranges) {
        Reads(r.begin);
        Reads(r.end);
        Reads(r.step);
      }
      ranges_.insert(ranges_.end(), m->ranges.begin(), m->ranges.end());
      for (NodeId n : m->body) Statement(n);
      ranges_.resize(ranges_.size() - m->ranges.size());
    } else if (auto* i = std::get_if<If>(&body)) {
      Reads(i->condition);
      ++conditions_;
      ForEachBody(body, [&](const std::vector<NodeId>& inside) {
        for (NodeId n : inside) Statement(n);
      });
      --conditions_;
    } else if (auto* k = std::get_if<Touch>(&body)) {
      for (const Expr& e : k->index) Reads(e);
    } else if (auto* n = std::get_if<Nested>(&body)) {
      Call(*n);
    } else if (auto* l = std::get_if<Library>(&body)) {
      for (const Port& port : l->inputs)
        if (!port.container.empty()) Whole(port.container, false);
      for (const Port& port : l->outputs)
        if (!port.container.empty()) Whole(port.container, true);
    }
  }

  void Reads(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) {
        size_t rank = x->args.size() - (x->has_default ? 1 : 0);
        Access(x->name, {x->args.begin(), x->args.begin() + rank}, x->flat, x->has_default, false, WriteOp::kAssign);
      }
      return true;
    });
  }

  std::vector<Memlet> Take() { return std::move(out_); }

 private:
  const Container* Array(Name n) const {
    const Container* c = s_.Find(n);
    return c && c->storage != Storage::kRegister ? c : nullptr;
  }
  void Write(const Tasklet& t) { Access(t.target, t.index, t.flat, t.guarded, true, t.op); }

  void Whole(Name n, bool write) {
    const Container* c = Array(n);
    if (!c) return;
    Memlet m{n, FullSubset(c->shape), write, false, write, WriteOp::kAssign, NumElements(*c)};
    m.full = write && ranges_.empty();
    Add(std::move(m));
  }

  void Access(Name n, const std::vector<Expr>& index, bool flat, bool guarded, bool write, WriteOp op) {
    const Container* c = Array(n);
    if (!c) return;
    Memlet m;
    m.container = n;
    m.write = write;
    m.op = op;
    m.dynamic = guarded || conditions_ > 0;
    for (const Expr& e : index) m.dynamic |= !IsIndexExpr(e);
    m.volume = Expr(1);
    for (const Range& r : ranges_) {
      Expr extent = AsInt(r.begin) == 0 && (!r.step || AsInt(r.step) == 1) ? r.end : Extent(r);
      m.volume = AsInt(m.volume) == 1 ? extent : m.volume * extent;
    }
    if (flat) {
      Expr n_elements = NumElements(*c);
      Box box = ImageBox(ranges_, index, {n_elements}, s_.assumptions);
      const Range* r = box.subset.dims.size() == 1 ? &box.subset.dims[0] : nullptr;
      m.subset = FullSubset(c->shape);
      m.full = write && !m.dynamic && box.exact && r && AsInt(r->begin) == 0 && r->end == n_elements;
    } else {
      Box box = ImageBox(ranges_, index, c->shape, s_.assumptions);
      m.full = write && !m.dynamic && box.exact;
      m.subset = std::move(box.subset);
      if (guarded) Clip(&m.subset, *c);
    }
    Add(std::move(m));
  }

  static Expr Extent(const Range& r) {
    auto step = r.step ? AsInt(r.step) : std::optional<int64_t>(1);
    if (step == 1) return r.end - r.begin;
    if (step == -1) return r.begin - r.end;
    return r.step ? Expr(0) - FloorDiv(r.begin - r.end, r.step) : r.end - r.begin;
  }
  void Clip(Subset* b, const Container& c) const {
    for (size_t i = 0; i < b->dims.size() && i < c.shape.size(); ++i) {
      Range& r = b->dims[i];
      if (r.step && AsInt(r.step) != 1) {
        r = {Name(), Expr(0), c.shape[i], Expr(1)};
        continue;
      }
      if (ProveLe(Expr(0), r.begin, s_.assumptions) != Truth::kYes) r.begin = Max(r.begin, Expr(0));
      if (ProveLe(r.end, c.shape[i], s_.assumptions) != Truth::kYes) r.end = Min(r.end, c.shape[i]);
    }
  }

  void Call(const Nested& n) {
    for (const auto& b : n.symbols) Reads(b.second);
    for (const Argument& a : n.arguments) {
      for (const Expr& e : a.index) Reads(e);
      const Container* c = Array(a.container);
      if (!c) continue;
      const Direction d = callees_.Of(n.callee, a.port);
      if (d == Direction::kUnused) continue;
      for (bool write : {false, true}) {
        if (write ? d == Direction::kIn : d == Direction::kOut) continue;
        Memlet m{a.container, {}, write, false, false, WriteOp::kAssign, NumElements(*c)};
        m.subset = a.index.empty() ? FullSubset(c->shape) : Leading(a.index, *c);
        for (const Expr& e : a.index) m.dynamic |= !IsIndexExpr(e);
        Add(std::move(m));
      }
    }
  }
  Subset Leading(const std::vector<Expr>& index, const Container& c) const {
    Subset out = ImageBox(ranges_, index, c.shape, s_.assumptions).subset;
    for (size_t i = index.size(); i < c.shape.size(); ++i) out.dims.push_back({Name(), Expr(0), c.shape[i], Expr(1)});
    return out;
  }

  static bool Same(const Subset& a, const Subset& b) {
    if (a.dims.size() != b.dims.size()) return false;
    for (size_t i = 0; i < a.dims.size(); ++i)
      if (!(a.dims[i].begin == b.dims[i].begin) || !(a.dims[i].end == b.dims[i].end) ||
          !(a.dims[i].step == b.dims[i].step))
        return false;
    return true;
  }
  void Add(Memlet m) {
    // A handful of accesses per statement is the rule; very long bodies are not searched to the end.
    size_t from = out_.size() > 64 ? out_.size() - 64 : 0;
    for (size_t i = from; i < out_.size(); ++i) {
      Memlet& o = out_[i];
      if (o.container != m.container || o.write != m.write || o.op != m.op || o.dynamic != m.dynamic ||
          !Same(o.subset, m.subset))
        continue;
      o.full |= m.full;
      o.volume = o.volume + m.volume;
      return;
    }
    out_.push_back(std::move(m));
  }

  const Sdfg& s_;
  Callees& callees_;
  std::vector<Range> ranges_;
  int conditions_ = 0;  // around the statement: what it writes may not be written
  std::vector<Memlet> out_;
};

// Calls fn for every expression of a statement, its body included.
template <typename Fn>
void ForEachExpr(const Sdfg& s, NodeId id, Fn&& fn) {
  const Body& body = s.nodes[id].body;
  if (auto* t = std::get_if<Tasklet>(&body)) {
    fn(t->value);
    for (const Expr& e : t->index) fn(e);
  } else if (auto* m = std::get_if<Map>(&body)) {
    for (const Range& r : m->ranges) {
      fn(r.begin);
      fn(r.end);
      if (r.step) fn(r.step);
    }
    for (NodeId n : m->body) ForEachExpr(s, n, fn);
  } else if (auto* i = std::get_if<If>(&body)) {
    fn(i->condition);
    ForEachBody(body, [&](const std::vector<NodeId>& inside) {
      for (NodeId n : inside) ForEachExpr(s, n, fn);
    });
  } else if (auto* k = std::get_if<Touch>(&body)) {
    for (const Expr& e : k->index) fn(e);
  } else if (auto* n = std::get_if<Nested>(&body)) {
    for (const Argument& a : n->arguments)
      for (const Expr& e : a.index) fn(e);
    for (const auto& b : n->symbols) fn(b.second);
  }
}

class Toucher {
 public:
  Toucher(const Sdfg& s, Callees& callees) : s_(s), callees_(callees) {}
  void Statement(NodeId id) {
    ForEachExpr(s_, id, [&](const Expr& e) { Reads(e); });
    Writes(id);
  }
  void Reads(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) Touch(x->name, true, false);
      return true;
    });
  }
  void Block(BlockId id) {
    const Control& c = s_.blocks[id].control;
    if (auto* st = std::get_if<State>(&c)) {
      for (NodeId n : st->statements) Statement(n);
    } else if (auto* l = std::get_if<Loop>(&c)) {
      for (const Expr* e : {&l->init, &l->condition, &l->update}) Reads(*e);
      for (BlockId b : l->body) Block(b);
    } else if (auto* d = std::get_if<Conditional>(&c)) {
      for (const Branch& br : d->branches) {
        Reads(br.condition);
        for (BlockId b : br.body) Block(b);
      }
    } else if (auto* a = std::get_if<Assign>(&c)) {
      Reads(a->value);
    }
  }
  std::vector<Touched> Take() { return std::move(out_); }

 private:
  void Writes(NodeId id) {
    const Body& body = s_.nodes[id].body;
    if (auto* t = std::get_if<Tasklet>(&body)) {
      Touch(t->target, false, true);
    } else if (std::holds_alternative<Map>(body) || std::holds_alternative<If>(body)) {
      ForEachBody(body, [&](const std::vector<NodeId>& inside) {
        for (NodeId n : inside) Writes(n);
      });
    } else if (auto* n = std::get_if<Nested>(&body)) {
      for (const Argument& a : n->arguments) {
        const Direction d = callees_.Of(n->callee, a.port);
        Touch(a.container, d == Direction::kIn || d == Direction::kInOut,
              d == Direction::kOut || d == Direction::kInOut);
      }
    } else if (auto* l = std::get_if<Library>(&body)) {
      for (const Port& p : l->inputs) Touch(p.container, true, false);
      for (const Port& p : l->outputs) Touch(p.container, false, true);
    }
  }
  void Touch(Name n, bool read, bool write) {
    if (n.empty() || !(read || write)) return;
    auto& [name, at] = met_[n.id() % met_.size()];
    if (name != n) name = n, at = Find(n);
    if (at == kNone) return;
    out_[at].read |= read;
    out_[at].write |= write;
  }
  // Where the container's root stands in the list; kNone: it is not to.
  size_t Find(Name n) {
    const Container* c = s_.Find(n);
    if (!c || c->storage == Storage::kRegister) return kNone;
    const Name root = c->kind == ContainerKind::kView ? RootOf(s_, n) : n;
    if (out_.size() > kFew) {
      if (where_.empty())
        for (size_t i = 0; i < out_.size(); ++i) where_.emplace(out_[i].root, i);
      auto [it, fresh] = where_.emplace(root, out_.size());
      if (fresh) out_.push_back({root, false, false});
      return it->second;
    }
    for (size_t i = 0; i < out_.size(); ++i)
      if (out_[i].root == root) return i;
    out_.push_back({root, false, false});
    return out_.size() - 1;
  }

  static constexpr size_t kFew = 16, kNone = ~size_t{0};
  const Sdfg& s_;
  Callees& callees_;
  std::vector<Touched> out_;
  std::unordered_map<Name, size_t> where_;
  std::array<std::pair<Name, size_t>, kFew> met_ = {};  // names, by number, and where their roots stand: most come again soon
};

// ---- edges ----

constexpr size_t kMaxPending = 64;  // accesses of one container compared one by one; beyond that everything conflicts

struct Pending {
  uint32_t at;
  Subset subset;
  bool opaque;  // seen through a view, or a collapsed history: overlaps everything
};
struct History {
  std::vector<Pending> reads, writes;
};

class EdgeBuilder {
 public:
  EdgeBuilder(const Program& p, const Sdfg& s, const State& state) : callees_(p), s_(s), state_(state) {}

  std::vector<Edge> Build() {
    std::unordered_set<Name> defined;
    for (NodeId n : state_.statements)
      if (auto* l = std::get_if<Library>(&s_.nodes[n].body)) defined.insert(l->defines.begin(), l->defines.end());
    for (uint32_t i = 0; i < state_.statements.size(); ++i) {
      NodeId n = state_.statements[i];
      std::vector<Memlet> memlets = MemletsOf(s_, n, callees_);
      // Reads first: a statement that reads and writes a container depends on what was there.
      for (bool write : {false, true})
        for (const Memlet& m : memlets)
          if (m.write == write) Access(i, m);
      if (!defined.empty()) Symbols(i, n, memlets, defined);
    }
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
      return a.to != b.to ? a.to < b.to : a.from != b.from ? a.from < b.from : a.container < b.container;
    });
    return std::move(edges_);
  }

 private:
  void Access(uint32_t at, const Memlet& m) {
    Name root = RootOf(s_, m.container);
    bool opaque = root != m.container;
    History& h = pending_[root];
    if (!m.write) {
      for (const Pending& p : h.writes)
        if (Conflict(p, at, m, opaque)) Connect(p.at, at, root, true, false);
      h.reads.push_back({at, m.subset, opaque});
      return;
    }
    if (h.reads.size() + h.writes.size() > kMaxPending) {
      for (const Pending& p : h.reads)
        if (p.at != at) Connect(p.at, at, root, false, true);
      for (const Pending& p : h.writes)
        if (p.at != at) Connect(p.at, at, root, true, true);
      h.reads.clear();
      h.writes.assign(1, {at, {}, true});
      return;
    }
    for (auto* list : {&h.reads, &h.writes}) {
      for (const Pending& p : *list)
        if (Conflict(p, at, m, opaque)) Connect(p.at, at, root, list == &h.writes, true);
      // What a full write covers is ordered before everything that will conflict with it: through this statement.
      if (!m.full || opaque) continue;
      list->erase(
          std::remove_if(list->begin(), list->end(),
                         [&](const Pending& p) {
                           if (p.at == at || (!p.opaque && Overlaps(m.subset, p.subset, s_.assumptions) == Truth::kNo))
                             return false;
                           return p.opaque ? IsWhole(root, m.subset)
                                           : Covers(m.subset, p.subset, s_.assumptions) == Truth::kYes;
                         }),
          list->end());
    }
    h.writes.push_back({at, m.subset, opaque});
  }
  bool Conflict(const Pending& p, uint32_t at, const Memlet& m, bool opaque) const {
    return p.at != at && (opaque || p.opaque || Overlaps(p.subset, m.subset, s_.assumptions) != Truth::kNo);
  }
  bool IsWhole(Name n, const Subset& b) const {
    const Container& c = s_.Get(n);
    return Covers(b, FullSubset(c.shape), s_.assumptions) == Truth::kYes;
  }
  void Connect(uint32_t from, uint32_t to, Name container, bool from_writes, bool to_writes) {
    Dependence kind = from_writes ? (to_writes ? Dependence::kWriteAfterWrite : Dependence::kReadAfterWrite)
                                  : Dependence::kWriteAfterRead;
    // A read-after-write says more than the write-after-write of the same pair; reads are visited first.
    for (size_t k = edges_.size(); k-- > 0 && edges_[k].to == to;)
      if (edges_[k].from == from && edges_[k].container == container) return;
    edges_.push_back({from, to, container, kind});
  }
  void Symbols(uint32_t at, NodeId n, const std::vector<Memlet>& memlets, const std::unordered_set<Name>& defined) {
    std::unordered_set<Name> used;
    auto look = [&](const Expr& e) {
      Visit(e, [&](const Expr& x) {
        if (x.Is(ExprKind::kSymbol) && defined.count(x->name)) used.insert(x->name);
        return true;
      });
    };
    ForEachExpr(s_, n, look);
    for (const Memlet& m : memlets)
      for (const Expr& d : s_.Get(m.container).shape) look(d);
    for (Name u : used) {
      auto it = definer_.find(u);
      if (it != definer_.end() && it->second != at) Connect(it->second, at, u, true, false);
    }
    if (auto* l = std::get_if<Library>(&s_.nodes[n].body))
      for (Name d : l->defines) definer_[d] = at;
  }

  Callees callees_;
  const Sdfg& s_;
  const State& state_;
  std::unordered_map<Name, History> pending_;
  std::unordered_map<Name, uint32_t> definer_;
  std::vector<Edge> edges_;
};

}  // namespace

Name RootOf(const Sdfg& s, Name container) {
  for (int depth = 0; depth < 64; ++depth) {
    const Container* c = s.Find(container);
    if (!c || c->kind != ContainerKind::kView || c->base.empty()) return container;
    container = c->base;
  }
  return container;
}

std::vector<Touched> TouchedBy(const Sdfg& s, NodeId statement, Callees& callees) {
  Toucher t(s, callees);
  t.Statement(statement);
  return t.Take();
}
std::vector<Touched> TouchedBy(const Sdfg& s, BlockId block, Callees& callees) {
  Toucher t(s, callees);
  t.Block(block);
  return t.Take();
}
std::vector<Touched> TouchedBy(const Program& p, const Sdfg& s, NodeId statement) {
  Callees callees(p);
  return TouchedBy(s, statement, callees);
}
std::vector<Touched> TouchedBy(const Program& p, const Sdfg& s, BlockId block) {
  Callees callees(p);
  return TouchedBy(s, block, callees);
}

std::vector<Memlet> MemletsOf(const Sdfg& s, NodeId statement, Callees& callees) {
  Collector c(s, callees);
  c.Statement(statement);
  return c.Take();
}
std::vector<Memlet> MemletsOf(const Program& p, const Sdfg& s, NodeId statement) {
  Callees callees(p);
  return MemletsOf(s, statement, callees);
}

namespace {

std::vector<Memlet> MemletsOfBlock(const Sdfg& s, BlockId block, Callees& callees) {
  const Control& control = s.blocks[block].control;
  std::vector<Memlet> out;
  auto append = [&](std::vector<Memlet> more, bool certain, Name loop_var) {
    for (Memlet& m : more) {
      m.full &= certain;
      for (size_t i = 0; i < m.subset.dims.size() && !loop_var.empty(); ++i) {
        Range& r = m.subset.dims[i];
        bool moves = false;
        for (const Expr& e : {r.begin, r.end, r.step})
          Visit(e, [&](const Expr& x) {
            moves |= x.Is(ExprKind::kSymbol) && x->name == loop_var;
            return !moves;
          });
        if (moves) r = {Name(), Expr(0), s.Get(m.container).shape[i], Expr(1)};
      }
      out.push_back(std::move(m));
    }
  };
  auto reads = [&](const Expr& e) {
    Collector c(s, callees);
    c.Reads(e);
    append(c.Take(), true, Name());
  };
  if (auto* st = std::get_if<State>(&control)) {
    for (NodeId n : st->statements) append(MemletsOf(s, n, callees), true, Name());
  } else if (auto* l = std::get_if<Loop>(&control)) {
    for (const Expr* e : {&l->init, &l->condition, &l->update}) reads(*e);
    for (BlockId b : l->body) append(MemletsOfBlock(s, b, callees), false, l->var);
  } else if (auto* d = std::get_if<Conditional>(&control)) {
    for (const Branch& br : d->branches) {
      reads(br.condition);
      for (BlockId b : br.body) append(MemletsOfBlock(s, b, callees), false, Name());
    }
  } else if (auto* a = std::get_if<Assign>(&control)) {
    reads(a->value);
  }
  return out;
}

}  // namespace

std::vector<Memlet> MemletsOf(const Program& p, const Sdfg& s, BlockId block) {
  Callees callees(p);
  return MemletsOfBlock(s, block, callees);
}

std::vector<Edge> EdgesOf(const Program& p, const Sdfg& s, const State& state) {
  return EdgeBuilder(p, s, state).Build();
}

}  // namespace headrace
