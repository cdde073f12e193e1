#include "transforms/fold_control.h"

#include <algorithm>
#include <optional>

#include "ir/analysis/facts.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

class Folder {
 public:
  Folder(const Program& p, Sdfg* s, const Ask& ask) : p_(p), s_(s), ask_(ask) {}
  bool Run() {
    Maps();
    ForEachBlock(*s_, s_->body, [&](BlockId b) {
      if (auto* a = std::get_if<Assign>(&s_->blocks[b].control)) vars_.push_back(a->symbol);
    });
    s_->body = List(s_->body, false);
    if (changed_) transforms::RemoveEmptied(s_);
    return changed_;
  }

 private:
  bool Take(BlockId b) const { return ask_(Match{s_->name, {}, {b}, {}, "", true}); }
  bool Take(NodeId n) const { return ask_(Match{s_->name, {n}, {}, {}, "", true}); }

  // Loop variables and computed symbols may be negative, unlike sizes.
  Assumptions Inner() const {
    Assumptions a = s_->assumptions;
    for (const auto& v : vars_) a.bounds.push_back({v, Interval{}});
    return a;
  }

  std::vector<BlockId> List(const std::vector<BlockId>& body, bool in_loop) {
    std::vector<BlockId> out;
    for (BlockId b : body) {
      Control c = s_->blocks[b].control;
      if (auto* l = std::get_if<Loop>(&c)) {
        if (LoopBlock(b, *l, &out)) continue;
      } else if (auto* d = std::get_if<Conditional>(&c)) {
        if (Branches(b, *d, in_loop, &out)) continue;
      } else if (auto* r = std::get_if<Require>(&c)) {
        if (Decide(r->condition, Inner()) == true && Take(b)) {
          changed_ = true;
          continue;
        }
      }
      out.push_back(b);
      const bool jumps = std::holds_alternative<Break>(c) || std::holds_alternative<Continue>(c);
      if (!jumps || b == body.back() || !Take(b)) continue;
      changed_ = true;  // what follows is never reached
      break;
    }
    return out;
  }

  // for t = 0; t < 0 && running; t = t + 1
  bool NeverBegins(const Loop& l) const {
    const bool from_sizes = l.condition && (l.var.empty() || (l.init && IsIndexExpr(l.init)));
    return from_sizes && Decide(l.var.empty() ? l.condition : Substitute(l.condition, {{l.var, l.init}}), Inner()) == false;
  }

  bool LoopBlock(BlockId b, Loop& l, std::vector<BlockId>* out) {
    std::optional<Range> r = AsRange(l);
    if (r && IsIndexExpr(r->begin) && IsIndexExpr(r->end) && AsInt(r->step)) {
      Assumptions as = Inner();
      int64_t step = *AsInt(r->step);
      Truth none = step > 0 ? ProveLe(r->end, r->begin, as) : ProveLe(r->begin, r->end, as);
      if (none == Truth::kYes && Take(b)) return changed_ = true;
      Expr next = r->begin + r->step;
      Truth once = step > 0 ? ProveLe(r->end, next, as) : ProveLe(next, r->end, as);
      Truth some = step > 0 ? ProveLe(r->begin + Expr(1), r->end, as) : ProveLe(r->end + Expr(1), r->begin, as);
      if (once == Truth::kYes && some == Truth::kYes && !HasJump(l.body) && !SizesMention(l.var) &&
          !CallsKernel(l.body) && Take(b)) {
        Put(l.body, l.var, r->begin);
        std::vector<BlockId> inner = List(l.body, false);
        out->insert(out->end(), inner.begin(), inner.end());
        return changed_ = true;
      }
    }
    if (!r && !l.do_while && NeverBegins(l) && Take(b)) return changed_ = true;
    if (!l.var.empty()) vars_.push_back(l.var);
    std::vector<BlockId> inner = List(l.body, true);
    if (!l.var.empty()) vars_.pop_back();
    if (!(inner == l.body)) std::get<Loop>(s_->blocks.Mutable(b).control).body = std::move(inner);
    return false;
  }

  bool Branches(BlockId b, const Conditional& d, bool in_loop, std::vector<BlockId>* out) {
    std::vector<Branch> kept;
    bool decided = false;
    for (const Branch& br : d.branches) {
      std::optional<bool> v = Decide(br.condition, Inner());
      if (v == false) {
        decided = true;
        continue;
      }
      kept.push_back(br);
      if (v == true) {
        decided |= br.condition || &br != &d.branches.back();
        kept.back().condition = Expr();
        break;
      }
    }
    bool folds = decided || (!kept.empty() && !kept[0].condition);
    if (folds && !Take(b)) folds = false, kept = d.branches;
    bool changed_inside = false;
    for (Branch& br : kept) {
      std::vector<BlockId> inner = List(br.body, in_loop);
      changed_inside |= !(inner == br.body);
      br.body = std::move(inner);
    }
    if (folds && (kept.empty() || !kept[0].condition)) {
      if (!kept.empty()) out->insert(out->end(), kept[0].body.begin(), kept[0].body.end());
      return changed_ = true;
    }
    if (folds || changed_inside) {
      changed_ = true;
      std::get<Conditional>(s_->blocks.Mutable(b).control).branches = std::move(kept);
    }
    return false;
  }

  bool SizesMention(Name var) const {
    for (Name n : s_->order) {
      const Container& c = s_->Get(n);
      std::vector<Expr> all = c.shape;
      all.insert(all.end(), c.strides.begin(), c.strides.end());
      if (c.offset) all.push_back(c.offset);
      for (const Expr& e : all)
        for (Name f : FreeSymbols(e))
          if (f == var) return true;
    }
    return false;
  }
  // Kernels stay as they are: one may ask for what an iteration before has written, if there is one.
  bool CallsKernel(const std::vector<BlockId>& body) const {
    bool found = false;
    ForEachBlock(*s_, body, [&](BlockId b) {
      if (const auto* state = std::get_if<State>(&s_->blocks[b].control))
        for (NodeId n : state->statements)
          if (const auto* call = std::get_if<Nested>(&s_->nodes[n].body)) {
            const Sdfg* callee = p_.Find(call->callee);
            found |= callee && callee->kernel;
          }
    });
    return found;
  }
  // break or continue of this loop (not of one inside).
  bool HasJump(const std::vector<BlockId>& body) const {
    for (BlockId b : body) {
      const Control& c = s_->blocks[b].control;
      if (std::holds_alternative<Break>(c) || std::holds_alternative<Continue>(c)) return true;
      if (auto* d = std::get_if<Conditional>(&c))
        for (const Branch& br : d->branches)
          if (HasJump(br.body)) return true;
    }
    return false;
  }

  // ---- maps ----
  void Maps() {
    std::vector<NodeId> all;
    ForEachNode(*s_, [&](NodeId n) {
      if (std::holds_alternative<Map>(s_->nodes[n].body)) all.push_back(n);
    });
    for (NodeId n : all) MapRanges(n);
    // Maps inside maps that lost all their indices: their bodies belong to the outer map.
    for (NodeId n : all)
      if (std::holds_alternative<Map>(s_->nodes[n].body)) Splice(n);
  }
  // Whether a map has no iterations, or only one, along this range.
  static bool IsShort(const Range& r) {
    const auto b = AsInt(r.begin), e = AsInt(r.end), step = r.step ? AsInt(r.step) : std::optional<int64_t>(1);
    if (!step) return false;
    return r.begin == r.end || (b && e && (*step > 0 ? *b + *step >= *e : *b + *step <= *e));
  }
  void MapRanges(NodeId n) {
    const std::vector<Range>& all = std::get<Map>(s_->nodes[n].body).ranges;
    if (std::none_of(all.begin(), all.end(), IsShort)) return;
    std::vector<Range> ranges = std::get<Map>(s_->nodes[n].body).ranges, kept;
    NameMap values;
    for (Range r : ranges) {
      auto b = AsInt(r.begin), e = AsInt(r.end), step = r.step ? AsInt(r.step) : std::optional<int64_t>(1);
      if (step && ((*step > 0 && r.begin == r.end) || (b && e && (*step > 0 ? *e <= *b : *b <= *e)))) {
        if (!Take(n)) return;
        s_->nodes.Mutable(n).body = std::monostate{};
        changed_ = true;
        return;
      }
      if (b && e && step && (*step > 0 ? *b + *step >= *e : *b + *step <= *e)) values.push_back({r.index, r.begin});
      else kept.push_back(r);
    }
    if (values.empty()) return;
    if (kept.empty()) {
      if (!IsInner(n)) kept.push_back(ranges[0]), values.erase(values.begin());  // at state level one index stays
    }
    if (values.empty() || !Take(n)) return;
    std::vector<NodeId> body = std::get<Map>(s_->nodes[n].body).body;
    for (NodeId c : body) Put(c, values);
    Map& m = std::get<Map>(s_->nodes.Mutable(n).body);
    for (Range& r : kept)
      for (Expr* x : {&r.begin, &r.end, &r.step})
        if (*x) *x = Substitute(*x, values);
    m.ranges = std::move(kept);
    changed_ = true;
  }
  bool IsInner(NodeId n) {
    if (!inner_built_) {
      ForEachNode(*s_, [&](NodeId id) {
        if (auto* m = std::get_if<Map>(&s_->nodes[id].body))
          for (NodeId c : m->body) inner_.insert(c.value);
      });
      inner_built_ = true;
    }
    return inner_.count(n.value) > 0;
  }
  void Splice(NodeId n) {
    const auto goes = [&](NodeId c) {
      const auto* m = std::get_if<Map>(&s_->nodes[c].body);
      return m && m->ranges.empty() && m->schedule != Schedule::kApart;
    };
    const std::vector<NodeId>& all = std::get<Map>(s_->nodes[n].body).body;
    if (std::none_of(all.begin(), all.end(), goes)) return;
    const std::vector<NodeId> body = all;
    std::vector<NodeId> out;
    for (NodeId c : body) {
      if (!goes(c)) {
        out.push_back(c);
        continue;
      }
      Splice(c);
      const std::vector<NodeId>& inner = std::get<Map>(s_->nodes[c].body).body;
      out.insert(out.end(), inner.begin(), inner.end());
    }
    std::get<Map>(s_->nodes.Mutable(n).body).body = std::move(out);
  }

  // Replaces a loop variable by its only value.
  void Put(const std::vector<BlockId>& body, Name var, const Expr& value) {
    NameMap map = {{var, value}};
    auto fix = [&](Expr& e) {
      if (e) e = Substitute(e, map);
    };
    ForEachBlock(*s_, body, [&](BlockId b) {
      Control& c = s_->blocks.Mutable(b).control;
      if (auto* l = std::get_if<Loop>(&c)) fix(l->init), fix(l->condition), fix(l->update);
      if (auto* d = std::get_if<Conditional>(&c))
        for (Branch& br : d->branches) fix(br.condition);
      if (auto* a = std::get_if<Assign>(&c)) fix(a->value);
      if (auto* r = std::get_if<Require>(&c)) {
        fix(r->condition);
        for (Expr& e : r->values) fix(e);
      }
      if (auto* st = std::get_if<State>(&c))
        for (NodeId n : st->statements) Put(n, map);
    });
  }
  void Put(NodeId id, const NameMap& map) {
    auto fix = [&](Expr& e) {
      if (e) e = Substitute(e, map);
    };
    Body& b = s_->nodes.Mutable(id).body;
    if (auto* t = std::get_if<Tasklet>(&b)) {
      fix(t->value);
      for (Expr& e : t->index) fix(e);
    } else if (auto* m = std::get_if<Map>(&b)) {
      for (Range& r : m->ranges) fix(r.begin), fix(r.end), fix(r.step);
      std::vector<NodeId> inner = m->body;
      for (NodeId n : inner) Put(n, map);
    } else if (auto* n = std::get_if<Nested>(&b)) {
      for (Argument& a : n->arguments)
        for (Expr& e : a.index) fix(e);
      for (auto& v : n->symbols) fix(v.second);
    }
  }

  const Program& p_;
  Sdfg* s_;
  const Ask& ask_;
  std::vector<Name> vars_;
  std::unordered_set<uint32_t> inner_;  // nodes that stand in a map
  bool inner_built_ = false;
  bool changed_ = false;
};

// What was removed may have been all that said that a parameter is an output.
void KeepOutputs(const Program& p, const std::vector<Name>& outputs, Sdfg* s) {
  Sdfg plain = *s;  // `inout` alone makes an output; the question is which are written
  for (Name n : plain.parameters) plain.Mutable(n).inout = false;
  const std::vector<Name> left = Outputs(p, plain);
  for (Name n : outputs)
    if (std::find(left.begin(), left.end(), n) == left.end()) s->Mutable(n).output = true;
}

}  // namespace

Result<bool> FoldControl(Program& p, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    const std::shared_ptr<Sdfg> before = p.sdfgs[i];
    if (before->kernel) continue;  // it is as somebody wrote it
    Sdfg s = *before;
    if (!Folder(p, &s, ask).Run()) continue;
    changed = true;
    KeepOutputs(p, Outputs(p, *before), &s);
    p.Mutable(s.name) = std::move(s);
  }
  return changed;
}

}  // namespace headrace
