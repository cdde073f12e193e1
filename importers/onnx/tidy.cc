#include "importers/onnx/tidy.h"

#include <algorithm>
#include <unordered_set>

namespace headrace::onnx_import {
namespace {

class Marker {
 public:
  explicit Marker(Sdfg* s) : s_(s) {}

  void Run() {
    for (Name p : s_->parameters) Need(p);
    ForEachBlock(*s_, s_->body, [&](BlockId b) { blocks_.push_back(b); });
    // Backwards, so that straight-line code settles in one pass; loops need another.
    do {
      changed_ = false;
      for (auto b = blocks_.rbegin(); b != blocks_.rend(); ++b) Visit(*b);
    } while (changed_);
    Sweep();
  }

 private:
  void Need(Name container) {
    if (!needed_.insert(container).second) return;
    changed_ = true;
    const Container* c = s_->Find(container);
    if (!c) return;
    for (const Expr& e : c->shape) Reads(e);
    for (const Expr& e : c->strides) Reads(e);
    Reads(c->offset);
    if (!c->base.empty()) Need(c->base);
  }
  void Reads(const Expr& e) {
    if (!e) return;
    headrace::Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) Need(x->name);
      if (x.Is(ExprKind::kSymbol) && symbols_.insert(x->name).second) changed_ = true;
      return true;
    });
  }
  bool Written(Name n) const {
    const Container* c = s_->Find(n);
    return needed_.count(n) || (c && !c->base.empty() && needed_.count(c->base));
  }

  // True when the statement is needed; then so is what it reads.
  bool Live(NodeId id) {
    const Node& node = s_->nodes[id];
    if (const auto* t = std::get_if<Tasklet>(&node.body)) {
      if (!Written(t->target)) return false;
      Need(t->target);
      for (const Expr& e : t->index) Reads(e);
      Reads(t->value);
    } else if (const auto* m = std::get_if<Map>(&node.body)) {
      bool any = false;
      for (NodeId inner : m->body) any = Live(inner) || any;
      if (!any) return false;
      for (const Range& r : m->ranges) Reads(r.begin), Reads(r.end), Reads(r.step);
    } else if (const auto* l = std::get_if<Library>(&node.body)) {
      bool any = false;
      for (const Port& p : l->outputs) any = any || (!p.container.empty() && Written(p.container));
      for (Name d : l->defines) any = any || symbols_.count(d);
      if (!any) return false;
      for (const Port& p : l->outputs)
        if (!p.container.empty()) Need(p.container);
      for (const Port& p : l->inputs)
        if (!p.container.empty()) Need(p.container);
      for (const auto& [name, a] : l->attributes) {
        if (name.view().substr(0, 6) != "known.") continue;
        // Expressions in attributes use symbols as well: keep those of the input's own statements alive by name.
        if (auto* texts = std::get_if<std::vector<std::string>>(&a.value))
          for (const std::string& t : *texts) Words(t);
      }
    } else if (const auto* n = std::get_if<Nested>(&node.body)) {
      for (const Argument& a : n->arguments) {
        Need(a.container);
        for (const Expr& e : a.index) Reads(e);
      }
      for (const auto& [name, e] : n->symbols) Reads(e);
    }
    return true;
  }
  void Words(const std::string& text) {
    for (size_t i = 0; i < text.size();) {
      size_t j = i;
      while (j < text.size() && (isalnum(static_cast<unsigned char>(text[j])) || text[j] == '_')) ++j;
      if (j > i && symbols_.insert(Name(text.substr(i, j - i))).second) changed_ = true;
      i = j + 1;
    }
  }

  void Visit(BlockId b) {
    const Control& c = s_->blocks[b].control;
    if (const auto* s = std::get_if<State>(&c)) {
      for (auto n = s->statements.rbegin(); n != s->statements.rend(); ++n) Live(*n);
    } else if (const auto* l = std::get_if<Loop>(&c)) {
      Reads(l->init), Reads(l->condition), Reads(l->update);
    } else if (const auto* k = std::get_if<Conditional>(&c)) {
      for (const Branch& br : k->branches) Reads(br.condition);
    } else if (const auto* a = std::get_if<Assign>(&c)) {
      if (symbols_.count(a->symbol) || IsCheck(*a)) Reads(a->value);
    } else if (const auto* r = std::get_if<Require>(&c)) {
      Reads(r->condition);
    }
  }

  // A constant read where sizes agree, out of range where they don't (runtime_sizes.cc).
  bool IsCheck(const Assign& a) const {
    return a.value.Is(ExprKind::kRead) && s_->Get(a.value->name).kind == ContainerKind::kConstant;
  }

  void Sweep() {
    for (BlockId b : blocks_) {
      Control& c = s_->blocks.Mutable(b).control;
      if (auto* s = std::get_if<State>(&c)) {
        auto& list = s->statements;
        list.erase(std::remove_if(list.begin(), list.end(),
                                  [&](NodeId n) {
                                    if (Live(n)) return false;
                                    s_->nodes.Mutable(n).body = std::monostate();
                                    return true;
                                  }),
                   list.end());
      }
    }
    Prune(&s_->body);
    for (BlockId b : blocks_) {
      Control& c = s_->blocks.Mutable(b).control;
      if (auto* l = std::get_if<Loop>(&c)) Prune(&l->body);
      if (auto* k = std::get_if<Conditional>(&c))
        for (Branch& br : k->branches) Prune(&br.body);
    }
    std::vector<Name> gone;
    for (Name n : s_->order)
      if (!needed_.count(n)) gone.push_back(n);
    if (gone.empty()) return;
    for (Name n : gone) s_->containers.Erase(n);
    s_->order.erase(std::remove_if(s_->order.begin(), s_->order.end(), [&](Name n) { return !needed_.count(n); }),
                    s_->order.end());
  }
  // States that became empty and sizes nothing uses.
  void Prune(std::vector<BlockId>* blocks) {
    blocks->erase(std::remove_if(blocks->begin(), blocks->end(),
                                 [&](BlockId b) {
                                   const Control& c = s_->blocks[b].control;
                                   if (const auto* s = std::get_if<State>(&c)) return s->statements.empty();
                                   if (const auto* a = std::get_if<Assign>(&c))
                                     return symbols_.count(a->symbol) == 0 && !IsCheck(*a);
                                   return false;
                                 }),
                  blocks->end());
  }

  Sdfg* s_;
  std::vector<BlockId> blocks_;
  std::unordered_set<Name> needed_, symbols_;
  bool changed_ = false;
};

}  // namespace

void RemoveUnused(Sdfg* s) { Marker(s).Run(); }

}  // namespace headrace::onnx_import
