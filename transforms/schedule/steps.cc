#include "transforms/schedule/steps.h"

#include <algorithm>
#include <functional>
#include <set>

#include "ir/analysis/layout.h"

namespace headrace::schedule {
namespace {

void ForEachExpr(Sdfg* s, const std::vector<NodeId>& body, const std::function<Expr(const Expr&)>& fn) {
  for (NodeId n : body) {
    Body& b = s->nodes.Mutable(n).body;
    if (auto* t = std::get_if<Tasklet>(&b)) {
      t->value = fn(t->value);
      for (Expr& e : t->index) e = fn(e);
    } else if (auto* m = std::get_if<Map>(&b)) {
      for (Range& r : m->ranges)
        for (Expr* e : {&r.begin, &r.end, &r.step})
          if (*e) *e = fn(*e);
    } else if (auto* i = std::get_if<If>(&b)) {
      i->condition = fn(i->condition);
    } else if (auto* k = std::get_if<Touch>(&b)) {
      for (Expr& e : k->index) e = fn(e);
    }
    std::vector<NodeId> inside;
    ForEachBody(b, [&](const std::vector<NodeId>& list) { inside.insert(inside.end(), list.begin(), list.end()); });
    ForEachExpr(s, inside, fn);
  }
}

bool Moves(const Expr& e, Name outer, Name inner) { return Mentions(e, outer) || Mentions(e, inner); }

// The dimension that the two indices are together, in an access that has both, side by side: the outer one alone, or behind what maps around
// the nest say.
std::optional<size_t> Pair(const Sdfg& s, const ElementAccess& a, const Nest& n, Name outer, const Range& inner) {
  if (a.flat) return std::nullopt;
  const Container& c = s.Get(a.container);
  for (size_t d = 0; d + 1 < a.index.size(); ++d) {
    if (a.index[d + 1] != SymbolExpr(inner.index) || !Mentions(a.index[d], outer)) continue;
    const Expr around = Simplify(a.index[d] - SymbolExpr(outer));
    const auto moves = [&](const Range& r) { return Mentions(around, r.index); };
    if (!IsIndexExpr(around) || std::any_of(n.ranges.begin(), n.ranges.end(), moves)) return std::nullopt;
    if (c.shape[d + 1] != inner.end) return std::nullopt;
    const std::vector<Expr> strides = StridesOf(c);
    if (!c.row_major() && strides[d] != strides[d + 1] * c.shape[d + 1]) return std::nullopt;
    for (size_t o = 0; o < a.index.size(); ++o)
      if (o != d && o != d + 1 && Moves(a.index[o], outer, inner.index)) return std::nullopt;
    return d;
  }
  return std::nullopt;
}

bool MentionsAny(const std::vector<Expr>& list, Name a, Name b) {
  return std::any_of(list.begin(), list.end(), [&](const Expr& e) { return Moves(e, a, b); });
}

// `e` without the reads that pair the two: does it still speak of them?
bool SpeaksOf(const Expr& e, Name a, Name b) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    if (x.Is(ExprKind::kRead)) {
      const std::vector<Expr> rest{x->args.end() - x->has_default, x->args.end()};
      found |= MentionsAny(rest, a, b);
      return false;
    }
    found |= x.Is(ExprKind::kSymbol) && (x->name == a || x->name == b);
    return !found;
  });
  return found;
}

// Whether statements, and maps of such, have the two indices side by side wherever they have any of them.
bool IsWalkedAsOne(const Sdfg& s, const Nest& n, const std::vector<NodeId>& body, Name outer, const Range& inner) {
  return std::all_of(body.begin(), body.end(), [&](NodeId id) {
    if (const auto* m = std::get_if<Map>(&s.nodes[id].body))
      return std::none_of(m->ranges.begin(), m->ranges.end(), [&](const Range& r) { return MentionsAny({r.begin, r.end}, outer, inner.index); }) &&
             IsWalkedAsOne(s, n, m->body, outer, inner);
    const auto* t = std::get_if<Tasklet>(&s.nodes[id].body);
    if (!t || SpeaksOf(t->value, outer, inner.index)) return false;
    const std::vector<ElementAccess> all = AccessesOf(s, id);
    return std::all_of(all.begin(), all.end(), [&](const ElementAccess& x) {
      return !MentionsAny(x.index, outer, inner.index) || Pair(s, x, n, outer, inner);
    });
  });
}

std::vector<NodeId> TaskletsOf(const Sdfg& s, const std::vector<NodeId>& body) {
  std::vector<NodeId> out;
  for (NodeId id : body) {
    const auto* m = std::get_if<Map>(&s.nodes[id].body);
    if (!m) out.push_back(id);
    else Add(&out, TaskletsOf(s, m->body));
  }
  return out;
}

}  // namespace

Name FreshIn(const Sdfg& s, const std::string& stem, const std::vector<Name>& also_taken) {
  std::set<Name> taken(s.symbol_params.begin(), s.symbol_params.end());
  taken.insert(also_taken.begin(), also_taken.end());
  ForEachNode(s, [&](NodeId n) {
    if (const auto* m = std::get_if<Map>(&s.nodes[n].body))
      for (const Range& r : m->ranges) taken.insert(r.index);
  });
  for (BlockId b : s.body)
    if (const auto* let = std::get_if<Assign>(&s.blocks[b].control)) taken.insert(let->symbol);
  for (int k = 0;; ++k) {
    const Name n(k == 0 ? stem : stem + "_" + std::to_string(k));
    if (!taken.count(n) && !s.Find(n)) return n;
  }
}

std::vector<Tasklet> WithOwnRegisters(Sdfg* s, std::vector<Tasklet> body) {
  std::vector<std::pair<Name, Name>> own;
  for (const Tasklet& t : body) {
    const Container& c = s->Get(t.target);
    const bool known = std::any_of(own.begin(), own.end(), [&](const auto& names) { return names.first == t.target; });
    if (c.storage == Storage::kRegister && c.shape.empty() && !known)
      own.push_back({t.target, Local(s, t.target.str() + "_rest", c.dtype, {}, Storage::kRegister)});
  }
  for (Tasklet& t : body) {
    t.value = RenameContainers(t.value, own);
    for (Expr& e : t.index) e = RenameContainers(e, own);
    for (const auto& [from, to] : own)
      if (t.target == from) t.target = to;
  }
  return body;
}

bool Normalize(Sdfg* s, Nest* n, size_t range) {
  Range& r = n->ranges[range];
  const int64_t step = r.step ? AsInt(r.step).value_or(0) : 1;
  if (AsInt(r.begin) == 0 && step == 1) return true;
  const Expr trips = TripsOf(r);
  if (!trips) return false;
  const Expr by = r.begin + Expr(step) * SymbolExpr(r.index);
  const auto rename = [&](const Expr& e) { return e ? Substitute(e, {{r.index, by}}) : e; };
  for (size_t i = range + 1; i < n->ranges.size(); ++i)
    for (Expr* e : {&n->ranges[i].begin, &n->ranges[i].end, &n->ranges[i].step}) *e = rename(*e);
  ForEachExpr(s, n->body, rename);
  r.begin = Expr(0), r.end = trips, r.step = Expr(1);
  return true;
}

bool CanCollapse(const Sdfg& s, const Nest& n, size_t outer, size_t inner) {
  const Range &a = n.ranges[outer], &b = n.ranges[inner];
  for (const Range* r : {&a, &b})
    if (AsInt(r->begin) != 0 || (r->step && AsInt(r->step) != 1)) return false;
  for (const Range& r : n.ranges)
    for (const Expr& e : {r.begin, r.end})
      if (Mentions(e, a.index) || Mentions(e, b.index)) return false;
  return IsWalkedAsOne(s, n, n.body, a.index, b);
}

void Collapse(Sdfg* s, Nest* n, size_t outer, size_t inner) {
  const Range b = n->ranges[inner];
  Range& a = n->ranges[outer];
  const auto merged = [&](Name container, std::vector<Expr>* index) {
    ElementAccess access;
    access.container = container, access.index = *index;
    const auto d = Pair(*s, access, *n, a.index, b);
    if (!d) return container;
    const Container& c = s->Get(container);
    Container view;
    view.kind = ContainerKind::kView;
    view.base = container;
    view.dtype = c.dtype;
    view.shape = c.shape;
    view.shape[*d] = c.shape[*d] * c.shape[*d + 1];
    view.shape.erase(view.shape.begin() + static_cast<long>(*d) + 1);
    if (!c.row_major()) {
      view.strides = StridesOf(c);
      view.strides.erase(view.strides.begin() + static_cast<long>(*d));
    }
    (*index)[*d] = SymbolExpr(a.index) + ((*index)[*d] - SymbolExpr(a.index)) * b.end;
    index->erase(index->begin() + static_cast<long>(*d) + 1);
    for (Name known : s->order) {
      const Container& o = s->Get(known);
      if (o.kind == ContainerKind::kView && o.base == view.base && o.shape == view.shape && o.strides == view.strides &&
          !o.offset)
        return known;
    }
    view.name = FreshIn(*s, "v");
    const Name name = view.name;
    s->Add(std::move(view));
    return name;
  };
  const auto reads = [&](const Expr& e) {
    return Transform(e, [&](const Expr& x) -> Expr {
      if (!x.Is(ExprKind::kRead) || x->flat) return x;
      ExprNode read = *x;
      std::vector<Expr> index(x->args.begin(), x->args.end() - x->has_default);
      read.name = merged(x->name, &index);
      if (read.name == x->name) return x;
      if (x->has_default) index.push_back(x->args.back());
      read.args = std::move(index);
      return Expr(std::move(read));
    });
  };
  for (NodeId id : TaskletsOf(*s, n->body)) {
    Tasklet t = std::get<Tasklet>(s->nodes[id].body);
    t.value = reads(t.value);
    for (Expr& e : t.index) e = reads(e);
    if (!t.flat) t.target = merged(t.target, &t.index);
    s->nodes.Mutable(id).body = std::move(t);
  }
  a.end = a.end * b.end;
  n->ranges.erase(n->ranges.begin() + static_cast<long>(inner));
}

void SubstituteIn(Sdfg* s, const std::vector<NodeId>& body, const NameMap& indices) {
  ForEachExpr(s, body, [&](const Expr& e) { return e ? Substitute(e, indices) : e; });
}

Range Within(const Range& parts, Name index, const Expr& step) {
  const Expr begin = SymbolExpr(parts.index);
  return {index, begin, Min(begin + parts.step, parts.end), step};
}

Cut Split(const Sdfg& s, const Range& r, const Expr& length, const std::vector<Name>& also_taken) {
  const Range parts{FreshIn(s, r.index.str() + "_0", also_taken), r.begin, r.end, length};
  return {parts, Within(parts, r.index, r.step ? r.step : Expr(1))};
}

std::vector<NodeId> Wrap(Sdfg* s, const std::vector<Level>& levels, std::vector<NodeId> body) {
  for (size_t i = levels.size(); i-- > 0;) {
    if (levels[i].ranges.empty()) continue;
    body = {s->AddNode(Map{levels[i].ranges, std::move(body), levels[i].schedule})};
  }
  return body;
}

Name Local(Sdfg* s, const std::string& stem, DType type, std::vector<Expr> shape, Storage storage) {
  Container c;
  c.name = FreshIn(*s, stem);
  c.dtype = type;
  c.shape = std::move(shape);
  c.storage = storage;
  const Name name = c.name;
  s->Add(std::move(c));
  return name;
}

NodeId Put(Sdfg* s, Name target, std::vector<Expr> index, WriteOp op, Expr value) {
  return s->AddNode(Tasklet{target, std::move(index), false, false, op, std::move(value)});
}

}  // namespace headrace::schedule
