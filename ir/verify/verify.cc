// The body of one SDFG: names, definitions before uses, types, statements, control flow, calls.
#include <algorithm>
#include <utility>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/denormals.h"
#include "ir/analysis/facts.h"
#include "ir/analysis/type_inference.h"
#include "ir/graph/homes.h"
#include "ir/text/printer.h"
#include "ir/verify/verify_impl.h"

namespace headrace::verify {

namespace {

class SdfgVerifier {
 public:
  SdfgVerifier(const Program* p, const Sdfg& s, std::vector<Diagnostic>* out)
      : p_(p), s_(s), r_(s, out), writers_(p, s) {}

  void Run() {
    ListContainers();
    CheckDeclarations(s_, &r_);
    if (r_.Full()) return;
    Symbols();
    NoteWrites();
    if (IsScheduled(s_)) CheckSchedule(s_, &r_);
    Blocks(s_.body, 0);
    r_.InBlock(nullptr);
    Unwritten();
    Registers();
    if (has_arena_ && r_.None()) CheckArena(s_, &r_);
  }

 private:
  // What is known of a container, and of an array how it was used so far.
  struct Entry {
    const Container* container = nullptr;
    Name root;
    Entry* array = nullptr;  // the root's own; null: it is not declared
    bool written = false, written_later = false, read = false, complained = false;
  };

  void ListContainers() {
    has_arena_ = !s_.arena.empty();
    table_.reserve(s_.order.size());
    for (Name n : s_.order)
      if (const Container* c = s_.Find(n)) table_[n].container = c, has_arena_ |= c->place.slot >= 0;
    for (auto& [n, e] : table_) {
      e.root = e.container->kind == ContainerKind::kView ? RootOf(s_, n) : n;
      e.array = e.root == n ? &e : EntryOf(e.root);
    }
  }
  // Where statements write at all.
  void NoteWrites() {
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      const auto* state = std::get_if<State>(&s_.blocks[b].control);
      if (!state) return;
      for (NodeId n : state->statements) NoteWrites(n);
    });
  }
  void NoteWrites(NodeId n) {
    const auto note = [&](Name container) {
      if (Entry* e = EntryOf(container); e && e->array) e->array->written_later = true;
    };
    if (const auto* l = std::get_if<Library>(&s_.nodes[n].body)) {
      for (const Port& p : l->outputs) note(p.container);
      return;
    }
    std::unordered_set<Name> roots;
    writers_.Roots(n, &roots);
    for (Name root : roots) note(root);
  }
  Entry* EntryOf(Name n) {
    auto it = table_.find(n);
    return it == table_.end() ? nullptr : &it->second;
  }
  void MarkWritten(Name root) {
    if (Entry* e = EntryOf(root)) e->written = true;
  }

  // ---- symbols ----
  void Symbols() {
    for (Name n : FreeSymbols(s_)) Define(n, {}, "a size");
    for (Name n : s_.symbol_params)
      if (Find(n))
        r_.Add("E0202", "name " + Quoted(n) + " is a symbol and a container", {}, n.str(), "rename one of them");
    for (Name p : s_.parameters) {
      const Container* c = Find(p);
      if (!c) continue;
      for (const Expr& d : c->shape)
        for (Name n : FreeSymbols(d))
          if (!defined_.count(n))
            r_.Add("E0215", "size " + Quoted(n) + " in the shape of " + Quoted(p) + " has no value", {}, p.str(),
                   "let it stand alone as a dimension of a parameter, or declare it: symbol " + n.str());
    }
  }
  void Define(Name n, NodeId at, const char* what) {
    if (Find(n))
      r_.Add("E0202", std::string(what) + " " + Quoted(n) + " has the name of a container", at, n.str(),
             "rename one of them");
    ++defined_[n];
  }
  void Undefine(Name n) {
    if (auto it = defined_.find(n); it != defined_.end() && --it->second == 0) defined_.erase(it);
  }

  const Container* Find(Name n) const {
    auto it = table_.find(n);
    return it == table_.end() ? nullptr : it->second.container;
  }
  Name Root(Name n) const {
    auto it = table_.find(n);
    return it == table_.end() ? n : it->second.root;
  }

  // ---- control flow ----
  void Blocks(const std::vector<BlockId>& body, int loops) {
    for (size_t i = 0; i < body.size() && !r_.Full(); ++i) {
      const Control& c = s_.blocks[body[i]].control;
      r_.InBlock(&s_.blocks[body[i]].origin);
      if (auto* st = std::get_if<State>(&c)) {
        for (NodeId n : st->statements) {
          if (r_.Full()) return;
          Statement(n);
        }
      } else if (auto* l = std::get_if<Loop>(&c)) {
        LoopBlock(*l, loops);
      } else if (auto* d = std::get_if<Conditional>(&c)) {
        if (d->branches.empty()) r_.Add("E0216", "a conditional has no branch", {}, "", "remove it");
        for (size_t k = 0; k < d->branches.size(); ++k) {
          r_.InBlock(&s_.blocks[body[i]].origin);
          const Branch& br = d->branches[k];
          if (br.condition) Condition(br.condition, "the condition of an if");
          else if (k + 1 < d->branches.size())
            r_.Add("E0217", "an else is followed by another branch", {}, "", "else comes last");
          Blocks(br.body, loops);
        }
      } else if (std::holds_alternative<Break>(c) || std::holds_alternative<Continue>(c)) {
        if (loops == 0) r_.Add("E0218", "break or continue outside of a loop", {}, "", "it belongs in a for or while");
      } else if (auto* a = std::get_if<Assign>(&c)) {
        (void)Typed(a->value, {}, "the value of " + Quoted(a->symbol));
        if (!defined_.count(a->symbol)) Define(a->symbol, {}, "symbol");
      } else if (auto* r = std::get_if<Require>(&c)) {
        Requirement(*r);
      }
    }
  }
  void Requirement(const Require& r) {
    Condition(r.condition, "the condition of a require");
    bool reads = !ReadContainers(r.condition).empty();
    for (const Expr& e : r.values) reads |= !Typed(e, {}, "a value of a require").ok() || !IsIndexExpr(e);
    if (reads)
      r_.Add("E0253", "a require speaks of more than sizes: " + ToString(r.condition), {}, "",
             "give data-dependent sizes a name: let n = …");
    size_t places = 0;
    for (size_t at = r.message.find("{}"); at != std::string::npos; at = r.message.find("{}", at + 2)) ++places;
    if (places == r.values.size()) return;
    Diagnostic& d = r_.Add("E0254", "the message of a require has as many {} as there are values", {}, "",
                           "write one {} for each value: require n == m else \"{} and {}\", n, m");
    d.got = std::to_string(places) + " and " + std::to_string(r.values.size());
  }
  void LoopBlock(const Loop& l, int loops) {
    std::unordered_set<Name> inside;
    writers_.Roots(l.body, &inside);  // a later iteration may read what an earlier one wrote
    for (Name n : inside) MarkWritten(n);
    if (l.init) (void)Typed(l.init, {}, "the start of a loop");
    if (!l.var.empty()) {
      if (!l.init || !l.update)
        r_.Add("E0219", "loop over " + Quoted(l.var) + " has no start or no step", {}, l.var.str(),
               "for v = start; condition; update");
      Define(l.var, {}, "loop variable");
    }
    if (l.condition) Condition(l.condition, "the condition of a loop");
    else if (!HasExit(s_, l.body))
      r_.Add("E0220", "a loop without a condition has no break", {}, l.var.str(), "add a condition or a break");
    if (l.update) (void)Typed(l.update, {}, "the step of a loop");
    Blocks(l.body, loops + 1);
    if (!l.var.empty()) Undefine(l.var);
  }
  void Condition(const Expr& e, const std::string& what, NodeId at = {}) {
    Result<Expr> t = Typed(e, at, what);
    if (t.ok() && (*t)->dtype != DType::kBool && !IsInteger((*t)->dtype))
      r_.Add("E0221", what + " is not a truth value", at, "", "compare it with something").got =
          std::string(DTypeName((*t)->dtype));
  }

  // ---- expressions ----
  // Names, ranks, definitions before use; then types.
  bool Names(const Expr& e, NodeId at, bool index_only = false) {
    bool ok = true;
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kSymbol)) {
        if (defined_.count(x->name)) return true;
        ok = false;
        Diagnostic& d = Find(x->name)
                            ? r_.Add("E0222", Quoted(x->name) + " is a container and is used as a size", at,
                                     x->name.str(), "write " + x->name.str() + "[…]")
                            : r_.Add("E0223", "symbol " + Quoted(x->name) + " is not defined here", at, x->name.str(),
                                     "sizes come from parameters, let, loops, maps or a node that defines them before");
        r_.PointAt(x->line, x->column, &d);
      } else if (x.Is(ExprKind::kRead)) {
        ok &= Read(x, at);
      } else if (x->kind > ExprKind::kCast) {
        ok = false;
        r_.Add("E0224", "notation that only pure forms have stands in a program: " + ToString(x), at, "",
               "elaborate the form first");
      }
      return true;
    });
    if (index_only && ok && !IsIndexExpr(e)) {
      ok = false;
      r_.Add("E0225", "a range is not made of sizes: " + ToString(e), at, "",
             "give data-dependent sizes a name: let n = …");
    }
    return ok;
  }
  bool Read(const Expr& x, NodeId at) {
    const Entry* e = EntryOf(x->name);
    if (!e) {
      Diagnostic& d = r_.Add("E0226", "container " + Quoted(x->name) + " is not declared", at, x->name.str(),
                             Closest(s_, x->name));
      r_.PointAt(x->line, x->column, &d);
      return false;
    }
    size_t rank = x->args.size() - (x->has_default ? 1 : 0);
    return Rank(*e->container, rank, x->flat, at) && Readable(*e, at, x->has_default, x);
  }
  bool Rank(const Container& c, size_t rank, bool flat, NodeId at) {
    if (c.kind == ContainerKind::kSequence) {
      r_.Add("E0227", Quoted(c.name) + " is a sequence and can't be indexed", at, c.name.str(),
             "only library nodes touch sequences");
      return false;
    }
    size_t want = flat ? 1 : c.shape.size();
    if (rank == want) return true;
    Diagnostic& d =
        r_.Add("E0228",
               Quoted(c.name) + (flat ? ".flat takes 1 index" : " has " + std::to_string(want) + " dimensions") +
                   ", not " + std::to_string(rank),
               at, c.name.str(), "give one index per dimension");
    d.got = std::to_string(rank);
    d.expected = std::to_string(want);
    return false;
  }
  // Without elements: there is nothing to write, and nothing is read.
  static bool IsEmpty(const Container& c) {
    return std::any_of(c.shape.begin(), c.shape.end(), [](const Expr& n) { return AsInt(n) == 0; });
  }
  bool Readable(const Entry& e, NodeId at, bool guarded, const Expr& read = {}) {
    if (!e.array) return true;
    Entry& a = *e.array;
    const Name root = e.root;
    const Container* b = a.container;
    if (b->kind == ContainerKind::kConstant || b->kind == ContainerKind::kState) return true;
    if (b->kind == ContainerKind::kParameter) {
      a.read = true;
      // An output that is read before anything wrote it would read the caller's garbage.
      if (b->inout || a.written || !a.written_later || guarded || IsEmpty(*b)) return true;
      if (std::exchange(a.complained, true)) return true;
      Diagnostic& d = r_.Add("E0229", "output " + Quoted(root) + " is read before it is written", at, root.str(),
                             "declare it inout, or write it first");
      if (read) r_.PointAt(read->line, read->column, &d);
      return false;
    }
    if (a.written || IsEmpty(*b)) return true;
    if (std::exchange(a.complained, true)) return true;
    Diagnostic& d = r_.Add("E0230", Quoted(root) + " is read before it is written", at, root.str(),
                           "write it in an earlier statement");
    if (read) r_.PointAt(read->line, read->column, &d);
    return false;
  }
  Result<Expr> Typed(const Expr& e, NodeId at, const std::string& what) {
    if (!Names(e, at)) return InvalidError("names");
    Result<Expr> t = InferTypes(s_, e);
    if (!t.ok()) TypeError(t.status(), at, what);
    return t;
  }
  void TypeError(const Status& st, NodeId at, const std::string& what) {
    for (Diagnostic d : st.diagnostics()) {
      Diagnostic& n = r_.Add(d.code.c_str(), d.message, at, what, d.hint);
      r_.PointAt(d.line, d.column, &n);
      n.got = d.got;
      n.expected = d.expected;
    }
  }

  // ---- statements ----
  void Statement(NodeId id) {
    uses_.clear();
    maps_.clear();
    Node1(id);
    if (!r_.Full() && nest_ok_) CheckNest(s_, uses_, &r_);
    nest_ok_ = true;
  }

  void Node1(NodeId id) {
    if (r_.Full()) return;
    const Body& body = s_.nodes[id].body;
    if (auto* t = std::get_if<Tasklet>(&body)) TaskletNode(id, *t);
    else if (auto* m = std::get_if<Map>(&body)) MapNode(id, *m);
    else if (auto* l = std::get_if<Library>(&body)) LibraryNode(id, *l);
    else if (auto* c = std::get_if<Nested>(&body)) CallNode(id, *c);
    else if (auto* i = std::get_if<If>(&body)) ChoiceNode(id, *i);
    else if (auto* k = std::get_if<Touch>(&body)) TouchNode(id, *k);
  }

  void ChoiceNode(NodeId id, const If& i) {
    if (!s_.kernel) OnlyInKernels("if", id);
    Condition(i.condition, "the condition of an if", id);
    CollectReads(i.condition, id, false);
    const size_t conditions = known_.conditions.size();
    for (const auto* body : {&i.body, &i.otherwise}) {
      AddFacts(i.condition, body == &i.body, &known_.conditions);
      for (NodeId n : *body) Node1(n);
      known_.conditions.resize(conditions);  // what was checked is known where the same conditions hold
    }
  }
  void TouchNode(NodeId id, const Touch& k) {
    const bool checks = k.kind == TouchKind::kCheck;
    if (!s_.kernel) OnlyInKernels(checks ? "check" : "prefetch", id);
    const Container* c = Find(k.container);
    if (!c) {
      r_.Add("E0226", "container " + Quoted(k.container) + " is not declared", id, k.container.str(),
             Closest(s_, k.container));
      nest_ok_ = false;
      return;
    }
    bool ok = Rank(*c, k.index.size(), k.flat, id);
    for (const Expr& e : k.index) ok &= Names(e, id), CollectReads(e, id, false);
    nest_ok_ &= ok;
    if (checks) known_.Add(k);
  }
  void OnlyInKernels(const char* what, NodeId id) {
    r_.Add("E0255", std::string(what) + " stands among the statements of an sdfg that is no kernel", id, "",
           "between states it is control flow; inside a map write condition ? a : b");
    nest_ok_ = false;
  }

  void MapNode(NodeId id, const Map& m) {
    if (m.ranges.empty() && !(s_.kernel && m.schedule == Schedule::kApart))
      r_.Add("E0232", "a map has no index", id, "", "give it a range: map i in 0:N");
    for (const Range& r : m.ranges) {
      for (const Expr* e : {&r.begin, &r.end, &r.step}) {
        if (*e) nest_ok_ &= Names(*e, id, true);
        else if (e != &r.step) nest_ok_ = false;
      }
      if (r.step && AsInt(r.step) == 0) {
        r_.Add("E0233", "the step of index " + Quoted(r.index) + " is 0", id, r.index.str(),
               "use a step of 1 or more, or a negative one");
        nest_ok_ = false;
      }
      if (defined_.count(r.index)) {
        r_.Add("E0202", "map index " + Quoted(r.index) + " already has a meaning here", id, r.index.str(), "rename it");
        nest_ok_ = false;
      }
      Define(r.index, id, "map index");
    }
    if (s_.kernel && m.schedule == Schedule::kSequential) WrittenBefore(id);
    maps_.push_back(id.value);
    const size_t checked = known_.checked.size();
    if (s_.kernel) known_.ForgetWritten(s_, m.body);
    for (NodeId n : m.body) Node1(n);
    known_.checked.resize(checked);
    maps_.pop_back();
    for (const Range& r : m.ranges) Undefine(r.index);
  }

  // A later iteration of a loop may read what an earlier one wrote, where it lives outside of the loop.
  void WrittenBefore(NodeId loop) {
    std::unordered_set<Name> inside;
    writers_.Roots(loop, &inside);
    for (Name n : inside)
      if (Entry* e = EntryOf(n); e && !IsScoped(e->container->storage)) e->written = true;
  }

  void TaskletNode(NodeId id, const Tasklet& t) {
    const Entry* e = EntryOf(t.target);
    if (!e) {
      r_.Add("E0226", "container " + Quoted(t.target) + " is not declared", id, t.target.str(), Closest(s_, t.target));
      nest_ok_ = false;
      return;
    }
    const Container* c = e->container;
    bool ok = Rank(*c, t.index.size(), t.flat, id);
    for (const Expr& i : t.index) ok &= Names(i, id);
    ok &= Names(t.value, id);
    if (t.op != WriteOp::kAssign) ok &= Readable(*e, id, false);
    Written(*e, id);
    if (c->storage == Storage::kRegister && maps_.empty() && !s_.kernel)
      r_.Add("E0234", "register container " + Quoted(c->name) + " is used outside of a map", id, c->name.str(),
             "registers live in one iteration of a map; use arena storage");
    if (!ok) {
      nest_ok_ = false;
      return;
    }
    Result<Expr> typed = TypedValue(s_, t);
    if (!typed.ok()) {
      TypeError(typed.status(), id, t.target.str());
      nest_ok_ = false;
      return;
    }
    for (const Expr& i : t.index) {
      if (IsIndexExpr(i)) continue;
      Result<Expr> it = InferTypes(s_, i);
      if (!it.ok()) TypeError(it.status(), id, t.target.str());
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
  void CollectReads(const Expr& e, NodeId id, bool conditional) {
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
  void AddUse(Use u) {
    const Container* c = Find(u.container);
    if (!c) return;
    if (c->storage == Storage::kRegister) RegisterUse(u);
    u.root = Root(u.container);
    u.maps = maps_;
    if (IsScheduled(s_)) u.conditions = known_.conditions, u.checked = known_.checked;
    if (u.write && IsScheduled(s_)) known_.Forget(s_, u.root);
    uses_.push_back(std::move(u));
  }

  void Written(const Entry& e, NodeId id) {
    if (!e.array) return;
    if (e.array->container->kind == ContainerKind::kConstant)
      r_.Add("E0237", "constant " + Quoted(e.root) + " is written", id, e.root.str(), "write to a transient");
    e.array->written = true;
  }

  void LibraryNode(NodeId id, const Library& l) {
    for (const Port& p : l.inputs) {
      if (p.container.empty()) continue;
      const Entry* e = EntryOf(p.container);
      if (!e)
        r_.Add("E0226", "container " + Quoted(p.container) + " is not declared", id, p.container.str(),
               Closest(s_, p.container));
      else if (e->container->kind == ContainerKind::kSequence) continue;
      else Readable(*e, id, false);
    }
    std::unordered_set<Name> outputs;
    for (const Port& p : l.outputs) {
      if (p.container.empty()) continue;
      const Entry* e = EntryOf(p.container);
      if (!e) {
        r_.Add("E0226", "container " + Quoted(p.container) + " is not declared", id, p.container.str(),
               Closest(s_, p.container));
        continue;
      }
      if (!outputs.insert(e->root).second && e->container->kind != ContainerKind::kView)
        r_.Add("E0238", "two outputs of a node are " + Quoted(p.container), id, p.container.str(),
               "give each its own container");
      Written(*e, id);
      if (!maps_.empty()) WholeUse(id, p.container, true);
    }
    if (!maps_.empty())
      for (const Port& p : l.inputs)
        if (!p.container.empty() && Find(p.container)) WholeUse(id, p.container, false);
    for (Name d : l.defines) {
      if (!maps_.empty())
        r_.Add("E0239", "a node inside a map defines size " + Quoted(d), id, d.str(), "move it out of the map");
      if (!defined_.count(d)) Define(d, id, "size");
    }
  }
  void WholeUse(NodeId id, Name container, bool write) {
    Use u;
    u.node = id;
    u.container = container;
    u.whole = true;
    u.write = write;
    AddUse(std::move(u));
  }

  void CallNode(NodeId id, const Nested& n) {
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
      Names(value, id);
      sizes.push_back({symbol, value});
    }
    CheckAllBound(n, *f, id, &r_);
    for (const Argument& a : n.arguments)
      if (const Container* c = Find(a.container)) {
        CheckArgumentSizes(s_, *c, *f, a, sizes, id, &r_);
        CheckArgumentLayout(s_, *c, *f, a, sizes, id, &r_);
      }
    CheckAliases(
        n, *f, [&](Name port) { return writers_.Writes(n.callee, port); }, id, &r_);
  }
  void Bind(NodeId id, const Sdfg& f, const Nested& n, const Argument& a, std::unordered_set<Name>* bound,
            NameMap* sizes) {
    const Container* formal = f.Find(a.port);
    if (!formal || std::find(f.parameters.begin(), f.parameters.end(), a.port) == f.parameters.end()) {
      r_.Add("E0246", Quoted(n.callee) + " has no parameter " + Quoted(a.port), id, n.callee.str(),
             "its parameters: " + Listed(f.parameters));
      return;
    }
    if (!bound->insert(a.port).second)
      r_.Add("E0242", "argument " + Quoted(a.port) + " is bound twice", id, n.callee.str(), "bind it once");
    const Entry* entry = EntryOf(a.container);
    if (!entry) {
      if (!a.container.empty())
        r_.Add("E0226", "container " + Quoted(a.container) + " is not declared", id, a.container.str(),
               Closest(s_, a.container));
      return;
    }
    const Container* c = entry->container;
    for (const Expr& e : a.index) Names(e, id);
    bool writes = writers_.Writes(n.callee, a.port);
    if (!writes || formal->inout) Readable(*entry, id, false);
    if (writes) Written(*entry, id);
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
  // ---- the end ----
  void Unwritten() {
    for (Name n : s_.parameters) {
      const Entry* e = EntryOf(n);
      if (e && e->container->inout && !e->container->output && !e->written && !e->read && !e->written_later)
        r_.Add("E0250", "inout parameter " + Quoted(n) + " is never written", {}, n.str(), "drop inout, or write it");
    }
  }
  void RegisterUse(const Use& u) {
    auto [it, fresh] = register_home_.emplace(u.container, maps_);
    if (fresh) return;
    std::vector<uint32_t>& home = it->second;
    size_t common = 0;
    while (common < home.size() && common < maps_.size() && home[common] == maps_[common]) ++common;
    home.resize(common);
  }
  void Registers() {
    if (s_.kernel) return;  // theirs live in the innermost body that holds all uses, which may be the kernel's
    for (const auto& [n, home] : register_home_)
      if (home.empty())
        r_.Add("E0251", "register container " + Quoted(n) + " is used by more than one map", {}, n.str(),
               "registers live in one iteration of a map; use arena storage");
  }

  const Program* p_;
  const Sdfg& s_;
  Report r_;
  std::unordered_map<Name, Entry> table_;  // the SDFG's, for quicker look-up
  std::unordered_map<Name, int> defined_;
  Writers writers_;
  std::unordered_map<Name, std::vector<uint32_t>> register_home_;
  std::vector<Use> uses_;
  std::vector<uint32_t> maps_;
  Known known_;
  bool nest_ok_ = true;
  bool has_arena_ = false;  // slots, or places in them
};

}  // namespace

void CheckBody(const Program& p, const Sdfg& s, std::vector<Diagnostic>* out) {
  SdfgVerifier(&p, s, out).Run();
  if (s.flush && NeedsDenormals(s))
    Report(s, out).Add("E0258", "'" + s.name.str() + "' is marked @flush and computes in f64, c128 or f8e8m0, which keep denormals",
                       {}, s.name.str(), "drop @flush, or let the pass `denormals` put it");
}

}  // namespace headrace::verify
