#include "transforms/layout/leaves.h"

#include <algorithm>
#include <set>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/graph/homes.h"

namespace headrace::layout {
namespace {

class Walker {
 public:
  Walker(const Sdfg& s, const schedule::Device& d) : s_(s), d_(d) {}

  // `first`: of the ranges that may be lanes. `completed`: with what is done around a sum, whose lanes are those of all of it.
  bool Walk(NodeId id, NodeId map, std::vector<Range> ranges, size_t first, bool completed) {
    const Body& b = s_.nodes[id].body;
    if (const auto* m = std::get_if<Map>(&b)) {
      const auto is_map = [&](NodeId n) { return std::holds_alternative<Map>(s_.nodes[n].body); };
      const auto maps = std::count_if(m->body.begin(), m->body.end(), is_map);
      const bool several = m->body.size() > 1;
      ranges.insert(ranges.end(), m->ranges.begin(), m->ranges.end());
      const bool distributed = !completed && Iterations(ranges) <= 8 * d_.few_results;  // as the strategy does
      if (!distributed && (maps > 1 || (maps == 1 && several && completed))) first = ranges.size();
      else if (maps > 0 && several) completed = true;
      return std::all_of(m->body.begin(), m->body.end(), [&](NodeId n) { return Walk(n, id, ranges, first, completed); });
    }
    if (std::holds_alternative<std::monostate>(b)) return true;
    const auto* t = std::get_if<Tasklet>(&b);
    if (t) Add(id, map, *t, std::move(ranges), first);
    return t != nullptr;
  }

  std::vector<Leaf> Finish() {
    for (Leaf& l : leaves_) {
      if (!l.target) l.target = WrittenFrom(l);
      if (!l.target) continue;
      for (const Range& r : l.ranges)
        if (!Speaks(*l.target, r.index)) l.within.push_back(r.index);
    }
    return std::move(leaves_);
  }

 private:
  bool IsRegister(Name n) const { return IsScoped(s_.Get(n).storage); }
  // Where sizes are known.
  static int64_t Iterations(const std::vector<Range>& ranges) {
    int64_t n = 1;
    for (const Range& r : ranges) n = std::min(kMost, n * std::max<int64_t>(1, AsInt(r.end - r.begin).value_or(1)));
    return n;
  }
  void Add(NodeId id, NodeId map, const Tasklet& t, std::vector<Range> ranges, size_t first) {
    Leaf l;
    for (size_t i = first; i < ranges.size(); ++i) l.lanes.push_back(ranges[i].index);
    l.tasklet = id, l.map = map, l.ranges = std::move(ranges), l.accumulates = t.op != WriteOp::kAssign;
    const auto read = [&](const Expr& e) {
      Visit(e, [&](const Expr& x) {
        if (!x.Is(ExprKind::kRead)) return true;
        Access a{x->name, RootOf(s_, x->name), {x->args.begin(), x->args.end() - x->has_default}, x->flat};
        (IsRegister(a.root) ? l.registers : l.reads).push_back(std::move(a));
        return true;
      });
    };
    read(t.value);
    for (const Expr& e : t.index) read(e);
    Access target{t.target, RootOf(s_, t.target), t.index, t.flat};
    if (IsRegister(target.root)) l.registers.push_back(std::move(target));
    else l.target = std::move(target);
    leaves_.push_back(std::move(l));
  }

  // The first element in memory that what the leaf leaves in registers goes to, by way of others.
  std::optional<Access> WrittenFrom(const Leaf& from) const {
    std::set<Name> holds = {TargetOf(from)};
    for (size_t more = 0; more != holds.size();) {
      more = holds.size();
      for (const Leaf& l : leaves_) {
        const bool reads = std::any_of(l.registers.begin(), l.registers.end(), [&](const Access& a) { return holds.count(a.root) > 0; });
        const Name to = TargetOf(l);
        if (!reads || &l == &from || holds.count(to)) continue;
        if (!IsRegister(RootOf(s_, to))) return l.target;
        holds.insert(to);
      }
    }
    return std::nullopt;
  }
  Name TargetOf(const Leaf& l) const { return RootOf(s_, std::get<Tasklet>(s_.nodes[l.tasklet].body).target); }

  static constexpr int64_t kMost = int64_t{1} << 32;
  const Sdfg& s_;
  const schedule::Device& d_;
  std::vector<Leaf> leaves_;
};

}  // namespace

std::optional<std::vector<Leaf>> LeavesOf(const Sdfg& s, NodeId statement, const schedule::Device& d) {
  Walker w(s, d);
  if (!w.Walk(statement, {}, {}, 0, false)) return std::nullopt;
  return w.Finish();
}

bool Speaks(const Access& a, Name index) {
  return std::any_of(a.index.begin(), a.index.end(), [&](const Expr& e) { return Mentions(e, index); });
}

}  // namespace headrace::layout
