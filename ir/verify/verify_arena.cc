// Places in the arena: within their slot, aligned, and apart from what is in use at the same time. What can't be shown is
// refused: two arrays in one place are wrong numbers.
#include <algorithm>
#include <map>
#include <optional>

#include "ir/analysis/arena.h"
#include "ir/analysis/lifetimes.h"
#include "ir/analysis/packing.h"
#include "ir/expr/factor.h"
#include "ir/verify/verify.h"
#include "ir/verify/verify_impl.h"

namespace headrace::verify {
namespace {

class Arena {
 public:
  Arena(const Sdfg& s, Report* r) : s_(s), r_(r) {}

  void Run() {
    Slots();
    bool placed = false;
    for (Name n : s_.order)
      if (const Container* c = s_.Find(n); c && c->place.slot >= 0) placed = true, Place(*c);
    if (placed && ok_) Overlaps();
  }

 private:
  void Bad(Name n, const std::string& what, const std::string& hint) {
    r_->Add("E0270", what, {}, n.str(), hint);
    ok_ = false;
  }
  // For all sizes? `size`: one that is ≥ 0, and with it what is a number times it.
  bool AtMost(const Expr& a, const Expr& b, const Expr& size) const {
    const Expr difference = b - a;
    if (const auto n = AsInt(difference)) return *n >= 0;
    return TakeFactor(difference).rest == TakeFactor(size).rest || ProveLe(a, b, s_.assumptions) == Truth::kYes;
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
  void Place(const Container& c) {
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
    if (!AtMost(Expr(0), offset, bytes) || !AtMost(offset + bytes, room, bytes))
      Bad(c.name,
          Quoted(c.name) + ", " + ToString(bytes) + " bytes at " + ToString(offset) + ", is not within slot " + slot +
              " of " + ToString(room) + " bytes",
          "make the slot larger, or run plan-memory again");
  }
  static Expr OffsetOf(const Container& c) { return c.place.offset ? c.place.offset : Expr(0); }

  // Where a container lies in its slot, as numbers where they are some.
  struct Lying {
    Lifetime life;
    Expr begin, end, bytes;
    std::optional<int64_t> from, until;
  };
  Lying LyingOf(const Lifetime& life) const {
    const Container& c = s_.Get(life.container);
    Lying out{life, OffsetOf(c), {}, BytesOf(c), {}, {}};
    out.end = out.begin + out.bytes;
    out.from = AsInt(out.begin), out.until = AsInt(out.end);
    return out;
  }

  // In the order of use, each against those of its slot that are still in use.
  void Overlaps() {
    std::map<int, std::vector<Lying>> in_use;
    for (const Lifetime& life : LifetimesOf(s_)) {
      const Container& c = s_.Get(life.container);
      if (c.place.slot < 0) continue;
      std::vector<Lying>& others = in_use[c.place.slot];
      others.erase(std::remove_if(others.begin(), others.end(), [&](const Lying& o) { return o.life.end < life.begin; }),
                   others.end());
      Lying lying = LyingOf(life);
      for (const Lying& o : others)
        if (!Apart(lying, o))
          r_->Add("E0271",
                  Quoted(c.name) + " and " + Quoted(o.life.container) + " share memory and are in use at the same time", {},
                  c.name.str(), "a pass moved statements after memory was planned: run plan-memory last");
      others.push_back(std::move(lying));
    }
  }
  bool Apart(const Lying& a, const Lying& b) const {
    if (a.from && a.until && b.from && b.until) return *a.until <= *b.from || *b.until <= *a.from;
    return AtMost(a.end, b.begin, b.bytes) || AtMost(b.end, a.begin, a.bytes);
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
