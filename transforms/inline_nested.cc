#include "transforms/inline_nested.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "ir/analysis/dataflow.h"
#include "transforms/call_origins.h"
#include "transforms/dead_code.h"
#include "transforms/inline.h"
#include "transforms/requires.h"

namespace headrace {
namespace {

using transforms::BlockRewriter;
using transforms::InlineRequest;
using transforms::NameTable;

size_t StatementsIn(const Sdfg& s) {
  size_t count = 0;
  ForEachNode(s, [&](NodeId) { ++count; });
  return count;
}

class NestedInliner {
 public:
  NestedInliner(Program& p, const InlineOptions& o, const Ask& ask) : p_(p), o_(o), ask_(ask) {}

  bool Run() {
    if (p_.sdfgs.size() < 2) return false;  // nothing to call
    for (const auto& s : p_.sdfgs)
      ForEachNode(*s, [&](NodeId id) {
        if (auto* n = std::get_if<Nested>(&s->nodes[id].body)) ++calls_[n->callee];
      });
    if (calls_.empty()) return false;
    origins_.emplace(p_);
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
      if (o_.everywhere && std::holds_alternative<Map>(s.nodes[id].body)) {
        std::vector<BlockId> required;
        InMap(&s, &names, id, {}, &required);
        w.AppendBlocks(required);
        if (std::vector<BlockId> spread = Spread(&s, &names, id); !spread.empty()) {
          w.AppendBlocks(spread);
          return changed_ = true;
        }
      }
      auto* n = std::get_if<Nested>(&s.nodes[id].body);
      if (!n) return false;
      const Sdfg* callee = p_.Find(n->callee);
      if (!callee || !Suitable(*n, *callee) || !Take(s, id)) return false;
      InlineRequest q = Request(*n, *callee, s.nodes[id].origin);
      std::vector<BlockId> lets;  // sizes from data are evaluated once, at the call
      for (auto& sym : q.symbols) {
        if (IsIndexExpr(sym.second)) continue;
        Name value = names.Fresh(sym.first);
        lets.push_back(s.AddBlock(Assign{value, sym.second}, q.origin));
        sym.second = Expr(value);
      }
      Result<std::vector<BlockId>> blocks = transforms::InlineBody(&s, &names, q);
      std::vector<NodeId> before, after;
      if (!blocks.ok() && o_.everywhere && Detour(&s, &names, *callee, &q, &before, &after))
        blocks = transforms::InlineBody(&s, &names, q);
      if (!blocks.ok()) return false;
      w.AppendBlocks(lets);
      for (NodeId c : before) w.AppendStatement(c);
      w.AppendBlocks(*blocks);
      for (NodeId c : after) w.AppendStatement(c);
      return changed_ = true;
    });
    transforms::HoistRequires(&s);
  }
  InlineRequest Request(const Nested& n, const Sdfg& callee, const Origin& origin) const {
    InlineRequest q;
    q.callee = &callee;
    q.arguments = n.arguments;
    q.symbols = n.symbols;
    q.origin = origin;
    q.sources = origins_->SourcesOf(n, origin);
    return q;
  }
  // `required`: what the callees require, for the place before the outermost map.
  void InMap(Sdfg* s, NameTable* names, NodeId map_id, std::vector<Range> around, std::vector<BlockId>* required) {
    const Map m = std::get<Map>(s->nodes[map_id].body);
    around.insert(around.end(), m.ranges.begin(), m.ranges.end());
    std::vector<NodeId> body;
    for (NodeId id : m.body) {
      if (std::holds_alternative<Map>(s->nodes[id].body)) InMap(s, names, id, around, required);
      auto* n = std::get_if<Nested>(&s->nodes[id].body);
      const Sdfg* callee = n ? p_.Find(n->callee) : nullptr;
      bool inlined = false;
      if (callee && Suitable(*n, *callee) && Take(*s, id)) {
        bool sizes = true;
        for (const auto& sym : n->symbols) sizes &= IsIndexExpr(sym.second);
        InlineRequest q = Request(*n, *callee, s->nodes[id].origin);
        SetAround(around, &q);
        if (sizes) {
          Result<std::vector<BlockId>> blocks = transforms::InlineBody(s, names, q);
          inlined = blocks.ok();
          if (inlined)
            for (BlockId b : *blocks) {
              if (std::holds_alternative<Require>(s->blocks[b].control)) {
                required->push_back(b);
                continue;
              }
              for (NodeId c : std::get<State>(s->blocks[b].control).statements) body.push_back(c);
            }
        }
      }
      changed_ |= inlined;
      if (!inlined) body.push_back(id);
    }
    if (body != m.body) std::get<Map>(s->nodes.Mutable(map_id).body).body = std::move(body);
  }
  static void SetAround(const std::vector<Range>& around, InlineRequest* q) {
    q->ranges_around = around;
    for (const Range& r : around) q->indices_around.push_back(r.index);
  }
  // A map that is one call, of a callee whose loops and branches don't depend on the iteration: they run once, and their
  // statements for all iterations.
  //   map i in 0:N { call f(x = X[i, :]) }   →   for t in 0:T { map i in 0:N { … } }
  std::vector<BlockId> Spread(Sdfg* s, NameTable* names, NodeId id) {
    std::vector<Range> around;
    while (auto* m = std::get_if<Map>(&s->nodes[id].body)) {
      if (m->body.size() != 1) return {};
      around.insert(around.end(), m->ranges.begin(), m->ranges.end());
      id = m->body[0];
    }
    auto* n = std::get_if<Nested>(&s->nodes[id].body);
    const Sdfg* callee = n ? p_.Find(n->callee) : nullptr;
    if (!callee || !Suitable(*n, *callee) || !Take(*s, id)) return {};
    for (const auto& sym : n->symbols)
      if (!IsIndexExpr(sym.second)) return {};
    InlineRequest q = Request(*n, *callee, s->nodes[id].origin);
    SetAround(around, &q);
    q.spread = true;
    Result<std::vector<BlockId>> blocks = transforms::InlineBody(s, names, q);
    if (!blocks.ok()) return {};
    bool uniform = true;
    auto check = [&](const Expr& e) {
      Visit(e, [&](const Expr& x) {
        if (x.Is(ExprKind::kRead)) uniform = false;
        if (x.Is(ExprKind::kSymbol))
          uniform &= std::find(q.indices_around.begin(), q.indices_around.end(), x->name) == q.indices_around.end();
        return uniform;
      });
    };
    std::vector<BlockId> states;
    ForEachBlock(*s, *blocks, [&](BlockId b) {
      const Control& c = s->blocks[b].control;
      if (std::holds_alternative<State>(c)) states.push_back(b);
      if (auto* l = std::get_if<Loop>(&c)) check(l->init), check(l->condition), check(l->update);
      if (auto* a = std::get_if<Assign>(&c)) check(a->value);
      if (auto* r = std::get_if<Require>(&c)) check(r->condition);
      if (auto* d = std::get_if<Conditional>(&c))
        for (const Branch& br : d->branches) check(br.condition);
    });
    if (!uniform) return {};
    for (BlockId b : states) {
      std::vector<NodeId>& statements = std::get<State>(s->blocks.Mutable(b).control).statements;
      if (statements.empty()) continue;
      Map m;
      m.ranges = around;
      m.body = statements;
      statements = {s->AddNode(std::move(m), q.origin)};
    }
    return *blocks;
  }
  // What can't be addressed in place, a part of an array as a whole one, is copied in and out.
  bool Detour(Sdfg* s, NameTable* names, const Sdfg& callee, InlineRequest* q, std::vector<NodeId>* before,
              std::vector<NodeId>* after) {
    bool any = false;
    for (Argument& a : q->arguments) {
      const Container* whole = a.index.empty() ? nullptr : s->Find(a.container);
      if (!whole) continue;
      any = true;
      Container part;
      part.name = names->Fresh(Name(a.container.str() + "_part"));
      part.dtype = whole->dtype;
      part.shape.assign(whole->shape.begin() + static_cast<std::ptrdiff_t>(a.index.size()), whole->shape.end());
      std::vector<Expr> in_part, in_whole = a.index;
      Map m;
      for (const Expr& d : part.shape) {
        Name i = names->FreshIndex(Name("i" + std::to_string(m.ranges.size())), {});
        m.ranges.push_back({i, Expr(0), d, Expr(1)});
        in_part.push_back(Expr(i));
        in_whole.push_back(Expr(i));
      }
      auto copy = [&](Name to, const std::vector<Expr>& at, Name from, const std::vector<Expr>& index) {
        Tasklet t;
        t.target = to, t.index = at, t.value = ReadExpr(from, index);
        NodeId id = s->AddNode(std::move(t), q->origin);
        if (m.ranges.empty()) return id;
        Map around = m;
        around.body = {id};
        return s->AddNode(std::move(around), q->origin);
      };
      const Direction d = DirectionOf(p_, callee, a.port);
      before->push_back(
          copy(part.name, in_part, a.container, in_whole));  // outputs too: a part of it may stay as it is
      if (d == Direction::kOut || d == Direction::kInOut)
        after->push_back(copy(a.container, in_whole, part.name, in_part));
      a.container = part.name;
      a.index.clear();
      s->Add(std::move(part));
    }
    return any;
  }
  bool Take(const Sdfg& s, NodeId id) const { return ask_(Match{s.name, {id}, {}, {}, "", true}); }
  bool Suitable(const Nested& n, const Sdfg& callee) {
    if (callee.kernel && !(o_.everywhere && callee.device.empty())) return false;  // kernels are where inlining ends
    if (std::find(o_.leave.begin(), o_.leave.end(), n.callee) != o_.leave.end()) return false;
    const auto [facts, fresh] = callees_.try_emplace(n.callee);
    if (fresh) facts->second = FactsOf(callee);
    if (calls_.at(n.callee) > 1 && facts->second.statements > o_.max_statements) return false;
    if (!o_.everywhere) {
      for (const Argument& a : n.arguments)
        if (!a.index.empty()) return false;
      for (const auto& sym : n.symbols)
        if (!IsIndexExpr(sym.second)) return false;  // data-dependent: evaluated once, at the call
    }
    // A persistent container belongs to the callee, whoever calls it.
    return !facts->second.has_state;
  }
  // Of a callee that is as it stays: callees come first.
  struct Facts {
    size_t statements = 0;
    bool has_state = false;
  };
  static Facts FactsOf(const Sdfg& callee) {
    const auto is_state = [&](Name c) { return callee.Get(c).kind == ContainerKind::kState; };
    return {StatementsIn(callee), std::any_of(callee.order.begin(), callee.order.end(), is_state)};
  }

  Program& p_;
  InlineOptions o_;
  const Ask& ask_;
  std::optional<transforms::CallOrigins> origins_;
  std::unordered_map<Name, int> calls_;
  std::unordered_map<Name, Facts> callees_;
  std::unordered_set<Name> done_;
  bool changed_ = false;
};

}  // namespace

Result<bool> InlineNested(Program& p, const InlineOptions& o, const Ask& ask) {
  bool changed = NestedInliner(p, o, ask).Run();
  if (changed) HR_RETURN_IF_ERROR(EliminateDeadCode(p, ask).status());
  return changed;
}

}  // namespace headrace
