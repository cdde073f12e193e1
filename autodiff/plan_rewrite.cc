#include "autodiff/plan_rewrite.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "autodiff/plan_names.h"
#include "ir/analysis/dataflow.h"

namespace headrace::autodiff {
namespace {

// One thing at top level: a statement with the state it stood in, or a block.
struct Item {
  NodeId node;
  BlockId block;
};

void SetBackward(Combined* c, const std::vector<Item>& items) {
  Sdfg& s = c->program.MutableEntry();
  std::vector<BlockId> body(s.body.begin(), s.body.begin() + std::min(c->forward_blocks, s.body.size()));
  std::set<uint32_t> used;
  std::vector<NodeId> run;
  BlockId state;
  auto flush = [&] {
    if (run.empty()) return;
    if (!state.valid() || !used.insert(state.value).second) state = s.AddBlock(State{});
    std::get<State>(s.blocks.Mutable(state).control).statements = std::move(run);
    body.push_back(state);
    run.clear();
    state = {};
  };
  for (const Item& i : items) {
    if (i.node.valid()) {
      if (!state.valid()) state = i.block;
      run.push_back(i.node);
    } else {
      flush();
      body.push_back(i.block);
    }
  }
  flush();
  s.body = std::move(body);
}

std::vector<Item> BackwardItems(const Combined& c) {
  const Sdfg& s = c.program.Entry();
  std::vector<Item> items;
  for (size_t b = c.forward_blocks; b < s.body.size(); ++b) {
    const BlockId id = s.body[b];
    if (const auto* st = std::get_if<State>(&s.blocks[id].control)) {
      for (NodeId n : st->statements) items.push_back({n, id});
    } else {
      items.push_back({{}, id});
    }
  }
  return items;
}

bool OnlyAssigns(const Sdfg& s, NodeId n) {
  const Body& body = s.nodes[n].body;
  if (const auto* t = std::get_if<Tasklet>(&body)) return t->op == WriteOp::kAssign;
  const auto* m = std::get_if<Map>(&body);
  return m && std::all_of(m->body.begin(), m->body.end(), [&](NodeId c) { return OnlyAssigns(s, c); });
}

// Sizes and loop variables.
std::unordered_set<Name> SymbolsOf(const Sdfg& s) {
  std::unordered_set<Name> out(s.symbol_params.begin(), s.symbol_params.end());
  for (Name p : s.parameters)
    for (const Expr& d : s.Get(p).shape)
      for (Name n : FreeSymbols(d)) out.insert(n);
  for (uint32_t i = 0; i < s.blocks.size(); ++i) {
    const Control& c = s.blocks[BlockId{i}].control;
    if (const auto* l = std::get_if<Loop>(&c)) out.insert(l->var);
    if (const auto* a = std::get_if<Assign>(&c)) out.insert(a->symbol);
  }
  return out;
}

class Rewriter {
 public:
  Rewriter(const PlanModel& m, const Schedule& schedule, Combined* c)
      : m_(m), schedule_(schedule), s_(c->program.MutableEntry()), names_(&s_), symbols_(SymbolsOf(s_)) {
    for (size_t a = 0; a < m.arrays.size(); ++a) array_[m.arrays[a].name] = static_cast<int>(a);
  }

  void Run(const Timeline& t, Combined* c) {
    std::vector<Item> items;
    for (size_t i = 0; i < schedule_.steps.size(); ++i) {
      const Step& step = schedule_.steps[i];
      if (step.at < m_.forward || (step.value >= 0 && t.dead[i])) continue;
      const Unit& unit = m_.units[step.unit];
      std::set<Name> used;
      if (unit.node.valid()) names_.Collect(unit.node, &used);
      else names_.Collect(unit.block, &used);
      Renames renames;
      for (Name n : used)
        if (const Name to = Resolve(n, step); to != n) renames[n] = to;
      if (step.value < 0) {
        if (!renames.empty() && unit.node.valid()) names_.Rename(unit.node, renames);
        if (!renames.empty() && !unit.node.valid()) names_.Rename(unit.block, renames);
        items.push_back({unit.node, unit.block});
        continue;
      }
      for (Name n : used)
        if (const Container* r = s_.Find(n); r && r->storage == Storage::kRegister) renames[n] = Fresh(*r);
      const NodeId again = names_.Copy(unit.node);
      names_.Rename(again, renames);
      items.push_back({again, m_.units[step.at].node.valid() ? m_.units[step.at].block : BlockId{}});
    }
    SetBackward(c, items);
  }

 private:
  Name Fresh(Container c) {
    const std::string name = c.name.str() + "_again";
    c.name = s_.Find(name) || symbols_.count(name) ? s_.FreshName(name) : Name(name);
    if (c.kind == ContainerKind::kParameter) c.kind = ContainerKind::kTransient;  // an output made on the way
    c.inout = c.optional = false;
    const Name n = c.name;
    s_.Add(std::move(c));
    return n;
  }
  Name Resolve(Name n, const Step& step) {
    auto it = array_.find(RootOf(s_, n));
    if (it == array_.end()) return n;
    const PlannedArray& a = m_.arrays[it->second];
    if (a.value < 0) return n;
    int g = step.generation;
    if (a.value != step.value) g = a.arena ? schedule_.Copy(a.value, step.at) : -1;
    return g < 0 ? n : CopyOf(n, a.value, g);
  }
  // The copy of a container, or the same view of the copy of its base.
  Name CopyOf(Name n, int value, int generation) {
    auto it = copies_.find({n, generation});
    if (it != copies_.end()) return it->second;
    Container c = s_.Get(n);
    if (c.kind == ContainerKind::kView) c.base = CopyOf(c.base, value, generation);
    return copies_[{n, generation}] = Fresh(std::move(c));
  }

  const PlanModel& m_;
  const Schedule& schedule_;
  Sdfg& s_;
  ContainerNames names_;
  std::unordered_map<Name, int> array_;
  std::map<std::pair<Name, int>, Name> copies_;
  const std::unordered_set<Name> symbols_;  // which stay as they are: whether a name is free is asked once for each copy
};

}  // namespace

void SinkFills(Combined* c) {
  const Program& p = c->program;
  const Sdfg& s = p.Entry();
  const std::vector<Item> items = BackwardItems(*c);
  std::vector<std::vector<Touched>> touched;
  Callees callees(p);
  for (const Item& i : items)
    touched.push_back(i.node.valid() ? TouchedBy(s, i.node, callees) : TouchedBy(s, i.block, callees));
  std::vector<std::vector<size_t>> before(items.size());
  std::vector<bool> moved(items.size(), false);
  std::unordered_map<Name, size_t> next;  // the next item that touches it
  for (size_t i = items.size(); i-- > 0;) {
    const bool fill = items[i].node.valid() && OnlyAssigns(s, items[i].node) && touched[i].size() == 1 &&
                      touched[i][0].write && !touched[i][0].read &&
                      s.Get(touched[i][0].root).kind == ContainerKind::kTransient;
    if (fill)
      if (auto it = next.find(touched[i][0].root); it != next.end() && it->second > i + 1) {
        before[it->second].push_back(i);
        moved[i] = true;
      }
    for (const Touched& t : touched[i]) next[t.root] = i;
  }
  std::vector<Item> out;
  auto put = [&](auto&& self, size_t i) -> void {
    for (size_t k = before[i].size(); k-- > 0;) self(self, before[i][k]);
    Item item = items[i];
    if (item.node.valid() && moved[i]) item.block = {};
    out.push_back(item);
  };
  for (size_t i = 0; i < items.size(); ++i)
    if (!moved[i]) put(put, i);
  SetBackward(c, out);
}

void ApplySchedule(const PlanModel& m, const Schedule& s, const Timeline& t, Combined* c) {
  Rewriter(m, s, c).Run(t, c);
}

void SetApart(Combined* c) {
  Sdfg& s = c->program.MutableEntry();
  if (c->forward_blocks >= s.body.size()) return;
  if (auto* st = std::get_if<State>(&s.blocks.Mutable(s.body[c->forward_blocks]).control)) st->label = Name("backward");
}

}  // namespace headrace::autodiff
