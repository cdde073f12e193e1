#include "transforms/uses.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"

namespace headrace::transforms {

uint32_t Usage::First() const {
  uint32_t f = ~0u;
  if (!reads.empty()) f = std::min(f, reads.front());
  if (!writes.empty()) f = std::min(f, writes.front());
  return f;
}
uint32_t Usage::Last() const {
  uint32_t l = 0;
  if (!reads.empty()) l = std::max(l, reads.back());
  if (!writes.empty()) l = std::max(l, writes.back());
  return l;
}
bool Usage::WrittenBetween(uint32_t after, uint32_t until) const {
  auto it = std::upper_bound(writes.begin(), writes.end(), after);
  return it != writes.end() && *it <= until;
}

UseIndex::UseIndex(const Program& p, const Sdfg& s) {
  usage_.Reserve(s.order.size());
  Callees callees(p);
  Walk(s, s.body, -1, callees);
  for (Name n : s.order) {
    const Container* c = s.Find(n);
    if (c && c->kind == ContainerKind::kView) usage_[RootOf(s, n)].viewed = true;
  }
}

void UseIndex::Walk(const Sdfg& s, const std::vector<BlockId>& body, int region, Callees& callees) {
  auto use = [&](const std::vector<Touched>& touched, uint32_t at) {
    for (const Touched& t : touched) {
      Usage& u = usage_[t.root];
      if (t.read && (u.reads.empty() || u.reads.back() != at)) u.reads.push_back(at);
      if (t.write && (u.writes.empty() || u.writes.back() != at)) u.writes.push_back(at);
    }
  };
  auto control = [&](BlockId b, const Expr& e) {
    uint32_t at = positions_.size();
    positions_.push_back({{}, b, region});
    if (!e) return;
    std::vector<Touched> touched;
    for (Name n : ReadContainers(e)) touched.push_back({RootOf(s, n), true, false});
    use(touched, at);
  };
  auto inside = [&](const std::vector<BlockId>& inner, bool loop, BlockId b, const Expr& at_start, const Expr& at_end) {
    int r = static_cast<int>(regions_.size());
    regions_.push_back({static_cast<uint32_t>(positions_.size()), 0, region, loop});
    int saved = region;
    region = r;
    if (at_start) control(b, at_start);
    Walk(s, inner, r, callees);
    if (at_end) control(b, at_end);
    region = saved;
    regions_[r].end = positions_.size();
  };
  for (BlockId b : body) {
    const Control& c = s.blocks[b].control;
    if (auto* st = std::get_if<State>(&c)) {
      for (NodeId n : st->statements) {
        uint32_t at = positions_.size();
        positions_.push_back({n, b, region});
        use(TouchedBy(s, n, callees), at);
      }
    } else if (auto* l = std::get_if<Loop>(&c)) {
      control(b, l->init);
      // Condition and update run every time round: they belong to the body, the condition at both ends.
      Expr at_end = l->update;
      if (l->condition) at_end = at_end ? BinaryExpr(Op::kAnd, at_end, l->condition) : l->condition;
      inside(l->body, true, b, l->condition, at_end);
    } else if (auto* d = std::get_if<Conditional>(&c)) {
      for (const Branch& br : d->branches) control(b, br.condition);
      for (const Branch& br : d->branches) inside(br.body, false, b, {}, {});
    } else if (auto* a = std::get_if<Assign>(&c)) {
      control(b, a->value);
    }
  }
}

const Usage& UseIndex::Of(Name root) const {
  static const Usage* none = new Usage;
  const Usage* usage = usage_.Find(root);
  return usage ? *usage : *none;
}

bool UseIndex::Inside(const Usage& u, uint32_t at) const {
  int r = positions_[at].region;
  return r < 0 || (u.First() >= regions_[r].begin && u.Last() < regions_[r].end);
}

uint32_t UseIndex::LastRound(const Usage& u, uint32_t at) const {
  uint32_t last = u.Last();
  auto look = [&](uint32_t use) {
    for (int r = positions_[use].region; r >= 0; r = regions_[r].parent) {
      if (at >= regions_[r].begin && at < regions_[r].end) break;  // around both
      if (regions_[r].loop) last = std::max(last, regions_[r].end - 1);
    }
  };
  for (uint32_t use : u.reads) look(use);
  for (uint32_t use : u.writes) look(use);
  return last;
}

namespace {

Name Resolve(const std::unordered_map<Name, Name>& names, Name n) {
  for (auto it = names.find(n); it != names.end(); it = names.find(n)) n = it->second;
  return n;
}

}  // namespace

std::unordered_map<Name, int> CountWrites(const Program& p, const Sdfg& s) {
  std::unordered_map<Name, int> count;
  Callees callees(p);
  ForEachBlock(s, s.body, [&](BlockId b) {
    if (auto* state = std::get_if<State>(&s.blocks[b].control))
      for (NodeId n : state->statements)
        for (const Touched& t : TouchedBy(s, n, callees))
          if (t.write) ++count[t.root];
  });
  return count;
}

void RenameUses(Sdfg* s, const std::unordered_map<Name, Name>& names) {
  if (names.empty()) return;
  ByName<Name> table;  // what they are called in the end
  table.Reserve(names.size());
  for (const auto& [from, to] : names) table[from] = Resolve(names, to);
  auto resolved = [&](Name n) {
    const Name* to = table.Find(n);
    return to ? *to : n;
  };
  auto is_renamed = [&](Name n) { return table.NumberOf(n) != ByName<Name>::kNone; };
  auto stale = [&](const Expr& e) {
    bool found = false;
    Visit(e, [&](const Expr& x) {
      found |= x.Is(ExprKind::kRead) && is_renamed(x->name);
      return !found;
    });
    return found;
  };
  auto renamed = [&](const Expr& e) {
    std::vector<std::pair<Name, Name>> list;
    for (Name n : ReadContainers(e))
      if (const Name* to = table.Find(n)) list.push_back({n, *to});
    return RenameContainers(e, list);
  };
  auto fix = [&](Expr& e) {
    if (e && stale(e)) e = renamed(e);
  };
  for (uint32_t i = 0; i < s->nodes.size(); ++i) {
    NodeId id{i};
    const Body& b = s->nodes[id].body;
    if (auto* t = std::get_if<Tasklet>(&b)) {
      bool change = is_renamed(t->target) || stale(t->value);
      for (const Expr& e : t->index) change |= stale(e);
      if (!change) continue;
      Tasklet& m = std::get<Tasklet>(s->nodes.Mutable(id).body);
      m.target = resolved(m.target);
      fix(m.value);
      for (Expr& e : m.index) fix(e);
    } else if (auto* l = std::get_if<Library>(&b)) {
      bool change = false;
      for (const auto* ports : {&l->inputs, &l->outputs})
        for (const Port& p : *ports) change |= is_renamed(p.container);
      if (!change) continue;
      Library& m = std::get<Library>(s->nodes.Mutable(id).body);
      for (auto* ports : {&m.inputs, &m.outputs})
        for (Port& p : *ports) p.container = resolved(p.container);
    } else if (std::holds_alternative<Nested>(b)) {
      Nested& m = std::get<Nested>(s->nodes.Mutable(id).body);
      for (Argument& a : m.arguments) {
        a.container = resolved(a.container);
        for (Expr& e : a.index) fix(e);
      }
      for (auto& v : m.symbols) fix(v.second);
    } else if (auto* m = std::get_if<Map>(&b)) {
      bool change = false;
      for (const Range& r : m->ranges) change |= stale(r.begin) || stale(r.end);
      if (!change) continue;
      for (Range& r : std::get<Map>(s->nodes.Mutable(id).body).ranges) fix(r.begin), fix(r.end);
    }
  }
  for (uint32_t i = 0; i < s->blocks.size(); ++i) {
    BlockId id{i};
    const Control& c = s->blocks[id].control;
    if (std::holds_alternative<Loop>(c)) {
      Loop& l = std::get<Loop>(s->blocks.Mutable(id).control);
      fix(l.init), fix(l.condition), fix(l.update);
    } else if (std::holds_alternative<Conditional>(c)) {
      for (Branch& br : std::get<Conditional>(s->blocks.Mutable(id).control).branches) fix(br.condition);
    } else if (std::holds_alternative<Assign>(c)) {
      fix(std::get<Assign>(s->blocks.Mutable(id).control).value);
    }
  }
  for (Name n : s->order) {
    const Container* c = s->Find(n);
    if (c && c->kind == ContainerKind::kView && is_renamed(c->base)) s->Mutable(n).base = resolved(c->base);
  }
}

namespace {

// Whether the statement still has content; prunes map bodies.
bool Alive(Sdfg* s, NodeId id) {
  const Body& b = s->nodes[id].body;
  if (std::holds_alternative<std::monostate>(b)) return false;
  if (!std::holds_alternative<Map>(b)) return true;
  std::vector<NodeId> kept;
  const std::vector<NodeId> body = std::get<Map>(b).body;
  for (NodeId n : body)
    if (Alive(s, n)) kept.push_back(n);
  if (kept.empty()) {
    s->nodes.Mutable(id).body = std::monostate{};
    return false;
  }
  if (kept.size() != body.size()) std::get<Map>(s->nodes.Mutable(id).body).body = std::move(kept);
  return true;
}

}  // namespace

void RemoveEmptied(Sdfg* s) {
  std::vector<BlockId> states;
  ForEachBlock(*s, s->body, [&](BlockId b) {
    if (std::holds_alternative<State>(s->blocks[b].control)) states.push_back(b);
  });
  for (BlockId b : states) {
    const std::vector<NodeId> all = std::get<State>(s->blocks[b].control).statements;
    std::vector<NodeId> kept;
    for (NodeId n : all)
      if (Alive(s, n)) kept.push_back(n);
    if (kept.size() != all.size()) std::get<State>(s->blocks.Mutable(b).control).statements = std::move(kept);
  }
}

void RemoveContainers(Sdfg* s, const std::unordered_set<Name>& dead) {
  if (dead.empty()) return;
  for (Name n : dead) s->containers.Erase(n);
  auto gone = [&](Name n) { return dead.count(n) > 0; };
  s->order.erase(std::remove_if(s->order.begin(), s->order.end(), gone), s->order.end());
}

}  // namespace headrace::transforms
