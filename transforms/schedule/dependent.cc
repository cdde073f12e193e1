// Ranges that depend on each other: triangles, and sums of products over them.
#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

bool DependsOn(const Range& x, Name index) {
  return Mentions(x.begin, index) || Mentions(x.end, index) || (x.step && Mentions(x.step, index));
}

// Whether some walk along it is a walk through memory.
bool WalksMemory(const Sdfg& s, const std::vector<NodeId>& body, Name index) {
  for (NodeId id : body)
    for (const ElementAccess& a : AccessesOf(s, id)) {
      const Offset at = OffsetOf(s, a.container, a.index, a.flat);
      const auto step = at.elements ? Coefficient(at.elements, index) : std::nullopt;
      if (!step || AsInt(*step) == 1) return true;
    }
  return false;
}

}  // namespace

// Ranges as their dependences ask for it: `outer` and those `between` them and the `inner` ones, which depend on none of each other;
// nor do those of `outer`.
std::optional<Scheduler::Layers> Scheduler::LayersOf(const std::vector<Range>& ranges) const {
  const auto alone = [&](size_t from, size_t below) {
    for (size_t a = from; a < below; ++a)
      for (size_t b = a + 1; b < below; ++b)
        if (DependsOn(ranges[b], ranges[a].index)) return false;
    return true;
  };
  size_t inner = ranges.size(), first = 1;
  while (inner > 0 && alone(inner - 1, ranges.size())) --inner;
  if (inner == 0) return std::nullopt;
  while (first < inner && alone(0, first + 1)) ++first;
  const auto at = [&](size_t k) { return ranges.begin() + static_cast<long>(k); };
  return Layers{{ranges.begin(), at(first)}, {at(first), at(inner)}, {at(inner), ranges.end()}};
}

// Whether lines of memory are kept apart by an index that nothing depends on, though iterations meet over others: they come first then.
bool Scheduler::HasLinesApart(const Nest& n) const {
  const std::vector<bool> apart = ApartRanges(n);
  if (std::all_of(apart.begin(), apart.end(), [](bool x) { return x; })) return false;
  for (size_t k = 0; k < n.ranges.size(); ++k) {
    const Range& own = n.ranges[k];
    const bool depends = std::any_of(n.ranges.begin(), n.ranges.end(), [&](const Range& o) {
      return DependsOn(o, own.index) || DependsOn(own, o.index);
    });
    if (apart[k] && !depends && !WalksMemory(*s_, n.body, own.index)) return true;
  }
  return false;
}

// Ranges that depend on others lie within those that don't: map i in 0:N, j in 0:i → map i in 0:N @parallel { j in 0:i … }
// Those over which iterations meet keep their order, within those that are shared out.
std::optional<Scheduler::Statements> Scheduler::Dependent(Nest n, bool share) {
  const auto layers = LayersOf(n.ranges);
  if (!layers) return Declined("a range whose step is not known");
  const bool lines = share && HasLinesApart(n);
  const size_t first = layers->outer.size();
  const NodeId map = Enclose(&n, layers->inner);
  for (size_t i = 0; i < first; ++i)
    if (!Normalize(s_, &n, i)) return Declined("a range whose step is not known");
  const std::vector<bool> apart = ApartRanges(n);
  std::vector<Range> outer, meeting;
  for (size_t i = 0; i < first; ++i) (apart[i] || !share ? outer : meeting).push_back(n.ranges[i]);
  if (lines && !meeting.empty()) return Declined("lines that are kept apart, over ranges that depend on those where iterations meet");
  const std::vector<Range> between(n.ranges.begin() + static_cast<long>(first), n.ranges.end());
  const Expr work = WorkOf(n.body) * TripsOf(meeting);
  auto body = Inside(map);
  if (!body) return std::nullopt;
  const Shared shared = share ? ShareOut(*s_, outer, work, d_) : Shared{{}, outer};
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}, {meeting, Schedule::kSequential},
                   {between, Schedule::kSequential}}, *body);
}

}  // namespace headrace::schedule
