#include "ir/verify/verify_statements.h"

#include <algorithm>
#include <utility>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/facts.h"
#include "ir/analysis/type_inference.h"
#include "ir/graph/homes.h"

namespace headrace::verify {

void Statements::Check(NodeId statement, bool reached) {
  uses_.clear();
  maps_.clear();
  Node1(statement);
  if (!r_.Full() && nest_ok_ && reached) CheckNest(s_, uses_, &r_);
  nest_ok_ = true;
}

void Statements::Node1(NodeId id) {
  if (r_.Full()) return;
  const Body& body = s_.nodes[id].body;
  if (auto* t = std::get_if<Tasklet>(&body)) TaskletNode(id, *t);
  else if (auto* m = std::get_if<Map>(&body)) MapNode(id, *m);
  else if (auto* l = std::get_if<Library>(&body)) LibraryNode(id, *l);
  else if (auto* c = std::get_if<Nested>(&body)) CallNode(id, *c);
  else if (auto* i = std::get_if<If>(&body)) ChoiceNode(id, *i);
  else if (auto* k = std::get_if<Touch>(&body)) TouchNode(id, *k);
}

void Statements::ChoiceNode(NodeId id, const If& i) {
  if (!s_.kernel) OnlyInKernels("if", id);
  scope_.Condition(i.condition, "the condition of an if", id);
  CollectReads(i.condition, id, false);
  const size_t conditions = known_.conditions.size();
  for (const auto* body : {&i.body, &i.otherwise}) {
    AddFacts(i.condition, body == &i.body, &known_.conditions);
    for (NodeId n : *body) Node1(n);
    known_.conditions.resize(conditions);  // what was checked is known where the same conditions hold
  }
}

void Statements::TouchNode(NodeId id, const Touch& k) {
  const bool checks = k.kind == TouchKind::kCheck;
  if (!s_.kernel) OnlyInKernels(checks ? "check" : "prefetch", id);
  const Container* c = scope_.Find(k.container);
  if (!c) {
    r_.Add("E0226", "container " + Quoted(k.container) + " is not declared", id, k.container.str(),
           Closest(s_, k.container));
    nest_ok_ = false;
    return;
  }
  bool ok = scope_.Rank(*c, k.index.size(), k.flat, id);
  for (const Expr& e : k.index) ok &= scope_.Names(e, id), CollectReads(e, id, false);
  nest_ok_ &= ok;
  if (checks) known_.Add(k);
}

void Statements::OnlyInKernels(const char* what, NodeId id) {
  r_.Add("E0255", std::string(what) + " stands among the statements of an sdfg that is no kernel", id, "",
         "between states it is control flow; inside a map write condition ? a : b");
  nest_ok_ = false;
}

void Statements::MapNode(NodeId id, const Map& m) {
  if (m.ranges.empty() && !(s_.kernel && m.schedule == Schedule::kApart))
    r_.Add("E0232", "a map has no index", id, "", "give it a range: map i in 0:N");
  for (const Range& r : m.ranges) {
    for (const Expr* e : {&r.begin, &r.end, &r.step}) {
      if (*e) nest_ok_ &= scope_.Names(*e, id, true);
      else if (e != &r.step) nest_ok_ = false;
    }
    if (r.step && AsInt(r.step) == 0) {
      r_.Add("E0233", "the step of index " + Quoted(r.index) + " is 0", id, r.index.str(),
             "use a step of 1 or more, or a negative one");
      nest_ok_ = false;
    }
    if (scope_.IsDefined(r.index)) {
      r_.Add("E0202", "map index " + Quoted(r.index) + " already has a meaning here", id, r.index.str(), "rename it");
      nest_ok_ = false;
    }
    scope_.Define(r.index, id, "map index");
  }
  if (s_.kernel && m.schedule == Schedule::kSequential) WrittenBefore(id);
  maps_.push_back(id.value);
  const size_t checked = known_.checked.size();
  if (s_.kernel) known_.ForgetWritten(s_, m.body);
  for (NodeId n : m.body) Node1(n);
  known_.checked.resize(checked);
  maps_.pop_back();
  for (const Range& r : m.ranges) scope_.Undefine(r.index);
}

// A later iteration of a loop may read what an earlier one wrote, where it lives outside of the loop.
void Statements::WrittenBefore(NodeId loop) {
  std::unordered_set<Name> inside;
  writers_.Roots(loop, &inside);
  for (Name n : inside)
    if (Entry* e = scope_.EntryOf(n); e && e->assigned && !IsScoped(e->container->storage)) e->written = true;
}

void Statements::TaskletNode(NodeId id, const Tasklet& t) {
  const Entry* e = scope_.EntryOf(t.target);
  if (!e) {
    r_.Add("E0226", "container " + Quoted(t.target) + " is not declared", id, t.target.str(), Closest(s_, t.target));
    nest_ok_ = false;
    return;
  }
  const Container* c = e->container;
  bool ok = scope_.Rank(*c, t.index.size(), t.flat, id);
  for (const Expr& i : t.index) ok &= scope_.Names(i, id);
  ok &= scope_.Names(t.value, id);
  if (t.op != WriteOp::kAssign) ok &= scope_.Readable(*e, id, false);
  scope_.Written(*e, id);
  if (c->storage == Storage::kRegister && maps_.empty() && !s_.kernel)
    r_.Add("E0234", "register container " + Quoted(c->name) + " is used outside of a map", id, c->name.str(),
           "registers live in one iteration of a map; use arena storage");
  if (!ok) {
    nest_ok_ = false;
    return;
  }
  Result<Expr> typed = TypedValue(s_, t);
  if (!typed.ok()) {
    scope_.TypeError(typed.status(), id, t.target.str());
    nest_ok_ = false;
    return;
  }
  for (const Expr& i : t.index) {
    if (IsIndexExpr(i)) continue;
    Result<Expr> it = InferTypes(s_, i);
    if (!it.ok()) scope_.TypeError(it.status(), id, t.target.str());
    else if (!IsInteger((*it)->dtype))
      r_.Add("E0235", "an index of " + Quoted(t.target) + " is not an integer", id, t.target.str(), "cast it: i64(…)")
          .got = std::string(DTypeName((*it)->dtype));
  }
  if (t.op == WriteOp::kMax || t.op == WriteOp::kMin)
    if (IsComplex(c->dtype))
      r_.Add("E0236", "complex numbers have no order: " + std::string(WriteOpToken(t.op)), id, t.target.str(),
             "reduce their magnitude");
  for (const Expr& i : t.index) CollectReads(i, id, false);
  CollectReads(t.value, id, false);
  Use u;
  u.node = id;
  u.container = t.target;
  u.index = t.index;
  u.flat = t.flat;
  u.guarded = t.guarded;
  u.write = true;
  u.op = t.op;
  AddUse(std::move(u));
}

void Statements::CollectReads(const Expr& e, NodeId id, bool conditional) {
  if (!e) return;
  if (e.Is(ExprKind::kRead)) {
    Use u;
    u.node = id;
    u.container = e->name;
    u.index = {e->args.begin(), e->args.end() - (e->has_default ? 1 : 0)};
    u.flat = e->flat;
    u.guarded = e->has_default;
    u.conditional = conditional;
    AddUse(std::move(u));
  }
  // The untaken branch of a choice is not evaluated, nor what follows a decided && or ||.
  bool choice = e.Is(ExprKind::kSelect) || (e.Is(ExprKind::kBinary) && (e->op == Op::kAnd || e->op == Op::kOr));
  for (size_t i = 0; i < e->args.size(); ++i) {
    const size_t known = known_.conditions.size();
    if (choice && i > 0 && s_.kernel) AddFacts(e->args[0], e.Is(ExprKind::kSelect) ? i == 1 : e->op == Op::kAnd, &known_.conditions);
    CollectReads(e->args[i], id, conditional || (choice && i > 0));
    known_.conditions.resize(known);
  }
}

void Statements::AddUse(Use u) {
  const Container* c = scope_.Find(u.container);
  if (!c) return;
  if (c->storage == Storage::kRegister) RegisterUse(u);
  u.root = scope_.Root(u.container);
  u.maps = maps_;
  if (IsScheduled(s_)) u.conditions = known_.conditions, u.checked = known_.checked;
  if (u.write && IsScheduled(s_)) known_.Forget(s_, u.root);
  uses_.push_back(std::move(u));
}

void Statements::LibraryNode(NodeId id, const Library& l) {
  for (const Port& p : l.inputs) {
    if (p.container.empty()) continue;
    const Entry* e = scope_.EntryOf(p.container);
    if (!e)
      r_.Add("E0226", "container " + Quoted(p.container) + " is not declared", id, p.container.str(),
             Closest(s_, p.container));
    else if (e->container->kind == ContainerKind::kSequence) continue;
    else scope_.Readable(*e, id, false);
  }
  std::unordered_set<Name> outputs;
  for (const Port& p : l.outputs) {
    if (p.container.empty()) continue;
    const Entry* e = scope_.EntryOf(p.container);
    if (!e) {
      r_.Add("E0226", "container " + Quoted(p.container) + " is not declared", id, p.container.str(),
             Closest(s_, p.container));
      continue;
    }
    if (!outputs.insert(e->root).second && e->container->kind != ContainerKind::kView)
      r_.Add("E0238", "two outputs of a node are " + Quoted(p.container), id, p.container.str(),
             "give each its own container");
    scope_.Written(*e, id);
    if (!maps_.empty()) WholeUse(id, p.container, true);
  }
  if (!maps_.empty())
    for (const Port& p : l.inputs)
      if (!p.container.empty() && scope_.Find(p.container)) WholeUse(id, p.container, false);
  for (Name d : l.defines) {
    if (!maps_.empty())
      r_.Add("E0239", "a node inside a map defines size " + Quoted(d), id, d.str(), "move it out of the map");
    if (!scope_.IsDefined(d)) scope_.Define(d, id, "size");
  }
}

void Statements::WholeUse(NodeId id, Name container, bool write) {
  Use u;
  u.node = id;
  u.container = container;
  u.whole = true;
  u.write = write;
  AddUse(std::move(u));
}

void Statements::CallNode(NodeId id, const Nested& n) {
  if (!p_) return;
  const Sdfg* f = p_->Find(n.callee);
  if (!f) {
    r_.Add("E0240", "sdfg " + Quoted(n.callee) + " is not in the program", id, n.callee.str(),
           "add it, or correct the name");
    return;
  }
  std::unordered_set<Name> bound;
  NameMap sizes;
  for (const Argument& a : n.arguments) Bind(id, *f, n, a, &bound, &sizes);
  for (const auto& [symbol, value] : n.symbols) {
    scope_.Names(value, id);
    sizes.push_back({symbol, value});
  }
  CheckAllBound(n, *f, id, &r_);
  for (const Argument& a : n.arguments)
    if (const Container* c = scope_.Find(a.container)) {
      CheckArgumentSizes(s_, *c, *f, a, sizes, id, &r_);
      CheckArgumentLayout(s_, *c, *f, a, sizes, id, &r_);
    }
  CheckAliases(
      s_, n, *f, [&](Name port) { return writers_.Writes(n.callee, port); }, id, &r_);
}

void Statements::Bind(NodeId id, const Sdfg& f, const Nested& n, const Argument& a, std::unordered_set<Name>* bound,
          NameMap* sizes) {
  const Container* formal = f.Find(a.port);
  if (!formal || std::find(f.parameters.begin(), f.parameters.end(), a.port) == f.parameters.end()) {
    r_.Add("E0246", Quoted(n.callee) + " has no parameter " + Quoted(a.port), id, n.callee.str(),
           "its parameters: " + Listed(f.parameters));
    return;
  }
  if (!bound->insert(a.port).second)
    r_.Add("E0242", "argument " + Quoted(a.port) + " is bound twice", id, n.callee.str(), "bind it once");
  const Entry* entry = scope_.EntryOf(a.container);
  if (!entry) {
    if (!a.container.empty())
      r_.Add("E0226", "container " + Quoted(a.container) + " is not declared", id, a.container.str(),
             Closest(s_, a.container));
    return;
  }
  const Container* c = entry->container;
  for (const Expr& e : a.index) scope_.Names(e, id);
  bool writes = writers_.Writes(n.callee, a.port);
  if (!writes || formal->inout) scope_.Readable(*entry, id, false);
  if (writes) scope_.Written(*entry, id);
  if (c->kind == ContainerKind::kSequence || formal->kind == ContainerKind::kSequence) return;
  if (!CheckArgumentType(*c, *formal, n, a, id, &r_)) {
    nest_ok_ = false;
    return;
  }
  for (size_t i = 0; i < formal->shape.size(); ++i) {
    const Expr& d = formal->shape[i];
    if (!d.Is(ExprKind::kSymbol)) continue;
    bool known = false;
    for (const auto& s : *sizes) known |= s.first == d->name;
    if (!known) sizes->push_back({d->name, c->shape[i + a.index.size()]});
  }
  if (maps_.empty()) return;
  Use u;
  u.node = id;
  u.container = a.container;
  u.index = a.index;
  u.whole = a.index.empty() && !c->shape.empty();
  u.write = writes;
  AddUse(std::move(u));
}

void Statements::RegisterUse(const Use& u) {
  auto [it, fresh] = register_home_.emplace(u.container, maps_);
  if (fresh) return;
  std::vector<uint32_t>& home = it->second;
  size_t common = 0;
  while (common < home.size() && common < maps_.size() && home[common] == maps_[common]) ++common;
  home.resize(common);
}

void Statements::Registers() {
  if (s_.kernel) return;  // theirs live in the innermost body that holds all uses, which may be the kernel's
  for (const auto& [n, home] : register_home_)
    if (home.empty())
      r_.Add("E0251", "register container " + Quoted(n) + " is used by more than one map", {}, n.str(),
             "registers live in one iteration of a map; use arena storage");
}
}  // namespace headrace::verify
