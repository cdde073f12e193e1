#include "ir/verify/verify_scope.h"

#include <algorithm>
#include <utility>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/type_inference.h"
#include "ir/text/printer.h"

namespace headrace::verify {
namespace {

// Without elements: there is nothing to write, and nothing is read.
bool IsEmpty(const Container& c) {
  return std::any_of(c.shape.begin(), c.shape.end(), [](const Expr& n) { return AsInt(n) == 0; });
}

}  // namespace

void Scope::ListContainers() {
  has_places_ = !s_.arena.empty();
  table_.reserve(s_.order.size());
  for (Name n : s_.order)
    if (const Container* c = s_.Find(n)) table_[n].container = c, has_places_ |= c->place.slot >= 0;
  for (auto& [n, e] : table_) {
    e.root = e.container->kind == ContainerKind::kView ? RootOf(s_, n) : n;
    e.array = e.root == n ? &e : EntryOf(e.root);
  }
}

Entry* Scope::EntryOf(Name n) {
  auto it = table_.find(n);
  return it == table_.end() ? nullptr : &it->second;
}

const Container* Scope::Find(Name n) const {
  auto it = table_.find(n);
  return it == table_.end() ? nullptr : it->second.container;
}

Name Scope::Root(Name n) const {
  auto it = table_.find(n);
  return it == table_.end() ? n : it->second.root;
}

void Scope::NoteWrites() {
  ForEachBlock(s_, s_.body, [&](BlockId b) {
    const auto* state = std::get_if<State>(&s_.blocks[b].control);
    if (!state) return;
    for (NodeId n : state->statements) NoteWrites(n);
  });
}

void Scope::NoteWrites(NodeId n) {
  const auto note = [&](Name container) {
    if (Entry* e = EntryOf(container); e && e->array) e->array->written_later = true;
  };
  NoteAssigned(n);
  if (const auto* l = std::get_if<Library>(&s_.nodes[n].body)) {
    for (const Port& p : l->outputs) note(p.container);
    return;
  }
  std::unordered_set<Name> roots;
  writers_.Roots(n, &roots);
  for (Name root : roots) note(root);
}

// What only adds to elements gives them no value of their own.
void Scope::NoteAssigned(NodeId n) {
  const Body& body = s_.nodes[n].body;
  const auto note = [&](Name container) {
    if (Entry* e = EntryOf(container); e && e->array) e->array->assigned = true;
  };
  if (const auto* t = std::get_if<Tasklet>(&body); t && t->op == WriteOp::kAssign) note(t->target);
  if (const auto* l = std::get_if<Library>(&body))
    for (const Port& p : l->outputs) note(p.container);
  if (const auto* c = std::get_if<Nested>(&body))
    for (const Argument& a : c->arguments)
      if (writers_.Writes(c->callee, a.port)) note(a.container);
  ForEachBody(body, [&](const std::vector<NodeId>& inside) {
    for (NodeId m : inside) NoteAssigned(m);
  });
}

void Scope::Symbols() {
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

void Scope::Define(Name n, NodeId at, const char* what) {
  if (Find(n))
    r_.Add("E0202", std::string(what) + " " + Quoted(n) + " has the name of a container", at, n.str(),
           "rename one of them");
  ++defined_[n];
}

void Scope::Undefine(Name n) {
  if (auto it = defined_.find(n); it != defined_.end() && --it->second == 0) defined_.erase(it);
}

bool Scope::Names(const Expr& e, NodeId at, bool index_only) {
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

bool Scope::Read(const Expr& x, NodeId at) {
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

bool Scope::Rank(const Container& c, size_t rank, bool flat, NodeId at) {
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

// The value of `T[-1] ?? 0`, as loops of one iteration leave it, is that behind the `??`.
bool Scope::IsOutside(const Expr& read, const Container& c) const {
  if (!read || read->flat) return false;
  for (size_t i = 0; i < c.shape.size() && i < read->args.size(); ++i) {
    const Expr& index = read->args[i];
    if (!IsIndexExpr(index)) continue;
    if (ProveLe(index + Expr(1), Expr(0), s_.assumptions) == Truth::kYes || ProveLe(c.shape[i], index, s_.assumptions) == Truth::kYes) return true;
  }
  return false;
}

bool Scope::Readable(const Entry& e, NodeId at, bool guarded, const Expr& read) {
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
  if (a.written || IsEmpty(*b) || (guarded && IsOutside(read, *e.container))) return true;
  if (std::exchange(a.complained, true)) return true;
  Diagnostic& d = r_.Add("E0230", Quoted(root) + " is read before it is written", at, root.str(),
                         "write it in an earlier statement");
  if (read) r_.PointAt(read->line, read->column, &d);
  return false;
}

Result<Expr> Scope::Typed(const Expr& e, NodeId at, const std::string& what) {
  if (!Names(e, at)) return InvalidError("names");
  Result<Expr> t = InferTypes(s_, e);
  if (!t.ok()) TypeError(t.status(), at, what);
  return t;
}

void Scope::TypeError(const Status& st, NodeId at, const std::string& what) {
  for (Diagnostic d : st.diagnostics()) {
    Diagnostic& n = r_.Add(d.code.c_str(), d.message, at, what, d.hint);
    r_.PointAt(d.line, d.column, &n);
    n.got = d.got;
    n.expected = d.expected;
  }
}

void Scope::Condition(const Expr& e, const std::string& what, NodeId at) {
  Result<Expr> t = Typed(e, at, what);
  if (t.ok() && (*t)->dtype != DType::kBool && !IsInteger((*t)->dtype))
    r_.Add("E0221", what + " is not a truth value", at, "", "compare it with something").got =
        std::string(DTypeName((*t)->dtype));
}

void Scope::Written(const Entry& e, NodeId id) {
  if (!e.array) return;
  if (e.array->container->kind == ContainerKind::kConstant)
    r_.Add("E0237", "constant " + Quoted(e.root) + " is written", id, e.root.str(), "write to a transient");
  e.array->written = true;
}

void Scope::Unwritten() {
  for (Name n : s_.parameters) {
    const Entry* e = EntryOf(n);
    if (e && e->container->inout && !e->container->output && !e->written && !e->read && !e->written_later)
      r_.Add("E0250", "inout parameter " + Quoted(n) + " is never written", {}, n.str(), "drop inout, or write it");
  }
}
}  // namespace headrace::verify
