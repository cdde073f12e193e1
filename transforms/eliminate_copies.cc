#include "transforms/eliminate_copies.h"

#include <algorithm>
#include <optional>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "transforms/dead_code.h"
#include "transforms/uses.h"
#include "transforms/whole.h"

namespace headrace {
namespace {

using transforms::Usage;
using transforms::UseIndex;

// What a statement copies as a whole, if that is all it does.
struct Copy {
  Name from, to;
  bool flat = false;
};

bool Same(const Expr& a, const Expr& b) { return a == b || ProveEq(a, b) == Truth::kYes; }

// The index runs over all of `dims`: each range once, over a whole dimension; what does not move stands at the 0 of a unit one.
bool Sweeps(const std::vector<Expr>& index, const std::vector<Expr>& dims, const std::vector<Range>& ranges) {
  std::vector<Name> seen;
  for (size_t i = 0; i < index.size(); ++i) {
    if (AsInt(index[i]) == 0 && AsInt(dims[i]) == 1) continue;
    if (!index[i].Is(ExprKind::kSymbol) || std::find(seen.begin(), seen.end(), index[i]->name) != seen.end())
      return false;
    auto r = std::find_if(ranges.begin(), ranges.end(), [&](const Range& x) { return x.index == index[i]->name; });
    if (r == ranges.end() || AsInt(r->begin) != 0 || !Same(r->end, dims[i]) || (r->step && AsInt(r->step) != 1))
      return false;
    seen.push_back(r->index);
  }
  return seen.size() == ranges.size();
}
std::vector<Name> Moving(const std::vector<Expr>& index) {
  std::vector<Name> out;
  for (const Expr& e : index)
    if (e.Is(ExprKind::kSymbol)) out.push_back(e->name);
  return out;
}

bool MovesElement(const Tasklet* t) {
  return t && t->op == WriteOp::kAssign && !t->guarded && t->value.Is(ExprKind::kRead) && !t->value->has_default;
}

// r = X[i, j]; Y[i, j] = r, with a register, which nothing else has.
std::optional<Tasklet> ByRegister(const Sdfg& s, const std::vector<NodeId>& body) {
  const auto *first = std::get_if<Tasklet>(&s.nodes[body[0]].body), *second = std::get_if<Tasklet>(&s.nodes[body[1]].body);
  if (!MovesElement(first) || !MovesElement(second) || second->value->name != first->target) return {};
  const Container& r = s.Get(first->target);
  if (r.storage != Storage::kRegister || !r.shape.empty() || r.dtype != s.Get(first->value->name).dtype) return {};
  Tasklet t = *second;
  t.value = first->value;
  return t;
}

std::optional<Copy> AsCopy(const Sdfg& s, NodeId id) {
  std::vector<Range> ranges;
  const Body* b = &s.nodes[id].body;
  std::optional<Tasklet> both;
  while (auto* m = std::get_if<Map>(b)) {
    ranges.insert(ranges.end(), m->ranges.begin(), m->ranges.end());
    if (m->body.size() == 2 && (both = ByRegister(s, m->body))) break;
    if (m->body.size() != 1) return {};
    b = &s.nodes[m->body[0]].body;
  }
  const Tasklet* t = both ? &*both : std::get_if<Tasklet>(b);
  if (!MovesElement(t)) return {};
  if (t->flat != t->value->flat) return {};
  const Container &to = s.Get(t->target), &from = s.Get(t->value->name);
  if (to.dtype != from.dtype || to.name == from.name || to.storage != from.storage || to.storage != Storage::kArena)
    return {};
  if (t->flat) {
    if (!Sweeps(t->index, {NumElements(to)}, ranges) || !Sweeps(t->value->args, {NumElements(from)}, ranges)) return {};
  } else {
    if (!Sweeps(t->index, to.shape, ranges) || !Sweeps(t->value->args, from.shape, ranges)) return {};
    if (Moving(t->index) != Moving(t->value->args)) return {};  // a permutation
  }
  bool same_shape =
      to.shape.size() == from.shape.size() && std::equal(to.shape.begin(), to.shape.end(), from.shape.begin(), Same);
  // Into all of an array, seen otherwise: a copy that changes the shape.
  if (const Name root = RootOf(s, to.name); root != to.name && root != from.name && from.row_major() && transforms::ShowsAll(s, to))
    return Copy{from.name, root, true};
  return Copy{from.name, to.name, !same_shape};
}

bool HasCopies(const Sdfg& s) {
  bool any = false;
  ForEachBlock(s, s.body, [&](BlockId b) {
    if (const auto* state = std::get_if<State>(&s.blocks[b].control); state && !any)
      any = std::any_of(state->statements.begin(), state->statements.end(), [&](NodeId n) { return AsCopy(s, n).has_value(); });
  });
  return any;
}

// Elements lie one after the other, so that a view of another shape is possible.
bool Contiguous(const Container& c) { return c.row_major(); }

// Arrays whose sizes the node that writes them finds: it brings their memory, so they can't lie in another one's.
std::unordered_set<Name> SizedByNodes(const Sdfg& s) {
  std::unordered_set<Name> out;
  ForEachNode(s, [&](NodeId n) {
    const auto* l = std::get_if<Library>(&s.nodes[n].body);
    if (!l || l->defines.empty()) return;
    for (const Port& port : l->outputs) {
      const Container* c = s.Find(port.container);
      if (!c) continue;
      const bool found = std::any_of(c->shape.begin(), c->shape.end(), [&](const Expr& d) {
        return std::any_of(l->defines.begin(), l->defines.end(), [&](Name symbol) { return Mentions(d, symbol); });
      });
      if (found) out.insert(port.container);
    }
  });
  return out;
}

class Eliminator {
 public:
  Eliminator(const Program& p, Sdfg* s, const Ask& ask) : s_(*s), ask_(ask), index_(p, *s), sized_(SizedByNodes(*s)) {}

  bool Run() {
    for (uint32_t at = 0; at < index_.positions().size(); ++at) {
      NodeId id = index_.positions()[at].statement;
      if (!id.valid()) continue;
      std::optional<Copy> c = AsCopy(s_, id);
      if (!c) continue;
      const bool forward = CanForward(*c, at);
      if ((!forward && !CanBackward(*c, at)) || !ask_(Match{s_.name, {id}, {}, {}, "", true})) continue;
      if (forward) Forward(*c, at);
      else Backward(*c, at);
      s_.nodes.Mutable(id).body = std::monostate{};
      changed_ = true;
    }
    if (!changed_) return false;
    transforms::RenameUses(&s_, renamed_);
    std::unordered_set<Name> dead;
    for (const auto& r : renamed_) dead.insert(r.first);
    transforms::RemoveContainers(&s_, dead);
    transforms::RemoveEmptied(&s_);
    OrderViews();
    return true;
  }

 private:
  Name Now(Name n) const {
    for (auto it = renamed_.find(n); it != renamed_.end(); it = renamed_.find(n)) n = it->second;
    return n;
  }
  // The array that holds the elements of n now, this pass's own views included.
  Name Root(Name n) const {
    for (int hops = 0; hops < 1000; ++hops) {
      n = Now(n);
      const Container* c = s_.Find(n);
      if (!c || c->kind != ContainerKind::kView) return n;
      n = c->base;
    }
    return n;
  }
  bool IsTransient(Name n) const {
    const Container* c = s_.Find(n);
    return c && c->kind == ContainerKind::kTransient && c->storage == Storage::kArena;
  }
  // A loop may come back to `at`: fine as long as all uses lie within one round of it.
  bool WrittenOnlyAt(const Usage& u, uint32_t at) const { return u.writes.size() == 1 && u.writes[0] == at; }

  // Y's readers read X instead: Y is written here only, and X keeps its value until Y's last use.
  bool CanForward(const Copy& c, uint32_t at) const {
    Name x = Root(c.from), y = Now(c.to);
    if (!IsTransient(y) || x == y) return false;
    const Usage &from = index_.Of(x), to = index_.Of(y);
    if (!WrittenOnlyAt(to, at) || to.First() != at || !index_.Inside(to, at)) return false;
    if (from.WrittenBetween(at, index_.LastRound(to, at))) return false;
    const Container& source = s_.Get(Now(c.from));
    return ((!c.flat && !to.viewed) || Contiguous(source)) && Contiguous(s_.Get(y)) && !source.optional;
  }
  void Forward(const Copy& c, uint32_t at) {
    const Name y = Now(c.to);
    Merge(Root(c.from), y, at);
    if (c.flat) MakeView(y, Now(c.from));
    else renamed_[y] = Now(c.from);
  }

  // X's writers write Y instead: X has no other life than to become Y, and nobody looks at Y before.
  bool CanBackward(const Copy& c, uint32_t at) const {
    Name x = Now(c.from), y = Root(c.to);
    if (!IsTransient(x) || x == y || !(Now(c.to) == y)) return false;
    const Container& target = s_.Get(y);
    if (target.kind != ContainerKind::kParameter && target.kind != ContainerKind::kTransient) return false;
    const Usage from = index_.Of(x), &to = index_.Of(y);
    if (!WrittenOnlyAt(to, at) || to.First() != at) return false;
    if (!index_.Inside(from, at)) return false;
    // Reads of Y that come earlier in the next round of a loop would see X half done.
    if (index_.positions()[at].region >= 0 && !(target.kind == ContainerKind::kTransient && index_.Inside(to, at)))
      return false;
    if (from.WrittenBetween(at, from.Last())) return false;
    if (target.inout || !Contiguous(target) || !Contiguous(s_.Get(x)) || (c.flat && sized_.count(x))) return false;
    // The sizes of Y must be known where X is first written; those of a parameter are from the start.
    return target.kind != ContainerKind::kTransient || target.shape.size() == s_.Get(x).shape.size();
  }
  void Backward(const Copy& c, uint32_t at) {
    const Name x = Now(c.from), y = Root(c.to);
    Merge(y, x, at);
    if (c.flat) MakeView(x, y);
    else renamed_[x] = y;
  }

  // The uses of `gone` become uses of `kept`; the copy itself is neither.
  void Merge(Name kept, Name gone, uint32_t at) {
    Usage u = index_.Of(gone);
    Usage& k = index_.Mutable(kept);
    auto join = [&](std::vector<uint32_t>* into, std::vector<uint32_t> more) {
      more.erase(std::remove(more.begin(), more.end(), at), more.end());
      into->erase(std::remove(into->begin(), into->end(), at), into->end());
      // Long-lived inputs gather many readers: append, and merge only when out of order.
      size_t middle = into->size();
      into->insert(into->end(), more.begin(), more.end());
      if (middle > 0 && middle < into->size() && (*into)[middle - 1] > (*into)[middle])
        std::inplace_merge(into->begin(), into->begin() + middle, into->end());
    };
    join(&k.reads, std::move(u.reads));
    join(&k.writes, std::move(u.writes));
    k.viewed |= u.viewed;
  }

  void MakeView(Name n, Name base) {
    Container& c = s_.Mutable(n);
    c.kind = ContainerKind::kView;
    c.base = base;
    c.offset = Expr();
    c.MakeRowMajor();
    made_views_ = true;
  }
  // A view stands after its base.
  void OrderViews() {
    if (!made_views_) return;
    std::vector<Name> order;
    std::unordered_set<Name> done;
    auto put = [&](auto&& self, Name n, int depth) -> void {
      const Container* c = s_.Find(n);
      if (!c || done.count(n) || depth > 1000) return;
      if (c->kind == ContainerKind::kView) self(self, c->base, depth + 1);
      if (done.insert(n).second) order.push_back(n);
    };
    for (Name n : s_.order) put(put, n, 0);
    s_.order = std::move(order);
  }

  Sdfg& s_;
  const Ask& ask_;
  UseIndex index_;
  const std::unordered_set<Name> sized_;
  std::unordered_map<Name, Name> renamed_;
  bool changed_ = false, made_views_ = false;
};

}  // namespace

Result<bool> EliminateCopies(Program& p, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i)
    if (!p.sdfgs[i]->kernel && HasCopies(*p.sdfgs[i]) && Eliminator(p, &p.Mutable(p.sdfgs[i]->name), ask).Run()) {
      KeepOutputs(p, &p.Mutable(p.sdfgs[i]->name));
      changed = true;
    }
  return changed;
}

}  // namespace headrace
