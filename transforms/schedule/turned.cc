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

// Of each group so many elements are there, and the others 0.
std::vector<NodeId> FillGroups(Sdfg* s, const Panel& p, const Expr& weights, const std::vector<Range>& loops, int64_t elements) {
  const Expr u = SymbolExpr(p.u), first = SymbolExpr(p.parts.index), zero = IdentityOf(WriteOp::kAdd, s->Get(p.buffer).dtype);
  const auto lanes = [&](int64_t begin, int64_t end, bool columns) {
    std::vector<NodeId> body;
    for (int64_t k = 0; k < p.group; ++k) {
      const Expr value = Substitute(weights, {{p.columns, first + u}, {p.terms.back().range.index, p.Innermost(k)}});
      body.push_back(s->AddNode(Tasklet{p.buffer, p.Read(k)->args, false, false, WriteOp::kAssign, columns && k < elements ? value : zero}));
    }
    return Wrap(s, {{{{p.u, Expr(begin), Expr(end), Expr(1)}}, Schedule::kVector}}, body);
  };
  const int64_t rest = p.count % p.width;
  const auto part = [&] {
    std::vector<NodeId> out = lanes(0, rest, true);
    for (NodeId n : lanes(rest, p.width, false)) out.push_back(n);
    return out;
  };
  std::vector<NodeId> body = rest == 0 ? lanes(0, p.width, true) : part();
  const Expr fits = BinaryExpr(Op::kLe, first + Expr(p.width), Expr(p.count));
  if (rest != 0 && p.count > p.width) body = {s->AddNode(If{fits, lanes(0, p.width, true), body})};
  return Wrap(s, {{loops, Schedule::kSequential}}, body);
}

}  // namespace

int64_t Panel::size() const {
  int64_t n = 1;
  for (const Term& t : terms) n = std::min<int64_t>(int64_t{1} << 40, n * (&t == &terms.back() ? (t.length + group - 1) / group : t.length));
  return n;
}

Range Panel::Groups() const {
  const Term& last = terms.back();
  if (group == 1) return last.range;
  const Expr count = last.length % group == 0 ? FloorDiv(last.range.end - last.range.begin, Expr(group)) : Expr(last.length / group + 1);
  return {groups, Expr(0), count, Expr(1)};
}

Expr Panel::Innermost(int64_t element) const {
  const Range& r = terms.back().range;
  return group == 1 ? SymbolExpr(r.index) : r.begin + Expr(group) * SymbolExpr(groups) + Expr(element);
}

Expr Panel::Read(int64_t element) const {
  Expr at(0);
  for (const Term& t : terms) {
    const bool grouped = group > 1 && &t == &terms.back();
    at = at * Expr(grouped ? (t.length + group - 1) / group : t.length) + (grouped ? SymbolExpr(groups) : SymbolExpr(t.range.index) - t.first);
  }
  std::vector<Expr> index = {FloorDiv(SymbolExpr(parts.index) - parts.begin, Expr(width)), at, SymbolExpr(u)};
  if (group > 1) index.push_back(Expr(element));
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

std::vector<NodeId> FillPanels(Sdfg* s, const Panel& p, const Expr& weights, int64_t square) {
  const Term& last = p.terms.back();
  std::vector<Range> loops;
  for (const Term& t : p.terms) loops.push_back(t.range);
  std::stable_sort(loops.begin(), loops.end(), [&](const Range& x, const Range& y) {
    return StepOf(*s, weights, x.index) > StepOf(*s, weights, y.index);
  });
  if (const auto squares = PanelBySquares(s, p, weights, loops, square)) {
    std::vector<NodeId> panel = *squares;
    if (p.count % p.width != 0) {
      const Expr fits = BinaryExpr(Op::kLe, SymbolExpr(p.parts.index) + Expr(p.width), Expr(p.count));
      Panel rest = p;
      rest.count = p.count % p.width;
      panel = {s->AddNode(If{fits, panel, FillGroups(s, rest, weights, loops, 1)})};
    }
    return Wrap(s, {{{p.parts}, Schedule::kSequential}}, panel);
  }
  for (Range& r : loops)
    if (r.index == last.range.index) r = p.Groups();
  loops.insert(StepOf(*s, weights, p.columns) == 1 ? loops.end() : loops.begin(), p.parts);
  const int64_t left = last.length % p.group, whole = last.length / p.group;
  if (left == 0) return FillGroups(s, p, weights, loops, p.group);
  const auto groups = [&](int64_t begin, int64_t end) {
    for (Range& r : loops)
      if (r.index == p.groups) r.begin = Expr(begin), r.end = Expr(end);
    return loops;
  };
  std::vector<NodeId> out;
  if (whole > 0) out = FillGroups(s, p, weights, groups(0, whole), p.group);
  for (NodeId n : FillGroups(s, p, weights, groups(whole, whole + 1), left)) out.push_back(n);
  return out;
}

}  // namespace headrace::schedule
