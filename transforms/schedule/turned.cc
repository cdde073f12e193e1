#include "transforms/schedule/turned.h"

#include <algorithm>

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

Expr Panel::Read() const {
  Expr at(0);
  for (const Term& t : terms) at = at * Expr(t.length) + SymbolExpr(t.range.index) - t.first;
  return ReadExpr(buffer, {FloorDiv(SymbolExpr(parts.index) - parts.begin, Expr(width)), at, SymbolExpr(u)});
}

void DeclarePanels(Sdfg* s, DType type, Panel* p) {
  Container c;
  c.name = p->buffer = FreshIn(*s, "b");
  c.dtype = type;
  c.shape = {Expr(p->panels), Expr(p->size()), Expr(p->width)};
  c.storage = Storage::kWorker;
  s->Add(std::move(c));
}

std::vector<NodeId> FillPanels(Sdfg* s, const Panel& p, const Expr& weights) {
  std::vector<Range> loops;
  for (const Term& t : p.terms) loops.push_back(t.range);
  std::stable_sort(loops.begin(), loops.end(), [&](const Range& x, const Range& y) {
    return StepOf(*s, weights, x.index) > StepOf(*s, weights, y.index);
  });
  loops.insert(StepOf(*s, weights, p.columns) == 1 ? loops.end() : loops.begin(), p.parts);
  const Expr u = SymbolExpr(p.u), first = SymbolExpr(p.parts.index);
  const std::vector<Expr> place = p.Read()->args;
  const auto put = [&](const Expr& slot, const Expr& value) {
    return s->AddNode(Tasklet{p.buffer, {place[0], place[1], slot}, false, false, WriteOp::kAssign, value});
  };
  const auto lanes = [&](int64_t begin, int64_t end, NodeId body) {
    return Wrap(s, {{{{p.u, Expr(begin), Expr(end), Expr(1)}}, Schedule::kVector}}, {body});
  };
  const auto some = [&](int64_t n) { return lanes(0, n, put(u, Substitute(weights, {{p.columns, first + u}}))); };
  const int64_t rest = p.count % p.width;
  const auto part = [&] {
    std::vector<NodeId> out = some(rest);
    for (NodeId n : lanes(rest, p.width, put(u, FloatExpr(0)))) out.push_back(n);
    return out;
  };
  std::vector<NodeId> body = rest == 0 ? some(p.width) : part();
  const Expr fits = BinaryExpr(Op::kLe, first + Expr(p.width), Expr(p.count));
  if (rest != 0 && p.count > p.width) body = {s->AddNode(If{fits, some(p.width), body})};
  return Wrap(s, {{loops, Schedule::kSequential}}, body);
}

}  // namespace headrace::schedule
