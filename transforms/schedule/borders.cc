#include "transforms/schedule/borders.h"

#include <algorithm>

#include "ir/analysis/layout.h"

namespace headrace::schedule {

void Conjuncts(const Expr& c, std::vector<Expr>* out) {
  if (c.Is(ExprKind::kBinary) && c->op == Op::kAnd) return Conjuncts(c->args[0], out), Conjuncts(c->args[1], out);
  if (std::find(out->begin(), out->end(), c) == out->end()) out->push_back(c);
}

Expr All(const std::vector<Expr>& conditions) {
  Expr all;
  for (const Expr& c : conditions) all = all ? BinaryExpr(Op::kAnd, all, c) : c;
  return all;
}

Borders BordersOf(const Expr& value, const Range& line, const std::vector<Range>& window) {
  const int64_t length = AsInt(line.end).value_or(0);
  Borders out;
  out.last = length;
  std::vector<Expr> conditions;
  Visit(value, [&](const Expr& e) {
    if (e.Is(ExprKind::kSelect)) Conjuncts(e->args[0], &conditions);
    return true;
  });
  for (const Expr& c : conditions) {
    if (!Mentions(c, line.index)) {
      out.across.push_back(c);
      continue;
    }
    out.along.push_back(c);
    Expr slack = c->op == Op::kGe ? c->args[0] - c->args[1] : c->args[1] - Expr(1) - c->args[0];  // 0 or more where it holds
    for (const Range& t : window) {  // at the worst place of the window
      const auto by = Coefficient(slack, t.index);
      const int64_t step = by ? AsInt(*by).value_or(0) : 0;
      slack = Substitute(slack, {{t.index, step < 0 ? t.end - Expr(1) : Expr(0)}});
    }
    const auto by = Coefficient(slack, line.index);
    const int64_t step = by ? AsInt(*by).value_or(0) : 0;
    const auto rest = AsInt(Substitute(slack, {{line.index, Expr(0)}}));
    if (step == 0 || !rest) out.last = 0;  // nobody knows
    else if (step > 0) out.first = std::max(out.first, *AsInt(FloorDiv(Expr(step - 1 - *rest), Expr(step))));
    else out.last = std::min(out.last, *AsInt(FloorDiv(Expr(*rest), Expr(-step))) + 1);
  }
  out.first = std::min(out.first, length);
  out.last = std::max(out.first, out.last);
  return out;
}

Expr Where(const Expr& value, const std::vector<Expr>& conditions) {
  return Transform(value, [&](const Expr& e) -> Expr {
    if (!e.Is(ExprKind::kSelect)) return e;
    std::vector<Expr> all, left;
    Conjuncts(e->args[0], &all);
    for (const Expr& c : all)
      if (std::find(conditions.begin(), conditions.end(), c) == conditions.end()) left.push_back(c);
    return left.empty() ? e->args[1] : WithArgs(e, {All(left), e->args[1], e->args[2]});
  });
}

// Reads that ask for less than all of them still ask: one may be outside where another isn't.
Expr Outside(const Expr& value, const std::vector<Expr>& conditions) {
  return Transform(value, [&](const Expr& e) -> Expr {
    if (!e.Is(ExprKind::kSelect)) return e;
    std::vector<Expr> all;
    Conjuncts(e->args[0], &all);
    const bool each = std::all_of(conditions.begin(), conditions.end(),
                                  [&](const Expr& c) { return std::find(all.begin(), all.end(), c) != all.end(); });
    return each ? e->args[2] : e;
  });
}

std::vector<NodeId> OnEachSide(Sdfg* s, const Expr& value, const std::vector<Expr>& conditions,
                               const std::function<std::vector<NodeId>(const Expr&)>& term) {
  std::vector<Expr> asked;  // by the first choice that asks for some of them
  Visit(value, [&](const Expr& e) {
    std::vector<Expr> all;
    if (e.Is(ExprKind::kSelect)) Conjuncts(e->args[0], &all);
    for (const Expr& c : asked.empty() ? all : std::vector<Expr>())
      if (std::find(conditions.begin(), conditions.end(), c) != conditions.end()) asked.push_back(c);
    return asked.empty();
  });
  if (asked.empty()) return term(value);
  auto yes = OnEachSide(s, Where(value, asked), conditions, term), no = OnEachSide(s, Outside(value, asked), conditions, term);
  return {s->AddNode(If{All(asked), std::move(yes), std::move(no)})};
}

}  // namespace headrace::schedule
