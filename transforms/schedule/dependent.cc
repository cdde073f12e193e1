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

// Ranges that keep lines of memory apart, which depend on no other and no other on them.
std::vector<Range> Scheduler::LinesApart(const Nest& n, const std::vector<bool>& apart) const {
  std::vector<Range> out;
  for (size_t k = 0; k < n.ranges.size(); ++k) {
    const Range& own = n.ranges[k];
    const bool depends = std::any_of(n.ranges.begin(), n.ranges.end(), [&](const Range& o) {
      return DependsOn(o, own.index) || DependsOn(own, o.index);
    });
    if (apart[k] && !depends && !WalksMemory(*s_, n.body, own.index)) out.push_back(own);
  }
  return out;
}

// Iterations meet over some of the outer ranges though others keep lines apart: these come first then.
void Scheduler::LinesFirst(Nest* n, const Layers& layers) const {
  const std::vector<bool> apart = ApartRanges(*n);
  const auto meets = [&](const Range& outer) {
    for (size_t k = 0; k < n->ranges.size(); ++k)
      if (n->ranges[k].index == outer.index) return !apart[k];
    return false;
  };
  if (std::none_of(layers.outer.begin(), layers.outer.end(), meets)) return;
  std::vector<Range> ranges = LinesApart(*n, apart);
  const size_t lines = ranges.size();
  for (const Range& r : n->ranges)
    if (std::none_of(ranges.begin(), ranges.begin() + static_cast<long>(lines), [&](const Range& l) { return l.index == r.index; }))
      ranges.push_back(r);
  n->ranges = std::move(ranges);
}

// Ranges that depend on others lie within those that don't: map i in 0:N, j in 0:i → map i in 0:N @parallel { j in 0:i … }
// Those over which iterations meet keep their order, within those that are shared out.
std::optional<Scheduler::Statements> Scheduler::Dependent(Nest n, bool share) {
  auto layers = LayersOf(n.ranges);
  if (layers && share) {
    LinesFirst(&n, *layers);
    layers = LayersOf(n.ranges);
  }
  if (!layers) return Declined("a range whose step is not known");
  const size_t first = layers->outer.size();
  const NodeId map = Enclose(&n, layers->inner);
  for (size_t i = 0; i < first; ++i)
    if (!Normalize(s_, &n, i)) return Declined("a range whose step is not known");
  const std::vector<bool> apart = ApartRanges(n);
  std::vector<Range> outer, meeting;
  for (size_t i = 0; i < first; ++i) (apart[i] || !share ? outer : meeting).push_back(n.ranges[i]);
  const std::vector<Range> between(n.ranges.begin() + static_cast<long>(first), n.ranges.end());
  const Expr work = WorkOf(n.body) * TripsOf(meeting);
  auto body = Inside(map);
  if (!body) return std::nullopt;
  const Shared shared = share ? ShareOut(*s_, outer, work, d_) : Shared{{}, outer};
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}, {meeting, Schedule::kSequential},
                   {between, Schedule::kSequential}}, *body);
}

}  // namespace headrace::schedule
