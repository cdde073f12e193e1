// Tables of an SDFG and the questions every room asks of them.
#include "ir/graph/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace headrace {

std::string_view WriteOpToken(WriteOp op) {
  switch (op) {
    case WriteOp::kAssign: return "=";
    case WriteOp::kAdd: return "+=";
    case WriteOp::kMul: return "*=";
    case WriteOp::kMax: return "max=";
    case WriteOp::kMin: return "min=";
  }
  return "=";
}

std::string_view StorageWord(Storage s) {
  switch (s) {
    case Storage::kArena: return "arena";
    case Storage::kRegister: return "register";
    case Storage::kHost: return "host";
    case Storage::kDevice: return "device";
    case Storage::kShared: return "shared";
    case Storage::kWorker: return "worker";
  }
  return "";
}

const std::vector<Storage>& AllStorages() {
  static const std::vector<Storage> kAll = {Storage::kArena,  Storage::kRegister, Storage::kHost,
                                            Storage::kDevice, Storage::kShared,   Storage::kWorker};
  return kAll;
}

std::string_view ScheduleWord(Schedule s) {
  switch (s) {
    case Schedule::kDefault: return "";
    case Schedule::kSequential: return "sequential";
    case Schedule::kParallel: return "parallel";
    case Schedule::kVector: return "vector";
    case Schedule::kStream: return "stream";
    case Schedule::kUnroll: return "unroll";
    case Schedule::kHalves: return "halves";
    case Schedule::kApart: return "apart";
    case Schedule::kGrid: return "grid";
    case Schedule::kBlock: return "block";
    case Schedule::kLane: return "lane";
  }
  return "";
}

const std::vector<Schedule>& AllSchedules() {
  static const std::vector<Schedule> kAll = {Schedule::kDefault, Schedule::kSequential, Schedule::kParallel,
                                             Schedule::kVector,  Schedule::kStream,     Schedule::kUnroll,
                                             Schedule::kHalves,  Schedule::kApart,      Schedule::kGrid,
                                             Schedule::kBlock,   Schedule::kLane};
  return kAll;
}

const Attribute* FindAttribute(const Attributes& a, Name n) {
  for (const auto& [name, value] : a) {
    if (name == n) return &value;
  }
  return nullptr;
}

Loop RangeLoop(Name var, Expr begin, Expr end, Expr step) {
  Loop l;
  l.var = var;
  l.init = std::move(begin);
  const Expr v = SymbolExpr(var), up = BinaryExpr(Op::kLt, v, end), down = BinaryExpr(Op::kGt, v, end);
  const std::optional<int64_t> known = AsInt(step);
  if (known) l.condition = *known < 0 ? down : up;
  else l.condition = SelectExpr(BinaryExpr(Op::kGt, step, Expr(0)), up, down);
  l.update = BinaryExpr(Op::kAdd, SymbolExpr(var), std::move(step));
  return l;
}

std::optional<Range> AsRange(const Loop& l) {
  if (l.var.empty() || l.do_while || !l.condition || !l.update) return std::nullopt;
  const Expr var = SymbolExpr(l.var);
  // Where the sign of the step is not known before the run, the condition asks for it.
  const Expr up = l.condition.Is(ExprKind::kSelect) ? l.condition->args[1] : l.condition;
  if (!up.Is(ExprKind::kBinary) || up->args[0] != var) return std::nullopt;
  Expr step;
  if (l.update.Is(ExprKind::kBinary)) {
    const Expr &a = l.update->args[0], &b = l.update->args[1];
    if (l.update->op == Op::kAdd && a == var) step = b;
    else if (l.update->op == Op::kAdd && b == var) step = a;
    else if (l.update->op == Op::kSub && a == var && AsInt(b)) step = Expr(-*AsInt(b));
  }
  if (!step || AsInt(step) == 0) return std::nullopt;
  const Expr& end = up->args[1];
  if (l.condition != RangeLoop(l.var, l.init, end, step).condition) return std::nullopt;
  bool uses_var = false;
  for (const Expr& e : {step, end}) {
    for (Name n : FreeSymbols(e)) uses_var |= n == l.var;
  }
  if (uses_var) return std::nullopt;
  return Range{l.var, l.init, end, step};
}

// ---- Sdfg ----

const Container& Sdfg::Get(Name n) const {
  const Container* c = containers.Find(n);
  HR_CHECK(c != nullptr, "no container '" + n.str() + "' in sdfg '" + name.str() + "'");
  return *c;
}

Container& Sdfg::Mutable(Name n) {
  Container* c = containers.FindMutable(n);
  HR_CHECK(c != nullptr, "no container '" + n.str() + "' in sdfg '" + name.str() + "'");
  return *c;
}

void Sdfg::Add(Container c) {
  HR_CHECK(containers.Find(c.name) == nullptr,
           "container '" + c.name.str() + "' is already in sdfg '" + name.str() + "'");
  order.push_back(c.name);
  Name key = c.name;
  containers.Set(key, std::move(c));
}

void Sdfg::Remove(Name n) {
  containers.Erase(n);
  auto erase = [n](std::vector<Name>& list) {  // from the back: passes mostly remove what they added
    auto it = std::find(list.rbegin(), list.rend(), n);
    if (it != list.rend()) list.erase(std::next(it).base());
  };
  erase(order);
  erase(parameters);
}

namespace {

// Names that mean a size or a loop variable somewhere in `s`. Map indices are left out: they are local to their map.
bool IsSymbolOf(const Sdfg& s, Name n) {
  for (Name p : s.symbol_params) {
    if (p == n) return true;
  }
  for (Name p : s.parameters) {
    for (const Expr& dim : s.Get(p).shape) {
      bool found = false;
      Visit(dim, [&](const Expr& x) { return !(found |= x.Is(ExprKind::kSymbol) && x->name == n); });
      if (found) return true;
    }
  }
  for (uint32_t i = 0; i < s.blocks.size(); ++i) {
    const Control& c = s.blocks[BlockId{i}].control;
    if (auto* loop = std::get_if<Loop>(&c); loop && loop->var == n) return true;
    if (auto* assign = std::get_if<Assign>(&c); assign && assign->symbol == n) return true;
  }
  return false;
}

}  // namespace

Name Sdfg::FreshName(std::string_view stem) const {
  std::string base(stem.empty() ? "t" : stem);
  auto taken = [&](Name n) { return Find(n) != nullptr || IsSymbolOf(*this, n); };
  if (Name n(base); !taken(n)) return n;
  // Doubling, then bisection: a stem used n times costs log n look-ups.
  auto numbered = [&](int64_t k) { return Name(base + "_" + std::to_string(k)); };
  int64_t low = 0, high = 1;
  while (taken(numbered(high))) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (taken(numbered(middle)) ? low : high) = middle;
  }
  return numbered(high);
}

NodeId Sdfg::AddNode(Body b, Origin o) { return nodes.Add(Node{std::move(b), o}); }
BlockId Sdfg::AddBlock(Control c, Origin o) { return blocks.Add(Block{std::move(c), o}); }

// ---- Program ----

namespace {

// Where the sdfg of that name is, sdfgs.size() when nowhere. A program of 10^4 kernels asks for each of them, so this thread
// remembers where it last found a name, and what stands behind it, which is mostly what is asked for next; what it remembers
// is compared before it is believed.
size_t PositionOf(const std::vector<std::shared_ptr<Sdfg>>& sdfgs, Name n) {
  constexpr size_t kFew = 8;
  static thread_local std::unordered_map<Name, size_t> last;
  if (sdfgs.size() > kFew)
    if (const auto at = last.find(n); at != last.end() && at->second < sdfgs.size() && sdfgs[at->second]->name == n)
      return at->second;
  size_t i = 0;
  while (i < sdfgs.size() && sdfgs[i]->name != n) ++i;
  if (i < kFew) return i;
  for (size_t k = i, end = std::min(sdfgs.size(), i + i / 4 + 64); k < end; ++k) last[sdfgs[k]->name] = k;
  return i;
}

}  // namespace

const Sdfg* Program::Find(Name n) const {
  const size_t i = PositionOf(sdfgs, n);
  return i < sdfgs.size() ? sdfgs[i].get() : nullptr;
}

const Sdfg& Program::Entry() const {
  const Sdfg* s = Find(entry);
  HR_CHECK(s != nullptr, "the program has no sdfg '" + entry.str() + "'");
  return *s;
}

Sdfg& Program::Mutable(Name n) {
  const size_t i = PositionOf(sdfgs, n);
  HR_CHECK(i < sdfgs.size(), "the program has no sdfg '" + n.str() + "'");
  std::shared_ptr<Sdfg>& s = sdfgs[i];
  if (s.use_count() > 1) s = std::make_shared<Sdfg>(*s);
  return *s;
}

Sdfg& Program::Add(Sdfg s) {
  HR_CHECK(Find(s.name) == nullptr, "the program already has an sdfg '" + s.name.str() + "'");
  if (sdfgs.empty() && entry.empty()) entry = s.name;
  sdfgs.push_back(std::make_shared<Sdfg>(std::move(s)));
  return *sdfgs.back();
}

// ---- walking ----

void ForEachBlock(const Sdfg& s, const std::vector<BlockId>& body, const std::function<void(BlockId)>& fn) {
  for (BlockId id : body) {
    fn(id);
    const Control& c = s.blocks[id].control;
    if (auto* loop = std::get_if<Loop>(&c)) {
      ForEachBlock(s, loop->body, fn);
    } else if (auto* conditional = std::get_if<Conditional>(&c)) {
      for (const Branch& b : conditional->branches) ForEachBlock(s, b.body, fn);
    }
  }
}

namespace {

void ForEachStatement(const Sdfg& s, const std::vector<NodeId>& statements, const std::function<void(NodeId)>& fn,
                      bool into_maps) {
  for (NodeId id : statements) {
    fn(id);
    if (!into_maps) continue;
    ForEachBody(s.nodes[id].body,
                [&](const std::vector<NodeId>& inside) { ForEachStatement(s, inside, fn, into_maps); });
  }
}

}  // namespace

void ForEachNode(const Sdfg& s, const std::function<void(NodeId)>& fn, bool into_maps) {
  ForEachBlock(s, s.body, [&](BlockId b) {
    if (auto* state = std::get_if<State>(&s.blocks[b].control)) ForEachStatement(s, state->statements, fn, into_maps);
  });
}

// ---- what a program does with its arguments ----

namespace {

struct Use {
  bool read = false, write = false;
};
using Uses = std::unordered_map<Name, Use>;

class UseFinder {
 public:
  explicit UseFinder(const Program& p) : program_(p) {}

  const Uses& Of(const Sdfg& s) {
    auto [it, inserted] = memo_.try_emplace(s.name);
    if (!inserted) return it->second;  // also what a (wrongly) recursive call sees: nothing yet
    Uses uses = Find(s);
    return memo_[s.name] = std::move(uses);
  }

 private:
  Uses Find(const Sdfg& s) {
    Uses uses;
    auto base_of = [&](Name n) {  // views stand for what they are views of
      const Container* c = s.Find(n);
      for (int hops = 0; c && c->kind == ContainerKind::kView && hops < 1000; ++hops) c = s.Find(n = c->base);
      return n;
    };
    auto reads = [&](const Expr& e) {
      for (Name n : ReadContainers(e)) uses[base_of(n)].read = true;
    };
    ForEachBlock(s, s.body, [&](BlockId id) {
      const Control& c = s.blocks[id].control;
      if (auto* loop = std::get_if<Loop>(&c)) {
        for (const Expr& e : {loop->init, loop->condition, loop->update}) reads(e);
      } else if (auto* conditional = std::get_if<Conditional>(&c)) {
        for (const Branch& b : conditional->branches) reads(b.condition);
      } else if (auto* assign = std::get_if<Assign>(&c)) {
        reads(assign->value);
      }
    });
    ForEachNode(s, [&](NodeId id) {
      const Body& body = s.nodes[id].body;
      if (auto* t = std::get_if<Tasklet>(&body)) {
        reads(t->value);
        for (const Expr& e : t->index) reads(e);
        uses[base_of(t->target)].write = true;
      } else if (auto* map = std::get_if<Map>(&body)) {
        for (const Range& r : map->ranges) {
          for (const Expr& e : {r.begin, r.end, r.step}) reads(e);
        }
      } else if (auto* choice = std::get_if<If>(&body)) {
        reads(choice->condition);
      } else if (auto* check = std::get_if<Touch>(&body)) {
        for (const Expr& e : check->index) reads(e);
      } else if (auto* library = std::get_if<Library>(&body)) {
        for (const Port& p : library->inputs) {
          if (!p.container.empty()) uses[base_of(p.container)].read = true;
        }
        for (const Port& p : library->outputs) {
          if (!p.container.empty()) uses[base_of(p.container)].write = true;
        }
      } else if (auto* call = std::get_if<Nested>(&body)) {
        for (const auto& [symbol, value] : call->symbols) reads(value);
        const Sdfg* callee = program_.Find(call->callee);
        for (const Argument& a : call->arguments) {
          for (const Expr& e : a.index) reads(e);
          if (!callee) continue;
          const Container* parameter = callee->Find(a.port);
          const Uses& inner = Of(*callee);
          auto it = inner.find(a.port);
          Use use = it == inner.end() ? Use{} : it->second;
          if (parameter && parameter->inout) use = {true, true};
          if (parameter && parameter->output) use.write = true;
          Use& outer = uses[base_of(a.container)];
          outer.read |= use.read && !(use.write && parameter && !parameter->inout);
          outer.write |= use.write;
        }
      }
    });
    return uses;
  }

  const Program& program_;
  std::unordered_map<Name, Uses> memo_;
};

Direction DirectionFrom(const Sdfg& s, const Uses& uses, Name parameter) {
  if (s.Get(parameter).inout) return Direction::kInOut;
  if (s.Get(parameter).output) return Direction::kOut;
  auto it = uses.find(parameter);
  if (it == uses.end()) return Direction::kUnused;
  if (it->second.write) return Direction::kOut;  // reading back what was written does not make it an input
  return it->second.read ? Direction::kIn : Direction::kUnused;
}

std::vector<Name> ParametersWhere(const Program& p, const Sdfg& s, bool (*keep)(Direction)) {
  UseFinder finder(p);
  const Uses& uses = finder.Of(s);
  std::vector<Name> out;
  for (Name n : s.parameters) {
    if (keep(DirectionFrom(s, uses, n))) out.push_back(n);
  }
  return out;
}

}  // namespace

Direction DirectionOf(const Program& p, const Sdfg& s, Name parameter) {
  UseFinder finder(p);
  return DirectionFrom(s, finder.Of(s), parameter);
}

std::vector<Direction> Directions(const Program& p, const Sdfg& s) {
  UseFinder finder(p);
  const Uses& uses = finder.Of(s);
  std::vector<Direction> out;
  for (Name n : s.parameters) out.push_back(DirectionFrom(s, uses, n));
  return out;
}

std::vector<Name> Inputs(const Program& p, const Sdfg& s) {
  return ParametersWhere(p, s, [](Direction d) { return d != Direction::kOut; });
}

std::vector<Name> Outputs(const Program& p, const Sdfg& s) {
  return ParametersWhere(p, s, [](Direction d) { return d == Direction::kOut || d == Direction::kInOut; });
}

std::vector<Name> FreeSymbols(const Sdfg& s) {
  std::vector<Name> out;
  std::unordered_set<Name> seen;
  auto add = [&](Name n) {
    if (seen.insert(n).second) out.push_back(n);
  };
  std::unordered_set<Name> given(s.symbol_params.begin(), s.symbol_params.end());
  for (Name p : s.parameters) {
    for (const Expr& dim : s.Get(p).shape) {
      if (dim.Is(ExprKind::kSymbol) && !given.count(dim->name)) add(dim->name);
    }
  }
  for (Name n : s.symbol_params) add(n);
  return out;
}

namespace {

class Renumbering {
 public:
  explicit Renumbering(const Sdfg& s) : s_(s) {}
  CowTable<NodeId, Node> nodes;
  CowTable<BlockId, Block> blocks;

  std::vector<BlockId> Blocks(const std::vector<BlockId>& body) {
    std::vector<BlockId> out;
    for (BlockId b : body) {
      const BlockId id = blocks.Add(s_.blocks[b]);
      out.push_back(id);
      const Control& c = s_.blocks[b].control;
      if (auto* state = std::get_if<State>(&c)) {
        std::vector<NodeId> inside = Statements(state->statements);
        std::get<State>(blocks.Mutable(id).control).statements = std::move(inside);
      } else if (auto* loop = std::get_if<Loop>(&c)) {
        std::vector<BlockId> inside = Blocks(loop->body);
        std::get<Loop>(blocks.Mutable(id).control).body = std::move(inside);
      } else if (auto* conditional = std::get_if<Conditional>(&c)) {
        for (size_t i = 0; i < conditional->branches.size(); ++i) {
          std::vector<BlockId> inside = Blocks(conditional->branches[i].body);
          std::get<Conditional>(blocks.Mutable(id).control).branches[i].body = std::move(inside);
        }
      }
    }
    return out;
  }

 private:
  std::vector<NodeId> Statements(const std::vector<NodeId>& list) {
    std::vector<NodeId> out;
    for (NodeId n : list) {
      if (s_.nodes[n].body.index() == 0) continue;
      const NodeId id = nodes.Add(s_.nodes[n]);
      out.push_back(id);
      std::vector<std::vector<NodeId>> inside;
      ForEachBody(s_.nodes[n].body, [&](const std::vector<NodeId>& body) { inside.push_back(Statements(body)); });
      size_t next = 0;
      if (!inside.empty())
        ForEachBody(&nodes.Mutable(id).body, [&](std::vector<NodeId>& body) { body = std::move(inside[next++]); });
    }
    return out;
  }
  const Sdfg& s_;
};

}  // namespace

void Renumber(Sdfg* s) {
  Renumbering r(*s);
  std::vector<BlockId> body = r.Blocks(s->body);
  s->nodes = std::move(r.nodes), s->blocks = std::move(r.blocks), s->body = std::move(body);
}

Expr NumElements(const Container& c) {
  Expr n(1);
  for (const Expr& d : c.shape) n = n * d;
  return n;
}

std::vector<Expr> RowMajorStrides(const std::vector<Expr>& shape) {
  std::vector<Expr> strides(shape.size());
  Expr stride(1);
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0) stride = stride * shape[i];
  }
  return strides;
}

std::vector<Expr> StridesOf(const Container& c) { return c.strides.empty() ? c.order.Strides(c.shape) : c.strides; }

}  // namespace headrace
