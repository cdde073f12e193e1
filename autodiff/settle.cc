// The first contribution to an adjoint need not be added to zeros when it covers the whole of it.
#include <algorithm>

#include "autodiff/reverse.h"

namespace headrace::autodiff {
namespace {

// The only accumulation into `g` in statement n, when it hits every element exactly once and n doesn't touch `g` otherwise.
NodeId OnlyFullAccumulation(const Program& p, const Sdfg& s, NodeId n, Name g) {
  NodeId found;
  bool good = true;
  std::vector<Range> ranges;
  std::function<void(NodeId)> walk = [&](NodeId id) {
    const Body& b = s.nodes[id].body;
    if (auto* m = std::get_if<Map>(&b)) {
      ranges.insert(ranges.end(), m->ranges.begin(), m->ranges.end());
      for (NodeId c : m->body) walk(c);
      ranges.resize(ranges.size() - m->ranges.size());
    } else if (auto* t = std::get_if<Tasklet>(&b)) {
      for (Name r : ReadContainers(t->value)) good &= RootOf(s, r) != g;
      for (const Expr& e : t->index)
        for (Name r : ReadContainers(e)) good &= RootOf(s, r) != g;
      if (RootOf(s, t->target) != g) return;
      good &= !found.valid() && t->target == g && t->op == WriteOp::kAdd && !t->guarded && !t->flat;
      good &= good && (ranges.empty() ? t->index.empty() : IsInjective(ranges, t->index, s.assumptions) == Truth::kYes);
      found = id;
    } else {
      good = false;
    }
  };
  walk(n);
  if (!good || !found.valid()) return {};
  for (const Memlet& m : MemletsOf(p, s, n)) {
    if (m.container != g) continue;
    if (!m.write || !m.full || Covers(m.subset, FullSubset(s.Get(g).shape), s.assumptions) != Truth::kYes) return {};
  }
  return found;
}

// The gradient node or call in `statements` whose output is read by `total += part` alone: where it names that output.
Name* OutputOf(Sdfg* s, const std::vector<NodeId>& statements, Name part) {
  for (NodeId n : statements) {
    const Body& body = s->nodes[n].body;
    if (auto* l = std::get_if<Library>(&body)) {
      for (size_t k = 0; k < l->outputs.size(); ++k)
        if (l->outputs[k].container == part) return &std::get<Library>(s->nodes.Mutable(n).body).outputs[k].container;
    } else if (auto* call = std::get_if<Nested>(&body)) {
      for (size_t k = 0; k < call->arguments.size(); ++k)
        if (call->arguments[k].container == part) return &std::get<Nested>(s->nodes.Mutable(n).body).arguments[k].container;
    }
  }
  return nullptr;
}

}  // namespace

// `zeros`: adjoint → the statement in `start` that clears it. Statements no longer needed are emptied.
void Reversal::Settle(const std::vector<BlockId>& backward, std::unordered_map<Name, NodeId> zeros) {
  std::unordered_set<Name> touched;
  for (BlockId b : backward) {
    auto* st = std::get_if<State>(&s_.blocks[b].control);
    if (!st) {
      for (const Touched& t : TouchedBy(*p_, s_, b)) touched.insert(t.root);
      continue;
    }
    const std::vector<NodeId> statements = st->statements;
    std::vector<NodeId> kept;
    for (NodeId n : statements) {
      std::vector<Touched> here = TouchedBy(*p_, s_, n);
      bool dropped = false;
      for (const Touched& t : here) {
        if (!t.write || touched.count(t.root) || !zeros.count(t.root)) continue;
        NodeId leaf = OnlyFullAccumulation(*p_, s_, n, t.root);
        if (!leaf.valid()) continue;
        Tasklet& tasklet = std::get<Tasklet>(s_.nodes.Mutable(leaf).body);
        tasklet.op = WriteOp::kAssign;
        cleared_.insert(zeros[t.root].value);
        // A gradient node may write there itself.
        auto part = partial_.find(n.value);
        Name* output = part == partial_.end() ? nullptr : OutputOf(&s_, statements, part->second);
        if (!output) continue;
        *output = t.root;
        dropped = true;
      }
      for (const Touched& t : here) touched.insert(t.root);
      if (!dropped) kept.push_back(n);
    }
    if (kept.size() != statements.size()) std::get<State>(s_.blocks.Mutable(b).control).statements = kept;
  }
}

}  // namespace headrace::autodiff
