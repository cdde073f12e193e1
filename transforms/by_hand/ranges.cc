// Splitting, reordering and placing the ranges of a kernel's maps.
#include <algorithm>
#include <set>
#include <sstream>

#include "ir/analysis/layout.h"
#include "ir/base/spelling.h"
#include "transforms/by_hand/by_hand.h"
#include "transforms/schedule/steps.h"

namespace headrace::by_hand {
namespace {

bool MentionsIndex(const Range& r, Name index) {
  const auto does = [&](const Expr& e) { return e && Mentions(e, index); };
  return does(r.begin) || does(r.end) || does(r.step);
}

// The ranges of maps without a schedule that consist of nothing but the next, from `map` on.
struct Chain {
  std::vector<NodeId> maps;
  std::vector<Range> ranges;
  std::vector<NodeId> body;
};
Chain ChainFrom(const Sdfg& s, NodeId map) {
  const schedule::Nest nest = schedule::NestOf(s, map);
  Chain c{{map}, nest.ranges, nest.body};
  while (!(c.maps.back() == nest.owner)) c.maps.push_back(std::get<Map>(s.nodes[c.maps.back()].body).body[0]);
  return c;
}

Result<std::vector<std::vector<Name>>> ParseOrder(const std::string& order) {
  std::vector<std::vector<Name>> groups(1);
  std::set<Name> seen;
  std::string spaced;
  for (char c : order) spaced += c == '|' ? " | " : std::string(1, c);
  std::stringstream words(spaced);
  for (std::string word; words >> word;) {
    if (word == "|") {
      groups.emplace_back();
      continue;
    }
    groups.back().push_back(Name(word));
    if (!seen.insert(Name(word)).second) return Unfit("index '" + word + "' stands twice in the order");
  }
  for (const auto& g : groups)
    if (g.empty()) return Unfit("the order '" + order + "' has a map without an index", "indices, with | between those of two maps: \"i j | k\"");
  return groups;
}

}  // namespace

Status SplitRange(Sdfg* s, NodeId statement, Name index, int64_t by) {
  HR_ASSIGN_OR_RETURN(const IndexedMap at, MapOf(*s, statement, index));
  Map map = std::get<Map>(s->nodes[at.map].body);
  if (map.schedule != Schedule::kDefault && map.schedule != Schedule::kSequential)
    return Unfit("the map of '" + index.str() + "' is @" + std::string(ScheduleWord(map.schedule)) + " already", "split it before");
  const Range r = map.ranges[at.range];
  const int64_t step = r.step ? AsInt(r.step).value_or(0) : 1;
  if (step < 1) return Unfit("the range of '" + index.str() + "' has no fixed step upwards");
  const Expr trips = schedule::TripsOf(r);
  schedule::Cut cut = schedule::Split(*s, r, Expr(by * step));
  if (trips && AsInt(trips) && *AsInt(trips) % by == 0) {  // even: counted from the begin of each part
    cut.within = Range{index, Expr(0), Expr(by * step), Expr(step)};
    schedule::SubstituteIn(s, map.body, {{index, SymbolExpr(cut.parts.index) + SymbolExpr(index)}});
    for (size_t i = at.range + 1; i < map.ranges.size(); ++i)
      for (Expr* e : {&map.ranges[i].begin, &map.ranges[i].end, &map.ranges[i].step})
        if (*e) *e = Substitute(*e, {{index, SymbolExpr(cut.parts.index) + SymbolExpr(index)}});
  }
  map.ranges[at.range] = cut.parts;
  map.ranges.insert(map.ranges.begin() + static_cast<long>(at.range) + 1, cut.within);
  s->nodes.Mutable(at.map).body = std::move(map);
  return {};
}

Status ReorderRanges(Sdfg* s, NodeId statement, const std::string& order) {
  HR_ASSIGN_OR_RETURN(const std::vector<std::vector<Name>> groups, ParseOrder(order));
  NodeId outermost;
  size_t least = SIZE_MAX;
  std::vector<NodeId> in_order;
  ForEachUnder(*s, statement, [&](NodeId n) { in_order.push_back(n); });
  for (const auto& group : groups)
    for (Name index : group) {
      HR_ASSIGN_OR_RETURN(const IndexedMap at, MapOf(*s, statement, index));
      const size_t depth = static_cast<size_t>(std::find(in_order.begin(), in_order.end(), at.map) - in_order.begin());
      if (depth < least) least = depth, outermost = at.map;
    }
  if (std::get<Map>(s->nodes[outermost].body).schedule != Schedule::kDefault)
    return Unfit("a map that has a schedule keeps its ranges", "reorder before schedule-range");
  const Chain chain = ChainFrom(*s, outermost);
  std::string all;
  for (const Range& r : chain.ranges) all += (all.empty() ? "" : " ") + r.index.str();
  std::vector<schedule::Level> levels;
  std::vector<Name> before;
  size_t count = 0;
  for (const auto& group : groups) {
    schedule::Level level{{}, Schedule::kDefault};
    for (Name index : group) {
      const auto it = std::find_if(chain.ranges.begin(), chain.ranges.end(), [&](const Range& r) { return r.index == index; });
      if (it == chain.ranges.end())
        return Unfit("'" + index.str() + "' is no range of the maps within each other there", "these are: " + all);
      for (const Range& other : chain.ranges)
        if (MentionsIndex(*it, other.index) && std::find(before.begin(), before.end(), other.index) == before.end())
          return Unfit("the range of '" + index.str() + "' depends on '" + other.index.str() + "', which must come before it");
      level.ranges.push_back(*it);
      before.push_back(index);
      ++count;
    }
    levels.push_back(std::move(level));
  }
  if (count != chain.ranges.size()) return Unfit("the order '" + order + "' lacks a range", "all of them: " + all);
  const std::vector<NodeId> made = schedule::Wrap(s, levels, chain.body);
  s->nodes.Mutable(outermost).body = s->nodes[made[0]].body;  // keeps its number
  s->nodes.Mutable(made[0]).body = std::monostate();
  for (size_t i = 1; i < chain.maps.size(); ++i) s->nodes.Mutable(chain.maps[i]).body = std::monostate();
  return {};
}

Status ScheduleRange(Sdfg* s, NodeId statement, Name index, const std::string& as) {
  HR_ASSIGN_OR_RETURN(const IndexedMap at, MapOf(*s, statement, index));
  static const std::vector<std::pair<std::string, Schedule>> kinds = {{"parallel", Schedule::kParallel},
                                                                     {"vector", Schedule::kVector},
                                                                     {"unroll", Schedule::kUnroll},
                                                                     {"sequential", Schedule::kSequential}};
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == as; });
  if (kind == kinds.end()) {
    std::vector<std::string> words;
    for (const auto& k : kinds) words.push_back(k.first);
    const std::string close = ClosestWord(as, words);
    return UsageError("E0357", "schedule-range: as is parallel, vector, unroll or sequential, not '" + as + "'",
                      close.empty() ? "" : "did you mean '" + close + "'?");
  }
  Map& map = std::get<Map>(s->nodes.Mutable(at.map).body);
  if (map.schedule == Schedule::kSequential && kind->second != Schedule::kSequential)
    return Unfit("the iterations of '" + index.str() + "' have an order, which a map has not",
                 map.ranges.size() > 1 ? "the ranges of one map run alike: part them before, reorder-ranges{order=i | j}" : "");
  if (map.schedule != Schedule::kDefault && map.schedule != kind->second)
    return Unfit("the map of '" + index.str() + "' is @" + std::string(ScheduleWord(map.schedule)) + " already",
                 map.ranges.size() > 1 ? "the ranges of one map run alike: part them before, reorder-ranges{order=i | j}" : "leave out one of the two steps");
  map.schedule = kind->second;
  bool open = false;  // a kernel is scheduled once all its maps are
  ForEachNode(*s, [&](NodeId n) {
    const auto* m = std::get_if<Map>(&s->nodes[n].body);
    open |= m && m->schedule == Schedule::kDefault;
  });
  if (!open && s->device.empty()) s->device = Name("cpu");
  return {};
}

}  // namespace headrace::by_hand
