#include <unordered_map>
#include <unordered_set>

#include "transforms/loop_privates.h"
#include "transforms/loop_to_map.h"

namespace headrace {
namespace {

// In how many tasklets of a nest of maps each container occurs.
void CountTasklets(const Sdfg& s, NodeId n, std::unordered_map<Name, int>* tasklets) {
  const Body& body = s.nodes[n].body;
  if (const auto* m = std::get_if<Map>(&body))
    for (NodeId inner : m->body) CountTasklets(s, inner, tasklets);
  const auto* t = std::get_if<Tasklet>(&body);
  if (!t) return;
  std::unordered_set<Name> here = {RootOf(s, t->target)};
  for (Name r : ReadContainers(t->value)) here.insert(RootOf(s, r));
  for (const Expr& e : t->index)
    for (Name r : ReadContainers(e)) here.insert(RootOf(s, r));
  for (Name r : here) ++(*tasklets)[r];
}

class Accumulator {
 public:
  Accumulator(Sdfg* s, const Ask& ask) : s_(*s), ask_(ask) {}

  bool Run() {
    ForEachNode(s_, [&](NodeId n) { statements_.push_back(n); }, false);
    for (NodeId n : statements_) {
      std::unordered_map<Name, int> tasklets;
      CountTasklets(s_, n, &tasklets);
      Update(n, tasklets);
    }
    return changed_;
  }

 private:
  void Update(NodeId n, const std::unordered_map<Name, int>& tasklets) {
    if (const auto* m = std::get_if<Map>(&s_.nodes[n].body))
      for (NodeId inner : std::vector<NodeId>(m->body)) Update(inner, tasklets);
    const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body);
    if (!t || tasklets.at(RootOf(s_, t->target)) != 1) return;
    const std::optional<Expr> added = transforms::AddedInPlace(s_, *t);
    if (!added || !ask_(Match{s_.name, {n}, {}, {}, "", true})) return;
    Tasklet& to = std::get<Tasklet>(s_.nodes.Mutable(n).body);
    to.op = WriteOp::kAdd, to.value = *added;
    changed_ = true;
  }

  Sdfg& s_;
  const Ask& ask_;
  std::vector<NodeId> statements_;
  bool changed_ = false;
};

}  // namespace

Result<bool> Accumulate(Program& p, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i)
    if (!p.sdfgs[i]->kernel) changed |= Accumulator(&p.Mutable(p.sdfgs[i]->name), ask).Run();
  return changed;
}

}  // namespace headrace
