// Iterations that each do work of their own and then add to a few numbers: parts of them, each by one thread with numbers of its own,
// which are added up in the order of the parts. How many there are depends on sizes alone.
//   map i in 0:4096 { m = …; map j in 0:1000 { m max= X[i, j] }; L += m * m }
//     →  local partial: f32[103] @worker
//        map part_0 in 0:4096:40 @parallel {
//          local sum: f32
//          sum = 0
//          for i in part_0:+40 { m = …; …; sum += m * m }
//          partial[part_0 // 40] = sum
//        }
//        L += the sum of partial
#include <algorithm>
#include <utility>

#include "ir/analysis/type_inference.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

// Calls fn for every tasklet of statements, and of what they hold.
template <typename Fn>
void ForEachTasklet(const Sdfg& s, const std::vector<NodeId>& body, const Fn& fn) {
  for (NodeId id : body) {
    if (std::holds_alternative<Tasklet>(s.nodes[id].body)) fn(id);
    std::vector<std::vector<NodeId>> inside;
    ForEachBody(s.nodes[id].body, [&](const std::vector<NodeId>& b) { inside.push_back(b); });
    for (const std::vector<NodeId>& b : inside) ForEachTasklet(s, b, fn);
  }
}

}  // namespace

std::optional<Scheduler::Statements> Scheduler::NumbersInParts(const Nest& n) {
  const Sdfg before = *s_;
  const auto homes = homes_;
  auto out = TryNumbersInParts(n);
  if (!out) *s_ = before, homes_ = homes;
  return out;
}

// The statements that add to numbers which nothing else touches, if iterations of the first range meet nowhere else.
Scheduler::Statements Scheduler::NumbersOf(const Nest& n) {
  std::unordered_map<Name, int> touches;  // an accumulation counts as a read and a write
  for (NodeId id : n.body)
    for (const ElementAccess& a : AccessesOf(*s_, id)) ++touches[a.root];
  Statements numbers;
  std::unordered_set<Name> roots;
  ForEachTasklet(*s_, n.body, [&](NodeId id) {
    const Tasklet& t = std::get<Tasklet>(s_->nodes[id].body);
    const Container& c = s_->Get(t.target);
    const bool number = c.shape.empty() && c.kind != ContainerKind::kView && !t.guarded && touches.at(t.target) == 2;
    if (t.op == WriteOp::kAssign || !number || IsPrivate(t.target, n) || !IdentityOf(t.op, ComputeType(c.dtype))) return;
    numbers.push_back(id), roots.insert(t.target);
  });
  for (auto& [root, count] : touches)
    if (roots.count(root) == 0) count = 3;  // no sum that may meet
  Nest others = n;
  others.body = WithoutSums(n.body, touches);
  return !numbers.empty() && ApartRanges(others)[0] ? numbers : Statements();
}

// Lanes begin at 0, and elements that are written are kept apart by where parts begin: they need another range for lanes.
std::optional<Scheduler::Statements> Scheduler::OnePart(Nest n) {
  if (!OfTasklets(n)) return SumsWithin(std::move(n));
  const bool writes = std::any_of(n.body.begin(), n.body.end(), [&](NodeId id) {
    return s_->Get(std::get<Tasklet>(s_->nodes[id].body).target).storage != Storage::kRegister;
  });
  if (!writes) return Normalize(s_, &n, 0) ? SumsWithin(std::move(n)) : std::nullopt;
  if (n.ranges.size() < 2) return std::nullopt;
  const bool collapses = std::exchange(collapses_, false);
  auto body = SumsWithin(std::move(n));
  collapses_ = collapses;
  return body;
}

std::optional<Scheduler::Statements> Scheduler::TryNumbersInParts(Nest n) {
  const Statements numbers = NumbersOf(n);
  if (numbers.empty()) return std::nullopt;
  const Range cut = n.ranges[0];
  // Of a known length, so that all can be shown to lie inside: sizes that nobody knows count as those of short sums.
  NameMap sizes;
  const Expr all_work = WorkOf(n.body) * TripsOf({n.ranges.begin() + 1, n.ranges.end()});
  for (Name size : FreeSymbols(all_work)) sizes.push_back({size, Expr(d_.short_sum)});
  const Expr length = PartLength(cut, Substitute(all_work, sizes), 1, /*any_number=*/true);
  if (!AsInt(length)) return std::nullopt;
  const Expr parts = FloorDiv(cut.end + length - Expr(1), length);  // by no name: what it is of shows that all parts have a place
  if (AsInt(parts) && *AsInt(parts) < 2) return std::nullopt;

  const Range units{FreshIn(*s_, "part_0"), Expr(0), cut.end, length};
  Statements first, last, after;
  for (NodeId id : numbers) {
    Tasklet t = std::get<Tasklet>(s_->nodes[id].body);
    const DType type = ComputeType(s_->Get(t.target).dtype);
    const Name partial = schedule::Local(s_, "partial", type, {parts}, Storage::kWorker), sum = Local("sum", type);
    const Range again{FreshIn(*s_, "part_1"), Expr(0), parts, Expr(1)};
    first.push_back(Put(sum, {}, WriteOp::kAssign, IdentityOf(t.op, type)));
    last.push_back(Put(partial, {FloorDiv(SymbolExpr(units.index), length)}, WriteOp::kAssign, ReadExpr(sum, {})));
    const Nest all{{again}, {Put(t.target, t.index, t.op, ReadExpr(partial, {SymbolExpr(again.index)}))}, {}};
    auto added = SumAlong(all, {false}, 0, /*share=*/false, {});
    if (!added) return std::nullopt;
    after.insert(after.end(), added->begin(), added->end());
    t.target = sum, t.index = {};
    s_->nodes.Mutable(id).body = std::move(t);
  }
  n.ranges[0] = Within(units, cut.index);
  auto body = OnePart(std::move(n));
  if (!body) return std::nullopt;
  body->insert(body->begin(), first.begin(), first.end());
  body->insert(body->end(), last.begin(), last.end());
  Statements out = Wrap(s_, {{{units}, Schedule::kParallel}}, *body);
  out.insert(out.end(), after.begin(), after.end());
  return out;
}

}  // namespace headrace::schedule
