#include "transforms/short_sums.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "ir/analysis/layout.h"
#include "transforms/each_sdfg.h"

namespace headrace {
namespace {

constexpr int64_t kMostTerms = 4;

std::optional<int64_t> Trips(const Range& r) {
  const auto begin = AsInt(r.begin), end = AsInt(r.end);
  if (!begin || !end || (r.step && AsInt(r.step) != 1)) return std::nullopt;
  return std::max<int64_t>(0, *end - *begin);
}

// A sum of products over a few terms.
struct ShortSum {
  std::vector<Range> over, kept;
  Tasklet term;
};

// Whether two factors have each a long side that the other has not, so that tiles would use both many times.
bool IsOfTiles(const std::vector<Expr>& factors, const std::vector<Range>& kept) {
  const auto has_own = [&](const Expr& a, const Expr& b) {
    return std::any_of(kept.begin(), kept.end(), [&](const Range& r) {
      const auto trips = Trips(r);
      return (!trips || *trips > kMostTerms) && Mentions(a, r.index) && !Mentions(b, r.index);
    });
  };
  for (const Expr& a : factors)
    for (const Expr& b : factors)
      if (has_own(a, b) && has_own(b, a)) return true;
  return false;
}

std::optional<ShortSum> ShortSumIn(const Sdfg& s, NodeId statement) {
  const auto* m = std::get_if<Map>(&s.nodes[statement].body);
  const auto* t = m && m->schedule == Schedule::kDefault && m->body.size() == 1 ? std::get_if<Tasklet>(&s.nodes[m->body[0]].body) : nullptr;
  if (!t || t->op != WriteOp::kAdd || t->flat || t->guarded || !t->value.Is(ExprKind::kBinary) || t->value->op != Op::kMul) return {};
  ShortSum sum{{}, {}, *t};
  int64_t terms = 1;
  for (const Range& r : m->ranges) {
    for (const Range& other : m->ranges)
      if (Mentions(r.begin, other.index) || Mentions(r.end, other.index)) return {};
    const bool reduced = std::none_of(t->index.begin(), t->index.end(), [&](const Expr& e) { return Mentions(e, r.index); });
    (reduced ? sum.over : sum.kept).push_back(r);
    if (!reduced) continue;
    const auto trips = Trips(r);
    if (!trips || *trips < 1 || (terms *= *trips) > kMostTerms) return {};
  }
  if (sum.over.empty() || sum.kept.empty() || terms < 2) return {};
  std::vector<Expr> factors;
  bool plain = true;
  Visit(t->value, [&](const Expr& e) {
    if (!e.Is(ExprKind::kRead)) return true;
    for (const Range& r : sum.over)  // windows have schedules of their own
      for (const Expr& i : e->args) plain &= !Mentions(i, r.index) || i == SymbolExpr(r.index);
    plain &= !e->flat && !e->has_default && std::all_of(e->args.begin(), e->args.end(), IsIndexExpr);
    factors.push_back(e);
    return true;
  });
  const auto of_terms = [&](const Expr& e) {
    return std::any_of(sum.over.begin(), sum.over.end(), [&](const Range& r) { return Mentions(e, r.index); });
  };
  const bool product = factors.size() > 1 && of_terms(t->value->args[0]) && of_terms(t->value->args[1]);
  return plain && product && !IsOfTiles(factors, sum.kept) ? std::optional<ShortSum>(std::move(sum)) : std::nullopt;
}

// Ranges in the order of the target's dimensions.
void SortByTarget(ShortSum* sum) {
  const auto place = [&](const Range& r) {
    size_t d = 0;
    while (d < sum->term.index.size() && !Mentions(sum->term.index[d], r.index)) ++d;
    return d;
  };
  std::stable_sort(sum->kept.begin(), sum->kept.end(), [&](const Range& a, const Range& b) { return place(a) < place(b); });
}

void WriteOut(Sdfg* s, NodeId statement, ShortSum sum) {
  SortByTarget(&sum);
  const NodeId old = std::get<Map>(s->nodes[statement].body).body[0];
  const Origin origin = s->nodes[old].origin;
  std::vector<Expr> terms = {sum.term.value};
  for (const Range& r : sum.over) {
    std::vector<Expr> more;
    for (const Expr& e : terms)
      for (int64_t i = *AsInt(r.begin); i < *AsInt(r.end); ++i) more.push_back(Substitute(e, {{r.index, Expr(i)}}));
    terms = std::move(more);
  }
  Map map{sum.kept, {}};
  for (const Expr& e : terms) {
    Tasklet t = sum.term;
    t.value = e;
    map.body.push_back(s->AddNode(std::move(t), origin));
  }
  s->nodes.Mutable(statement).body = std::move(map);
}

}  // namespace

Result<bool> WriteOutShortSums(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) {
    std::vector<NodeId> found;
    ForEachBlock(*s, s->body, [&](BlockId b) {
      if (const auto* state = std::get_if<State>(&s->blocks[b].control))
        for (NodeId n : state->statements)
          if (ShortSumIn(*s, n) && ask(Match{s->name, {n}, {}, {}, "", true})) found.push_back(n);
    });
    for (NodeId n : found) WriteOut(s, n, *ShortSumIn(*s, n));
    return !found.empty();
  });
}

}  // namespace headrace
