// Calls: what is bound to a callee's parameters fits them.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/text/printer.h"
#include "ir/verify/verify_impl.h"

namespace headrace::verify {

void Writers::Roots(const std::vector<BlockId>& body, std::unordered_set<Name>* out) {
  ForEachBlock(s_, body, [&](BlockId b) {
    if (auto* st = std::get_if<State>(&s_.blocks[b].control))
      for (NodeId n : st->statements) Roots(n, out);
  });
}

void Writers::Roots(NodeId id, std::unordered_set<Name>* out) {
  const Body& body = s_.nodes[id].body;
  if (auto* t = std::get_if<Tasklet>(&body)) out->insert(RootOf(s_, t->target));
  else if (std::holds_alternative<Map>(body) || std::holds_alternative<If>(body))
    ForEachBody(body, [&](const std::vector<NodeId>& inside) {
      for (NodeId n : inside) Roots(n, out);
    });
  else if (auto* l = std::get_if<Library>(&body))
    for (const Port& p : l->outputs) out->insert(RootOf(s_, p.container));
  else if (auto* c = std::get_if<Nested>(&body))
    for (const Argument& a : c->arguments)
      if (Writes(c->callee, a.port)) out->insert(RootOf(s_, a.container));
}

bool Writers::Writes(Name callee, Name port) {
  auto it = outputs_.find(callee);
  if (it == outputs_.end()) {
    std::unordered_set<Name> names;
    if (const Sdfg* f = p_ ? p_->Find(callee) : nullptr)
      for (Name n : Outputs(*p_, *f)) names.insert(n);
    it = outputs_.emplace(callee, std::move(names)).first;
  }
  return it->second.count(port) > 0;
}

void CheckAllBound(const Nested& n, const Sdfg& f, NodeId id, Report* report) {
  auto is_bound = [&](Name q) {
    return std::any_of(n.arguments.begin(), n.arguments.end(), [&](const Argument& a) { return a.port == q; });
  };
  for (Name q : f.parameters) {
    const Container* c = f.Find(q);
    if (c && !c->optional && !is_bound(q))
      report->Add("E0241", "argument " + Quoted(q) + " of " + Quoted(n.callee) + " is missing", id, n.callee.str(),
                  "bind it: " + q.str() + " = …");
  }
  std::unordered_set<Name> given;
  const std::vector<Name> accepted = FreeSymbols(f);
  for (const auto& binding : n.symbols) {
    const Name symbol = binding.first;
    if (!given.insert(symbol).second)
      report->Add("E0242", "symbol " + Quoted(symbol) + " is bound twice", id, symbol.str(), "bind it once");
    if (std::find(accepted.begin(), accepted.end(), symbol) == accepted.end())
      report->Add("E0243", Quoted(n.callee) + " has no symbol " + Quoted(symbol), id, symbol.str(),
                  "see its parameters");
  }
  for (Name q : f.symbol_params)
    if (!given.count(q))
      report->Add("E0244", "symbol " + Quoted(q) + " of " + Quoted(n.callee) + " is not bound", id, q.str(),
                  "bind it: " + q.str() + " = …");
}

bool CheckArgumentType(const Container& c, const Container& formal, const Nested& n, const Argument& a, NodeId id,
                       Report* report) {
  const std::string what = "argument " + Quoted(a.port) + " of " + Quoted(n.callee);
  if (c.dtype != formal.dtype) {
    Diagnostic& d =
        report->Add("E0247", what + " has another element type", id, n.callee.str(), "cast it into a transient first");
    d.got = DTypeName(c.dtype), d.expected = DTypeName(formal.dtype);
  }
  if (a.index.size() <= c.shape.size() && c.shape.size() - a.index.size() == formal.shape.size()) return true;
  Diagnostic& d = report->Add("E0248", what + " has another rank", id, n.callee.str(),
                              "fix leading dimensions with an index, or use a view");
  d.got = std::to_string(static_cast<int>(c.shape.size()) - static_cast<int>(a.index.size()));
  d.expected = std::to_string(formal.shape.size());
  return false;
}

void CheckArgumentSizes(const Sdfg& caller, const Container& c, const Sdfg& f, const Argument& a, const NameMap& sizes,
                        NodeId id, Report* report) {
  const Container* formal = f.Find(a.port);
  if (!formal || c.shape.size() - a.index.size() != formal->shape.size()) return;
  for (size_t i = 0; i < formal->shape.size(); ++i) {
    const Expr want = Substitute(formal->shape[i], sizes), have = c.shape[i + a.index.size()];
    if (ProveEq(want, have, caller.assumptions) != Truth::kNo) continue;
    Diagnostic& d = report->Add(
        "E0249",
        "argument " + Quoted(a.port) + " of " + f.name.str() + " has another size in dimension " + std::to_string(i),
        id, f.name.str(), "the sizes of all arguments must agree");
    d.got = ToString(have);
    d.expected = ToString(want);
  }
}

namespace {

// An argument, and the elements of memory that are known to be its: from `begin` on, up to `end`.
struct Bound {
  const Argument* argument;
  bool written;
  int64_t begin = 0, end = 0;
};
using Bounds = std::vector<Bound>;
using Pair = std::optional<std::pair<const Argument*, const Argument*>>;  // which is written, and another one

bool IsWhole(const Argument& a) { return a.index.empty(); }

// Of an argument that has no gaps, as far as they are numbers; else there are none.
void FindElements(const Sdfg& s, Bound* b) {
  const Argument& a = *b->argument;
  const Container* c = s.Find(a.container);
  if (!c || c->kind == ContainerKind::kSequence || !IsContiguous(*c) || a.index.size() > c->shape.size()) return;
  std::vector<Expr> index = a.index;
  index.resize(c->shape.size(), Expr(0));
  const Offset first = OffsetOf(s, a.container, index);
  Expr size(1);
  for (size_t d = a.index.size(); d < c->shape.size(); ++d) size = size * c->shape[d];
  if (!first.elements) return;
  const auto begin = AsInt(Simplify(first.elements)), count = AsInt(Simplify(size));
  if (begin && count) b->begin = *begin, b->end = *begin + *count;
}

// One name, whole, at two parameters.
Pair OneNameTwice(const Bounds& bounds) {
  std::unordered_map<Name, const Bound*> met;
  for (const Bound& b : bounds) {
    if (!IsWhole(*b.argument)) continue;
    const auto [it, fresh] = met.emplace(b.argument->container, &b);
    const Bound& other = *it->second;
    if (fresh || other.argument->port == b.argument->port || !(b.written || other.written)) continue;
    return b.written ? std::make_pair(b.argument, other.argument) : std::make_pair(other.argument, b.argument);
  }
  return std::nullopt;
}

// Elements at two parameters: along memory, with what reaches farthest so far.
Pair ElementsTwice(const Sdfg& s, Bounds bounds) {
  for (Bound& b : bounds) FindElements(s, &b);
  bounds.erase(std::remove_if(bounds.begin(), bounds.end(), [](const Bound& b) { return b.begin >= b.end; }), bounds.end());
  std::stable_sort(bounds.begin(), bounds.end(), [](const Bound& a, const Bound& b) { return a.begin < b.begin; });
  const Bound *farthest = nullptr, *farthest_written = nullptr;
  for (const Bound& b : bounds) {
    const auto meets = [&](const Bound* a) { return a && b.begin < a->end && a->argument->port != b.argument->port; };
    if (b.written && meets(farthest)) return std::make_pair(b.argument, farthest->argument);
    if (meets(farthest_written)) return std::make_pair(farthest_written->argument, b.argument);
    if (!farthest || farthest->end < b.end) farthest = &b;
    if (b.written && (!farthest_written || farthest_written->end < b.end)) farthest_written = &b;
  }
  return std::nullopt;
}

}  // namespace

void CheckAliases(const Sdfg& caller, const Nested& n, const Sdfg& f, const std::function<bool(Name)>& writes, NodeId id, Report* report) {
  std::unordered_map<Name, Bounds> arrays;
  std::vector<Name> written;
  std::unordered_set<Name> seen;
  for (const Argument& a : n.arguments) {
    const Name root = RootOf(caller, a.container);
    const bool writes_it = f.Find(a.port) && writes(a.port);
    arrays[root].push_back({&a, writes_it});
    if (writes_it && seen.insert(root).second) written.push_back(root);
  }
  for (Name root : written) {
    const Bounds& bounds = arrays.at(root);
    if (bounds.size() < 2) continue;
    Pair found = OneNameTwice(bounds);
    if (!found) found = ElementsTwice(caller, bounds);
    if (!found) continue;
    const auto& [a, b] = *found;
    const std::string what = a->container == b->container && IsWhole(*a) && IsWhole(*b)
                                 ? Quoted(a->container) + " is bound to " + Quoted(a->port)
                                 : "elements of " + Quoted(root) + " are bound to " + Quoted(a->port);
    report->Add("E0245", what + ", which is written, and to " + Quoted(b->port), id, a->container.str(), "copy it first: arguments don't alias");
    return;
  }
}

}  // namespace headrace::verify
