// The elaborator's story: bind ports and attributes, run the statements, drop what nothing reads.
#include "ir/elaborate/elaborate.h"

#include <algorithm>

#include "ir/elaborate/elaborate_internal.h"

namespace headrace {
namespace elaborate {

Elaborator::Elaborator(const Form& form, const FormContext& context)
    : form_(form), context_(context), assumptions_(context.assumptions) {
  s_.name = context.sdfg_name;
  s_.assumptions = context.assumptions;
  open_.emplace_back();
  held_.emplace_back();
}

Sdfg Elaborator::Run() {
  BindPorts();
  BindAttributes();
  CollectGroups(form_.statements);
  FindHalfSums(form_.statements);
  Statements(form_.statements);
  Finish();
  return std::move(s_);
}

Name Elaborator::FreshName(const std::string& stem) {
  std::string name = stem;
  for (int i = 1; used_names_.count(name) || s_.Find(name); ++i) name = stem + "_" + std::to_string(i);
  used_names_.insert(name);
  return name;
}

Name Elaborator::FreshIndex(const std::string& stem, std::set<Name>* taken) const {
  std::string name = stem;
  for (int i = 1; used_names_.count(name) || taken->count(name) || FindFunction(name); ++i)
    name = stem + "_" + std::to_string(i);
  taken->insert(name);
  return name;
}

// Symbols are sizes, ≥ 0, unless something is said: nothing is known of an index whose range isn't solved.
void Elaborator::Unbounded(Name index) {
  if (unbounded_.insert(index).second) assumptions_.bounds.push_back({index, Interval{}});
}

void Elaborator::BindPorts() {
  auto symbols = [&](const std::vector<Expr>& list) {
    for (const Expr& e : list)
      for (Name n : FreeSymbols(e)) used_names_.insert(n);
  };
  for (const auto* ports : {&context_.inputs, &context_.outputs})
    for (const FormPort& p : *ports) symbols(p.shape), symbols(p.known);
  for (const auto* ports : {&context_.inputs, &context_.outputs}) {
    const bool output = ports == &context_.outputs;
    std::map<Name, int> count;
    for (size_t i = 0; i < ports->size(); ++i) {
      const FormPort& p = (*ports)[i];
      Name as = p.variadic ? Name(p.name.str() + "_" + std::to_string(count[p.name]++)) : p.name;
      // BatchNormalization up to version 13 names outputs like inputs: there the name is the output's, in3 and the like the input's.
      if (output && p.present && !p.variadic && s_.Find(as)) as = Name("out_" + as.str());
      AddPort(p, as, output, i);
    }
  }
}

void Elaborator::AddPort(const FormPort& p, Name as, bool output, size_t position) {
  const Name alias((output ? "out" : "in") + std::to_string(position));
  const bool only = output && context_.outputs.size() == 1;
  // ONNX names some variadic ports "outputs..."; forms write outputs.
  const Name list(p.name.view().substr(0, p.name.view().find("...")));
  if (p.variadic) variadic_[list];
  if (output) output_names_.push_back(p.present ? as : Name());
  if (!p.present) {
    if (p.variadic) return;
    (output ? absent_outputs_ : absent_).insert(p.name);
    absent_.insert(p.name);
    absent_.insert(alias);
    absent_type_[p.name] = absent_type_[alias] = p.dtype;
    return;
  }
  if (s_.Find(as))
    Fail({}, "an input and an output are both named '" + as.str() + "'", "this use of the op has no form",
         ErrorKind::kUnsupported);
  Container c;
  c.name = as;
  c.kind = ContainerKind::kParameter;
  c.dtype = p.dtype;
  c.shape = p.shape;
  s_.Add(std::move(c));
  s_.parameters.push_back(as);
  used_names_.insert(as);
  (output ? outputs_ : inputs_).insert(as);
  if (p.variadic) variadic_[list].push_back(as);
  else containers_[p.name] = as;
  containers_.emplace(alias, as);
  if (only) containers_.emplace("OUT", as);
  if (!output && p.dtype == DType::kF64) has_f64_ = true;
  if (p.has_known) {
    has_known_.insert(as);
    known_[as] = p.known;
  }
}

void Elaborator::BindAttributes() {
  for (const auto& [name, a] : context_.attributes) {
    if (const Tensor* t = std::get_if<Tensor>(&a.value)) {
      Container c;
      c.name = FreshName(name.str());
      c.kind = ContainerKind::kConstant;
      c.dtype = t->dtype;
      for (int64_t d : t->shape) c.shape.push_back(IntExpr(d));
      c.data = *t;
      containers_.emplace(name, c.name);
      s_.Add(std::move(c));
      continue;
    }
    attributes_[name] = EvalAttribute(a, name, {});
  }
  for (Name n : context_.unset_attributes) absent_.insert(n);
}

void Elaborator::CollectGroups(const Expr& e) {
  Visit(e, [&](const Expr& x) {
    if (x.Is(ExprKind::kGroup)) groups_.insert(x->name);
    return true;
  });
}

void Elaborator::CollectGroups(const std::vector<FormStmt>& body) {
  for (const FormStmt& s : body) {
    for (const Expr& e : {s.value, s.begin, s.end}) CollectGroups(e);
    for (const Expr& e : s.index) CollectGroups(e);
    for (const FormRange& r : s.over) {
      if (r.group) groups_.insert(r.index);
      for (const Expr& e : {r.begin, r.end, r.access}) CollectGroups(e);
    }
    if (s.kind == FormStmt::kLetRank) groups_.insert(s.name);
    CollectGroups(s.body);
    CollectGroups(s.otherwise);
  }
}

// Sums and products into half-precision outputs are kept in f32 and rounded once, at the end.
void Elaborator::FindHalfSums(const std::vector<FormStmt>& body) {
  for (const FormStmt& s : body) {
    FindHalfSums(s.body);
    FindHalfSums(s.otherwise);
    if (s.kind != FormStmt::kAssign || (s.op != WriteOp::kAdd && s.op != WriteOp::kMul)) continue;
    auto it = containers_.find(s.name);
    if (it == containers_.end() || !outputs_.count(it->second)) continue;
    const Container port = s_.Get(it->second);
    if (!IsFloat(port.dtype) || port.dtype == DType::kF32 || port.dtype == DType::kF64) continue;
    Container sum;
    sum.name = FreshName(port.name.str() + "_sum");
    sum.dtype = DType::kF32;
    sum.shape = port.shape;
    shadow_[port.name] = sum.name;
    for (auto& [form_name, container] : containers_)
      if (container == port.name) container = sum.name;
    s_.Add(std::move(sum));
  }
}

void Elaborator::Push(Binding b) {
  b.next = env_;
  env_ = std::make_shared<Binding>(std::move(b));
}

void Elaborator::Statements(const std::vector<FormStmt>& body) {
  for (const FormStmt& s : body) Statement(s);
}

void Elaborator::Statement(const FormStmt& s) {
  const Place at{s.line, s.column};
  switch (s.kind) {
    case FormStmt::kLet: {
      Binding b;
      b.name = s.name;
      b.parameters = s.parameters;
      b.body = s.value;
      Push(std::move(b));
      return;
    }
    case FormStmt::kLetRank: {
      use_remembered_ = true;
      const int64_t n = EvalInt(s.value, env_, "the length of a group");
      if (n < 0) Fail(at, "'" + s.name.str() + "..' would have " + std::to_string(n) + " dimensions");
      fixed_length_[s.name] = static_cast<int>(n);
      return;
    }
    case FormStmt::kIf: return RunIf(s);
    case FormStmt::kEach: return RunEach(s);
    case FormStmt::kFor: return RunFor(s);
    case FormStmt::kRequire:
      if (!shapes_) RunRequire(s);
      return;
    case FormStmt::kShape:  // elsewhere the caller has the outputs' shapes
      if (shapes_) RunShape(s);
      return;
    case FormStmt::kAssign: try { return shapes_ ? RunKnown(s) : RunAssign(s);
      } catch (FormError& e) {
        if (!e.diagnostic.line) e.diagnostic.line = s.line, e.diagnostic.column = s.column;
        throw;
      }
  }
}

void Elaborator::RunIf(const FormStmt& s) {
  use_remembered_ = true;
  let_cache_.clear();
  Val c = Eval(s.value, env_, {true});
  if (std::optional<bool> t = Truth(c, At(s.value))) return Statements(*t ? s.body : s.otherwise);
  if (c.kind != Val::kScalar) Fail(At(s.value), "a condition must be one number or bool");
  for (Name n : FreeSymbols(c.e))
    if (IsReserved(n))
      Fail(At(s.value), "the condition depends on the index '" + n.str().substr(1) + "'",
           "write c ? a : b inside a statement");
  if (shapes_) Fail(At(s.value), "a condition on sizes must be known when the node is made", "write shape Y[c ? a : b]");
  TypeScope scope{&s_, has_f64_};
  Conditional branches;
  const Env outer = env_;
  const std::set<Name> before = written_;
  std::set<Name> after = before;
  for (const auto* body : {&s.body, &s.otherwise}) {
    if (body->empty()) continue;
    written_ = before;  // a sum begins in each branch
    open_.emplace_back();
    held_.emplace_back();
    Statements(*body);
    after.insert(written_.begin(), written_.end());
    env_ = outer;
    const std::vector<BlockId>& first = held_.back();
    open_.back().insert(open_.back().begin(), first.begin(), first.end());
    held_.pop_back();
    Branch b;
    if (body == &s.body) b.condition = TypeCondition(scope, c.e, At(s.value));
    else if (branches.branches.empty()) b.condition = UnaryExpr(Op::kNot, TypeCondition(scope, c.e, At(s.value)));
    b.body = std::move(open_.back());
    open_.pop_back();
    branches.branches.push_back(std::move(b));
  }
  written_ = std::move(after);
  open_.back().push_back(s_.AddBlock(std::move(branches)));
}

void Elaborator::RunEach(const FormStmt& s) {
  use_remembered_ = true;
  let_cache_.clear();
  std::vector<Binding> values;
  auto value = [&](Val v) {
    Binding b;
    b.kind = Binding::kValue;
    b.value = std::move(v);
    values.push_back(std::move(b));
  };
  if (s.begin) {
    const int64_t begin = EvalInt(s.begin, env_, "a bound of 'each'"), end = EvalInt(s.end, env_, "a bound of 'each'");
    for (int64_t i = begin; i < end; ++i) value(Val::Scalar(IntExpr(i)));
  } else if (s.value.Is(ExprKind::kSymbol) && variadic_.count(s.value->name)) {
    for (Name c : variadic_.at(s.value->name)) {
      Binding b;
      b.kind = Binding::kContainer;
      b.container = c;
      values.push_back(std::move(b));
    }
  } else {
    Val v = Eval(s.value, env_, {true});
    if (v.kind != Val::kList) Fail(At(s.value), "'each' goes over a variadic port, a list or begin:end", KnownNames());
    for (const Expr& e : v.items) value(Val::Scalar(e));
  }
  const Env outer = env_;
  std::vector<Binding> sums;  // lets that were said again in terms of themselves, as values
  bool chained = false;       // some other let was kept: it sees what stood before it
  for (Binding& b : values) {
    b.name = s.name;
    Push(std::move(b));
    const Env bound = env_;
    Statements(s.body);
    // Lets of the body stay (`let at = at + …`); the variable goes. A sum over many tensors must be no chain of as many lets.
    std::vector<const Binding*> lets;
    for (const Binding* x = env_.get(); x != bound.get(); x = x->next.get()) lets.push_back(x);
    const Env keep = env_;
    std::vector<Binding> others;
    for (auto it = lets.rbegin(); it != lets.rend(); ++it) {
      Binding copy = **it;
      if (!copy.scope) copy.scope = copy.next;
      const std::vector<Name> names = FreeSymbols(copy.body);
      if (!chained && copy.parameters.empty() && std::binary_search(names.begin(), names.end(), copy.name)) {
        walks_.clear();
        Val v = Eval(copy.body, copy.scope, {true});
        if (!v.unsolved() && !v.nothing()) {
          Binding sum;
          sum.name = copy.name, sum.kind = Binding::kValue, sum.value = std::move(v), sum.walks = walks_;
          sums.erase(std::remove_if(sums.begin(), sums.end(), [&](const Binding& x) { return x.name == sum.name; }),
                     sums.end());
          sums.push_back(std::move(sum));
          continue;
        }
      }
      others.push_back(std::move(copy));
    }
    env_ = chained ? bound->next : outer;
    if (!chained)
      for (const Binding& sum : sums) Push(sum);
    chained = chained || !others.empty();
    for (Binding& copy : others) Push(std::move(copy));
  }
}

void Elaborator::RunFor(const FormStmt& s) {
  if (shapes_) Fail({s.line, s.column}, "a shape form has no loops", "use each");
  use_remembered_ = true;
  let_cache_.clear();
  TypeScope scope{&s_, has_f64_};
  auto bound = [&](const Expr& e) {
    Val v = Eval(e, env_, {true});
    if (v.kind != Val::kScalar) Fail(At(e), "a loop's bound must be one number");
    return TypeIndex(scope, AsIndexLiteral(v.e), At(e));
  };
  const Expr begin = bound(s.begin), end = bound(s.end);
  std::set<Name> none;
  const Name t = FreshIndex(s.name.str(), &none);
  used_names_.insert(t);
  Interval range{BoundsOf(begin, assumptions_).lo, std::nullopt};
  if (IsIndexExpr(end))
    if (Interval e = BoundsOf(end, assumptions_); e.hi) range.hi = *e.hi - 1;
  assumptions_.bounds.push_back({t, range});
  if (loop_depth_ == 0) before_loop_ = CurrentState();
  const Env outer = env_;
  Binding b;
  b.name = s.name;
  b.kind = Binding::kValue;
  b.value = Val::Scalar(SymbolExpr(t));
  Push(std::move(b));
  ++loop_depth_;
  loops_.push_back({t, {begin, end}});
  open_.emplace_back();
  Statements(s.body);
  --loop_depth_;
  loops_.pop_back();
  env_ = outer;
  Loop loop;
  loop.var = t;
  loop.init = begin;
  loop.condition = BinaryExpr(Op::kLt, SymbolExpr(t), end);
  loop.update = SymbolExpr(t) + IntExpr(1);
  loop.body = std::move(open_.back());
  open_.pop_back();
  open_.back().push_back(s_.AddBlock(std::move(loop)));
}

BlockId Elaborator::CurrentState() {
  std::vector<BlockId>& body = open_.back();
  if (body.empty() || !std::holds_alternative<State>(s_.blocks[body.back()].control))
    body.push_back(s_.AddBlock(State{}));
  return body.back();
}

void Elaborator::Emit(NodeId n) { std::get<State>(s_.blocks.Mutable(CurrentState()).control).statements.push_back(n); }
void Elaborator::EmitBefore(NodeId n) {
  std::get<State>(s_.blocks.Mutable(before_loop_).control).statements.push_back(n);
}

void Elaborator::Finish() {
  for (const auto& [port, sum] : shadow_) {
    if (written_.count(sum)) EmitCopy(port, sum);
    if (written_.count(sum)) written_.insert(port);
  }
  for (Name n : outputs_)
    if (!written_.count(n))
      Fail({}, "the form never writes the output '" + n.str() + "'",
           "the form has no case for these attributes, or misspells the port: another name is a temporary",
           ErrorKind::kUnsupported);
  s_.body = std::move(open_.back());
  s_.body.insert(s_.body.begin(), held_.front().begin(), held_.front().end());
  RemoveDead();
  BindSymbols();
}

// Temporaries that nothing reads (they served an absent output), and states left empty.
void Elaborator::RemoveDead() {
  auto is_dead_write = [&](const Node& node, const std::set<Name>& read) {
    auto dead = [&](NodeId id) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[id].body);
      return t && s_.Get(t->target).kind == ContainerKind::kTransient && !read.count(t->target);
    };
    if (const auto* m = std::get_if<Map>(&node.body)) return std::all_of(m->body.begin(), m->body.end(), dead);
    const auto* t = std::get_if<Tasklet>(&node.body);
    return t && s_.Get(t->target).kind == ContainerKind::kTransient && !read.count(t->target);
  };
  for (bool changed = true; changed;) {
    changed = false;
    std::set<Name> read;
    auto reads = [&](const Expr& e) {
      for (Name n : ReadContainers(e)) read.insert(n);
    };
    ForEachNode(s_, [&](NodeId id) {
      if (const auto* t = std::get_if<Tasklet>(&s_.nodes[id].body)) {
        reads(t->value);
        for (const Expr& e : t->index) reads(e);
      }
      if (const auto* m = std::get_if<Map>(&s_.nodes[id].body))
        for (const Range& r : m->ranges) reads(r.begin), reads(r.end);
    });
    ForEachBlock(s_, s_.body, [&](BlockId id) {
      const Control& c = s_.blocks[id].control;
      if (const auto* l = std::get_if<Loop>(&c)) reads(l->init), reads(l->condition), reads(l->update);
      if (const auto* k = std::get_if<Conditional>(&c))
        for (const Branch& b : k->branches) reads(b.condition);
      if (!std::holds_alternative<State>(c)) return;
    });
    ForEachBlock(s_, s_.body, [&](BlockId id) {
      if (!std::holds_alternative<State>(s_.blocks[id].control)) return;
      auto& list = std::get<State>(s_.blocks.Mutable(id).control).statements;
      for (size_t i = list.size(); i-- > 0;) {
        if (!is_dead_write(s_.nodes[list[i]], read)) continue;
        s_.nodes.Mutable(list[i]).body = std::monostate{};
        list.erase(list.begin() + i);
        changed = true;
      }
    });
  }
  std::set<Name> used;
  ForEachNode(s_, [&](NodeId id) {
    if (const auto* t = std::get_if<Tasklet>(&s_.nodes[id].body)) {
      used.insert(t->target);
      for (Name n : ReadContainers(t->value)) used.insert(n);
      for (const Expr& e : t->index)
        for (Name n : ReadContainers(e)) used.insert(n);
    }
  });
  ForEachBlock(s_, s_.body, [&](BlockId id) {
    const Control& c = s_.blocks[id].control;
    auto reads = [&](const Expr& e) {
      for (Name n : ReadContainers(e)) used.insert(n);
    };
    if (const auto* l = std::get_if<Loop>(&c)) reads(l->init), reads(l->condition), reads(l->update);
    if (const auto* k = std::get_if<Conditional>(&c))
      for (const Branch& b : k->branches) reads(b.condition);
  });
  for (Name n : std::vector<Name>(s_.order)) {
    const ContainerKind k = s_.Get(n).kind;
    if ((k == ContainerKind::kTransient || k == ContainerKind::kConstant) && !used.count(n)) s_.Remove(n);
  }
  s_.body.erase(std::remove_if(s_.body.begin(), s_.body.end(),
                               [&](BlockId id) {
                                 const auto* state = std::get_if<State>(&s_.blocks[id].control);
                                 return state && state->statements.empty();
                               }),
                s_.body.end());
}

// Symbols that no parameter has as a bare dimension are passed by name.
void Elaborator::BindSymbols() {
  std::set<Name> bare, all;
  for (Name n : s_.parameters)
    for (const Expr& d : s_.Get(n).shape) {
      if (d.Is(ExprKind::kSymbol)) bare.insert(d->name);
      for (Name x : FreeSymbols(d)) all.insert(x);
    }
  for (const auto& [c, list] : known_)
    for (const Expr& e : list)
      for (Name x : FreeSymbols(e)) all.insert(x);
  for (Name n : all)
    if (!bare.count(n)) s_.symbol_params.push_back(n);
}

Status FormStatus(const Form& form, const FormError& e) {
  Diagnostic d = e.diagnostic;
  if (d.line > 0) {
    size_t begin = 0;
    for (int i = 1; i < d.line && begin != std::string::npos; ++i) {
      begin = form.text.find('\n', begin);
      if (begin != std::string::npos) ++begin;
    }
    if (begin != std::string::npos) d.source_line = form.text.substr(begin, form.text.find('\n', begin) - begin);
  }
  if (d.code.empty()) d.code = d.kind == ErrorKind::kUnsupported ? "E0702" : "E0701";
  return Status(std::move(d));
}

}  // namespace elaborate

Result<Sdfg> Elaborate(const Form& form, const FormContext& context) {
  try {
    return elaborate::Elaborator(form, context).Run();
  } catch (const elaborate::FormError& e) { return elaborate::FormStatus(form, e); }
}

}  // namespace headrace
