// Every map becomes local: registers set once, no array written and then read. What can't be rewritten within the map is
// divided among several maps; registers that both sides use become arrays.
#include <algorithm>
#include <optional>

#include "autodiff/map_tree.h"
#include "autodiff/normalize.h"

namespace headrace::autodiff {
namespace {

constexpr int kMaxPieces = 4096;

class Localizer {
 public:
  Localizer(const Program& p, Sdfg* s) : s_(*s), names_(*s), c_{p, *s, names_} {}

  Result<bool> Run() {
    std::vector<Range> loops;
    HR_RETURN_IF_ERROR(Blocks(s_.body, &loops));
    return changed_;
  }

 private:
  Status Blocks(const std::vector<BlockId>& body, std::vector<Range>* loops) {
    for (BlockId b : body) {
      const Control c = s_.blocks[b].control;
      if (auto* st = std::get_if<State>(&c)) {
        std::vector<NodeId> out;
        for (NodeId n : st->statements) HR_RETURN_IF_ERROR(Statement(n, *loops, &out));
        if (!(out == st->statements)) {
          std::get<State>(s_.blocks.Mutable(b).control).statements = std::move(out);
          changed_ = true;
        }
      } else if (auto* l = std::get_if<Loop>(&c)) {
        std::optional<Range> r = AsRange(*l);
        if (r) loops->push_back(*r);
        HR_RETURN_IF_ERROR(Blocks(l->body, loops));
        if (r) loops->pop_back();
      } else if (auto* d = std::get_if<Conditional>(&c)) {
        for (const Branch& br : d->branches) HR_RETURN_IF_ERROR(Blocks(br.body, loops));
      }
    }
    return {};
  }

  Status Statement(NodeId n, const std::vector<Range>& loops, std::vector<NodeId>* out) {
    if (!std::holds_alternative<Map>(s_.nodes[n].body)) {
      out->push_back(n);
      return {};
    }
    std::vector<MapTree> todo = {LoadTree(s_, n)};  // a stack: the last comes first
    bool touched = false;
    for (int pieces = 0; !todo.empty();) {
      MapTree t = std::move(todo.back());
      todo.pop_back();
      std::optional<MapTree> rest;
      HR_ASSIGN_OR_RETURN(bool changed, Local(&t, loops, &rest));
      touched |= changed;
      if (rest) {
        todo.push_back(std::move(*rest));
        todo.push_back(std::move(t));
        if (++pieces > kMaxPieces)
          return WithNode(UnsupportedError("E0807", "the map can't be divided into simpler ones"),
                          s_.nodes[n].origin.Label());
        continue;
      }
      if (!t.body.empty()) out->push_back(touched ? StoreTree(&s_, t) : n);
    }
    return {};
  }

  // Rewrites `t` until it is local, or takes the second half off it.
  Result<bool> Local(MapTree* t, const std::vector<Range>& loops, std::optional<MapTree>* rest) {
    bool changed = SplicePoints(t);
    changed |= ReadBeforeWrite(&c_, t);
    changed |= PromoteElements(&c_, t, expanded_);
    std::set<Name> stubborn;
    RegisterArrays(*t, &stubborn);
    changed |= RenameRegisters(&c_, t, &stubborn);
    for (Name n : stubborn) {
      HR_RETURN_IF_ERROR(Expand(n, {t}, loops));
      changed = true;
    }
    std::optional<TreePath> cut = Cut(*t);
    if (!cut) return changed;
    auto [a, b] = SplitTree(*t, *cut);
    HR_RETURN_IF_ERROR(ExpandShared(&a, &b, loops));
    *t = std::move(a);
    *rest = std::move(b);
    return true;
  }

  // Register arrays that are not set by one statement and then accumulated in one way, before they are read.
  void RegisterArrays(const MapTree& t, std::set<Name>* stubborn) const {
    struct State {
      int sets = 0;
      bool read = false, accumulated = false;
      WriteOp op = WriteOp::kAssign;
    };
    std::unordered_map<Name, State> seen;
    for (const TreeAccess& a : AccessesOf(c_.p, s_, t).all) {
      const Container& c = s_.Get(a.container);
      if (c.storage != Storage::kRegister) continue;
      State& st = seen[a.container];
      if (c.shape.empty()) continue;
      if (a.whole) stubborn->insert(a.container);
      if (!a.write) {
        st.read = true;
      } else if (a.op == WriteOp::kAssign) {
        if (++st.sets > 1 || st.accumulated || st.read || a.guarded) stubborn->insert(a.container);
      } else {
        // Extremes and products need counts beside them, which registers have only of numbers (reverse_map.cc).
        const bool counted = a.op != WriteOp::kAdd;
        if (counted || st.read || a.guarded || (st.accumulated && st.op != a.op) || st.sets == 0)
          stubborn->insert(a.container);
        st.accumulated = true;
        st.op = a.op;
      }
    }
  }

  // ---- where to divide ----
  std::optional<TreePath> Cut(const MapTree& t) {
    const TreeAccesses acc = AccessesOf(c_.p, s_, t);
    // A call or library node is alone in its nest.
    if (acc.leaves.size() > 1)
      for (size_t i = 0; i < acc.leaves.size(); ++i)
        if (acc.leaves[i].opaque) return i == 0 ? Between(acc, 0, 1) : Between(acc, i - 1, i);
    struct Writer {
      size_t leaf;
      WriteOp op;
    };
    std::unordered_map<Name, std::vector<Writer>> writers;
    for (const TreeAccess& a : acc.all) {
      if (s_.Get(a.container).storage == Storage::kRegister) continue;
      std::vector<Writer>& w = writers[a.root];
      if (!a.write) {
        for (const Writer& x : w)
          if (x.leaf < a.leaf) return Between(acc, w.back().leaf < a.leaf ? w.back().leaf : x.leaf, a.leaf);
        continue;
      }
      for (const Writer& x : w) {
        if (x.leaf == a.leaf) continue;
        const bool plain = a.op == WriteOp::kAssign || a.op == WriteOp::kAdd,
                   other = x.op == WriteOp::kAssign || x.op == WriteOp::kAdd;
        if (!plain || !other) return Between(acc, x.leaf, a.leaf);
      }
      w.push_back({a.leaf, a.op});
    }
    return std::nullopt;
  }
  // A position after leaf a and not after leaf b, in the innermost body that holds both, that the fewest registers cross.
  TreePath Between(const TreeAccesses& acc, size_t a, size_t b) const {
    const TreePath &pa = acc.leaves[a].path, &pb = acc.leaves[b].path;
    size_t common = 0;
    while (pa[common] == pb[common]) ++common;
    TreePath best;
    size_t best_count = ~size_t{0};
    for (size_t k = pb[common]; k > pa[common]; --k) {
      TreePath cut(pa.begin(), pa.begin() + static_cast<std::ptrdiff_t>(common));
      cut.push_back(k);
      size_t count = Crossing(acc, cut).size();
      if (count >= best_count) continue;
      best = cut;
      best_count = count;
    }
    return best;
  }
  std::set<Name> Crossing(const TreeAccesses& acc, const TreePath& cut) const {
    std::set<Name> before, both;
    for (const TreeAccess& a : acc.all) {
      if (s_.Get(a.container).storage != Storage::kRegister) continue;
      const TreePath& path = acc.leaves[a.leaf].path;
      if (std::lexicographical_compare(path.begin(), path.end(), cut.begin(), cut.end())) before.insert(a.container);
      else if (before.count(a.container)) both.insert(a.container);
    }
    return both;
  }

  // ---- registers that become arrays ----
  Status ExpandShared(MapTree* a, MapTree* b, const std::vector<Range>& loops) {
    // Anew, as long as some can be computed again: what one of them read may be such a one next.
    for (bool again = true; again;) {
      again = false;
      for (Name n : Shared(*a, *b)) again |= Recompute(n, a, b);
    }
    for (Name n : Shared(*a, *b)) {
      bool written = false;
      for (const TreeAccess& x : AccessesOf(c_.p, s_, *b).all) written |= x.write && x.container == n;
      HR_RETURN_IF_ERROR(written || !s_.Get(n).shape.empty() ? Expand(n, {a, b}, loops) : Store(n, a, b, loops));
    }
    return {};
  }
  std::set<Name> Shared(const MapTree& a, const MapTree& b) const {
    std::set<Name> in_a, both;
    for (const TreeAccess& x : AccessesOf(c_.p, s_, a).all)
      if (s_.Get(x.container).storage == Storage::kRegister) in_a.insert(x.container);
    for (const TreeAccess& x : AccessesOf(c_.p, s_, b).all)
      if (in_a.count(x.container)) both.insert(x.container);
    return both;
  }

  // A register set by one cheap statement from what `a` leaves alone: `b` sets its own.
  bool Recompute(Name reg, MapTree* a, MapTree* b) {
    const TreeAccesses acc = AccessesOf(c_.p, s_, *a);
    const TreeAccess* set = nullptr;
    std::set<Name> written;
    int uses = 0, writes = 0;
    for (const TreeAccess& x : acc.all) {
      if (x.write) written.insert(x.root);
      if (x.container != reg) continue;
      ++uses;
      if (x.write) set = &x, ++writes;
    }
    if (writes != 1 || set->op != WriteOp::kAssign || set->whole || !set->index.empty()) return false;
    const TreePath path = acc.leaves[set->leaf].path;
    const MapTree leaf = At(*a, path);
    int work = 0;
    bool fits = true;
    Visit(leaf.tasklet()->value, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead))
        fits &= !written.count(RootOf(s_, x->name)) && s_.Get(x->name).storage != Storage::kRegister;
      work += x.Is(ExprKind::kCall) ? 8 : x.Is(ExprKind::kBinary);
      return fits;
    });
    if (!fits || (uses > 1 && work > 8)) return false;
    // Its body must go on in `b`: where it stands there, everything that uses it follows.
    MapTree* into = b;
    const MapTree* from = a;
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      if (path[i] + 1 != from->body.size() || into->body.empty() || !into->body[0].IsMap()) return false;
      from = &from->body[path[i]];
      into = &into->body[0];
      if (!(from->IsMap() && SameIndices(*from, *into))) return false;
    }
    const Name own = c_.Register(reg.view(), s_.Get(reg).dtype);
    ReplaceRegister(b, reg, own);
    MapTree copy = leaf;
    copy.tasklet()->target = own;
    into->body.insert(into->body.begin(), std::move(copy));
    if (uses == 1) {
      MapTree& list = At(*a, TreePath(path.begin(), path.end() - 1));
      list.body.erase(list.body.begin() + static_cast<std::ptrdiff_t>(path.back()));
    }
    return true;
  }
  static bool SameIndices(const MapTree& a, const MapTree& b) {
    const auto &x = a.map().ranges, &y = b.map().ranges;
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i].index != y[i].index) return false;
    return true;
  }
  static void ReplaceRegister(MapTree* t, Name reg, Name by) {
    TransformTree(t, [&](const Expr& e) { return RenameContainers(e, {{reg, by}}); });
    std::function<void(MapTree*)> walk = [&](MapTree* x) {
      for (MapTree& c : x->body) walk(&c);
      if (Tasklet* k = x->tasklet(); k && k->target == reg) k->target = by;
    };
    walk(t);
  }

  // `b` only reads the register: `a` keeps it, and leaves its last value in an array.
  Status Store(Name reg, MapTree* a, MapTree* b, const std::vector<Range>& loops) {
    Name array;
    std::vector<Expr> index;
    size_t depth = 0;
    HR_RETURN_IF_ERROR(Array(reg, {a, b}, loops, &array, &index, &depth));
    if (array.empty()) return {};
    HR_RETURN_IF_ERROR(Replace(b, reg, array, index));
    MapTree* list = a;
    size_t ranges = list->map().ranges.size();
    while (ranges < depth && !list->body.empty() && list->body.back().IsMap()) {
      list = &list->body.back();
      ranges += list->map().ranges.size();
    }
    if (ranges != depth) return Replace(a, reg, array, index);
    Tasklet t;
    t.target = array;
    t.index = index;
    t.value = ReadExpr(reg, {});
    MapTree put;
    put.node = std::move(t);
    put.origin = a->origin;
    list->body.push_back(std::move(put));
    return {};
  }

  // One element for every iteration of the maps around all uses.
  Status Expand(Name reg, const std::vector<MapTree*>& trees, const std::vector<Range>& loops) {
    Name array;
    std::vector<Expr> index;
    size_t depth;
    HR_RETURN_IF_ERROR(Array(reg, trees, loops, &array, &index, &depth));
    if (array.empty()) return {};
    for (MapTree* t : trees) HR_RETURN_IF_ERROR(Replace(t, reg, array, index));
    return {};
  }
  // depth: how many ranges the array stands for.
  Status Array(Name reg, const std::vector<MapTree*>& trees, const std::vector<Range>& loops, Name* out,
               std::vector<Expr>* index, size_t* depth) {
    std::optional<std::vector<const MapTree*>> maps;
    for (MapTree* t : trees) {
      const TreeAccesses acc = AccessesOf(c_.p, s_, *t);
      for (const TreeAccess& a : acc.all) {
        if (a.container != reg) continue;
        const std::vector<const MapTree*> m = MapsAround(*t, acc.leaves[a.leaf].path);
        if (!maps) maps = m;
        size_t common = 0;
        while (common < maps->size() && common < m.size() && (*maps)[common]->source == m[common]->source) ++common;
        maps->resize(common);
      }
    }
    if (!maps) return {};
    std::vector<Range> around;
    for (const MapTree* m : *maps) around.insert(around.end(), m->map().ranges.begin(), m->map().ranges.end());
    Container array = s_.Get(reg);
    array.name = names_(reg.view());
    array.storage = Storage::kArena;
    std::vector<Expr> extents;
    std::vector<Range> nest = loops;
    nest.insert(nest.end(), around.begin(), around.end());
    for (const Range& r : around) HR_RETURN_IF_ERROR(Dimension(r, nest, reg, &extents, index));
    extents.insert(extents.end(), array.shape.begin(), array.shape.end());
    array.shape = std::move(extents);
    *out = array.name;
    *depth = around.size();
    expanded_.insert(array.name);
    s_.Add(std::move(array));
    return {};
  }
  // Position of an iteration of `r` in an array of its own, and how many positions there are.
  Status Dimension(const Range& r, const std::vector<Range>& nest, Name reg, std::vector<Expr>* extents,
                   std::vector<Expr>* index) {
    const Expr step = r.step ? r.step : Expr(1);
    std::vector<Name> moving;
    for (const Range& x : nest) moving.push_back(x.index);
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      if (auto* l = std::get_if<Loop>(&s_.blocks[b].control))
        if (!l->var.empty()) moving.push_back(l->var);
    });
    auto fixed = [&](const Expr& e) {
      for (Name n : FreeSymbols(e))
        if (std::find(moving.begin(), moving.end(), n) != moving.end()) return false;
      return true;
    };
    if (fixed(r.begin) && fixed(r.end) && AsInt(step)) {
      extents->push_back(Extent(r));
      Expr at = Expr(r.index) - r.begin;
      if (*AsInt(step) != 1) at = FloorDiv(at, step);
      index->push_back(at);
      return {};
    }
    // The smallest and largest value of the index, over all the loops and maps around.
    Box box = ImageBox(nest, {Expr(r.index)}, {}, s_.assumptions);
    const Range& d = box.subset.dims[0];
    if (AsInt(d.end) == 0 || !fixed(d.begin) || !fixed(d.end))
      return UnsupportedError("E0807", 
          "register '" + reg.str() + "' would need an array whose size over index '" + r.index.str() + "' is not known",
          "give the map bounds that sizes decide");
    extents->push_back(Max(Expr(0), d.end - d.begin));
    index->push_back(Expr(r.index) - d.begin);
    return {};
  }
  Expr Extent(const Range& r) const {
    const int64_t step = r.step ? *AsInt(r.step) : 1;
    if (step == 1 && AsInt(r.begin) == 0 && ProveLe(Expr(0), r.end, s_.assumptions) == Truth::kYes) return r.end;
    return TripCount(r);
  }

  Status Replace(MapTree* t, Name reg, Name array, const std::vector<Expr>& index) {
    TransformTree(t, [&](const Expr& e) {
      return Transform(e, [&](const Expr& x) -> Expr {
        if (!x.Is(ExprKind::kRead) || x->name != reg) return x;
        std::vector<Expr> at = index, own = IndexOf(x);
        at.insert(at.end(), own.begin(), own.end());
        Expr y = ReadExpr(array, std::move(at), x->has_default ? x->args.back() : Expr());
        return x->dtype == DType::kNone ? y : WithType(y, x->dtype);
      });
    });
    Status status;
    std::function<void(MapTree*)> walk = [&](MapTree* x) {
      for (MapTree& c : x->body) walk(&c);
      if (Tasklet* k = x->tasklet(); k && k->target == reg) {
        k->target = array;
        k->index.insert(k->index.begin(), index.begin(), index.end());
      } else if (auto* n = std::get_if<Nested>(&x->node)) {
        for (Argument& a : n->arguments)
          if (a.container == reg) {
            a.container = array;
            a.index.insert(a.index.begin(), index.begin(), index.end());
          }
      } else if (auto* l = std::get_if<Library>(&x->node)) {
        for (auto* ports : {&l->inputs, &l->outputs})
          for (const Port& q : *ports)
            if (q.container == reg)
              status = WithNode(
                  UnsupportedError("E0807",
                                   "a library node inside a map has the register '" + reg.str() + "' as an argument",
                                   "give it whole containers, or an implementation that can be inlined"),
                  x->origin.Label(), l->domain.str() + "." + l->op.str());
      }
    };
    walk(t);
    return status;
  }

  Sdfg& s_;
  FreshNames names_;
  LocalContext c_;
  std::set<Name> expanded_;  // arrays that were registers
  bool changed_ = false;
};

}  // namespace

Result<bool> LocalizeMaps(Program& p) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    const Program before = p;
    HR_ASSIGN_OR_RETURN(bool c, Localizer(before, &p.Mutable(p.sdfgs[i]->name)).Run());
    changed |= c;
  }
  return changed;
}

}  // namespace headrace::autodiff
