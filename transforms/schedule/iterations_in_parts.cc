// Iterations that each do work of their own and then add to a few numbers, or to short arrays: parts of them, each by one thread with
// numbers and arrays of its own, which are added up in the order of the parts. How many there are depends on sizes alone.
//   map i in 0:4096 { m = …; map j in 0:1000 { m max= X[i, j] }; L += m * m; map j in 0:1000 { g[j] += X[i, j] * m } }
//     →  local partial: f32[64] @worker; local partial_1: f32[64, 1000] @worker
//        map part_0 in 0:4096:64 @parallel {
//          local sum: f32
//          sum = 0
//          map j in 0:1000 { partial_1[part_0 // 64, j] = 0 }
//          for i in part_0:+64 { m = …; …; sum += m * m; map j in 0:1000 { partial_1[part_0 // 64, j] += X[i, j] * m } }
//          partial[part_0 // 64] = sum
//        }
//        L += the sum of partial; g[j] += those of partial_1
#include <algorithm>
#include <utility>

#include "ir/analysis/layout.h"
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

std::optional<Scheduler::Statements> Scheduler::IterationsInParts(const Nest& n) {
  return Try([&] { return TryIterationsInParts(n); });
}

// Known, and no longer than partial results may be; 0: it is.
int64_t Scheduler::ElementsOfShort(const Container& c) const {
  int64_t elements = 1;
  for (const Expr& e : c.shape) elements = std::min<int64_t>(8 * d_.few_results + 1, elements * AsInt(e).value_or(0));
  return elements <= 8 * d_.few_results ? elements : 0;
}

// The statements that add to numbers and short arrays which nothing else touches, if iterations of the range meet nowhere else.
Scheduler::Statements Scheduler::MeetingSums(const Nest& n, size_t range) {
  std::unordered_map<Name, int> touches;  // an accumulation counts as a read and a write
  for (NodeId id : n.body)
    for (const ElementAccess& a : AccessesOf(*s_, id)) ++touches[a.root];
  Statements sums;
  std::unordered_set<Name> roots;
  ForEachTasklet(*s_, n.body, [&](NodeId id) {
    const Tasklet& t = std::get<Tasklet>(s_->nodes[id].body);
    const Container& c = s_->Get(t.target);
    const bool alone = c.kind != ContainerKind::kView && !t.guarded && !t.flat && touches.at(t.target) == 2;
    const bool meets = std::none_of(t.index.begin(), t.index.end(), [&](const Expr& e) {
      return Mentions(e, n.ranges[range].index) || !ReadContainers(e).empty();  // what is looked up is asked for under its own name
    });
    if (t.op == WriteOp::kAssign || !alone || !meets || IsPrivate(t.target, n) || !IdentityOf(t.op, ComputeType(c.dtype))) return;
    if (ElementsOfShort(c) == 0) return;
    sums.push_back(id), roots.insert(t.target);
  });
  return !sums.empty() && ApartRanges(n, roots)[range] ? sums : Statements();
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

// How many iterations of the first range are a part; null where nobody knows. With arrays to add to, which are written and read once
// more for each part, there are more iterations, and fewer parts.
Expr Scheduler::IterationsOfPart(const Nest& n, int64_t elements) const {
  // Of a known length, so that all can be shown to lie inside: sizes that nobody knows count as those of short sums.
  NameMap sizes;
  const Expr all_work = WorkOf(n.body) * TripsOf({n.ranges.begin() + 1, n.ranges.end()});
  for (Name size : FreeSymbols(all_work)) sizes.push_back({size, Expr(d_.short_sum)});
  const Expr work = Substitute(all_work, sizes);
  const Expr length = PartLength(n.ranges[0], work, 1, /*any_number=*/elements == 0 || !AsInt(n.ranges[0].end));
  if (elements == 0 || !AsInt(length) || !AsInt(work)) return AsInt(length) ? length : Expr();
  const int64_t others = AsInt(TripsOf({n.ranges.begin() + 1, n.ranges.end()})).value_or(1);
  return Expr(std::max({*AsInt(length), Ceil(d_.part_iterations, std::max<int64_t>(1, others)),
                        Ceil(d_.copy_share * elements, std::max<int64_t>(1, *AsInt(work)))}));
}

// A sum of all iterations, of which each part has its own.
struct Scheduler::OwnSum {
  Tasklet t;                // that adds to the parts' own
  Statements first, last;   // of each part
  Nest all;                 // what adds up those of all parts
  std::vector<bool> apart;  // its ranges
};

Scheduler::OwnSum Scheduler::OwnNumber(const Tasklet& t, const Expr& parts, const Expr& part) {
  const DType type = ComputeType(s_->Get(t.target).dtype);
  const Name partial = schedule::Local(s_, "partial", type, {parts}, Storage::kWorker), sum = Local("sum", type);
  const Range again{FreshIn(*s_, "part_1"), Expr(0), parts, Expr(1)};
  OwnSum out{t, {}, {}, {{again}, {Put(t.target, t.index, t.op, ReadExpr(partial, {SymbolExpr(again.index)}))}, {}}, {false}};
  out.t.target = sum, out.t.index = {};
  out.first = {Put(sum, {}, WriteOp::kAssign, IdentityOf(t.op, type))};
  out.last = {Put(partial, {part}, WriteOp::kAssign, ReadExpr(sum, {}))};
  return out;
}

// Arrays of a kernel lie in different sets of a cache: each has a line more than the one before.
Scheduler::OwnSum Scheduler::OwnArray(const Tasklet& t, const Expr& parts, const Expr& part, int64_t before) {
  const std::vector<Expr> lengths = s_->Get(t.target).shape;
  const DType type = ComputeType(s_->Get(t.target).dtype);
  std::vector<Expr> shape = lengths, own{part}, to;
  if (lengths.size() == 1 && *AsInt(lengths[0]) * ByteSize(type) % d_.cache_stride == 0)
    shape[0] = shape[0] + Expr((before + 1) * d_.vector_bytes / ByteSize(type));
  shape.insert(shape.begin(), parts);
  const Name partial = schedule::Local(s_, "partial", type, shape, Storage::kWorker);
  accesses_[partial] = INT32_MAX;  // seen under one name
  OwnSum out{t, {}, {}, {}, {}};
  for (size_t d = 0; d < lengths.size(); ++d) {
    out.all.ranges.push_back({FreshIn(*s_, "d" + std::to_string(d)), Expr(0), lengths[d], Expr(1)});
    to.push_back(SymbolExpr(out.all.ranges.back().index));
  }
  own.insert(own.end(), to.begin(), to.end());
  std::vector<Range> others = out.all.ranges;
  const Range lane = others.back();
  others.pop_back();
  out.first = Wrap(s_, {{others, Schedule::kSequential}, {{lane}, Schedule::kVector}}, {Put(partial, own, WriteOp::kAssign, IdentityOf(t.op, type))});
  out.apart.assign(out.all.ranges.size(), true), out.apart.push_back(false);
  out.all.ranges.push_back({FreshIn(*s_, "part_1"), Expr(0), parts, Expr(1)});
  own[0] = SymbolExpr(out.all.ranges.back().index);
  out.all.body = {Put(t.target, to, t.op, ReadExpr(partial, own))};
  out.t.target = partial, out.t.index.insert(out.t.index.begin(), part);
  return out;
}

std::optional<Scheduler::Statements> Scheduler::AddedUp(const OwnSum& sum) {
  const size_t last = sum.all.ranges.size() - 1;
  Ending few;
  few.few_terms = true;
  return last == 0 ? SumAlong(sum.all, sum.apart, 0, /*share=*/false, {}) : SumSideBySide(sum.all, sum.apart, last - 1, /*share=*/true, few);
}

std::optional<Scheduler::Statements> Scheduler::TryIterationsInParts(Nest n) {
  if (!OfTasklets(n))  // rows of several ranges are those of one
    while (n.ranges.size() > 1 && MayCollapse(n, 0, 1)) Merge(&n, 0, 1);
  const Statements sums = MeetingSums(n, 0);
  if (sums.empty()) return std::nullopt;
  const Range cut = n.ranges[0];
  int64_t elements = 0;  // of arrays
  for (NodeId id : sums) {
    const Container& c = s_->Get(std::get<Tasklet>(s_->nodes[id].body).target);
    if (!c.shape.empty()) elements += ElementsOfShort(c);
  }
  const Expr length = IterationsOfPart(n, elements);
  if (!length || elements > 8 * d_.few_results) return std::nullopt;
  const Expr parts = FloorDiv(cut.end + length - Expr(1), length);  // by no name: what it is of shows that all parts have a place
  if (AsInt(parts) && *AsInt(parts) < 2) return std::nullopt;

  const Range units{FreshIn(*s_, "part_0"), Expr(0), cut.end, length};
  Statements first, last, after;
  int64_t arrays = 0;
  for (NodeId id : sums) {
    const Tasklet t = std::get<Tasklet>(s_->nodes[id].body);
    const Expr part = FloorDiv(SymbolExpr(units.index), length);
    const OwnSum own = s_->Get(t.target).shape.empty() ? OwnNumber(t, parts, part) : OwnArray(t, parts, part, arrays++);
    auto added = AddedUp(own);
    if (!added) return std::nullopt;
    Add(&first, own.first), Add(&last, own.last), Add(&after, *added);
    s_->nodes.Mutable(id).body = own.t;
  }
  n.ranges[0] = Within(units, cut.index);
  auto body = OnePart(std::move(n));
  if (!body) return std::nullopt;
  body->insert(body->begin(), first.begin(), first.end());
  Add(&*body, last);
  Statements out = Wrap(s_, {{{units}, Schedule::kParallel}}, *body);
  Add(&out, after);
  return out;
}

}  // namespace headrace::schedule
