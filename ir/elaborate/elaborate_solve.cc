// Ranges of a statement's indices (NOTATION, "Ranges"): `over`, then the extents where an index stands bare, then guarded
// reads, then what the name had before.
#include <algorithm>

#include "ir/elaborate/elaborate_internal.h"
#include "ir/expr/broadcast.h"

namespace headrace {
namespace elaborate {
namespace {

// Where an index stands alone between brackets.
struct Bare {
  Name index, container;
  Expr extent;
  bool guarded = false, target = false;
};

void CollectBare(const Sdfg& s, const Expr& root, std::vector<Bare>* out) {
  std::set<const void*> seen;
  Visit(root, [&](const Expr& e) {
    if (!seen.insert(e.id()).second) return false;
    if (!e.Is(ExprKind::kRead)) return true;
    const Container& c = s.Get(e->name);
    const size_t n = e->args.size() - (e->has_default ? 1 : 0);
    for (size_t i = 0; i < n; ++i)
      if (e->args[i].Is(ExprKind::kSymbol) && IsReserved(e->args[i]->name))
        out->push_back({e->args[i]->name, c.name, e->flat ? NumElements(c) : c.shape[i], e->has_default, false});
    return true;
  });
}

std::string Shown(Name n) {
  std::string s = n.str().substr(1);
  return s[0] == '.' ? "'..', dimension " + std::to_string(std::stoi(s.substr(1)) + 1) + " from the right"
                     : "'" + s + "'";
}

// Reserved symbols in order of appearance.
void Appearing(const Expr& root, std::vector<Name>* out) {
  std::set<const void*> seen;
  Visit(root, [&](const Expr& e) {
    if (!seen.insert(e.id()).second) return false;
    if (e.Is(ExprKind::kSymbol) && IsReserved(e->name) && std::find(out->begin(), out->end(), e->name) == out->end())
      out->push_back(e->name);
    return true;
  });
}

bool IsLength(Name n) { return n.view().substr(0, 5) == "%len:"; }

}  // namespace

bool Elaborator::EvalOver(const FormStmt& s, Target* t) {
  t->over.clear();
  t->over_tensors.clear();
  auto add = [&](Name n, Expr begin, Expr end) {
    t->over.push_back({n, {AsIndexLiteral(begin), AsIndexLiteral(end)}});
    Unbounded(n);
  };
  bool solved = true;
  for (const FormRange& r : s.over) {
    if (r.begin) {
      Val b = Eval(r.begin, env_, {true}), e = Eval(r.end, env_, {true});
      if (b.unsolved() || e.unsolved()) {
        solved = false;
        continue;
      }
      for (const Val* v : {&b, &e})
        if (v->kind != Val::kScalar && v->kind != Val::kList)
          Fail(At(r.begin), "the bounds of a range must be numbers");
      if (!r.group) {
        if (b.kind == Val::kList || e.kind == Val::kList)
          Fail(At(r.begin), "the bounds are lists", "write " + r.index.str() + ".. in …");
        add("%" + r.index.str(), b.e, e.e);
        continue;
      }
      if (b.kind == Val::kList || e.kind == Val::kList)
        SolveGroup(r.index, static_cast<int>(b.kind == Val::kList ? b.items.size() : e.items.size()), At(r.begin));
      Val g = Group(r.index);
      if (g.unsolved()) {
        solved = false;
        continue;
      }
      for (size_t i = 0; i < g.items.size(); ++i)
        add(g.items[i]->name, b.kind == Val::kList ? b.items.at(i) : b.e, e.kind == Val::kList ? e.items.at(i) : e.e);
      continue;
    }
    const Name c = ContainerOf(r.access->name, env_);
    if (c.empty())
      Fail(At(r.access), "'over' names a tensor of this form or an index, found '" + r.access->name.str() + "'",
           KnownNames());
    if (r.access.Is(ExprKind::kSymbol)) {
      t->over_tensors.push_back(c);
      continue;
    }
    const std::vector<Expr>& shape = s_.Get(c).shape;
    auto slots =
        EvalPlace(r.access->args, env_, static_cast<int>(shape.size()), r.access->name.str(), &shape, At(r.access));
    if (!slots) {
      solved = false;
      continue;
    }
    RecordWalks(c, *slots, false, false);
    for (size_t i = 0; i < slots->size(); ++i)
      if ((*slots)[i].e && (*slots)[i].e.Is(ExprKind::kSymbol) && IsReserved((*slots)[i].e->name))
        add((*slots)[i].e->name, IntExpr(0), shape[i]);
  }
  return solved;
}

namespace {

bool Same(const Expr& a, const Expr& b, const Assumptions& as) { return a == b || ProveEq(a, b, as) == Truth::kYes; }

// The index into a dimension of `have` elements where the range counts `want`: an extent of 1 repeats.
Expr Broadcast(const Expr& index, const Expr& have, const Expr& want, const Assumptions& as) {
  if (AsInt(have) == 1 || AsInt(want) == 1) return IntExpr(0);
  if (AsInt(have) || !want || Same(have, want, as)) return index;
  return index * Min(have - 1, IntExpr(1));  // whether it is 1 shows when the program runs
}

}  // namespace

// `..` broadcasts as numpy does: an extent of 1 repeats. Sizes that are neither 1 nor the range are found by RequireWalks.
void Elaborator::SolveEllipsis(Target* t, Place at) {
  std::vector<Bare> places;
  if (!t->container.empty()) {
    const Container& c = s_.Get(t->container);
    for (size_t i = 0; i < t->index.size(); ++i)
      if (t->index[i].Is(ExprKind::kSymbol))
        places.push_back({t->index[i]->name, c.name, t->flat ? NumElements(c) : c.shape[i], t->guarded, true});
  }
  CollectBare(s_, t->value, &places);
  std::map<Name, Expr> extents;
  for (const Bare& p : places) {
    if (!IsEllipsisIndex(p.index)) continue;
    Expr& e = extents[p.index];
    if (p.target && t->op == WriteOp::kAssign) e = p.extent;
    if (!e || (AsInt(e) == 1 && !(t->op == WriteOp::kAssign && p.target))) {
      bool fixed = false;
      for (const Bare& q : places) fixed = fixed || (q.target && q.index == p.index && t->op == WriteOp::kAssign);
      if (!fixed) e = p.extent;
    }
    auto surely_not = [&](const Expr& a, const Expr& b) { return ProveEq(a, b, assumptions_) == Truth::kNo; };
    if (!p.guarded && surely_not(e, p.extent) && surely_not(p.extent, IntExpr(1)) &&
        (AsInt(e) || surely_not(e, IntExpr(1))))
      Fail(at, "shapes don't broadcast: '" + p.container.str() + "' has " + ToString(p.extent) + " where " +
                   ToString(e) + " is needed (" + Shown(p.index) + ")");
  }
  const auto given = [&](Name index) {  // by a target that is written as a whole
    return t->op == WriteOp::kAssign && std::any_of(places.begin(), places.end(), [&](const Bare& p) {
             return p.target && p.index == index && !p.guarded;
           });
  };
  for (const Bare& p : places)
    if (IsEllipsisIndex(p.index) && !p.guarded && !given(p.index))
      extents[p.index] = BroadcastSize(extents[p.index], p.extent, assumptions_);
  auto pin = [&](const Expr& root) {
    return Transform(root, [&](const Expr& e) -> Expr {
      if (!e.Is(ExprKind::kRead) || e->flat) return e;
      const Container& c = s_.Get(e->name);
      std::vector<Expr> args = e->args;
      bool changed = false;
      for (size_t i = 0; i < c.shape.size(); ++i) {
        if (!args[i].Is(ExprKind::kSymbol) || !IsEllipsisIndex(args[i]->name)) continue;
        const Expr at = Broadcast(args[i], c.shape[i], extents[args[i]->name], assumptions_);
        changed = changed || !(at == args[i]);
        args[i] = at;
      }
      return changed ? WithArgs(e, std::move(args)) : e;
    });
  };
  t->value = pin(t->value);
  for (size_t i = 0; i < t->index.size(); ++i) {
    t->index[i] = pin(t->index[i]);
    if (t->container.empty() || t->flat || !t->index[i].Is(ExprKind::kSymbol) || !IsEllipsisIndex(t->index[i]->name))
      continue;
    t->index[i] = Broadcast(t->index[i], s_.Get(t->container).shape[i], extents[t->index[i]->name], assumptions_);
  }
  for (const auto& [n, e] : extents)
    if (e) t->over.push_back({n, {IntExpr(0), e}});
}

void Elaborator::SolveRanges(Target* t, Place at) {
  SolveEllipsis(t, at);
  std::vector<Bare> places;
  if (!t->container.empty()) {
    const Container& c = s_.Get(t->container);
    for (size_t i = 0; i < t->index.size(); ++i)
      if (t->index[i].Is(ExprKind::kSymbol) && IsReserved(t->index[i]->name))
        places.push_back({t->index[i]->name, c.name, t->flat ? NumElements(c) : c.shape[i], t->guarded, true});
  }
  for (const Expr& e : t->index) CollectBare(s_, e, &places);
  CollectBare(s_, t->value, &places);

  std::vector<Name> names, lengths;
  for (const Expr& e : t->index) Appearing(e, &names);
  const auto is_length = [](Name n) { return IsLength(n); };
  names.erase(std::remove_if(names.begin(), names.end(), is_length), names.end());
  t->target_ranges = names.size();
  Appearing(t->value, &names);
  for (size_t i = t->target_ranges; i < names.size(); ++i)
    if (IsLength(names[i])) lengths.push_back(names[i]);
  names.erase(std::remove_if(names.begin(), names.end(), is_length), names.end());
  // An index that only `over` names still counts how often a reduction adds.
  if (t->op != WriteOp::kAssign)
    for (const auto& [n, r] : t->over)
      if (!IsEllipsisIndex(n) && std::find(names.begin(), names.end(), n) == names.end()) names.push_back(n);

  const auto walked = [&](const Bare& p) {
    return std::any_of(walks_.begin(), walks_.end(), [&](const Walk& w) {
      return w.index == p.index && w.container == p.container && w.extent == p.extent;
    });
  };
  auto solve = [&](Name n) -> Interval2 {
    for (const auto& [name, r] : t->over)
      if (name == n) return r;
    for (Name tensor : t->over_tensors)
      for (const Bare& p : places)
        if (p.container == tensor && p.index == n) return {IntExpr(0), p.extent};
    for (const bool guarded : {false, true}) {
      const Bare* best = nullptr;
      Expr all;  // sizes that may differ only when the program runs are required to be equal: a known one counts
      for (const Bare& p : places) {
        if (p.index != n || p.guarded != guarded) continue;
        if (!best) {
          best = &p, all = p.extent;
          continue;
        }
        if (guarded) continue;
        if (ProveEq(best->extent, p.extent, assumptions_) == Truth::kNo)
          Fail(at,
               "the range of " + Shown(n) + " is " + ToString(best->extent) + " in '" + best->container.str() +
                   "' and " + ToString(p.extent) + " in '" + p.container.str() + "'",
               "say which one counts: over " + p.container.str());
        if (!AsInt(all) && AsInt(p.extent) && walked(p)) all = p.extent;
      }
      if (best) return {IntExpr(0), all};
    }
    if (auto it = remembered_range_.find(n); it != remembered_range_.end()) return it->second;
    Fail(at, "nothing fixes the range of " + Shown(n),
         "use it bare in a read, or add: over " + n.str().substr(1) + " in 0:…");
  };
  t->ranges.clear();
  NameMap known;
  auto solve_and_keep = [&](Name n) {
    Interval2 r = solve(n);
    known.push_back({"%len:" + n.str(), r.end - r.begin});
    if (!IsEllipsisIndex(n)) remembered_range_[n] = r;
    return r;
  };
  for (Name n : names) t->ranges.push_back({n, solve_and_keep(n)});
  for (Name n : lengths) {
    const Name index = n.str().substr(5);
    if (std::find(names.begin(), names.end(), index) == names.end()) solve_and_keep(index);
  }
  if (!lengths.empty()) {
    t->value = Substitute(t->value, known);
    for (Expr& e : t->index) e = Substitute(e, known);
    for (auto& [n, r] : t->ranges) r.begin = Substitute(r.begin, known), r.end = Substitute(r.end, known);
  }
}

}  // namespace elaborate
}  // namespace headrace
