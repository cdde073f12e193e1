#include "transforms/layout/turn_arrays.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/arena.h"
#include "ir/analysis/dataflow.h"
#include "ir/analysis/reorder.h"
#include "transforms/inline.h"
#include "transforms/layout/layout_cost.h"
#include "transforms/uses.h"

namespace headrace {
namespace layout {
namespace {

constexpr int kRounds = 4;       // over all arrays
constexpr double kLeast = 0.95;  // of what statements cost now: less is a gain
constexpr double kCopied = 0.5;  // of an element that is copied by squares, beside one that is read across memory

class Turner {
 public:
  Turner(const Program& p, Sdfg s, const schedule::Device& d, const Ask& ask) : p_(p), s_(std::move(s)), d_(d), ask_(ask) {
    const std::vector<Direction> directions = Directions(p_, s_);
    for (size_t i = 0; i < directions.size(); ++i) directions_.emplace(s_.parameters[i], directions[i]);
  }

  bool Run() {
    Collect(s_.body, 1, 0);
    bool changed = false, more = true;
    for (int round = 0; round < kRounds && more; ++round) {
      more = false;
      for (Name n : std::vector<Name>(s_.order))
        if (MayTurn(n)) more |= Turn(n, CopiesOf(n));
      changed |= more;
    }
    for (Name n : std::vector<Name>(s_.order))
      if (IsParameter(n) && !s_.Get(n).order.row_major()) Copy(n);
    return changed;
  }
  Sdfg Take() { return std::move(s_); }

 private:
  struct Statement {
    std::vector<Weighed> leaves;
    double times = 1;  // it runs
  };

  // Statements in loops: others are one walk, which goes by squares.
  void Collect(const std::vector<BlockId>& body, double times, int depth) {
    for (BlockId b : body) {
      const Control& c = s_.blocks[b].control;
      if (const auto* l = std::get_if<Loop>(&c)) {
        const std::optional<Range> range = AsRange(*l);
        Collect(l->body, times * (range ? std::max(1.0, TripsOf({*range}, d_)) : static_cast<double>(d_.symbol_size)), depth + 1);
      } else if (const auto* branches = std::get_if<Conditional>(&c)) {
        for (const Branch& branch : branches->branches) Collect(branch.body, times, depth);
      } else if (const auto* state = std::get_if<State>(&c)) {
        for (NodeId n : state->statements) Add(n, times, depth > 0);
      }
    }
  }
  void Add(NodeId n, double times, bool in_loop) {
    auto leaves = LeavesOf(s_, n, d_);
    for (const Touched& t : TouchedBy(s_, n, callees_)) {
      if (!leaves) fixed_.insert(t.root);
      else uses_[t.root].push_back(statements_.size()), in_loops_[t.root] |= in_loop;
    }
    if (leaves) statements_.push_back({Weigh(s_, WithoutProducts(std::move(*leaves))), times});
  }

  // Products of matrices pack what lies across memory.
  static std::vector<Leaf> WithoutProducts(std::vector<Leaf> leaves) {
    const auto is_product = [](const Leaf& l) { return l.accumulates && l.ranges.size() >= 3 && !l.within.empty(); };
    leaves.erase(std::remove_if(leaves.begin(), leaves.end(), is_product), leaves.end());
    return leaves;
  }

  bool MayTurn(Name n) const {
    const Container& c = s_.Get(n);
    const auto in_loop = in_loops_.find(n);
    return ((c.kind == ContainerKind::kTransient && MayLieInArena(c)) || MayBeCopied(c)) && c.shape.size() >= 2 && c.shape.size() < 8 &&
           c.storage == Storage::kArena && c.strides.empty() && in_loop != in_loops_.end() && in_loop->second && !fixed_.count(n) &&
           !HasViews(n);
  }
  bool IsParameter(Name n) const { return s_.Get(n).kind == ContainerKind::kParameter; }
  // Callers have rows: what the program takes or gives lies otherwise in a transient, from its first statement to its last one.
  bool MayBeCopied(const Container& c) const {
    return c.kind == ContainerKind::kParameter && !c.optional && c.dtype != DType::kString && s_.name == p_.entry;
  }
  // What its copies cost.
  double CopiesOf(Name n) const {
    if (!IsParameter(n)) return 0;
    const int times = (IsGiven(n) ? 1 : 0) + (IsTaken(n) ? 1 : 0);
    return times * kCopied * SizeOf(NumElements(s_.Get(n)), d_) * static_cast<double>(d_.turned_element);
  }
  bool IsGiven(Name n) const { return directions_.at(n) == Direction::kIn || directions_.at(n) == Direction::kInOut; }
  bool IsTaken(Name n) const { return directions_.at(n) == Direction::kOut || directions_.at(n) == Direction::kInOut; }

  // A transient takes the place of the parameter and its order.
  void Copy(Name n) {
    Container c;
    c.name = s_.FreshName(n.str() + "_turned");
    c.dtype = s_.Get(n).dtype, c.shape = s_.Get(n).shape, c.order = s_.Get(n).order;
    const Name turned = c.name;
    HR_CHECK(Reorder(&s_, n, MemoryOrder()), n.str());
    s_.Add(std::move(c));
    transforms::RenameUses(&s_, {{n, turned}});
    const auto is_require = [&](BlockId b) { return std::holds_alternative<Require>(s_.blocks[b].control); };
    if (IsGiven(n)) s_.body.insert(std::find_if_not(s_.body.begin(), s_.body.end(), is_require), Copied(turned, n));
    if (IsTaken(n)) s_.body.push_back(Copied(n, turned));
  }
  BlockId Copied(Name to, Name from) {
    Map map;
    std::vector<Expr> index;
    transforms::NameTable names(s_);
    for (const Expr& extent : s_.Get(to).shape) {
      map.ranges.push_back({names.FreshIndex(Name("i" + std::to_string(index.size())), {}), Expr(0), extent, Expr(1)});
      index.push_back(SymbolExpr(map.ranges.back().index));
    }
    Tasklet t;
    t.target = to, t.index = index, t.value = ReadExpr(from, index);
    map.body = {s_.AddNode(std::move(t))};
    const NodeId copy = s_.AddNode(std::move(map));
    return s_.AddBlock(State{{}, {copy}});
  }
  bool HasViews(Name n) const {
    return std::any_of(s_.order.begin(), s_.order.end(), [&](Name v) { return s_.Get(v).kind == ContainerKind::kView && s_.Get(v).base == n; });
  }
  double Cost(const std::vector<size_t>& statements) const {
    double sum = 0;
    for (size_t i : statements)
      sum += statements_[i].times * CostOf(s_, statements_[i].leaves, d_, [](Name) { return false; }, [] { return true; });
    return sum;
  }
  // The order that costs least, if it is another one. `more`: what an order other than rows costs beside.
  bool Turn(Name n, double more) {
    std::vector<size_t> around = uses_[n];
    around.erase(std::unique(around.begin(), around.end()), around.end());
    const MemoryOrder before = s_.Get(n).order;
    const double now = Cost(around) + (before.row_major() ? 0 : more);
    if (now == 0) return false;
    MemoryOrder best = before;
    double least = kLeast * now;
    const size_t rank = s_.Get(n).shape.size();
    for (size_t innermost = 0; innermost < rank; ++innermost) {
      const MemoryOrder order = Innermost(rank, innermost);
      if (order == before || !Reorder(&s_, n, order)) continue;
      const double beside = order.row_major() ? 0 : more;
      if (const double cost = Cost(around) + beside; cost < least) least = cost, best = order;
    }
    const bool turned = !(best == before) && ask_(Match{s_.name, {}, {}, {n}, "", true});
    HR_CHECK(Reorder(&s_, n, turned ? best : before), n.str());
    return turned;
  }
  static MemoryOrder Innermost(size_t rank, size_t innermost) {
    std::vector<int> dims;
    for (size_t d = 0; d < rank; ++d)
      if (d != innermost) dims.push_back(static_cast<int>(d));
    dims.push_back(static_cast<int>(innermost));
    return MemoryOrder(std::move(dims));
  }

  const Program& p_;
  Callees callees_{p_};
  Sdfg s_;
  const schedule::Device& d_;
  const Ask& ask_;
  std::vector<Statement> statements_;
  std::unordered_map<Name, std::vector<size_t>> uses_;
  std::unordered_map<Name, bool> in_loops_;
  std::unordered_map<Name, Direction> directions_;  // of parameters
  std::unordered_set<Name> fixed_;
};

bool HasLoops(const Sdfg& s) {
  return std::any_of(s.body.begin(), s.body.end(), [&](BlockId b) { return std::holds_alternative<Loop>(s.blocks[b].control); });
}
bool IsLaidOut(const Sdfg& s) {
  return std::any_of(s.order.begin(), s.order.end(), [&](Name n) { return !s.Get(n).order.row_major(); });
}

}  // namespace
}  // namespace layout

Result<bool> TurnArrays(Program& p, const schedule::Device& device, const Ask& ask) {
  bool changed = false;
  for (const std::shared_ptr<Sdfg>& shared : std::vector<std::shared_ptr<Sdfg>>(p.sdfgs)) {
    if (shared->kernel || !layout::HasLoops(*shared) || layout::IsLaidOut(*shared)) continue;
    layout::Turner t(p, *shared, device, ask);
    if (!t.Run()) continue;
    p.Mutable(shared->name) = t.Take();
    changed = true;
  }
  return changed;
}

}  // namespace headrace
