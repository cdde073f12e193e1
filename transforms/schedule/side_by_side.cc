// Several statements whose lanes lie along a range that keeps iterations apart, such as the channels of images, innermost in memory.
//   map n in 0:N, c in 0:64, p in 0:56, q in 0:56 { g = …; dX[n, c, p, q] = g * W[c]; dB[c] += g; dW[c] += g * X[n, c, p, q] }
//     →  local partial: f32[56, 64] @worker …
//        map p0 in 0:56 @parallel {
//          for n in 0:N, p in p0:+1, q in 0:56 {
//            map c in 0:64 @vector { g = …; dX[n, c, p, q] = g * W[c]; sums[c] += g; sums_1[c] += g * X[n, c, p, q] } } … }
//        …
#include <algorithm>

#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

bool MentionsAny(const std::vector<Expr>& index, const std::vector<Range>& ranges) {
  return std::any_of(index.begin(), index.end(), [&](const Expr& e) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) { return Mentions(e, r.index); });
  });
}

int64_t ProductOfEnds(const std::vector<Range>& ranges, int64_t otherwise) {
  int64_t n = 1;
  for (const Range& r : ranges) n = std::min<int64_t>(int64_t{1} << 40, n * std::max<int64_t>(1, AsInt(r.end).value_or(otherwise)));
  return n;
}

}  // namespace

// Those of the statements that add terms of several iterations up; the others must have elements of their own.
std::optional<std::vector<size_t>> Scheduler::SumsAmong(const Nest& n, const std::vector<bool>& apart) const {
  std::vector<Range> terms;
  for (size_t i = 0; i < n.ranges.size(); ++i)
    if (!apart[i]) terms.push_back(n.ranges[i]);
  Nest others = n;
  others.body.clear();
  std::vector<size_t> sums;
  std::unordered_set<Name> summed;
  for (size_t k = 0; k < n.body.size(); ++k) {
    const auto& t = std::get<Tasklet>(s_->nodes[n.body[k]].body);
    if (t.guarded || !Questions(t).empty()) return std::nullopt;
    const bool adds = t.op != WriteOp::kAssign && !IsWrittenFirst(n.body, t.target) && !MentionsAny(t.index, terms);
    if (!adds) {
      others.body.push_back(n.body[k]);
      continue;
    }
    const bool fits = !t.flat && IdentityOf(t.op, ComputeType(s_->Get(t.target).dtype)) && std::all_of(t.index.begin(), t.index.end(), IsIndexExpr);
    if (!fits || !summed.insert(AccessesOf(*s_, n.body[k]).back().root).second) return std::nullopt;
    sums.push_back(k);
  }
  if (sums.empty()) return std::nullopt;
  for (size_t k = 0; k < n.body.size(); ++k)  // a running sum, read as it grows, keeps its order
    for (const ElementAccess& a : AccessesOf(*s_, n.body[k]))
      if (a.op == WriteOp::kAssign && summed.count(a.root)) return std::nullopt;
  const std::vector<bool> own = ApartRanges(others);
  return std::all_of(own.begin(), own.end(), [](bool x) { return x; }) ? std::optional(sums) : std::nullopt;
}

std::optional<Scheduler::Statements> Scheduler::SumsSideBySide(const Nest& n, const std::vector<bool>& apart) {
  if (!OfTasklets(n) || n.body.size() < 2 || !TakesLanes(*s_, n.body)) return std::nullopt;
  const int lane = LaneRange(*s_, n);
  if (lane < 0 || !apart[lane] || AsInt(n.ranges[lane].end).value_or(d_.short_sum) < d_.short_sum) return std::nullopt;
  const auto sums = SumsAmong(n, apart);
  if (!sums) return std::nullopt;
  if (auto parts = SumsInParts(n, apart, lane, *sums)) return parts;
  return SumsOfLanes(n, apart, lane, *sums, /*share=*/true, /*onto=*/true);
}

// `onto`: results are combined with what their elements hold.
Scheduler::Statements Scheduler::SumsOfLanes(const Nest& n, const std::vector<bool>& apart, size_t lane, const std::vector<size_t>& sums,
                                             bool share, bool onto) {
  Range lanes = n.ranges[lane];
  std::vector<Range> outer, terms;
  for (size_t i = 0; i < n.ranges.size(); ++i)
    if (i != lane) (apart[i] ? outer : terms).push_back(n.ranges[i]);
  const auto length = AsInt(lanes.end);
  const int64_t side = length ? std::min(*length, d_.sum_elements) : d_.sum_elements;
  std::optional<Name> parts;
  if (!length || *length > side) {
    const Cut cut = Split(*s_, lanes, Expr(side));
    parts = cut.parts.index;
    outer.push_back(cut.parts);
  }
  const Expr work = Expr(OperationsOf(*s_, n.body)) * TripsOf(terms) * (length ? Expr(side) : Min(Expr(side), lanes.end));
  const Shared shared = share ? ShareOut(*s_, outer, work, d_) : Shared{{}, outer};
  for (const auto* list : {&shared.units, &shared.within})
    for (const Range& r : *list)
      if (parts && r.index == *parts) lanes = Within(r, lanes.index);
  const Expr slot = SymbolExpr(lanes.index) - lanes.begin;
  Statements start, term = n.body, results;
  for (size_t k : sums) {
    const Tasklet t = std::get<Tasklet>(s_->nodes[n.body[k]].body);
    const DType type = ComputeType(s_->Get(t.target).dtype);
    const Name local = Local("sums", type, {Expr(side)});
    start.push_back(Put(local, {slot}, WriteOp::kAssign, IdentityOf(t.op, type)));
    term[k] = Put(local, {slot}, t.op, t.value);
    results.push_back(Put(t.target, t.index, onto ? t.op : WriteOp::kAssign, ReadExpr(local, {slot})));
  }
  Statements body = Wrap(s_, {{{lanes}, Schedule::kVector}}, start);
  const auto add = [&](const Statements& more) { body.insert(body.end(), more.begin(), more.end()); };
  add(Wrap(s_, {{terms, Schedule::kSequential}}, Walk(lanes, term, true, /*whole_rows=*/false)));
  add(Wrap(s_, {{{lanes}, Schedule::kVector}}, results));
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

// Few results of many terms: one of the ranges of these is cut into parts, each with results of its own, which are added up in order.
// Ranges of results that are not known, such as a batch, go around all that.
std::optional<Scheduler::Statements> Scheduler::SumsInParts(const Nest& n, const std::vector<bool>& apart, size_t lane,
                                                            const std::vector<size_t>& sums) {
  std::vector<Range> around, results, terms;
  Nest part{{}, n.body, n.owner};
  std::vector<bool> part_apart;
  std::optional<size_t> first;  // of the part's ranges
  for (size_t i = 0; i < n.ranges.size(); ++i) {
    const Range& r = n.ranges[i];
    if (apart[i] && i != lane && !AsInt(r.end)) {
      around.push_back(r);
      continue;
    }
    (apart[i] ? results : terms).push_back(r);
    if (!apart[i] && AsInt(r.end).value_or(0) > 1 && (!first || *AsInt(r.end) > *AsInt(part.ranges[*first].end))) first = part.ranges.size();
    part.ranges.push_back(r);
    part_apart.push_back(apart[i]);
  }
  const int64_t count = ProductOfEnds(results, 0), each = ProductOfEnds(terms, d_.short_sum);
  if (!first || !AsInt(n.ranges[lane].end) || count >= d_.few_results || each < 4 * count / d_.most_parts) return std::nullopt;
  const int64_t cost = std::min<int64_t>(int64_t{1} << 40, OperationsOf(*s_, n.body) * count) * each;
  if (cost < 8 * d_.chunk_operations) return std::nullopt;
  const Range cut = part.ranges[*first];
  const int64_t length = *AsInt(PartLength(cut, Expr(cost / *AsInt(cut.end)), 1)), parts = (*AsInt(cut.end) + length - 1) / length;
  if (parts < 2) return std::nullopt;

  const Range units{FreshIn(*s_, "part_0"), Expr(0), cut.end, Expr(length)}, again{FreshIn(*s_, "part_1"), Expr(0), Expr(parts), Expr(1)};
  part.ranges[*first] = Within(units, cut.index);
  std::vector<Expr> place, from, shape;
  const auto add = [&](const std::vector<Range>& ranges) {
    for (const Range& r : ranges) place.push_back(SymbolExpr(r.index)), from.push_back(SymbolExpr(r.index)), shape.push_back(r.end);
  };
  add(around);
  place.push_back(FloorDiv(SymbolExpr(units.index), Expr(length))), from.push_back(SymbolExpr(again.index)), shape.push_back(Expr(parts));
  add(results);
  Nest all{around, {}, {}};
  all.ranges.insert(all.ranges.end(), results.begin(), results.end());
  std::vector<bool> of_results(all.ranges.size(), true);
  const auto at = std::find_if(all.ranges.begin(), all.ranges.end(), [&](const Range& r) { return r.index == n.ranges[lane].index; });
  const auto column = static_cast<size_t>(at - all.ranges.begin());
  all.ranges.push_back(again), of_results.push_back(false);
  std::vector<size_t> added;
  for (size_t k : sums) {
    const Tasklet t = std::get<Tasklet>(s_->nodes[n.body[k]].body);
    const Name partial = schedule::Local(s_, "partial", ComputeType(s_->Get(t.target).dtype), shape, Storage::kWorker);
    part.body[k] = Put(partial, place, t.op, t.value);
    added.push_back(added.size());
    all.body.push_back(Put(t.target, t.index, t.op, ReadExpr(partial, from)));
  }
  const auto part_lane = std::find_if(part.ranges.begin(), part.ranges.end(), [&](const Range& r) { return r.index == n.ranges[lane].index; });
  const Statements sum = SumsOfLanes(part, part_apart, static_cast<size_t>(part_lane - part.ranges.begin()), sums, /*share=*/false, /*onto=*/false);
  around.push_back(units);
  Statements out = Wrap(s_, {{around, Schedule::kParallel}}, sum);
  const Statements rest = SumsOfLanes(all, of_results, column, added, /*share=*/!around.empty(), /*onto=*/true);
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

}  // namespace headrace::schedule
