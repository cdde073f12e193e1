// Functions of what is the same in all lanes are computed once, before them; and numbers that a choice takes are read there: compilers make no
// vectors of lanes that read one under a condition.
//   map j in 0:C @vector { Y[i, j] = X[i, j] - log(s) }  →  h = log(s) ; map j in 0:C @vector { Y[i, j] = X[i, j] - h }
//   map j in 0:C @vector { Y[j] = M[j] ? s : X[j] }  →  h = s ; map j in 0:C @vector { Y[j] = M[j] ? h : X[j] }
#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

// It takes longer than reading what it gave.
bool CallsSomething(const Expr& e) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    found |= x.Is(ExprKind::kCall) && x->name != Name("min") && x->name != Name("max") && x->name != Name("abs");
    return !found;
  });
  return found;
}

bool Decides(const Expr& e) {
  return e.Is(ExprKind::kSelect) || (e.Is(ExprKind::kBinary) && (e->op == Op::kAnd || e->op == Op::kOr));
}

class Hoister {
 public:
  Hoister(Sdfg* s, Name lane, std::vector<Name> written) : s_(s), lane_(lane), written_(std::move(written)) {}

  // What a choice leaves out is not computed: only its condition is looked at. `typed` is `e` with types: numbers and sizes have
  // none of their own, but that of what they meet.
  Expr Of(const Expr& e, const Expr& typed) {
    if (!e || e->args.empty() || e.Is(ExprKind::kRead)) return e;
    if (IsReal(typed->dtype) && IsInvariant(e) && CallsSomething(e)) return Known(e, typed->dtype);
    if (typed->kind != e->kind || typed->args.size() != e->args.size()) return e;  // the text has no such conversion
    std::vector<Expr> args = e->args;
    for (size_t i = 0; i < args.size(); ++i)
      if (i == 0 || !Decides(e)) args[i] = Of(args[i], typed->args[i]);
      else if (e.Is(ExprKind::kSelect)) args[i] = Side(args[i]);
    return WithArgs(e, std::move(args));
  }
  std::vector<NodeId> Statements() const { return statements_; }

 private:
  // Of a choice: a number of the kernel's parameters, which can be read whatever is chosen, or another choice.
  Expr Side(const Expr& e) {
    if (e.Is(ExprKind::kSelect)) return WithArgs(e, {e->args[0], Side(e->args[1]), Side(e->args[2])});
    if (!e.Is(ExprKind::kRead) || !e->args.empty() || IsScoped(s_->Get(e->name).storage) || !IsInvariant(e)) return e;
    const DType t = s_->Get(e->name).dtype;
    return IsReal(t) ? Known(e, t) : e;
  }
  bool IsInvariant(const Expr& e) const {
    if (Mentions(e, lane_)) return false;
    bool known = true;
    for (Name n : ReadContainers(e)) known &= std::find(written_.begin(), written_.end(), RootOf(*s_, n)) == written_.end();
    Visit(e, [&](const Expr& x) { return known &= !Decides(x) && !(x.Is(ExprKind::kRead) && !x->args.empty()), known; });
    return known;
  }
  // Of those types that intermediate values have anyway.
  static bool IsReal(DType t) { return t == DType::kF32 || t == DType::kF64; }
  Expr Known(const Expr& e, DType t) {
    for (const auto& [value, name] : known_)
      if (value == e && s_->Get(name).dtype == t) return ReadExpr(name, {});
    Container c;
    c.name = FreshIn(*s_, "once");
    c.dtype = t;
    c.storage = Storage::kRegister;
    const Name name = c.name;
    s_->Add(std::move(c));
    known_.emplace_back(e, name);
    statements_.push_back(s_->AddNode(Tasklet{name, {}, false, false, WriteOp::kAssign, e}));
    return ReadExpr(name, {});
  }

  Sdfg* s_;
  Name lane_;
  std::vector<Name> written_;
  std::vector<std::pair<Expr, Name>> known_;
  std::vector<NodeId> statements_;
};

}  // namespace

Scheduler::Statements Scheduler::Hoist(Name lane, Statements* body) {
  std::vector<Name> written;
  for (NodeId id : *body)
    for (const ElementAccess& a : AccessesOf(*s_, id))
      if (a.write) written.push_back(a.root);
  Hoister hoister(s_, lane, std::move(written));
  for (NodeId& id : *body) {
    Tasklet t = std::get<Tasklet>(s_->nodes[id].body);
    const auto typed = InferTypes(*s_, t.value, s_->Get(t.target).dtype);
    const Expr value = typed.ok() ? hoister.Of(t.value, *typed) : t.value;
    if (value == t.value) continue;
    t.value = value;
    id = s_->AddNode(std::move(t));
  }
  return hoister.Statements();
}

}  // namespace headrace::schedule
