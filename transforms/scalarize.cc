#include "transforms/scalarize.h"

#include <algorithm>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "transforms/by_name.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

constexpr int64_t kMaxRowBytes = 32 << 10;  // a private row lies on the stack of a thread
constexpr int64_t kMostWorkers = 64;        // with fewer iterations threads may be wanted within each

// All uses of one candidate, in the order they run within an iteration.
struct Candidate {
  std::vector<uint32_t> path;  // maps around the first use, outermost first
  size_t shared = 0;           // how many of them hold all uses so far
  std::vector<Expr> index;           // of the first use
  std::vector<bool> same;            // positions where all uses so far agree with it
  std::vector<bool> keep;            // the answer: positions that remain
  bool first = true, ok = true, chosen = false;
  bool within = true;                // no use asks whether its index is one of the array's
};

class Scalarizer {
 public:
  // `any_length`: rows too long for registers, too, in memory of the workers.
  Scalarizer(const Program& p, Sdfg* s, bool any_length, const Ask& ask) : p_(p), s_(*s), any_length_(any_length), ask_(ask) {}

  bool Run() {
    const auto may_be = [&](Name n) {
      const Container& c = s_.Get(n);
      return c.kind == ContainerKind::kTransient && c.storage == Storage::kArena && c.dtype != DType::kString;
    };
    if (std::none_of(s_.order.begin(), s_.order.end(), may_be)) return false;
    transforms::UseIndex uses(p_, s_);
    for (Name n : s_.order) {
      if (!may_be(n)) continue;
      const transforms::Usage& u = uses.Of(n);
      if (u.viewed || u.writes.empty() || u.First() != u.Last() || u.reads.empty()) continue;
      NodeId id = uses.positions()[u.First()].statement;
      if (id.valid() && std::holds_alternative<Map>(s_.nodes[id].body)) candidates_[n];
    }
    if (candidates_.size() == 0) return false;
    for (const auto& at : uses.positions())
      if (at.statement.valid()) Statement(at.statement);
    std::vector<Name> chosen;
    for (uint32_t i = 0; i < candidates_.size(); ++i) {
      const Name n = candidates_.NameOf(i);
      Candidate& c = candidates_.At(i);
      if (!c.ok || c.first || !Owned(s_.Get(n), &c)) continue;
      if (ask_(Match{s_.name, {}, {}, {n}, "", true})) chosen.push_back(n), c.chosen = true;
    }
    if (chosen.empty()) return false;
    for (Name n : chosen) {
      Container& c = s_.Mutable(n);
      c.shape = Kept(n, c.shape);
      c.storage = IsShort(c) ? Storage::kRegister : Storage::kWorker;
      c.MakeRowMajor();
    }
    Rewrite();
    return true;
  }

 private:
  void Statement(NodeId id) {
    const Body& b = s_.nodes[id].body;
    if (auto* t = std::get_if<Tasklet>(&b)) {
      Reads(t->value);
      for (const Expr& e : t->index) Reads(e);
      Use(t->target, t->index, t->index.size(), t->flat, true, t->op == WriteOp::kAssign && !t->guarded, !t->guarded);
    } else if (auto* m = std::get_if<Map>(&b)) {
      for (const Range& r : m->ranges) Reads(r.begin), Reads(r.end);
      maps_.push_back(id.value);
      for (NodeId n : m->body) Statement(n);
      maps_.pop_back();
    } else {
      // A call takes containers, not elements.
      for (const Touched& t : TouchedBy(s_, id, callees_)) Refuse(t.root);
    }
  }
  void Reads(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead))
        Use(x->name, x->args, x->args.size() - (x->has_default ? 1 : 0), x->flat, false, false, !x->has_default);
      return true;
    });
  }
  void Refuse(Name n) {
    if (Candidate* c = candidates_.Find(n)) c->ok = false;
  }
  // `rank`: how many of `index` are the index.
  void Use(Name n, const std::vector<Expr>& index, size_t rank, bool flat, bool write, bool sets, bool within) {
    Candidate* candidate = candidates_.Find(n);
    if (!candidate || !candidate->ok) return;
    Candidate& c = *candidate;
    if (flat) return void(c.ok = false);
    c.within &= within;
    if (c.first) {
      c.ok = write && sets;
      c.first = false;
      c.path = maps_;
      c.shared = maps_.size();
      c.index.assign(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(rank));
      c.same.assign(rank, true);
      return;
    }
    for (size_t t = 0; t < rank; ++t)
      if (!(index[t] == c.index[t])) c.same[t] = false;
    size_t common = 0;
    while (common < c.shared && common < maps_.size() && c.path[common] == maps_[common]) ++common;
    c.shared = common;
  }
  // Every iteration of the maps around all uses has its own element or row, and sets it before anything else.
  bool Owned(const Container& container, Candidate* c) const {
    if (c->shared == 0) return false;
    std::unordered_set<Name> known;
    for (size_t i = 0; i < c->shared; ++i)
      for (const Range& r : std::get<Map>(s_.nodes[NodeId{c->path[i]}].body).ranges) {
        bool bare = false;
        for (size_t t = 0; t < c->index.size(); ++t)
          bare |= c->same[t] && c->index[t].Is(ExprKind::kSymbol) && c->index[t]->name == r.index;
        if (!bare && !(AsInt(r.begin) == 0 && AsInt(r.end) == 1)) return false;
        known.insert(r.index);
      }
    // Positions that stay the same during an iteration go, as those with one element do; the others, moved by indices of inner maps, stay.
    c->keep.assign(c->index.size(), false);
    Container row;
    row.dtype = container.dtype;
    const bool any_length = any_length_ && HasManyIterations(*c);
    for (size_t t = 0; t < c->index.size(); ++t) {
      bool fixed = c->same[t] && IsIndexExpr(c->index[t]);
      if (fixed)
        for (Name n : FreeSymbols(c->index[t])) fixed &= known.count(n) || !IsMapIndex(n);
      const Expr& extent = container.shape[t];
      if (fixed || (c->within && AsInt(extent) == 1)) continue;
      if (!SetsAll(*c, t, extent)) return false;
      c->keep[t] = true;
      row.shape.push_back(extent);
    }
    if (!any_length && !IsShort(row)) return false;
    // An inner map without iterations would leave a scalar unset.
    bool scalar = std::none_of(c->keep.begin(), c->keep.end(), [](bool k) { return k; });
    return !scalar || std::all_of(c->path.begin() + static_cast<long>(c->shared), c->path.end(),
                                  [&](uint32_t m) { return Runs(std::get<Map>(s_.nodes[NodeId{m}].body)); });
  }
  static bool Runs(const Map& m) {
    return std::all_of(m.ranges.begin(), m.ranges.end(), [](const Range& r) {
      const auto begin = AsInt(r.begin), end = AsInt(r.end);
      return begin && end && *begin < *end && (!r.step || AsInt(r.step).value_or(0) > 0);
    });
  }
  // The first write runs over the whole of dimension t, with an index of its own.
  bool SetsAll(const Candidate& c, size_t t, const Expr& extent) const {
    if (!c.index[t].Is(ExprKind::kSymbol)) return false;
    for (size_t u = 0; u < c.index.size(); ++u)
      if (u != t && c.index[u] == c.index[t]) return false;
    for (size_t i = c.shared; i < c.path.size(); ++i)
      for (const Range& r : std::get<Map>(s_.nodes[NodeId{c.path[i]}].body).ranges)
        if (r.index == c.index[t]->name)
          return AsInt(r.begin) == 0 && r.end == extent && (!r.step || AsInt(r.step) == 1);
    return false;
  }
  static bool IsShort(const Container& row) {
    const auto elements = AsInt(NumElements(row));
    return elements && *elements <= kMaxRowBytes / ByteSize(row.dtype);
  }
  // Of the maps around all uses, as far as that is known.
  bool HasManyIterations(const Candidate& c) const {
    int64_t iterations = 1;
    for (size_t i = 0; i < c.shared; ++i)
      for (const Range& r : std::get<Map>(s_.nodes[NodeId{c.path[i]}].body).ranges) {
        const auto begin = AsInt(r.begin), end = AsInt(r.end);
        if (!begin || !end || __builtin_mul_overflow(iterations, std::max<int64_t>(0, *end - *begin), &iterations)) return true;
      }
    return iterations >= kMostWorkers;
  }
  template <typename T>
  std::vector<T> Kept(Name n, const std::vector<T>& all) const {
    std::vector<T> out;
    const std::vector<bool>& keep = candidates_.Find(n)->keep;
    for (size_t t = 0; t < keep.size(); ++t)
      if (keep[t]) out.push_back(all[t]);
    return out;
  }
  bool IsMapIndex(Name n) const {
    if (!indices_built_) {
      ForEachNode(s_, [&](NodeId id) {
        if (auto* m = std::get_if<Map>(&s_.nodes[id].body))
          for (const Range& r : m->ranges) indices_.insert(r.index);
      });
      indices_built_ = true;
    }
    return indices_.count(n) > 0;
  }

  bool IsChosen(Name n) const {
    const Candidate* c = candidates_.Find(n);
    return c && c->chosen;
  }
  void Rewrite() {
    auto fix = [&](Expr& e) {
      bool stale = false;
      Visit(e, [&](const Expr& x) {
        stale |= x.Is(ExprKind::kRead) && IsChosen(x->name);
        return !stale;
      });
      if (!stale) return;
      e = Transform(e, [&](const Expr& x) {
        if (!x.Is(ExprKind::kRead) || !IsChosen(x->name)) return x;
        std::vector<Expr> index = Kept(x->name, x->args);
        // What was in bounds at the first write is in bounds here, but for the positions that are kept.
        Expr r = ReadExpr(x->name, index, x->has_default && !index.empty() ? x->args.back() : Expr());
        return x->dtype == DType::kNone ? r : WithType(r, x->dtype);
      });
    };
    ForEachNode(s_, [&](NodeId id) {
      if (!std::holds_alternative<Tasklet>(s_.nodes[id].body)) return;
      Tasklet& t = std::get<Tasklet>(s_.nodes.Mutable(id).body);
      fix(t.value);
      for (Expr& e : t.index) fix(e);
      if (!IsChosen(t.target)) return;
      t.index = Kept(t.target, t.index);
      t.guarded &= !t.index.empty();
    });
  }

  const Program& p_;
  Callees callees_{p_};
  Sdfg& s_;
  const bool any_length_;
  const Ask& ask_;
  transforms::ByName<Candidate> candidates_;  // as declared
  std::vector<uint32_t> maps_;
  mutable std::unordered_set<Name> indices_;
  mutable bool indices_built_ = false;
};

Result<bool> MakePrivate(Program& p, bool any_length, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i)
    if (!p.sdfgs[i]->kernel) changed |= Scalarizer(p, &p.Mutable(p.sdfgs[i]->name), any_length, ask).Run();
  return changed;
}

}  // namespace

Result<bool> Scalarize(Program& p, const Ask& ask) { return MakePrivate(p, false, ask); }
Result<bool> LocalizeRows(Program& p, const Ask& ask) { return MakePrivate(p, true, ask); }

}  // namespace headrace
