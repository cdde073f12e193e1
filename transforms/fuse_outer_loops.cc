#include "transforms/fuse_outer_loops.h"

#include <algorithm>

#include "ir/analysis/arena.h"
#include "transforms/by_shape.h"
#include "transforms/each_sdfg.h"
#include "transforms/inline.h"
#include "transforms/outer_group.h"

namespace headrace {
namespace {

using transforms::LeadingDimension;
using transforms::OuterGroup;
using transforms::OuterGroups;

// Puts a group into its loop.
class LoopMaker {
 public:
  LoopMaker(Sdfg* s, const OuterGroups& groups, const OuterGroup& g) : s_(*s), uses_(groups.uses()), g_(g) {}

  void Run() {
    const BlockId block = uses_.positions()[g_.members.begin()->first].block;
    loop_ = transforms::NameTable(s_).Fresh(g_.range.index);
    for (Name n : s_.order)
      if (IsOwn(n)) dropped_.emplace(n, *LeadingDimension(s_.Get(n)));
    for (const auto& [n, d] : dropped_) Drop(n, d);
    State inside;
    for (const auto& [at, index] : g_.members) {
      const NodeId n = uses_.positions()[at].statement;
      Rewrite(n, index);
      std::vector<Range>& ranges = std::get<Map>(s_.nodes.Mutable(n).body).ranges;
      ranges.erase(std::find_if(ranges.begin(), ranges.end(), [&, own = index](const Range& r) { return r.index == own; }));
      inside.statements.push_back(n);
    }
    Loop loop = RangeLoop(loop_, g_.range.begin, g_.range.end);
    const Origin origin = s_.blocks[block].origin;
    loop.body = {s_.AddBlock(std::move(inside), origin)};
    Split(block, s_.AddBlock(std::move(loop), origin));
  }

 private:
  bool IsOwn(Name n) const {
    const Container* c = &s_.Get(n);
    while (c->kind == ContainerKind::kView) c = &s_.Get(c->base);
    return std::find(g_.own.begin(), g_.own.end(), c->name) != g_.own.end();
  }
  void Drop(Name n, size_t d) {
    Container& c = s_.Mutable(n);
    c.shape.erase(c.shape.begin() + static_cast<long>(d));
    if (!c.strides.empty()) c.strides.erase(c.strides.begin() + static_cast<long>(d));
    else c.MakeRowMajor();
  }

  Expr Rewritten(const Expr& e, Name index) const {
    if (!e) return e;
    return Transform(e, [&](const Expr& x) -> Expr {
      if (x.Is(ExprKind::kSymbol) && x->name == index) return SymbolExpr(loop_);
      const auto it = x.Is(ExprKind::kRead) ? dropped_.find(x->name) : dropped_.end();
      if (it == dropped_.end()) return x;
      std::vector<Expr> args = x->args;
      args.erase(args.begin() + static_cast<long>(it->second));
      return WithArgs(x, std::move(args));
    });
  }
  void Rewrite(NodeId n, Name index) {
    Body& body = s_.nodes.Mutable(n).body;
    if (auto* t = std::get_if<Tasklet>(&body)) {
      t->value = Rewritten(t->value, index);
      for (Expr& e : t->index) e = Rewritten(e, index);
      if (const auto it = dropped_.find(t->target); it != dropped_.end()) t->index.erase(t->index.begin() + static_cast<long>(it->second));
      return;
    }
    for (NodeId c : std::vector<NodeId>(std::get<Map>(body).body)) Rewrite(c, index);
  }

  // The state up to the loop, the loop, the state from there on.
  void Split(BlockId block, BlockId loop) {
    const State state = std::get<State>(s_.blocks[block].control);
    State head{state.label, {}}, tail;
    const auto at = [&](uint32_t position) { return uses_.positions()[position].statement; };
    const NodeId first = at(g_.members.begin()->first), last = at(g_.members.rbegin()->first);
    const auto begin = std::find(state.statements.begin(), state.statements.end(), first);
    const auto end = std::find(state.statements.begin(), state.statements.end(), last) + 1;
    head.statements.assign(state.statements.begin(), begin);
    for (uint32_t p : g_.before) head.statements.push_back(at(p));
    for (uint32_t p : g_.after) tail.statements.push_back(at(p));
    tail.statements.insert(tail.statements.end(), end, state.statements.end());
    std::vector<BlockId> by;
    const Origin origin = s_.blocks[block].origin;
    if (!head.statements.empty()) by.push_back(s_.AddBlock(std::move(head), origin));
    by.push_back(loop);
    if (!tail.statements.empty()) by.push_back(s_.AddBlock(std::move(tail), origin));
    s_.body = Replaced(s_.body, block, by);
  }
  std::vector<BlockId> Replaced(const std::vector<BlockId>& list, BlockId block, const std::vector<BlockId>& by) {
    std::vector<BlockId> out;
    for (BlockId b : list) {
      if (b == block) {
        out.insert(out.end(), by.begin(), by.end());
        continue;
      }
      out.push_back(b);
      const Control c = s_.blocks[b].control;
      if (const auto* l = std::get_if<Loop>(&c)) {
        if (std::vector<BlockId> inner = Replaced(l->body, block, by); !(inner == l->body))
          std::get<Loop>(s_.blocks.Mutable(b).control).body = std::move(inner);
      } else if (const auto* d = std::get_if<Conditional>(&c)) {
        for (size_t k = 0; k < d->branches.size(); ++k)
          if (std::vector<BlockId> inner = Replaced(d->branches[k].body, block, by); !(inner == d->branches[k].body))
            std::get<Conditional>(s_.blocks.Mutable(b).control).branches[k].body = std::move(inner);
      }
    }
    return out;
  }

  Sdfg& s_;
  const transforms::UseIndex& uses_;
  const OuterGroup& g_;
  Name loop_;
  std::unordered_map<Name, size_t> dropped_;  // containers, and which of their dimensions
};

class Fuser {
 public:
  Fuser(const Program& p, Sdfg* s, const OuterLoopLimits& limits, const Ask& ask) : p_(p), s_(*s), limits_(limits), ask_(ask) {}

  // A loop may make another one worth it, where most is in use then.
  bool Run() {
    bool changed = false;
    for (bool again = true; again; changed |= again) {
      again = false;
      for (Name n : std::vector<Name>(s_.order.begin(), s_.order.end()))
        while (s_.Get(n).kind == ContainerKind::kTransient && Step(n)) again = true;
    }
    return changed;
  }

 private:
  // A loop around what uses the array.
  bool Step(Name array) {
    if (!LeadingDimension(s_.Get(array))) return false;
    if (!groups_) groups_.emplace(p_, s_, limits_.symbol_size);
    const BlockId block = groups_->BlockOf(array);
    if (!block.valid()) return false;
    Match m;
    m.sdfg = s_.name, m.blocks = {block}, m.containers = {array};
    const auto bytes = static_cast<double>(limits_.least_bytes);
    std::optional<OuterGroup> g;
    if (groups_->PartsSave(array) < bytes) {
      m.advised = false, m.note = "it saves little memory";
    } else {
      g = groups_->Around(array);
      if (!g) return false;
      groups_->Grow(&*g);
      if (groups_->Saved(*g) < bytes) m.advised = false, m.note = "it saves little memory";
      else if (!groups_->IsNearPeak(*g)) m.advised = false, m.note = "more memory is in use elsewhere";
      else if (groups_->Operations(*g) < static_cast<double>(limits_.least_operations))
        m.advised = false, m.note = "an iteration has little to do";
    }
    if (!ask_(m)) return false;
    if (!g) g = groups_->Around(array);
    if (!g) return false;
    LoopMaker(&s_, *groups_, *g).Run();
    groups_.reset();
    return true;
  }

  const Program& p_;
  Sdfg& s_;
  const OuterLoopLimits& limits_;
  const Ask& ask_;
  std::optional<OuterGroups> groups_;
};

// With unknown sizes as they count here.
double ArenaOf(const Sdfg& s, int64_t symbol_size) {
  double sum = 0;
  for (const Expr& slot : PlanArena(s).slots) sum += transforms::RoughSize(slot, symbol_size);
  return sum;
}

// Whether some array is as large as what a loop has to save.
bool HasLarge(const Sdfg& s, const OuterLoopLimits& limits) {
  transforms::ByShape<bool> large;
  const auto is_large = [&](const Container& c) {
    return transforms::RoughSize(BytesOf(c), limits.symbol_size) >= static_cast<double>(limits.least_bytes);
  };
  return std::any_of(s.order.begin(), s.order.end(), [&](Name n) {
    const Container& c = s.Get(n);
    return c.kind == ContainerKind::kTransient && large.Of(c, is_large);
  });
}

Result<bool> Run(Program& p, const OuterLoopLimits& limits, const Ask& ask, bool must_save) {
  return transforms::ChangeEach(p, [&](Sdfg* s) {
    if (!must_save) return Fuser(p, s, limits, ask).Run();
    if (!HasLarge(*s, limits)) return false;
    const Sdfg before = *s;
    return Fuser(p, s, limits, ask).Run() &&
           ArenaOf(*s, limits.symbol_size) + static_cast<double>(limits.least_bytes) <= ArenaOf(before, limits.symbol_size);
  });
}

}  // namespace

Result<bool> FuseOuterLoops(Program& p, const OuterLoopLimits& limits) { return Run(p, limits, IsAdvised, true); }
Result<bool> FuseOuterLoopsAt(Program& p, const OuterLoopLimits& limits, const Ask& ask) { return Run(p, limits, ask, false); }

}  // namespace headrace
