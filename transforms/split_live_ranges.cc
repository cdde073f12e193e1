#include "transforms/split_live_ranges.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "transforms/inline.h"
#include "transforms/loop_dependences.h"
#include "transforms/set_first.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

// One SDFG's loops over ranges that hold statements alone, and that no other loop is around.
class LiveRanges {
 public:
  LiveRanges(const Program& p, Sdfg* s, const Ask& ask) : s_(*s), ask_(ask), uses_(p, *s), callees_(p), names_(*s) {}

  bool Run() {
    bool changed = false;
    const std::vector<BlockId> body = s_.body;
    for (BlockId b : body)
      if (const auto* l = std::get_if<Loop>(&s_.blocks[b].control)) changed |= InLoop(b, *l);
    return changed;
  }

 private:
  bool InLoop(BlockId loop, const Loop& l) {
    const std::optional<Range> range = AsRange(l);
    if (!range || !IsIndexExpr(range->begin) || !IsIndexExpr(range->end)) return false;
    std::vector<NodeId> statements;
    for (BlockId b : l.body) {
      const auto* state = std::get_if<State>(&s_.blocks[b].control);
      if (!state) return false;
      statements.insert(statements.end(), state->statements.begin(), state->statements.end());
    }
    std::vector<std::vector<Memlet>> memlets;
    for (NodeId n : statements) memlets.push_back(MemletsOf(s_, n, callees_));
    const Assumptions known = transforms::WithLoops(s_.assumptions, {*range});
    std::vector<std::pair<Name, Name>> renamed;
    const std::vector<Name> containers(s_.order.begin(), s_.order.end());
    for (Name n : containers) {
      if (!IsSplit(n, statements) || !transforms::SetFirst(s_, n, statements, memlets, known)) continue;
      if (!ask_(Match{s_.name, {}, {loop}, {n}, "", true})) continue;
      Container own = s_.Get(n);
      renamed.emplace_back(n, own.name = names_.Fresh(n));
      s_.Add(std::move(own));
    }
    for (NodeId n : statements) Rename(n, renamed);
    return !renamed.empty();
  }

  // Whether the statements use it and others do, and nothing reads it behind them.
  bool IsSplit(Name n, const std::vector<NodeId>& statements) const {
    const Container& c = s_.Get(n);
    if (c.kind != ContainerKind::kTransient || c.storage != Storage::kArena || c.shape.empty()) return false;
    const transforms::Usage& u = uses_.Of(n);
    if (u.viewed || u.writes.empty()) return false;
    const auto is_inside = [&](uint32_t at) {
      const NodeId id = uses_.positions()[at].statement;
      return id.valid() && std::find(statements.begin(), statements.end(), id) != statements.end() && OfTasklets(id);
    };
    uint32_t last = 0;
    bool here = false, elsewhere = false, reads_behind = false;
    for (uint32_t at : u.writes) (is_inside(at) ? here : elsewhere) = true, last = is_inside(at) ? std::max(last, at) : last;
    for (uint32_t at : u.reads)
      if (is_inside(at)) last = std::max(last, at);
    for (uint32_t at : u.reads) elsewhere |= !is_inside(at), reads_behind |= !is_inside(at) && at > last;
    return here && elsewhere && !reads_behind;
  }

  bool OfTasklets(NodeId id) const {
    if (const auto* m = std::get_if<Map>(&s_.nodes[id].body))
      return std::all_of(m->body.begin(), m->body.end(), [&](NodeId n) { return OfTasklets(n); });
    return std::holds_alternative<Tasklet>(s_.nodes[id].body);
  }

  void Rename(NodeId id, const std::vector<std::pair<Name, Name>>& names) {
    if (names.empty()) return;
    if (const auto* m = std::get_if<Map>(&s_.nodes[id].body)) {
      const std::vector<NodeId> inside = m->body;
      for (NodeId n : inside) Rename(n, names);
    } else if (std::holds_alternative<Tasklet>(s_.nodes[id].body)) {
      Tasklet t = std::get<Tasklet>(s_.nodes[id].body);
      t.value = RenameContainers(t.value, names);
      for (Expr& e : t.index) e = RenameContainers(e, names);
      for (const auto& [from, to] : names)
        if (t.target == from) t.target = to;
      s_.nodes.Mutable(id).body = std::move(t);
    }
  }

  Sdfg& s_;
  const Ask& ask_;
  const transforms::UseIndex uses_;
  Callees callees_;
  transforms::NameTable names_;
};

}  // namespace

Result<bool> SplitLiveRanges(Program& p, const Ask& ask) {
  bool changed = false;
  for (auto& s : p.sdfgs) {
    if (s->kernel) continue;
    const auto is_loop = [&](BlockId b) { return std::holds_alternative<Loop>(s->blocks[b].control); };
    if (std::none_of(s->body.begin(), s->body.end(), is_loop)) continue;
    Sdfg copy = *s;
    if (!LiveRanges(p, &copy, ask).Run()) continue;
    s = std::make_shared<Sdfg>(std::move(copy));
    changed = true;
  }
  return changed;
}

}  // namespace headrace
