#include "transforms/fuse_states.h"

namespace headrace {
namespace {

bool FuseList(Sdfg* s, std::vector<BlockId>* body) {
  bool changed = false;
  std::vector<BlockId> out;
  for (BlockId b : *body) {
    const Control& c = s->blocks[b].control;
    if (auto* st = std::get_if<State>(&c)) {
      if (st->statements.empty()) {
        changed = true;
        continue;
      }
      // A labelled state begins something that stays apart, such as a backward part that computes values again.
      if (st->label.empty() && !out.empty() && std::holds_alternative<State>(s->blocks[out.back()].control)) {
        std::vector<NodeId> more = st->statements;
        auto& into = std::get<State>(s->blocks.Mutable(out.back()).control).statements;
        into.insert(into.end(), more.begin(), more.end());
        changed = true;
        continue;
      }
    } else if (auto* l = std::get_if<Loop>(&c)) {
      std::vector<BlockId> inner = l->body;
      if (FuseList(s, &inner)) std::get<Loop>(s->blocks.Mutable(b).control).body = std::move(inner), changed = true;
    } else if (auto* d = std::get_if<Conditional>(&c)) {
      std::vector<Branch> branches = d->branches;
      bool any = false;
      for (Branch& br : branches) any |= FuseList(s, &br.body);
      if (any) std::get<Conditional>(s->blocks.Mutable(b).control).branches = std::move(branches), changed = true;
    }
    out.push_back(b);
  }
  if (changed) *body = std::move(out);
  return changed;
}

}  // namespace

Result<bool> FuseStates(Program& p) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    Sdfg& s = p.Mutable(p.sdfgs[i]->name);
    std::vector<BlockId> body = s.body;
    if (!FuseList(&s, &body)) continue;
    s.body = std::move(body);
    changed = true;
  }
  return changed;
}

}  // namespace headrace
