// Functions of what is the same in all lanes are computed once, before them; and numbers that a choice takes are read there: compilers make no
// vectors of lanes that read one under a condition.
//   map j in 0:C @vector { Y[i, j] = X[i, j] - log(s) }  →  h = log(s) ; map j in 0:C @vector { Y[i, j] = X[i, j] - h }
//   map j in 0:C @vector { Y[j] = M[j] ? s : X[j] }  →  h = s ; map j in 0:C @vector { Y[j] = M[j] ? h : X[j] }
//   map j in 0:C @vector { Y[i, j] = X[i, j] > 0 ? X[i, j] : S[i] * X[i, j] }  →  h = S[i] ; … : h * X[i, j] }
#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/sets.h"
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
  Hoister(Sdfg* s, Name lane, std::vector<Name> written, const std::unordered_map<Name, std::optional<Range>>& ranges)
      : s_(s), lane_(lane), written_(std::move(written)), ranges_(ranges) {}

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
  // Of a choice: what can be read whatever is chosen, alone, among other things or in another choice.
  Expr Side(const Expr& e) {
    if (e.Is(ExprKind::kRead)) {
      const DType t = s_->Get(e->name).dtype;
      return IsReal(t) && IsAlwaysThere(e) ? Known(e, t) : e;
    }
    if (e->args.empty()) return e;
    std::vector<Expr> args = e->args;
    for (size_t i = 0; i < args.size(); ++i)
      if (i > 0 || !Decides(e)) args[i] = Side(args[i]);
    return WithArgs(e, std::move(args));
  }
  // The same in all lanes, in memory that is there, at a place that is in it for all points of the loops around.
  bool IsAlwaysThere(const Expr& read) const {
    const Container& c = s_->Get(read->name);
    if (c.optional || IsScoped(c.storage) || read->flat || Mentions(read, lane_) || IsWritten(read->name)) return false;
    if (read->args.empty()) return true;
    std::vector<Range> around;
    for (const Expr& i : read->args) {
      if (!IsIndexExpr(i)) return false;
      for (Name n : FreeSymbols(i))
        if (const auto r = ranges_.find(n); r != ranges_.end() && r->second) around.push_back(*r->second);
    }
    return WithinBounds(around, read->args, c.shape, s_->assumptions) == Truth::kYes;
  }
  bool IsWritten(Name n) const { return std::find(written_.begin(), written_.end(), RootOf(*s_, n)) != written_.end(); }
  bool IsInvariant(const Expr& e) const {
    if (Mentions(e, lane_)) return false;
    bool known = true;
    for (Name n : ReadContainers(e)) known &= !IsWritten(n);
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
  const std::unordered_map<Name, std::optional<Range>>& ranges_;
  std::vector<std::pair<Expr, Name>> known_;
  std::vector<NodeId> statements_;
};

}  // namespace

// Those that strategies leave as they are: from 0 by 1, to an end that depends on sizes alone. An index of several ranges has none.
void Scheduler::NoteRanges(NodeId statement) {
  if (const auto* m = std::get_if<Map>(&s_->nodes[statement].body))
    for (const Range& r : m->ranges) {
      const std::vector<Name> names = FreeSymbols(r.end);
      const bool stays = AsInt(r.begin) == 0 && AsInt(r.step) == 1 &&
                         std::none_of(names.begin(), names.end(), [&](Name n) { return from_zero_.count(n) > 0; });
      const auto [known, fresh] = from_zero_.emplace(r.index, stays ? std::optional(r) : std::nullopt);
      if (!fresh && (!known->second || known->second->end != r.end)) known->second.reset();
    }
  ForEachBody(s_->nodes[statement].body, [&](const Statements& inside) {
    for (NodeId n : inside) NoteRanges(n);
  });
}

Scheduler::Statements Scheduler::Hoist(Name lane, Statements* body) {
  std::vector<Name> written;
  for (NodeId id : *body)
    for (const ElementAccess& a : AccessesOf(*s_, id))
      if (a.write) written.push_back(a.root);
  Hoister hoister(s_, lane, std::move(written), from_zero_);
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
