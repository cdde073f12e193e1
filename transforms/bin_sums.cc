#include "transforms/bin_sums.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/each_sdfg.h"

namespace headrace {
namespace {

constexpr int64_t kWorth = 4;                // so many intervals
constexpr int64_t kMost = int64_t{1} << 40;  // f64 tells them from each other

// lower(i) <= x && x < lower(i + 1), or with < and <=.
struct Interval {
  Expr condition, lower, x;
  Op op = Op::kLe;  // of the lower bound
};

struct Sum {
  Name target;
  Expr value;  // of the elements that lie in an interval
};

// A map in the map over the intervals.
struct Bins {
  Map elements;
  Interval interval;
  std::vector<Sum> sums;
};

bool IsZero(const Expr& e) {
  if (e.Is(ExprKind::kCast)) return IsZero(e->args[0]);
  return (e.Is(ExprKind::kInt) && e->ivalue == 0) || (e.Is(ExprKind::kFloat) && e->fvalue == 0);
}

// `e` where the condition is known to hold, or not.
Expr Where(const Expr& e, const Expr& condition, bool holds) {
  return Transform(e, [&](const Expr& x) -> Expr {
    if (x == condition) return BoolExpr(holds);
    if (x.Is(ExprKind::kSelect) && x->args[0].Is(ExprKind::kBool)) return x->args[x->args[0]->ivalue != 0 ? 1 : 2];
    return x;
  });
}

struct Comparison {
  Expr small, large;
  Op op;  // kLt or kLe
};
std::optional<Comparison> ComparisonOf(const Expr& e) {
  if (!e.Is(ExprKind::kBinary)) return std::nullopt;
  if (e->op == Op::kLt || e->op == Op::kLe) return Comparison{e->args[0], e->args[1], e->op};
  if (e->op == Op::kGt || e->op == Op::kGe) return Comparison{e->args[1], e->args[0], e->op == Op::kGt ? Op::kLt : Op::kLe};
  return std::nullopt;
}

// Grows or falls with `i`, or stays, whatever the rest of it is.
bool IsMonotone(const Expr& e, Name i) {
  if (!Mentions(e, i)) return true;
  if (e.Is(ExprKind::kCast)) {
    const auto by = IsIndexExpr(e->args[0]) ? Coefficient(e->args[0], i) : std::nullopt;
    return (e->dtype == DType::kF64 || e->dtype == DType::kF32) && by && AsInt(*by);
  }
  if (!e.Is(ExprKind::kBinary)) return false;
  const bool first = Mentions(e->args[0], i), second = Mentions(e->args[1], i);
  if (first && second) return false;
  if (e->op == Op::kDiv) return first && IsMonotone(e->args[0], i);
  return (e->op == Op::kMul || e->op == Op::kAdd || e->op == Op::kSub) && IsMonotone(e->args[first ? 0 : 1], i);
}

std::optional<Interval> IntervalOf(const Expr& e, Name i) {
  if (!e.Is(ExprKind::kBinary) || e->op != Op::kAnd) return std::nullopt;
  auto lower = ComparisonOf(e->args[0]), upper = ComparisonOf(e->args[1]);
  if (!lower || !upper) return std::nullopt;
  if (Mentions(lower->large, i)) std::swap(lower, upper);
  const Expr next = Simplify(Substitute(lower->small, {{i, SymbolExpr(i) + Expr(1)}}));
  const bool fits = lower->large == upper->small && lower->op != upper->op && !Mentions(lower->large, i) && Mentions(lower->small, i) &&
                    IsMonotone(lower->small, i) && Simplify(upper->large) == next;
  return fits ? std::optional(Interval{e, lower->small, lower->large, lower->op}) : std::nullopt;
}

class Binning {
 public:
  Binning(Sdfg* s, const Ask& ask) : s_(*s), ask_(ask) {}

  bool Run() {
    std::vector<BlockId> states;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      if (std::holds_alternative<State>(s_.blocks[b].control)) states.push_back(b);
    });
    bool changed = false;
    for (BlockId b : states) {
      const std::vector<NodeId> statements = std::get<State>(s_.blocks[b].control).statements;
      std::vector<NodeId> out;
      for (NodeId n : statements) {
        if (std::holds_alternative<Map>(s_.nodes[n].body)) Rewrite(n, &out);
        out.push_back(n);
      }
      if (out.size() == statements.size()) continue;
      std::get<State>(s_.blocks.Mutable(b).control).statements = std::move(out);
      changed = true;
    }
    return changed;
  }

 private:
  // Over a known number of intervals.
  bool Look(const Map& m) {
    if (m.schedule != Schedule::kDefault || m.ranges.size() != 1) return false;
    const Range& r = m.ranges[0];
    const auto begin = AsInt(r.begin), end = AsInt(r.end);
    if (!begin || !end || (r.step && AsInt(r.step) != 1)) return false;
    i_ = r.index, begin_ = *begin, count_ = *end - *begin;
    if (count_ < kWorth || count_ > kMost || *begin < 0) return false;
    written_.clear();
    Note(m.body);
    return true;
  }
  void Note(const std::vector<NodeId>& body) {
    for (NodeId n : body) {
      const Body& b = s_.nodes[n].body;
      if (const auto* t = std::get_if<Tasklet>(&b)) written_.insert(RootOf(s_, t->target));
      ForEachBody(b, [&](const std::vector<NodeId>& inner) { Note(inner); });
    }
  }
  bool OfTaskletsAndMaps(const std::vector<NodeId>& body) const {
    return std::all_of(body.begin(), body.end(), [&](NodeId n) {
      if (const auto* m = std::get_if<Map>(&s_.nodes[n].body)) return OfTaskletsAndMaps(m->body);
      return std::holds_alternative<Tasklet>(s_.nodes[n].body);
    });
  }

  void Rewrite(NodeId n, std::vector<NodeId>* out) {
    const Map m = std::get<Map>(s_.nodes[n].body);
    if (!Look(m) || !OfTaskletsAndMaps(m.body)) return;
    const Origin origin = s_.nodes[n].origin;
    std::vector<NodeId> body;
    bool changed = false;
    for (size_t k = 0; k < m.body.size(); ++k) {
      const std::optional<Bins> bins = BinsOf(m, k);
      if (!bins || !ask_(Match{s_.name, {m.body[k]}, {}, {}, "", true})) {
        body.push_back(m.body[k]);
        continue;
      }
      changed = true;
      const Name at = Places(*bins, origin, out);
      for (const Sum& sum : bins->sums) {
        const Name sums = Scatter(*bins, sum, at, origin, out);
        const Expr read = ReadExpr(sums, {Simplify(SymbolExpr(i_) - Expr(begin_))});
        body.push_back(s_.AddNode(Tasklet{sum.target, {}, false, false, WriteOp::kAdd, read}, origin));
      }
    }
    if (changed) std::get<Map>(s_.nodes.Mutable(n).body).body = std::move(body);
  }

  // ---- what is there ----
  bool IsRegister(Name n) const { return s_.Get(n).storage == Storage::kRegister && s_.Get(n).shape.empty(); }

  std::optional<Bins> BinsOf(const Map& m, size_t at) {
    const auto* elements = std::get_if<Map>(&s_.nodes[m.body[at]].body);
    if (!elements || elements->schedule != Schedule::kDefault) return std::nullopt;
    Bins bins;
    bins.elements = *elements;
    for (const Range& r : bins.elements.ranges)
      if (Mentions(r.begin, i_) || Mentions(r.end, i_) || (r.step && AsInt(r.step) != 1)) return std::nullopt;
    std::unordered_map<Name, Expr> held;
    for (NodeId n : bins.elements.body) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body);
      if (!t || !IsRegister(t->target) || t->guarded) return std::nullopt;
      const Expr value = Transform(t->value, [&](const Expr& x) -> Expr {
        const auto it = x.Is(ExprKind::kRead) ? held.find(x->name) : held.end();
        return it == held.end() ? x : it->second;
      });
      if (t->op == WriteOp::kAssign && !held.count(t->target)) held[t->target] = value;
      else if (t->op == WriteOp::kAdd && !held.count(t->target)) bins.sums.push_back({t->target, value});
      else return std::nullopt;
    }
    for (const auto& [name, value] : held)
      if (IsUsedBesides(m, at, name)) return std::nullopt;
    return Divide(&bins) ? std::optional(std::move(bins)) : std::nullopt;
  }
  bool IsUsedBesides(const Map& m, size_t at, Name reg) const {
    for (size_t k = 0; k < m.body.size(); ++k)
      if (k != at && Uses(m.body[k], reg)) return true;
    return false;
  }
  bool Uses(NodeId n, Name reg) const {
    const Body& b = s_.nodes[n].body;
    bool found = false;
    if (const auto* t = std::get_if<Tasklet>(&b)) {
      std::vector<Name> names = ReadContainers(t->value);
      found = t->target == reg || std::find(names.begin(), names.end(), reg) != names.end();
    }
    ForEachBody(b, [&](const std::vector<NodeId>& inner) {
      for (NodeId k : inner) found = found || Uses(k, reg);
    });
    return found;
  }

  // Each sum is of something where the condition holds, and of nothing elsewhere.
  bool Divide(Bins* bins) {
    if (bins->sums.empty()) return false;
    std::optional<Interval> interval;
    Visit(bins->sums[0].value, [&](const Expr& e) {
      if (e.Is(ExprKind::kSelect) && !interval) interval = IntervalOf(e->args[0], i_);
      return !interval;
    });
    if (!interval || !IsKnownBefore(interval->lower, *bins) || !IsKnownBefore(interval->x, *bins)) return false;
    bins->interval = *interval;
    for (Sum& sum : bins->sums) {
      if (!IsZero(Where(sum.value, interval->condition, false))) return false;
      sum.value = Where(sum.value, interval->condition, true);
      if (Mentions(sum.value, i_) || !IsKnownBefore(sum.value, *bins)) return false;
    }
    return true;
  }
  // Reads elements that are there in any case and that the map does not write.
  bool IsKnownBefore(const Expr& e, const Bins& bins) const {
    bool known = true;
    Visit(e, [&](const Expr& x) {
      if (!x.Is(ExprKind::kRead)) return known;
      const Container& c = s_.Get(x->name);
      known &= !x->has_default && !x->flat && !written_.count(RootOf(s_, x->name)) && x->args.size() == c.shape.size();
      for (size_t d = 0; known && d < x->args.size(); ++d)
        known &= IsIndexExpr(x->args[d]) && !Mentions(x->args[d], i_) &&
                 UnprovenSides(bins.elements.ranges, x->args[d], c.shape[d], s_.assumptions).none();
      return false;
    });
    return known;
  }

  // ---- what takes its place ----
  // Stems that no index of a map around has.
  Name Array(const char* stem, DType type, std::vector<Expr> shape, Storage storage = Storage::kArena) {
    Container c;
    c.name = s_.FreshName(stem);
    c.dtype = type, c.shape = std::move(shape), c.storage = storage;
    const Name name = c.name;
    s_.Add(std::move(c));
    return name;
  }
  Expr Lower(const Interval& v, const Expr& number) const {
    return Transform(v.lower, [&](const Expr& e) -> Expr {
      if (!e.Is(ExprKind::kCast) || !Mentions(e, i_)) return e;
      const Expr by = *Coefficient(e->args[0], i_), rest = Simplify(Substitute(e->args[0], {{i_, Expr(begin_)}}));
      Expr count = AsInt(by) == 1 ? number : BinaryExpr(Op::kMul, CastExpr(DType::kI64, by), number);
      if (AsInt(rest) != 0) count = BinaryExpr(Op::kAdd, count, CastExpr(DType::kI64, rest));
      return CastExpr(e->dtype, count);
    });
  }
  std::vector<Expr> Element(const Bins& bins) const {
    std::vector<Expr> out;
    for (const Range& r : bins.elements.ranges) out.push_back(Simplify(SymbolExpr(r.index) - r.begin));
    return out;
  }

  // The interval of each element, counted from 0; -1 where there is none.
  Name Places(const Bins& bins, const Origin& origin, std::vector<NodeId>* out) {
    std::vector<Expr> shape;
    for (const Range& r : bins.elements.ranges) shape.push_back(Simplify(r.end - r.begin));
    const Name at = Array("bin_at", DType::kI64, std::move(shape));
    const Interval& v = bins.interval;
    const auto number = [](int64_t n) { return CastExpr(DType::kI64, Expr(n)); };
    std::vector<NodeId> body;
    const auto set = [&](Name target, std::vector<Expr> index, Expr value) {
      body.push_back(s_.AddNode(Tasklet{target, std::move(index), false, false, WriteOp::kAssign, std::move(value)}, origin));
    };
    const Name x = Array("value_at", DTypeOf(v.x), {}, Storage::kRegister);
    set(x, {}, v.x);
    const Expr value = ReadExpr(x, {});
    Expr found = number(0);
    int64_t step = 1;
    while (step * 2 < count_) step *= 2;
    for (; step > 0; step /= 2) {
      const Expr next = BinaryExpr(Op::kAdd, found, number(step));
      const Expr below = BinaryExpr(Op::kAnd, BinaryExpr(Op::kLt, next, number(count_)), BinaryExpr(v.op, Lower(v, next), value));
      const Name half = Array("half_at", DType::kI64, {}, Storage::kRegister);
      set(half, {}, BinaryExpr(Op::kAdd, found, SelectExpr(below, number(step), number(0))));
      found = ReadExpr(half, {});
    }
    const Expr after = Lower(v, BinaryExpr(Op::kAdd, found, number(1)));
    const Expr inside = BinaryExpr(Op::kAnd, BinaryExpr(v.op, Lower(v, found), value),
                                   BinaryExpr(v.op == Op::kLe ? Op::kLt : Op::kLe, value, after));
    set(at, Element(bins), SelectExpr(inside, found, number(-1)));
    out->push_back(s_.AddNode(Map{bins.elements.ranges, std::move(body)}, origin));
    return at;
  }
  DType DTypeOf(const Expr& e) const {
    const Result<Expr> typed = InferTypes(s_, e);
    return typed.ok() ? (*typed)->dtype : DType::kF64;
  }

  Name Scatter(const Bins& bins, const Sum& sum, Name at, const Origin& origin, std::vector<NodeId>* out) {
    const Name sums = Array("sums_at", s_.Get(sum.target).dtype, {Expr(count_)});
    const Range over{i_, Expr(0), Expr(count_), {}};
    const NodeId zero = s_.AddNode(Tasklet{sums, {SymbolExpr(i_)}, false, false, WriteOp::kAssign, CastExpr(s_.Get(sums).dtype, Expr(0))}, origin);
    out->push_back(s_.AddNode(Map{{over}, {zero}}, origin));
    const NodeId add = s_.AddNode(Tasklet{sums, {ReadExpr(at, Element(bins))}, false, true, WriteOp::kAdd, sum.value}, origin);
    out->push_back(s_.AddNode(Map{bins.elements.ranges, {add}}, origin));
    return sums;
  }

  Sdfg& s_;
  const Ask& ask_;
  Name i_;
  int64_t begin_ = 0, count_ = 0;
  std::unordered_set<Name> written_;  // roots, in the map over the intervals
};

}  // namespace

Result<bool> BinSums(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) { return Binning(s, ask).Run(); });
}

}  // namespace headrace
