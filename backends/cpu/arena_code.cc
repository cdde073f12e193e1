#include "backends/cpu/arena_code.h"

#include <map>

#include "ir/analysis/packing.h"

namespace headrace::cpu {
namespace {

Expr OffsetIn(const ArenaPlace& place) { return place.offset ? place.offset : Expr(0); }

}  // namespace

ArenaCode::ArenaCode(const Sdfg& s) {
  for (const Expr& slot : s.arena) {
    const auto bytes = AsInt(slot);
    if (!bytes || *bytes > (int64_t{1} << 60) - begins_.back()) break;
    begins_.push_back(begins_.back() + Aligned(*bytes));
  }
  std::map<std::pair<int, std::string>, size_t> known;
  for (Name n : s.order) {
    const ArenaPlace& place = s.Get(n).place;
    const Expr offset = OffsetIn(place);
    const bool number = place.slot < static_cast<int>(known_slots()) && AsInt(offset);
    if (place.slot < 0 || number) continue;
    const auto [it, fresh] = known.emplace(std::make_pair(place.slot, ToString(offset)), entries_.size());
    if (fresh) entries_.push_back({place.slot, offset});
    entry_of_[n] = it->second;
  }
}

std::string ArenaCode::Offset(const Container& c) const {
  if (const auto it = entry_of_.find(c.name); it != entry_of_.end()) return "f->offset[" + std::to_string(it->second) + "]";
  return std::to_string(begins_[static_cast<size_t>(c.place.slot)] + AsInt(OffsetIn(c.place)).value_or(0));
}

std::string ArenaCode::Begin(int slot) const {
  const bool known = static_cast<size_t>(slot) < known_slots();
  return known ? std::to_string(begins_[static_cast<size_t>(slot)]) : "slot_" + std::to_string(slot);
}

}  // namespace headrace::cpu
