#include "transforms/inline_nested.h"

#include <unordered_map>

#include "ir/dataflow.h"
#include "transforms/dead_code.h"
#include "transforms/inline.h"

namespace headrace {
namespace {

using transforms::BlockRewriter;
using transforms::InlineRequest;
using transforms::NameTable;

class NestedInliner {
 public:
  NestedInliner(Program& p, const InlineOptions& o) : p_(p), o_(o) {}

  bool Run() {
    for (const auto& s : p_.sdfgs)
      ForEachNode(*s, [&](NodeId id) {
        if (auto* n = std::get_if<Nested>(&s->nodes[id].body)) ++calls_[n->callee];
      });
    std::vector<Name> all;
    for (const auto& s : p_.sdfgs) all.push_back(s->name);
    for (Name n : all) Inline(n);  // callees first
    return changed_;
  }

 private:
  void Inline(Name name) {
    if (!done_.insert(name).second) return;
    {
      const Sdfg* s = p_.Find(name);
      if (!s) return;
      std::vector<Name> callees;
      ForEachNode(*s, [&](NodeId id) {
        if (auto* n = std::get_if<Nested>(&s->nodes[id].body)) callees.push_back(n->callee);
      });
      if (callees.empty()) return;
      for (Name c : callees) Inline(c);
    }
    Sdfg& s = p_.Mutable(name);
    NameTable names(s);
    BlockRewriter(&s).Run([&](BlockRewriter& w, NodeId id) {
      auto* n = std::get_if<Nested>(&s.nodes[id].body);
      if (!n) return false;
      const Sdfg* callee = p_.Find(n->callee);
      if (!callee || !Suitable(*n, *callee)) return false;
      InlineRequest q;
      q.callee = callee;
      q.arguments = n->arguments;
      q.symbols = n->symbols;
      q.origin = s.nodes[id].origin;
      Result<std::vector<BlockId>> blocks = transforms::InlineBody(&s, &names, q);
      if (!blocks.ok()) return false;
      w.AppendBlocks(*blocks);
      return changed_ = true;
    });
  }
  bool Suitable(const Nested& n, const Sdfg& callee) const {
    if (calls_.at(n.callee) > 1 && callee.nodes.size() > o_.max_nodes) return false;
    for (const Argument& a : n.arguments)
      if (!a.index.empty()) return false;
    for (const auto& sym : n.symbols)
      if (!IsIndexExpr(sym.second)) return false;  // data-dependent: evaluated once, at the call
    // A persistent container belongs to the callee, whoever calls it.
    for (Name c : callee.order)
      if (callee.Get(c).kind == ContainerKind::kState) return false;
    return true;
  }

  Program& p_;
  InlineOptions o_;
  std::unordered_map<Name, int> calls_;
  std::unordered_set<Name> done_;
  bool changed_ = false;
};

}  // namespace

Result<bool> InlineNested(Program& p, const InlineOptions& o) {
  bool changed = NestedInliner(p, o).Run();
  if (changed) HR_RETURN_IF_ERROR(EliminateDeadCode(p).status());
  return changed;
}

}  // namespace headrace
