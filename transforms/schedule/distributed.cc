// A body of several statements whose lanes lie along the ranges around it: each statement does its work for all iterations before the
// next one does, and what they pass on in registers is an array.
//   map c in 0:64 { S = 0; map n in 0:N, p in 0:49 { S += X[n, p, c] }; M = S / 49; map n in 0:N, p in 0:49 { Y[n, p, c] = X[n, p, c] - M } }
//     →  local S_all: f32[64] @worker; local M_all: f32[64] @worker
//        map c in 0:64 { S_all[c] = 0 }
//        map c in 0:64, n in 0:N, p in 0:49 { S_all[c] += X[n, p, c] }        each with a schedule of its own
//        …
#include <algorithm>
#include <unordered_map>

#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

constexpr int64_t kManyIterations = int64_t{1} << 40;

// What statements use, registers among it.
void UsedBy(const Sdfg& s, const std::vector<NodeId>& body, std::unordered_set<Name>* used) {
  for (NodeId id : body)
    for (const ElementAccess& a : AccessesOf(s, id)) used->insert(a.container);
}

}  // namespace

// What each iteration of the nest has for itself, and more than one of the pieces of its body uses.
std::vector<Name> Scheduler::PassedOn(const Nest& n, const std::vector<Statements>& pieces) const {
  std::unordered_map<Name, int> users;
  for (const Statements& piece : pieces) {
    std::unordered_set<Name> used;
    UsedBy(*s_, piece, &used);
    for (Name name : used) ++users[name];
  }
  std::vector<Name> out;
  for (Name name : s_->order) {
    const auto home = homes_.find(name);
    if (home != homes_.end() && home->second == n.owner.value && users[name] > 1) out.push_back(name);
  }
  return out;
}

std::optional<Scheduler::Statements> Scheduler::Distributed(const Nest& n) {
  if (OfTasklets(n)) return std::nullopt;
  return Try([&] { return TryDistributed(n); });
}

// Consecutive tasklets are one piece, a map with all that it holds another.
std::optional<std::vector<Nest>> Scheduler::PiecesOf(const Nest& n) const {
  std::vector<Nest> pieces;
  bool lies_around = false;
  for (NodeId id : n.body) {
    if (std::holds_alternative<Tasklet>(s_->nodes[id].body)) {
      if (pieces.empty() || pieces.back().owner.valid()) pieces.push_back({n.ranges, {}, {}});
      pieces.back().body.push_back(id);
      continue;
    }
    if (!std::holds_alternative<Map>(s_->nodes[id].body)) return std::nullopt;
    Nest piece = NestOf(*s_, id);
    piece.ranges.insert(piece.ranges.begin(), n.ranges.begin(), n.ranges.end());
    const int lane = LaneRange(*s_, piece);
    if (lane < 0 || lane >= static_cast<int>(n.ranges.size())) return std::nullopt;
    lies_around = AsInt(n.ranges[static_cast<size_t>(lane)].end).value_or(d_.short_sum) >= d_.short_sum;
    if (!lies_around) return std::nullopt;
    pieces.push_back(std::move(piece));
  }
  return lies_around ? std::optional(std::move(pieces)) : std::nullopt;
}

// Without the accumulations into what nothing else touches, which may meet.
Scheduler::Statements Scheduler::WithoutSums(const Statements& body, const std::unordered_map<Name, int>& touches) {
  Statements out;
  for (NodeId id : body) {
    if (const auto* t = std::get_if<Tasklet>(&s_->nodes[id].body)) {
      const Name root = AccessesOf(*s_, id).back().root;
      if (t->op == WriteOp::kAssign || touches.at(root) > 2 || s_->Get(root).storage == Storage::kRegister) out.push_back(id);
    } else if (const auto* m = std::get_if<Map>(&s_->nodes[id].body)) {
      const Map map = *m;
      if (Statements inside = WithoutSums(map.body, touches); !inside.empty()) out.push_back(s_->AddNode(Map{map.ranges, std::move(inside)}));
    } else {
      out.push_back(id);
    }
  }
  return out;
}

// Whether iterations meet nowhere else than in sums that are only added to.
bool Scheduler::KeepApart(Nest n) {
  std::unordered_map<Name, int> touches;  // an accumulation counts as a read and a write
  for (NodeId id : n.body)
    for (const ElementAccess& a : AccessesOf(*s_, id)) ++touches[a.root];
  n.body = WithoutSums(n.body, touches);
  const std::vector<bool> apart = DisjointRanges(*s_, n);
  return std::all_of(apart.begin(), apart.end(), [](bool x) { return x; });
}

// Arrays, of which each iteration has a part at `place` of their first dimensions, instead of what each has for itself.
void Scheduler::SpreadOut(const Statements& body, const std::unordered_map<Name, Name>& arrays, const std::vector<Expr>& place) {
  const auto spread = [&](const Expr& value) {
    return Transform(value, [&](const Expr& e) -> Expr {
      const auto it = e.Is(ExprKind::kRead) ? arrays.find(e->name) : arrays.end();
      if (it == arrays.end()) return e;
      ExprNode read = *e;
      read.name = it->second;
      read.args.insert(read.args.begin(), place.begin(), place.end());
      return Expr(std::move(read));
    });
  };
  for (NodeId id : body) {
    if (std::holds_alternative<Tasklet>(s_->nodes[id].body)) {
      Tasklet t = std::get<Tasklet>(s_->nodes[id].body);
      t.value = spread(t.value);
      for (Expr& e : t.index) e = spread(e);
      if (const auto it = arrays.find(t.target); it != arrays.end()) t.target = it->second, t.index.insert(t.index.begin(), place.begin(), place.end());
      s_->nodes.Mutable(id).body = std::move(t);
      continue;
    }
    std::vector<Statements> inside;
    ForEachBody(s_->nodes[id].body, [&](const Statements& b) { inside.push_back(b); });
    for (const Statements& b : inside) SpreadOut(b, arrays, place);
  }
}

std::optional<Scheduler::Statements> Scheduler::TryDistributed(const Nest& n) {
  int64_t iterations = 1;
  for (const Range& r : n.ranges) iterations = std::min(kManyIterations, iterations * std::max<int64_t>(1, AsInt(r.end).value_or(1)));
  if (iterations > 8 * d_.few_results) return std::nullopt;  // as long as an array may be
  auto pieces = PiecesOf(n);
  if (!pieces || !KeepApart(n)) return std::nullopt;
  std::vector<Statements> bodies;
  for (const Nest& piece : *pieces) bodies.push_back(piece.body);
  std::vector<Expr> shape, place;
  for (const Range& r : n.ranges) shape.push_back(r.end), place.push_back(SymbolExpr(r.index));
  std::unordered_map<Name, Name> arrays;
  for (Name name : PassedOn(n, bodies)) {
    const Container c = s_->Get(name);
    if (!c.shape.empty()) return std::nullopt;
    arrays[name] = schedule::Local(s_, name.str() + "_all", c.dtype, shape, Storage::kWorker);
    accesses_[arrays[name]] = INT32_MAX;  // seen under one name
  }
  const auto loops = std::count_if(pieces->begin(), pieces->end(), [](const Nest& p) { return p.owner.valid(); });
  if (arrays.empty() && loops == 1) return std::nullopt;  // one sum with its first value and its end, which other schedules know
  Statements out;
  for (Nest& piece : *pieces) {
    SpreadOut(piece.body, arrays, place);
    const uint32_t owner = piece.owner.valid() ? piece.owner.value : n.owner.value;
    const NodeId map = s_->AddNode(Map{piece.ranges, piece.body});
    std::unordered_set<Name> used;
    UsedBy(*s_, piece.body, &used);
    for (auto& [local, home] : homes_)
      if (home == owner && used.count(local)) home = map.value;
    auto scheduled = Top(map);
    if (!scheduled) return std::nullopt;
    out.insert(out.end(), scheduled->begin(), scheduled->end());
  }
  return out;
}

}  // namespace headrace::schedule
