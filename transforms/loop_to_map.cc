#include "transforms/loop_to_map.h"

#include <algorithm>

#include "ir/verify/verify.h"
#include "transforms/loop_dependences.h"
#include "transforms/loop_privates.h"

namespace headrace {
namespace {

using transforms::LoopNest;

constexpr size_t kMostStatements = 32;  // of a loop's body

// Loops from the innermost on, of one SDFG.
class Loops {
 public:
  Loops(Program* p, Name sdfg, const Ask& ask) : p_(p), sdfg_(sdfg), ask_(ask) {}

  bool Run() {
    Blocks(Get().body);
    return changed_;
  }

 private:
  const Sdfg& Get() const { return *p_->Find(sdfg_); }

  void Blocks(const std::vector<BlockId> body) {  // NOLINT: a copy, the blocks change
    for (BlockId b : body) {
      const Control c = Get().blocks[b].control;
      if (const auto* l = std::get_if<Loop>(&c)) {
        const std::optional<Range> range = AsRange(*l);
        outer_.push_back(range.value_or(Range{l->var, {}, {}, {}}));
        Blocks(l->body);
        outer_.pop_back();
        if (range) Convert(b, *range);
      } else if (const auto* d = std::get_if<Conditional>(&c)) {
        for (const Branch& branch : d->branches) Blocks(branch.body);
      }
    }
  }

  // The loop's block becomes a state of maps, where that is right.
  void Convert(BlockId b, const Range& range) {
    const std::optional<std::vector<NodeId>> statements = Straight(b, range.index);
    if (!statements || !IsPlain(range)) return;
    LoopNest nest{KnownOuter(), range};
    if (RunsOnceAtMost(nest)) return;  // `fold-control` knows whether it does
    Program work = *p_;
    Sdfg& s = work.Mutable(sdfg_);
    transforms::AccumulateOver(&s, range.index, *statements);
    const auto own = transforms::FindPrivates(work, s, nest, *statements);
    if (!own) return;
    const auto order = Order(work, s, nest, *statements, own->names);
    if (!order || !transforms::EachSetsItsOwn(s, range.index, own->names, *statements)) return;
    transforms::GiveEach(&s, *own, range, *statements);
    State state;
    for (size_t k : *order) state.statements.push_back(transforms::MapOver(&s, range, (*statements)[k]));
    s.blocks.Mutable(b).control = std::move(state);
    if (!Verify(work, s).ok()) return;  // what boxes tell apart, the verifier of maps may not
    Match m;
    m.sdfg = sdfg_, m.blocks = {b};
    if (!ask_(m)) return;
    *p_ = std::move(work);
    changed_ = true;
  }

  // The statements of a body without control flow, of maps and tasklets only.
  std::optional<std::vector<NodeId>> Straight(BlockId b, Name variable) const {
    const Sdfg& s = Get();
    std::vector<NodeId> out;
    for (BlockId inner : std::get<Loop>(s.blocks[b].control).body) {
      const auto* st = std::get_if<State>(&s.blocks[inner].control);
      if (!st || !st->label.empty()) return std::nullopt;
      out.insert(out.end(), st->statements.begin(), st->statements.end());
    }
    if (out.empty() || out.size() > kMostStatements) return std::nullopt;
    for (NodeId n : out)
      if (!transforms::IsElementwiseNest(s, n, variable)) return std::nullopt;
    return out;
  }
  static bool IsPlain(const Range& r) {
    const auto step = r.step ? AsInt(r.step) : std::optional<int64_t>(1);
    return (step == 1 || step == -1) && IsIndexExpr(r.begin) && IsIndexExpr(r.end);
  }
  bool RunsOnceAtMost(const LoopNest& nest) const {
    const Range& r = nest.range;
    const Expr trips = r.step && AsInt(r.step) == -1 ? r.begin - r.end : r.end - r.begin;
    const Interval bounds = BoundsOf(trips, transforms::WithLoops(Get().assumptions, nest.outer));
    return bounds.hi && *bounds.hi <= 1;
  }
  // What is not known of a loop around it is not supposed.
  std::vector<Range> KnownOuter() const {
    std::vector<Range> out;
    for (const Range& r : outer_)
      if (r.begin && IsIndexExpr(r.begin) && IsIndexExpr(r.end) && (!r.step || AsInt(r.step))) out.push_back(r);
    return out;
  }

  // An order of the statements in which each may run for all iterations before the next; none where one needs an iteration before.
  static std::optional<std::vector<size_t>> Order(const Program& p, const Sdfg& s, const LoopNest& nest,
                                                  const std::vector<NodeId>& statements, const std::unordered_set<Name>& own) {
    const transforms::LoopDependences on(p, s, nest, statements, own);
    const size_t n = statements.size();
    std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b) {
        const bool within = a < b && (on.Within(a, b) || transforms::ShareAny(s, statements[a], statements[b], own));
        before[a][b] = within || on.Carried(a, b);
        if (a == b && before[a][b]) return std::nullopt;
      }
    std::vector<size_t> order;
    std::vector<bool> done(n, false);
    while (order.size() < n) {
      size_t next = n;
      for (size_t k = 0; k < n && next == n; ++k) {
        bool ready = !done[k];
        for (size_t a = 0; a < n; ++a) ready &= done[a] || !before[a][k];
        if (ready) next = k;
      }
      if (next == n) return std::nullopt;  // in a circle
      done[next] = true;
      order.push_back(next);
    }
    return order;
  }

  Program* p_;
  const Name sdfg_;
  const Ask& ask_;
  std::vector<Range> outer_;
  bool changed_ = false;
};

}  // namespace

Result<bool> LoopToMap(Program& p, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i)
    if (!p.sdfgs[i]->kernel) changed |= Loops(&p, p.sdfgs[i]->name, ask).Run();
  return changed;
}

}  // namespace headrace
