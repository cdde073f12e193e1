#include "transforms/round_early.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "ir/analysis/dataflow.h"
#include "transforms/each_sdfg.h"
#include "transforms/halves.h"
#include "transforms/inline.h"
#include "transforms/uses.h"
#include "transforms/whole.h"

namespace headrace {
namespace {

using transforms::IsHalf;
using transforms::IsLiteral;
using transforms::IsZero;

// A read whose value has the type of its array.
bool IsPlainRead(const Expr& e) { return e.Is(ExprKind::kRead) && (!e->has_default || IsLiteral(e->args.back())); }

// What is known of an array, or of a register that hands its elements on.
struct Value {
  bool refused = false;          // read as it is, or used by more than tasklets
  DType half = DType::kNone;     // what reads round it to
  bool sums = false;             // some statement adds to it
  bool passed_on = false;        // it is read by more than a statement that stores it rounded
  std::set<Name> copies;         // whose elements are its elements
  std::vector<NodeId> assigned;  // tasklets
};

class Rounder {
 public:
  Rounder(const Program& p, Sdfg* s, const Ask& ask) : s_(*s), ask_(ask), callees_(p), uses_(p, *s) {}

  bool Run() {
    Find();
    Settle();
    const std::vector<Name> arrays = Chosen();
    if (arrays.empty()) return false;
    transforms::NameTable names(s_);
    for (Name n : arrays)
      if (values_.at(n).sums) RoundSums(n, &names);
    for (Name n : std::vector<Name>(s_.order.begin(), s_.order.end()))
      if (const DType half = HalfOf(n); half != DType::kNone) s_.Mutable(n).dtype = half;
    for (NodeId n : tasklets_) Rewrite(n);
    return true;
  }

 private:
  bool IsOwn(const Container& c) const {
    const bool here = c.storage == Storage::kArena || (c.storage == Storage::kRegister && c.shape.empty());
    return c.kind == ContainerKind::kTransient && here && c.dtype == DType::kF32;
  }
  Value* Of(Name n) {
    const auto it = values_.find(RootOf(s_, n));
    return it == values_.end() ? nullptr : &it->second;
  }
  void Refuse(Name n) {
    if (Value* v = Of(n)) v->refused = true;
  }
  void RefuseIn(const Expr& e) {
    if (!e) return;
    for (Name n : ReadContainers(e)) Refuse(n);
  }

  void Find() {
    for (Name n : s_.order)
      if (IsOwn(s_.Get(n))) values_.try_emplace(n);
    for (Name n : s_.order)
      if (s_.Get(n).dtype != DType::kF32) Refuse(n);  // a view of the bits
    ForEachNode(s_, [&](NodeId n) {
      const Body& body = s_.nodes[n].body;
      if (const auto* t = std::get_if<Tasklet>(&body)) {
        tasklets_.push_back(n);
        Write(*t, n);
        Reads(t->value, t);
        for (const Expr& e : t->index) RefuseIn(e);
      } else if (!std::holds_alternative<Map>(body)) {
        for (const Touched& t : TouchedBy(s_, n, callees_)) Refuse(t.root);
      }
    });
    for (auto& [n, v] : values_)
      for (uint32_t at : uses_.Of(n).reads) v.refused |= !uses_.positions()[at].statement.valid();
  }
  void Write(const Tasklet& t, NodeId n) {
    Value* v = Of(t.target);
    if (!v) return;
    if (t.op == WriteOp::kAssign) v->assigned.push_back(n);
    else if (t.op == WriteOp::kAdd && !s_.Get(RootOf(s_, t.target)).shape.empty()) v->sums = true;
    else v->refused = true;
  }
  // `copied`: the tasklet whose value `e` is.
  void Reads(const Expr& e, const Tasklet* copied) {
    if (!e) return;
    const bool rounds = e.Is(ExprKind::kCast) && IsHalf(e->dtype) && IsPlainRead(e->args[0]);
    if (rounds) {
      if (Value* v = Of(e->args[0]->name)) {
        Demand(v, e->dtype);
        v->passed_on |= !copied || s_.Get(copied->target).storage != Storage::kArena;
      }
    } else if (e.Is(ExprKind::kRead)) {
      Value* from = Of(e->name);
      Value* to = copied && copied->op == WriteOp::kAssign ? Of(copied->target) : nullptr;
      if (from && to && IsPlainRead(e)) from->copies.insert(RootOf(s_, copied->target));
      else if (from) from->refused = true;
    }
    const Expr& inner = rounds ? e->args[0] : e;
    for (const Expr& a : inner->args) Reads(a, nullptr);
  }
  static void Demand(Value* v, DType half) {
    if (v->half == DType::kNone) v->half = half;
    else v->refused |= v->half != half;
  }
  // What is copied is rounded as its copies are, or, with one of them, not.
  void Settle() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [n, v] : values_) {
        const bool refused = v.refused;
        const DType half = v.half;
        for (Name c : v.copies) {
          const Value& copy = values_.at(c);
          v.refused |= copy.refused || copy.sums;
          if (copy.half != DType::kNone) Demand(&v, copy.half);
        }
        changed |= v.refused != refused || v.half != half;
      }
    }
    for (auto& [n, v] : values_)
      if (v.sums && !v.refused && !((v.passed_on || !v.copies.empty()) && AddsUpFirst(n))) v.refused = Spread(n);
  }
  // Refuses it, and whatever is copied to it.
  bool Spread(Name refused) {
    values_.at(refused).refused = true;
    for (auto& [n, v] : values_)
      if (!v.refused && v.copies.count(refused)) Spread(n);
    return true;
  }
  // Set as a whole, and added to through one container, by statements of one state, before anything reads it.
  bool AddsUpFirst(Name n) {
    const transforms::Usage& u = uses_.Of(n);
    if (u.writes.empty() || u.reads.empty() || u.reads.front() <= u.writes.back()) return false;
    const auto &first = uses_.positions()[u.writes.front()], &last = uses_.positions()[u.writes.back()];
    if (!first.statement.valid() || !(last.block == first.block)) return false;
    const auto* m = std::get_if<Map>(&s_.nodes[first.statement].body);
    const auto* t = m && m->body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[m->body[0]].body) : nullptr;
    if (!t || RootOf(s_, t->target) != n || t->op != WriteOp::kAssign || t->guarded || t->flat) return false;
    const Container& c = s_.Get(t->target);
    if (!transforms::ShowsAll(s_, c) || !transforms::HasOneEach(c, *m, t->index)) return false;
    const std::vector<NodeId> writes = WritesOf(n);
    const Name through = std::get<Tasklet>(s_.nodes[writes.back()].body).target;
    return transforms::ShowsAll(s_, s_.Get(through)) && std::all_of(writes.begin(), writes.end(), [&](NodeId w) {
             const Tasklet& write = std::get<Tasklet>(s_.nodes[w].body);
             return !write.flat && (write.target == through || (w == writes[0] && IsLiteral(t->value)));
           });
  }
  std::vector<NodeId> WritesOf(Name n) {
    std::vector<NodeId> out;
    for (uint32_t at : uses_.Of(n).writes)
      ForEachWrite(uses_.positions()[at].statement, n, [&](NodeId w) { out.push_back(w); });
    return out;
  }
  template <typename Fn>
  void ForEachWrite(NodeId statement, Name root, const Fn& fn) {
    const Body& body = s_.nodes[statement].body;
    if (const auto* t = std::get_if<Tasklet>(&body); t && RootOf(s_, t->target) == root) fn(statement);
    if (const auto* m = std::get_if<Map>(&body))
      for (NodeId c : std::vector<NodeId>(m->body)) ForEachWrite(c, root, fn);
  }

  // Arrays, with the registers that their elements go through.
  std::vector<Name> Chosen() {
    std::vector<Name> out;
    for (Name n : s_.order) {
      const auto it = values_.find(n);
      if (it == values_.end() || s_.Get(n).storage != Storage::kArena) continue;
      const Value& v = it->second;
      if (v.refused || v.half == DType::kNone || !ask_(Match{s_.name, {}, {}, {n}, "", true})) continue;
      out.push_back(n);
    }
    for (Name n : out) Choose(n);
    return out;
  }
  void Choose(Name n) {
    const Value& v = values_.at(n);
    if (!halves_.emplace(n, v.half).second) return;
    for (Name c : v.copies) Choose(c);
  }
  DType HalfOf(Name n) const {
    const auto it = halves_.find(RootOf(s_, n));
    return it == halves_.end() ? DType::kNone : it->second;
  }

  // The sums become an array of their own, and what `n` holds is rounded behind the last statement that adds to it.
  void RoundSums(Name n, transforms::NameTable* names) {
    const transforms::Usage& u = uses_.Of(n);
    const auto &first = uses_.positions()[u.writes.front()], &last = uses_.positions()[u.writes.back()];
    const std::vector<NodeId> writes = WritesOf(n);
    const Name through = std::get<Tasklet>(s_.nodes[writes.back()].body).target;
    Container sums;
    sums.name = names->Fresh(Name(through.str() + "_sum"));
    sums.kind = ContainerKind::kTransient;
    sums.dtype = DType::kF32;
    sums.shape = s_.Get(through).shape;
    sums.MakeRowMajor();
    s_.Add(sums);
    Map whole;
    std::vector<Name> around;
    std::vector<Expr> index;
    for (const Expr& extent : sums.shape) {
      around.push_back(names->FreshIndex(Name("i"), around));
      whole.ranges.push_back({around.back(), Expr(0), extent, Expr(1)});
      index.push_back(SymbolExpr(around.back()));
    }
    for (NodeId w : writes) {
      Tasklet& t = std::get<Tasklet>(s_.nodes.Mutable(w).body);
      if (t.target != through) {  // a constant, in other dimensions
        t.index = index;
        std::get<Map>(s_.nodes.Mutable(first.statement).body).ranges = whole.ranges;
      }
      t.target = sums.name;
    }
    const Origin origin = s_.nodes[last.statement].origin;
    Tasklet round;
    round.target = through, round.index = index, round.value = CastExpr(HalfOf(n), ReadExpr(sums.name, index));
    whole.body = {s_.AddNode(std::move(round), origin)};
    const NodeId map = s_.AddNode(std::move(whole), origin);
    std::vector<NodeId>& statements = std::get<State>(s_.blocks.Mutable(last.block).control).statements;
    statements.insert(std::find(statements.begin(), statements.end(), last.statement) + 1, map);
  }

  void Rewrite(NodeId n) {
    const Tasklet& before = std::get<Tasklet>(s_.nodes[n].body);
    Expr value = Transform(before.value, [&](const Expr& e) -> Expr {
      const bool rounded = e.Is(ExprKind::kCast) && e->args[0].Is(ExprKind::kRead) && HalfOf(e->args[0]->name) == e->dtype && IsHalf(e->dtype);
      return rounded ? e->args[0] : e;
    });
    const bool copies = value.Is(ExprKind::kRead) && HalfOf(value->name) != DType::kNone;
    if (const DType half = HalfOf(before.target); half != DType::kNone && !copies && !(IsLiteral(value) && IsZero(value))) value = Rounded(half, value);
    if (value != before.value) std::get<Tasklet>(s_.nodes.Mutable(n).body).value = value;
  }
  Expr Rounded(DType half, const Expr& value) const {
    const bool widened = value.Is(ExprKind::kCast) && value->dtype == DType::kF32;
    const Expr& from = widened ? value->args[0] : value;
    const bool is_half = widened && ((from.Is(ExprKind::kCast) && from->dtype == half) ||
                                     (from.Is(ExprKind::kRead) && s_.Get(from->name).dtype == half));
    return is_half ? from : CastExpr(half, value);
  }

  Sdfg& s_;
  const Ask& ask_;
  Callees callees_;
  const transforms::UseIndex uses_;
  std::vector<NodeId> tasklets_;
  std::map<Name, Value> values_;  // by root
  std::unordered_map<Name, DType> halves_;
};

}  // namespace

Result<bool> RoundEarly(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) { return transforms::HasHalves(*s) && Rounder(p, s, ask).Run(); });
}

}  // namespace headrace
