#include "ir/analysis/lifetimes.h"

#include <unordered_map>
#include <utility>

#include "ir/analysis/dataflow.h"

namespace headrace {
namespace {

class Walk {
 public:
  explicit Walk(const Sdfg& s) : s_(s) { Blocks(s.body); }
  std::vector<Lifetime> lives;

 private:
  void Use(Name container) {
    const Name root = RootOf(s_, container);
    const auto [it, fresh] = at_.emplace(root, lives.size());
    if (fresh) lives.push_back({root, now_, now_});
    else lives[it->second].end = now_;
  }
  void Use(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) Use(x->name);
      return true;
    });
  }
  void Use(const std::vector<Expr>& list) {
    for (const Expr& e : list) Use(e);
  }
  void Statement(NodeId n) {
    const Body& body = s_.nodes[n].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) {
      Use(t->value), Use(t->index), Use(t->target);
    } else if (const auto* m = std::get_if<Map>(&body)) {
      for (const Range& r : m->ranges) Use(r.begin), Use(r.end), Use(r.step);
    } else if (const auto* i = std::get_if<If>(&body)) {
      Use(i->condition);
    } else if (const auto* k = std::get_if<Touch>(&body)) {
      Use(k->container), Use(k->index);
    } else if (const auto* call = std::get_if<Nested>(&body)) {
      for (const Argument& a : call->arguments) Use(a.container), Use(a.index);
      for (const auto& [name, e] : call->symbols) Use(e);
    } else if (const auto* l = std::get_if<Library>(&body)) {
      for (const auto* ports : {&l->inputs, &l->outputs})
        for (const Port& p : *ports)
          if (!p.container.empty()) Use(p.container);
    }
    ForEachBody(body, [&](const std::vector<NodeId>& list) {
      for (NodeId c : list) Statement(c);
    });
  }
  void Step() { now_ += !in_loop_; }
  void Blocks(const std::vector<BlockId>& body) {
    for (BlockId b : body) {
      const Control& c = s_.blocks[b].control;
      if (const auto* st = std::get_if<State>(&c)) {
        for (NodeId n : st->statements) Step(), Statement(n);
      } else if (const auto* l = std::get_if<Loop>(&c)) {
        Step();
        const bool around = std::exchange(in_loop_, true);
        for (const Expr& e : {l->init, l->condition, l->update}) Use(e);
        Blocks(l->body);
        in_loop_ = around;
      } else if (const auto* i = std::get_if<Conditional>(&c)) {
        for (const Branch& branch : i->branches) Step(), Use(branch.condition), Blocks(branch.body);
      } else if (const auto* a = std::get_if<Assign>(&c)) {
        Step(), Use(a->value);
      }
    }
  }

  const Sdfg& s_;
  std::unordered_map<Name, size_t> at_;
  int64_t now_ = 0;
  bool in_loop_ = false;
};

}  // namespace

std::vector<Lifetime> LifetimesOf(const Sdfg& s) { return std::move(Walk(s).lives); }

std::set<Name> DefinedInside(const Sdfg& s) {
  std::set<Name> out;
  ForEachBlock(s, s.body, [&](BlockId b) {
    const Control& c = s.blocks[b].control;
    if (const auto* l = std::get_if<Loop>(&c); l && !l->var.empty()) out.insert(l->var);
    if (const auto* a = std::get_if<Assign>(&c)) out.insert(a->symbol);
  });
  ForEachNode(s, [&](NodeId n) {
    if (const auto* l = std::get_if<Library>(&s.nodes[n].body)) out.insert(l->defines.begin(), l->defines.end());
  });
  return out;
}

}  // namespace headrace
