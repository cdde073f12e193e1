#include "autodiff/widen_sums.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "autodiff/emit.h"
#include "ir/analysis/type_inference.h"

namespace headrace::autodiff {
namespace {

// Which containers of a half type are sums, and how else they are used.
class Uses {
 public:
  Uses(const Sdfg& s, size_t first) : s_(s) {
    for (size_t b = 0; b < s.body.size(); ++b)
      ForEachBlock(s, {s.body[b]}, [&](BlockId block) {
        const auto* state = std::get_if<State>(&s.blocks[block].control);
        if (!state) return;
        for (NodeId n : state->statements) Statement(n, b < first, block == s.body[b] ? std::optional(std::pair(block, n)) : std::nullopt);
      });
    for (Name n : s.order)
      if (const Container& c = s.Get(n); c.kind == ContainerKind::kView) {
        const Container& root = s.Get(RootOf(s, n));
        views_[root.name].push_back(n);
        if (root.kind == ContainerKind::kParameter || c.dtype != root.dtype) refused_.insert(root.name);
      }
  }

  // Something is added to it by statements of the backward part alone, which nobody else writes, or needs before it is whole.
  bool IsSum(Name n) const {
    const Container& c = s_.Get(n);
    const bool owned = (c.kind == ContainerKind::kTransient && (c.storage == Storage::kArena || c.storage == Storage::kRegister)) ||
                       (c.kind == ContainerKind::kParameter && !c.inout);
    return owned && summed_.count(n) && !refused_.count(n) && (!IsGiven(n) || Last(n));
  }
  // A register of the backward part that is given such sums alone: what is added to the next sum is not rounded in between.
  bool Passes(Name n, const std::unordered_set<Name>& sums) const {
    const Container& c = s_.Get(n);
    const auto it = values_.find(n);
    if (c.storage != Storage::kRegister || !IsHalf(c.dtype) || it == values_.end() || refused_.count(n) || given_.count(n) || summed_.count(n)) return false;
    return std::all_of(it->second.begin(), it->second.end(),
                       [&](const Expr& e) { return e && e.Is(ExprKind::kRead) && !e->has_default && sums.count(RootOf(s_, e->name)); });
  }
  // Library nodes take it: as the halves that it is declared to hold.
  bool IsGiven(Name n) const { return given_.count(n) > 0; }
  // The last statement that writes it, and its state; nullopt: it stands in a loop or a branch.
  std::optional<std::pair<BlockId, NodeId>> Last(Name n) const {
    const auto it = last_.find(n);
    return it == last_.end() || views_.count(n) ? std::nullopt : it->second;
  }
  std::vector<Name> ViewsOf(Name n) const {
    const auto it = views_.find(n);
    return it == views_.end() ? std::vector<Name>() : it->second;
  }

 private:
  void Statement(NodeId root, bool forward, const std::optional<std::pair<BlockId, NodeId>>& at) {
    std::vector<NodeId> open{root};
    while (!open.empty()) {
      const Body& body = s_.nodes[open.back()].body;
      open.pop_back();
      if (const auto* t = std::get_if<Tasklet>(&body)) Element(*t, forward, at);
      else if (const auto* m = std::get_if<Map>(&body)) open.insert(open.end(), m->body.begin(), m->body.end());
      else if (const auto* call = std::get_if<Nested>(&body))
        for (const Argument& a : call->arguments) refused_.insert(RootOf(s_, a.container));
      else if (const auto* l = std::get_if<Library>(&body)) {
        for (const Port& port : l->inputs) (forward ? refused_ : given_).insert(RootOf(s_, port.container));
        for (const Port& port : l->outputs) refused_.insert(RootOf(s_, port.container));
      }
    }
  }
  void Element(const Tasklet& t, bool forward, const std::optional<std::pair<BlockId, NodeId>>& at) {
    const Name root = RootOf(s_, t.target);
    const Container* c = s_.Find(t.target);
    if (forward || given_.count(root)) refused_.insert(root);  // taken before it is whole
    else if (t.op == WriteOp::kAdd && c && IsHalf(c->dtype)) summed_.insert(root);
    last_[root] = at;
    values_[root].push_back(t.op == WriteOp::kAssign ? t.value : Expr());
    const auto reads = [&](const Expr& e) {
      if (forward && e)
        for (Name n : ReadContainers(e)) refused_.insert(RootOf(s_, n));
    };
    reads(t.value);
    for (const Expr& e : t.index) reads(e);
  }

  const Sdfg& s_;
  // By root.
  std::unordered_set<Name> summed_, refused_, given_;
  std::unordered_map<Name, std::optional<std::pair<BlockId, NodeId>>> last_;
  std::unordered_map<Name, std::vector<Expr>> values_;  // what it is assigned; null: it is added to, and so on
  std::unordered_map<Name, std::vector<Name>> views_;
};

bool IsNumber(const Sdfg& s, const Expr& e) {
  const Result<Expr> typed = InferTypes(s, e, DType::kF32);
  return typed.ok() && IsFloat((*typed)->dtype);
}

// Without the casts around it that round to `half`, and what widens such.
Expr Unrounded(const Sdfg& s, const Expr& e, DType half) {
  if (!e.Is(ExprKind::kCast) || !IsNumber(s, e->args[0])) return e;
  const Expr& inner = e->args[0];
  if (e->dtype == half) return Unrounded(s, inner, half);
  const bool widens = e->dtype == DType::kF32 && inner.Is(ExprKind::kCast) && inner->dtype == half;
  return widens ? Unrounded(s, inner, half) : e;
}

void InsertAfter(Sdfg* s, const std::pair<BlockId, NodeId>& place, NodeId added) {
  std::vector<NodeId>& list = std::get<State>(s->blocks.Mutable(place.first).control).statements;
  list.insert(std::find(list.begin(), list.end(), place.second) + 1, added);
}

}  // namespace

void WidenSums(Program* p, size_t first) {
  const Uses uses(p->Entry(), first);
  std::vector<Name> chosen;
  for (Name n : p->Entry().order)
    if (uses.IsSum(n)) chosen.push_back(n);
  if (chosen.empty()) return;
  std::unordered_set<Name> sums(chosen.begin(), chosen.end());
  for (bool more = true; more;) {
    more = false;
    for (Name n : p->Entry().order)
      if (!sums.count(n) && uses.Passes(n, sums)) sums.insert(n), chosen.push_back(n), more = true;
  }
  Sdfg& s = p->MutableEntry();
  FreshNames names(s);
  std::unordered_map<Name, Name> wide;    // what statements use instead; most often itself
  std::unordered_map<Name, DType> halves;  // of each wide container
  State last;
  std::vector<std::pair<std::pair<BlockId, NodeId>, NodeId>> copies;
  for (Name n : chosen) {
    Container c = s.Get(n);
    const DType half = c.dtype;
    const bool parameter = c.kind == ContainerKind::kParameter, apart = parameter || uses.IsGiven(n);
    c.dtype = DType::kF32;
    if (apart) {
      c.name = names(n.str() + "_sum");
      c.kind = ContainerKind::kTransient;
      if (parameter) c.MakeRowMajor();
    }
    wide.emplace(n, c.name), halves.emplace(c.name, half);
    if (!apart) {
      s.Mutable(n) = std::move(c);
      for (Name view : uses.ViewsOf(n)) {
        s.Mutable(view).dtype = DType::kF32;
        wide.emplace(view, view), halves.emplace(view, half);
      }
      continue;
    }
    const Name sum = c.name;
    s.Add(std::move(c));
    const NodeId copy = CopyWhole(&s, &names, n, sum);
    if (parameter) last.statements.push_back(copy);
    else copies.emplace_back(*uses.Last(n), copy);
  }
  // Tensors of two types don't mix: a wide value is rounded where it is read, and what is stored in one is not rounded before.
  const uint32_t nodes = static_cast<uint32_t>(s.nodes.size());
  std::unordered_set<uint32_t> own;  // the copies read sums as they are
  const std::function<void(NodeId, const Origin&)> leave = [&](NodeId n, const Origin& origin) {
    own.insert(n.value);
    s.nodes.Mutable(n).origin = origin;
    if (const auto* m = std::get_if<Map>(&s.nodes[n].body))
      for (NodeId c : std::vector<NodeId>(m->body)) leave(c, origin);
  };
  for (NodeId n : last.statements) leave(n, Origin());
  for (const auto& [place, copy] : copies) leave(copy, s.nodes[place.second].origin);
  for (uint32_t i = 0; i < nodes; ++i) {
    const auto* t = own.count(i) ? nullptr : std::get_if<Tasklet>(&s.nodes[NodeId{i}].body);
    if (!t) continue;
    const auto renamed = [&](const Expr& e) {
      return Transform(e, [&](const Expr& x) -> Expr {
        const auto it = x.Is(ExprKind::kRead) ? wide.find(x->name) : wide.end();
        if (it == wide.end()) return x;
        return CastExpr(halves.at(it->second), ReadExpr(it->second, {x->args.begin(), x->args.end() - x->has_default},
                                                        x->has_default ? x->args.back() : Expr(), x->flat));
      });
    };
    Tasklet made = *t;
    made.value = renamed(made.value);
    for (Expr& e : made.index) e = renamed(e);
    if (const auto it = wide.find(made.target); it != wide.end()) {
      made.target = it->second;
      made.value = Unrounded(s, made.value, halves.at(it->second));
    }
    if (made.value != t->value || made.target != t->target || made.index != t->index) s.nodes.Mutable(NodeId{i}).body = std::move(made);
  }
  for (const auto& [place, copy] : copies) InsertAfter(&s, place, copy);
  if (!last.statements.empty()) s.body.push_back(s.AddBlock(std::move(last)));
}

}  // namespace headrace::autodiff
