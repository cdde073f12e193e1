// Local copies of what an inner loop uses.
#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "transforms/by_hand/by_hand.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::by_hand {
namespace {

// A dimension of the local array: where an index of the array stands, how far it counts, and its range inside.
struct Dimension {
  Range range;
  int64_t length = 0;
};

class Keeping {
 public:
  Keeping(Sdfg* s, NodeId statement, Name container, NodeId loop) : s_(s), statement_(statement), container_(container), loop_(loop) {}

  Status Run(Storage storage) {
    HR_RETURN_IF_ERROR(FindForm());
    HR_RETURN_IF_ERROR(FindDimensions());
    Container local;
    local.name = local_ = schedule::FreshIn(*s_, container_.str() + "_near");
    local.dtype = s_->Get(container_).dtype;
    for (const Dimension& d : dims_) local.shape.push_back(IntExpr(d.length));
    local.storage = storage;
    s_->Add(std::move(local));
    std::vector<NodeId> by = {Copy("_in", /*back=*/false), loop_};
    if (written_) by.push_back(Copy("_out", /*back=*/true));  // partial results: what was there is added to
    UseLocal();
    Replace(s_, statement_, loop_, by);
    return {};
  }

 private:
  // One form for all accesses, of which the writes accumulate.
  Status FindForm() {
    const Name root = RootOf(*s_, container_);
    for (const schedule::ElementAccess& a : schedule::AccessesOf(*s_, loop_)) {
      if (a.root != root) continue;
      if (a.container != container_ || a.flat)
        return Unfit("'" + container_.str() + "' is accessed by another name or `.flat`, too: '" + a.container.str() + "'");
      if (form_.empty()) form_ = a.index;
      if (form_ != a.index) return Unfit("'" + container_.str() + "' is accessed by two forms: one part of it can't be kept");
      if (a.write && a.op == WriteOp::kAssign) return Unfit("'" + container_.str() + "' is overwritten there", "only what is read or added to is kept");
      (a.op == WriteOp::kAssign ? read_ : written_) = true;
      if (a.write && op_ != WriteOp::kAssign && op_ != a.op) return Unfit("'" + container_.str() + "' accumulates in two ways");
      if (a.write) op_ = a.op;
    }
    if (form_.empty()) return Unfit("'" + container_.str() + "' has no element that is used there");
    if (read_ && written_) return Unfit("'" + container_.str() + "' is read and added to");
    if (written_ && !schedule::IdentityOf(op_, s_->Get(container_).dtype))
      return Unfit("'" + container_.str() + "' accumulates values that don't start at one");
    bool asks = false;
    ForEachUnder(*s_, loop_, [&](NodeId n) {
      if (const auto* t = std::get_if<Tasklet>(&s_->nodes[n].body)) {
        asks |= t->guarded && t->target == container_;
        Visit(t->value, [&](const Expr& e) {
          asks |= e.Is(ExprKind::kRead) && e->name == container_ && e->has_default;
          return true;
        });
      }
    });
    return asks ? Unfit("'" + container_.str() + "' may be accessed outside (`??`)", "take resolve-accesses before") : Status();
  }

  // The index within the loop that each dimension of the array moves by, if any; each by its own.
  Status FindDimensions() {
    std::vector<Range> inner;
    ForEachUnder(*s_, loop_, [&](NodeId n) {
      if (const auto* m = std::get_if<Map>(&s_->nodes[n].body)) inner.insert(inner.end(), m->ranges.begin(), m->ranges.end());
    });
    for (const Expr& e : form_) {
      const Range* moving = nullptr;
      for (const Range& r : inner) {
        if (!Mentions(e, r.index)) continue;
        if (moving || Coefficient(e, r.index) != Expr(1))
          return Unfit("'" + container_.str() + "' moves by " + ToString(e) + ", not by one index");
        moving = &r;
      }
      if (!moving) continue;
      const Name index = moving->index;
      if (std::any_of(dims_.begin(), dims_.end(), [&](const Dimension& d) { return d.range.index == index; }))
        return Unfit("'" + index.str() + "' moves two dimensions of '" + container_.str() + "'");
      for (const Range& r : inner)
        for (const Expr& bound : {moving->begin, moving->end})
          if (Mentions(bound, r.index)) return Unfit("the range of '" + index.str() + "' depends on '" + r.index.str() + "'");
      const std::optional<int64_t> length = LengthOf(*moving);
      if (!length) return Unfit("the range of '" + index.str() + "' has no fixed length", "split-range gives it one");
      dims_.push_back({*moving, *length});
    }
    return {};
  }

  // At most; of `i in i0:+8`, 8.
  static std::optional<int64_t> LengthOf(const Range& r) {
    if (r.step && AsInt(r.step) != 1) return std::nullopt;
    if (const auto n = AsInt(Simplify(r.end - r.begin))) return *n;
    if (r.end.Is(ExprKind::kCall) && r.end->name == Name("min"))
      for (const Expr& e : r.end->args)
        if (const auto n = AsInt(Simplify(e - r.begin))) return *n;
    return std::nullopt;
  }

  std::vector<Expr> LocalIndex(const NameMap& names) const {
    std::vector<Expr> out;
    for (const Dimension& d : dims_) out.push_back(Substitute(SymbolExpr(d.range.index) - d.range.begin, names));
    return out;
  }

  // The loops of the local array, as they stand within the loop: same order, same schedules.
  NodeId Copy(const std::string& suffix, bool back) {
    NameMap names;
    std::vector<schedule::Level> levels;
    ForEachUnder(*s_, loop_, [&](NodeId n) {
      const auto* m = std::get_if<Map>(&s_->nodes[n].body);
      if (!m) return;
      schedule::Level level{{}, m->schedule};
      for (const Range& r : m->ranges) {
        const bool ours = std::any_of(dims_.begin(), dims_.end(), [&](const Dimension& d) { return d.range.index == r.index; });
        if (!ours || std::any_of(names.begin(), names.end(), [&](const auto& known) { return known.first == r.index; })) continue;
        const Name fresh = schedule::FreshIn(*s_, r.index.str() + suffix);
        names.emplace_back(r.index, SymbolExpr(fresh));
        level.ranges.push_back(Range{fresh, r.begin, r.end, r.step});
      }
      if (!level.ranges.empty()) levels.push_back(std::move(level));
    });
    std::vector<Expr> form;
    for (const Expr& e : form_) form.push_back(Substitute(e, names));
    const std::vector<Expr> near = LocalIndex(names);
    const Expr first = written_ ? schedule::IdentityOf(op_, s_->Get(container_).dtype) : ReadExpr(container_, form);
    const NodeId copy = back ? s_->AddNode(Tasklet{container_, form, false, false, op_, ReadExpr(local_, near)})
                             : s_->AddNode(Tasklet{local_, near, false, false, WriteOp::kAssign, first});
    return schedule::Wrap(s_, levels, {copy})[0];
  }

  void UseLocal() {
    const std::vector<Expr> near = LocalIndex({});
    std::vector<NodeId> all;
    ForEachUnder(*s_, loop_, [&](NodeId n) { all.push_back(n); });
    for (NodeId n : all) {
      if (!std::holds_alternative<Tasklet>(s_->nodes[n].body)) continue;
      Tasklet t = std::get<Tasklet>(s_->nodes[n].body);
      t.value = Transform(t.value, [&](const Expr& e) { return e.Is(ExprKind::kRead) && e->name == container_ ? ReadExpr(local_, near) : e; });
      if (t.target == container_) t.target = local_, t.index = near;
      s_->nodes.Mutable(n).body = std::move(t);
    }
  }

  Sdfg* s_;
  NodeId statement_;
  Name container_, local_;
  NodeId loop_;
  std::vector<Expr> form_;
  std::vector<Dimension> dims_;
  bool read_ = false, written_ = false;
  WriteOp op_ = WriteOp::kAssign;
};

}  // namespace

Status KeepNear(Sdfg* s, NodeId statement, Name container, Name index, Storage storage) {
  if (!s->Find(container)) return Unfit("the kernel has no container '" + container.str() + "'");
  HR_ASSIGN_OR_RETURN(const IndexedMap at, MapOf(*s, statement, index));
  return Keeping(s, statement, container, at.map).Run(storage);
}

Status FuseMultiplyAdd(Sdfg* s, NodeId statement, Name index) {
  HR_ASSIGN_OR_RETURN(const IndexedMap at, MapOf(*s, statement, index));
  bool any = false;
  std::vector<NodeId> all;
  ForEachUnder(*s, at.map, [&](NodeId n) { all.push_back(n); });
  for (NodeId n : all) {
    const auto* t = std::get_if<Tasklet>(&s->nodes[n].body);
    if (!t || t->op != WriteOp::kAdd || t->guarded || t->flat || !IsFloat(s->Get(t->target).dtype)) continue;
    if (!t->value.Is(ExprKind::kBinary) || t->value->op != Op::kMul) continue;
    Tasklet sum = *t;
    sum.op = WriteOp::kAssign;
    sum.value = CallExpr(Name("fma"), {t->value->args[0], t->value->args[1], ReadExpr(t->target, t->index)});
    s->nodes.Mutable(n).body = std::move(sum);
    any = true;
  }
  return any ? Status() : Unfit("under '" + index.str() + "' no products of real numbers are added up");
}

}  // namespace headrace::by_hand
