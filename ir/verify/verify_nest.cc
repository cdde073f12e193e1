// The part of the verifier that asks about index sets: races between iterations, accesses outside their container.
#include <algorithm>

#include "ir/analysis/facts.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/sets.h"
#include "ir/analysis/tiles.h"
#include "ir/graph/homes.h"
#include "ir/verify/verify_impl.h"

namespace headrace::verify {
namespace {

bool IsDataDependent(const std::vector<Expr>& index) {
  return !std::all_of(index.begin(), index.end(), [](const Expr& e) { return IsIndexExpr(e); });
}
bool IsDataDependent(const Use& u) { return IsDataDependent(u.index); }

size_t CommonMaps(const Use& a, const Use& b) {
  size_t n = 0;
  while (n < a.maps.size() && n < b.maps.size() && a.maps[n] == b.maps[n]) ++n;
  return n;
}

// Every index of `ranges` stands bare at a position where both uses have the same expression: they meet in one iteration only.
bool AgreeOn(const std::vector<Range>& ranges, const Use& a, const Use& b) {
  for (const Range& r : ranges) {
    bool found = false;
    for (size_t i = 0; i < a.index.size() && i < b.index.size(); ++i)
      found |= a.index[i].Is(ExprKind::kSymbol) && a.index[i]->name == r.index && b.index[i] == a.index[i];
    if (!found) return false;
  }
  return true;
}

// At some position the uses have different numbers: whatever the iterations, their elements differ.
bool ApartByNumbers(const Use& a, const Use& b) {
  if (a.container != b.container || a.flat != b.flat || a.whole || b.whole) return false;
  for (size_t i = 0; i < a.index.size() && i < b.index.size(); ++i)
    if (const auto x = AsInt(a.index[i]), y = AsInt(b.index[i]); x && y && *x != *y) return true;
  return false;
}

std::vector<Range> Renamed(const std::vector<Range>& ranges, NameMap* names, const char* suffix) {
  std::vector<Range> out;
  for (const Range& r : ranges) {
    Name fresh(r.index.str() + suffix);
    out.push_back({fresh, Substitute(r.begin, *names), Substitute(r.end, *names), r.step});
    names->push_back({r.index, Expr(fresh)});
  }
  return out;
}

// May two different iterations of the first `common` maps reach one element? Each position's values are compared as boxes
// over everything but the shared index it is about.
Truth MeetAcross(const Sdfg& s, const std::vector<Range>& shared, const std::vector<Range>& inner_a,
                 const std::vector<Range>& inner_b, const Use& a, const Use& b) {
  // A position that is the same shared index in both keeps the iterations of that index apart.
  std::vector<Range> open;
  for (const Range& r : shared)
    if (!AgreeOn({r}, a, b)) open.push_back(r);
  if (open.empty()) return Truth::kNo;
  // The others sweep on their own on both sides: disjoint boxes never meet.
  NameMap names;
  std::vector<Range> other = Renamed(open, &names, "'");
  std::vector<Range> ranges_a = open, ranges_b = other;
  ranges_a.insert(ranges_a.end(), inner_a.begin(), inner_a.end());
  std::vector<Range> more = Renamed(inner_b, &names, "'");
  ranges_b.insert(ranges_b.end(), more.begin(), more.end());
  std::vector<Expr> index_b;
  for (const Expr& e : b.index) index_b.push_back(Substitute(e, names));
  const Container& c = s.Get(a.container);
  std::vector<Expr> shape = a.flat ? std::vector<Expr>{NumElements(c)} : c.shape;
  Box x = ImageBox(ranges_a, a.index, shape, s.assumptions), y = ImageBox(ranges_b, index_b, shape, s.assumptions);
  if (x.subset.dims.size() != y.subset.dims.size()) return Truth::kUnknown;
  return Overlaps(x.subset, y.subset, s.assumptions);
}

// The positions that both uses have in common determine the shared iteration; those that inner indices move don't count.
bool Separates(const std::vector<Range>& shared, const std::vector<Range>& inner, const Use& a, const Use& b,
               const Assumptions& as) {
  std::vector<Expr> same;
  for (size_t i = 0; i < a.index.size() && i < b.index.size(); ++i) {
    if (!(a.index[i] == b.index[i]) || !IsIndexExpr(a.index[i])) continue;
    bool only_shared = true;
    for (Name n : FreeSymbols(a.index[i]))
      for (const Range& r : inner) only_shared &= r.index != n;
    if (only_shared) same.push_back(a.index[i]);
  }
  return !same.empty() && IsInjective(shared, same, as) == Truth::kYes;
}

class Nest {
 public:
  Nest(const Sdfg& s, const std::vector<Use>& uses, Report* r) : s_(s), uses_(uses), r_(r) {
    if (!IsScheduled(s)) return;
    for (BlockId b : s.body)
      if (const auto* state = std::get_if<State>(&s.blocks[b].control)) homes_ = HomesOf(s, state->statements);
  }

  void Run() {
    for (const Use& u : uses_) {
      if (r_->Full()) return;
      Bounds(u);
      if (IsScheduled(s_)) Proven(u);
    }
    if (uses_.empty() || uses_[0].maps.empty()) return;
    if (const std::vector<Use> in_memory = InMemory(s_, uses_); !in_memory.empty()) return Nest(s_, in_memory, r_).Races();
    Races();
  }

 private:
  void Races() {
    for (size_t i = 0; i < uses_.size() && !r_->Full(); ++i) {
      const Use& w = uses_[i];
      if (!w.write || (IsRegister(w) && !IsScheduled(s_))) continue;
      if (!OneIteration(w)) continue;  // reported: comparing it with others would repeat that
      Against(i);
    }
  }

  bool IsRegister(const Use& u) const {
    const Container* c = s_.Find(u.root);
    return !c || c->storage == Storage::kRegister;
  }
  // One for each iteration of the body it lives in.
  bool IsLocal(const Use& u) const {
    const Container* c = s_.Find(u.root);
    return !c || IsScoped(c->storage);
  }
  std::vector<OrderedRange> Ranges(const std::vector<uint32_t>& maps) const {
    std::vector<OrderedRange> all;
    for (uint32_t m : maps) {
      const Map& map = std::get<Map>(s_.nodes[NodeId{m}].body);
      const bool ordered = s_.kernel && (map.schedule == Schedule::kSequential || map.schedule == Schedule::kHalves);
      for (const Range& r : map.ranges) all.push_back({r, ordered});
    }
    return all;
  }
  // With parts of ranges joined; what loops around a kernel say comes first.
  std::vector<OrderedRange> Joined(const std::vector<uint32_t>& maps, const std::vector<std::vector<Expr>*>& indices) const {
    std::vector<OrderedRange> all = Ranges(maps);
    if (s_.kernel) JoinParts(&all, indices);
    return all;
  }
  // Without what loops around a kernel say: an `if` between may leave points of them out.
  std::vector<Range> Reached(const std::vector<uint32_t>& maps, std::vector<Expr>* index) const {
    std::vector<Range> out;
    for (const OrderedRange& r : Joined(maps, std::vector<std::vector<Expr>*>{index})) out.push_back(r.range);
    return out;
  }
  // Maybe of more points than there are, for what is to hold of all.
  std::vector<Range> Counted(const std::vector<uint32_t>& maps, std::vector<Expr>* index) const {
    std::vector<OrderedRange> all = Joined(maps, std::vector<std::vector<Expr>*>{index});
    if (s_.kernel) CountSteps(&all, {index}, s_.assumptions);
    std::vector<Range> out = s_.given;
    for (const OrderedRange& r : all) out.push_back(r.range);
    return out;
  }
  struct Pair {
    Use w, u;
    std::vector<Range> inner_w, inner_u;
  };
  // The ranges without order that both are in. A part that both have, each in a map of its own and each maybe a stretch of it
  // alone, is shared as what it is of.
  std::vector<Range> SharedBy(const std::vector<uint32_t>& maps, Pair* pair) const {
    std::vector<OrderedRange> all = Ranges(maps);
    if (s_.kernel) {
      for (size_t i = 0; i < pair->inner_w.size();) {
        const Range r = pair->inner_w[i];
        const auto of = std::find_if(all.begin(), all.end(), [&](const OrderedRange& o) { return IsPartOf(r, o.range); });
        const auto same = std::find_if(pair->inner_u.begin(), pair->inner_u.end(), [&](const Range& u) {
          return of != all.end() && u.index == r.index && IsPartOf(u, of->range);
        });
        if (same == pair->inner_u.end()) {
          ++i;
          continue;
        }
        const Range outer = of->range;
        const bool whole = same->begin == r.begin && same->end == r.end;
        const Expr begin = SymbolExpr(outer.index), step = outer.step ? outer.step : Expr(1);
        all.push_back({whole ? r : Range{r.index, begin, Min(begin + step, outer.end), Expr(1)}, true});
        pair->inner_u.erase(same);
        pair->inner_w.erase(pair->inner_w.begin() + static_cast<long>(i));
      }
      JoinParts(&all, {&pair->w.index, &pair->u.index});
    }
    std::vector<Range> out;
    for (const OrderedRange& r : all)
      if (!r.ordered) out.push_back(r.range);
    return out;
  }

  void Bounds(const Use& u) {
    if (u.guarded || u.whole || u.conditional || !u.conditions.empty()) return;  // these: `Proven`
    const Container* c = s_.Find(u.container);
    if (!c || c->kind == ContainerKind::kSequence) return;
    std::vector<Expr> shape = c->shape;
    if (u.flat) shape = {NumElements(*c)};
    if (u.index.size() < shape.size()) shape.resize(u.index.size());
    std::vector<Expr> index = u.index;
    const std::vector<Range> ranges = Reached(u.maps, &index);
    if (WithinBounds(ranges, index, shape, s_.assumptions) != Truth::kNo) return;
    const auto none = [&](const Expr& extent) { return ProveLe(extent, Expr(0), s_.assumptions) == Truth::kYes; };
    const auto some = [&](const Range& r) { return ProveLe(r.begin + Expr(1), r.end, s_.assumptions) == Truth::kYes; };
    if (std::any_of(shape.begin(), shape.end(), none) && !std::all_of(ranges.begin(), ranges.end(), some)) return;  // nothing of nothing
    for (size_t i = 0; i < u.index.size(); ++i) {
      if (WithinBounds(ranges, {index[i]}, {shape[i]}, s_.assumptions) != Truth::kNo) continue;
      std::string place = "'" + u.container.str() + "'" + (u.flat ? ".flat" : " dimension " + std::to_string(i));
      Diagnostic& d =
          r_->Add("E0260", std::string(u.write ? "a write" : "a read") + " of " + place + " is outside its bounds",
                  u.node, u.container.str(),
                  u.write ? "correct the index, or write with `?? =` to drop what is outside"
                          : "correct the index, or give the value outside: X[…] ?? 0");
      Box b = ImageBox(ranges, {index[i]}, {shape[i]}, s_.assumptions);
      d.got = ToString(u.index[i]) + " in " + ToString(b.subset);
      d.expected = "0:" + ToString(shape[i]);
      return;
    }
  }

  // What `condition` leaves at least 0, if it speaks of sizes and indices: b - a of a <= b.
  static Expr SlackOf(const Expr& condition) {
    if (!condition.Is(ExprKind::kBinary)) return {};
    const Expr &a = condition->args[0], &b = condition->args[1];
    if (!IsIndexExpr(a) || !IsIndexExpr(b)) return {};
    switch (condition->op) {
      case Op::kLt: return b - a - Expr(1);
      case Op::kLe: return b - a;
      case Op::kGt: return a - b - Expr(1);
      case Op::kGe: return a - b;
      default: return {};
    }
  }

  // Sides of a dimension that hold because an `if` or choice around the access compared something that moves with its index.
  Sides LeftByConditions(const Use& u, size_t d, const Expr& extent, Sides open) const {
    for (const Expr& condition : u.conditions) {
      const Expr slack = open.none() ? Expr() : SlackOf(condition);
      if (!slack) continue;
      std::vector<Expr> both = {u.index[d], slack};
      const std::vector<Range> ranges = Counted(u.maps, &both);
      const auto negative = [&](const Expr& e) { return UnprovenSides(ranges, e, extent, s_.assumptions).lower; };
      open.lower = open.lower && negative(both[0] - both[1]);
      open.upper = open.upper && negative(extent - Expr(1) - both[0] - both[1]);
    }
    return open;
  }

  // Code for a scheduled kernel asks nothing: an access is inside by its ranges, by what is known to hold there, or by a check.
  void Proven(const Use& u) {
    const Container* c = s_.Find(u.container);
    if (!c || u.whole || u.guarded) return;
    const std::vector<Expr> shape = u.flat ? std::vector<Expr>{NumElements(*c)} : c->shape;
    std::vector<Expr> index = u.index;
    const std::vector<Range> ranges = Counted(u.maps, &index);
    const auto known = [&](const Expr& condition) {
      return std::find(u.conditions.begin(), u.conditions.end(), condition) != u.conditions.end();
    };
    const auto checked = [&](const Checked& k, size_t d) {  // it says so of each of its indices
      return k.check.container == u.container && k.check.flat == u.flat && d < k.check.index.size() &&
             k.check.index[d] == u.index[d] && std::all_of(k.where.begin(), k.where.end(), known);
    };
    for (size_t d = 0; d < index.size() && d < shape.size(); ++d) {
      Sides open = UnprovenSides(ranges, index[d], shape[d], s_.assumptions);
      open.lower = open.lower && !known(BinaryExpr(Op::kGe, u.index[d], Expr(0)));
      open.upper = open.upper && !known(BinaryExpr(Op::kLt, u.index[d], shape[d]));
      for (const Checked& k : u.checked)
        if (checked(k, d)) open = {};
      if (!open.none()) open = LeftByConditions(u, d, shape[d], open);
      if (open.none() || ShownByConditions(u, d, shape[d])) continue;
      Diagnostic& e = r_->Add("E0256", std::string(u.write ? "a write" : "a read") + " of '" + u.container.str() +
                              "' is not shown to be within its bounds", u.node, u.container.str(),
                              "put `check " + u.container.str() + "[…]` before it, or read it where its index was compared");
      e.got = ToString(u.index[d]);
      e.expected = "0:" + ToString(shape[d]);
      return;
    }
  }

  // The ranges, cut to where the conditions hold under which it happens, keep index `d` inside.
  bool ShownByConditions(const Use& u, size_t d, const Expr& extent) const {
    std::vector<Expr> index = {u.index[d]}, facts;
    for (const Expr& c : u.conditions)
      if (c.Is(ExprKind::kBinary) && IsIndexExpr(c->args[0]) && IsIndexExpr(c->args[1])) facts.push_back(c);
    if (facts.empty() || !IsIndexExpr(index[0])) return false;
    std::vector<Expr> sides;
    for (const Expr& c : facts) sides.push_back(c->args[0]), sides.push_back(c->args[1]);
    std::vector<Range> ranges = s_.given;
    for (const OrderedRange& r : Joined(u.maps, std::vector<std::vector<Expr>*>{&index, &sides})) ranges.push_back(r.range);
    for (size_t k = 0; k < facts.size(); ++k) facts[k] = WithArgs(facts[k], {sides[2 * k], sides[2 * k + 1]});
    return UnprovenSides(CutByFacts(std::move(ranges), facts), index[0], extent, s_.assumptions).none();
  }

  // The maps inside the body that a local lives in: others don't see it.
  std::vector<uint32_t> MapsAround(const Use& w) const {
    if (!IsLocal(w)) return w.maps;
    size_t common = w.maps.size();
    for (const Use& u : uses_)
      if (u.root == w.root) common = std::min(common, CommonMaps(u, w));
    for (const Home& h : homes_)
      if (h.container == w.root && !h.owner.valid()) common = 0;  // other statements use it, too
    return {w.maps.begin() + static_cast<long>(common), w.maps.end()};
  }

  // Two iterations may be at different points of the loops inside them: what these loops move tells iterations apart only where
  // all of it does.
  Truth ApartInAnyOrder(const std::vector<Range>& ranges, const std::vector<Range>& ordered, const std::vector<Expr>& index) const {
    const auto moves = [](const Range& r, const Expr& e) {
      const std::vector<Name> names = FreeSymbols(e);
      return std::find(names.begin(), names.end(), r.index) != names.end();
    };
    std::vector<Expr> still;
    for (const Expr& e : index)
      if (std::none_of(ordered.begin(), ordered.end(), [&](const Range& r) { return moves(r, e); })) still.push_back(e);
    if (still.size() == index.size() || (!still.empty() && IsInjective(ranges, still, s_.assumptions) == Truth::kYes)) return Truth::kYes;
    std::vector<Range> all = ranges;
    for (const Range& r : ordered)
      if (std::any_of(index.begin(), index.end(), [&](const Expr& e) { return moves(r, e); })) all.push_back(r);
    return IsInjective(all, index, s_.assumptions);
  }

  // Iterations that run at once are at one point of every loop around them, if they agree in the maps around it. So where those maps are
  // told apart by indices that nothing else moves, the maps within the innermost loop only have to differ at one point of all loops.
  bool ApartAtOnePoint(const std::vector<OrderedRange>& all, const std::vector<Expr>& index) const {
    size_t last = all.size();
    for (size_t k = 0; k < all.size(); ++k)
      if (all[k].ordered) last = k;
    if (last == all.size() || IsDataDependent(index)) return false;
    std::vector<Range> around, within;
    for (size_t k = 0; k < all.size(); ++k)
      if (!all[k].ordered) (k < last ? around : within).push_back(all[k].range);
    const auto others = [&](const Expr& e) {  // whether it moves by more than the maps around
      return e && std::any_of(all.begin(), all.end(), [&](const OrderedRange& r) {
        const bool is_around = std::any_of(around.begin(), around.end(), [&](const Range& a) { return a.index == r.range.index; });
        return !is_around && Mentions(e, r.range.index);
      });
    };
    for (const Range& r : around)
      if (others(r.begin) || others(r.end) || others(r.step)) return false;
    std::vector<Expr> still;
    for (const Expr& e : index)
      if (!others(e)) still.push_back(e);
    if (!around.empty() && (still.empty() || IsInjective(around, still, s_.assumptions) != Truth::kYes)) return false;
    return within.empty() || IsInjective(within, index, s_.assumptions) == Truth::kYes;
  }

  // Do two iterations of the maps around `w` write one element?
  bool OneIteration(const Use& w) {
    if (w.op != WriteOp::kAssign && !IsScheduled(s_)) return true;
    std::vector<Expr> index = w.index;
    std::vector<Range> ranges, ordered;
    const std::vector<OrderedRange> written = Ranges(MapsAround(w)),
                                    joined = Joined(MapsAround(w), std::vector<std::vector<Expr>*>{&index});
    for (const OrderedRange& r : joined)
      if (!SinglePoint({r.range})) (r.ordered ? ordered : ranges).push_back(r.range);
    Truth t = w.whole ? (ranges.empty() ? Truth::kYes : Truth::kNo) : IsInjective(ranges, index, s_.assumptions);
    if (t == Truth::kYes && !w.whole && !ranges.empty()) t = ApartInAnyOrder(ranges, ordered, index);
    if (t == Truth::kYes) return true;
    if (!w.whole && written.size() == joined.size() && ApartAtOnePoint(written, w.index)) return true;
    if (t == Truth::kUnknown && (w.guarded || IsDataDependent(w)) && !IsScheduled(s_)) return true;
    std::string missing;
    for (const Range& r : ranges) {
      bool used = false;
      for (const Expr& e : index)
        for (Name n : FreeSymbols(e)) used |= n == r.index;
      if (!used) missing += (missing.empty() ? "'" : ", '") + r.index.str() + "'";
    }
    std::string why = !missing.empty()
                          ? "iterations over " + missing + " all write the same element of '" + w.container.str() + "'"
                          : "two iterations may write one element of '" + w.container.str() + "'";
    r_->Add("E0261", why, w.node, w.container.str(),
            missing.empty() ? "make the index different for every iteration, or use a loop"
                            : "reduce with +=, *=, max= or min=, or leave the index out of the map");
    return false;
  }

  // The same index on both sides, whose inner indices run over the same values, or over fewer of them on one side: if no two points
  // of the larger ranges meet, these don't.
  bool ApartAsOne(const std::vector<uint32_t>& maps, const Use& w, const Use& u, const std::vector<Range>& inner_w,
                  const std::vector<Range>& inner_u) const {
    std::vector<Expr> index = w.index;
    if (index != u.index || IsDataDependent(w)) return false;
    std::vector<OrderedRange> all = Ranges(maps);
    const auto mentioned = [&](Name n) {
      return std::any_of(index.begin(), index.end(), [&](const Expr& e) { return Mentions(e, n); });
    };
    std::vector<Name> both;
    for (const Range& a : inner_w)
      for (const Range& b : inner_u) {
        if (a.index != b.index || !mentioned(a.index)) continue;
        const bool less = ProveLe(a.end, b.end, s_.assumptions) == Truth::kYes;
        if (a.begin != b.begin || a.step != b.step || (!less && ProveLe(b.end, a.end, s_.assumptions) != Truth::kYes)) return false;
        all.push_back({less ? b : a, false});
        both.push_back(a.index);
      }
    for (const auto* inner : {&inner_w, &inner_u})
      for (const Range& r : *inner)
        if (mentioned(r.index) && std::find(both.begin(), both.end(), r.index) == both.end()) return false;
    JoinParts(&all, {&index});
    std::vector<Range> ranges;
    for (const OrderedRange& r : all)
      if (!r.ordered || mentioned(r.range.index)) ranges.push_back(r.range);
    return IsInjective(ranges, index, s_.assumptions) == Truth::kYes;
  }

  // Both uses have a position in the part of each range without order of the maps from `around` to `common`: different parts never meet.
  bool InOwnParts(size_t around, size_t common, const Use& w, const Use& u) const {
    const auto from = [&](const Use& use) {
      return RangesOf(s_, {use.maps.begin() + static_cast<long>(around), use.maps.end()});
    };
    const std::vector<Range> of_w = from(w), of_u = from(u);
    for (const OrderedRange& r : Ranges({w.maps.begin() + static_cast<long>(around), w.maps.begin() + static_cast<long>(common)})) {
      if (r.ordered || SinglePoint({r.range})) continue;
      bool apart = false;
      for (size_t d = 0; d < w.index.size() && d < u.index.size() && !apart; ++d)
        apart = IsIndexExpr(w.index[d]) && IsIndexExpr(u.index[d]) &&
                LiesInPart(w.index[d], r.range, of_w, s_.assumptions) && LiesInPart(u.index[d], r.range, of_u, s_.assumptions);
      if (!apart) return false;
    }
    return true;
  }

  // Other uses of what `w` writes, in other iterations of the maps that both are in.
  void Against(size_t wi) {
    const Use& w = uses_[wi];
    for (size_t j = 0; j < uses_.size() && !r_->Full(); ++j) {
      const Use& u = uses_[j];
      if (j == wi || u.root != w.root || (u.write && j < wi)) continue;
      const bool alike = u.write && u.op == w.op && w.op != WriteOp::kAssign;
      if (alike && !IsScheduled(s_)) continue;  // any order will do
      if (ApartByNumbers(w, u)) continue;
      size_t common = CommonMaps(w, u);
      const size_t around = w.maps.size() - MapsAround(w).size();  // each iteration of these has its own
      if (common <= around) continue;
      std::vector<uint32_t> maps(w.maps.begin() + around, w.maps.begin() + common);
      Pair pair{w, u, RangesOf(s_, {w.maps.begin() + common, w.maps.end()}),
                RangesOf(s_, {u.maps.begin() + common, u.maps.end()})};
      const std::vector<Range> shared = SharedBy(maps, &pair);
      if (SinglePoint(shared)) continue;
      if (IsRegister(w) && !IsScheduled(s_)) continue;  // its iterations are its own
      if ((IsDataDependent(w) || w.guarded) && !IsScheduled(s_)) continue;  // the writer asserts that iterations don't meet
      if (u.container == w.container && u.flat == w.flat && !u.whole && !w.whole) {
        if (AgreeOn(shared, pair.w, pair.u)) continue;
        if (Separates(shared, pair.inner_w, pair.w, pair.u, s_.assumptions)) continue;
        if (MeetAcross(s_, shared, pair.inner_w, pair.inner_u, pair.w, pair.u) == Truth::kNo) continue;
        if (IsScheduled(s_) && ApartAsOne(maps, w, u, RangesOf(s_, {w.maps.begin() + common, w.maps.end()}),
                                          RangesOf(s_, {u.maps.begin() + common, u.maps.end()})))
          continue;
        if (IsScheduled(s_) && InOwnParts(around, common, w, u)) continue;
      }
      r_->Add("E0262",
              std::string(u.write ? "another write" : "a read") + " of '" + u.container.str() +
                  "' may meet an element that another iteration of the map writes",
              u.node, u.container.str(), "iterations of a map have no order: use a loop, or a second container");
      return;
    }
  }
  bool HasUpperBounds() const {
    const auto& bounds = s_.assumptions.bounds;
    return std::any_of(bounds.begin(), bounds.end(), [](const auto& b) { return b.second.hi.has_value(); });
  }
  bool SinglePoint(const std::vector<Range>& ranges) const {
    return std::all_of(ranges.begin(), ranges.end(), [&](const Range& r) {
      const auto step = r.step ? AsInt(r.step) : std::optional<int64_t>(1);
      if (!step) return false;
      if (const auto b = AsInt(r.begin), e = AsInt(r.end); b && e) return *step > 0 ? *e <= *b + *step : *b + *step <= *e;
      if (!HasUpperBounds()) return false;  // most often: nothing to ask
      const Expr next = r.begin + Expr(*step);
      return (*step > 0 ? ProveLe(r.end, next, s_.assumptions) : ProveLe(next, r.end, s_.assumptions)) == Truth::kYes;
    });
  }

  const Sdfg& s_;
  const std::vector<Use>& uses_;
  Report* r_;
  std::vector<Home> homes_;  // of a scheduled kernel
};

}  // namespace

std::vector<Range> RangesOf(const Sdfg& s, const std::vector<uint32_t>& maps) {
  std::vector<Range> out;
  for (uint32_t m : maps) {
    const Map& map = std::get<Map>(s.nodes[NodeId{m}].body);
    out.insert(out.end(), map.ranges.begin(), map.ranges.end());
  }
  return out;
}

void CheckNest(const Sdfg& s, const std::vector<Use>& uses, Report* report) { Nest(s, uses, report).Run(); }

}  // namespace headrace::verify
