#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "transforms/block_triangles.h"

namespace headrace::transforms {
namespace {

class Straightener {
 public:
  Straightener(Sdfg* s, const std::function<bool(NodeId)>& is_triangle) : s_(*s), is_triangle_(is_triangle) {}

  bool Run() {
    if (!AnyTriangle()) return false;
    ForEachBlock(s_, s_.body, [&](BlockId b) { Block(s_.blocks[b].control); });
    for (Name n : s_.order)
      if (s_.Get(n).kind == ContainerKind::kView) fixed_.insert(s_.Get(n).base);
    std::unordered_set<Name> taken;
    for (Name n : wanted_)
      if (!fixed_.count(n)) taken.insert(n);
    if (taken.empty()) return false;
    ForEachNode(s_, [&](NodeId n) {
      if (!std::holds_alternative<Tasklet>(s_.nodes[n].body) || fills_.count(n.value)) return;
      Tasklet t = std::get<Tasklet>(s_.nodes[n].body);
      const auto moved = [&](const Expr& e) {
        return Transform(e, [&](const Expr& x) -> Expr {
          return x.Is(ExprKind::kRead) && taken.count(x->name) ? ReadExpr(x->name, {x->args[0], Sum(x->args)}) : x;
        });
      };
      t.value = moved(t.value);
      for (Expr& e : t.index) e = moved(e);
      if (taken.count(t.target)) t.index[1] = Sum(t.index);
      s_.nodes.Mutable(n).body = std::move(t);
    });
    return true;
  }

 private:
  bool AnyTriangle() const {
    bool any = false;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      const auto* state = std::get_if<State>(&s_.blocks[b].control);
      any = any || (state && std::any_of(state->statements.begin(), state->statements.end(), is_triangle_));
    });
    return any;
  }
  static Expr Sum(const std::vector<Expr>& index) { return Simplify(index[0] + index[1]); }

  bool IsCandidate(Name n) const {
    const Container& c = s_.Get(n);
    return c.kind == ContainerKind::kTransient && c.storage == Storage::kArena && c.shape.size() == 2 && c.row_major();
  }
  void Fix(const Expr& e) {
    if (!e) return;
    for (Name n : ReadContainers(e)) fixed_.insert(RootOf(s_, n));
  }

  void Block(const Control& c) {
    if (const auto* state = std::get_if<State>(&c)) {
      for (NodeId n : state->statements) Node(n, is_triangle_(n));
    } else if (const auto* l = std::get_if<Loop>(&c)) {
      Fix(l->init), Fix(l->condition), Fix(l->update);
    } else if (const auto* d = std::get_if<Conditional>(&c)) {
      for (const Branch& b : d->branches) Fix(b.condition);
    } else if (const auto* a = std::get_if<Assign>(&c)) {
      Fix(a->value);
    }
  }

  void Node(NodeId n, bool triangle) {
    const Body& body = s_.nodes[n].body;
    if (const auto* m = std::get_if<Map>(&body)) {
      if (IsFill(*m)) {
        fills_.insert(m->body[0].value);
        return;
      }
      for (const Range& r : m->ranges)
        for (const Expr& e : {r.begin, r.end, r.step}) Fix(e);
      ranges_.insert(ranges_.end(), m->ranges.begin(), m->ranges.end());
      for (NodeId inner : m->body) Node(inner, triangle);
      ranges_.resize(ranges_.size() - m->ranges.size());
    } else if (const auto* t = std::get_if<Tasklet>(&body)) {
      if (t->flat || t->guarded) fixed_.insert(RootOf(s_, t->target));
      Access(t->target, t->index, triangle);
      for (const Expr& e : t->index) Reads(e, false);
      Reads(t->value, triangle);
    } else if (const auto* call = std::get_if<Nested>(&body)) {
      for (const Argument& a : call->arguments) fixed_.insert(RootOf(s_, a.container));
    } else if (const auto* op = std::get_if<Library>(&body)) {
      for (const auto* ports : {&op->inputs, &op->outputs})
        for (const Port& p : *ports)
          if (s_.Find(p.container)) fixed_.insert(RootOf(s_, p.container));
    }
  }
  // All elements of an array become the same: it does not matter where they are.
  bool IsFill(const Map& m) const {
    const auto* t = m.body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[m.body[0]].body) : nullptr;
    if (!t || t->op != WriteOp::kAssign || t->flat || t->guarded || m.ranges.size() != 2 || t->index.size() != 2) return false;
    if (!IsCandidate(t->target) || !ReadContainers(t->value).empty()) return false;
    const std::vector<Expr>& shape = s_.Get(t->target).shape;
    for (size_t k = 0; k < 2; ++k) {
      const Range& r = m.ranges[k];
      if (Mentions(t->value, r.index) || AsInt(r.begin) != 0 || r.end != shape[k] || (r.step && AsInt(r.step) != 1)) return false;
      if (t->index[k] != SymbolExpr(r.index)) return false;
    }
    return true;
  }

  void Reads(const Expr& e, bool triangle) {
    Visit(e, [&](const Expr& x) {
      if (!x.Is(ExprKind::kRead)) return true;
      if (x->flat || x->has_default) fixed_.insert(RootOf(s_, x->name));
      else Access(x->name, x->args, triangle);
      return true;
    });
  }

  void Access(Name name, const std::vector<Expr>& index, bool triangle) {
    if (fixed_.count(name) || !IsCandidate(name)) return;
    const bool inside = index.size() == 2 && IsIndexExpr(index[0]) && IsIndexExpr(index[1]) &&
                        UnprovenSides(ranges_, Sum(index), s_.Get(name).shape[1], s_.assumptions).none();
    if (!inside) fixed_.insert(name);
    else if (triangle && MovesAgainst(index)) wanted_.push_back(name);
  }
  // [x, y] of a range y that ends with -x.
  bool MovesAgainst(const std::vector<Expr>& index) const {
    for (const Range& y : ranges_)
      for (const Range& x : ranges_) {
        const auto by = Coefficient(y.end, x.index);
        if (by && AsInt(*by) == -1 && !Mentions(y.begin, x.index) && Coefficient(index[0], x.index) == Expr(1) &&
            Coefficient(index[1], y.index) == Expr(1) && !Mentions(index[0], y.index) && !Mentions(index[1], x.index))
          return true;
      }
    return false;
  }

  Sdfg& s_;
  const std::function<bool(NodeId)>& is_triangle_;
  std::vector<Range> ranges_;  // around a statement
  std::vector<Name> wanted_;
  std::unordered_set<Name> fixed_;
  std::unordered_set<uint32_t> fills_;  // statements
};

}  // namespace

bool StraightenTriangles(Sdfg* s, const std::function<bool(NodeId)>& is_triangle) { return Straightener(s, is_triangle).Run(); }

}  // namespace headrace::transforms
