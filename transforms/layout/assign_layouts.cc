#include "transforms/layout/assign_layouts.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/arena.h"
#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/reorder.h"
#include "transforms/layout/layout_cost.h"
#include "transforms/layout/weights.h"
#include "transforms/outline.h"
#include "transforms/schedule/choose_schedule.h"

namespace headrace {
namespace layout {
namespace {

constexpr int kRounds = 4;  // of turning single containers back

class Assigner {
 public:
  Assigner(const Program& p, const Sdfg& s, const schedule::Device& d, const Ask& ask) : p_(p), s_(s), d_(d), ask_(ask) {}

  bool Run() {
    for (Name n : s_.order)
      if (!s_.Get(n).order.row_major()) return false;  // somebody has chosen already
    FindCandidates();
    if (parent_.empty()) return false;
    Collect();
    std::set<uint32_t> turned;
    bool changed = false;
    for (const auto& [first, set] : Sets())
      if (sums_.count(first) && Choose(set)) {
        changed = true;
        for (Name n : set)
          for (size_t i : uses_[n]) turned.insert(statements_[i].id.value);
      }
    if (!changed) return false;
    std::vector<NodeId> ids;
    for (const Statement& st : statements_)
      if (turned.count(st.id.value)) ids.push_back(st.id);
    TurnWeights(p_, &s_, ids, d_);
    return true;
  }
  Sdfg Take() { return std::move(s_); }

 private:
  struct Statement {
    NodeId id;
    std::vector<Weighed> leaves;
  };

  void FindCandidates() {
    for (Name n : s_.order) {
      const Container& c = s_.Get(n);
      const bool image = c.shape.size() >= 3 && c.shape.size() < 8 && c.strides.empty() && AsInt(c.shape[1]) != 1;
      if (image && MayLieInArena(c) && c.storage == Storage::kArena && CanReorder(s_, n, ChannelsInnermost(c.shape.size())))
        parent_[n] = n;
    }
  }

  void Collect() {
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      const auto* state = std::get_if<State>(&s_.blocks[b].control);
      for (NodeId id : state ? state->statements : std::vector<NodeId>()) {
        auto leaves = LeavesOf(s_, id, d_);
        if (leaves) statements_.push_back({id, Weigh(s_, std::move(*leaves))});
        else
          for (const Touched& t : TouchedBy(s_, id, callees_)) parent_.erase(t.root);
      }
    });
    for (size_t i = 0; i < statements_.size(); ++i) {
      std::set<Name> uses;
      for (const Weighed& w : statements_[i].leaves) {
        if (w.leaf.target) uses.insert(w.leaf.target->root);
        for (const Access& a : w.leaf.reads) uses.insert(a.root);
      }
      candidates_.emplace_back();
      for (Name n : uses)
        if (parent_.count(n)) uses_[n].push_back(i), candidates_[i].push_back(n);
    }
    for (const Statement& st : statements_)
      for (const Weighed& w : st.leaves) Connect(w);
    for (const Statement& st : statements_)
      for (const Weighed& w : st.leaves)
        for (const Access& a : w.sum && w.sum->channel == 1 ? w.sum->images : std::vector<Access>())
          if (parent_.count(a.root)) sums_.insert(SetOf(a.root));
  }

  // Those of one leaf that take the same batch and channels.
  void Connect(const Weighed& w) {
    std::vector<const Access*> images;
    const auto add = [&](const Access& a) {
      if (parent_.count(a.root) && a.container == a.root && !a.flat) images.push_back(&a);
    };
    if (w.leaf.target) add(*w.leaf.target);
    for (const Access& a : w.leaf.reads) add(a);
    for (size_t i = 1; i < images.size(); ++i) {
      const Access &a = *images[0], &b = *images[i];
      const bool alike = a.index[0] == b.index[0] && SameSymbols(a.index[1], b.index[1]);
      const auto in_sum = [&](const Access& x) {
        return w.sum && std::any_of(w.sum->images.begin(), w.sum->images.end(), [&](const Access& y) { return y.root == x.root; });
      };
      if (alike || (in_sum(a) && in_sum(b))) parent_[SetOf(a.root)] = SetOf(b.root);
    }
  }
  static bool SameSymbols(const Expr& a, const Expr& b) {
    const auto x = FreeSymbols(a), y = FreeSymbols(b);
    return std::set<Name>(x.begin(), x.end()) == std::set<Name>(y.begin(), y.end());
  }

  Name SetOf(Name n) {
    while (parent_.at(n) != n) n = parent_[n] = parent_.at(parent_.at(n));
    return n;
  }
  std::map<Name, std::vector<Name>> Sets() {
    std::map<Name, std::vector<Name>> out;
    for (Name n : s_.order)
      if (parent_.count(n)) out[SetOf(n)].push_back(n);
    return out;
  }

  double Cost(const std::set<size_t>& statements) const {
    double sum = 0;
    for (size_t i : statements) sum += CostOfStatement(i);
    return sum;
  }
  // Of what may change only the orders of its candidates count: the same ones come back in each round.
  double CostOfStatement(size_t i) const {
    std::vector<bool> orders;
    for (Name n : candidates_[i]) orders.push_back(s_.Get(n).order.row_major());
    const auto [it, fresh] = costs_[i].try_emplace(std::move(orders), 0.0);
    if (fresh)
      it->second = CostOf(s_, statements_[i].leaves, d_, [this](Name n) { return parent_.count(n) > 0; }, [this, i] { return IsTiled(i); });
    return it->second;
  }
  // Asked of the strategy, once for each distinct statement.
  bool IsTiled(size_t i) const {
    const NodeId id = statements_[i].id;
    Sdfg s = s_;
    for (const Weighed& w : statements_[i].leaves)
      if (w.sum) LayWeights(&s, *w.sum);
    const std::unordered_set<Name> written(s.order.begin(), s.order.end());
    const transforms::StatementKey key = transforms::KeyOf(s, id, {}, written);
    const auto [it, fresh] = tiled_.try_emplace(key.text, false);
    if (fresh) it->second = schedule::TilesOf(p_, KernelOf(s, id, key, written), d_).has_value();
    return it->second;
  }
  // Back as it was: strides of a view say where its elements lie, and not always of which order that comes.
  void Turn(Name n, bool innermost) {
    if (!innermost) {
      for (const Container& c : rows_[n]) s_.Mutable(c.name) = c;
      return;
    }
    rows_[n] = WithViews(s_, n);
    HR_CHECK(Reorder(&s_, n, ChannelsInnermost(s_.Get(n).shape.size())), n.str());
  }

  bool Choose(const std::vector<Name>& set) {
    std::set<size_t> all;
    for (Name n : set) all.insert(uses_[n].begin(), uses_[n].end());
    const double before = Cost(all);
    for (Name n : set) Turn(n, true);
    bool better = true;
    for (int round = 0; round < kRounds && better; ++round) {
      better = false;
      for (Name n : set) {
        const std::set<size_t> around(uses_[n].begin(), uses_[n].end());
        const bool innermost = !s_.Get(n).order.row_major();
        const double now = Cost(around);
        Turn(n, !innermost);
        if (Cost(around) < now) better = true;
        else Turn(n, innermost);
      }
    }
    Match m{s_.name, {}, {}, {}, "", Cost(all) < before};
    for (Name n : set)
      if (!s_.Get(n).order.row_major()) m.containers.push_back(n);
    if (!m.advised) m.note = "what sums gain is less than what other statements lose";
    if (!m.containers.empty() && ask_(m)) return true;
    for (Name n : set) Turn(n, false);
    return false;
  }

  const Program& p_;
  mutable Callees callees_{p_};
  Sdfg s_;
  const schedule::Device& d_;
  const Ask& ask_;
  std::vector<Statement> statements_;
  std::map<Name, std::vector<size_t>> uses_;
  std::vector<std::vector<Name>> candidates_;  // of each statement
  mutable std::unordered_map<size_t, std::map<std::vector<bool>, double>> costs_;  // of a statement, by whether each is row-major
  std::map<Name, Name> parent_;  // of candidates
  std::map<Name, std::vector<Container>> rows_;  // those that are turned, with their views, as they were
  mutable std::unordered_map<std::string, bool> tiled_;  // by what a statement computes
  std::set<Name> sums_;          // sets that sums over images are in
};

}  // namespace
}  // namespace layout

Result<bool> AssignLayouts(Program& p, const schedule::Device& device, const Ask& ask) {
  bool changed = false;
  for (const std::shared_ptr<Sdfg>& shared : std::vector<std::shared_ptr<Sdfg>>(p.sdfgs)) {
    if (shared->kernel) continue;
    layout::Assigner a(p, *shared, device, ask);
    if (!a.Run()) continue;
    p.Mutable(shared->name) = a.Take();
    changed = true;
  }
  return changed;
}

}  // namespace headrace
