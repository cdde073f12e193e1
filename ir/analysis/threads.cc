#include "ir/analysis/threads.h"

#include <algorithm>
#include <unordered_map>

#include "ir/graph/homes.h"

namespace headrace {
namespace {

class Threads {
 public:
  explicit Threads(const Sdfg& s) : s_(s) {}

  std::vector<Name> Shared(const std::vector<NodeId>& statements) {
    for (NodeId n : statements) Statement(n);
    std::vector<Name> out;
    for (const Home& h : HomesOf(s_, statements))
      if (h.owner.valid() && around_.count(h.owner.value) != 0 && IsShared(h)) out.push_back(h.container);
    return out;
  }

 private:
  struct Use {
    NodeId threads;  // the map @block or @lane that it is in; invalid: it is of the block as a whole
    std::vector<size_t> own;  // dimensions whose index is the number of the thread
  };

  // One of `own` in all uses: thread t has the elements whose index there is t. Or all are of the thread that the local lives in.
  bool IsShared(const Home& h) const {
    const std::vector<Use>& uses = uses_.at(h.container);
    const NodeId home = around_.at(h.owner.value);
    if (std::all_of(uses.begin(), uses.end(), [&](const Use& u) { return u.threads == home; })) return !home.valid();
    for (size_t d : uses.front().own)
      if (std::all_of(uses.begin(), uses.end(), [&](const Use& u) { return std::count(u.own.begin(), u.own.end(), d) != 0; })) return false;
    return true;
  }

  void Statement(NodeId n) {
    const Body& body = s_.nodes[n].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) {
      Element(t->target, t->index, t->flat);
      Reads(t->value);
      for (const Expr& e : t->index) Reads(e);
    } else if (const auto* choice = std::get_if<If>(&body)) {
      Reads(choice->condition);
    } else if (const auto* check = std::get_if<Touch>(&body)) {
      for (const Expr& e : check->index) Reads(e);
    }
    const NodeId outside = threads_;
    const auto* m = std::get_if<Map>(&body);
    if (m && m->schedule == Schedule::kGrid) grid_ = true;
    if (m && (m->schedule == Schedule::kBlock || m->schedule == Schedule::kLane)) threads_ = n;
    if (grid_) around_[n.value] = threads_;
    ForEachBody(body, [&](const std::vector<NodeId>& inside) {
      for (NodeId c : inside) Statement(c);
    });
    threads_ = outside;
    if (m && m->schedule == Schedule::kGrid) grid_ = false;
  }

  void Reads(const Expr& value) {
    Visit(value, [&](const Expr& e) {
      if (e.Is(ExprKind::kRead)) Element(e->name, {e->args.begin(), e->args.end() - e->has_default}, e->flat);
      return true;
    });
  }

  void Element(Name container, const std::vector<Expr>& index, bool flat) {
    const Container* c = s_.Find(container);
    const bool view = c && c->kind == ContainerKind::kView;
    while (c && c->kind == ContainerKind::kView) c = s_.Find(c->base);
    if (!c || !IsScoped(c->storage)) return;
    Use use{threads_, {}};
    if (threads_.valid() && !view && !flat) {
      const std::vector<Range>& ranges = std::get<Map>(s_.nodes[threads_].body).ranges;
      for (size_t d = 0; d < index.size(); ++d)
        if (ranges.size() == 1 && index[d] == SymbolExpr(ranges[0].index) - ranges[0].begin) use.own.push_back(d);
    }
    uses_[c->name].push_back(std::move(use));
  }

  const Sdfg& s_;
  NodeId threads_;
  bool grid_ = false;
  std::unordered_map<uint32_t, NodeId> around_;  // of each statement in a grid: the threads that it makes or is in
  std::unordered_map<Name, std::vector<Use>> uses_;
};

}  // namespace

std::vector<Name> SharedByThreads(const Sdfg& s, const std::vector<NodeId>& statements) { return Threads(s).Shared(statements); }

}  // namespace headrace
