#include "transforms/plan_memory.h"

#include <algorithm>

#include "ir/analysis/arena.h"

namespace headrace {
namespace {

bool SamePlace(const ArenaPlace& a, const ArenaPlace& b) {
  const Expr zero(0);
  return a.slot == b.slot && (a.offset ? a.offset : zero) == (b.offset ? b.offset : zero);
}

bool Same(const Sdfg& a, const Sdfg& b) {
  if (a.arena != b.arena) return false;
  for (Name n : a.order)
    if (!SamePlace(a.Get(n).place, b.Get(n).place)) return false;
  return true;
}

bool HasAnythingToPlan(const Sdfg& s) {
  const auto lies_there = [&](Name n) {
    const Container& c = s.Get(n);
    return MayLieInArena(c) || c.place.slot >= 0;
  };
  return !s.arena.empty() || std::any_of(s.order.begin(), s.order.end(), lies_there);
}

}  // namespace

Result<bool> PlanMemory(Program& p) {
  bool changed = false;
  for (const std::shared_ptr<Sdfg>& shared : std::vector<std::shared_ptr<Sdfg>>(p.sdfgs)) {
    if (!HasAnythingToPlan(*shared)) continue;
    Sdfg planned = *shared;
    PlaceInArena(&planned);
    if (Same(*shared, planned)) continue;
    p.Mutable(shared->name) = std::move(planned);
    changed = true;
  }
  return changed;
}

}  // namespace headrace
