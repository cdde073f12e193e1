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
  for (const Term& t : terms) n = std::min<int64_t>(int64_t{1} << 40, n * (&t == &terms.back() ? (t.length + group - 1) / group : t.length));
  return n;
}

Expr Panel::Read() const {
  Expr at(0);
  for (const Term& t : terms) {
    const bool grouped = group > 1 && &t == &terms.back();
    const Expr here = SymbolExpr(t.range.index) - t.first;
    at = grouped ? at * Expr((t.length + group - 1) / group) + FloorDiv(here, Expr(group)) : at * Expr(t.length) + here;
  }
  const Term& last = terms.back();
  std::vector<Expr> index = {FloorDiv(SymbolExpr(parts.index) - parts.begin, Expr(width)), at, SymbolExpr(u)};
  if (group > 1) index.push_back(Mod(SymbolExpr(last.range.index) - last.first, Expr(group)));
  return ReadExpr(buffer, index);
}

Expr Panel::Read(Name place, int64_t k) const {
  const Name last = terms.back().range.index;
  const Expr first = Substitute(Read(), {{last, terms.back().first}});
  std::vector<Expr> index(first->args.begin(), first->args.end());
  index[1] = index[1] + SymbolExpr(place), index[3] = Expr(k);
  return ReadExpr(buffer, index);
}

void DeclarePanels(Sdfg* s, DType type, Panel* p) {
  Container c;
  c.name = p->buffer = FreshIn(*s, "b");
  c.dtype = type;
  c.shape = {Expr(p->panels), Expr(p->size()), Expr(p->width)};
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
  loops.insert(StepOf(*s, weights, p.columns) == 1 ? loops.end() : loops.begin(), p.parts);
  const Expr u = SymbolExpr(p.u), first = SymbolExpr(p.parts.index);
  const std::vector<Expr> place = p.Read()->args;
  const auto put = [&](const Expr& slot, const Expr& value) {
    std::vector<Expr> at = place;
    at[2] = slot;
    return s->AddNode(Tasklet{p.buffer, at, false, false, WriteOp::kAssign, value});
  };
  const auto lanes = [&](int64_t begin, int64_t end, NodeId body) {
    return Wrap(s, {{{{p.u, Expr(begin), Expr(end), Expr(1)}}, Schedule::kVector}}, {body});
  };
  const auto some = [&](int64_t n) { return lanes(0, n, put(u, Substitute(weights, {{p.columns, first + u}}))); };
  const int64_t rest = p.count % p.width;
  const auto part = [&] {
    std::vector<NodeId> out = some(rest);
    for (NodeId n : lanes(rest, p.width, put(u, IdentityOf(WriteOp::kAdd, s->Get(p.buffer).dtype)))) out.push_back(n);
    return out;
  };
  std::vector<NodeId> body = rest == 0 ? some(p.width) : part();
  const Expr fits = BinaryExpr(Op::kLe, first + Expr(p.width), Expr(p.count));
  if (rest != 0 && p.count > p.width) body = {s->AddNode(If{fits, some(p.width), body})};
  std::vector<NodeId> out = Wrap(s, {{loops, Schedule::kSequential}}, body);
  const Term& last = p.terms.back();
  if (last.length % p.group == 0) return out;
  for (Range& r : loops)  // what is left of a last group is 0
    if (r.index == last.range.index) r.begin = last.first + Expr(last.length), r.end = r.begin + Expr(p.group - last.length % p.group);
  for (NodeId n : Wrap(s, {{loops, Schedule::kSequential}}, lanes(0, p.width, put(u, IdentityOf(WriteOp::kAdd, s->Get(p.buffer).dtype))))) out.push_back(n);
  return out;
}

}  // namespace headrace::schedule
