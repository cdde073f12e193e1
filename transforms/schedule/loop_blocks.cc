#include "transforms/schedule/loop_blocks.h"

#include <algorithm>
#include <map>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

constexpr int64_t kManyBlocks = 16;     // for threads, if they are long enough then
constexpr int64_t kShortestWalk = 512;  // of lanes through memory
constexpr int64_t kUnknownBytes = 512;  // of one index
constexpr int64_t kShortestKept = 64;   // … where what blocks keep for themselves is much,
constexpr int64_t kLittle = 1 << 16;    // bytes that each worker may have, however few blocks there are
constexpr int64_t kNextCache = 16;      // which is near in the next cache, so many times as large

bool MentionsOne(const Expr& e, const std::unordered_set<Name>& names) {
  const std::vector<Name> free = e ? FreeSymbols(e) : std::vector<Name>();
  return std::any_of(free.begin(), free.end(), [&](Name n) { return names.count(n) > 0; });
}

// Without sums: what differs in any range is another element.
bool IsElementwise(const Sdfg& s, NodeId n) {
  const auto* m = std::get_if<Map>(&s.nodes[n].body);
  if (!m || m->schedule != Schedule::kDefault) return false;
  const bool tasklets = std::all_of(m->body.begin(), m->body.end(), [&](NodeId c) { return std::holds_alternative<Tasklet>(s.nodes[c].body); });
  if (!tasklets) return false;
  const std::vector<bool> apart = DisjointRanges(s, {m->ranges, m->body, n});
  return std::all_of(apart.begin(), apart.end(), [](bool x) { return x; });
}

// Loops as the maps lie in them, and what they touch.
class Blocks {
 public:
  Blocks(const Sdfg& s, const std::vector<NodeId>& maps, const std::unordered_set<Name>& variables) : s_(s), maps_(maps), variables_(variables) {
    for (NodeId n : maps)
      for (const ElementAccess& a : AccessesOf(s, n))
        if (s.Get(a.root).storage != Storage::kRegister) touches_[a.root].push_back({a, &std::get<Map>(s.nodes[n].body), 0});
  }

  // Of a range of the first map.
  std::optional<LoopBlocks> Of(size_t place) {
    const Map& first = std::get<Map>(s_.nodes[maps_[0]].body);
    LoopBlocks out{{}, first.ranges[place].begin, first.ranges[place].end, Expr(0), {}};
    std::unordered_map<const Map*, size_t> places;
    for (NodeId n : maps_) {
      const Map& m = std::get<Map>(s_.nodes[n].body);
      const auto its = PlaceIn(m, place, out);
      if (!its) return std::nullopt;
      out.places.push_back(*its);
      places[&m] = *its;
    }
    for (auto& [root, touches] : touches_) {
      for (Touch& t : touches) t.place = places.at(t.map);
      const bool written = std::any_of(touches.begin(), touches.end(), [](const Touch& t) { return t.access.write; });
      const std::optional<Meeting> meet = written ? MeetsAtEqualElements(root, touches) : std::nullopt;
      if (written && !meet) return std::nullopt;
      if (meet && meet->distance == 0) out.dimensions[root] = meet->dimension;
      out.bytes = out.bytes + BytesKept(root, touches, written);
    }
    return out;
  }

 private:
  struct Touch {
    ElementAccess access;
    const Map* map;
    size_t place;  // of the range that is cut
  };

  // Of the range in another map: the same place, or the only one.
  std::optional<size_t> PlaceIn(const Map& m, size_t place, const LoopBlocks& b) const {
    if (place < m.ranges.size() && HasRange(m, place, b)) return place;
    std::optional<size_t> found;
    for (size_t k = 0; k < m.ranges.size(); ++k) {
      if (!HasRange(m, k, b)) continue;
      if (found) return std::nullopt;
      found = k;
    }
    return found;
  }

  bool HasRange(const Map& m, size_t place, const LoopBlocks& b) const {
    const Range& r = m.ranges[place];
    const auto varies = [&](const Expr& e) {
      return MentionsOne(e, variables_) || std::any_of(m.ranges.begin(), m.ranges.end(), [&](const Range& o) { return Mentions(e, o.index); });
    };
    const bool by_one = !r.step || AsInt(r.step) == 1;
    const bool alone = std::none_of(m.ranges.begin(), m.ranges.end(), [&](const Range& o) { return Mentions(o.begin, r.index) || Mentions(o.end, r.index); });
    return by_one && alone && r.begin == b.begin && r.end == b.end && !varies(r.begin) && !varies(r.end);
  }

  // A dimension that is the index, or as far from it, wherever the array is read or written.
  struct Meeting {
    size_t dimension;
    int64_t distance;
  };
  std::optional<Meeting> MeetsAtEqualElements(Name root, const std::vector<Touch>& touches) const {
    const auto distance = [&](const Touch& t, size_t d) -> std::optional<int64_t> {
      if (t.access.container != root || t.access.flat || d >= t.access.index.size()) return std::nullopt;
      return AsInt(Simplify(t.access.index[d] - SymbolExpr(t.map->ranges[t.place].index)));
    };
    for (size_t d = 0; d < touches[0].access.index.size(); ++d) {
      const auto first = distance(touches[0], d);
      if (first && std::all_of(touches.begin(), touches.end(), [&](const Touch& t) { return distance(t, d) == first; })) return Meeting{d, *first};
    }
    return std::nullopt;
  }

  // Of an array that is a block's own, that is written, or that all iterations read at the same index.
  Expr BytesKept(Name root, const std::vector<Touch>& touches, bool written) const {
    const Expr element(ByteSize(s_.Get(root).dtype));
    if (s_.Get(root).storage == Storage::kWorker) return element * FloorDiv(NumElements(s_.Get(root)), SizeAlong(root, touches));
    for (const Touch& t : touches) {
      const auto in_index = [&](Name n) {
        return std::any_of(t.access.index.begin(), t.access.index.end(), [&](const Expr& e) { return Mentions(e, n); });
      };
      const bool moves = std::any_of(variables_.begin(), variables_.end(), in_index);
      if (!in_index(t.map->ranges[t.place].index) || (moves && !written)) continue;
      std::vector<Range> others;
      for (size_t k = 0; k < t.map->ranges.size(); ++k)
        if (k != t.place && in_index(t.map->ranges[k].index)) others.push_back(t.map->ranges[k]);
      return element * TripsOf(others);
    }
    return Expr(0);
  }

  Expr SizeAlong(Name root, const std::vector<Touch>& touches) const {
    const auto d = MeetsAtEqualElements(root, touches);
    return d ? s_.Get(root).shape[d->dimension] : Expr(1);
  }

  const Sdfg& s_;
  const std::vector<NodeId>& maps_;
  const std::unordered_set<Name>& variables_;
  std::map<Name, std::vector<Touch>> touches_;
};

bool IsTasklet(const Sdfg& s, NodeId n) { return std::holds_alternative<Tasklet>(s.nodes[n].body); }

std::vector<NodeId> MapsOf(const Sdfg& s, std::vector<NodeId> statements) {
  statements.erase(std::remove_if(statements.begin(), statements.end(), [&](NodeId n) { return IsTasklet(s, n); }), statements.end());
  return statements;
}

// Whether what the maps write has no part in the numbers: these would be other ones while some blocks are behind.
bool NumbersStandApart(const Sdfg& s, const std::vector<NodeId>& statements, const std::vector<NodeId>& maps) {
  std::unordered_set<Name> written;
  for (NodeId n : maps)
    for (const ElementAccess& a : AccessesOf(s, n))
      if (a.write) written.insert(a.root);
  return std::all_of(statements.begin(), statements.end(), [&](NodeId n) {
    const std::vector<ElementAccess> all = IsTasklet(s, n) ? AccessesOf(s, n) : std::vector<ElementAccess>();
    return std::none_of(all.begin(), all.end(), [&](const ElementAccess& a) { return written.count(a.root) > 0; });
  });
}

// The statements of a loop and of those in it; false where one that is no map sets something else than a register.
bool StatementsOf(const Sdfg& s, NodeId loop, std::vector<NodeId>* statements, std::unordered_set<Name>* variables) {
  const Map& m = std::get<Map>(s.nodes[loop].body);
  for (const Range& r : m.ranges) variables->insert(r.index);
  return std::all_of(m.body.begin(), m.body.end(), [&](NodeId n) {
    const auto* inner = std::get_if<Map>(&s.nodes[n].body);
    const auto* t = std::get_if<Tasklet>(&s.nodes[n].body);
    if (inner && inner->schedule == Schedule::kSequential) return StatementsOf(s, n, statements, variables);
    statements->push_back(n);
    return inner || (t && s.Get(t->target).storage == Storage::kRegister);
  });
}

}  // namespace

bool LoopBlocks::MayKeep(const Sdfg& s, Name array) const {
  const auto d = dimensions.find(array);
  const Container& c = s.Get(array);
  if (d == dimensions.end() || AsInt(begin) != 0 || c.shape[d->second] != end) return false;
  const auto indices = AsInt(end), elements = AsInt(NumElements(c));
  return !indices || *indices >= kManyBlocks * kShortestKept || (elements && *elements * ByteSize(c.dtype) <= kLittle);
}

std::vector<LoopBlocks> BlocksOf(const Sdfg& s, const std::vector<NodeId>& statements, const std::unordered_set<Name>& variables) {
  const std::vector<NodeId> maps = MapsOf(s, statements);
  if (maps.empty() || !std::all_of(maps.begin(), maps.end(), [&](NodeId n) { return IsElementwise(s, n); })) return {};
  if (!NumbersStandApart(s, statements, maps)) return {};
  Blocks all(s, maps, variables);
  std::vector<LoopBlocks> out;
  for (size_t k = 0; k < std::get<Map>(s.nodes[maps[0]].body).ranges.size(); ++k)
    if (auto b = all.Of(k)) out.push_back(*b);
  return out;
}

std::optional<Scheduler::Statements> Scheduler::InBlocks(NodeId loop) {
  return Try([&] { return TryInBlocks(loop); });
}

// How many indices of the range: as many as have near what they have in common, enough of them for lanes and threads.
int64_t Scheduler::BlockLength(const LoopBlocks& b, bool walks, bool keeps) const {
  const int64_t bytes = std::max<int64_t>(1, AsInt(b.bytes).value_or(kUnknownBytes));
  int64_t length = std::max<int64_t>(1, d_.loop_block_bytes / bytes), shortest = kShortestWalk;
  if (keeps && length < kShortestWalk) length = std::clamp<int64_t>(kNextCache * d_.loop_block_bytes / bytes, 1, kShortestWalk), shortest = kShortestKept;
  const auto trips = AsInt(Simplify(b.end - b.begin));
  if (trips) length = std::min(length, Ceil(*trips, kManyBlocks));
  return walks ? Ceil(std::max(length, shortest), shortest) * shortest : length;
}

// Whether maps that are done again and again have no other range than that which is cut.
bool Scheduler::LoopsWalk(NodeId loop, const LoopBlocks& b) const {
  const Map& m = std::get<Map>(s_->nodes[loop].body);
  const bool once = AsInt(TripsOf(m.ranges)) == 1;
  return std::any_of(m.body.begin(), m.body.end(), [&](NodeId n) {
    const auto* inner = std::get_if<Map>(&s_->nodes[n].body);
    if (inner && IsLoop(n)) return LoopsWalk(n, b);
    return inner && !once && inner->ranges.size() == 1 && inner->ranges[0].begin == b.begin && inner->ranges[0].end == b.end;
  });
}

// Of an array that is a block's own: no more than its elements, from `first` on; side by side where `lanes` are along them.
void Scheduler::KeepBlockOnly(Name array, size_t dimension, int64_t length, Name first, bool lanes, const Statements& maps) {
  std::vector<Expr>& shape = s_->Mutable(array).shape;
  shape[dimension] = Expr(std::min(length, AsInt(shape[dimension]).value_or(length)));
  const auto behind = [&](std::vector<Expr>* list) {
    const auto at = list->begin() + static_cast<long>(dimension);
    if (lanes) std::rotate(at, at + 1, list->begin() + static_cast<long>(shape.size()));
  };
  const auto within = [&](std::vector<Expr>* index) {
    (*index)[dimension] = Simplify((*index)[dimension] - SymbolExpr(first));
    behind(index);
  };
  behind(&shape);
  for (NodeId n : maps)
    for (NodeId id : std::get<Map>(s_->nodes[n].body).body) {
      Tasklet t = std::get<Tasklet>(s_->nodes[id].body);
      t.value = Transform(t.value, [&](const Expr& e) -> Expr {
        if (!e.Is(ExprKind::kRead) || e->name != array) return e;
        ExprNode read = *e;
        within(&read.args);
        return Expr(std::move(read));
      });
      if (t.target == array) within(&t.index);
      s_->nodes.Mutable(id).body = std::move(t);
    }
}

// What a loop of one iteration does.
Scheduler::Statements Scheduler::WithoutOnce(Statements body) const {
  const auto* m = body.size() == 1 ? std::get_if<Map>(&s_->nodes[body[0]].body) : nullptr;
  if (!m || m->schedule != Schedule::kSequential || m->ranges.size() != 1 || AsInt(TripsOf(m->ranges)) != 1) return body;
  Statements inside = m->body;
  SubstituteIn(s_, inside, {{m->ranges[0].index, m->ranges[0].begin}});
  return inside;
}

std::optional<Scheduler::Statements> Scheduler::TryInBlocks(NodeId loop) {
  std::vector<NodeId> statements;
  std::unordered_set<Name> variables;
  if (!StatementsOf(*s_, loop, &statements, &variables)) return std::nullopt;
  const std::vector<LoopBlocks> all = BlocksOf(*s_, statements, variables);
  if (all.empty()) return std::nullopt;
  const std::vector<NodeId> maps = MapsOf(*s_, statements);
  const auto bytes = [](const LoopBlocks& b) { return AsInt(b.bytes).value_or(kUnknownBytes); };
  const auto fits = [&](const LoopBlocks& b) { return bytes(b) <= d_.loop_block_bytes; };
  auto best = std::find_if(all.begin(), all.end(), fits);
  if (best == all.end()) best = std::min_element(all.begin(), all.end(), [&](const auto& a, const auto& b) { return bytes(a) < bytes(b); });
  const Nest first = NestOf(*s_, maps[0]);
  std::vector<std::pair<Name, size_t>> kept;
  for (const auto& [array, dimension] : best->dimensions)
    if (s_->Get(array).storage == Storage::kWorker && best->MayKeep(*s_, array)) kept.push_back({array, dimension});
  const bool lanes = !kept.empty() && LoopsWalk(loop, *best), walks = lanes || LaneRange(*s_, first) == static_cast<int>(best->places[0]);
  const int64_t length = BlockLength(*best, walks, !kept.empty());
  const auto trips = AsInt(Simplify(best->end - best->begin));
  const Expr work = WorkOf({loop});
  const Cut cut = Split(*s_, {first.ranges[best->places[0]].index, best->begin, best->end, Expr(1)}, Expr(length));
  const Expr left = best->end - SymbolExpr(cut.parts.index), own = trips && *trips % length == 0 ? Expr(length) : Min(Expr(length), left);
  for (size_t k = 0; k < maps.size(); ++k) {
    Map& m = std::get<Map>(s_->nodes.Mutable(maps[k]).body);
    Range& r = m.ranges[best->places[k]];
    r = {r.index, Expr(0), own, Expr(1)};
    SubstituteIn(s_, std::vector<NodeId>(m.body), {{r.index, SymbolExpr(cut.parts.index) + SymbolExpr(r.index)}});
  }
  for (const auto& [array, dimension] : kept) KeepBlockOnly(array, dimension, length, cut.parts.index, lanes, maps);
  const Around around(s_, cut.parts.index);
  auto body = InLoop(loop);
  if (!body) return std::nullopt;
  const Shared shared = ShareOut(*s_, {cut.parts}, work, d_);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, WithoutOnce(*body));
}

}  // namespace headrace::schedule
