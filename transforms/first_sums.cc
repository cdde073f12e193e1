#include "transforms/first_sums.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/analysis/dataflow.h"
#include "transforms/each_sdfg.h"
#include "transforms/whole.h"

namespace headrace {
namespace {

bool IsZero(const Expr& e) {
  if (e.Is(ExprKind::kCast)) return IsZero(e->args[0]);
  if (e.Is(ExprKind::kCall) && e->name == Name("complex")) return std::all_of(e->args.begin(), e->args.end(), IsZero);
  return AsInt(e) == 0 || (e.Is(ExprKind::kFloat) && e->fvalue == 0);
}

// How a map of tasklets uses an array: in which order, and whether always at the element that is the iteration's own.
struct Use {
  NodeId first, last;  // tasklets
  bool own = true;
  bool reads_first = false;  // the first reads it, otherwise than by adding to it
};

class Sums {
 public:
  Sums(const Program& p, Sdfg* s, const Ask& ask) : s_(*s), callees_(p), ask_(ask) {}

  bool Run() {
    std::vector<BlockId> states;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      if (std::holds_alternative<State>(s_.blocks[b].control)) states.push_back(b);
    });
    bool changed = false;
    for (BlockId b : states) {
      std::vector<NodeId> statements = std::get<State>(s_.blocks[b].control).statements;
      if (!InList(&statements)) continue;
      std::get<State>(s_.blocks.Mutable(b).control).statements = std::move(statements);
      changed = true;
    }
    return changed;
  }

 private:
  bool InList(std::vector<NodeId>* statements) {
    std::unordered_map<Name, size_t> last;  // statement that touched an array
    bool changed = false;
    for (size_t i = 0; i < statements->size(); ++i) {
      const std::vector<Touched> touched = TouchedBy(s_, (*statements)[i], callees_);
      for (const Touched& t : touched) {
        const auto before = last.find(t.root);
        if (before == last.end() || !AddsFirst((*statements)[i], t.root) || !LeavesZeros((*statements)[before->second], t.root)) continue;
        const NodeId zeros = (*statements)[before->second];
        if (!ask_(Match{s_.name, {zeros, (*statements)[i]}, {}, {t.root}, "", true})) continue;
        std::get<Tasklet>(s_.nodes.Mutable(UseOf((*statements)[i], t.root)->first).body).op = WriteOp::kAssign;
        Drop(zeros, UseOf(zeros, t.root)->last);
        changed = true;
      }
      for (const Touched& t : touched) last[t.root] = i;
    }
    if (changed)
      statements->erase(std::remove_if(statements->begin(), statements->end(),
                                       [&](NodeId n) { return std::holds_alternative<std::monostate>(s_.nodes[n].body); }),
                        statements->end());
    return changed;
  }

  bool AddsFirst(NodeId statement, Name root) const {
    const std::optional<Use> u = UseOf(statement, root);
    if (!u || !u->own || u->reads_first) return false;
    const Tasklet& t = std::get<Tasklet>(s_.nodes[u->first].body);
    return t.op == WriteOp::kAdd;
  }
  bool LeavesZeros(NodeId statement, Name root) const {
    const std::optional<Use> u = UseOf(statement, root);
    if (!u || !u->own) return false;
    const Tasklet& t = std::get<Tasklet>(s_.nodes[u->last].body);
    return t.op == WriteOp::kAssign && RootOf(s_, t.target) == root && IsZero(t.value);
  }

  // nullopt where the statement is no map of tasklets, or its iterations don't have an element each.
  std::optional<Use> UseOf(NodeId statement, Name root) const {
    const auto* m = std::get_if<Map>(&s_.nodes[statement].body);
    if (!m || m->schedule != Schedule::kDefault) return {};
    Use use;
    Name seen;
    std::vector<Expr> at;
    const auto note = [&](Name n, const std::vector<Expr>& index, bool plain) {
      if (RootOf(s_, n) != root) return false;
      use.own &= plain && (seen == Name() || (n == seen && index == at));
      seen = n, at = index;
      return true;
    };
    for (NodeId c : m->body) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[c].body);
      if (!t) return {};
      bool reads = false;
      const auto look = [&](const Expr& e) {
        Visit(e, [&](const Expr& x) {
          if (x.Is(ExprKind::kRead)) reads |= note(x->name, x->args, !x->flat && !x->has_default);
          return true;
        });
      };
      look(t->value);
      for (const Expr& e : t->index) look(e);
      const bool writes = note(t->target, t->index, !t->flat && !t->guarded);
      if (!reads && !writes) continue;
      if (!use.first.valid()) use.first = c, use.reads_first = reads || !writes;
      use.last = c;
    }
    if (!use.first.valid() || !use.own || !HasAll(s_.Get(seen), *m, at)) return {};
    return use;
  }

  bool HasAll(const Container& c, const Map& m, const std::vector<Expr>& index) const {
    return transforms::ShowsAll(s_, c) && transforms::HasOneEach(c, m, index);
  }

  void Drop(NodeId statement, NodeId tasklet) {
    Map m = std::get<Map>(s_.nodes[statement].body);
    m.body.erase(std::find(m.body.begin(), m.body.end(), tasklet));
    if (m.body.empty()) {
      s_.nodes.Mutable(statement).body = std::monostate();
      return;
    }
    if (m.body.size() == 2 && Forward(m.body[0], m.body[1])) m.body.erase(m.body.begin());
    s_.nodes.Mutable(statement).body = std::move(m);
  }
  // What a register hands on, as a copy is written.
  bool Forward(NodeId from, NodeId to) {
    const Tasklet& a = std::get<Tasklet>(s_.nodes[from].body);
    const Tasklet& b = std::get<Tasklet>(s_.nodes[to].body);
    const bool hands_on = s_.Get(a.target).storage == Storage::kRegister && a.op == WriteOp::kAssign && a.value.Is(ExprKind::kRead) &&
                          s_.Get(a.target).dtype == s_.Get(a.value->name).dtype && a.index.empty() && b.value == ReadExpr(a.target, {});
    if (!hands_on) return false;
    const Expr value = a.value;
    std::get<Tasklet>(s_.nodes.Mutable(to).body).value = value;
    return true;
  }

  Sdfg& s_;
  Callees callees_;
  const Ask& ask_;
};

}  // namespace

Result<bool> StoreFirstSums(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) { return Sums(p, s, ask).Run(); });
}

}  // namespace headrace
