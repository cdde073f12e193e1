// Programs → plans: containers and symbols numbered, maps split into the part run point by point and the part run in blocks.
#include <algorithm>
#include <set>

#include "backends/common/external_call.h"
#include "ir/registry/call_contract.h"
#include "backends/interpreter/compile_expr.h"
#include "ir/analysis/type_inference.h"
#include "ir/graph/homes.h"

namespace headrace::interpreter {
namespace {

struct Compiler {
  const Program& program;
  const Registry& registry;
  ProgramPlan& out;
  std::unordered_map<Name, const SdfgPlan*> done;
  std::vector<Diagnostic> unsupported;

  Result<const SdfgPlan*> Compile(Name name);
};

// Arithmetic and comparisons of floats: what meets denormals.
bool Computes(const Instr& i) {
  return (i.op >= Opc::kSignF && i.op <= Opc::kLeF) || (i.op >= Opc::kAddC && i.op <= Opc::kNeC);
}

class SdfgCompiler {
 public:
  SdfgCompiler(Compiler& c, const Sdfg& s, SdfgPlan& plan) : c_(c), s_(s), plan_(plan) {}
  Status Run();

 private:
  Result<IndexExpr> Index(const Expr& e, const char* what);
  Result<Scalar> CompileScalar(const Expr& e, DType t);
  Result<std::vector<BlockPlan>> Blocks(const std::vector<BlockId>& ids);
  Result<std::vector<Stmt>> Statements(const std::vector<NodeId>& ids);
  Result<Stmt> Statement(NodeId id);
  Result<Stmt> MapStmt(NodeId id, Origin origin);
  Result<RangePlan> PlanRange(const Range& r);
  Result<Stmt> TaskletStmt(const Tasklet& t, const std::vector<Range>& ranges, const Origin& origin, size_t in_order = 0);
  void NoteOrder(const Map& m);
  std::vector<int> FreshIn(NodeId owner) const;
  Result<Stmt> NestedStmt(const Nested& n);
  Result<Stmt> IfStmt(NodeId id);
  Result<Stmt> CheckStmt(const Touch& k);
  Result<Stmt> CallStmt(NodeId id, const Library& l, const Origin& origin);
  Status Slots();
  int Root(int slot) const;
  void AddSlot(std::vector<int>* slots, int slot) const;
  bool DependsOn(const Expr& e, Name n) const;
  bool PlaceDependsOn(int slot, Name n) const;

  Compiler& c_;
  const Sdfg& s_;
  SdfgPlan& plan_;
  std::vector<Home> homes_;        // of a scheduled kernel
  std::set<Name> in_any_order_;  // indices of its maps that are being looked at
};

Result<IndexExpr> SdfgCompiler::Index(const Expr& e, const char* what) {
  if (!e) return IndexExpr{};
  if (auto i = CompileIndex(plan_, e)) return std::move(*i);
  return UnsupportedError("E0684", std::string(what) + " that is not integer arithmetic on symbols: " + ToString(e),
                          "define a symbol first: let n = …");
}

Result<Scalar> SdfgCompiler::CompileScalar(const Expr& e, DType t) {
  Scalar r;
  if (auto i = CompileIndex(plan_, e)) {
    r.index = std::move(*i);
    return r;
  }
  HR_ASSIGN_OR_RETURN(Expr typed, InferTypes(s_, e, t));
  ExprCompiler ec(plan_, {});
  HR_RETURN_IF_ERROR(ec.CompileValue(typed, t == DType::kBool ? DType::kBool : DType::kI64));
  r.code = std::make_shared<Code>(ec.Finish());
  c_.out.registers = std::max(c_.out.registers, r.code->registers);
  return r;
}

Status SdfgCompiler::Slots() {
  for (size_t k = 0; k < s_.order.size(); ++k) {
    SlotPlan p;
    p.container = &s_.Get(s_.order[k]);
    p.sequence = p.container->kind == ContainerKind::kSequence || p.container->type.kind != ValueType::kTensor;
    plan_.slot_of.emplace(s_.order[k], static_cast<int>(k));
    plan_.slots.push_back(std::move(p));
  }
  for (Name n : FreeSymbols(s_)) SymbolOf(plan_, n);
  for (SlotPlan& p : plan_.slots) {
    for (const Expr& d : p.container->shape) {
      HR_ASSIGN_OR_RETURN(IndexExpr i, Index(d, "a dimension"));
      p.shape.push_back(std::move(i));
    }
    for (const Expr& d : p.container->row_major() ? std::vector<Expr>() : StridesOf(*p.container)) {
      HR_ASSIGN_OR_RETURN(IndexExpr i, Index(d, "a stride"));
      p.strides.push_back(std::move(i));
    }
    HR_ASSIGN_OR_RETURN(p.offset, Index(p.container->offset, "an offset"));
    if (p.container->kind == ContainerKind::kView) {
      auto it = plan_.slot_of.find(p.container->base);
      if (it == plan_.slot_of.end()) return InternalError("view of unknown container " + p.container->base.str());
      p.base = it->second;
    }
  }
  for (size_t k = 0; k < plan_.slots.size(); ++k)
    if (plan_.slots[k].base >= 0) plan_.slots[Root(static_cast<int>(k))].views.push_back(static_cast<int>(k));
  for (size_t k = 0; k < s_.parameters.size(); ++k)
    plan_.slots[plan_.slot_of.at(s_.parameters[k])].parameter = static_cast<int>(k);
  return {};
}

int SdfgCompiler::Root(int slot) const {
  while (plan_.slots[slot].base >= 0) slot = plan_.slots[slot].base;
  return slot;
}

void SdfgCompiler::AddSlot(std::vector<int>* slots, int slot) const {
  if (std::find(slots->begin(), slots->end(), slot) == slots->end()) slots->push_back(slot);
}

bool SdfgCompiler::DependsOn(const Expr& e, Name n) const {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    found |= x.Is(ExprKind::kSymbol) && x->name == n;
    return !found;
  });
  return found;
}

bool SdfgCompiler::PlaceDependsOn(int slot, Name n) const {
  for (; slot >= 0; slot = plan_.slots[slot].base) {
    const Container& c = *plan_.slots[slot].container;
    for (const auto* list : {&c.shape, &c.strides})
      for (const Expr& e : *list)
        if (DependsOn(e, n)) return true;
    if (DependsOn(c.offset, n)) return true;
  }
  return false;
}

// `in_order`: as many of the ranges are those of loops, or around them.
Result<Stmt> SdfgCompiler::TaskletStmt(const Tasklet& t, const std::vector<Range>& ranges, const Origin& origin, size_t in_order) {
  // Ranges from `first` on are taken in blocks: none of them, and no container's place, may depend on one of the others.
  std::vector<int> used;
  auto collect = [&](const Expr& e) {
    for (Name n : ReadContainers(e))
      if (auto it = plan_.slot_of.find(n); it != plan_.slot_of.end()) AddSlot(&used, it->second);
  };
  auto target = plan_.slot_of.find(t.target);
  if (target == plan_.slot_of.end()) return InternalError("no container " + t.target.str());
  AddSlot(&used, target->second);
  collect(t.value);
  for (const Expr& e : t.index) collect(e);
  size_t first = 0;
  for (size_t k = 0; k < ranges.size(); ++k) {
    for (size_t j = k + 1; j < ranges.size(); ++j)
      for (const Expr& e : {ranges[j].begin, ranges[j].end, ranges[j].step})
        if (e && DependsOn(e, ranges[k].index)) first = k + 1;
    for (int slot : used)
      if (PlaceDependsOn(slot, ranges[k].index)) first = k + 1;
  }
  const int root = Root(target->second);
  bool reads_itself = false;  // what a round of a loop wrote the next one may read
  for (Name n : ReadContainers(t.value))
    if (auto it = plan_.slot_of.find(n); it != plan_.slot_of.end()) reads_itself |= Root(it->second) == root;
  if (reads_itself) first = std::max(first, in_order);
  Stmt s;
  s.origin = origin;
  std::vector<Name> lanes;
  for (size_t k = first; k < ranges.size(); ++k) {
    lanes.push_back(ranges[k].index);
    HR_ASSIGN_OR_RETURN(RangePlan p, PlanRange(ranges[k]));
    s.ranges.push_back(std::move(p));
  }
  HR_ASSIGN_OR_RETURN(Expr value, TypedValue(s_, t));
  Tasklet typed = t;
  for (Expr& e : typed.index) { HR_ASSIGN_OR_RETURN(e, InferTypes(s_, e)); }
  const Container& c = s_.Get(t.target);
  s.op = t.op;
  s.target_type = c.dtype;
  const bool ordered = t.op == WriteOp::kMax || t.op == WriteOp::kMin;
  if ((c.dtype == DType::kString && t.op != WriteOp::kAssign) || (IsComplex(c.dtype) && ordered)) {
    return UnsupportedError("E0684",
                            "operator " + std::string(WriteOpToken(t.op)) + " on " + std::string(DTypeName(c.dtype)));
  }
  ExprCompiler ec(plan_, lanes);
  HR_RETURN_IF_ERROR(ec.CompileValue(value, c.dtype));
  HR_RETURN_IF_ERROR(ec.CompileTarget(typed, &s.target));
  s.code = ec.Finish();
  s.moves = t.op == WriteOp::kAssign && std::none_of(s.code.instrs.begin(), s.code.instrs.end(), Computes);
  c_.out.registers = std::max(c_.out.registers, s.code.registers);
  s.slots = used;
  // Blocks read before they write. That is the order of points only if no point reads what another one writes.
  auto same_point = [&](const Expr& e) {
    bool ok = true;
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead) && Root(plan_.slot_of.at(x->name)) == root) {
        std::vector<Expr> index = x->args;
        if (x->has_default) index.pop_back();
        ok &= x->name == t.target && index == t.index && x->flat == t.flat && t.op == WriteOp::kAssign;
      }
      return ok;
    });
    return ok;
  };
  s.sequential = !same_point(t.value);
  for (const Expr& e : t.index) s.sequential |= !same_point(e);
  for (size_t k = first; k-- > 0;) {
    Stmt outer;
    outer.kind = Stmt::kMap;
    outer.origin = origin;
    HR_ASSIGN_OR_RETURN(RangePlan p, PlanRange(ranges[k]));
    outer.ranges.push_back(std::move(p));
    outer.body.push_back(std::move(s));
    s = std::move(outer);
  }
  return s;
}

Result<RangePlan> SdfgCompiler::PlanRange(const Range& r) {
  RangePlan p;
  p.symbol = SymbolOf(plan_, r.index);
  HR_ASSIGN_OR_RETURN(p.begin, Index(r.begin, "a map's bound"));
  HR_ASSIGN_OR_RETURN(p.end, Index(r.end, "a map's bound"));
  HR_ASSIGN_OR_RETURN(p.step, Index(r.step ? r.step : IntExpr(1), "a map's step"));
  p.any_order = in_any_order_.count(r.index) > 0;
  return p;
}

// Names of indices stand for others in other maps.
void SdfgCompiler::NoteOrder(const Map& m) {
  if (!s_.kernel || s_.device.empty()) return;
  for (const Range& r : m.ranges) {
    if (m.schedule == Schedule::kSequential || m.schedule == Schedule::kHalves) in_any_order_.erase(r.index);
    else in_any_order_.insert(r.index);
  }
}

// What lives in a body has no value where an iteration begins.
std::vector<int> SdfgCompiler::FreshIn(NodeId owner) const {
  std::vector<int> out;
  for (const Home& h : homes_)
    if (h.owner == owner) out.push_back(plan_.slot_of.at(h.container));
  return out;
}

Result<Stmt> SdfgCompiler::MapStmt(NodeId id, Origin origin) {
  const Map& m = std::get<Map>(s_.nodes[id].body);
  NoteOrder(m);
  // A nest of maps around a single tasklet is one iteration space.
  std::vector<Range> ranges = m.ranges;
  size_t in_order = m.schedule == Schedule::kSequential ? ranges.size() : 0;
  const std::vector<NodeId>* body = &m.body;
  for (;;) {
    const Body* only = nullptr;
    Origin inner_origin;
    NodeId inner_id;
    int live = 0;
    for (NodeId n : *body) {
      const Body& b = s_.nodes[n].body;
      if (std::holds_alternative<std::monostate>(b)) continue;
      ++live;
      only = &b;
      inner_id = n;
      inner_origin = s_.nodes[n].origin;
    }
    if (live != 1) break;
    if (inner_origin.known()) origin = inner_origin;
    if (const auto* t = std::get_if<Tasklet>(only)) {
      Result<Stmt> s = TaskletStmt(*t, ranges, origin, in_order);
      const auto count = m.schedule == Schedule::kHalves && ranges.size() == 1 ? AsInt(ranges[0].end) : std::nullopt;
      // Of whole numbers any order gives the same.
      if (s.ok() && count && *count <= kLanes && IsFloat(s_.Get(t->target).dtype)) s->halves = s->kind == Stmt::kTasklet;
      return s;
    }
    const auto* inner = std::get_if<Map>(only);
    if (inner == nullptr) break;
    id = inner_id;
    NoteOrder(*inner);
    ranges.insert(ranges.end(), inner->ranges.begin(), inner->ranges.end());
    if (inner->schedule == Schedule::kSequential) in_order = ranges.size();
    body = &inner->body;
  }
  Stmt s;
  s.kind = Stmt::kMap;
  s.origin = origin;
  for (const Range& r : ranges) {
    HR_ASSIGN_OR_RETURN(RangePlan p, PlanRange(r));
    s.ranges.push_back(std::move(p));
  }
  s.fresh = FreshIn(id);
  HR_ASSIGN_OR_RETURN(s.body, Statements(*body));
  return s;
}

Result<Stmt> SdfgCompiler::NestedStmt(const Nested& n) {
  Stmt s;
  s.kind = Stmt::kNested;
  HR_ASSIGN_OR_RETURN(s.callee, c_.Compile(n.callee));
  for (const Argument& a : n.arguments) {
    Stmt::Binding b;
    auto port = s.callee->slot_of.find(a.port);
    auto slot = plan_.slot_of.find(a.container);
    if (port == s.callee->slot_of.end())
      return InternalError("call of " + n.callee.str() + ": no parameter " + a.port.str());
    if (a.container.empty()) continue;
    if (slot == plan_.slot_of.end())
      return InternalError("call of " + n.callee.str() + ": no container " + a.container.str());
    b.port = port->second;
    b.slot = slot->second;
    for (const Expr& e : a.index) {
      HR_ASSIGN_OR_RETURN(IndexExpr i, Index(e, "an argument's index"));
      b.index.push_back(std::move(i));
    }
    s.bindings.push_back(std::move(b));
  }
  for (const auto& [name, e] : n.symbols) {
    auto it = s.callee->symbol_of.find(name);
    if (it == s.callee->symbol_of.end()) continue;  // the callee never uses it
    HR_ASSIGN_OR_RETURN(IndexExpr i, Index(e, "a symbol argument"));
    s.symbols.emplace_back(it->second, std::move(i));
  }
  return s;
}

Result<Stmt> SdfgCompiler::CallStmt(NodeId id, const Library& l, const Origin& origin) {
  Stmt s;
  s.kind = Stmt::kCall;
  s.library = &l;
  const std::string op =
      l.domain.str() + "." + l.op.str() + (l.version > 0 ? " (opset " + std::to_string(l.version) + ")" : "");
  if (l.domain.view() != "call" || (s.function = c_.registry.FindFunction(l.op.str())) == nullptr) {
    Diagnostic d;
    d.kind = ErrorKind::kUnsupported;
    d.node = origin.Label();
    d.op = op;
    if (l.domain.view() == "call") {
      d.code = "E0681";
      d.message = "no external function " + l.op.str() + " is registered";
      d.hint = "load the plugin that offers it: --plugin FILE.so";
    } else {
      d.code = "E0680";
      d.message = "library node " + op + " was not expanded";
      d.hint = "run the pass expand-library-nodes first";
    }
    c_.unsupported.push_back(std::move(d));
    return s;
  }
  auto slots_of = [&](const std::vector<Port>& ports, std::vector<int>* slots) -> Status {
    for (const Port& p : ports) {
      auto it = plan_.slot_of.find(p.container);
      if (!p.container.empty() && it == plan_.slot_of.end())
        return InternalError(op + ": no container " + p.container.str());
      slots->push_back(p.container.empty() ? -1 : it->second);
    }
    return {};
  };
  HR_RETURN_IF_ERROR(slots_of(l.inputs, &s.inputs));
  HR_RETURN_IF_ERROR(slots_of(l.outputs, &s.outputs));
  for (Name n : l.defines) s.defines.push_back(SymbolOf(plan_, n));
  if (!l.outputs.empty() && l.outputs.back().name == Name(kScratchPort)) s.scratch = s.outputs.back(), s.outputs.pop_back();
  if (s.function->prepare != nullptr) {
    HR_ASSIGN_OR_RETURN(const NodeView view, ViewOf(c_.registry, c_.program, s_, id));
    HR_ASSIGN_OR_RETURN(s.state, PrepareCall(*s.function, view, {1, "interpreter", /*dense=*/true}));
    c_.out.states.emplace_back(s.function, s.state);
  } else if (s.function->create != nullptr) {
    HR_ASSIGN_OR_RETURN(s.state, CreateState(*s.function, l.attributes, origin.Label()));
    c_.out.states.emplace_back(s.function, s.state);
  }
  return s;
}

Result<Stmt> SdfgCompiler::IfStmt(NodeId id) {
  const If& i = std::get<If>(s_.nodes[id].body);
  Stmt s;
  s.kind = Stmt::kIf;
  s.fresh = FreshIn(id);
  HR_ASSIGN_OR_RETURN(s.condition, CompileScalar(i.condition, DType::kBool));
  HR_ASSIGN_OR_RETURN(s.body, Statements(i.body));
  HR_ASSIGN_OR_RETURN(s.otherwise, Statements(i.otherwise));
  return s;
}

// An element that is compared with itself is read, which fails where it is none.
Result<Stmt> SdfgCompiler::CheckStmt(const Touch& k) {
  Stmt s;
  s.kind = Stmt::kCheck;
  const Expr read = ReadExpr(k.container, k.index, {}, k.flat);
  HR_ASSIGN_OR_RETURN(s.condition, CompileScalar(BinaryExpr(Op::kEq, read, read), DType::kBool));
  return s;
}

Result<Stmt> SdfgCompiler::Statement(NodeId id) {
  const Node& n = s_.nodes[id];
  const Origin& origin = n.origin;
  auto located = [&](Result<Stmt> r) -> Result<Stmt> {
    if (!r.ok()) return WithOrigin(r.status(), origin);
    if (!r->origin.known()) r->origin = origin;
    return r;
  };
  if (const auto* t = std::get_if<Tasklet>(&n.body)) return located(TaskletStmt(*t, {}, origin));
  if (std::holds_alternative<Map>(n.body)) return located(MapStmt(id, origin));
  if (const auto* c = std::get_if<Nested>(&n.body)) return located(NestedStmt(*c));
  if (std::holds_alternative<If>(n.body)) return located(IfStmt(id));
  if (const auto* k = std::get_if<Touch>(&n.body)) return located(CheckStmt(*k));
  return located(CallStmt(id, std::get<Library>(n.body), origin));
}

Result<std::vector<Stmt>> SdfgCompiler::Statements(const std::vector<NodeId>& ids) {
  std::vector<Stmt> r;
  for (NodeId id : ids) {
    const Body& body = s_.nodes[id].body;
    const auto* touch = std::get_if<Touch>(&body);
    if (std::holds_alternative<std::monostate>(body) || (touch && touch->kind == TouchKind::kPrefetch)) continue;
    HR_ASSIGN_OR_RETURN(Stmt s, Statement(id));
    r.push_back(std::move(s));
  }
  return r;
}

Result<std::vector<BlockPlan>> SdfgCompiler::Blocks(const std::vector<BlockId>& ids) {
  std::vector<BlockPlan> out;
  for (BlockId id : ids) {
    const Block& block = s_.blocks[id];
    if (std::holds_alternative<std::monostate>(block.control)) continue;
    BlockPlan b;
    b.origin = block.origin;
    if (const auto* st = std::get_if<State>(&block.control)) {
      HR_ASSIGN_OR_RETURN(b.statements, Statements(st->statements));
    } else if (const auto* l = std::get_if<Loop>(&block.control)) {
      b.kind = BlockPlan::kLoop;
      b.loop.do_while = l->do_while;
      if (!l->var.empty()) b.loop.var = SymbolOf(plan_, l->var);
      if (l->init) { HR_ASSIGN_OR_RETURN(b.loop.init, CompileScalar(l->init, DType::kI64)); }
      const std::optional<Range> range = AsRange(*l);
      b.loop.counts = range.has_value();
      const Expr update = range ? range->step : l->update;
      if (update) { HR_ASSIGN_OR_RETURN(b.loop.update, CompileScalar(update, DType::kI64)); }
      b.loop.has_condition = static_cast<bool>(l->condition);
      if (l->condition) { HR_ASSIGN_OR_RETURN(b.loop.condition, CompileScalar(l->condition, DType::kBool)); }
      HR_ASSIGN_OR_RETURN(b.loop.body, Blocks(l->body));
    } else if (const auto* c = std::get_if<Conditional>(&block.control)) {
      b.kind = BlockPlan::kConditional;
      for (const Branch& br : c->branches) {
        BranchPlan p;
        p.is_else = !br.condition;
        if (br.condition) { HR_ASSIGN_OR_RETURN(p.condition, CompileScalar(br.condition, DType::kBool)); }
        HR_ASSIGN_OR_RETURN(p.body, Blocks(br.body));
        b.branches.push_back(std::move(p));
      }
    } else if (std::holds_alternative<Break>(block.control)) {
      b.kind = BlockPlan::kBreak;
    } else if (std::holds_alternative<Continue>(block.control)) {
      b.kind = BlockPlan::kContinue;
    } else if (const auto* a = std::get_if<Assign>(&block.control)) {
      b.kind = BlockPlan::kAssign;
      b.symbol = SymbolOf(plan_, a->symbol);
      b.message = a->message;
      HR_ASSIGN_OR_RETURN(b.value, CompileScalar(a->value, DType::kI64));
    } else if (const auto* r = std::get_if<Require>(&block.control)) {
      b.kind = BlockPlan::kRequire;
      b.message = r->message;
      HR_ASSIGN_OR_RETURN(b.value, CompileScalar(r->condition, DType::kBool));
      for (const Expr& e : r->values) {
        HR_ASSIGN_OR_RETURN(IndexExpr value, Index(e, "a value of a require"));
        b.values.push_back(std::move(value));
      }
    }
    out.push_back(std::move(b));
  }
  return out;
}

Status SdfgCompiler::Run() {
  HR_RETURN_IF_ERROR(Slots());
  plan_.flush = s_.flush;
  if (s_.kernel && !s_.device.empty()) {
    std::vector<NodeId> all;
    ForEachNode(s_, [&](NodeId n) { all.push_back(n); }, /*into_maps=*/false);
    homes_ = HomesOf(s_, all);
  }
  HR_ASSIGN_OR_RETURN(plan_.body, Blocks(s_.body));
  PlanReleases(&plan_);
  plan_.dependents.resize(plan_.symbols.size());
  for (size_t k = 0; k < plan_.slots.size(); ++k) {
    std::set<int> symbols;
    for (int slot = static_cast<int>(k); slot >= 0; slot = plan_.slots[slot].base) {
      const Container& c = *plan_.slots[slot].container;
      std::vector<Expr> all = c.shape;
      all.insert(all.end(), c.strides.begin(), c.strides.end());
      if (c.offset) all.push_back(c.offset);
      for (const Expr& e : all)
        for (Name n : FreeSymbols(e)) symbols.insert(SymbolOf(plan_, n));
    }
    for (int n : symbols) plan_.dependents[n].push_back(static_cast<int>(k));
  }
  return {};
}

Result<const SdfgPlan*> Compiler::Compile(Name name) {
  auto it = done.find(name);
  if (it != done.end()) {
    if (it->second == nullptr)
      return InvalidError("E0683", "sdfg " + name.str() + " calls itself", "recursion is not supported");
    return it->second;
  }
  const Sdfg* s = program.Find(name);
  if (s == nullptr) return InvalidError("E0683", "no sdfg " + name.str() + " in the program");
  done[name] = nullptr;
  auto plan = std::make_unique<SdfgPlan>();
  plan->sdfg = s;
  HR_RETURN_IF_ERROR(SdfgCompiler(*this, *s, *plan).Run());
  out.sdfgs.push_back(std::move(plan));
  return done[name] = out.sdfgs.back().get();
}

}  // namespace

ProgramPlan::~ProgramPlan() {
  for (auto& [function, state] : states) EndState(*function, state);
}

Result<std::shared_ptr<ProgramPlan>> Compile(const Program& p, const Registry& r) {
  auto plan = std::make_shared<ProgramPlan>();
  plan->program = p;
  Compiler c{plan->program, r, *plan, {}, {}};
  HR_ASSIGN_OR_RETURN(const SdfgPlan* entry, c.Compile(plan->program.Entry().name));
  static_cast<void>(entry);
  if (!c.unsupported.empty()) return Status(std::move(c.unsupported));
  return plan;
}

}  // namespace headrace::interpreter
