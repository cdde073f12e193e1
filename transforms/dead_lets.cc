#include "transforms/dead_lets.h"

#include <algorithm>
#include <vector>

#include "ir/analysis/layout.h"

namespace headrace::transforms {
namespace {

class Exposed {
 public:
  explicit Exposed(const Sdfg& s) : s_(s) {}

  std::unordered_set<Name> Run() {
    for (Name n : s_.order) {
      const Container& c = s_.Get(n);
      for (const auto* exprs : {&c.shape, &c.strides}) All(*exprs);
      Reads(c.offset);
    }
    List(s_.body);
    if (by_library_) exposed_.insert(named_.begin(), named_.end());
    return std::move(exposed_);
  }

 private:
  void Reads(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kSymbol) && !set_.count(x->name)) exposed_.insert(x->name);
      return true;
    });
  }
  void All(const std::vector<Expr>& all) {
    for (const Expr& e : all) Reads(e);
  }

  void List(const std::vector<BlockId>& body) {
    std::vector<Name> here;
    for (BlockId b : body) {
      const Control& c = s_.blocks[b].control;
      if (const auto* l = std::get_if<Loop>(&c)) {
        Reads(l->init), Reads(l->condition), Reads(l->update);
        List(l->body);
      } else if (const auto* d = std::get_if<Conditional>(&c)) {
        for (const Branch& br : d->branches) Reads(br.condition);
        for (const Branch& br : d->branches) List(br.body);
      } else if (const auto* a = std::get_if<Assign>(&c)) {
        Reads(a->value);
        named_.push_back(a->symbol);
        if (set_.insert(a->symbol).second) here.push_back(a->symbol);
      } else if (const auto* r = std::get_if<Require>(&c)) {
        Reads(r->condition), All(r->values);
      } else if (const auto* state = std::get_if<State>(&c)) {
        for (NodeId n : state->statements) Statement(n);
      }
    }
    for (Name n : here) set_.erase(n);
  }
  void Statement(NodeId id) {
    const Body& body = s_.nodes[id].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) {
      Reads(t->value), All(t->index);
    } else if (const auto* m = std::get_if<Map>(&body)) {
      for (const Range& r : m->ranges) Reads(r.begin), Reads(r.end), Reads(r.step);
    } else if (const auto* call = std::get_if<Nested>(&body)) {
      for (const auto& symbol : call->symbols) Reads(symbol.second);
      for (const Argument& a : call->arguments) All(a.index);
    } else if (const auto* choice = std::get_if<If>(&body)) {
      Reads(choice->condition);
    } else if (const auto* touch = std::get_if<Touch>(&body)) {
      All(touch->index);
    } else if (std::holds_alternative<Library>(body)) {
      by_library_ = true;  // what it speaks of may stand in its attributes
    }
    ForEachBody(body, [&](const std::vector<NodeId>& inside) {
      for (NodeId n : inside) Statement(n);
    });
  }

  const Sdfg& s_;
  std::unordered_set<Name> set_, exposed_;
  std::vector<Name> named_;
  bool by_library_ = false;
};

// Nothing but elements that are there, by indices of sizes.
bool NeverStops(const Sdfg& s, const Expr& value, const Range& range) {
  bool plain = true;
  Visit(value, [&](const Expr& e) {
    if (e.Is(ExprKind::kCall) || (e.Is(ExprKind::kBinary) && (e->op == Op::kDiv || e->op == Op::kFloorDiv || e->op == Op::kMod))) plain = false;
    if (!plain || !e.Is(ExprKind::kRead)) return plain;
    const std::vector<Expr>& shape = s.Get(e->name).shape;
    plain = !e->flat && !e->has_default && e->args.size() == shape.size();
    for (size_t d = 0; plain && d < shape.size(); ++d)
      plain = IsIndexExpr(e->args[d]) && UnprovenSides({range}, e->args[d], shape[d], s.assumptions).none();
    return false;
  });
  return plain;
}

}  // namespace

std::unordered_set<Name> ExposedSymbols(const Sdfg& s) { return Exposed(s).Run(); }

bool SetsUnusedSymbols(const Sdfg& s, const Loop& loop, const std::unordered_set<Name>& exposed) {
  const std::optional<Range> range = AsRange(loop);
  if (!range) return false;
  return std::all_of(loop.body.begin(), loop.body.end(), [&](BlockId b) {
    if (const auto* state = std::get_if<State>(&s.blocks[b].control)) return state->statements.empty();
    const auto* let = std::get_if<Assign>(&s.blocks[b].control);
    return let && let->message.empty() && !exposed.count(let->symbol) && NeverStops(s, let->value, *range);
  });
}

}  // namespace headrace::transforms
