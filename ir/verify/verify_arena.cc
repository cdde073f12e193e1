// Places in the arena: within their slot, aligned, and apart from what is in use at the same time. What can't be shown is
// refused: two arrays in one place are wrong numbers.
#include <list>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ir/analysis/arena.h"
#include "ir/analysis/lifetimes.h"
#include "ir/analysis/packing.h"
#include "ir/expr/factor.h"
#include "ir/verify/verify.h"
#include "ir/verify/verify_impl.h"

namespace headrace::verify {
namespace {

// For all sizes? `size`: one that is ≥ 0, and with it what is a number times it.
bool AtMost(const Expr& a, const Expr& b, const Expr& size, const Sdfg& s) {
  const Expr difference = b - a;
  if (const auto n = AsInt(difference)) return *n >= 0;
  return TakeFactor(difference).rest == TakeFactor(size).rest || ProveLe(a, b, s.assumptions) == Truth::kYes;
}

// Where a container lies in its slot.
struct Lying {
  Name container;
  int64_t last_use = 0;
  Expr begin, end, bytes;
  std::string unit;             // "": what follows is unknown
  int64_t from = 0, until = 0;  // in units, of which a size is some: they are ≥ 0
};

Lying LyingOf(const Container& c, const Expr& offset, int64_t last_use) {
  Lying out{c.name, last_use, offset, {}, BytesOf(c), {}};
  out.end = out.begin + out.bytes;
  Factored size = TakeFactor(out.bytes), begin = TakeFactor(out.begin);
  if (const auto n = AsInt(out.bytes)) size = {*n, Expr(1)};
  if (const auto n = AsInt(out.begin)) begin = {*n, *n == 0 ? size.rest : Expr(1)};
  if (begin.rest != size.rest || __builtin_add_overflow(begin.number, size.number, &out.until)) return out;
  out.from = begin.number;
  out.unit = ToString(size.rest);
  return out;
}

// The containers of one slot that are in use, all apart. Those of one unit are in order: who comes is compared with neighbours.
class SlotInUse {
 public:
  explicit SlotInUse(const Sdfg& s) : s_(s) {}

  // Those whose last use is before `now`.
  void Leave(int64_t now) {
    for (; !by_last_use_.empty() && by_last_use_.begin()->first < now; by_last_use_.erase(by_last_use_.begin())) {
      const auto gone = by_last_use_.begin()->second;
      const auto unit = by_unit_.find(gone->unit);
      unit->second.erase(KeyOf(*gone));
      if (unit->second.empty()) by_unit_.erase(unit);
      in_use_.erase(gone);
    }
  }
  // Returns those that it is not apart from.
  std::vector<Name> Enter(Lying lying) {
    std::vector<Name> out;
    for (const auto& [unit, others] : by_unit_) {
      if (unit == lying.unit && !unit.empty()) {
        Neighbours(lying, others, &out);
        continue;
      }
      for (const auto& [key, other] : others)
        if (!AtMost(lying.end, other->begin, other->bytes, s_) && !AtMost(other->end, lying.begin, lying.bytes, s_))
          out.push_back(other->container);
    }
    in_use_.push_front(std::move(lying));
    const auto at = in_use_.begin();
    by_last_use_.emplace(at->last_use, at);
    by_unit_[at->unit].emplace(KeyOf(*at), at);
    return out;
  }

 private:
  using Place = std::list<Lying>::const_iterator;
  using Key = std::tuple<int64_t, int64_t, uint32_t>;  // where it begins and ends
  using Others = std::map<Key, Place>;
  static Key KeyOf(const Lying& x) { return {x.from, x.until, x.container.id()}; }

  static void Neighbours(const Lying& lying, const Others& others, std::vector<Name>* out) {
    const auto apart = [&](const Lying& other) { return lying.until <= other.from || other.until <= lying.from; };
    const auto at = others.lower_bound(KeyOf(lying));
    for (auto next = at; next != others.end() && !apart(*next->second); ++next) out->push_back(next->second->container);
    for (auto last = at; last != others.begin() && !apart(*(--last)->second);) out->push_back(last->second->container);
  }

  const Sdfg& s_;
  std::list<Lying> in_use_;
  std::multimap<int64_t, Place> by_last_use_;
  std::map<std::string, Others> by_unit_;  // "": of those without
};

class Arena {
 public:
  Arena(const Sdfg& s, Report* r) : s_(s), r_(r) {}

  void Run() {
    Slots();
    bool placed = false;
    for (Name n : s_.order)
      if (const Container* c = s_.Find(n); c && c->place.slot >= 0) placed = true, PlaceOf(*c);
    if (placed && ok_) Overlaps();
  }

 private:
  void Bad(Name n, const std::string& what, const std::string& hint) {
    r_->Add("E0270", what, {}, n.str(), hint);
    ok_ = false;
  }
  void Slots() {
    if (s_.arena.empty()) return;
    const std::set<Name> inside = DefinedInside(s_);
    for (size_t i = 0; i < s_.arena.size(); ++i)
      for (Name n : FreeSymbols(s_.arena[i]))
        if (inside.count(n))
          Bad({}, "slot " + std::to_string(i) + " of the arena is sized by " + Quoted(n) + ", which the run defines",
              "the arena is there before the first statement; leave what is sized later without a place");
  }
  void PlaceOf(const Container& c) {
    const std::string slot = std::to_string(c.place.slot);
    if (!MayLieInArena(c))
      return Bad(c.name, Quoted(c.name) + " has a place in the arena, and is no transient of the run's",
                 "only transients of fixed-size elements lie there");
    if (c.place.slot >= static_cast<int>(s_.arena.size()))
      return Bad(c.name, Quoted(c.name) + " lies in slot " + slot + " of an arena of " + std::to_string(s_.arena.size()),
                 "declare it: arena { slot " + slot + ": bytes }");
    const Expr offset = OffsetOf(c), bytes = BytesOf(c), &room = s_.arena[c.place.slot];
    if (offset != Expr(0) && TakeFactor(offset).number % kArenaAlignment != 0)
      return Bad(c.name,
                 Quoted(c.name) + " lies at " + ToString(offset) + ", which is no multiple of " +
                     std::to_string(kArenaAlignment),
                 "places are aligned for all sizes");
    if (!AtMost(Expr(0), offset, bytes, s_) || !AtMost(offset + bytes, room, bytes, s_))
      Bad(c.name,
          Quoted(c.name) + ", " + ToString(bytes) + " bytes at " + ToString(offset) + ", is not within slot " + slot +
              " of " + ToString(room) + " bytes",
          "make the slot larger, or run plan-memory again");
  }
  static Expr OffsetOf(const Container& c) { return c.place.offset ? c.place.offset : Expr(0); }

  // In the order of use, each against those of its slot that are still in use.
  void Overlaps() {
    std::map<int, SlotInUse> slots;
    for (const Lifetime& life : LifetimesOf(s_)) {
      const Container& c = s_.Get(life.container);
      if (c.place.slot < 0) continue;
      SlotInUse& slot = slots.try_emplace(c.place.slot, s_).first->second;
      slot.Leave(life.begin);
      for (Name other : slot.Enter(LyingOf(c, OffsetOf(c), life.end)))
        r_->Add("E0271", Quoted(c.name) + " and " + Quoted(other) + " share memory and are in use at the same time", {},
                c.name.str(), "a pass moved statements after memory was planned: run plan-memory last");
    }
  }

  const Sdfg& s_;
  Report* r_;
  bool ok_ = true;
};

}  // namespace

void CheckArena(const Sdfg& s, Report* report) { Arena(s, report).Run(); }

}  // namespace headrace::verify

namespace headrace {

Status VerifyArena(const Sdfg& s) {
  std::vector<Diagnostic> out;
  verify::Report report(s, &out);
  verify::CheckArena(s, &report);
  return Status(std::move(out));
}

}  // namespace headrace
