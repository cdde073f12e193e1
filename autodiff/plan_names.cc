#include "autodiff/plan_names.h"

namespace headrace::autodiff {

void ContainerNames::Collect(NodeId n, std::set<Name>* out) const {
  const Body& body = s_.nodes[n].body;
  if (const auto* t = std::get_if<Tasklet>(&body)) {
    out->insert(t->target);
    Collect(t->value, out);
    for (const Expr& e : t->index) Collect(e, out);
  } else if (const auto* m = std::get_if<Map>(&body)) {
    for (const Range& r : m->ranges) Collect(r.begin, out), Collect(r.end, out), Collect(r.step, out);
    for (NodeId c : m->body) Collect(c, out);
  } else if (const auto* call = std::get_if<Nested>(&body)) {
    for (const Argument& a : call->arguments) {
      out->insert(a.container);
      for (const Expr& e : a.index) Collect(e, out);
    }
    for (const auto& [name, e] : call->symbols) Collect(e, out);
  } else if (const auto* l = std::get_if<Library>(&body)) {
    for (const auto* ports : {&l->inputs, &l->outputs})
      for (const Port& p : *ports)
        if (!p.container.empty()) out->insert(p.container);
  }
}
void ContainerNames::Collect(BlockId b, std::set<Name>* out) const {
  ForEachBlock(s_, {b}, [&](BlockId id) {
    const Control& c = s_.blocks[id].control;
    if (const auto* st = std::get_if<State>(&c))
      for (NodeId n : st->statements) Collect(n, out);
    if (const auto* l = std::get_if<Loop>(&c))
      for (const Expr& e : {l->init, l->condition, l->update}) Collect(e, out);
    if (const auto* d = std::get_if<Conditional>(&c))
      for (const Branch& br : d->branches) Collect(br.condition, out);
    if (const auto* a = std::get_if<Assign>(&c)) Collect(a->value, out);
  });
}

NodeId ContainerNames::Copy(NodeId n) {
  Node node = s_.nodes[n];
  node.origin = node.origin.By("plan-memory");
  if (auto* m = std::get_if<Map>(&node.body))
    for (NodeId& c : m->body) c = Copy(c);
  return s_.AddNode(std::move(node.body), node.origin);
}

BlockId ContainerNames::Copy(BlockId b) {
  Block block = s_.blocks[b];
  auto all = [&](std::vector<BlockId>* body) {
    for (BlockId& x : *body) x = Copy(x);
  };
  if (auto* st = std::get_if<State>(&block.control))
    for (NodeId& n : st->statements) n = Copy(n);
  if (auto* l = std::get_if<Loop>(&block.control)) all(&l->body);
  if (auto* d = std::get_if<Conditional>(&block.control))
    for (Branch& br : d->branches) all(&br.body);
  return s_.AddBlock(std::move(block.control), block.origin);
}

void ContainerNames::Rename(NodeId n, const Renames& names) {
  if (const auto* m = std::get_if<Map>(&s_.nodes[n].body))
    for (NodeId c : std::vector<NodeId>(m->body)) Rename(c, names);
  Body& body = s_.nodes.Mutable(n).body;
  auto to = [&](Name& x) {
    auto it = names.find(x);
    if (it != names.end()) x = it->second;
  };
  auto fix = [&](Expr& e) { Fix(&e, names); };
  if (auto* t = std::get_if<Tasklet>(&body)) {
    to(t->target);
    fix(t->value);
    for (Expr& e : t->index) fix(e);
  } else if (auto* m = std::get_if<Map>(&body)) {
    for (Range& r : m->ranges) fix(r.begin), fix(r.end), fix(r.step);
  } else if (auto* call = std::get_if<Nested>(&body)) {
    for (Argument& a : call->arguments) {
      to(a.container);
      for (Expr& e : a.index) fix(e);
    }
    for (auto& [name, e] : call->symbols) fix(e);
  } else if (auto* l = std::get_if<Library>(&body)) {
    for (auto* ports : {&l->inputs, &l->outputs})
      for (Port& p : *ports) to(p.container);
  }
}
void ContainerNames::Rename(BlockId b, const Renames& names) {
  std::vector<BlockId> all;
  ForEachBlock(s_, {b}, [&](BlockId id) { all.push_back(id); });
  for (BlockId id : all) {
    Control& c = s_.blocks.Mutable(id).control;
    if (auto* l = std::get_if<Loop>(&c)) Fix(&l->init, names), Fix(&l->condition, names), Fix(&l->update, names);
    if (auto* d = std::get_if<Conditional>(&c))
      for (Branch& br : d->branches) Fix(&br.condition, names);
    if (auto* a = std::get_if<Assign>(&c)) Fix(&a->value, names);
    if (const auto* st = std::get_if<State>(&s_.blocks[id].control))
      for (NodeId n : std::vector<NodeId>(st->statements)) Rename(n, names);
  }
}

void ContainerNames::Collect(const Expr& e, std::set<Name>* out) const {
  if (e)
    for (Name n : ReadContainers(e)) out->insert(n);
}
void ContainerNames::Fix(Expr* e, const Renames& names) const {
  if (!*e) return;
  std::vector<std::pair<Name, Name>> list;
  for (Name n : ReadContainers(*e))
    if (auto it = names.find(n); it != names.end()) list.push_back({n, it->second});
  if (!list.empty()) *e = RenameContainers(*e, list);
}

}  // namespace headrace::autodiff
