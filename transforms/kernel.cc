#include "transforms/kernel.h"

#include <algorithm>
#include <unordered_set>

#include "ir/analysis/dataflow.h"

namespace headrace::transforms {

bool MentionsAny(const Expr& e, const std::vector<Name>& names) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    found |= x.Is(ExprKind::kSymbol) && std::find(names.begin(), names.end(), x->name) != names.end();
    return !found;
  });
  return found;
}

namespace {

bool IsBare(const Expr& e, Name n) { return e.Is(ExprKind::kSymbol) && e->name == n; }
bool Mentions(const Expr& e, Name n) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    found |= x.Is(ExprKind::kSymbol) && x->name == n;
    return !found;
  });
  return found;
}

// Fills a kernel from the body of its map.
class Reader {
 public:
  Reader(const Sdfg& s, Kernel* k) : s_(s), k_(*k) {}

  bool Body(const std::vector<NodeId>& body, std::vector<Range>* ranges) {
    for (NodeId id : body) {
      const headrace::Body& b = s_.nodes[id].body;
      if (auto* t = std::get_if<Tasklet>(&b)) {
        TaskletBody(*t, *ranges);
      } else if (auto* m = std::get_if<Map>(&b)) {
        if (!Ranges(*m, *ranges)) return false;
        size_t depth = ranges->size();
        for (const Range& r : m->ranges) {
          k_.inner.push_back(r.index);
          ranges->push_back(r);
        }
        if (!Body(m->body, ranges)) return false;
        ranges->resize(depth);
      } else {
        return false;
      }
    }
    return true;
  }
  // Rectangular spaces only: no bound mentions an index of the nest, none is data.
  static bool Ranges(const Map& m, const std::vector<Range>& around) {
    std::vector<Name> indices;
    for (const Range& r : around) indices.push_back(r.index);
    for (const Range& r : m.ranges) indices.push_back(r.index);
    for (const Range& r : m.ranges)
      for (const Expr* e : {&r.begin, &r.end, &r.step})
        if (*e && (!IsIndexExpr(*e) || MentionsAny(*e, indices))) return false;
    return !m.ranges.empty();
  }

 private:
  void TaskletBody(const Tasklet& t, const std::vector<Range>& ranges) {
    ++k_.leaves;
    size_t before = k_.accesses.size();
    Reads(t.value);
    for (const Expr& e : t.index) Reads(e);
    k_.constant &= t.op == WriteOp::kAssign && k_.accesses.size() == before;
    if (t.op != WriteOp::kAssign) Reduction(t, ranges, before);
    Add(t.target, t.index, t.flat, true, t.op);
  }

  void Reduction(const Tasklet& t, const std::vector<Range>& ranges, size_t first_read) {
    std::vector<Name> reduced, all;
    for (const Range& r : ranges) {
      all.push_back(r.index);
      bool used = false;
      for (const Expr& e : t.index) used |= Mentions(e, r.index);
      if (!used) reduced.push_back(r.index);
    }
    k_.reduces |= !reduced.empty();
    // Two different arrays (or places) moving along the reduction, one of them standing still along another index.
    std::vector<const KernelAccess*> moving;
    bool reused = false;
    for (size_t i = first_read; i < k_.accesses.size(); ++i) {
      const KernelAccess& a = k_.accesses[i];
      bool moves = false;
      for (const Expr& e : a.index) moves |= MentionsAny(e, reduced);
      if (!moves) continue;
      bool known = false;
      for (const KernelAccess* m : moving) known |= m->container == a.container && m->index == a.index;
      if (!known) moving.push_back(&a);
      for (Name n : all) {
        bool used = false;
        for (const Expr& e : a.index) used |= Mentions(e, n);
        reused |= !used;
      }
    }
    k_.contraction |= moving.size() >= 2 && reused;
  }
  void Reads(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead))
        Add(x->name, {x->args.begin(), x->args.end() - (x->has_default ? 1 : 0)}, x->flat, false, WriteOp::kAssign);
      return true;
    });
  }
  void Add(Name n, std::vector<Expr> index, bool flat, bool write, WriteOp op) {
    if (!s_.Find(n)) return;
    KernelAccess a;
    a.container = n;
    a.root = RootOf(s_, n);
    a.index = std::move(index);
    a.flat = flat;
    a.write = write;
    a.op = op;
    k_.accesses.push_back(std::move(a));
  }
  const Sdfg& s_;
  Kernel& k_;
};

void RenameIndices(Sdfg* s, NodeId id, const NameMap& map) {
  auto renamed = [&](Name n) {
    for (const auto& [from, to] : map)
      if (from == n) return to->name;
    return n;
  };
  auto fix = [&](Expr& e) {
    if (e) e = Substitute(e, map);
  };
  if (std::holds_alternative<Tasklet>(s->nodes[id].body)) {
    Tasklet& t = std::get<Tasklet>(s->nodes.Mutable(id).body);
    fix(t.value);
    for (Expr& e : t.index) fix(e);
    return;
  }
  Map& m = std::get<Map>(s->nodes.Mutable(id).body);
  for (Range& r : m.ranges) {
    fix(r.begin), fix(r.end), fix(r.step);
    r.index = renamed(r.index);
  }
  std::vector<NodeId> body = m.body;
  for (NodeId n : body) RenameIndices(s, n, map);
}

bool SameExtent(const Range& a, const Range& b, const Assumptions& as) {
  auto same = [&](const Expr& x, const Expr& y) { return x == y || (x && y && ProveEq(x, y, as) == Truth::kYes); };
  auto step = [](const Range& r) { return r.step ? r.step : Expr(1); };
  return same(a.begin, b.begin) && same(a.end, b.end) && step(a) == step(b);
}
bool IsPoint(const Range& r) { return AsInt(r.begin) == 0 && AsInt(r.end) == 1; }

// Which indices of two kernels mean the same: map[i] = position in b of a's index i, or -1.
class Matching {
 public:
  Matching(const Kernel& a, const Kernel& b, const Assumptions& as) : a_(a), b_(b), map_(a.ranges.size(), -1) {
    if (!Pairs()) {
      pairs_.clear();
      return;
    }
    for (size_t i = 0; i < a.ranges.size() && !pairs_.empty(); ++i) {
      int j = Candidate(a.ranges[i].index);
      if (j >= 0 && SameExtent(a.ranges[i], b.ranges[j], as) && std::find(map_.begin(), map_.end(), j) == map_.end() &&
          Agreed(i, j))
        map_[i] = j;
    }
    // Indices with a single value agree whatever is done with them.
    for (size_t i = 0; i < a.ranges.size(); ++i)
      for (size_t j = 0; map_[i] < 0 && IsPoint(a.ranges[i]) && j < b.ranges.size(); ++j)
        if (IsPoint(b.ranges[j]) && std::find(map_.begin(), map_.end(), static_cast<int>(j)) == map_.end()) map_[i] = j;
  }
  const std::vector<int>& map() const { return map_; }
  // How many leading indices of a are leading ones of b, in some order.
  size_t Prefix() const {
    if (pairs_.empty()) return 0;
    size_t p = 0;
    while (p < map_.size() && map_[p] >= 0) ++p;
    for (; p > 0; --p) {
      bool leading = true;
      for (size_t i = 0; i < p; ++i) leading &= map_[i] < static_cast<int>(p);
      if (leading) break;
    }
    return p;
  }

 private:
  // Accesses that must keep their order; false when some can't be compared.
  bool Pairs() {
    for (const KernelAccess& y : b_.accesses)
      for (uint32_t k : a_.of(y.root)) {
        const KernelAccess& x = a_.accesses[k];
        if (!x.write && !y.write) continue;
        if (x.write && y.write && x.op == y.op && x.op != WriteOp::kAssign) continue;
        if (x.container != y.container || x.flat != y.flat || x.whole || y.whole || x.index.size() != y.index.size())
          return false;
        pairs_.push_back({&x, &y});
        if (pairs_.size() > 4096) return false;
      }
    return true;
  }
  int Candidate(Name i) const {
    const auto& [x, y] = pairs_[0];
    for (size_t t = 0; t < x->index.size(); ++t) {
      if (!IsBare(x->index[t], i)) continue;
      for (size_t j = 0; j < b_.ranges.size(); ++j)
        if (IsBare(y->index[t], b_.ranges[j].index)) return static_cast<int>(j);
    }
    return -1;
  }
  bool Agreed(size_t i, int j) const {
    for (const auto& [x, y] : pairs_) {
      bool found = false;
      for (size_t t = 0; t < x->index.size() && !found; ++t)
        found = IsBare(x->index[t], a_.ranges[i].index) && IsBare(y->index[t], b_.ranges[j].index);
      if (!found) return false;
    }
    return true;
  }
  const Kernel &a_, &b_;
  std::vector<int> map_;
  std::vector<std::pair<const KernelAccess*, const KernelAccess*>> pairs_;
};

// Moves all but the first `shared` ranges into an inner map.
void Split(Sdfg* s, size_t shared, Kernel* k) {
  if (shared == k->ranges.size()) return;
  Map inner;
  inner.ranges.assign(k->ranges.begin() + shared, k->ranges.end());
  inner.body = std::move(k->body);
  for (const Range& r : inner.ranges) k->inner.push_back(r.index);
  k->body = {s->AddNode(std::move(inner), k->origin)};
  k->ranges.resize(shared);
  k->schedule = {};
  k->split = true;
}

// The indices of a product's results before those of its terms, as maps that take it in have them. Bounds mention no index.
void TargetFirst(const Sdfg& s, Kernel* k) {
  const Tasklet& t = std::get<Tasklet>(s.nodes[k->body[0]].body);
  const auto kept = [&](const Range& r) {
    return std::any_of(t.index.begin(), t.index.end(), [&](const Expr& e) { return Mentions(e, r.index); });
  };
  std::stable_partition(k->ranges.begin(), k->ranges.end(), kept);
}

constexpr size_t kFewAccesses = 8;  // up to which an index costs more than it saves

}  // namespace

std::vector<uint32_t> Kernel::of(Name root) const {
  std::vector<uint32_t> out;
  for (uint32_t k = indexed_; k < accesses.size(); ++k)
    if (accesses[k].root == root) out.push_back(k);
  if (indexed_ == 0) return out;
  auto it = by_root_.find(root);
  if (it != by_root_.end()) out.insert(out.begin(), it->second.begin(), it->second.end());
  return out;
}
void Kernel::Index() {
  if (indexed_ == 0 && accesses.size() <= kFewAccesses) return;  // `of` looks at what has no index one by one
  for (; indexed_ < accesses.size(); ++indexed_) by_root_[accesses[indexed_].root].push_back(indexed_);
}

Kernel MakeKernel(const Program& p, const Sdfg& s, NodeId statement) {
  Kernel k;
  const Node& node = s.nodes[statement];
  k.statement = statement;
  k.origin = node.origin;
  k.constant = true;
  Reader reader(s, &k);
  if (auto* m = std::get_if<Map>(&node.body)) {
    k.ranges = m->ranges;
    k.body = m->body;
    k.schedule = m->schedule;
    std::vector<Range> ranges = m->ranges;
    k.fusable = Reader::Ranges(*m, {}) && reader.Body(m->body, &ranges);
  } else if (std::holds_alternative<Tasklet>(node.body)) {
    std::vector<Range> none;
    reader.Body({statement}, &none);
  }
  if (!k.fusable && !std::holds_alternative<Tasklet>(node.body)) {
    k.accesses.clear();
    for (const Touched& t : TouchedBy(p, s, statement)) {
      KernelAccess a;
      a.container = a.root = t.root;
      a.whole = true;
      for (bool write : {false, true})
        if (write ? t.write : t.read) a.write = write, k.accesses.push_back(a);
    }
  }
  for (const KernelAccess& a : k.accesses) k.constant &= a.write && !a.whole;
  if (k.fusable && k.contraction && k.leaves == 1 && k.inner.empty()) TargetFirst(s, &k);
  k.Index();
  return k;
}

std::optional<Fusion> FindFusion(const Sdfg& s, const Kernel& a, const Kernel& b) {
  if (!a.fusable || !b.fusable) return std::nullopt;
  const Matching m(a, b, s.assumptions);
  Fusion f;
  f.shared = m.Prefix(), f.match = m.map();
  if (f.shared == 0) return std::nullopt;
  return f;
}

bool TryMerge(Sdfg* s, NameTable* names, const std::vector<Name>& around, const FusionLimits& limits, Kernel* a,
              const Kernel& b) {
  if ((a->contraction || b.contraction) != static_cast<bool>(limits.product)) return false;  // soon said
  const std::optional<Fusion> f = FindFusion(*s, *a, b);
  if (!f || !WhyNotFuse(*s, names, around, *a, b, *f, limits).empty()) return false;
  Fuse(s, names, around, *f, a, b);
  return true;
}

std::vector<Name> SymbolsOf(const Sdfg& s, const Kernel& k) {
  std::unordered_set<Name> out;
  auto add = [&](const Expr& e) {
    if (e)
      for (Name n : FreeSymbols(e)) out.insert(n);
  };
  for (const Range& r : k.ranges) add(r.begin), add(r.end), add(r.step);
  for (const KernelAccess& a : k.accesses) {
    for (const Expr& e : a.index) add(e);
    for (const Expr& d : s.Get(a.container).shape) add(d);
  }
  return {out.begin(), out.end()};
}

void Fuse(Sdfg* s, NameTable* names, const std::vector<Name>& around, const Fusion& f, Kernel* a, const Kernel& b_in) {
  const size_t shared = f.shared;
  const std::vector<int>& match = f.match;
  Kernel b = b_in;
  NameMap rename;
  std::vector<Name> outer = around;
  for (const Range& r : a->ranges) outer.push_back(r.index);
  std::vector<bool> matched(b.ranges.size());
  for (size_t i = 0; i < shared; ++i) {
    matched[match[i]] = true;
    if (b.ranges[match[i]].index != a->ranges[i].index)
      rename.push_back({b.ranges[match[i]].index, Expr(a->ranges[i].index)});
  }
  // The remaining indices of b must not be called like a shared one.
  std::vector<Name> others = b.inner;
  for (size_t j = 0; j < b.ranges.size(); ++j)
    if (!matched[j]) others.push_back(b.ranges[j].index);
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  for (Name n : others) {
    bool clash = false;
    for (size_t i = 0; i < shared; ++i) clash |= a->ranges[i].index == n;
    if (!clash) continue;
    std::vector<Name> taken = outer;
    taken.insert(taken.end(), others.begin(), others.end());
    for (const Range& r : b.ranges) taken.push_back(r.index);
    Name fresh = names->FreshIndex(n, taken);
    rename.push_back({n, Expr(fresh)});
  }
  if (!rename.empty()) {
    for (NodeId n : b.body) RenameIndices(s, n, rename);
    for (KernelAccess& x : b.accesses)
      for (Expr& e : x.index) e = Substitute(e, rename);
    auto renamed = [&](Name n) {
      for (const auto& [from, to] : rename)
        if (from == n) return to->name;
      return n;
    };
    for (Name& n : b.inner) n = renamed(n);
    for (Range& r : b.ranges) r.index = renamed(r.index);
  }
  // b's shared ranges are its first ones; their order is a's from now on.
  Split(s, shared, a);
  Split(s, shared, &b);
  a->body.insert(a->body.end(), b.body.begin(), b.body.end());
  a->accesses.insert(a->accesses.end(), b.accesses.begin(), b.accesses.end());
  a->inner.insert(a->inner.end(), b.inner.begin(), b.inner.end());
  a->Index();
  a->leaves += b.leaves;
  a->reduces |= b.reduces;
  a->contraction |= b.contraction;
  a->constant = false;
  a->split |= b.split;
  a->changed = true;
  a->origin = Origin::Merged({a->origin, b.origin}, "fuse-maps");
}

NodeId Emit(Sdfg* s, const Kernel& k) {
  if (!k.changed) return k.statement;
  Map m;
  m.ranges = k.ranges;
  m.body = k.body;
  m.schedule = k.schedule;
  return s->AddNode(std::move(m), k.origin.By("fuse-maps"));
}

}  // namespace headrace::transforms
