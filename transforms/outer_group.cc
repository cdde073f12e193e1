#include "transforms/outer_group.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "ir/analysis/arena.h"
#include "ir/analysis/cost.h"
#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/graph/homes.h"
#include "transforms/by_shape.h"

namespace headrace::transforms {
namespace {

constexpr uint32_t kMostPositions = 128;  // from the first statement of a loop to the last
constexpr size_t kMostMembers = 64;

bool IsSymbol(const Expr& e, Name n) { return e.Is(ExprKind::kSymbol) && e->name == n; }

// Arrays of the program's own that lie in memory row by row.
bool IsCandidate(const Container& c) { return MayLieInArena(c) && c.storage == Storage::kArena && c.row_major() && LeadingDimension(c); }

bool Conflict(const std::vector<Touched>& touched, const std::unordered_map<Name, bool>& others) {
  return std::any_of(touched.begin(), touched.end(), [&](const Touched& t) {
    const auto it = others.find(t.root);
    return it != others.end() && (t.write || it->second);
  });
}

void Note(const std::vector<Touched>& touched, std::unordered_map<Name, bool>* written) {
  for (const Touched& t : touched) (*written)[t.root] |= t.write;
}

}  // namespace

double RoughSize(const Expr& e, int64_t symbol_size) {
  NameMap sizes;
  for (Name n : FreeSymbols(e)) sizes.push_back({n, Expr(symbol_size)});
  return static_cast<double>(AsInt(sizes.empty() ? e : Substitute(e, sizes)).value_or(0));
}

std::optional<size_t> LeadingDimension(const Container& c) {
  for (size_t d = 0; d < c.shape.size(); ++d)
    if (AsInt(c.shape[d]) != 1) return d;
  return std::nullopt;
}

std::optional<Between> StandAside(const Sdfg& s, const UseIndex& uses, Callees& callees, const std::map<uint32_t, Name>& members) {
  Between out;
  std::unordered_map<Name, bool> inside, later;  // roots, and whether they are written
  for (uint32_t at = members.begin()->first; at <= members.rbegin()->first; ++at) {
    const NodeId n = uses.positions()[at].statement;
    const std::vector<Touched> touched = TouchedBy(s, n, callees);
    if (members.count(at)) {
      if (Conflict(touched, later)) return std::nullopt;
      Note(touched, &inside);
      continue;
    }
    const auto* library = std::get_if<Library>(&s.nodes[n].body);
    if (library && !library->defines.empty()) return std::nullopt;
    const bool waits = Conflict(touched, inside) || Conflict(touched, later);
    (waits ? out.after : out.before).push_back(at);
    if (waits) Note(touched, &later);
  }
  return out;
}

OuterGroups::OuterGroups(const Program& p, const Sdfg& s, int64_t symbol_size) : p_(p), s_(s), symbol_size_(symbol_size), uses_(p, s) {
  for (Name n : s.order)
    if (s.Get(n).kind == ContainerKind::kView) views_[RootOf(s, n)].push_back(n);
}

const Kernel& OuterGroups::KernelAt(uint32_t at) {
  const auto [it, fresh] = kernels_.try_emplace(at);
  if (fresh) it->second = MakeKernel(p_, s_, uses_.positions()[at].statement);
  return it->second;
}

BlockId OuterGroups::BlockOf(Name array) const {
  const Usage& u = uses_.Of(array);
  if (u.writes.empty()) return {};
  for (const std::vector<uint32_t>* list : {&u.reads, &u.writes})
    for (uint32_t at : *list) {
      const UseIndex::Position& here = uses_.positions()[at];
      if (!here.statement.valid() || !(here.block == uses_.positions()[u.First()].block)) return {};
    }
  return uses_.positions()[u.First()].block;
}

double OuterGroups::PartsSave(Name array) const {
  const Container& c = s_.Get(array);
  return Size(BytesOf(c)) * (1 - 1 / std::max(1.0, Size(c.shape[*LeadingDimension(c)])));
}

// Where all that a container has at one leading index lies in one part of its array, as many elements on for each: how many.
Expr OuterGroups::PartOf(const Container& c) const {
  const std::optional<size_t> leading = LeadingDimension(c);
  if (!leading || (c.strides.empty() && !c.row_major())) return {};
  for (const Container* v = &c; v->kind == ContainerKind::kView; v = &s_.Get(v->base))
    if (v->offset && AsInt(v->offset) != 0) return {};
  const std::vector<Expr> strides = StridesOf(c);
  Expr rest(1);  // elements from the first to the last one of a part
  for (size_t d = *leading + 1; d < c.shape.size(); ++d) {
    if (ProveLe(Expr(0), strides[d], s_.assumptions) != Truth::kYes) return {};
    rest = rest + strides[d] * (c.shape[d] - Expr(1));
  }
  const Expr& stride = strides[*leading];
  return rest == stride || ProveLe(rest, stride, s_.assumptions) == Truth::kYes ? stride : Expr();
}
// The same of an access whose leading index is that.
Expr OuterGroups::PartOf(const KernelAccess& a, Name index) const {
  const Container& c = s_.Get(a.container);
  const std::optional<size_t> leading = LeadingDimension(c);
  const bool there = leading && !a.whole && !a.flat && a.index.size() == c.shape.size() && IsSymbol(a.index[*leading], index);
  return there ? PartOf(c) : Expr();
}

// A map that can leave one of its ranges to a loop, and no sum over it.
bool OuterGroups::CanStandInside(const Kernel& k, Name index) const {
  if (!k.fusable || k.schedule != Schedule::kDefault || k.ranges.size() < 2) return false;
  if (std::find(k.inner.begin(), k.inner.end(), index) != k.inner.end()) return false;
  return std::all_of(k.accesses.begin(), k.accesses.end(), [&](const KernelAccess& a) {
    return !a.write || IsScoped(s_.Get(a.root).storage) ||
           std::any_of(a.index.begin(), a.index.end(), [&](const Expr& e) { return Mentions(e, index); });
  });
}

// An array of which each part is used by its own iterations, whatever name it is called by; and by nobody else.
bool OuterGroups::HasParts(Name array, const Expr& part) const {
  const Expr& extent = s_.Get(array).shape[*LeadingDimension(s_.Get(array))];
  const auto views = views_.find(array);
  return views == views_.end() || std::all_of(views->second.begin(), views->second.end(), [&](Name n) {
    const Container& v = s_.Get(n);
    const Expr of = PartOf(v);
    return of && of == part && v.shape[*LeadingDimension(v)] == extent;
  });
}

// In a loop around, an array may keep values from one round to the next, unless it is written anew in each.
bool OuterGroups::IsWrittenAnew(Name array) const {
  const Usage& u = uses_.Of(array);
  const UseIndex::Position& first = uses_.positions()[u.First()];
  if (first.region < 0) return true;
  if (!u.reads.empty() && u.reads.front() == u.First()) return false;
  const std::vector<Memlet> memlets = MemletsOf(s_, first.statement, callees_);
  return std::any_of(memlets.begin(), memlets.end(), [&](const Memlet& m) {
    return m.write && m.full && m.container == array &&
           Covers(m.subset, FullSubset(s_.Get(array).shape), s_.assumptions) == Truth::kYes;
  });
}

// All statements that use the array become members.
bool OuterGroups::Join(Name array, OuterGroup* g) {
  const Container& c = s_.Get(array);
  const Usage& u = uses_.Of(array);
  if (!IsCandidate(c) || u.writes.empty()) return false;
  const Expr& extent = c.shape[*LeadingDimension(c)];
  const Expr part = PartOf(c);
  if (!part || !HasParts(array, part) || !IsWrittenAnew(array)) return false;
  std::set<uint32_t> positions(u.reads.begin(), u.reads.end());
  positions.insert(u.writes.begin(), u.writes.end());
  const uint32_t first = g->members.empty() ? *positions.begin() : g->members.begin()->first;
  if (*positions.rbegin() - *positions.begin() > kMostPositions || !(g->members.empty() || extent == g->range.end)) return false;
  const BlockId block = BlockOf(array);
  if (!block.valid() || !(block == uses_.positions()[first].block)) return false;
  for (uint32_t at : positions) {
    const Kernel& k = KernelAt(at);
    for (uint32_t which : k.of(array)) {
      const KernelAccess& a = k.accesses[which];
      const auto own = std::find_if(k.ranges.begin(), k.ranges.end(), [&](const Range& r) {
        const Expr found = PartOf(a, r.index);
        return found && found == part;
      });
      if (own == k.ranges.end() || AsInt(own->begin) != 0 || own->end != extent || (own->step && AsInt(own->step) != 1)) return false;
      if (!CanStandInside(k, own->index)) return false;
      if (g->members.empty()) g->range = {own->index, Expr(0), extent, Expr(1)};
      const auto [it, fresh] = g->members.try_emplace(at, own->index);
      if (!fresh && it->second != own->index) return false;
    }
  }
  g->own.push_back(array);
  return g->members.size() <= kMostMembers && g->members.rbegin()->first - g->members.begin()->first <= kMostPositions;
}

// What members do to an array they do to the part of their own iteration.
bool OuterGroups::Apart(Name root, const OuterGroup& g) {
  std::vector<std::pair<const KernelAccess*, Name>> all;
  for (const auto& [at, index] : g.members) {
    const Kernel& k = KernelAt(at);
    for (uint32_t which : k.of(root)) all.emplace_back(&k.accesses[which], index);
  }
  const Expr part = PartOf(*all[0].first, all[0].second);
  if (part && std::all_of(all.begin(), all.end(), [&](const auto& a) {
        const Expr other = PartOf(*a.first, a.second);
        return other && other == part;
      }))
    return true;
  const Name container = all[0].first->container;
  if (s_.Get(container).kind == ContainerKind::kView) return false;  // elements may lie over each other
  for (size_t d = 0; d < s_.Get(container).shape.size(); ++d)
    if (std::all_of(all.begin(), all.end(), [&](const auto& a) {
          return a.first->container == container && !a.first->flat && IsSymbol(a.first->index[d], a.second);
        }))
      return true;
  return false;
}

bool OuterGroups::IsLegal(const OuterGroup& g) {
  struct Uses {
    uint32_t first;
    bool several = false, written = false;
  };
  std::unordered_map<Name, Uses> roots;
  for (const auto& [at, index] : g.members)
    for (const KernelAccess& a : KernelAt(at).accesses) {
      if (IsScoped(s_.Get(a.root).storage)) continue;
      Uses& u = roots.try_emplace(a.root, Uses{at}).first->second;
      u.several |= u.first != at, u.written |= a.write;
    }
  return std::all_of(roots.begin(), roots.end(),
                     [&](const auto& r) { return !r.second.several || !r.second.written || Apart(r.first, g); });
}

bool OuterGroups::Arrange(OuterGroup* g) {
  const std::optional<Between> aside = StandAside(s_, uses_, callees_, g->members);
  if (aside) g->before = aside->before, g->after = aside->after;
  return aside.has_value();
}

std::optional<OuterGroup> OuterGroups::Around(Name array) {
  OuterGroup g;
  if (!Join(array, &g) || g.members.size() < 2 || !Arrange(&g) || !IsLegal(g)) return std::nullopt;
  return g;
}

void OuterGroups::Grow(OuterGroup* g) {
  std::unordered_set<Name> tried(g->own.begin(), g->own.end());
  double saved = Saved(*g);
  for (bool grown = true; grown;) {
    grown = false;
    std::vector<Name> near;
    for (const auto& [at, index] : g->members)
      for (const KernelAccess& a : KernelAt(at).accesses)
        if (IsCandidate(s_.Get(a.root)) && tried.insert(a.root).second) near.push_back(a.root);
    for (Name n : near) {
      OuterGroup with = *g;
      if (!Join(n, &with) || !Arrange(&with) || !IsLegal(with)) continue;
      const double all = Saved(with);
      if (with.members.size() > g->members.size() && all <= saved) continue;
      saved = all, *g = std::move(with), grown = true;
    }
  }
}

double OuterGroups::Saved(const OuterGroup& g) { return LessInUse(g) - ReadAgain(g); }

double OuterGroups::ReadAgain(const OuterGroup& g) {
  double bytes = 0;
  std::unordered_set<Name> seen;
  for (const auto& [at, index] : g.members)
    for (const KernelAccess& a : KernelAt(at).accesses) {
      const bool own = std::any_of(a.index.begin(), a.index.end(), [&, of = index](const Expr& e) { return Mentions(e, of); });
      if (!own && !IsScoped(s_.Get(a.root).storage) && seen.insert(a.root).second) bytes += Size(BytesOf(s_.Get(a.root)));
    }
  return bytes * (std::max(1.0, Size(g.range.end)) - 1);
}

double OuterGroups::LessInUse(const OuterGroup& g) {
  const uint32_t first = g.members.begin()->first, last = g.members.rbegin()->first;
  const double extent = std::max(1.0, Size(g.range.end));
  const std::unordered_set<Name> own(g.own.begin(), g.own.end());
  if (uses_.positions()[first].region >= 0) {  // one position of a loop, when memory is planned
    double bytes = 0;
    for (Name n : own) bytes += Size(BytesOf(s_.Get(n))) * (1 - 1 / extent);
    return bytes;
  }
  // Positions as they will be: those before the loop, the loop, those after it.
  std::unordered_map<uint32_t, uint32_t> moved;
  for (uint32_t at : g.before) moved.emplace(at, static_cast<uint32_t>(moved.size()));
  const uint32_t loop = static_cast<uint32_t>(moved.size());
  for (const auto& [at, index] : g.members) moved.emplace(at, loop);
  for (size_t k = 0; k < g.after.size(); ++k) moved.emplace(g.after[k], loop + 1 + static_cast<uint32_t>(k));
  std::vector<double> was(last - first + 2), is(last - first + 2);  // by how much more is in use from a position on
  std::unordered_set<Name> seen;
  for (uint32_t at = first; at <= last; ++at)
    for (const Touched& t : TouchedBy(s_, uses_.positions()[at].statement, callees_)) {
      if (!seen.insert(t.root).second || !MayLieInArena(s_.Get(t.root))) continue;
      const double bytes = Size(BytesOf(s_.Get(t.root)));
      const Usage& u = uses_.Of(t.root);
      const bool earlier = u.First() < first, after = u.Last() > last;
      uint32_t begin = last - first, end = 0;
      for (const std::vector<uint32_t>* list : {&u.reads, &u.writes})
        for (uint32_t use : *list)
          if (const auto it = moved.find(use); it != moved.end()) begin = std::min(begin, it->second), end = std::max(end, it->second);
      if (earlier) begin = 0;
      if (after) end = last - first;
      const double part = own.count(t.root) ? bytes / extent : bytes;
      is[begin] += part, is[end + 1] -= part;
      was[earlier ? 0 : u.First() - first] += bytes, was[after ? last - first + 1 : u.Last() - first + 1] -= bytes;
    }
  double most_was = 0, most_is = 0, now_was = 0, now_is = 0;
  for (size_t k = 0; k < was.size(); ++k) {
    most_was = std::max(most_was, now_was += was[k]);
    most_is = std::max(most_is, now_is += is[k]);
  }
  return most_was - most_is;
}

bool OuterGroups::IsNearPeak(const OuterGroup& g) {
  if (in_use_.empty()) {
    in_use_.assign(uses_.positions().size() + 1, 0);
    ByShape<double> sizes;
    for (Name n : s_.order) {
      const Usage& u = uses_.Of(n);
      if (!MayLieInArena(s_.Get(n)) || u.First() > u.Last()) continue;
      const double bytes = sizes.Of(s_.Get(n), [&](const Container& c) { return Size(BytesOf(c)); });
      in_use_[u.First()] += bytes, in_use_[u.Last() + 1] -= bytes;
    }
    for (size_t k = 1; k < in_use_.size(); ++k) in_use_[k] += in_use_[k - 1];
  }
  const auto first = in_use_.begin() + g.members.begin()->first, last = in_use_.begin() + g.members.rbegin()->first;
  return *std::max_element(first, last + 1) * 2 >= *std::max_element(in_use_.begin(), in_use_.end());
}

double OuterGroups::Operations(const OuterGroup& g) {
  double sum = 0;
  for (const auto& [at, index] : g.members) {
    const Expr each = CostOf(p_, s_, uses_.positions()[at].statement).operations;
    if (!each) return 0;
    sum += Size(each);
  }
  return sum / std::max(1.0, Size(g.range.end)) / static_cast<double>(g.members.size());
}

}  // namespace headrace::transforms
