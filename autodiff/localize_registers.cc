// Within one map: single assignment of registers, array elements kept in registers.
#include <algorithm>
#include <memory>

#include "autodiff/map_tree.h"
#include "ir/analysis/type_inference.h"

namespace headrace::autodiff {
namespace {

// What a register holds at a point of the program.
struct Version {
  Name name;
  const void* list;               // the body that set it
  WriteOp op = WriteOp::kAssign;  // accumulated by, since
  bool read = false;
};
using Env = std::unordered_map<Name, std::shared_ptr<Version>>;

bool Reads(const Expr& e, Name n) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    found |= x.Is(ExprKind::kRead) && x->name == n;
    return !found;
  });
  return found;
}

class Renamer {
 public:
  Renamer(LocalContext* c, std::set<Name>* stubborn) : c_(*c), stubborn_(*stubborn) {}

  bool Run(MapTree* root) {
    // Once to see who can't be renamed, without keeping the result.
    size_t known;
    do {
      known = stubborn_.size();
      MapTree trial = *root;
      dry_ = true;
      seen_.clear();
      Env env;
      List(&trial, &env);
    } while (stubborn_.size() != known);
    dry_ = changed_ = false;
    seen_.clear();
    Env env;
    List(root, &env);
    return changed_;
  }

 private:
  bool Ours(Name n) const {
    const Container* c = c_.s.Find(n);
    return c && c->storage == Storage::kRegister && c->shape.empty() && !stubborn_.count(n);
  }
  Name New(Name n) {
    if (seen_.insert(n).second) return n;
    changed_ = true;
    return dry_ ? Name(n.str() + "'") : c_.Register(n.view(), c_.s.Get(n).dtype);
  }

  void List(MapTree* t, Env* env) {
    std::vector<MapTree> out;
    for (MapTree& item : t->body) {
      if (item.IsMap()) {
        BeforeInner(item, t, env, &out);
        Env inner = *env;
        List(&item, &inner);
        // What was set inside has no value here.
        for (auto& [n, v] : inner) {
          auto it = env->find(n);
          if (it == env->end() || it->second != v) (*env)[n] = nullptr;
        }
        out.push_back(std::move(item));
      } else if (item.tasklet()) {
        Tasklet& k = *item.tasklet();
        Leaf(t, &k, env);
        out.push_back(std::move(item));
      } else {
        Opaque(&item, env);
        out.push_back(std::move(item));
      }
    }
    t->body = std::move(out);
  }

  Expr Renamed(const Expr& e, Env* env) {
    if (!e) return e;
    return Transform(e, [&](const Expr& x) -> Expr {
      if (!x.Is(ExprKind::kRead) || !Ours(x->name)) return x;
      auto it = env->find(x->name);
      if (it == env->end() || !it->second) {
        stubborn_.insert(x->name);
        return x;
      }
      it->second->read = true;
      if (it->second->name == x->name) return x;
      Expr r = ReadExpr(it->second->name, {});
      return x->dtype == DType::kNone ? r : WithType(r, x->dtype);
    });
  }

  void Leaf(MapTree* list, Tasklet* k, Env* env) {
    const Name n = k->target;
    const bool ours = Ours(n);
    const bool self = ours && k->op != WriteOp::kAssign && Reads(k->value, n);
    for (Expr& e : k->index) e = Renamed(e, env);
    if (!ours) {
      k->value = Renamed(k->value, env);
      return;
    }
    if (k->guarded) return void(stubborn_.insert(n));
    if (k->op == WriteOp::kAssign) {
      k->value = Renamed(k->value, env);
      Set(list, k, n, env);
      return;
    }
    auto it = env->find(n);
    if (it == env->end() || !it->second) return void(stubborn_.insert(n));
    std::shared_ptr<Version> v = it->second;
    const bool here = v->list == list;
    const bool fits = !v->read && !self && (v->op == WriteOp::kAssign || v->op == k->op);
    if (here && (!fits || k->op != WriteOp::kAdd)) {
      // r *= e  →  r_1 = r * e
      if (!Plain(n, k->value)) return void(stubborn_.insert(n));
      Expr value = Renamed(k->value, env);
      Expr old = ReadExpr(v->name, {});
      k->value = k->op == WriteOp::kAdd   ? BinaryExpr(Op::kAdd, old, value)
                 : k->op == WriteOp::kMul ? BinaryExpr(Op::kMul, old, value)
                                          : CallExpr(k->op == WriteOp::kMax ? "max" : "min", {old, value});
      k->op = WriteOp::kAssign;
      v->read = true;
      Set(list, k, n, env);
      return;
    }
    if (!fits) return void(stubborn_.insert(n));
    v->op = k->op;
    k->value = Renamed(k->value, env);
    k->target = v->name;
  }
  void Set(MapTree* list, Tasklet* k, Name n, Env* env) {
    auto v = std::make_shared<Version>();
    v->name = New(n);
    v->list = list;
    k->target = v->name;
    (*env)[n] = v;
  }
  // `r + e` means what `r += e` did: no rounding in between that only one of them has.
  bool Plain(Name n, const Expr& value) const {
    const DType t = c_.s.Get(n).dtype;
    Result<Expr> typed = InferTypes(c_.s, value, t);
    return typed.ok() && (*typed)->dtype == t && ComputeType(t) == t;
  }

  // An inner map that accumulates into a register that was read, or accumulated in another way, gets a copy to start from.
  void BeforeInner(const MapTree& item, MapTree* list, Env* env, std::vector<MapTree>* out) {
    std::unordered_map<Name, WriteOp> ops;
    std::set<Name> mixed;
    Accumulated(item, &ops, &mixed);
    std::vector<Name> names;
    for (const auto& o : ops) names.push_back(o.first);
    std::sort(names.begin(), names.end());
    for (Name n : names) {
      if (mixed.count(n)) {
        stubborn_.insert(n);
        continue;
      }
      auto it = env->find(n);
      if (it == env->end() || !it->second) continue;
      std::shared_ptr<Version> v = it->second;
      if (!v->read && (v->op == WriteOp::kAssign || v->op == ops[n])) continue;
      if (v->list != list) {
        stubborn_.insert(n);
        continue;
      }
      Tasklet copy;
      copy.value = ReadExpr(v->name, {});
      v->read = true;
      Set(list, &copy, n, env);
      MapTree t;
      t.node = std::move(copy);
      t.origin = item.origin;
      out->push_back(std::move(t));
    }
  }
  // Registers from outside that a subtree accumulates into, by which operator; mixed: by several, or also set there.
  void Accumulated(const MapTree& t, std::unordered_map<Name, WriteOp>* ops, std::set<Name>* mixed) const {
    std::set<Name> set_here;
    std::function<void(const MapTree&)> walk = [&](const MapTree& x) {
      for (const MapTree& c : x.body) walk(c);
      const Tasklet* k = x.tasklet();
      if (!k || !Ours(k->target)) return;
      if (k->op == WriteOp::kAssign) {
        set_here.insert(k->target);
        return;
      }
      if (set_here.count(k->target)) return;  // its own, set before
      auto [it, fresh] = ops->emplace(k->target, k->op);
      if (!fresh && it->second != k->op) mixed->insert(k->target);
    };
    walk(t);
    for (const auto& o : *ops)
      if (set_here.count(o.first)) mixed->insert(o.first);
  }

  void Opaque(MapTree* t, Env* env) {
    // A call may set its arguments: such registers become arrays.
    auto use = [&](Name n) {
      if (Ours(n)) stubborn_.insert(n);
    };
    if (auto* l = std::get_if<Library>(&t->node)) {
      for (const Port& p : l->inputs) use(p.container);
      for (const Port& p : l->outputs) use(p.container);
    } else if (auto* n = std::get_if<Nested>(&t->node)) {
      for (Argument& a : n->arguments) {
        use(a.container);
        for (Expr& e : a.index) e = Renamed(e, env);
      }
      for (auto& x : n->symbols) x.second = Renamed(x.second, env);
    }
  }

  LocalContext& c_;
  std::set<Name>& stubborn_;
  std::set<Name> seen_;
  bool dry_ = false, changed_ = false;
};

bool SameElement(const TreeAccess& a, const TreeAccess& b) {
  return a.container == b.container && a.flat == b.flat && a.index == b.index && !a.whole && !b.whole;
}

}  // namespace

Name LocalContext::Register(std::string_view stem, DType t) {
  Container c;
  c.name = names(stem);
  c.dtype = t;
  c.storage = Storage::kRegister;
  Name n = c.name;
  s.Add(std::move(c));
  return n;
}

bool SplicePoints(MapTree* t) {
  bool changed = false;
  std::vector<MapTree> out;
  for (MapTree& item : t->body) {
    changed |= SplicePoints(&item);
    if (!item.IsMap()) {
      out.push_back(std::move(item));
      continue;
    }
    NameMap points;
    std::vector<Range> kept;
    for (const Range& r : item.map().ranges) {
      auto b = AsInt(r.begin), e = AsInt(r.end);
      const int64_t step = r.step ? AsInt(r.step).value_or(0) : 1;
      const bool point = b && e && step != 0 && (step > 0 ? *b < *e && *b + step >= *e : *b > *e && *b + step <= *e);
      if (point) points.push_back({r.index, r.begin});
      else kept.push_back(r);
    }
    if (points.empty()) {
      out.push_back(std::move(item));
      continue;
    }
    changed = true;
    item.map().ranges = kept;
    TransformTree(&item, [&](const Expr& e) { return Substitute(e, points); });
    if (!kept.empty()) {
      item.map().schedule = {};
      out.push_back(std::move(item));
    } else {
      for (MapTree& c : item.body) out.push_back(std::move(c));
    }
  }
  t->body = std::move(out);
  return changed;
}

bool RenameRegisters(LocalContext* c, MapTree* root, std::set<Name>* stubborn) {
  return Renamer(c, stubborn).Run(root);
}

bool ReadBeforeWrite(LocalContext* c, MapTree* t) {
  bool changed = false;
  std::vector<MapTree> out;
  for (MapTree& item : t->body) {
    if (item.IsMap()) changed |= ReadBeforeWrite(c, &item);
    Tasklet* k = item.tasklet();
    const Container* target = k ? c->s.Find(k->target) : nullptr;
    bool elsewhere = false;
    if (target && target->storage != Storage::kRegister) {
      const Name root = RootOf(c->s, k->target);
      auto look = [&](const Expr& e, bool in_index) {
        Visit(e, [&](const Expr& x) {
          if (!x.Is(ExprKind::kRead) || RootOf(c->s, x->name) != root) return true;
          elsewhere |= in_index || k->op != WriteOp::kAssign || x->name != k->target || x->flat != k->flat ||
                       IndexOf(x) != k->index;
          return true;
        });
      };
      look(k->value, false);
    }
    if (elsewhere) {
      Tasklet value;
      value.target = c->Register("value", target->dtype);
      value.value = k->value;
      k->value = ReadExpr(value.target, {});
      MapTree before;
      before.node = std::move(value);
      before.origin = item.origin;
      out.push_back(std::move(before));
      changed = true;
    }
    out.push_back(std::move(item));
  }
  t->body = std::move(out);
  return changed;
}

bool PromoteElements(LocalContext* c, MapTree* root, const std::set<Name>& keep) {
  bool changed = false;
  std::set<Name> tried = keep;
  for (bool again = true; again;) {
    again = false;
    const TreeAccesses acc = AccessesOf(c->p, c->s, *root);
    std::unordered_map<Name, std::vector<const TreeAccess*>> by_root;
    std::set<Name> written;
    std::vector<Name> roots;
    for (const TreeAccess& a : acc.all) {
      if (c->s.Get(a.container).storage == Storage::kRegister) continue;
      if (by_root[a.root].empty()) roots.push_back(a.root);
      by_root[a.root].push_back(&a);
      if (a.write) written.insert(a.root);
    }
    for (Name r : roots) {
      if (!written.count(r) || tried.count(r)) continue;
      const std::vector<const TreeAccess*>& uses = by_root[r];
      size_t first = 0;
      while (!uses[first]->write) ++first;
      const TreeAccess& w = *uses[first];
      bool worth = false, fits = !w.guarded && !w.whole && c->s.Get(w.container).dtype != DType::kString;
      for (size_t i = first + 1; i < uses.size(); ++i) {
        const TreeAccess& u = *uses[i];
        worth |= !u.write || (u.op != WriteOp::kAssign && u.op != WriteOp::kAdd && w.op == WriteOp::kAssign);
        fits &= SameElement(u, w) && !u.guarded;
      }
      if (!worth || !fits) continue;
      tried.insert(r);
      for (const Expr& e : w.index)
        for (Name n : ReadContainers(e))
          fits &= !written.count(RootOf(c->s, n)) && c->s.Get(n).storage != Storage::kRegister;
      // The body that holds all uses from the first write on.
      TreePath home = acc.leaves[w.leaf].path;
      home.pop_back();
      for (size_t i = first; i < uses.size(); ++i) {
        const TreePath& path = acc.leaves[uses[i]->leaf].path;
        size_t common = 0;
        while (common < home.size() && home[common] == path[common]) ++common;
        home.resize(common);
      }
      auto inside = [&](const TreePath& path) { return path.size() == home.size() + 1; };
      std::set<Name> known;
      for (const Range& g : RangesAround(*root, home)) known.insert(g.index);
      std::set<Name> deeper;
      {
        const TreePath& path = acc.leaves[w.leaf].path;
        for (const Range& g : RangesAround(*root, TreePath(path.begin(), path.end() - 1)))
          if (!known.count(g.index)) deeper.insert(g.index);
      }
      for (const Expr& e : w.index)
        for (Name n : FreeSymbols(e)) fits &= !deeper.count(n);
      bool direct = false;
      for (size_t i = first; i < uses.size(); ++i) direct |= inside(acc.leaves[uses[i]->leaf].path);
      if (!fits || !direct) continue;
      const bool load = w.op != WriteOp::kAssign || !inside(acc.leaves[w.leaf].path);

      const Name reg = c->Register(w.container.view(), c->s.Get(w.container).dtype);
      const Name container = w.container;
      const std::vector<Expr> index = w.index;
      const bool flat = w.flat;
      const size_t from = acc.leaves[w.leaf].path[home.size()];
      const size_t to = acc.leaves[uses.back()->leaf].path[home.size()];
      MapTree& list = At(*root, home);
      size_t leaf = 0;
      std::function<void(MapTree*)> rewrite = [&](MapTree* t) {
        if (t->IsMap()) {
          for (MapTree& x : t->body) rewrite(&x);
          return;
        }
        const size_t me = leaf++;
        Tasklet* k = t->tasklet();
        if (!k || me < w.leaf) return;
        auto fix = [&](const Expr& e) {
          return Transform(e, [&](const Expr& x) -> Expr {
            if (!x.Is(ExprKind::kRead) || x->name != container) return x;
            Expr y = ReadExpr(reg, {});
            return x->dtype == DType::kNone ? y : WithType(y, x->dtype);
          });
        };
        if (me > w.leaf) {  // the first writer reads what was there before
          k->value = fix(k->value);
          for (Expr& e : k->index) e = fix(e);
        }
        if (k->target == container) {
          k->target = reg;
          k->index.clear();
          k->flat = false;
        }
      };
      rewrite(root);
      Tasklet store;
      store.target = container;
      store.index = index;
      store.flat = flat;
      store.value = ReadExpr(reg, {});
      MapTree put;
      put.node = std::move(store);
      put.origin = list.body[to].origin;
      if (load) {
        Tasklet fetch;
        fetch.target = reg;
        fetch.value = ReadExpr(container, index, {}, flat);
        MapTree get;
        get.node = std::move(fetch);
        get.origin = list.body[from].origin;
        list.body.insert(list.body.begin() + static_cast<std::ptrdiff_t>(to) + 1, std::move(put));
        list.body.insert(list.body.begin() + static_cast<std::ptrdiff_t>(from), std::move(get));
      } else {
        list.body.insert(list.body.begin() + static_cast<std::ptrdiff_t>(to) + 1, std::move(put));
      }
      changed = again = true;
      break;  // positions moved
    }
  }
  return changed;
}

}  // namespace headrace::autodiff
