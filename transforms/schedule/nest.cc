#include "transforms/schedule/nest.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/graph/homes.h"

namespace headrace::schedule {
namespace {

bool ReadsSomething(const Expr& e) { return !ReadContainers(e).empty(); }

using Ranges = std::shared_ptr<const std::vector<Range>>;

// `within` and those of a map inside.
Ranges With(const Ranges& within, const Map& m) {
  std::vector<Range> all = within ? *within : std::vector<Range>();
  all.insert(all.end(), m.ranges.begin(), m.ranges.end());
  return std::make_shared<const std::vector<Range>>(std::move(all));
}

void Collect(const Sdfg& s, NodeId n, const Ranges& within, std::vector<ElementAccess>* out) {
  const auto reads = [&](const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead))
        out->push_back({x->name, RootOf(s, x->name), {x->args.begin(), x->args.end() - x->has_default}, x->flat, false, WriteOp::kAssign, within});
      return true;
    });
  };
  const Body& body = s.nodes[n].body;
  if (const auto* t = std::get_if<Tasklet>(&body)) {
    reads(t->value);
    for (const Expr& e : t->index) reads(e);
    const Name root = RootOf(s, t->target);
    if (t->op != WriteOp::kAssign) out->push_back({t->target, root, t->index, t->flat, false, t->op, within});
    out->push_back({t->target, root, t->index, t->flat, true, t->op, within});
  }
  const auto* m = std::get_if<Map>(&body);
  const Ranges inner = m ? With(within, *m) : within;
  ForEachBody(body, [&](const std::vector<NodeId>& inside) {
    for (NodeId c : inside) Collect(s, c, inner, out);
  });
}

// c * i + rest, where all that other indices make of the rest is less than c: iterations that differ in `i` differ in it.
bool MovesAlone(const Expr& e, const Range& r, const Nest& n, const Ranges& within) {
  if (e.Is(ExprKind::kSymbol)) return true;
  const auto slope = Coefficient(e, r.index);
  if (!slope || AsInt(*slope).value_or(0) == 0) return false;
  int64_t rest = 0;
  const auto add = [&](const Range& o) {
    if (o.index == r.index || !Mentions(e, o.index)) return true;
    const auto factor = Coefficient(e, o.index);
    const auto begin = AsInt(o.begin), end = AsInt(o.end), by = factor ? AsInt(*factor) : std::nullopt;
    if (!begin || !end || !by) return false;
    rest += std::abs(*by) * std::max<int64_t>(0, *end - *begin - 1);
    return true;
  };
  if (!std::all_of(n.ranges.begin(), n.ranges.end(), add)) return false;
  if (within && !std::all_of(within->begin(), within->end(), add)) return false;
  return rest < std::abs(*AsInt(*slope));
}

}  // namespace

Nest NestOf(const Sdfg& s, NodeId map) {
  const Map* m = &std::get<Map>(s.nodes[map].body);
  Nest n{m->ranges, m->body, map};
  const std::vector<Home> homes = HomesOf(s, {map});
  while (n.body.size() == 1) {
    const auto* inner = std::get_if<Map>(&s.nodes[n.body[0]].body);
    const bool lives = std::any_of(homes.begin(), homes.end(), [&](const Home& h) { return h.owner == n.owner; });
    if (!inner || lives || inner->schedule != Schedule::kDefault) break;
    n.owner = n.body[0];
    n.ranges.insert(n.ranges.end(), inner->ranges.begin(), inner->ranges.end());
    n.body = inner->body;
  }
  return n;
}

std::vector<ElementAccess> AccessesOf(const Sdfg& s, NodeId n) {
  std::vector<ElementAccess> out;
  Collect(s, n, nullptr, &out);
  return out;
}

std::vector<bool> DisjointRanges(const Sdfg& s, const Nest& n, const std::function<bool(Name)>& is_own) {
  std::map<Name, std::vector<ElementAccess>> written;
  std::vector<ElementAccess> all;
  for (NodeId id : n.body) Collect(s, id, nullptr, &all);
  for (const ElementAccess& a : all)
    if (a.write && s.Get(a.root).storage != Storage::kRegister && !(is_own && is_own(a.root))) written[a.root];
  for (const ElementAccess& a : all)
    if (auto it = written.find(a.root); it != written.end()) it->second.push_back(a);
  std::vector<bool> disjoint(n.ranges.size(), true);
  for (const auto& [root, accesses] : written) {
    const ElementAccess& first = accesses[0];
    const bool scatters = std::any_of(accesses.begin(), accesses.end(), [](const ElementAccess& a) {
      return a.write && std::any_of(a.index.begin(), a.index.end(), ReadsSomething);
    });
    // One plain write and nothing else: no two iterations of a map may write one element.
    if (accesses.size() == 1 && first.op == WriteOp::kAssign && !scatters) continue;
    for (size_t r = 0; r < n.ranges.size(); ++r) {
      bool owned = false;  // one dimension is this index alone in every access
      for (size_t d = 0; d < first.index.size() && !owned; ++d) {
        const Expr& e = first.index[d];
        if (!Mentions(e, n.ranges[r].index) || ReadsSomething(e)) continue;
        owned = std::all_of(accesses.begin(), accesses.end(), [&](const ElementAccess& a) {
          return a.container == first.container && a.flat == first.flat && a.index.size() == first.index.size() &&
                 a.index[d] == e && MovesAlone(e, n.ranges[r], n, a.within);
        });
      }
      if (!owned) disjoint[r] = false;
    }
  }
  return disjoint;
}

bool TakesLanes(const Sdfg& s, const std::vector<NodeId>& body) {
  return std::all_of(body.begin(), body.end(), [&](NodeId n) {
    const auto* t = std::get_if<Tasklet>(&s.nodes[n].body);
    return t && !IsComplex(s.Get(t->target).dtype);
  });
}

int64_t OperationsOf(const Sdfg& s, const std::vector<NodeId>& body) {
  constexpr int64_t kMost = 200;
  int64_t sum = 0;
  for (NodeId n : body) {
    const auto* t = std::get_if<Tasklet>(&s.nodes[n].body);
    if (!t) continue;
    int64_t cost = 1;
    int budget = 1000;
    Visit(t->value, [&](const Expr& e) {
      if (e.Is(ExprKind::kCall)) cost += 8;
      if (e.Is(ExprKind::kRead) || e.Is(ExprKind::kBinary)) cost += 1;
      return --budget > 0 && !e.Is(ExprKind::kRead);
    });
    sum += std::min(cost, kMost);
  }
  return std::max<int64_t>(1, sum);
}

Expr TripsOf(const Range& r) {
  const int64_t step = r.step ? AsInt(r.step).value_or(0) : 1;
  if (step == 0) return {};
  return step > 0 ? FloorDiv(r.end - r.begin + Expr(step - 1), Expr(step))
                  : FloorDiv(r.begin - r.end + Expr(-step - 1), Expr(-step));
}

int LaneRange(const Sdfg& s, const Nest& n) {
  std::vector<ElementAccess> accesses;
  for (NodeId id : n.body)
    for (const ElementAccess& a : AccessesOf(s, id))
      if (s.Get(a.root).storage != Storage::kRegister && (a.write || a.op == WriteOp::kAssign)) accesses.push_back(a);
  int best = -1;
  int64_t best_score = INT64_MIN;
  for (size_t i = 0; i < n.ranges.size(); ++i) {
    const Range& r = n.ranges[i];
    int64_t score = 0;
    bool across = true;  // whatever it touches
    for (const ElementAccess& a : accesses) {
      const Offset at = OffsetOf(s, a.container, a.index, a.flat);
      const auto c = at.elements ? Coefficient(at.elements, r.index) : std::nullopt;
      const auto step = c ? AsInt(*c) : std::nullopt;
      score += step == 1 ? 6 : step == 0 ? (a.write ? 3 : 4) : -8;
      across = across && step != 1 && step != 0;
    }
    const Expr trips = TripsOf(r);
    const auto k = trips ? AsInt(trips) : std::nullopt;
    if (k && *k < 16) score -= *k < 4 ? 40 : 16;
    if (!k && across) score -= 16;  // a batch, say: it may be as short
    if (AsInt(r.begin) != 0 || (r.step && AsInt(r.step) != 1)) score -= 2;
    if (score >= best_score) best = static_cast<int>(i), best_score = score;
  }
  return best;
}

NodeId OnlyStatement(const Sdfg& kernel) {
  const State* state = nullptr;
  for (BlockId b : kernel.body) {
    const auto* st = std::get_if<State>(&kernel.blocks[b].control);
    if (!st || state) return {};
    state = st;
  }
  return state && state->statements.size() == 1 ? state->statements[0] : NodeId();
}

}  // namespace headrace::schedule
