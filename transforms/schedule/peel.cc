#include "transforms/schedule/peel.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/steps.h"

namespace headrace::schedule {
namespace {

struct Stretch {
  std::vector<Expr> from, below;  // on which all questions that are linear in the lane have the answer yes
};

// One comparison that is linear in the lane: a >= b or a < b.
bool AddComparison(const Expr& c, Name lane, Stretch* out) {
  if (!c.Is(ExprKind::kBinary) || (c->op != Op::kGe && c->op != Op::kLt)) return false;
  const Expr &a = c->args[0], &b = c->args[1];
  if (!IsIndexExpr(a) || !IsIndexExpr(b) || Mentions(b, lane)) return false;
  const auto slope = Coefficient(a, lane);
  const auto step = slope ? AsInt(*slope) : std::nullopt;
  if (!step || *step == 0) return false;
  const Expr rest = Substitute(a, {{lane, Expr(0)}});
  const int64_t k = c->op == Op::kGe ? *step : -*step;  // k * lane + r >= 0
  const Expr r = c->op == Op::kGe ? rest - b : b - Expr(1) - rest;
  if (k > 0) out->from.push_back(FloorDiv(Expr(k - 1) - r, Expr(k)));
  else out->below.push_back(FloorDiv(r, Expr(-k)) + Expr(1));
  return true;
}

// The index itself where it is mirrored or held at the ends of 0:n: on the stretch it is inside. Null: no such thing.
Expr Inside(const Expr& e, Name lane, Stretch* out) {
  const bool mirrored = e.Is(ExprKind::kCall) && e->name == Name("reflect");
  const bool held = e.Is(ExprKind::kCall) && e->name == Name("clamp") && AsInt(e->args[1]) == 0;
  if (!mirrored && !held) return {};
  const Expr &index = e->args[0], end = held ? e->args[2] + Expr(1) : e->args[1];
  const bool inside = AddComparison(BinaryExpr(Op::kGe, index, Expr(0)), lane, out) && AddComparison(BinaryExpr(Op::kLt, index, end), lane, out);
  return inside ? index : Expr();
}

// What is left of a conjunction on the stretch; null: nothing.
Expr Left(const Expr& c, Name lane, Stretch* out) {
  if (c.Is(ExprKind::kBinary) && c->op == Op::kAnd) {
    const Expr a = Left(c->args[0], lane, out), b = Left(c->args[1], lane, out);
    return a && b ? BinaryExpr(Op::kAnd, a, b) : a ? a : b;
  }
  return AddComparison(c, lane, out) ? Expr() : c;
}

Expr OnStretch(const Expr& value, Name lane, Stretch* out) {
  return Transform(value, [&](const Expr& e) -> Expr {
    if (const Expr index = Inside(e, lane, out)) return index;
    if (!e.Is(ExprKind::kSelect)) return e;
    const Expr left = Left(e->args[0], lane, out);
    return left ? WithArgs(e, {left, e->args[1], e->args[2]}) : e->args[1];
  });
}

}  // namespace

bool AsksForStrides(const Sdfg& s, const std::vector<NodeId>& body, Name lane) {
  bool strided = false;
  for (NodeId n : body) {
    const auto* t = std::get_if<Tasklet>(&s.nodes[n].body);
    if (!t) continue;
    Visit(t->value, [&](const Expr& e) {
      Stretch stretch;
      if (!e.Is(ExprKind::kSelect)) return !strided;
      Left(e->args[0], lane, &stretch);
      if (stretch.from.empty() && stretch.below.empty()) return true;
      Visit(e->args[1], [&](const Expr& r) {
        if (!r.Is(ExprKind::kRead)) return true;
        const Offset at = OffsetOf(s, r->name, {r->args.begin(), r->args.end() - r->has_default}, r->flat);
        const auto c = at.elements ? Coefficient(at.elements, lane) : std::nullopt;
        strided |= !c || (AsInt(*c) != 0 && AsInt(*c) != 1);
        return true;
      });
      return !strided;
    });
  }
  return strided;
}

std::vector<NodeId> PeeledLanes(Sdfg* s, const Range& lane, const std::vector<NodeId>& body) {
  Stretch stretch;
  std::vector<Tasklet> inside;
  for (NodeId n : body) {
    inside.push_back(std::get<Tasklet>(s->nodes[n].body));
    inside.back().value = OnStretch(inside.back().value, lane.index, &stretch);
  }
  if (stretch.from.empty() && stretch.below.empty()) return Wrap(s, {{{lane}, Schedule::kVector}}, body);
  Expr from = lane.begin, below = lane.end;
  for (const Expr& e : stretch.from) from = Max(from, e);
  for (const Expr& e : stretch.below) below = Min(below, e);
  // Each part has tasklets and registers of its own.
  const auto part = [&](const Expr& begin, const Expr& end, Schedule kind, bool within) {
    std::vector<std::pair<Name, Name>> renamed;
    std::vector<NodeId> copy;
    for (size_t k = 0; k < body.size(); ++k) {
      Tasklet t = within ? inside[k] : std::get<Tasklet>(s->nodes[body[k]].body);
      const Container local = s->Get(t.target);
      const bool own = local.storage == Storage::kRegister && t.op == WriteOp::kAssign && local.shape.empty();
      if (own && std::none_of(renamed.begin(), renamed.end(), [&](const auto& r) { return r.first == t.target; })) {
        Container fresh = local;
        fresh.name = FreshIn(*s, local.name.str());
        renamed.emplace_back(local.name, fresh.name);
        s->Add(std::move(fresh));
      }
      t.value = RenameContainers(t.value, renamed);
      for (Expr& e : t.index) e = RenameContainers(e, renamed);
      for (const auto& [was, is] : renamed)
        if (t.target == was) t.target = is;
      copy.push_back(s->AddNode(std::move(t)));
    }
    return Wrap(s, {{{{lane.index, begin, end, Expr(1)}}, kind}}, copy);
  };
  std::vector<NodeId> out;
  const auto add = [&](const std::vector<NodeId>& more) { out.insert(out.end(), more.begin(), more.end()); };
  const Expr first = Min(from, lane.end);
  if (from != lane.begin) add(part(lane.begin, first, Schedule::kSequential, false));
  add(part(from, below, Schedule::kVector, true));
  if (below != lane.end) add(part(Max(lane.begin, Max(first, below)), lane.end, Schedule::kSequential, false));
  return out;
}

}  // namespace headrace::schedule
