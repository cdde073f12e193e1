#include "transforms/whole_parts.h"

#include <algorithm>

namespace headrace {
namespace {

Expr StepOf(const Range& r) { return r.step ? r.step : Expr(1); }

// What an end is the least of.
std::vector<Expr> MinimaOf(const Expr& end) {
  if (!end.Is(ExprKind::kCall) || end->name.view() != "min") return {end};
  std::vector<Expr> all;
  for (const Expr& e : end->args)
    for (const Expr& m : MinimaOf(e)) all.push_back(m);
  return all;
}

class Parts {
 public:
  Parts(Sdfg* s, const Ask& ask) : s_(s), ask_(ask) {}

  bool Run() {
    for (BlockId b : s_->body)
      if (const auto* state = std::get_if<State>(&s_->blocks[b].control)) List(std::vector<NodeId>(state->statements));
    return changed_;
  }

 private:
  void List(const std::vector<NodeId>& statements) {
    for (NodeId n : statements) Statement(n);
  }

  void Statement(NodeId n) {
    const Body body = s_->nodes[n].body;
    const size_t outside = around_.size();
    if (const auto* m = std::get_if<Map>(&body)) {
      std::vector<Range> ranges = m->ranges;
      around_.insert(around_.end(), ranges.begin(), ranges.end());
      bool any = false;
      for (size_t i = 0; i < ranges.size(); ++i)
        if (const Expr end = WholeEnd(ranges[i], outside + i)) ranges[i].end = end, any = true;
      if (any && Asked(n)) std::get<Map>(s_->nodes.Mutable(n).body).ranges = std::move(ranges), changed_ = true;
    }
    ForEachBody(body, [&](const std::vector<NodeId>& inside) { List(inside); });
    around_.resize(outside);
  }

  // Where the part ends, without where wholes do; null where it may be shorter, or is no part of what stands around it.
  Expr WholeEnd(const Range& r, size_t outside) const {
    for (size_t i = 0; i < outside; ++i) {
      if (r.begin != SymbolExpr(around_[i].index)) continue;
      const Expr end = r.begin + StepOf(around_[i]);
      std::vector<Expr> wholes = MinimaOf(r.end);
      const auto own = std::find(wholes.begin(), wholes.end(), end);
      if (own == wholes.end() || wholes.size() == 1) return {};
      wholes.erase(own);
      return std::all_of(wholes.begin(), wholes.end(), [&](const Expr& whole) { return EndsWith(whole, i); }) ? end : Expr();
    }
    return {};
  }

  // Whether the last step of a range is a whole one up to `whole`, which no index of the range reaches. Indices lie whole steps from where
  // the range begins, and, as far as steps around it are whole ones of it, from where those begin.
  bool EndsWith(const Expr& whole, size_t range) const {
    const Range& r = around_[range];
    const std::vector<Expr> ends = MinimaOf(r.end);
    if (std::find(ends.begin(), ends.end(), whole) == ends.end()) return false;
    for (Expr begin = r.begin;;) {
      if (AsInt(Mod(whole - begin, StepOf(r))) == 0) return true;
      size_t of = 0;
      while (of < range && begin != SymbolExpr(around_[of].index)) ++of;
      if (of == range || AsInt(Mod(StepOf(around_[of]), StepOf(r))) != 0) return false;
      begin = around_[of].begin, range = of;
    }
  }

  bool Asked(NodeId n) const {
    Match m;
    m.sdfg = s_->name;
    m.statements = {n};
    return ask_(m);
  }

  Sdfg* s_;
  const Ask& ask_;
  std::vector<Range> around_;  // as they were
  bool changed_ = false;
};

}  // namespace

Result<bool> WholeParts(Program& p, const Ask& ask) {
  bool changed = false;
  for (auto& s : p.sdfgs) {
    if (!s->kernel || s->device.empty()) continue;
    Sdfg copy = *s;
    if (!Parts(&copy, ask).Run()) continue;
    s = std::make_shared<Sdfg>(std::move(copy));
    changed = true;
  }
  return changed;
}

}  // namespace headrace
