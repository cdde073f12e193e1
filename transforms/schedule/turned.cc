#include "transforms/schedule/turned.h"

#include <algorithm>
#include <functional>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

int64_t StepOf(const Sdfg& s, const Expr& operand, Name index) {
  int64_t step = 0;
  Visit(operand, [&](const Expr& e) {
    if (!e.Is(ExprKind::kRead)) return true;
    const Offset at = OffsetOf(s, e->name, {e->args.begin(), e->args.end() - e->has_default}, e->flat);
    const Expr stride = at.elements ? StrideOf(at.elements, index) : Expr();
    step = std::max(step, std::abs(stride ? AsInt(stride).value_or(INT32_MAX) : INT32_MAX));
    return true;
  });
  return step;
}

}  // namespace

int64_t Panel::size() const {
  int64_t n = 1;
  for (const Term& t : terms) n = std::min<int64_t>(int64_t{1} << 40, n * t.length);
  return n;
}

Range Panel::Groups() const {
  const Range& r = terms.back().range;
  return group == 1 ? r : Range{groups, Expr(0), FloorDiv(r.end - r.begin, Expr(group)), Expr(1)};
}

Expr Panel::Innermost(int64_t element) const {
  const Range& r = terms.back().range;
  return group == 1 ? SymbolExpr(r.index) : r.begin + Expr(group) * SymbolExpr(groups) + Expr(element);
}

Expr Panel::Read(int64_t element) const {
  Expr at(0);
  for (const Term& t : terms) at = at * Expr(t.length) + SymbolExpr(t.range.index) - t.first;
  at = FloorDiv(Substitute(at, {{terms.back().range.index, Innermost(0)}}), Expr(group));
  std::vector<Expr> index = {FloorDiv(SymbolExpr(parts.index) - parts.begin, Expr(width)), at, SymbolExpr(u)};
  if (group > 1) index.push_back(Expr(element));
  return ReadExpr(buffer, index);
}

void DeclarePanels(Sdfg* s, DType type, Panel* p) {
  Container c;
  c.name = p->buffer = FreshIn(*s, "b");
  c.dtype = type;
  c.shape = {Expr(p->panels), Expr(p->size() / p->group), Expr(p->width)};
  if (p->group > 1) c.shape.push_back(Expr(p->group));
  c.storage = Storage::kWorker;
  s->Add(std::move(c));
}

std::vector<NodeId> FillPanels(Sdfg* s, const Panel& p, const Expr& weights) {
  std::vector<Range> loops;
  for (const Term& t : p.terms) loops.push_back(t.range);
  std::stable_sort(loops.begin(), loops.end(), [&](const Range& x, const Range& y) {
    return StepOf(*s, weights, x.index) > StepOf(*s, weights, y.index);
  });
  for (Range& r : loops)
    if (r.index == p.terms.back().range.index) r = p.Groups();
  loops.insert(StepOf(*s, weights, p.columns) == 1 ? loops.end() : loops.begin(), p.parts);
  const Expr u = SymbolExpr(p.u), first = SymbolExpr(p.parts.index);
  const auto lanes = [&](int64_t begin, int64_t end, const std::function<Expr(int64_t)>& value) {
    std::vector<NodeId> body;
    for (int64_t k = 0; k < p.group; ++k)
      body.push_back(s->AddNode(Tasklet{p.buffer, p.Read(k)->args, false, false, WriteOp::kAssign, value(k)}));
    return Wrap(s, {{{{p.u, Expr(begin), Expr(end), Expr(1)}}, Schedule::kVector}}, body);
  };
  const auto some = [&](int64_t n) {
    return lanes(0, n, [&](int64_t k) {
      return Substitute(weights, {{p.columns, first + u}, {p.terms.back().range.index, p.Innermost(k)}});
    });
  };
  const int64_t rest = p.count % p.width;
  const auto part = [&] {
    std::vector<NodeId> out = some(rest);
    for (NodeId n : lanes(rest, p.width, [](int64_t) { return FloatExpr(0); })) out.push_back(n);
    return out;
  };
  std::vector<NodeId> body = rest == 0 ? some(p.width) : part();
  const Expr fits = BinaryExpr(Op::kLe, first + Expr(p.width), Expr(p.count));
  if (rest != 0 && p.count > p.width) body = {s->AddNode(If{fits, some(p.width), body})};
  return Wrap(s, {{loops, Schedule::kSequential}}, body);
}

}  // namespace headrace::schedule
