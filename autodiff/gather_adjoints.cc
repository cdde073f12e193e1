#include "autodiff/gather_adjoints.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "autodiff/emit.h"
#include "autodiff/shared_parts.h"
#include "autodiff/taps.h"
#include "ir/analysis/sets.h"

namespace headrace::autodiff {
namespace {

class Gatherer {
 public:
  Gatherer(const Program& p, Sdfg* s) : p_(p), s_(*s), names_(*s), assumptions_(s->assumptions) {
    auto any = [&](Name n) { assumptions_.bounds.insert(assumptions_.bounds.begin(), {n, Interval{}}); };
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      if (auto* l = std::get_if<Loop>(&s_.blocks[b].control)) any(l->var);
      if (auto* a = std::get_if<Assign>(&s_.blocks[b].control)) any(a->symbol);
    });
  }

  bool Run(size_t first) {
    std::vector<BlockId> body(s_.body.begin() + static_cast<std::ptrdiff_t>(std::min(first, s_.body.size())),
                              s_.body.end());
    for (BlockId b : body) Block(b);
    return changed_;
  }

 private:
  void Block(BlockId b) {
    const Control c = s_.blocks[b].control;
    if (std::holds_alternative<State>(c)) {
      States({b});
    } else if (auto* l = std::get_if<Loop>(&c)) {
      List(l->body);
    } else if (auto* d = std::get_if<Conditional>(&c)) {
      for (const Branch& br : d->branches) List(br.body);
    }
  }
  void List(const std::vector<BlockId>& body) {
    for (size_t i = 0; i < body.size();) {
      std::vector<BlockId> run;
      while (i < body.size() && std::holds_alternative<State>(s_.blocks[body[i]].control)) run.push_back(body[i++]);
      if (!run.empty()) States(run);
      else Block(body[i++]);
    }
  }
  // States that follow each other: the first one takes what changed.
  void States(const std::vector<BlockId>& states) {
    std::vector<NodeId> all;
    for (BlockId b : states)
      for (NodeId n : std::get<State>(s_.blocks[b].control).statements) all.push_back(n);
    std::vector<NodeId> out = Statements(all);
    if (out == all) return;
    changed_ = true;
    for (BlockId b : states) std::get<State>(s_.blocks.Mutable(b).control).statements.clear();
    std::get<State>(s_.blocks.Mutable(states[0]).control).statements = std::move(out);
  }

  std::vector<NodeId> Statements(const std::vector<NodeId>& all) {
    std::vector<NodeId> out;
    for (size_t i = 0; i < all.size();) {
      // Taps that follow each other and don't see what the others write: their order does not matter.
      std::vector<Tap> run;
      Written names;
      for (; i < all.size(); ++i) {
        std::optional<std::vector<Tap>> taps = TapsOf(s_, all[i]);
        if (!taps || Sees(*taps, &names)) break;
        for (Tap& t : *taps) run.push_back(std::move(t));
      }
      if (run.empty()) out.push_back(all[i++]);
      else Together(std::move(run), &out);
    }
    return out;
  }

  struct Written {
    std::unordered_set<Name> added, assigned, read;
  };
  // Whether what one of them reads is written by one of them or before, or the other way round, or what one assigns is written by others;
  // if not, they join those before.
  bool Sees(const std::vector<Tap>& taps, Written* run) const {
    Written r = *run;
    for (const Tap& t : taps) {
      const Name root = RootOf(s_, t.target);
      const bool adds = t.op == WriteOp::kAdd;
      if ((!adds && t.op != WriteOp::kAssign) || r.assigned.count(root) || (!adds && r.added.count(root))) return true;
      (adds ? r.added : r.assigned).insert(root);
      for (Name n : ReadContainers(t.value)) r.read.insert(RootOf(s_, n));
    }
    if (std::any_of(r.read.begin(), r.read.end(), [&](Name n) { return r.added.count(n) || r.assigned.count(n); })) return true;
    *run = std::move(r);
    return false;
  }

  // Taps of one array become one map. Of a map some of whose taps did the others are maps of their own.
  void Together(std::vector<Tap> run, std::vector<NodeId>* out) {
    for (NodeId n : ShareParts(&s_, &names_, &run)) out->push_back(n);
    std::vector<bool> done(run.size());
    std::unordered_set<uint32_t> parted;
    for (size_t k = 0; k < run.size(); ++k) {
      if (done[k]) continue;
      std::vector<const Tap*> group;
      std::vector<size_t> members;
      for (size_t m = k; m < run.size(); ++m)
        if (!done[m] && SameShape(run[k], run[m])) group.push_back(&run[m]), members.push_back(m);
      if (group.size() < 2 || !Emit(group, out)) continue;
      for (size_t m : members) done[m] = true, parted.insert(run[m].node.value);
    }
    std::unordered_set<uint32_t> whole;
    for (size_t k = 0; k < run.size(); ++k) {
      if (done[k] || AddsNothing(run[k])) continue;
      if (!run[k].alone && parted.count(run[k].node.value)) out->push_back(Alone(run[k]));
      else if (whole.insert(run[k].node.value).second) out->push_back(run[k].node);
    }
  }
  // A parameter that is marked as read and written stays written.
  bool AddsNothing(const Tap& t) const { return t.op == WriteOp::kAdd && IsZero(t.value) && !s_.Get(RootOf(s_, t.target)).inout; }
  NodeId Alone(const Tap& tap) {
    Tasklet t;
    t.target = tap.target, t.index = tap.index, t.op = tap.op, t.value = tap.value;
    const Origin origin = s_.nodes[tap.node].origin;
    Map m;
    m.ranges = tap.ranges;
    m.body = {s_.AddNode(std::move(t), origin)};
    return s_.AddNode(std::move(m), origin);
  }

  static bool SameShape(const Tap& a, const Tap& b) { return a.target == b.target && a.fixed == b.fixed; }

  // ---- bounds ----
  bool Le(const Expr& a, const Expr& b) const { return a == b || ProveLe(a, b, assumptions_) == Truth::kYes; }
  // The least or greatest of several, if it is known.
  std::optional<Expr> Extreme(const std::vector<Expr>& all, bool least) const {
    for (const Expr& e : all)
      if (std::all_of(all.begin(), all.end(), [&](const Expr& o) { return least ? Le(e, o) : Le(o, e); })) return e;
    return std::nullopt;
  }
  Expr Least(const Expr& a, const Expr& b) const { return Le(a, b) ? a : Le(b, a) ? b : Min(a, b); }
  Expr Greatest(const Expr& a, const Expr& b) const { return Le(a, b) ? b : Le(b, a) ? a : Max(a, b); }

  // ---- writing ----
  bool Emit(const std::vector<const Tap*>& group, std::vector<NodeId>* out) {
    const size_t rank = group[0]->box.size();
    std::vector<Range> inner, hull;
    for (size_t d = 0; d < rank; ++d) {
      std::vector<Expr> begins, ends;
      for (const Tap* t : group) begins.push_back(t->box[d].begin), ends.push_back(t->box[d].end);
      auto l = Extreme(begins, false), h = Extreme(ends, true), first = Extreme(begins, true),
           last = Extreme(ends, false);
      if (!l || !h || !first || !last) return false;
      const Name i = names_(group[0]->box[d].index.view());
      inner.push_back({i, *l, *h, Expr(1)});
      hull.push_back({i, *first, *last, Expr(1)});
    }
    const bool assign = Cleared(*group[0], inner, out);
    out->push_back(Sum(group, inner, assign ? WriteOp::kAssign : WriteOp::kAdd));
    for (size_t d = 0; d < rank; ++d)
      for (bool low : {true, false})
        if (std::optional<std::vector<Range>> edge = Edge(inner, hull, d, low))
          out->push_back(Sum(group, *edge, WriteOp::kAdd));
    return true;
  }
  // What of `hull` lies below or above `inner` in dimension d: dimensions before d are those of `inner`.
  std::optional<std::vector<Range>> Edge(const std::vector<Range>& inner, const std::vector<Range>& hull, size_t d,
                                         bool low) const {
    std::vector<Range> r = hull;
    for (size_t k = 0; k < d; ++k) r[k] = inner[k];
    if (low) r[d].end = Least(inner[d].begin, hull[d].end);
    else r[d].begin = Greatest(inner[d].begin, inner[d].end);
    if (Le(r[d].end, r[d].begin)) return std::nullopt;
    return r;
  }
  NodeId Sum(const std::vector<const Tap*>& group, const std::vector<Range>& ranges, WriteOp op) {
    Expr sum;
    for (const Tap* t : group) {
      NameMap shift;
      Expr inside;
      bool never = false;
      for (size_t d = 0; d < ranges.size(); ++d) {
        const Range &box = t->box[d], &r = ranges[d];
        const Expr at = SymbolExpr(r.index);
        shift.push_back({box.index, at - t->distance[d]});
        never |= Le(box.end, r.begin) || Le(r.end, box.begin);
        auto also = [&](Expr c) { inside = inside ? BinaryExpr(Op::kAnd, inside, c) : c; };
        if (!Le(box.begin, r.begin)) also(BinaryExpr(Op::kGe, at, box.begin));
        if (!Le(r.end, box.end)) also(BinaryExpr(Op::kLt, at, box.end));
      }
      if (never) continue;
      Expr value = Substitute(t->value, shift);
      if (inside) value = SelectExpr(inside, value, FloatExpr(0));
      sum = sum ? BinaryExpr(Op::kAdd, sum, value) : value;
    }
    if (!sum) sum = FloatExpr(0);
    return Write(*group[0], ranges, sum, op);
  }
  NodeId Write(const Tap& like, const std::vector<Range>& ranges, Expr value, WriteOp op) {
    Tasklet t;
    t.target = like.target;
    t.op = op;
    t.value = std::move(value);
    size_t d = 0;
    for (const Expr& f : like.fixed) t.index.push_back(f ? f : SymbolExpr(ranges[d++].index));
    const Origin origin = s_.nodes[like.node].origin;
    Map m;
    m.ranges = ranges;
    m.body = {s_.AddNode(std::move(t), origin)};
    return s_.AddNode(std::move(m), origin.By("gather-adjoints"));
  }

  // The last statement that touches the array set it to 0 in all of `inner`: only what lies around stays to be cleared.
  bool Cleared(const Tap& like, const std::vector<Range>& inner, std::vector<NodeId>* out) {
    const Name root = RootOf(s_, like.target);
    for (size_t k = out->size(); k-- > 0;) {
      bool touches = false;
      for (const Touched& t : TouchedBy(p_, s_, (*out)[k])) touches |= t.root == root;
      if (!touches) continue;
      std::optional<Tap> z = TapOf(s_, (*out)[k]);
      if (!z || z->op != WriteOp::kAssign || !SameShape(*z, like) || !IsZero(z->value)) return false;
      for (size_t d = 0; d < inner.size(); ++d)
        if (!Le(z->box[d].begin, inner[d].begin) || !Le(inner[d].end, z->box[d].end)) return false;
      std::vector<NodeId> edges;
      std::vector<Range> hull = inner;
      for (size_t d = 0; d < inner.size(); ++d) hull[d].begin = z->box[d].begin, hull[d].end = z->box[d].end;
      for (size_t d = 0; d < inner.size(); ++d)
        for (bool low : {true, false})
          if (std::optional<std::vector<Range>> edge = Edge(inner, hull, d, low))
            edges.push_back(Write(*z, *edge, z->value, WriteOp::kAssign));
      out->erase(out->begin() + static_cast<std::ptrdiff_t>(k));
      out->insert(out->begin() + static_cast<std::ptrdiff_t>(k), edges.begin(), edges.end());
      return true;
    }
    return false;
  }

  const Program& p_;
  Sdfg& s_;
  FreshNames names_;
  Assumptions assumptions_;
  bool changed_ = false;
};

}  // namespace

bool GatherAdjoints(const Program& p, Sdfg* s, size_t first_block) { return Gatherer(p, s).Run(first_block); }

Result<bool> GatherAdjoints(Program& p) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    const Program before = p;
    changed |= GatherAdjoints(before, &p.Mutable(p.sdfgs[i]->name), 0);
  }
  return changed;
}

}  // namespace headrace::autodiff
