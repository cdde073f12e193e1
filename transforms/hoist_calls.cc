#include "transforms/hoist_calls.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/each_sdfg.h"
#include "transforms/long_calls.h"

namespace headrace {
namespace {

constexpr int64_t kWorth = 16;  // so many iterations share a call

// One map, with those in it.
class Hoister {
 public:
  Hoister(Sdfg* s, NodeId map) : s_(*s), map_(map) {}

  bool Finds() {
    only_looks_ = true;
    if (Known(map_, {}, 1) && some_) Values();
    return found_;
  }
  // The statements that compute the calls first.
  std::vector<NodeId> Run() {
    if (!Known(map_, {}, 1) || !some_) return {};
    const std::vector<std::pair<NodeId, Expr>> values = Values();
    for (const auto& [n, value] : values) std::get<Tasklet>(s_.nodes.Mutable(n).body).value = value;
    return before_;
  }

 private:
  // A tasklet, all ranges around it, and how often it runs.
  struct Inner {
    NodeId tasklet;
    std::vector<Range> ranges;
    int64_t runs;
  };

  std::vector<std::pair<NodeId, Expr>> Values() {
    for (const Inner& n : inner_) Note(std::get<Tasklet>(s_.nodes[n.tasklet].body));
    std::vector<std::pair<NodeId, Expr>> values;
    for (const Inner& n : inner_) {
      const Tasklet t = std::get<Tasklet>(s_.nodes[n.tasklet].body);
      at_ = &n;
      const Expr value = n.runs >= kWorth ? Of(t.value, false) : t.value;
      if (value != t.value) values.emplace_back(n.tasklet, value);
      if (IsRegister(t.target) && t.op == WriteOp::kAssign && written_[t.target] == 1) held_[t.target] = Inlined(t.value);
    }
    return values;
  }

  bool Known(NodeId map, std::vector<Range> ranges, int64_t runs) {
    const Map& m = std::get<Map>(s_.nodes[map].body);
    if (m.schedule != Schedule::kDefault) return false;
    for (const Range& r : m.ranges) {
      const auto begin = AsInt(r.begin), end = AsInt(r.end);
      if (!begin || !end || *end <= *begin || (r.step && AsInt(r.step) != 1)) return false;
      if (__builtin_mul_overflow(runs, *end - *begin, &runs)) return false;
      ranges.push_back(r);
    }
    for (NodeId n : m.body) {
      if (std::holds_alternative<Map>(s_.nodes[n].body)) {
        if (!Known(n, ranges, runs)) return false;
        continue;
      }
      const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body);
      if (!t) return false;
      some_ |= transforms::HasManySteps(t->value);
      Visit(t->value, [&](const Expr& e) { return some_ |= transforms::TakesLong(e), !some_; });
      inner_.push_back({n, ranges, runs});
    }
    return true;
  }
  bool IsRegister(Name n) const { return s_.Get(n).storage == Storage::kRegister; }

  void Note(const Tasklet& t) {
    ++written_[RootOf(s_, t.target)];
    Always(t.value);
    for (const Expr& e : t.index) Always(e);
  }
  static bool Decides(const Expr& e) {
    return e.Is(ExprKind::kSelect) || (e.Is(ExprKind::kBinary) && (e->op == Op::kAnd || e->op == Op::kOr));
  }
  // What is read whatever choices choose.
  void Always(const Expr& e) {
    if (!e) return;
    if (e.Is(ExprKind::kRead) && !e->has_default) always_.push_back(e);
    const bool decides = Decides(e) || (e.Is(ExprKind::kRead) && e->has_default);
    for (size_t i = 0; i < (decides ? std::min<size_t>(1, e->args.size()) : e->args.size()); ++i) Always(e->args[i]);
  }

  Expr Inlined(const Expr& e) const {
    return Transform(e, [&](const Expr& x) -> Expr {
      const auto it = x.Is(ExprKind::kRead) ? held_.find(x->name) : held_.end();
      return it == held_.end() ? x : it->second;
    });
  }

  // `index`: it says where something is read.
  Expr Of(const Expr& e, bool index) {
    if (!e || e->args.empty()) return e;
    if (transforms::TakesLong(e) || (OfIndices(e) && !(index && Bounds(e)) && !HasParts(e)))
      if (const Expr once = Once(Inlined(e))) return once;
    std::vector<Expr> args = e->args;
    const bool known = std::exchange(knows_guards_, knows_guards_ && !(e.Is(ExprKind::kRead) && e->has_default));
    for (size_t i = 0; i < args.size(); ++i) {
      const bool chosen = Decides(e) && i > 0;
      if (chosen) guards_.emplace_back(Inlined(e->args[0]), e.Is(ExprKind::kSelect) ? i == 1 : e->op == Op::kAnd);
      args[i] = Of(args[i], (index && Bounds(e)) || e.Is(ExprKind::kRead));
      if (chosen) guards_.pop_back();
    }
    knows_guards_ = known;
    return WithArgs(e, std::move(args));
  }
  static bool OfIndices(const Expr& e) {
    if (!transforms::HasManySteps(e)) return false;
    bool reads = false;
    Visit(e, [&](const Expr& x) { return reads |= x.Is(ExprKind::kRead), !reads; });
    return !reads;
  }
  // A weight along each dimension: to multiply them is cheaper than to read their products.
  static bool HasParts(const Expr& e) {
    const size_t all = FreeSymbols(e).size();
    return std::all_of(e->args.begin(), e->args.end(),
                       [&](const Expr& a) { return transforms::HasManySteps(a) && FreeSymbols(a).size() < all; });
  }
  static bool Bounds(const Expr& e) {
    return e.Is(ExprKind::kCast) || (e.Is(ExprKind::kCall) && (e->name == Name("clamp") || e->name == Name("min") || e->name == Name("max")));
  }

  static Expr ZeroOf(DType t) { return IsComplex(t) ? CastExpr(t, FloatExpr(0)) : Expr(0); }

  // What it gives wherever the choices around it, if they are the same there, come to it: no more is read than was.
  Expr Guarded(Expr e, DType t) const {
    for (auto g = guards_.rbegin(); knows_guards_ && g != guards_.rend(); ++g)
      e = g->second ? SelectExpr(g->first, e, ZeroOf(t)) : SelectExpr(g->first, ZeroOf(t), e);
    return e;
  }

  bool IsRead(const Expr& x) const { return std::find(always_.begin(), always_.end(), x) != always_.end(); }

  // Whether it can be computed before the map: nothing in it changes there, and it reads what is read in any case.
  bool MayBeBefore(const Expr& e, bool in_any_case) const {
    const bool decides = Decides(e);
    if (e.Is(ExprKind::kRead) && (e->has_default || written_.count(RootOf(s_, e->name)) || (in_any_case && !IsRead(e)))) return false;
    for (size_t i = 0; i < e->args.size(); ++i)
      if (!MayBeBefore(e->args[i], in_any_case && !(decides && i > 0))) return false;
    return true;
  }

  static bool ReadsAlong(const Expr& e, const Range& r) {
    bool found = false;
    Visit(e, [&](const Expr& x) { return found |= x.Is(ExprKind::kRead) && Mentions(x, r.index), !found; });
    return found;
  }

  // Whether it reads along the outermost ranges alone: a nest computes that before its lanes (schedule/hoist.cc), complex numbers aside.
  bool IsBeforeLanes(const Expr& e, DType t) const {
    const std::vector<Range>& all = at_->ranges;
    const auto mentioned = [&](const Range& r) { return Mentions(e, r.index); };
    const auto inner = std::find_if_not(all.begin(), all.end(), mentioned);
    return !IsComplex(t) && std::none_of(inner, all.end(), mentioned) &&
           std::any_of(all.begin(), all.end(), [&](const Range& r) { return ReadsAlong(e, r); });
  }

  // The element that holds it; null where it stays where it is.
  Expr Once(Expr e) {
    const Result<Expr> own = InferTypes(s_, e);
    if (!own.ok() || !(transforms::TakesLong(e) ? (*own)->dtype != DType::kNone : IsFloat((*own)->dtype))) return {};
    const bool takes_long = transforms::TakesLong(e);
    if (!MayBeBefore(e, true)) e = Guarded(e, (*own)->dtype);
    for (const auto& [known, read] : known_)
      if (known == e) return read;
    std::vector<Range> over;
    std::vector<Expr> index;
    int64_t trips = 1;
    for (const Range& r : at_->ranges)
      if (Mentions(e, r.index)) over.push_back(r), trips *= TripsOf(r);
    // Those that go in lanes are many, and lie side by side.
    if (!takes_long)
      std::stable_sort(over.begin(), over.end(), [](const Range& x, const Range& y) { return TripsOf(x) < TripsOf(y); });
    for (const Range& r : over) index.push_back(SymbolExpr(r.index) - r.begin);
    if (!MayBeBefore(e, true) || IsBeforeLanes(e, (*own)->dtype) || trips > at_->runs / kWorth || (over.empty() && !takes_long)) return {};
    found_ = true;
    if (only_looks_) return {};
    Container c;
    c.name = s_.FreshName("once");
    c.dtype = (*own)->dtype;
    for (const Range& r : over) c.shape.push_back(r.end - r.begin);
    const Name name = c.name;
    s_.Add(std::move(c));
    NodeId first = s_.AddNode(Tasklet{name, index, false, false, WriteOp::kAssign, e});
    if (!over.empty()) first = s_.AddNode(Map{over, {first}});
    before_.push_back(first);
    known_.emplace_back(e, ReadExpr(name, index));
    return known_.back().second;
  }

  static int64_t TripsOf(const Range& r) { return *AsInt(r.end) - *AsInt(r.begin); }

  Sdfg& s_;
  const NodeId map_;
  std::vector<Inner> inner_;
  const Inner* at_ = nullptr;
  bool only_looks_ = false, found_ = false, some_ = false;
  std::unordered_map<Name, int> written_;  // roots
  std::unordered_map<Name, Expr> held_;    // by registers
  std::vector<Expr> always_;
  std::vector<std::pair<Expr, bool>> guards_;  // of choices around: condition, and the side
  bool knows_guards_ = true;                   // all of them: an index that may be outside is one that has no condition
  std::vector<std::pair<Expr, Expr>> known_;
  std::vector<NodeId> before_;
};

bool InStates(Sdfg* s, const Ask& ask) {
  std::vector<BlockId> states;
  ForEachBlock(*s, s->body, [&](BlockId b) {
    if (std::holds_alternative<State>(s->blocks[b].control)) states.push_back(b);
  });
  bool changed = false;
  for (BlockId b : states) {
    const std::vector<NodeId> statements = std::get<State>(s->blocks[b].control).statements;
    std::vector<NodeId> out;
    for (NodeId n : statements) {
      const bool is_map = std::holds_alternative<Map>(s->nodes[n].body);
      if (is_map && Hoister(s, n).Finds() && ask(Match{s->name, {n}, {}, {}, "", true})) {
        for (NodeId first : Hoister(s, n).Run()) {
          s->nodes.Mutable(first).origin = s->nodes[n].origin;
          out.push_back(first);
        }
      }
      out.push_back(n);
    }
    if (out.size() == statements.size()) continue;
    std::get<State>(s->blocks.Mutable(b).control).statements = std::move(out);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> HoistCalls(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) { return InStates(s, ask); });
}

}  // namespace headrace
