#include "transforms/dead_stores.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ir/analysis/dataflow.h"
#include "transforms/by_name.h"
#include "transforms/dead_code.h"
#include "transforms/each_sdfg.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

// From the last statement to the first, with what is read after each.
class Stores {
 public:
  Stores(const Program& p, Sdfg* s, const Ask& ask) : p_(p), s_(*s), ask_(ask) {}

  bool Run() {
    for (Name n : s_.order) {
      const Container& c = s_.Get(n);
      own_.push_back(c.kind == ContainerKind::kTransient && c.storage == Storage::kArena);
      arrays_[n].root = c.kind == ContainerKind::kView ? RootOf(s_, n) : n;
    }
    CountWriters();
    if (!AnyAgain()) return false;  // what is written once is for eliminate-dead-code
    for (size_t i = s_.body.size(); i-- > 0;) {
      const Control& c = s_.blocks[s_.body[i]].control;
      if (const auto* state = std::get_if<State>(&c)) {
        const std::vector<NodeId> statements = state->statements;
        for (size_t k = statements.size(); k-- > 0;) Statement(statements[k]);
      } else {
        for (const Touched& t : TouchedBy(s_, s_.body[i], callees_))
          if (t.read) read_.insert(t.root);
        Inside({s_.body[i]});
      }
    }
    if (changed_) transforms::RemoveEmptied(&s_);
    return changed_;
  }

 private:
  void CountWriters() {
    for (BlockId b : s_.body) {
      if (const auto* state = std::get_if<State>(&s_.blocks[b].control)) {
        for (NodeId n : state->statements) ++turn_, CountWrites(n);
      } else {
        ++turn_;
        for (const Touched& t : TouchedBy(s_, b, callees_))
          if (t.write) CountWrite(t.root);
      }
    }
  }
  // Without a look at what is read: that is most of a statement.
  void CountWrites(NodeId n) {
    const Body& body = s_.nodes[n].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) {
      CountWrite(t->target);
    } else if (const auto* l = std::get_if<Library>(&body)) {
      for (const Port& port : l->outputs) CountWrite(port.container);
    } else if (std::holds_alternative<Nested>(body)) {
      for (const Touched& t : TouchedBy(s_, n, callees_))
        if (t.write) CountWrite(t.root);
    }
    ForEachBody(body, [&](const std::vector<NodeId>& inside) {
      for (NodeId c : inside) CountWrites(c);
    });
  }
  void CountWrite(Name container) {
    Array* root = arrays_.Find(container);
    if (root && root->root != container) root = arrays_.Find(root->root);
    if (root && std::exchange(root->last, turn_) != turn_) ++root->writers;
  }

  bool IsOwn(Name root) const {
    const uint32_t number = arrays_.NumberOf(root);
    return number != Arrays::kNone && own_[number];
  }
  int WritersOf(Name root) const {
    const Array* a = arrays_.Find(root);
    return a ? a->writers : 0;
  }
  bool AnyAgain() const {
    for (uint32_t i = 0; i < arrays_.size(); ++i)
      if (own_[i] && arrays_.At(i).writers > 1) return true;
    return false;
  }

  void Reads(const Expr& e) {
    for (Name n : ReadContainers(e)) read_.insert(RootOf(s_, n));
  }
  void Inside(const std::vector<BlockId>& body) {
    ForEachBlock(s_, body, [&](BlockId b) {
      const Control& c = s_.blocks[b].control;
      if (const auto* l = std::get_if<Loop>(&c)) Reads(l->init), Reads(l->condition), Reads(l->update);
      if (const auto* d = std::get_if<Conditional>(&c))
        for (const Branch& br : d->branches) Reads(br.condition);
      if (const auto* a = std::get_if<Assign>(&c)) Reads(a->value);
      if (const auto* state = std::get_if<State>(&c))
        for (NodeId n : state->statements) Accumulates(n);
    });
  }
  // What is added to is read.
  void Accumulates(NodeId n) {
    const Body& body = s_.nodes[n].body;
    if (const auto* t = std::get_if<Tasklet>(&body); t && t->op != WriteOp::kAssign) read_.insert(RootOf(s_, t->target));
    ForEachBody(body, [&](const std::vector<NodeId>& inside) {
      for (NodeId c : inside) Accumulates(c);
    });
  }

  // What is called for what it does, or gives sizes, has a result that no container shows.
  bool OnlyStores(NodeId n) const {
    const Body& body = s_.nodes[n].body;
    if (const auto* m = std::get_if<Map>(&body))
      return std::all_of(m->body.begin(), m->body.end(), [&](NodeId c) { return OnlyStores(c); });
    return std::holds_alternative<Tasklet>(body);
  }

  void Statement(NodeId n) {
    const std::vector<Touched> touched = TouchedBy(s_, n, callees_);
    bool writes = false, dead = true, again = false;
    for (const Touched& t : touched) {
      writes |= t.write;
      if (t.write) dead = dead && IsOwn(t.root) && !read_.count(t.root), again |= WritersOf(t.root) > 1;
    }
    if (writes && dead && again && OnlyStores(n) && ask_(Match{s_.name, {n}, {}, {}, "", true})) {
      s_.nodes.Mutable(n).body = std::monostate{};
      changed_ = true;
      return;
    }
    if (again)
      for (const Touched& t : touched)
        if (t.write && !t.read && read_.count(t.root) && IsOwn(t.root) && Overwrites(n, t.root)) read_.erase(t.root);
    for (const Touched& t : touched)
      if (t.read) read_.insert(t.root);
    Accumulates(n);
  }

  // Every element, whatever there was before.
  bool Overwrites(NodeId n, Name root) const {
    const Container& c = s_.Get(root);
    for (const Memlet& m : MemletsOf(s_, n, callees_)) {
      if (m.container != root || !m.write || m.op != WriteOp::kAssign || !m.full || m.dynamic) continue;
      bool all = m.subset.dims.size() == c.shape.size();
      for (size_t d = 0; all && d < c.shape.size(); ++d) {
        const Range& r = m.subset.dims[d];
        all = AsInt(r.begin) == 0 && r.end == c.shape[d] && (!r.step || AsInt(r.step) == 1);
      }
      if (all) return true;
    }
    return false;
  }

  const Program& p_;
  mutable Callees callees_{p_};
  Sdfg& s_;
  const Ask& ask_;
  struct Array {
    Name root;        // itself, but for views
    int writers = 0;  // statements and blocks
    uint32_t last = 0;  // the turn of the last of them
  };
  using Arrays = transforms::ByName<Array>;
  Arrays arrays_;
  std::vector<char> own_;  // by number
  uint32_t turn_ = 0;
  std::unordered_set<Name> read_;
  bool changed_ = false;
};

}  // namespace

Result<bool> EliminateDeadStores(Program& p, const Ask& ask) {
  const Program before = p;
  return transforms::ChangeEach(p, [&](Sdfg* s) {
    const bool changed = Stores(before, s, ask).Run();
    if (changed) KeepOutputs(before, s);
    return changed;
  });
}

}  // namespace headrace
