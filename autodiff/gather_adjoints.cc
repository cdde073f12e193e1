#include "autodiff/gather_adjoints.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "autodiff/emit.h"
#include "ir/analysis/sets.h"
#include "ir/analysis/type_inference.h"

namespace headrace::autodiff {
namespace {

constexpr int kMaxNodes = 400;  // of a value whose registers have been put in

// A map that writes element (indices + distance) of an array, in the coordinates of the array.
struct Tap {
  NodeId node;
  Name target;
  WriteOp op = WriteOp::kAssign;
  std::vector<Expr> fixed;  // per dimension: its index where no map moves it, else null
  std::vector<Range> box;   // per dimension that moves: where it writes; `index` is the map's
  std::vector<Expr> distance;
  Expr value;  // in terms of the maps' indices
};

int Size(const Expr& e) {
  int n = 0;
  Visit(e, [&](const Expr&) { return ++n < kMaxNodes; });
  return n;
}

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
      // Taps that follow each other and don't see what the others add: their order does not matter.
      std::vector<Tap> run;
      std::unordered_set<Name> targets, read;
      while (i < all.size()) {
        std::optional<Tap> t = TapOf(all[i]);
        if (!t || t->op != WriteOp::kAdd) break;
        const Name root = RootOf(s_, t->target);
        std::vector<Name> reads;
        bool sees = read.count(root) > 0;
        for (Name n : ReadContainers(t->value)) {
          reads.push_back(RootOf(s_, n));
          sees |= targets.count(reads.back()) || reads.back() == root;
        }
        if (sees) break;
        targets.insert(root);
        read.insert(reads.begin(), reads.end());
        run.push_back(std::move(*t));
        ++i;
      }
      if (run.empty()) {
        out.push_back(all[i++]);
        continue;
      }
      std::vector<bool> done(run.size());
      for (size_t k = 0; k < run.size(); ++k) {
        if (done[k]) continue;
        std::vector<const Tap*> group;
        for (size_t m = k; m < run.size(); ++m)
          if (!done[m] && SameShape(run[k], run[m])) group.push_back(&run[m]), done[m] = true;
        if (group.size() < 2 || !Emit(group, &out))
          for (const Tap* t : group) out.push_back(t->node);
      }
    }
    return out;
  }

  static bool SameShape(const Tap& a, const Tap& b) { return a.target == b.target && a.fixed == b.fixed; }

  // ---- recognising ----
  std::optional<Tap> TapOf(NodeId id) const {
    Tap t;
    t.node = id;
    std::vector<Range> ranges;
    const Map* m = std::get_if<Map>(&s_.nodes[id].body);
    if (!m) return std::nullopt;
    for (;;) {
      ranges.insert(ranges.end(), m->ranges.begin(), m->ranges.end());
      const Map* inner = m->body.size() == 1 ? std::get_if<Map>(&s_.nodes[m->body[0]].body) : nullptr;
      if (!inner) break;
      m = inner;
    }
    std::unordered_set<Name> indices;
    for (const Range& r : ranges) indices.insert(r.index);
    auto moves = [&](const Expr& e) {
      bool found = false;
      Visit(e, [&](const Expr& x) {
        found |= x.Is(ExprKind::kSymbol) && indices.count(x->name);
        return !found;
      });
      return found;
    };
    for (const Range& r : ranges)
      if ((r.step && AsInt(r.step) != 1) || moves(r.begin) || moves(r.end)) return std::nullopt;

    // Registers are put in where they are read.
    std::unordered_map<Name, Expr> registers;
    auto inlined = [&](const Expr& e) {
      return Transform(e, [&](const Expr& x) -> Expr {
        if (!x.Is(ExprKind::kRead) || !x->args.empty()) return x;
        auto it = registers.find(x->name);
        return it == registers.end() ? x : it->second;
      });
    };
    const Tasklet* last = nullptr;
    for (size_t k = 0; k < m->body.size(); ++k) {
      auto* s = std::get_if<Tasklet>(&s_.nodes[m->body[k]].body);
      if (!s || s->guarded || s->flat) return std::nullopt;
      const Container& c = s_.Get(s->target);
      if (k + 1 < m->body.size()) {
        if (c.storage != Storage::kRegister || !c.shape.empty() || s->op != WriteOp::kAssign ||
            registers.count(s->target))
          return std::nullopt;
        Result<Expr> typed = InferTypes(s_, s->value, c.dtype);
        if (!typed.ok() || (*typed)->dtype != c.dtype || ComputeType(c.dtype) != c.dtype) return std::nullopt;
        Expr value = inlined(s->value);
        if (Size(value) >= kMaxNodes) return std::nullopt;
        registers.emplace(s->target, std::move(value));
      } else {
        last = s;
        if (c.storage == Storage::kRegister) return std::nullopt;
      }
    }
    if (!last) return std::nullopt;
    if (!IsFloat(s_.Get(last->target).dtype)) return std::nullopt;
    t.target = last->target;
    t.op = last->op;
    t.value = inlined(last->value);
    if (Size(t.value) >= kMaxNodes) return std::nullopt;
    std::unordered_set<Name> placed;
    for (const Expr& written : last->index) {
      const Expr e = inlined(written);
      if (!IsIndexExpr(e)) return std::nullopt;
      if (!moves(e)) {
        t.fixed.push_back(e);
        continue;
      }
      t.fixed.push_back(Expr());
      bool found = false;
      for (const Range& r : ranges) {
        Expr d = e - Expr(r.index);
        if (moves(d)) continue;
        if (!placed.insert(r.index).second) return std::nullopt;
        t.box.push_back({r.index, r.begin + d, r.end + d, Expr(1)});
        t.distance.push_back(d);
        found = true;
        break;
      }
      if (!found) return std::nullopt;
    }
    if (placed.size() != ranges.size()) return std::nullopt;
    for (Name n : ReadContainers(t.value))
      if (s_.Get(n).storage == Storage::kRegister) return std::nullopt;  // of a map around, or never set
    return t;
  }

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
      std::optional<Tap> z = TapOf((*out)[k]);
      if (!z || z->op != WriteOp::kAssign || !SameShape(*z, like) ||
          !(z->value.Is(ExprKind::kFloat) || z->value.Is(ExprKind::kInt)))
        return false;
      if (z->value.Is(ExprKind::kFloat) ? z->value->fvalue != 0 : z->value->ivalue != 0) return false;
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
