#include "autodiff/fix_sizes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "autodiff/changing_symbols.h"
#include "autodiff/emit.h"
#include "ir/analysis/dataflow.h"

namespace headrace::autodiff {
namespace {

class SizeFixer {
 public:
  SizeFixer(Program* p, const ChangingSymbols& changing)
      : p_(*p), s_(p->MutableEntry()), changing_(changing), names_(s_) {}

  Status Run() {
    for (Name n : s_.order) {
      const Container& c = s_.Get(n);
      if (c.kind == ContainerKind::kView || c.storage == Storage::kRegister || !changing_.InLayout(c)) continue;
      if (c.kind != ContainerKind::kTransient || !c.strides.empty()) return Refuse(c);
      stores_.push_back(n);
    }
    for (Name n : changing_.all()) {
      Container c;
      c.name = now_[n] = names_(n.str() + "_now");
      c.dtype = DType::kI64;
      s_.Add(std::move(c));
    }
    const Sdfg before = s_;
    std::vector<BlockId> body = s_.body;
    BlockList start(&s_);
    if (!stores_.empty()) HR_RETURN_IF_ERROR(FindSizes(before, &start));
    Scope scope;
    start.Blocks(Blocks(body, &scope));
    s_.body = start.Take();
    RemoveReplaced();
    return {};
  }

 private:
  using Scope = std::map<Name, Name>;  // changing symbol → the one that has its value here

  Status Refuse(const Container& c) const {
    return UnsupportedError("E0804", 
        "the size of '" + c.name.str() + "' changes while the program runs, so its gradient has no fixed size",
        "give it its largest size");
  }

  // ---- the largest size that containers take ----
  Status FindSizes(const Sdfg& before, BlockList* start) {
    Sdfg f = before;
    f.name = s_.name.str() + "_sizes";
    for (int k = 1; p_.Find(f.name); ++k) f.name = s_.name.str() + "_sizes_" + std::to_string(k);
    std::vector<Name> largest;
    for (Name n : stores_) {
      Container c;
      c.name = names_("largest_" + n.str());
      c.dtype = DType::kI64;
      s_.Add(c);
      c.kind = ContainerKind::kParameter;
      f.Add(c);
      f.parameters.push_back(c.name);
      largest.push_back(c.name);
    }
    // Only what comes before the last use of such a container.
    size_t last = 0;
    for (size_t b = 0; b < f.body.size(); ++b)
      for (const Touched& t : TouchedBy(p_, before, f.body[b]))
        if (std::find(stores_.begin(), stores_.end(), t.root) != stores_.end()) last = b + 1;
    f.body.resize(last);
    const std::vector<BlockId> body = Measured(&f, f.body, largest);
    BlockList all(&f);
    for (Name n : largest) all.Statement(AddTasklet(&f, n, {}, Expr(0)));
    // What the program writes, this one writes to copies.
    Nested call;
    call.callee = f.name;
    Renames copies;
    std::set<Name> written;
    for (BlockId b : before.body)
      for (const Touched& t : TouchedBy(p_, before, b))
        if (t.write) written.insert(t.root);
    FreshNames fresh(f);
    for (Name n : std::vector<Name>(f.parameters)) {
      Container& c = f.Mutable(n);
      const bool found = std::find(largest.begin(), largest.end(), n) != largest.end();
      if (found || !written.count(n)) {
        call.arguments.push_back({n, n, {}});
        continue;
      }
      if (!c.inout) {
        c.kind = ContainerKind::kTransient;
        c.output = c.optional = false;
        f.parameters.erase(std::find(f.parameters.begin(), f.parameters.end(), n));
        continue;
      }
      Container copy = c;
      c.inout = false;
      copy.kind = ContainerKind::kTransient;
      copy.inout = false;
      copy.name = fresh(n.str() + "_copy");
      copies.push_back({n, copy.name});
      f.Add(copy);
      call.arguments.push_back({n, n, {}});
    }
    for (Name n : f.order) {
      if (f.Get(n).kind == ContainerKind::kState && written.count(n)) return Refuse(before.Get(stores_[0]));
      if (f.Get(n).kind != ContainerKind::kView) continue;
      Container& c = f.Mutable(n);
      for (const auto& r : copies)
        if (c.base == r.first) c.base = r.second;
    }
    for (const auto& r : copies) all.Statement(CopyWhole(&f, &fresh, r.second, r.first));
    all.Blocks(CloneBlocks(&f, body, copies));
    f.body = all.Take();
    std::vector<Name> order = f.parameters;
    for (Name n : f.order)
      if (f.Get(n).kind != ContainerKind::kParameter) order.push_back(n);
    f.order = order;
    f.symbol_params.clear();
    const std::vector<Name> bound = FreeSymbols(f);
    std::set<Name> own;  // sizes of outputs that the program finds itself
    Defined(before.body, &own);
    for (Name n : FreeSymbols(s_))
      if (std::find(bound.begin(), bound.end(), n) == bound.end() && !own.count(n)) f.symbol_params.push_back(n);
    for (Name n : f.symbol_params) call.symbols.push_back({n, Expr(n)});
    p_.Add(std::move(f));
    start->Statement(s_.AddNode(std::move(call)));
    for (size_t i = 0; i < stores_.size(); ++i) {
      Container store = s_.Get(stores_[i]);
      const Name size = names_("size_of_" + stores_[i].str());
      start->Let(size, ReadExpr(largest[i], {}));
      store.name = store_of_[stores_[i]] = names_(stores_[i].str() + "_store");
      store.shape = {SymbolExpr(size)};
      s_.Add(std::move(store));
    }
    return {};
  }
  // Before each block that touches such a container: its size.
  std::vector<BlockId> Measured(Sdfg* f, const std::vector<BlockId>& body, const std::vector<Name>& largest) {
    BlockList out(f);
    for (BlockId b : body) {
      Control c = f->blocks[b].control;
      if (auto* st = std::get_if<State>(&c)) {
        for (NodeId n : st->statements) {
          out.Statement(n);
          const std::vector<Touched> touched = TouchedBy(p_, *f, n);
          for (size_t i = 0; i < stores_.size(); ++i)
            if (std::any_of(touched.begin(), touched.end(), [&](const Touched& t) { return t.root == stores_[i]; }))
              out.Statement(AddTasklet(f, largest[i], {}, NumElements(f->Get(stores_[i])), WriteOp::kMax));
        }
        continue;
      }
      if (auto* l = std::get_if<Loop>(&c)) l->body = Measured(f, l->body, largest);
      if (auto* d = std::get_if<Conditional>(&c))
        for (Branch& br : d->branches) br.body = Measured(f, br.body, largest);
      out.Block(f->AddBlock(std::move(c), f->blocks[b].origin));
    }
    return out.Take();
  }

  // ---- one definition per symbol ----
  void Defined(const std::vector<BlockId>& body, std::set<Name>* out) const {
    ForEachBlock(s_, body, [&](BlockId b) {
      const Control& c = s_.blocks[b].control;
      if (auto* a = std::get_if<Assign>(&c)) out->insert(a->symbol);
      if (auto* st = std::get_if<State>(&c))
        for (NodeId n : st->statements)
          if (auto* l = std::get_if<Library>(&s_.nodes[n].body)) out->insert(l->defines.begin(), l->defines.end());
    });
  }
  std::vector<BlockId> Blocks(const std::vector<BlockId>& body, Scope* scope) {
    BlockList out(&s_);
    for (BlockId b : body) {
      const Control c = s_.blocks[b].control;
      const Origin origin = s_.blocks[b].origin;
      if (auto* a = std::get_if<Assign>(&c)) {
        Expr value = In(a->value, scope, &out);
        if (!changing_.all().count(a->symbol)) {
          out.Block(s_.AddBlock(Assign{a->symbol, value}, origin));
          continue;
        }
        const Name own = names_(a->symbol.view());
        out.Block(s_.AddBlock(Assign{own, value}, origin));
        Set(a->symbol, own, scope, &out);
      } else if (auto* r = std::get_if<Require>(&c)) {
        Require copy = *r;
        copy.condition = In(copy.condition, scope, &out);
        for (Expr& e : copy.values) e = In(e, scope, &out);
        out.Block(s_.AddBlock(std::move(copy), origin));
      } else if (auto* st = std::get_if<State>(&c)) {
        for (NodeId n : st->statements) Statement(n, scope, &out);
      } else if (auto* l = std::get_if<Loop>(&c)) {
        std::set<Name> inside;
        Defined(l->body, &inside);
        Loop copy = *l;
        copy.init = In(l->init, scope, &out);
        for (Name n : inside) scope->erase(n);
        for (Expr* e : {&copy.condition, &copy.update}) *e = In(Latest(*e, inside), scope, &out);
        // What the body needs of before is named before: definitions in a loop run once per iteration.
        for (Name n : UsedIn(l->body))
          if (!inside.count(n) && changing_.all().count(n)) Get(n, scope, &out);
        Scope own = *scope;
        copy.body = Blocks(l->body, &own);
        out.Block(s_.AddBlock(std::move(copy), origin));
      } else if (auto* d = std::get_if<Conditional>(&c)) {
        Conditional copy = *d;
        std::set<Name> inside;
        for (Branch& br : copy.branches) {
          if (br.condition) br.condition = In(br.condition, scope, &out);
          Defined(br.body, &inside);
        }
        for (Branch& br : copy.branches) {
          Scope own = *scope;
          br.body = Blocks(br.body, &own);
        }
        for (Name n : inside) scope->erase(n);
        out.Block(s_.AddBlock(std::move(copy), origin));
      } else {
        out.Block(b);
      }
    }
    return out.Take();
  }
  void Set(Name symbol, Name own, Scope* scope, BlockList* out) {
    out->Statement(AddTasklet(&s_, now_[symbol], {}, SymbolExpr(own)));
    (*scope)[symbol] = own;
  }
  Name Get(Name symbol, Scope* scope, BlockList* out) {
    auto it = scope->find(symbol);
    if (it != scope->end()) return it->second;
    const Name own = names_(symbol.view());
    out->Let(own, ReadExpr(now_[symbol], {}));
    return (*scope)[symbol] = own;
  }
  // Symbols that change while a loop runs, read where they stand.
  Expr Latest(const Expr& e, const std::set<Name>& inside) {
    if (!e) return e;
    NameMap map;
    for (Name n : FreeSymbols(e))
      if (inside.count(n) && changing_.all().count(n)) map.push_back({n, ReadExpr(now_[n], {})});
    return map.empty() ? e : Substitute(e, map);
  }
  std::set<Name> UsedIn(const std::vector<BlockId>& body) {
    std::set<Name> out;
    auto expr = [&](const Expr& e) {
      if (!e) return;
      for (Name n : FreeSymbols(e)) out.insert(n);
      for (Name n : ReadContainers(e)) Layout(n, &out);
    };
    std::function<void(NodeId)> node = [&](NodeId n) {
      const Body& b = s_.nodes[n].body;
      if (auto* m = std::get_if<Map>(&b)) {
        for (const Range& r : m->ranges) expr(r.begin), expr(r.end), expr(r.step);
        for (NodeId c : m->body) node(c);
      } else if (auto* t = std::get_if<Tasklet>(&b)) {
        Layout(t->target, &out);
        expr(t->value);
        for (const Expr& e : t->index) expr(e);
      } else if (auto* l = std::get_if<Library>(&b)) {
        for (const auto* ports : {&l->inputs, &l->outputs})
          for (const Port& p : *ports)
            if (!p.container.empty()) Layout(p.container, &out);
      }
    };
    ForEachBlock(s_, body, [&](BlockId b) {
      const Control& c = s_.blocks[b].control;
      if (auto* st = std::get_if<State>(&c))
        for (NodeId n : st->statements) node(n);
      if (auto* l = std::get_if<Loop>(&c)) expr(l->init), expr(l->condition), expr(l->update);
      if (auto* d = std::get_if<Conditional>(&c))
        for (const Branch& br : d->branches) expr(br.condition);
      if (auto* a = std::get_if<Assign>(&c)) expr(a->value);
      if (auto* r = std::get_if<Require>(&c)) expr(r->condition);
    });
    return out;
  }
  void Layout(Name container, std::set<Name>* out) const {
    const Container& c = s_.Get(container);
    for (const auto* list : {&c.shape, &c.strides})
      for (const Expr& e : *list)
        for (Name n : FreeSymbols(e)) out->insert(n);
    if (c.kind != ContainerKind::kView) return;
    if (c.offset)
      for (Name n : FreeSymbols(c.offset)) out->insert(n);
    Layout(c.base, out);
  }

  // An expression as it reads here.
  Expr In(const Expr& e, Scope* scope, BlockList* out) {
    if (!e) return e;
    Expr result = e;
    Renames renames;
    for (Name n : ReadContainers(e))
      if (const Name here = ContainerIn(n, scope, out); here != n) renames.push_back({n, here});
    if (!renames.empty()) result = RenameContainers(result, renames);
    NameMap map;
    for (Name n : FreeSymbols(result))
      if (changing_.all().count(n)) map.push_back({n, SymbolExpr(Get(n, scope, out))});
    return map.empty() ? result : Substitute(result, map);
  }
  // A container under the sizes that hold here: a view.
  Name ContainerIn(Name n, Scope* scope, BlockList* out) {
    const Container c = s_.Get(n);
    const bool view = c.kind == ContainerKind::kView;
    const Name base = view ? ContainerIn(c.base, scope, out) : Name();
    auto store = store_of_.find(n);
    if (store == store_of_.end() && !(view && (base != c.base || changing_.InLayout(c)))) return n;
    Container here = c;
    auto sized = [&](std::vector<Expr>* list) {
      for (Expr& e : *list) e = In(e, scope, out);
    };
    sized(&here.shape);
    sized(&here.strides);
    if (here.offset) here.offset = In(here.offset, scope, out);
    here.kind = ContainerKind::kView;
    here.base = view ? base : store->second;
    if (!view) here.offset = Expr(0);
    std::string key = n.str() + "|" + here.base.str();
    for (const auto* list : {&here.shape, &here.strides})
      for (const Expr& e : *list) key += "|" + ToString(e);
    if (here.offset) key += "|" + ToString(here.offset);
    auto [it, fresh] = views_.emplace(key, Name());
    if (fresh) {
      here.name = it->second = names_(n.view());
      s_.Add(std::move(here));
    }
    return it->second;
  }

  void Statement(NodeId n, Scope* scope, BlockList* out) {
    if (auto* l = std::get_if<Library>(&s_.nodes[n].body)) {
      Library copy = *l;
      const Origin origin = s_.nodes[n].origin;
      for (Port& p : copy.inputs)
        if (!p.container.empty()) p.container = ContainerIn(p.container, scope, out);
      // What the node sizes itself is a container of its own, copied from there.
      NameMap sizes;
      for (Name& d : copy.defines)
        if (changing_.all().count(d)) {
          const Name own = names_(d.view());
          sizes.push_back({d, SymbolExpr(own)});
          d = own;
        }
      std::vector<std::pair<Name, Name>> copies;
      for (Port& p : copy.outputs) {
        if (p.container.empty()) continue;
        bool sized = false;
        for (const Expr& e : s_.Get(p.container).shape) sized |= Substitute(e, sizes) != e;
        if (!sized) {
          p.container = ContainerIn(p.container, scope, out);
          continue;
        }
        Container raw = s_.Get(p.container);
        for (Expr& e : raw.shape) e = In(Substitute(e, sizes), scope, out);
        raw.name = names_(p.container.str() + "_whole");
        raw.origin = Origin(p.container);
        copies.push_back({p.container, raw.name});
        p.container = raw.name;
        s_.Add(std::move(raw));
      }
      out->Statement(s_.AddNode(std::move(copy), origin));
      for (const auto& [symbol, own] : sizes) {
        const Name here = names_(symbol.view());
        out->Let(here, own);
        Set(symbol, here, scope, out);
      }
      for (const auto& [target, raw] : copies)
        out->Statement(CopyWhole(&s_, &names_, ContainerIn(target, scope, out), raw));
      return;
    }
    // Names first: they are blocks of their own.
    BlockList lets(&s_);
    const NodeId copy = Copy(n, scope, &lets);
    out->Blocks(lets.Take());
    out->Statement(copy);
  }
  NodeId Copy(NodeId n, Scope* scope, BlockList* out) {
    Node copy = s_.nodes[n];
    if (auto* m = std::get_if<Map>(&copy.body)) {
      for (Range& r : m->ranges)
        for (Expr* e : {&r.begin, &r.end, &r.step}) *e = In(*e, scope, out);
      for (NodeId& c : m->body) c = Copy(c, scope, out);
    } else if (auto* t = std::get_if<Tasklet>(&copy.body)) {
      t->target = ContainerIn(t->target, scope, out);
      t->value = In(t->value, scope, out);
      for (Expr& e : t->index) e = In(e, scope, out);
    } else if (auto* l = std::get_if<Library>(&copy.body)) {
      for (auto* ports : {&l->inputs, &l->outputs})
        for (Port& p : *ports)
          if (!p.container.empty()) p.container = ContainerIn(p.container, scope, out);
    }
    return s_.AddNode(std::move(copy.body), copy.origin);
  }

  // Containers that views have taken the place of, and views of them.
  void RemoveReplaced() {
    std::function<bool(Name)> replaced = [&](Name n) {
      const Container& c = s_.Get(n);
      return store_of_.count(n) || (c.kind == ContainerKind::kView && (changing_.InLayout(c) || replaced(c.base)));
    };
    std::vector<Name> old;
    for (Name n : s_.order)
      if (replaced(n)) old.push_back(n);
    for (Name n : old) s_.Remove(n);
  }

  Program& p_;
  Sdfg& s_;
  const ChangingSymbols& changing_;
  FreshNames names_;
  std::vector<Name> stores_;  // containers whose size changes
  std::map<Name, Name> store_of_, now_;
  std::map<std::string, Name> views_;
};

// Outputs whose size changes are computed in a transient, and copied at the end under the size that they then have.
void OwnOutputs(Sdfg* s) {
  const ChangingSymbols changing(*s);
  FreshNames names(*s);
  Renames renames;
  for (Name n : s->parameters)
    if (const Container& c = s->Get(n); !c.inout && changing.InLayout(c) && c.strides.empty())
      renames.push_back({n, names("own_" + n.str())});
  if (renames.empty()) return;
  RenameEverywhere(s, renames);
  BlockList body(s);
  body.Blocks(s->body);
  for (const auto& [output, own] : renames) {
    Container transient = s->Get(output);
    transient.name = own;
    transient.kind = ContainerKind::kTransient;
    transient.output = transient.optional = false;
    for (Name n : std::vector<Name>(s->order))
      if (s->Get(n).kind == ContainerKind::kView && s->Get(n).base == output) s->Mutable(n).base = own;
    for (size_t d = 0; d < transient.shape.size(); ++d) {
      Expr& size = s->Mutable(output).shape[d];
      size = SymbolExpr(names("size_of_" + output.str()));
      body.Let(size->name, transient.shape[d]);
    }
    s->Add(std::move(transient));
    body.Statement(CopyWhole(s, &names, output, own));
  }
  s->body = body.Take();
}

// Containers with sizes that speak of a loop's variable: the loop's body defines a symbol of that value, which the layouts then
// have in its place, so that they change their size as others do.
void NameLoopVariables(Sdfg* s) {
  FreshNames names(*s);
  std::map<Name, Name> defined;  // variable → the symbol
  std::function<void(const std::vector<BlockId>&)> find = [&](const std::vector<BlockId>& body) {
    for (BlockId b : body) {
      const Control c = s->blocks[b].control;
      if (auto* d = std::get_if<Conditional>(&c))
        for (const Branch& br : d->branches) find(br.body);
      auto* l = std::get_if<Loop>(&c);
      if (!l) continue;
      find(l->body);
      if (l->var.empty()) continue;
      for (Name n : s->order) {
        const Container& container = s->Get(n);
        if (container.kind == ContainerKind::kView || container.storage == Storage::kRegister) continue;
        for (const auto* list : {&container.shape, &container.strides})
          for (const Expr& e : *list)
            for (Name x : FreeSymbols(e))
              if (x == l->var && !defined.count(x)) defined[x] = names(x.str() + "_size");
      }
      auto it = defined.find(l->var);
      if (it == defined.end()) continue;
      BlockList inner(s);
      inner.Let(it->second, SymbolExpr(l->var));
      inner.Blocks(l->body);
      Loop copy = *l;
      copy.body = inner.Take();
      s->blocks.Mutable(b).control = std::move(copy);
    }
  };
  find(std::vector<BlockId>(s->body));
  if (defined.empty()) return;
  NameMap map;
  for (const auto& [variable, symbol] : defined) map.push_back({variable, SymbolExpr(symbol)});
  for (Name n : std::vector<Name>(s->order)) {
    Container& c = s->Mutable(n);
    for (auto* list : {&c.shape, &c.strides})
      for (Expr& e : *list)
        if (e) e = Substitute(e, map);
    if (c.offset) c.offset = Substitute(c.offset, map);
  }
}

}  // namespace

Result<bool> FixSizes(Program& p) {
  NameLoopVariables(&p.MutableEntry());
  OwnOutputs(&p.MutableEntry());
  const Sdfg before = p.Entry();
  const ChangingSymbols changing(before);
  if (changing.all().empty()) return false;
  HR_RETURN_IF_ERROR(SizeFixer(&p, changing).Run());
  return true;
}

}  // namespace headrace::autodiff
