#include "transforms/whole_parts.h"

namespace headrace {
namespace {

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
      for (const Range& r : m->ranges) around_.push_back({r, r.end});
      std::vector<Range> ranges = m->ranges;
      bool any = false;
      for (size_t i = 0; i < ranges.size(); ++i)
        if (const Expr end = WholeEnd(ranges[i], outside + i)) ranges[i].end = around_[outside + i].whole_end = end, any = true;
      if (any && Asked(n)) std::get<Map>(s_->nodes.Mutable(n).body).ranges = std::move(ranges), changed_ = true;
      else for (size_t i = outside; i < around_.size(); ++i) around_[i].whole_end = around_[i].range.end;
    }
    ForEachBody(body, [&](const std::vector<NodeId>& inside) { List(inside); });
    around_.resize(outside);
  }

  // Where the part ends, without where the whole does; null where it may be shorter, or is no part of what stands around it.
  Expr WholeEnd(const Range& r, size_t outside) const {
    for (size_t i = 0; i < outside; ++i) {
      const Range& of = around_[i].range;
      const Expr step = of.step ? of.step : Expr(1), end = SymbolExpr(of.index) + step;
      const bool part = r.begin == SymbolExpr(of.index) && r.end != end && r.end == Min(end, of.end);
      if (part && AsInt(Mod(around_[i].whole_end - of.begin, step)) == 0) return end;
    }
    return {};
  }

  bool Asked(NodeId n) const {
    Match m;
    m.sdfg = s_->name;
    m.statements = {n};
    return ask_(m);
  }

  Sdfg* s_;
  const Ask& ask_;
  struct Around {
    Range range;  // as it was
    Expr whole_end;
  };
  std::vector<Around> around_;
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
