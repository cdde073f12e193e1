#include "transforms/fuse_states.h"

namespace headrace {
namespace {

// A place made of blocks of `s`.
Match At(const Sdfg& s, std::vector<BlockId> blocks, bool advised = true) {
  Match m;
  m.sdfg = s.name, m.blocks = std::move(blocks), m.advised = advised;
  return m;
}

bool FuseList(Sdfg* s, std::vector<BlockId>* body, const Ask& ask) {
  bool changed = false;
  std::vector<BlockId> out;
  for (BlockId b : *body) {
    const Control& c = s->blocks[b].control;
    if (auto* st = std::get_if<State>(&c)) {
      if (st->statements.empty() && ask(At(*s, {b}))) {
        changed = true;
        continue;
      }
      // A labelled state begins something that stays apart, such as a backward part that computes values again.
      if (!out.empty() && std::holds_alternative<State>(s->blocks[out.back()].control) &&
          ask(At(*s, {out.back(), b}, st->label.empty()))) {
        std::vector<NodeId> more = st->statements;
        auto& into = std::get<State>(s->blocks.Mutable(out.back()).control).statements;
        into.insert(into.end(), more.begin(), more.end());
        changed = true;
        continue;
      }
    } else if (auto* l = std::get_if<Loop>(&c)) {
      std::vector<BlockId> inner = l->body;
      if (FuseList(s, &inner, ask)) std::get<Loop>(s->blocks.Mutable(b).control).body = std::move(inner), changed = true;
    } else if (auto* d = std::get_if<Conditional>(&c)) {
      std::vector<Branch> branches = d->branches;
      bool any = false;
      for (Branch& br : branches) any |= FuseList(s, &br.body, ask);
      if (any) std::get<Conditional>(s->blocks.Mutable(b).control).branches = std::move(branches), changed = true;
    }
    out.push_back(b);
  }
  if (changed) *body = std::move(out);
  return changed;
}

}  // namespace

Result<bool> FuseStates(Program& p, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    Sdfg& s = p.Mutable(p.sdfgs[i]->name);
    std::vector<BlockId> body = s.body;
    if (!FuseList(&s, &body, ask)) continue;
    s.body = std::move(body);
    changed = true;
  }
  return changed;
}

}  // namespace headrace
