#include "ir/analysis/arena.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "ir/analysis/lifetimes.h"
#include "ir/analysis/packing.h"
#include "ir/expr/factor.h"
#include "ir/graph/homes.h"

namespace headrace {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 60;  // numbers up to here can be added up without a thought

struct Item {
  Lifetime life;
  int64_t number;  // of bytes, in terms of the group's unit
};
// Sizes number·unit of one unit.
struct Group {
  Expr unit;
  std::vector<Item> items;
};

struct Layout {
  std::vector<int64_t> slots;                    // in the group's unit
  std::vector<std::pair<int, int64_t>> places;   // of each item: slot, offset
  int64_t total = 0;
};

// Slots that equal items share, one after the other: of those that are free, the first. Items come by first use.
class EqualSlots {
 public:
  explicit EqualSlots(std::vector<int64_t>* slots) : slots_(*slots) {}
  int Take(const Item& x) {
    for (; !busy_.empty() && busy_.top().first < x.life.begin; busy_.pop())
      free_[slots_[static_cast<size_t>(busy_.top().second)]].push(busy_.top().second);
    First<int>& mine = free_[x.number];
    if (mine.empty()) mine.push(static_cast<int>(slots_.size())), slots_.push_back(x.number);
    const int slot = mine.top();
    mine.pop();
    busy_.push({x.life.end, slot});
    return slot;
  }

 private:
  template <typename T>
  using First = std::priority_queue<T, std::vector<T>, std::greater<T>>;
  std::vector<int64_t>& slots_;
  First<std::pair<int64_t, int>> busy_;             // until when, slot
  std::unordered_map<int64_t, First<int>> free_;  // by size
};

// Items that `packed` names are packed, each rounded up; the others share slots with their equals.
Layout LayOut(const Group& g, const std::function<bool(const Item&)>& packed) {
  Layout out;
  out.places.resize(g.items.size());
  std::vector<PackedItem> items;
  std::vector<size_t> which;
  for (size_t i = 0; i < g.items.size(); ++i)
    if (const Item& x = g.items[i]; packed(x))
      items.push_back({x.life.begin, x.life.end, Aligned(x.number)}), which.push_back(i);
  if (!items.empty()) {
    const Packing p = Pack(items);
    for (size_t k = 0; k < which.size(); ++k) out.places[which[k]] = {0, p.at[k]};
    out.slots.push_back(p.bytes);
  }
  EqualSlots equal(&out.slots);
  for (size_t i = 0; i < g.items.size(); ++i)
    if (const Item& x = g.items[i]; !packed(x)) out.places[i] = {equal.Take(x), 0};
  for (int64_t bytes : out.slots) out.total += bytes;
  return out;
}

// The way that takes the fewest bytes per unit.
Layout BestLayout(const Group& g) {
  int64_t sum = 0;
  for (const Item& x : g.items) sum = std::min(kMostBytes, sum + std::min(kMostBytes, x.number));
  const auto nothing = [](const Item&) { return false; };
  Layout best = sum < kMostBytes ? LayOut(g, [](const Item&) { return true; }) : LayOut(g, nothing);
  if (sum == kMostBytes) return best;
  const auto little_lost = [](const Item& x) { return (Aligned(x.number) - x.number) * 8 <= x.number; };
  for (const std::function<bool(const Item&)>& packed : {std::function<bool(const Item&)>(little_lost), {nothing}})
    if (Layout other = LayOut(g, packed); other.total < best.total) best = std::move(other);
  return best;
}

void Add(const Group& g, const Layout& layout, ArenaPlan* plan) {
  const int first = static_cast<int>(plan->slots.size());
  for (int64_t bytes : layout.slots) plan->slots.push_back(Expr(bytes) * g.unit);
  for (size_t i = 0; i < g.items.size(); ++i) {
    const auto& [slot, offset] = layout.places[i];
    plan->places.push_back({g.items[i].life.container, {first + slot, Expr(offset) * g.unit}});
  }
}

bool SizedInside(const Expr& bytes, const std::set<Name>& inside) {
  const std::vector<Name> symbols = FreeSymbols(bytes);
  return std::any_of(symbols.begin(), symbols.end(), [&](Name n) { return inside.count(n) > 0; });
}

}  // namespace

Expr BytesOf(const Container& c) { return Expr(static_cast<int64_t>(ByteSize(c.dtype))) * NumElements(c); }

bool MayLieInArena(const Container& c) {
  return c.kind == ContainerKind::kTransient && c.dtype != DType::kString && !IsScoped(c.storage);
}

ArenaPlan PlanArena(const Sdfg& s) {
  const std::set<Name> inside = DefinedInside(s);
  Group known{Expr(1), {}};
  std::vector<Group> symbolic;
  std::map<std::string, size_t> by_unit;
  int64_t sum = 0;
  for (const Lifetime& life : LifetimesOf(s)) {
    const Container& c = s.Get(life.container);
    if (!MayLieInArena(c)) continue;
    // Each size by itself: beside one of 0 the others don't count for the bytes, and yet whoever finds them brings the memory.
    if (std::any_of(c.shape.begin(), c.shape.end(), [&](const Expr& size) { return SizedInside(size, inside); })) continue;
    const Expr bytes = BytesOf(c);
    if (const auto n = AsInt(bytes); n && *n < kMostBytes - sum) {
      known.items.push_back({life, Aligned(std::max<int64_t>(1, *n))});
      sum += known.items.back().number;
      continue;
    }
    Factored f = TakeFactor(bytes);
    const auto [it, fresh] = by_unit.emplace(ToString(f.rest), symbolic.size());
    if (fresh) symbolic.push_back({f.rest, {}});
    symbolic[it->second].items.push_back({life, f.number});
  }
  ArenaPlan plan;
  if (!known.items.empty()) Add(known, LayOut(known, [](const Item&) { return true; }), &plan);
  for (const Group& g : symbolic) Add(g, BestLayout(g), &plan);
  return plan;
}

void PlaceInArena(Sdfg* s) {
  ArenaPlan plan = PlanArena(*s);
  for (Name n : s->order)
    if (s->Get(n).place.slot >= 0) s->Mutable(n).place = {};
  for (auto& [name, place] : plan.places) s->Mutable(name).place = std::move(place);
  s->arena = std::move(plan.slots);
}

std::vector<Name> WithoutPlace(const Sdfg& s) {
  std::vector<Name> out;
  for (const Lifetime& life : LifetimesOf(s))
    if (const Container& c = s.Get(life.container); MayLieInArena(c) && c.place.slot < 0) out.push_back(life.container);
  return out;
}

std::optional<int64_t> ArenaBytes(const Sdfg& s) {
  int64_t sum = 0;
  for (const Expr& slot : s.arena) {
    const auto bytes = AsInt(slot);
    if (!bytes || *bytes >= kMostBytes - sum) return std::nullopt;
    sum += Aligned(*bytes);
  }
  if (!WithoutPlace(s).empty()) return std::nullopt;
  return sum;
}

}  // namespace headrace
