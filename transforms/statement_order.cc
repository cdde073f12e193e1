#include "transforms/statement_order.h"

#include <algorithm>

#include "ir/analysis/arena.h"
#include "transforms/by_shape.h"
#include "transforms/outer_group.h"

namespace headrace::transforms {
namespace {

// Whether something in a statement may end the run: an index outside, a plugin's function.
bool CanFail(const Program& p, const Sdfg& s, NodeId n) {
  const Body& body = s.nodes[n].body;
  if (const auto* k = std::get_if<Touch>(&body)) return k->kind == TouchKind::kCheck;
  if (std::holds_alternative<Library>(body)) return true;
  bool found = false;
  if (const auto* call = std::get_if<Nested>(&body)) {
    const Sdfg* callee = p.Find(call->callee);
    if (!callee) return true;
    ForEachNode(*callee, [&](NodeId inner) { found |= CanFail(p, *callee, inner); });
  }
  ForEachBody(body, [&](const std::vector<NodeId>& list) {
    for (NodeId inner : list) found = found || CanFail(p, s, inner);
  });
  return found;
}

bool DefinesSymbols(const Sdfg& s, NodeId n) {
  const auto* l = std::get_if<Library>(&s.nodes[n].body);
  return l && !l->defines.empty();
}

bool Assigns(const Sdfg& s, NodeId n) {
  const Body& body = s.nodes[n].body;
  if (const auto* t = std::get_if<Tasklet>(&body)) return t->op == WriteOp::kAssign;
  const auto* m = std::get_if<Map>(&body);
  return m && std::all_of(m->body.begin(), m->body.end(), [&](NodeId c) { return Assigns(s, c); });
}

// What a statement that adds nothing up writes, if that is one array of which it reads nothing.
Name OnlySet(const Sdfg& s, NodeId n, const std::vector<Touched>& touched) {
  Name only;
  for (const Touched& t : touched) {
    if (!t.write) continue;
    if (t.read || !only.empty()) return {};
    only = t.root;
  }
  return Assigns(s, n) ? only : Name();
}

void Include(const std::vector<Touched>& more, std::vector<Touched>* touched) {
  for (const Touched& m : more) {
    const auto it = std::find_if(touched->begin(), touched->end(), [&](const Touched& t) { return t.root == m.root; });
    if (it == touched->end()) touched->push_back(m);
    else it->read |= m.read, it->write |= m.write;
  }
}

}  // namespace

StatementOrder::StatementOrder(const Program& p, const Sdfg& s, const std::vector<BlockId>& states, const UseIndex& uses,
                               uint32_t first, Callees& callees, int64_t symbol_size)
    : states_(states.size()) {
  uint32_t end = first;
  for (size_t k = 0; k < states.size(); ++k) {
    const std::vector<NodeId>& statements = std::get<State>(s.blocks[states[k]].control).statements;
    AddState(p, s, statements, k, callees);
    end += static_cast<uint32_t>(statements.size());
  }
  Weigh(s, uses, first, end, symbol_size);
}

void StatementOrder::AddState(const Program& p, const Sdfg& s, const std::vector<NodeId>& statements, size_t state, Callees& callees) {
  struct Start {
    NodeId statement;
    Name array;
    std::vector<Touched> touched;
  };
  std::vector<Start> starts;  // not added yet: something may be added to their arrays right behind them
  const auto add = [&](const Start& x) { Add(p, s, {x.statement}, x.touched, state); };
  for (NodeId n : statements) {
    std::vector<Touched> touched = TouchedBy(s, n, callees);
    if (const Name only = OnlySet(s, n, touched); !only.empty()) {
      starts.push_back({n, only, std::move(touched)});
      continue;
    }
    const auto begins_at = [&](const Start& x) {
      return std::any_of(touched.begin(), touched.end(), [&](const Touched& t) { return t.root == x.array && t.write; });
    };
    size_t own = starts.size();
    while (own > 0 && begins_at(starts[own - 1])) --own;
    std::for_each(starts.begin(), starts.begin() + own, add);
    std::vector<NodeId> all;
    for (size_t k = own; k < starts.size(); ++k) {
      all.push_back(starts[k].statement);
      Include(starts[k].touched, &touched);
    }
    all.push_back(n);
    Add(p, s, std::move(all), std::move(touched), state);
    starts.clear();
  }
  std::for_each(starts.begin(), starts.end(), add);
}

// `touched`: by all of them.
void StatementOrder::Add(const Program& p, const Sdfg& s, std::vector<NodeId> statements, std::vector<Touched> touched, size_t state) {
  const auto id = static_cast<uint32_t>(items_.size());
  Item x;
  x.state = state, x.touched = std::move(touched);
  for (NodeId n : statements) x.fixed |= DefinesSymbols(s, n), x.can_fail |= CanFail(p, s, n);
  x.statements = std::move(statements);
  for (const Touched& t : x.touched) {
    Array& a = arrays_[t.root];
    a.uses.push_back({id, t.write}), a.written |= t.write;
    x.lasting |= t.write && s.Get(t.root).inout;
  }
  if (x.fixed) fixed_.push_back(id);
  if (x.can_fail) can_fail_.push_back(id);
  if (x.lasting) lasting_.push_back(id);
  order_.push_back(id), at_.push_back(id);
  items_.push_back(std::move(x));
}

void StatementOrder::Weigh(const Sdfg& s, const UseIndex& uses, uint32_t first, uint32_t end, int64_t symbol_size) {
  ByShape<double> bytes;
  const auto rough = [&](const Container& c) { return RoughSize(BytesOf(c), symbol_size); };
  for (auto& [name, a] : arrays_) {
    const Container& c = s.Get(name);
    const Usage& u = uses.Of(name);
    a.before = u.First() < first, a.after = u.Last() >= end;
    // What is used around a loop's body may be used again by the next iteration.
    if ((a.before || a.after) && uses.positions()[first].region >= 0) a.before = a.after = true;
    if (MayLieInArena(c)) a.bytes = bytes.Of(c, rough);
  }
}

template <typename Fn>
void StatementOrder::ForEachConflict(uint32_t item, Fn&& fn) const {
  const Item& x = items_[item];
  for (const Touched& t : x.touched) {
    const Array& a = arrays_.at(t.root);
    if (!a.written) continue;
    for (const auto& [other, writes] : a.uses)
      if (other != item && (writes || t.write)) fn(at_[other]);
  }
  static const std::vector<uint32_t> none;
  for (const auto* apart : {&fixed_, x.lasting ? &can_fail_ : &none, x.can_fail ? &lasting_ : &none})
    for (uint32_t other : *apart)
      if (other != item) fn(at_[other]);
}

size_t StatementOrder::Highest(uint32_t item) const {
  const size_t own = at_[item];
  if (items_[item].fixed) return own;
  size_t out = 0;
  ForEachConflict(item, [&](size_t at) {
    if (at < own) out = std::max(out, at + 1);
  });
  return out;
}

size_t StatementOrder::Lowest(uint32_t item) const {
  const size_t own = at_[item];
  if (items_[item].fixed) return own;
  size_t out = order_.size() - 1;
  ForEachConflict(item, [&](size_t at) {
    if (at > own) out = std::min(out, at - 1);
  });
  return out;
}

StatementOrder::Around StatementOrder::UsesOf(const Array& a, uint32_t item, size_t begin, size_t end) const {
  Around out;
  out.before = a.before, out.after = a.after;
  for (const auto& [other, writes] : a.uses)
    if (other != item) (at_[other] < begin ? out.before : at_[other] < end ? out.between : out.after) = true;
  return out;
}

double StatementOrder::Bytes(uint32_t item) const {
  double sum = 0;
  for (const Touched& t : items_[item].touched) sum += arrays_.at(t.root).bytes;
  return sum;
}

double StatementOrder::SavedAbove(uint32_t item, size_t to) const {
  double saved = 0;
  for (const Touched& t : items_[item].touched) {
    const Array& a = arrays_.at(t.root);
    if (a.bytes == 0) continue;
    const Around u = UsesOf(a, item, to, at_[item]);
    if (u.between) continue;
    if (u.before && !u.after) saved += a.bytes;
    if (u.after && !u.before) saved -= a.bytes;
  }
  return saved;
}

double StatementOrder::SavedBelow(uint32_t item, size_t to) const {
  double saved = 0;
  for (const Touched& t : items_[item].touched) {
    const Array& a = arrays_.at(t.root);
    if (a.bytes == 0) continue;
    const Around u = UsesOf(a, item, at_[item], to + 1);
    if (u.after && !u.before && !u.between) saved += a.bytes;
    if (u.before && !u.after) saved -= a.bytes;  // in use until then, also what a neighbour is the last to need now
  }
  return saved;
}

void StatementOrder::Move(uint32_t item, size_t to, size_t beside) {
  const size_t from = at_[item];
  items_[item].state = items_[order_[beside]].state;
  const auto begin = order_.begin();
  if (to < from) std::rotate(begin + to, begin + from, begin + from + 1);
  else std::rotate(begin + from, begin + from + 1, begin + to + 1);
  for (size_t k = std::min(from, to); k <= std::max(from, to); ++k) at_[order_[k]] = k;
}

std::vector<std::vector<NodeId>> StatementOrder::Lists() const {
  std::vector<std::vector<NodeId>> out(states_);
  for (uint32_t item : order_) {
    std::vector<NodeId>& list = out[items_[item].state];
    list.insert(list.end(), items_[item].statements.begin(), items_[item].statements.end());
  }
  return out;
}

}  // namespace headrace::transforms
