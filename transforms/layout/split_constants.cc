#include "transforms/layout/split_constants.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "transforms/control_exprs.h"
#include "transforms/each_sdfg.h"
#include "transforms/uses.h"

namespace headrace {
namespace layout {
namespace {

bool HasParts(const Container& c) { return c.kind == ContainerKind::kConstant && c.data.data && c.shape.size() > 2; }

// A read of an element at a known place of the first dimension.
std::optional<int64_t> PlaceOf(const Expr& read) { return read->flat || read->has_default ? std::nullopt : AsInt(read->args[0]); }

class Splitter {
 public:
  Splitter(const Program& p, Sdfg* s, const Ask& ask) : s_(*s), ask_(ask), callees_(p) {}

  bool Run() {
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      if (const auto* state = std::get_if<State>(&s_.blocks[b].control))
        for (NodeId id : state->statements) Collect(id, id);
      else
        transforms::ForEachControlExpr(s_.blocks[b].control, [&](const Expr& e) { Otherwise(e); });
    });
    for (Name n : s_.order) others_.insert(s_.Get(n).base);  // views show all of it
    std::unordered_set<Name> split;
    for (const auto& [name, want] : wants_)
      if (!others_.count(name) && ask_({s_.name, want.statements, {}, {name}, "", true})) Split(name, want), split.insert(name);
    transforms::RemoveContainers(&s_, split);
    return !split.empty();
  }

 private:
  struct Want {
    std::set<int64_t> places;
    std::vector<NodeId> statements, tasklets;
  };

  // All that a statement reads; `of`: the one that stands in the state.
  void Collect(NodeId id, NodeId of) {
    const Body& body = s_.nodes[id].body;
    if (const auto* m = std::get_if<Map>(&body)) {
      for (NodeId n : m->body) Collect(n, of);
      for (const Range& r : m->ranges)
        for (const Expr* e : {&r.begin, &r.end, &r.step}) Otherwise(*e);
    } else if (const auto* t = std::get_if<Tasklet>(&body)) {
      Note(t->value, id, of);
      for (const Expr& e : t->index) Note(e, id, of);
    } else {
      for (const Touched& t : TouchedBy(s_, id, callees_)) others_.insert(t.root);
    }
  }

  void Otherwise(const Expr& e) {
    if (!e) return;
    for (Name n : ReadContainers(e)) others_.insert(n);
  }

  void Note(const Expr& e, NodeId tasklet, NodeId statement) {
    Visit(e, [&](const Expr& x) {
      if (!x.Is(ExprKind::kRead) || !HasParts(s_.Get(x->name))) return true;
      const auto place = PlaceOf(x);
      const int64_t most = s_.Get(x->name).data.shape[0];
      if (!place || *place < 0 || *place >= most) {
        others_.insert(x->name);
        return true;
      }
      Want& w = wants_[x->name];
      w.places.insert(*place);
      if (w.tasklets.empty() || !(w.tasklets.back() == tasklet)) w.tasklets.push_back(tasklet);
      if (w.statements.empty() || !(w.statements.back() == statement)) w.statements.push_back(statement);
      return true;
    });
  }

  void Split(Name name, const Want& want) {
    std::map<int64_t, Name> parts;
    for (int64_t place : want.places) {
      Container c = s_.Get(name);
      c.name = s_.FreshName(name.str() + "_" + std::to_string(place));
      c.shape.erase(c.shape.begin());
      c.data.shape.erase(c.data.shape.begin());
      const int64_t bytes = c.data.bytes();
      c.data.data = Buffer::Wrap(s_.Get(name).data.data->data() + place * bytes, bytes, s_.Get(name).data.data, /*writable=*/false);
      parts[place] = c.name;
      s_.Add(std::move(c));
    }
    const auto part = [&](const Expr& e) {
      return Transform(e, [&](const Expr& x) -> Expr {
        if (!x.Is(ExprKind::kRead) || x->name != name) return x;
        return ReadExpr(parts.at(*AsInt(x->args[0])), {x->args.begin() + 1, x->args.end()});
      });
    };
    for (NodeId id : want.tasklets) {
      Tasklet& t = std::get<Tasklet>(s_.nodes.Mutable(id).body);
      t.value = part(t.value);
      for (Expr& e : t.index) e = part(e);
    }
  }

  Sdfg& s_;
  const Ask& ask_;
  Callees callees_;
  std::map<Name, Want> wants_;       // by constant
  std::unordered_set<Name> others_;  // that something uses otherwise
};

bool MayHaveParts(const Sdfg& s) {
  return std::any_of(s.order.begin(), s.order.end(), [&](Name n) { return HasParts(s.Get(n)); });
}

}  // namespace
}  // namespace layout

Result<bool> SplitConstants(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) { return layout::MayHaveParts(*s) && layout::Splitter(p, s, ask).Run(); });
}

}  // namespace headrace
