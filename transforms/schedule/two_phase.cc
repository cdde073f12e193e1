// Few results of long sums: each part of the terms is summed by one thread into results of its own, which are then added up in
// the order of the parts. How many there are depends on shapes alone.
//   map i in 0:1000000 { Y[] += X[i] }
//     →  local partial: f32[31] @worker
//        map u in 0:31 @parallel { … partial[u] = the sum of 32768 terms }
//        Y[] += the sum of partial
#include <algorithm>

#include "ir/analysis/type_inference.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

Expr Least(const Expr& a, const Expr& b) { return AsInt(a) && AsInt(b) ? Expr(std::max(*AsInt(a), *AsInt(b))) : Max(a, b); }

}  // namespace

// A size that is computed before the statements, unless it is known, or was computed for others.
Expr Scheduler::Let(const std::string& stem, const Expr& value) {
  if (AsInt(value)) return value;
  for (BlockId b : s_->body)
    if (const auto* known = std::get_if<Assign>(&s_->blocks[b].control); known && known->value == value) return SymbolExpr(known->symbol);
  const Name name = FreshIn(*s_, stem);
  const BlockId let = s_->AddBlock(Assign{name, value});
  const auto at = std::find_if(s_->body.begin(), s_->body.end(),
                               [&](BlockId b) { return std::holds_alternative<State>(s_->blocks[b].control); });
  s_->body.insert(at, let);
  return SymbolExpr(name);
}

// How many iterations of `cut` are a part: worth a thread's while, and, unless there may be `any_number` of parts, so many that adding up
// what they give is little.
Expr Scheduler::PartLength(const Range& cut, const Expr& work, int64_t multiple, bool any_number) const {
  const Expr worth = AsInt(work) ? Expr(std::max<int64_t>(1, d_.chunk_operations / std::max<int64_t>(1, *AsInt(work))))
                                 : Max(Expr(1), FloorDiv(Expr(d_.chunk_operations), Max(Expr(1), work)));
  const Expr few = FloorDiv(cut.end + Expr(d_.most_parts - 1), Expr(d_.most_parts));
  const Expr length = any_number ? worth : Least(worth, few);
  return multiple == 1 ? length : FloorDiv(length + Expr(multiple - 1), Expr(multiple)) * Expr(multiple);
}

// Of the terms: the first range that is known to be long, for a batch may be of one; else the first of all, or the lane.
size_t Scheduler::RangeToCut(const Nest& n, const std::vector<bool>& apart, size_t lane) const {
  std::optional<size_t> first;
  for (size_t i = 0; i < n.ranges.size(); ++i) {
    if (apart[i] || i == lane) continue;
    const auto length = AsInt(n.ranges[i].end);
    if (length && *length >= d_.short_sum) return i;
    if (!first) first = i;
  }
  return first.value_or(lane);
}

// `apart`: the ranges that results have. Those that are not known, such as a batch, go around all that.
std::optional<Scheduler::Statements> Scheduler::TwoPhases(Nest n, std::vector<bool> apart, size_t lane, const Ending& ending) {
  std::vector<Range> around;
  for (size_t i = n.ranges.size(); i-- > 0;) {
    if (!apart[i] || i == lane || AsInt(n.ranges[i].end)) continue;
    around.insert(around.begin(), n.ranges[i]);
    n.ranges.erase(n.ranges.begin() + static_cast<long>(i)), apart.erase(apart.begin() + static_cast<long>(i));
    lane -= i < lane;
  }
  const Tasklet t = std::get<Tasklet>(s_->nodes[n.body.back()].body);
  const DType type = TypeOf(t, ending);
  const size_t first = RangeToCut(n, apart, lane);
  std::vector<Range> results;
  Expr work(OperationsOf(*s_, n.body));
  for (size_t i = 0; i < n.ranges.size(); ++i) {
    if (apart[i]) results.push_back(n.ranges[i]);
    const bool unknown = AsInt(n.ranges[first].end) && !AsInt(n.ranges[i].end);
    if (i != first) work = work * (unknown ? Expr(d_.short_sum) : n.ranges[i].end);
  }
  const Range cut = n.ranges[first];
  const int64_t multiple = first == lane ? std::max<int64_t>(1, Partials(type, cut, {})) : 1;
  // Of one result, and along lines of any length: however many terms there are, a part has few, so that its sum keeps its digits, and its
  // ends can be shown.
  const bool any_number = results.empty() || (first == lane && !AsInt(cut.end));
  const Expr most = PartLength(cut, work, multiple, any_number);
  if (n.body.size() > 1 && first == lane) return std::nullopt;  // what else is done in lanes does not begin at 0
  if ((n.body.size() > 1 || !around.empty()) && !AsInt(most)) return std::nullopt;
  const Expr length = Let("part", most);
  // Where terms write elements of their own, parts are those of a range, whose begins keep them apart; how many there are is shown
  // by what that is of.
  const bool begins = n.body.size() > 1;
  const Expr count = FloorDiv(cut.end + length - Expr(1), length);
  const Expr parts = begins ? count : Let("parts", count);
  if (AsInt(parts) && *AsInt(parts) < 2) return std::nullopt;

  Container partial;
  partial.name = FreshIn(*s_, "partial");
  partial.dtype = type;
  for (const Range& r : around) partial.shape.push_back(r.end);
  partial.shape.push_back(parts);
  partial.storage = Storage::kWorker;
  for (const Range& r : results) partial.shape.push_back(r.end);
  s_->Add(partial);
  const Name u = FreshIn(*s_, "part_0"), v = FreshIn(*s_, "part_1");
  const Range units = begins ? Range{u, Expr(0), cut.end, length} : Range{u, Expr(0), parts, Expr(1)}, again{v, Expr(0), parts, Expr(1)};
  std::vector<Expr> place, from;
  const auto name = [&](const std::vector<Range>& ranges) {
    for (const Range& r : ranges) place.push_back(SymbolExpr(r.index)), from.push_back(SymbolExpr(r.index));
  };
  name(around);
  place.push_back(begins ? FloorDiv(SymbolExpr(u), length) : SymbolExpr(u)), from.push_back(SymbolExpr(v));
  name(results);

  Nest part = n;
  const Expr begin = begins ? SymbolExpr(u) : SymbolExpr(u) * length;
  Expr value = t.value;
  if (first == lane) {  // lanes begin at 0
    value = Substitute(value, {{cut.index, begin + SymbolExpr(cut.index)}});
    part.ranges[first] = {cut.index, Expr(0), Min(length, cut.end - begin), Expr(1)};
  } else {
    part.ranges[first] = begins ? Within(units, cut.index) : Range{cut.index, begin, Min(begin + length, cut.end), Expr(1)};
  }
  part.body.back() = Put(partial.name, place, t.op, value);
  const bool side = apart[lane];
  const Ending nothing{IdentityOf(t.op, type)};
  auto one = side ? SumSideBySide(part, apart, lane, false, nothing) : SumAlong(part, apart, lane, false, nothing);
  Nest all;
  all.ranges = around;
  all.ranges.insert(all.ranges.end(), results.begin(), results.end());
  all.ranges.push_back(again);
  all.body = {Put(t.target, t.index, t.op, ReadExpr(partial.name, from))};
  std::vector<bool> of_results(all.ranges.size(), true);
  of_results.back() = false;
  size_t last = all.ranges.size() - 1;
  for (size_t i = 0; side && i < last; ++i)
    if (all.ranges[i].index == n.ranges[lane].index) last = i;
  const bool share = !around.empty();
  auto two = side ? SumSideBySide(all, of_results, last, share, ending) : SumAlong(all, of_results, last, share, ending);
  if (!one || !two) return std::nullopt;
  around.push_back(units);
  Statements out = Wrap(s_, {{around, Schedule::kParallel}}, *one);
  out.insert(out.end(), two->begin(), two->end());
  return out;
}

}  // namespace headrace::schedule
