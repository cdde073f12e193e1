#include "ir/graph/builder.h"

#include <utility>

namespace headrace {

// An open bracket: a map (collects statements), or a loop or conditional (collects blocks).
struct SdfgBuilder::Frame {
  enum Kind { kRoot, kMap, kLoop, kConditional } kind = kRoot;
  Origin origin;
  // kMap
  std::vector<Range> ranges;
  Schedule schedule = Schedule::kDefault;
  std::vector<NodeId> statements;
  // blocks, and the state that takes the next statement
  std::vector<BlockId> blocks;
  BlockId state;
  Loop loop;                     // kLoop
  std::vector<Branch> branches;  // kConditional: finished ones; the open one's condition is `condition`
  Expr condition;

  BlockId AddBlock(Sdfg& s, Control c, const Origin& o) {
    BlockId id = s.AddBlock(std::move(c), o);
    blocks.push_back(id);
    state = {};
    return id;
  }
};

SdfgBuilder::SdfgBuilder(Name name) {
  s_.name = name;
  open_.push_back(std::make_shared<Frame>());
}

Name SdfgBuilder::Fresh(Name stem) {
  if (stem.empty()) stem = "t";
  auto taken = [this](Name n) { return s_.Find(n) != nullptr || symbols_.count(n) > 0; };
  if (!taken(stem)) return stem;
  Name n;
  int64_t& k = numbered_[stem];
  do n = Name(stem.str() + "_" + std::to_string(++k));
  while (taken(n));
  return n;
}

Name SdfgBuilder::Parameter(Name n, DType t, std::vector<Expr> shape, bool inout) {
  Container c;
  c.name = n;
  c.kind = ContainerKind::kParameter;
  c.dtype = t;
  c.shape = std::move(shape);
  c.inout = inout;
  c.origin = origin_;
  for (const Expr& d : c.shape) {
    for (Name symbol : FreeSymbols(d)) symbols_.insert(symbol);
  }
  // Parameters come first in `order`, however late they are declared.
  s_.Add(std::move(c));
  s_.order.pop_back();
  s_.order.insert(s_.order.begin() + s_.parameters.size(), n);
  s_.parameters.push_back(n);
  return n;
}

Name SdfgBuilder::Transient(Name stem, DType t, std::vector<Expr> shape, Storage storage) {
  Container c;
  c.name = Fresh(stem);
  c.dtype = t;
  c.shape = std::move(shape);
  c.storage = storage;
  c.origin = origin_;
  Name n = c.name;
  s_.Add(std::move(c));
  return n;
}

Name SdfgBuilder::Constant(Name stem, Tensor data) {
  Container c;
  c.name = Fresh(stem);
  c.kind = ContainerKind::kConstant;
  c.dtype = data.dtype;
  for (int64_t d : data.shape) c.shape.push_back(Expr(d));
  c.data = std::move(data);
  c.origin = origin_;
  Name n = c.name;
  s_.Add(std::move(c));
  return n;
}

Name SdfgBuilder::View(Name stem, Name base, std::vector<Expr> shape, Expr offset, std::vector<Expr> strides) {
  Container c;
  c.name = Fresh(stem);
  c.kind = ContainerKind::kView;
  c.dtype = s_.Get(base).dtype;
  c.base = base;
  c.shape = std::move(shape);
  c.offset = std::move(offset);
  c.strides = std::move(strides);
  c.origin = origin_;
  Name n = c.name;
  s_.Add(std::move(c));
  return n;
}

void SdfgBuilder::SetOrigin(Origin o) { origin_ = o; }

NodeId SdfgBuilder::Assign(Name target, std::vector<Expr> index, Expr value, WriteOp op) {
  Tasklet t;
  t.target = target;
  t.index = std::move(index);
  t.value = std::move(value);
  t.op = op;
  return AddStatement(std::move(t), origin_);
}

NodeId SdfgBuilder::AddStatement(Body b, Origin o) {
  Frame& f = *open_.back();
  if (auto* library = std::get_if<Library>(&b)) symbols_.insert(library->defines.begin(), library->defines.end());
  if (f.kind != Frame::kMap && !f.state.valid()) NewState();
  NodeId id = s_.AddNode(std::move(b), o);
  if (f.kind == Frame::kMap) f.statements.push_back(id);
  else std::get<State>(s_.blocks.Mutable(f.state).control).statements.push_back(id);
  return id;
}

void SdfgBuilder::OpenMap(std::vector<Range> ranges, Schedule schedule) {
  auto f = std::make_shared<Frame>();
  f->kind = Frame::kMap;
  f->origin = origin_;
  f->ranges = std::move(ranges);
  for (Range& r : f->ranges) {
    if (!r.step) r.step = Expr(1);
  }
  f->schedule = schedule;
  open_.push_back(std::move(f));
}

void SdfgBuilder::CloseMap() {
  HR_CHECK(open_.back()->kind == Frame::kMap, "CloseMap without an open map");
  std::shared_ptr<Frame> f = open_.back();
  open_.pop_back();
  AddStatement(Map{std::move(f->ranges), std::move(f->statements), f->schedule}, f->origin);
}

NodeId SdfgBuilder::AddLibrary(Library l) { return AddStatement(std::move(l), origin_); }
NodeId SdfgBuilder::Call(Nested n) { return AddStatement(std::move(n), origin_); }

void SdfgBuilder::NewState(Name label) {
  Frame& f = *open_.back();
  HR_CHECK(f.kind != Frame::kMap, "a state inside a map");
  BlockId id = f.AddBlock(s_, State{label, {}}, {});
  f.state = id;
}

void SdfgBuilder::OpenFor(Name var, Expr begin, Expr end, Expr step) {
  OpenLoop(RangeLoop(var, std::move(begin), std::move(end), std::move(step)));
}

void SdfgBuilder::OpenLoop(Loop l) {
  HR_CHECK(open_.back()->kind != Frame::kMap, "a loop inside a map");
  auto f = std::make_shared<Frame>();
  f->kind = Frame::kLoop;
  f->origin = origin_;
  if (!l.var.empty()) symbols_.insert(l.var);
  f->loop = std::move(l);
  open_.push_back(std::move(f));
}

void SdfgBuilder::OpenIf(Expr condition) {
  HR_CHECK(open_.back()->kind != Frame::kMap, "a conditional inside a map");
  auto f = std::make_shared<Frame>();
  f->kind = Frame::kConditional;
  f->origin = origin_;
  f->condition = std::move(condition);
  open_.push_back(std::move(f));
}

void SdfgBuilder::Else(Expr condition) {
  Frame& f = *open_.back();
  HR_CHECK(f.kind == Frame::kConditional && f.condition, "Else without an open conditional");
  f.branches.push_back({std::move(f.condition), std::move(f.blocks)});
  f.condition = std::move(condition);
  f.blocks.clear();
  f.state = {};
}

void SdfgBuilder::Close() {
  std::shared_ptr<Frame> f = open_.back();
  HR_CHECK(f->kind == Frame::kLoop || f->kind == Frame::kConditional, "Close without an open loop or conditional");
  open_.pop_back();
  Control c;
  if (f->kind == Frame::kLoop) {
    f->loop.body = std::move(f->blocks);
    c = std::move(f->loop);
  } else {
    f->branches.push_back({std::move(f->condition), std::move(f->blocks)});
    c = Conditional{std::move(f->branches)};
  }
  open_.back()->AddBlock(s_, std::move(c), f->origin);
}

void SdfgBuilder::Define(Name symbol, Expr value) {
  symbols_.insert(symbol);
  open_.back()->AddBlock(s_, headrace::Assign{symbol, std::move(value)}, origin_);
}
void SdfgBuilder::AddBreak() { open_.back()->AddBlock(s_, Break{}, origin_); }
void SdfgBuilder::AddContinue() { open_.back()->AddBlock(s_, Continue{}, origin_); }

Sdfg SdfgBuilder::Finish() {
  HR_CHECK(open_.size() == 1, "Finish with an open map, loop or conditional");
  s_.body = std::move(open_.back()->blocks);
  return std::move(s_);
}

Program MakeProgram(Sdfg entry) {
  Program p;
  p.Add(std::move(entry));
  return p;
}

}  // namespace headrace
