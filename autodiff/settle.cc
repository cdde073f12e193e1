// What adjoints start with. The first contribution to one need not be added to zeros when it covers the whole of it.
#include <algorithm>
#include <optional>

#include "autodiff/reverse.h"

namespace headrace::autodiff {
namespace {

// Whether each range that the index does not speak of has an iteration: without one nothing is added, and 0 stays.
bool SurelyRuns(const Sdfg& s, const std::vector<Range>& ranges, const std::vector<Expr>& index) {
  return std::all_of(ranges.begin(), ranges.end(), [&](const Range& r) {
    const auto speaks = [&](const Expr& e) {
      const std::vector<Name> names = FreeSymbols(e);
      return std::find(names.begin(), names.end(), r.index) != names.end();
    };
    return std::any_of(index.begin(), index.end(), speaks) || ProveLe(r.begin + Expr(1), r.end, s.assumptions) == Truth::kYes;
  });
}

// The only accumulation into `g` in statement n, when it hits every element exactly once and n doesn't touch `g` otherwise.
NodeId OnlyFullAccumulation(const Sdfg& s, NodeId n, Name g, Callees& callees) {
  NodeId found;
  bool good = true;
  std::vector<Range> ranges;
  std::function<void(NodeId)> walk = [&](NodeId id) {
    const Body& b = s.nodes[id].body;
    if (auto* m = std::get_if<Map>(&b)) {
      ranges.insert(ranges.end(), m->ranges.begin(), m->ranges.end());
      for (NodeId c : m->body) walk(c);
      ranges.resize(ranges.size() - m->ranges.size());
    } else if (auto* t = std::get_if<Tasklet>(&b)) {
      for (Name r : ReadContainers(t->value)) good &= RootOf(s, r) != g;
      for (const Expr& e : t->index)
        for (Name r : ReadContainers(e)) good &= RootOf(s, r) != g;
      if (RootOf(s, t->target) != g) return;
      good &= !found.valid() && t->target == g && t->op == WriteOp::kAdd && !t->guarded && !t->flat;
      good &= good && (ranges.empty() ? t->index.empty() : IsInjective(ranges, t->index, s.assumptions) == Truth::kYes);
      good &= good && SurelyRuns(s, ranges, t->index);
      found = id;
    } else {
      good = false;
    }
  };
  walk(n);
  if (!good || !found.valid()) return {};
  for (const Memlet& m : MemletsOf(s, n, callees)) {
    if (m.container != g) continue;
    if (!m.write || !m.full || Covers(m.subset, FullSubset(s.Get(g).shape), s.assumptions) != Truth::kYes) return {};
  }
  return found;
}

// Where gradient nodes and calls of a list name what `total += part` alone reads: looked for once, not for every part.
class Outputs {
 public:
  Outputs(Sdfg* s, const std::vector<NodeId>& statements) : s_(*s) {
    for (NodeId n : statements) {
      const Body& body = s_.nodes[n].body;
      if (auto* l = std::get_if<Library>(&body)) {
        for (size_t k = 0; k < l->outputs.size(); ++k) places_.emplace(l->outputs[k].container, Place{n, k});
      } else if (auto* call = std::get_if<Nested>(&body)) {
        for (size_t k = 0; k < call->arguments.size(); ++k) places_.emplace(call->arguments[k].container, Place{n, k});
      }
    }
  }
  // Whether there was one, which gives to `to` from now on.
  bool Redirect(Name part, Name to) {
    const auto it = places_.find(part);
    if (it == places_.end()) return false;
    Body& body = s_.nodes.Mutable(it->second.node).body;
    if (auto* l = std::get_if<Library>(&body)) l->outputs[it->second.at].container = to;
    else std::get<Nested>(body).arguments[it->second.at].container = to;
    places_.erase(it);
    return true;
  }

 private:
  struct Place {
    NodeId node;
    size_t at;
  };
  Sdfg& s_;
  std::unordered_map<Name, Place> places_;
};

}  // namespace

// Where a size is found in a branch, adjoints of that size are cleared there: it has no value where another branch is taken.
void Reversal::ClearSizedHere(const std::vector<BlockId>& body, BlockList* list) {
  std::unordered_set<Name> here;
  for (BlockId b : body) {
    const Control& c = s_.blocks[b].control;
    if (auto* a = std::get_if<Assign>(&c)) here.insert(a->symbol);
    if (auto* st = std::get_if<State>(&c))
      for (NodeId n : st->statements)
        if (auto* l = std::get_if<Library>(&s_.nodes[n].body)) here.insert(l->defines.begin(), l->defines.end());
  }
  for (Name g : zeroed_) {
    bool sized = false;
    for (const Expr& d : s_.Get(g).shape)
      for (Name symbol : FreeSymbols(d)) sized |= here.count(symbol) > 0;
    if (sized && cleared_inside_.insert(g).second) list->Statement(FillWith(&s_, &names_, g, FloatExpr(0)));
  }
}

// `zeros`: adjoint → the statement in `start` that clears it. Statements no longer needed are emptied.
void Reversal::Settle(const std::vector<BlockId>& backward, std::unordered_map<Name, NodeId> zeros) {
  std::unordered_set<Name> touched;
  for (BlockId b : backward) {
    auto* st = std::get_if<State>(&s_.blocks[b].control);
    if (!st) {
      for (const Touched& t : TouchedBy(s_, b, callees_)) touched.insert(t.root);
      continue;
    }
    const std::vector<NodeId> statements = st->statements;
    std::vector<NodeId> kept;
    std::optional<Outputs> outputs;
    for (NodeId n : statements) {
      std::vector<Touched> here = TouchedBy(s_, n, callees_);
      bool dropped = false;
      for (const Touched& t : here) {
        if (!t.write || touched.count(t.root) || !zeros.count(t.root)) continue;
        NodeId leaf = OnlyFullAccumulation(s_, n, t.root, callees_);
        if (!leaf.valid()) continue;
        Tasklet& tasklet = std::get<Tasklet>(s_.nodes.Mutable(leaf).body);
        tasklet.op = WriteOp::kAssign;
        cleared_.insert(zeros[t.root].value);
        // A gradient node may write there itself.
        const auto part = partial_.find(n.value);
        if (part == partial_.end()) continue;
        if (!outputs) outputs.emplace(&s_, statements);
        dropped |= outputs->Redirect(part->second, t.root);
      }
      for (const Touched& t : here) touched.insert(t.root);
      if (!dropped) kept.push_back(n);
    }
    if (kept.size() != statements.size()) std::get<State>(s_.blocks.Mutable(b).control).statements = kept;
  }
}

// Every adjoint starts at zero; outputs at the gradient given, as gradients of what wrote them.
void Reversal::StartAdjoints(const std::vector<Name>& outputs, const std::unordered_set<Name>& passed_in,
                             const BackwardPrograms& programs, const std::vector<BlockId>& backward, BlockList* start) {
  std::unordered_map<Name, NodeId> zeros;
  for (Name g : zeroed_) {
    if (passed_in.count(g) || cleared_inside_.count(g)) continue;
    Name given, output;
    for (Name n : outputs)
      if (gradients_[n] == g) output = n;
    for (const auto& x : programs.output_gradients)
      if (!output.empty() && x.first == output) given = x.second;
    const uint32_t first = s_.nodes.size();
    if (!given.empty()) start->Statement(CopyWhole(&s_, &names_, g, given));
    else if (!output.empty()) start->Statement(FillWith(&s_, &names_, g, FloatExpr(1)));
    else zeros[g] = FillWith(&s_, &names_, g, FloatExpr(0));
    const auto result = results_.find(output);
    for (uint32_t k = first; result != results_.end() && k < s_.nodes.size(); ++k)
      s_.nodes.Mutable(NodeId{k}).origin = result->second.Gradient("backward");
  }
  Settle(backward, zeros);
  for (Name g : zeroed_)
    if (auto z = zeros.find(g); z != zeros.end() && !cleared_.count(z->second.value)) start->Statement(z->second);
}

}  // namespace headrace::autodiff
