#include "transforms/kernel_numbers.h"

#include <algorithm>
#include <set>

namespace headrace::transforms {
namespace {

constexpr int64_t kLeast = 2;  // 0 and 1 leave terms and factors out

bool IsComparison(Op op) {
  return op == Op::kEq || op == Op::kNe || op == Op::kLt || op == Op::kLe || op == Op::kGt || op == Op::kGe;
}

class Numbers {
 public:
  Numbers(Sdfg* s, const std::function<Expr(int64_t)>& value) : s_(*s), value_(value) {}

  void Run() {
    for (BlockId b : s_.body)
      if (const auto* state = std::get_if<State>(&s_.blocks[b].control)) Distances(state->statements, false);
    for (Name n : s_.order) Declaration(s_.Mutable(n));
    for (BlockId b : s_.body) {
      const Control& c = s_.blocks[b].control;
      if (const auto* state = std::get_if<State>(&c)) List(std::vector<NodeId>(state->statements));
      else if (std::holds_alternative<Assign>(c)) Replace(&std::get<Assign>(s_.blocks.Mutable(b).control).value);
    }
  }

 private:
  bool IsRegister(Name n) const { return s_.Get(n).storage == Storage::kRegister; }

  // Code that is apart, or written out for each iteration, goes from element to element by distances that stand in its instructions.
  void Distances(const std::vector<NodeId>& statements, bool apart) {
    for (NodeId n : statements) {
      const Body& body = s_.nodes[n].body;
      const size_t outside = walked_.size();
      const auto* m = std::get_if<Map>(&body);
      if (m && (apart || m->schedule == Schedule::kUnroll))
        for (const Range& r : m->ranges) walked_.push_back(r.index);
      if (const auto* t = std::get_if<Tasklet>(&body); t && !walked_.empty()) {
        Walked(t->target, t->index.data(), t->index.size());
        Visit(t->value, [&](const Expr& e) {
          if (e.Is(ExprKind::kRead)) Walked(e->name, e->args.data(), e->args.size() - e->has_default);
          return true;
        });
      }
      ForEachBody(body, [&](const std::vector<NodeId>& inside) { Distances(inside, apart || (m && m->schedule == Schedule::kApart)); });
      walked_.resize(outside);
    }
  }
  void Walked(Name container, const Expr* index, size_t dims) {
    for (size_t d = 0; d < dims; ++d) {
      const std::vector<Name> names = FreeSymbols(index[d]);
      const bool walked = std::any_of(names.begin(), names.end(), [&](Name n) { return std::find(walked_.begin(), walked_.end(), n) != walked_.end(); });
      if (walked && d < s_.Get(container).shape.size()) FixStride(container, d);
    }
  }
  void FixStride(Name n, size_t dim) {
    const Container& c = s_.Get(n);
    if (!c.strides.empty()) return void(fixed_strides_.insert({n, dim}));
    std::vector<size_t> order(c.shape.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = c.order.row_major() ? d : static_cast<size_t>(c.order.dims()[d]);
    for (auto it = std::find(order.begin(), order.end(), dim); it != order.end(); ++it)
      if (*it != dim) fixed_sizes_.insert({n, *it});
  }

  void Declaration(Container& c) {
    if (c.storage == Storage::kRegister && c.kind != ContainerKind::kView) return;
    for (size_t d = 0; d < c.shape.size(); ++d)
      if (!fixed_sizes_.count({c.name, d})) Replace(&c.shape[d]);
    for (size_t d = 0; d < c.strides.size(); ++d)
      if (!fixed_strides_.count({c.name, d})) Replace(&c.strides[d]);
    Replace(&c.offset);
  }

  void List(const std::vector<NodeId>& statements) {
    for (NodeId n : statements) Statement(n);
  }

  void Statement(NodeId n) {
    Body& body = s_.nodes.Mutable(n).body;
    if (auto* t = std::get_if<Tasklet>(&body)) {
      if (!IsRegister(t->target))
        for (Expr& e : t->index) Replace(&e);
      t->value = Value(t->value);
    } else if (auto* k = std::get_if<Touch>(&body)) {
      for (Expr& e : k->index) Replace(&e);
    } else if (auto* i = std::get_if<If>(&body)) {
      i->condition = Value(i->condition);
    } else if (auto* m = std::get_if<Map>(&body)) {
      for (Range& r : m->ranges) Bounds(m->schedule, &r);
    }
    ForEachBody(Body(body), [&](const std::vector<NodeId>& inside) { List(inside); });
  }

  void Bounds(Schedule schedule, Range* r) {
    const bool lanes = schedule == Schedule::kVector, counted = AsInt(r->begin) && AsInt(r->end);
    if (schedule != Schedule::kParallel && schedule != Schedule::kSequential && (!lanes || counted)) return;
    Replace(&r->begin);
    Replace(&r->end);
    if (schedule == Schedule::kParallel) Replace(&r->step);
  }

  void Replace(Expr* e) {
    if (*e) *e = IsIndexExpr(*e) ? Index(*e) : Value(*e);
  }

  // Arithmetic of sizes and indices.
  Expr Index(const Expr& e) const {
    switch (e->kind) {
      case ExprKind::kInt: return e->ivalue < kLeast ? e : value_(e->ivalue);
      case ExprKind::kUnary:
      case ExprKind::kCall: return Each(e, e->args.size());
      case ExprKind::kBinary: return Each(e, e->op == Op::kFloorDiv || e->op == Op::kMod ? 1 : 2);
      default: return e;
    }
  }
  Expr Each(const Expr& e, size_t first) const {
    std::vector<Expr> args = e->args;
    for (size_t i = 0; i < first; ++i) args[i] = Index(args[i]);
    return WithArgs(e, std::move(args));
  }

  // What has a type of its own, in which only indices and comparisons of them are such arithmetic.
  Expr Value(const Expr& e) const {
    if (e.Is(ExprKind::kRead) && IsRegister(e->name)) return e;
    const bool sizes = e.Is(ExprKind::kRead) || e.Is(ExprKind::kCast) || (e.Is(ExprKind::kBinary) && IsComparison(e->op));
    std::vector<Expr> args = e->args;
    const size_t indices = sizes ? args.size() - e->has_default : 0;
    const bool all = e.Is(ExprKind::kRead) || AreSizes(args);
    for (size_t i = 0; i < args.size(); ++i) args[i] = i < indices && all && IsIndexExpr(args[i]) ? Index(args[i]) : Value(args[i]);
    return args.empty() ? e : WithArgs(e, std::move(args));
  }
  static bool AreSizes(const std::vector<Expr>& args) {
    bool named = false;
    for (const Expr& a : args) {
      if (!IsIndexExpr(a)) return false;
      named |= !FreeSymbols(a).empty();
    }
    return named;
  }

  Sdfg& s_;
  const std::function<Expr(int64_t)>& value_;
  std::vector<Name> walked_;  // indices of maps in such code
  std::set<std::pair<Name, size_t>> fixed_sizes_, fixed_strides_;
};

}  // namespace

Sdfg WithNumbers(const Sdfg& kernel, const std::function<Expr(int64_t)>& value) {
  Sdfg copy = kernel;
  Numbers(&copy, value).Run();
  return copy;
}

}  // namespace headrace::transforms
