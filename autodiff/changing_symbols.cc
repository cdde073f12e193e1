#include "autodiff/changing_symbols.h"

namespace headrace::autodiff {
namespace {

class Finder {
 public:
  explicit Finder(const Sdfg& s) : s_(s) {
    std::set<Name> known;
    Count(s.body, false);
    Walk(s.body, &known);
    for (Name n : s.order) {
      const Container& c = s.Get(n);
      if (c.kind == ContainerKind::kView || c.storage == Storage::kRegister) continue;
      for (const auto* list : {&c.shape, &c.strides})
        for (const Expr& e : *list)
          for (Name x : FreeSymbols(e))
            if (in_loops_.count(x)) symbols_.insert(x);
    }
  }
  std::set<Name> Take() { return std::move(symbols_); }

 private:
  void Define(Name n, bool looped, bool node) {
    if (!defined_.insert(n).second || (looped && node)) symbols_.insert(n);
    if (looped) in_loops_.insert(n);
  }
  void Count(const std::vector<BlockId>& body, bool looped) {
    for (BlockId b : body) {
      const Control& c = s_.blocks[b].control;
      if (auto* a = std::get_if<Assign>(&c)) Define(a->symbol, looped, false);
      if (auto* st = std::get_if<State>(&c))
        for (NodeId n : st->statements)
          if (auto* l = std::get_if<Library>(&s_.nodes[n].body))
            for (Name d : l->defines) Define(d, looped, true);
      if (auto* l = std::get_if<Loop>(&c)) Count(l->body, true);
      if (auto* d = std::get_if<Conditional>(&c))
        for (const Branch& br : d->branches) Count(br.body, looped);
    }
  }
  void Use(const Expr& e, const std::set<Name>& known) {
    if (!e) return;
    for (Name n : FreeSymbols(e))
      if (defined_.count(n) && !known.count(n)) symbols_.insert(n);
    for (Name n : ReadContainers(e)) Use(n, known);
  }
  void Use(Name container, const std::set<Name>& known) {
    const Container& c = s_.Get(container);
    for (const auto* list : {&c.shape, &c.strides})
      for (const Expr& e : *list) Use(e, known);
    if (c.kind != ContainerKind::kView) return;
    Use(c.offset, known);
    Use(c.base, known);
  }
  void Use(NodeId n, std::set<Name>* known) {
    const Body& b = s_.nodes[n].body;
    if (auto* m = std::get_if<Map>(&b)) {
      for (const Range& r : m->ranges)
        for (const Expr& e : {r.begin, r.end, r.step}) Use(e, *known);
      for (NodeId c : m->body) Use(c, known);
    } else if (auto* t = std::get_if<Tasklet>(&b)) {
      Use(t->target, *known);
      Use(t->value, *known);
      for (const Expr& e : t->index) Use(e, *known);
    } else if (auto* call = std::get_if<Nested>(&b)) {
      for (const Argument& a : call->arguments) Use(a.container, *known);
      for (const auto& x : call->symbols) Use(x.second, *known);
    } else if (auto* l = std::get_if<Library>(&b)) {
      for (const Port& p : l->inputs)
        if (!p.container.empty()) Use(p.container, *known);
      known->insert(l->defines.begin(), l->defines.end());
      for (const Port& p : l->outputs)
        if (!p.container.empty()) Use(p.container, *known);
    }
  }
  void Walk(const std::vector<BlockId>& body, std::set<Name>* known) {
    for (BlockId b : body) {
      const Control& c = s_.blocks[b].control;
      if (auto* a = std::get_if<Assign>(&c)) {
        Use(a->value, *known);
        known->insert(a->symbol);
      } else if (auto* r = std::get_if<Require>(&c)) {
        Use(r->condition, *known);
      } else if (auto* st = std::get_if<State>(&c)) {
        for (NodeId n : st->statements) Use(n, known);
      } else if (auto* l = std::get_if<Loop>(&c)) {
        for (const Expr& e : {l->init, l->condition, l->update}) Use(e, *known);
        std::set<Name> inside = *known;
        Walk(l->body, &inside);
      } else if (auto* d = std::get_if<Conditional>(&c)) {
        for (const Branch& br : d->branches) Use(br.condition, *known);
        for (const Branch& br : d->branches) {
          std::set<Name> inside = *known;
          Walk(br.body, &inside);
        }
      }
    }
  }

  const Sdfg& s_;
  std::set<Name> defined_, in_loops_, symbols_;
};

}  // namespace

ChangingSymbols::ChangingSymbols(const Sdfg& s) : symbols_(Finder(s).Take()) {}

bool ChangingSymbols::InLayout(const Container& c) const {
  auto in = [&](const Expr& e) {
    for (Name n : FreeSymbols(e))
      if (symbols_.count(n)) return true;
    return false;
  };
  for (const auto* list : {&c.shape, &c.strides})
    for (const Expr& e : *list)
      if (in(e)) return true;
  return c.kind == ContainerKind::kView && c.offset && in(c.offset);
}

}  // namespace headrace::autodiff
