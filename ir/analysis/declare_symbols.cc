#include <unordered_set>

#include "ir/analysis/dataflow.h"

namespace headrace {

void DeclareSymbols(Sdfg* s) {
  std::unordered_set<Name> known, local;
  for (Name n : FreeSymbols(*s)) known.insert(n);
  ForEachNode(*s, [&](NodeId id) {
    if (auto* m = std::get_if<Map>(&s->nodes[id].body))
      for (const Range& r : m->ranges) local.insert(r.index);
    if (auto* l = std::get_if<Library>(&s->nodes[id].body)) local.insert(l->defines.begin(), l->defines.end());
  });
  ForEachBlock(*s, s->body, [&](BlockId b) {
    if (auto* l = std::get_if<Loop>(&s->blocks[b].control)) local.insert(l->var);
    if (auto* a = std::get_if<Assign>(&s->blocks[b].control)) local.insert(a->symbol);
  });
  auto declare = [&](const Expr& e) {
    if (!e) return;
    for (Name n : FreeSymbols(e))
      if (!s->Find(n) && !local.count(n) && known.insert(n).second) s->symbol_params.push_back(n);
  };
  for (Name n : s->order) {
    const Container& c = s->Get(n);
    for (const Expr& d : c.shape) declare(d);
    for (const Expr& d : c.strides) declare(d);
    declare(c.offset);
  }
  ForEachNode(*s, [&](NodeId id) {
    const Body& b = s->nodes[id].body;
    if (auto* t = std::get_if<Tasklet>(&b)) {
      declare(t->value);
      for (const Expr& e : t->index) declare(e);
    } else if (auto* m = std::get_if<Map>(&b)) {
      for (const Range& r : m->ranges) declare(r.begin), declare(r.end), declare(r.step);
    } else if (auto* i = std::get_if<If>(&b)) {
      declare(i->condition);
    } else if (auto* k = std::get_if<Touch>(&b)) {
      for (const Expr& e : k->index) declare(e);
    } else if (auto* n = std::get_if<Nested>(&b)) {
      for (const auto& symbol : n->symbols) declare(symbol.second);
    }
  });
  ForEachBlock(*s, s->body, [&](BlockId b) {
    const Control& c = s->blocks[b].control;
    if (auto* l = std::get_if<Loop>(&c)) declare(l->init), declare(l->condition), declare(l->update);
    else if (auto* a = std::get_if<Assign>(&c)) declare(a->value);
    else if (auto* r = std::get_if<Require>(&c)) declare(r->condition);
    else if (auto* i = std::get_if<Conditional>(&c))
      for (const Branch& x : i->branches) declare(x.condition);
  });
}

}  // namespace headrace
