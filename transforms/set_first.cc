#include "transforms/set_first.h"

#include <algorithm>

namespace headrace::transforms {
namespace {

// Whether the tasklets of the innermost body all touch `n` at one place, which the first of them assigns.
bool ReadsWhatItSets(const Sdfg& s, NodeId statement, Name n) {
  std::vector<NodeId> body = {statement};
  while (body.size() == 1) {
    const auto* map = std::get_if<Map>(&s.nodes[body[0]].body);
    if (!map) break;
    body = std::vector<NodeId>(map->body);
  }
  const std::vector<Expr>* place = nullptr;
  for (NodeId id : body) {
    const auto* t = std::get_if<Tasklet>(&s.nodes[id].body);
    if (!t || t->guarded || t->flat) return false;
    bool same = true;
    const auto look = [&](const Expr& e) {
      Visit(e, [&](const Expr& x) {
        if (x.Is(ExprKind::kRead) && x->name == n) same &= place && !x->flat && !x->has_default && x->args == *place;
        return same;
      });
    };
    look(t->value);
    for (const Expr& e : t->index) look(e);
    if (!same) return false;
    if (t->target != n) continue;
    if (!place && t->op != WriteOp::kAssign) return false;
    if (place && t->index != *place) return false;
    place = &t->index;
  }
  return place != nullptr;
}

}  // namespace

bool SetFirst(const Sdfg& s, Name n, const std::vector<NodeId>& statements, const std::vector<std::vector<Memlet>>& memlets,
              const Assumptions& as) {
  const Memlet* set = nullptr;
  for (size_t k = 0; k < statements.size(); ++k) {
    bool touched = false;
    const Memlet* here = nullptr;
    for (const Memlet& m : memlets[k]) {
      if (RootOf(s, m.container) != n) continue;
      if (m.container != n) return false;  // by a view
      touched = true;
      if (!set && !m.write && !ReadsWhatItSets(s, statements[k], n)) return false;
      if (m.write && m.full && m.op == WriteOp::kAssign && !m.dynamic) here = &m;
    }
    if (touched && !set && !here) return false;
    if (!set) set = here;
  }
  if (!set) return false;
  for (const std::vector<Memlet>& of : memlets)
    for (const Memlet& m : of)
      if (m.container == n && Covers(set->subset, m.subset, as) != Truth::kYes) return false;
  return true;
}

}  // namespace headrace::transforms
