#include "transforms/index_values.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/sets.h"
#include "ir/analysis/type_inference.h"
#include "transforms/each_sdfg.h"
#include "transforms/uses.h"
#include "transforms/whole.h"

namespace headrace {
namespace {

constexpr int kMostParts = 8;  // of a value: to compute it is not dearer than to read it

// What an array holds at `indices`.
struct Formula {
  NodeId statement;
  std::vector<Name> indices;
  Expr value;
};

class Forwarder {
 public:
  Forwarder(const Program& p, Sdfg* s, const Ask& ask) : s_(*s), ask_(ask), uses_(p, *s), callees_(p) {}

  bool Run() {
    for (Name n : s_.order)
      if (std::optional<Formula> f = FormulaOf(n)) formulas_.emplace(n, std::move(*f));
    if (formulas_.empty()) return false;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      if (const auto* state = std::get_if<State>(&s_.blocks[b].control))
        for (NodeId n : state->statements) Look(n);
    });
    std::unordered_set<Name> gone;
    for (const auto& [n, f] : formulas_)
      if (ask_(Match{s_.name, {f.statement}, {}, {n}, "", true})) gone.insert(n);
    if (gone.empty()) return false;
    ForEachNode(s_, [&](NodeId n) { Rewrite(n, gone); });
    for (Name n : gone) s_.nodes.Mutable(formulas_.at(n).statement).body = std::monostate();
    transforms::RemoveEmptied(&s_);
    transforms::RemoveContainers(&s_, gone);
    return true;
  }

 private:
  std::optional<Formula> FormulaOf(Name n) const {
    const Container& c = s_.Get(n);
    if (c.kind != ContainerKind::kTransient || c.storage != Storage::kArena || c.shape.empty() || c.dtype == DType::kString) return {};
    const transforms::Usage& u = uses_.Of(n);
    if (u.viewed || u.writes.size() != 1 || u.reads.empty() || u.reads[0] <= u.writes[0]) return {};
    const auto by_statement = [&](uint32_t k) { return uses_.positions()[k].statement.valid(); };
    if (!std::all_of(u.reads.begin(), u.reads.end(), by_statement)) return {};
    const auto& at = uses_.positions()[u.writes[0]];
    const auto* m = at.region < 0 && at.statement.valid() ? std::get_if<Map>(&s_.nodes[at.statement].body) : nullptr;
    const auto* t = m && m->schedule == Schedule::kDefault && m->body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[m->body[0]].body) : nullptr;
    if (!t || t->target != n || t->flat || t->guarded || t->op != WriteOp::kAssign || m->ranges.size() != t->index.size() ||
        !transforms::HasOneEach(c, *m, t->index) || !IsCheap(t->value)) return {};
    const Result<Expr> typed = InferTypes(s_, t->value);
    if (!typed.ok() || (*typed)->dtype != c.dtype) return {};
    Formula f{at.statement, {}, t->value.Is(ExprKind::kCast) ? t->value : CastExpr(c.dtype, t->value)};
    for (const Expr& e : t->index) f.indices.push_back(e->name);
    const std::vector<Name> symbols = FreeSymbols(t->value);
    const bool own = std::all_of(symbols.begin(), symbols.end(), [&](Name x) { return Has(f.indices, x); });
    return own ? std::optional<Formula>(std::move(f)) : std::nullopt;
  }

  static bool Has(const std::vector<Name>& names, Name n) { return std::find(names.begin(), names.end(), n) != names.end(); }

  static bool IsCheap(const Expr& value) {
    int parts = 0;
    bool cheap = true;
    Visit(value, [&](const Expr& e) {
      cheap &= ++parts <= kMostParts && !e.Is(ExprKind::kRead) && !e.Is(ExprKind::kCall) && !e.Is(ExprKind::kSelect);
      const bool divides = e.Is(ExprKind::kBinary) && (e->op == Op::kDiv || e->op == Op::kFloorDiv || e->op == Op::kMod);
      return cheap &= !divides;
    });
    return cheap;
  }

  // Arrays that it uses otherwise than by elements inside of them have no formula.
  void Look(NodeId n) {
    const Body& body = s_.nodes[n].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) {
      LookAt(t->value);
      for (const Expr& e : t->index) LookAt(e);
    } else if (const auto* m = std::get_if<Map>(&body)) {
      for (const Range& r : m->ranges) Refuse(r.begin), Refuse(r.end), Refuse(r.step);
      around_.insert(around_.end(), m->ranges.begin(), m->ranges.end());
      for (NodeId c : m->body) Look(c);
      around_.resize(around_.size() - m->ranges.size());
    } else if (!std::holds_alternative<std::monostate>(body)) {
      for (const Touched& t : TouchedBy(s_, n, callees_)) formulas_.erase(t.root);
    }
  }
  void LookAt(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (!x.Is(ExprKind::kRead) || !formulas_.count(x->name)) return true;
      const bool plain = !x->flat && !x->has_default && std::all_of(x->args.begin(), x->args.end(), [&](const Expr& i) { return IsOfMaps(i); });
      if (!plain || WithinBounds(around_, x->args, s_.Get(x->name).shape, s_.assumptions) != Truth::kYes) formulas_.erase(x->name);
      return true;
    });
  }
  // Of numbers and indices whose ranges are known here.
  bool IsOfMaps(const Expr& e) const {
    const std::vector<Name> symbols = FreeSymbols(e);
    return IsIndexExpr(e) && std::all_of(symbols.begin(), symbols.end(), [&](Name n) {
             return std::any_of(around_.begin(), around_.end(), [&](const Range& r) { return r.index == n; });
           });
  }
  void Refuse(const Expr& e) {
    if (!e) return;
    for (Name n : ReadContainers(e)) formulas_.erase(n);
  }

  void Rewrite(NodeId n, const std::unordered_set<Name>& gone) {
    const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body);
    if (!t) return;
    Tasklet changed = *t;
    changed.value = Forwarded(t->value, gone);
    for (Expr& e : changed.index) e = Forwarded(e, gone);
    if (changed.value != t->value || changed.index != t->index) s_.nodes.Mutable(n).body = std::move(changed);
  }
  Expr Forwarded(const Expr& e, const std::unordered_set<Name>& gone) const {
    return Transform(e, [&](const Expr& x) -> Expr {
      if (!x.Is(ExprKind::kRead) || !gone.count(x->name)) return x;
      const Formula& f = formulas_.at(x->name);
      NameMap at;
      for (size_t d = 0; d < f.indices.size(); ++d) at.emplace_back(f.indices[d], x->args[d]);
      return Substitute(f.value, at);
    });
  }

  Sdfg& s_;
  const Ask& ask_;
  const transforms::UseIndex uses_;
  Callees callees_;
  std::vector<Range> around_;
  std::unordered_map<Name, Formula> formulas_;
};

}  // namespace

Result<bool> ForwardIndexValues(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) {
    bool any = false;
    while (Forwarder(p, s, ask).Run()) any = true;  // values of values
    return any;
  });
}

}  // namespace headrace
