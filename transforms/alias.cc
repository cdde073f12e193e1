#include "transforms/alias.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/analysis/arena.h"
#include "ir/analysis/dataflow.h"
#include "ir/registry/call_contract.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

using transforms::UseIndex;

// A statement of maps and tasklets, and what it says of a container.
class Nest {
 public:
  Nest(const Sdfg& s, NodeId top) : s_(s) { plain_ = Walk(top, {}); }
  bool plain() const { return plain_; }

  struct Write {
    Name target;
    NodeId body;  // the map around it
    size_t at;    // in that body
    std::vector<Expr> index;
  };
  // Writes that give each iteration an element of its own.
  const std::vector<Write>& writes() const { return writes_; }
  // Is every access of `c` that element, read before it is written or while it is, or, of the target itself, after?
  bool OnlyBeside(Name c, const Write& w) const {
    return std::all_of(accesses_.begin(), accesses_.end(), [&](const Access& a) {
      if (RootOf(s_, a.container) != c) return true;
      const bool same = a.container == c && a.exact && a.body == w.body && a.index == w.index;
      if (c == w.target) return same && (a.at >= w.at) && (!a.write || a.at == w.at);
      return same && !a.write && a.at <= w.at;
    });
  }
  std::vector<Name> ReadAt(const Write& w) const {
    std::vector<Name> out;
    for (const Access& a : accesses_)
      if (!a.write && a.body == w.body && std::find(out.begin(), out.end(), a.container) == out.end())
        out.push_back(a.container);
    return out;
  }

 private:
  struct Access {
    Name container;
    NodeId body;
    size_t at;
    std::vector<Expr> index;
    bool exact, write;  // exact: at this very index
  };

  bool Walk(NodeId n, std::vector<Name> indices) {
    const auto* m = std::get_if<Map>(&s_.nodes[n].body);
    if (!m || m->schedule != Schedule::kDefault) return false;
    for (const Range& r : m->ranges) {
      for (const Expr& e : {r.begin, r.end, r.step})
        if (e && !ReadContainers(e).empty()) return false;
      indices.push_back(r.index);
    }
    for (size_t at = 0; at < m->body.size(); ++at) {
      const Body& b = s_.nodes[m->body[at]].body;
      if (const auto* t = std::get_if<Tasklet>(&b)) Statement(*t, n, at, indices);
      else if (std::holds_alternative<Map>(b) && !Walk(m->body[at], indices)) return false;
      else if (!std::holds_alternative<Map>(b) && !std::holds_alternative<std::monostate>(b)) return false;
    }
    return true;
  }
  void Statement(const Tasklet& t, NodeId body, size_t at, const std::vector<Name>& indices) {
    const auto reads = [&](const Expr& e) {
      Visit(e, [&](const Expr& x) {
        if (x.Is(ExprKind::kRead)) accesses_.push_back({x->name, body, at, x->args, !x->flat && !x->has_default, false});
        return true;
      });
    };
    reads(t.value);
    for (const Expr& e : t.index) reads(e);
    const bool exact = !t.flat && !t.guarded && t.op == WriteOp::kAssign;
    accesses_.push_back({t.target, body, at, t.index, exact, true});
    if (exact && EachItsOwn(t.index, indices)) writes_.push_back({t.target, body, at, t.index});
  }
  // Every index of the maps around stands alone in one dimension.
  static bool EachItsOwn(const std::vector<Expr>& index, const std::vector<Name>& indices) {
    std::set<Name> seen;
    for (const Expr& e : index)
      if (e.Is(ExprKind::kSymbol)) seen.insert(e->name);
      else if (!AsInt(e)) return false;
    return std::all_of(indices.begin(), indices.end(), [&](Name n) { return seen.count(n) > 0; }) &&
           std::set<Name>(indices.begin(), indices.end()).size() == indices.size();
  }

  const Sdfg& s_;
  bool plain_;
  std::vector<Write> writes_;
  std::vector<Access> accesses_;
};

class InPlace {
 public:
  InPlace(const Program& p, const Registry& r, Sdfg* s, const Ask& ask) : r_(r), s_(*s), ask_(ask), index_(p, *s) {}

  bool Run() {
    for (uint32_t at = 0; at < index_.positions().size(); ++at) {
      const UseIndex::Position& place = index_.positions()[at];
      if (!place.statement.valid() || InLoop(place.region)) continue;
      const Body& b = s_.nodes[place.statement].body;
      if (std::holds_alternative<Map>(b)) Statement(place.statement, at);
      else if (const auto* l = std::get_if<Library>(&b)) Call(place.statement, *l, at);
    }
    if (renamed_.empty()) return false;
    transforms::RenameUses(&s_, renamed_);
    std::unordered_set<Name> gone;
    for (const auto& r : renamed_) gone.insert(r.first);
    transforms::RemoveContainers(&s_, gone);
    return true;
  }

 private:
  bool InLoop(int region) const {
    for (; region >= 0; region = index_.regions()[region].parent)
      if (index_.regions()[region].loop) return true;
    return false;
  }
  void Statement(NodeId id, uint32_t at) {
    const Nest nest(s_, id);
    if (!nest.plain()) return;
    std::set<Name> taken;  // each array once
    for (const Nest::Write& w : nest.writes()) {
      const Container& to = s_.Get(w.target);
      if (!MayLieInArena(to) || index_.Of(to.name).First() != at || index_.Of(to.name).viewed) continue;
      if (!nest.OnlyBeside(to.name, w)) continue;
      for (Name n : nest.ReadAt(w)) {
        const Container& from = s_.Get(n);
        const bool free = n != to.name && !taken.count(n) && index_.Of(n).Last() == at;
        if (!free || !Alike(from, to) || !nest.OnlyBeside(n, w)) continue;
        if (ask_(Match{s_.name, {id}, {}, {to.name}, "", true})) renamed_[to.name] = n, taken.insert(n);
        break;
      }
    }
  }
  // The pairs of ports that the function called can do without a second array for.
  void Call(NodeId id, const Library& l, uint32_t at) {
    const ExternalFunction* f = FunctionOf(r_, l);
    std::set<Name> taken;
    for (size_t k = 0; f && k < f->in_place.size(); ++k) {
      const Name to = ContainerAt(l.outputs, f->in_place[k].first), from = ContainerAt(l.inputs, f->in_place[k].second);
      if (to.empty() || from.empty() || to == from || taken.count(from) || renamed_.count(to)) continue;
      const auto uses = [&](Name n) {
        size_t count = 0;
        for (const auto* ports : {&l.inputs, &l.outputs})
          for (const Port& p : *ports) count += !p.container.empty() && RootOf(s_, p.container) == n;
        return count;
      };
      const bool fresh = MayLieInArena(s_.Get(to)) && index_.Of(to).First() == at && !index_.Of(to).viewed && uses(to) == 1;
      const bool free = index_.Of(from).Last() == at && !index_.Of(from).viewed && uses(from) == 1;
      if (!fresh || !free || !Alike(s_.Get(from), s_.Get(to)) || !ask_(Match{s_.name, {id}, {}, {to}, "", true})) continue;
      renamed_[to] = from, taken.insert(from);
    }
  }
  static Name ContainerAt(const std::vector<Port>& ports, const std::string& name) {
    for (const Port& p : ports)
      if (p.name == Name(name)) return p.container;
    return Name();
  }
  static bool Alike(const Container& a, const Container& b) {
    return MayLieInArena(a) && a.dtype == b.dtype && a.storage == b.storage && a.shape == b.shape &&
           a.strides == b.strides;
  }

  const Registry& r_;
  Sdfg& s_;
  const Ask& ask_;
  UseIndex index_;
  std::unordered_map<Name, Name> renamed_;
};

}  // namespace

Result<bool> Alias(Program& p, const Registry& r, const Ask& ask) {
  bool changed = false;
  for (const std::shared_ptr<Sdfg>& shared : std::vector<std::shared_ptr<Sdfg>>(p.sdfgs)) {
    if (shared->kernel) continue;
    Sdfg s = *shared;
    if (!InPlace(p, r, &s, ask).Run()) continue;
    p.Mutable(shared->name) = std::move(s);
    changed = true;
  }
  return changed;
}

}  // namespace headrace
