#include "transforms/unflatten.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/analysis/dataflow.h"
#include "transforms/each_sdfg.h"
#include "transforms/whole.h"

namespace headrace {
namespace {

using Shape = std::vector<Expr>;

// One element of an array in a map's body.
struct Access {
  Name container;
  std::vector<Expr> index;
  bool plain;  // neither flat, nor perhaps outside
};

class Unflattener {
 public:
  Unflattener(Sdfg* s, const Ask& ask) : s_(*s), ask_(ask) {}

  bool Run() {
    std::vector<NodeId> maps;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      if (const auto* state = std::get_if<State>(&s_.blocks[b].control))
        for (NodeId n : state->statements)
          if (std::holds_alternative<Map>(s_.nodes[n].body)) maps.push_back(n);
    });
    std::vector<NodeId> flat;
    for (NodeId n : maps)
      if (IsFlat(n)) flat.push_back(n);
    if (flat.empty() || flat.size() == maps.size()) return false;
    for (NodeId n : maps) Vote(n);
    bool changed = false;
    for (NodeId n : flat) {
      const std::optional<Shape> shape = ShapeFor(n);
      if (!shape || !ask_(Match{s_.name, {n}, {}, {}, "", true})) continue;
      Rewrite(n, *shape);
      changed = true;
    }
    return changed;
  }

 private:
  // By arrays that are no registers; nullopt where the body is not of tasklets.
  std::optional<std::vector<Access>> AccessesOf(NodeId n) const {
    std::vector<Access> out;
    for (NodeId c : std::get<Map>(s_.nodes[n].body).body) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[c].body);
      if (!t) return std::nullopt;
      const auto note = [&](Name container, const std::vector<Expr>& index, bool plain) {
        if (s_.Get(container).storage != Storage::kRegister) out.push_back({container, index, plain});
      };
      const auto look = [&](const Expr& e) {
        Visit(e, [&](const Expr& x) {
          if (x.Is(ExprKind::kRead)) note(x->name, x->args, !x->flat && !x->has_default);
          return true;
        });
      };
      look(t->value);
      for (const Expr& e : t->index) look(e);
      note(t->target, t->index, !t->flat && !t->guarded);
    }
    return out;
  }

  // One range, and nothing but the element of each array that it counts.
  bool IsFlat(NodeId n) const {
    const Map& m = std::get<Map>(s_.nodes[n].body);
    if (m.schedule != Schedule::kDefault || m.ranges.size() != 1) return false;
    const Range& r = m.ranges[0];
    if (AsInt(r.begin) != 0 || (r.step && AsInt(r.step) != 1)) return false;
    const auto accesses = AccessesOf(n);
    if (!accesses || accesses->empty()) return false;
    for (const Access& a : *accesses) {
      const Container& c = s_.Get(a.container);
      if (!a.plain || a.index.size() != 1 || a.index[0] != SymbolExpr(r.index) || c.shape[0] != r.end || !transforms::ShowsAll(s_, c)) return false;
    }
    for (NodeId c : m.body)
      if (MentionsOutsideReads(std::get<Tasklet>(s_.nodes[c].body).value, r.index)) return false;
    return true;
  }
  static bool MentionsOutsideReads(const Expr& e, Name index) {
    bool found = false;
    Visit(e, [&](const Expr& x) {
      found |= x.Is(ExprKind::kSymbol) && x->name == index;
      return !x.Is(ExprKind::kRead);
    });
    return found;
  }

  // By which shapes maps go over an array, element by element.
  void Vote(NodeId n) {
    const auto accesses = AccessesOf(n);
    if (!accesses) return;
    std::vector<std::pair<Name, Name>> seen;
    for (const Access& a : *accesses) {
      const Container& c = s_.Get(a.container);
      const std::pair<Name, Name> which = {RootOf(s_, a.container), a.container};
      const bool symbols = std::all_of(a.index.begin(), a.index.end(), [](const Expr& e) { return e.Is(ExprKind::kSymbol) || AsInt(e) == 0; });
      if (!a.plain || c.shape.empty() || !symbols || !transforms::ShowsAll(s_, c) || std::find(seen.begin(), seen.end(), which) != seen.end()) continue;
      seen.push_back(which);
      ++VotesFor(which.first, c.shape);
    }
  }
  int& VotesFor(Name root, const Shape& shape) {
    std::vector<std::pair<Shape, int>>& all = votes_[root];
    for (auto& [known, count] : all)
      if (known == shape) return count;
    return all.emplace_back(shape, 0).second;
  }

  // That most of what uses its arrays goes by; nullopt: the flat one.
  std::optional<Shape> ShapeFor(NodeId n) {
    std::vector<std::pair<Shape, int>> sums;
    std::vector<Name> roots;
    const std::vector<Access> accesses = *AccessesOf(n);
    for (const Access& a : accesses) {
      const Name root = RootOf(s_, a.container);
      if (std::find(roots.begin(), roots.end(), root) != roots.end()) continue;
      roots.push_back(root);
      for (const auto& [shape, count] : votes_[root]) {
        const int others = count - (shape.size() == 1 ? 1 : 0);  // without this statement
        const auto it = std::find_if(sums.begin(), sums.end(), [&](const auto& x) { return x.first == shape; });
        if (it == sums.end()) sums.emplace_back(shape, others);
        else it->second += others;
      }
    }
    int flat = 0;
    const std::pair<Shape, int>* best = nullptr;
    for (const auto& x : sums) {
      if (x.first.size() == 1) flat = std::max(flat, x.second);
      else if (x.second > 1 && (!best || x.second > best->second)) best = &x;
    }
    return best && best->second > flat ? std::optional<Shape>(best->first) : std::nullopt;
  }

  void Rewrite(NodeId n, const Shape& shape) {
    const Map old = std::get<Map>(s_.nodes[n].body);
    Map m{{}, old.body, old.schedule};
    std::vector<Expr> index;
    for (const Expr& extent : shape) {
      if (AsInt(extent) == 1) {
        index.push_back(Expr(0));
        continue;
      }
      const Name i = s_.FreshName("d" + std::to_string(m.ranges.size()));
      m.ranges.push_back({i, Expr(0), extent, Expr(1)});
      index.push_back(SymbolExpr(i));
    }
    for (NodeId c : old.body) {
      Tasklet t = std::get<Tasklet>(s_.nodes[c].body);
      t.value = Transform(t.value, [&](const Expr& x) -> Expr {
        if (!x.Is(ExprKind::kRead) || s_.Get(x->name).storage == Storage::kRegister) return x;
        return ReadExpr(Shown(x->name, shape), index);
      });
      if (s_.Get(t.target).storage != Storage::kRegister) t.target = Shown(t.target, shape), t.index = index;
      s_.nodes.Mutable(c).body = std::move(t);
    }
    s_.nodes.Mutable(n).body = std::move(m);
  }
  // The array, or a view of it, that has this shape.
  Name Shown(Name container, const Shape& shape) {
    const Name root = RootOf(s_, container);
    if (s_.Get(root).shape == shape) return root;
    for (Name n : s_.order) {
      const Container& c = s_.Get(n);
      if (c.kind == ContainerKind::kView && c.base == root && c.shape == shape && transforms::ShowsAll(s_, c)) return n;
    }
    Container view;
    view.name = s_.FreshName(root.str() + "_view");
    view.kind = ContainerKind::kView;
    view.dtype = s_.Get(root).dtype;
    view.base = root, view.shape = shape;
    const Name name = view.name;
    s_.Add(std::move(view));
    return name;
  }

  Sdfg& s_;
  const Ask& ask_;
  std::unordered_map<Name, std::vector<std::pair<Shape, int>>> votes_;
};

}  // namespace

Result<bool> Unflatten(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) { return Unflattener(s, ask).Run(); });
}

}  // namespace headrace
