#include "autodiff/emit.h"

#include <algorithm>

namespace headrace::autodiff {

void BlockList::Flush() {
  if (open_.empty()) return;
  State st;
  st.statements = std::move(open_);
  open_.clear();
  blocks_.push_back(s_->AddBlock(std::move(st)));
}
void BlockList::Block(BlockId b) {
  Flush();
  blocks_.push_back(b);
}
void BlockList::Blocks(const std::vector<BlockId>& b) {
  for (BlockId x : b) Block(x);
}
void BlockList::Let(Name symbol, Expr value) { Block(s_->AddBlock(Assign{symbol, std::move(value)})); }
std::vector<BlockId> BlockList::Take() {
  Flush();
  return std::move(blocks_);
}

FreshNames::FreshNames(const Sdfg& s) {
  for (Name n : s.order) used_[n];
  for (Name n : FreeSymbols(s)) used_[n];
  for (uint32_t i = 0; i < s.blocks.size(); ++i) {
    const Control& c = s.blocks[BlockId{i}].control;
    if (auto* l = std::get_if<Loop>(&c)) used_[l->var];
    if (auto* a = std::get_if<Assign>(&c)) used_[a->symbol];
  }
  for (uint32_t i = 0; i < s.nodes.size(); ++i) {
    const Body& b = s.nodes[NodeId{i}].body;
    if (auto* m = std::get_if<Map>(&b))
      for (const Range& r : m->ranges) used_[r.index];
    if (auto* l = std::get_if<Library>(&b))
      for (Name n : l->defines) used_[n];
  }
}
Name FreshNames::operator()(std::string_view stem) {
  Name n(stem);
  if (used_.emplace(n, 0).second) return n;
  for (int& k = used_[n];;) {
    Name next(std::string(stem) + "_" + std::to_string(++k));
    if (used_.count(next)) continue;
    used_.emplace(next, 0);
    return next;
  }
}

NodeId AddTasklet(Sdfg* s, Name target, std::vector<Expr> index, Expr value, WriteOp op) {
  Tasklet t;
  t.target = target, t.index = std::move(index), t.value = std::move(value), t.op = op;
  return s->AddNode(std::move(t));
}

void AddMap(Sdfg* s, const std::vector<Range>& ranges, const std::vector<NodeId>& body, std::vector<NodeId>* out) {
  if (body.empty()) return;
  if (ranges.empty()) {
    out->insert(out->end(), body.begin(), body.end());
    return;
  }
  Map m;
  m.ranges = ranges, m.body = body;
  out->push_back(s->AddNode(std::move(m)));
}

std::vector<Range> IndexRanges(FreshNames* names, const std::vector<Expr>& extents, std::vector<Expr>* indices) {
  std::vector<Range> ranges;
  for (const Expr& e : extents) {
    Name i = (*names)("i");
    ranges.push_back({i, Expr(0), e, Expr(1)});
    indices->push_back(Expr(i));
  }
  return ranges;
}

NodeId FillWith(Sdfg* s, FreshNames* names, Name target, Expr value) {
  std::vector<Expr> index;
  std::vector<Range> ranges = IndexRanges(names, s->Get(target).shape, &index);
  std::vector<NodeId> out;
  AddMap(s, ranges, {AddTasklet(s, target, index, std::move(value))}, &out);
  return out[0];
}

NodeId CopyWhole(Sdfg* s, FreshNames* names, Name to, Name from, WriteOp op) {
  std::vector<Expr> index;
  std::vector<Range> ranges = IndexRanges(names, s->Get(to).shape, &index);
  std::vector<NodeId> out;
  AddMap(s, ranges, {AddTasklet(s, to, index, ReadExpr(from, index), op)}, &out);
  return out[0];
}

namespace {

Name Renamed(Name n, const Renames& renames) {
  for (const auto& r : renames)
    if (r.first == n) return r.second;
  return n;
}

void RenameTasklet(Tasklet* t, const Renames& renames) {
  t->target = Renamed(t->target, renames);
  for (Expr& e : t->index) e = RenameContainers(e, renames);
  t->value = RenameContainers(t->value, renames);
}

void RenameOther(Body* b, const Renames& renames) {
  if (auto* n = std::get_if<Nested>(b)) {
    for (Argument& a : n->arguments) {
      a.container = Renamed(a.container, renames);
      for (Expr& e : a.index) e = RenameContainers(e, renames);
    }
    for (auto& x : n->symbols) x.second = RenameContainers(x.second, renames);
  } else if (auto* l = std::get_if<Library>(b)) {
    for (Port& p : l->inputs) p.container = Renamed(p.container, renames);
    for (Port& p : l->outputs) p.container = Renamed(p.container, renames);
  }
}

void RenameControl(Control* c, const Renames& renames) {
  auto fix = [&](Expr* e) {
    if (*e) *e = RenameContainers(*e, renames);
  };
  if (auto* l = std::get_if<Loop>(c)) fix(&l->init), fix(&l->condition), fix(&l->update);
  if (auto* d = std::get_if<Conditional>(c))
    for (Branch& b : d->branches) fix(&b.condition);
  if (auto* a = std::get_if<Assign>(c)) fix(&a->value);
}

}  // namespace

NodeId CloneStatement(Sdfg* s, NodeId n, const Renames& renames, const LeafFn& leaf) {
  Node copy = s->nodes[n];
  if (auto* m = std::get_if<Map>(&copy.body)) {
    std::vector<NodeId> body;
    for (NodeId c : m->body) {
      if (auto* t = std::get_if<Tasklet>(&s->nodes[c].body); t && leaf) {
        Tasklet renamed = *t;
        RenameTasklet(&renamed, renames);
        Origin origin = s->nodes[c].origin;
        for (Tasklet& x : leaf(c, std::move(renamed))) body.push_back(s->AddNode(std::move(x), origin));
        continue;
      }
      NodeId d = CloneStatement(s, c, renames, leaf);
      if (d.valid()) body.push_back(d);
    }
    if (body.empty()) return {};
    m->body = std::move(body);
    return s->AddNode(std::move(copy.body), copy.origin);
  }
  if (auto* t = std::get_if<Tasklet>(&copy.body)) {
    RenameTasklet(t, renames);
    if (leaf) {
      std::vector<Tasklet> x = leaf(n, *t);
      if (x.empty()) return {};
      return s->AddNode(std::move(x[0]), copy.origin);
    }
  } else {
    RenameOther(&copy.body, renames);
  }
  return s->AddNode(std::move(copy.body), copy.origin);
}

std::vector<BlockId> CloneBlocks(Sdfg* s, const std::vector<BlockId>& body, const Renames& renames) {
  std::vector<BlockId> out;
  for (BlockId b : body) {
    Block copy = s->blocks[b];
    RenameControl(&copy.control, renames);
    if (auto* st = std::get_if<State>(&copy.control)) {
      for (NodeId& n : st->statements) n = CloneStatement(s, n, renames);
    } else if (auto* l = std::get_if<Loop>(&copy.control)) {
      l->body = CloneBlocks(s, l->body, renames);
    } else if (auto* c = std::get_if<Conditional>(&copy.control)) {
      for (Branch& br : c->branches) br.body = CloneBlocks(s, br.body, renames);
    }
    out.push_back(s->AddBlock(std::move(copy.control), copy.origin));
  }
  return out;
}

void RenameEverywhere(Sdfg* s, const Renames& renames) {
  for (uint32_t i = 0; i < s->nodes.size(); ++i) {
    Body& b = s->nodes.Mutable(NodeId{i}).body;
    if (auto* t = std::get_if<Tasklet>(&b)) RenameTasklet(t, renames);
    else RenameOther(&b, renames);
  }
  for (uint32_t i = 0; i < s->blocks.size(); ++i) RenameControl(&s->blocks.Mutable(BlockId{i}).control, renames);
}

void ForEachTasklet(const Sdfg& s, NodeId n, const std::function<void(NodeId, const Tasklet&)>& fn) {
  const Body& b = s.nodes[n].body;
  if (auto* t = std::get_if<Tasklet>(&b)) fn(n, *t);
  else if (auto* m = std::get_if<Map>(&b))
    for (NodeId c : m->body) ForEachTasklet(s, c, fn);
}

std::vector<Name> WrittenBy(const Sdfg& s, NodeId n) {
  std::vector<Name> out;
  auto add = [&](Name x) {
    if (!x.empty() && std::find(out.begin(), out.end(), x) == out.end()) out.push_back(x);
  };
  ForEachTasklet(s, n, [&](NodeId, const Tasklet& t) { add(t.target); });
  if (auto* l = std::get_if<Library>(&s.nodes[n].body))
    for (const Port& p : l->outputs) add(p.container);
  return out;
}

std::vector<Expr> IndexOf(const Expr& read) {
  return {read->args.begin(), read->args.end() - (read->has_default ? 1 : 0)};
}

Expr TripCount(const Range& r) {
  int64_t step = r.step ? AsInt(r.step).value_or(1) : 1;
  if (step == 1) return Max(Expr(0), r.end - r.begin);
  if (step > 0) return Max(Expr(0), FloorDiv(r.end - r.begin + Expr(step - 1), Expr(step)));
  return Max(Expr(0), FloorDiv(r.begin - r.end + Expr(-step - 1), Expr(-step)));
}

}  // namespace headrace::autodiff
