#include "transforms/layout/weights.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/analysis/arena.h"
#include "ir/analysis/dataflow.h"
#include "ir/analysis/reorder.h"
#include "transforms/inline.h"

namespace headrace::layout {
namespace {

struct Want {
  NodeId statement, tasklet;
  Name weight;
  MemoryOrder order;
  double work;
  bool by_squares;  // its schedule turns them when it packs them, by squares in registers: a copy would be read as often
};

// The lane's dimension last, its partner before it: what is left of a kernel is outermost. None where they lie so: by windows of one place.
std::optional<MemoryOrder> OrderFor(const Container& c, const Access& a, Name lane) {
  if (a.flat || a.container != a.root || !c.row_major() || c.shape.size() < 2) return std::nullopt;
  const auto at = std::find(a.index.begin(), a.index.end(), SymbolExpr(lane));
  if (at == a.index.end()) return std::nullopt;
  const int last = static_cast<int>(at - a.index.begin());
  std::vector<int> dims;
  for (int d = 2; d < static_cast<int>(c.shape.size()); ++d)
    if (d != last) dims.push_back(d);
  for (int d = 0; d < 2; ++d)
    if (d != last) dims.push_back(d);
  dims.push_back(last);
  std::vector<int> walked = dims;
  walked.erase(std::remove_if(walked.begin(), walked.end(), [&](int d) { return AsInt(c.shape[static_cast<size_t>(d)]) == 1; }), walked.end());
  if (std::is_sorted(walked.begin(), walked.end())) return std::nullopt;
  return MemoryOrder(std::move(dims));
}

// Numbers that follow each other in memory and in panels: of one place all channels that are terms, or of one channel all places.
bool TurnsBySquares(const Container& c, const MemoryOrder& order, const schedule::Device& d) {
  const size_t lane = static_cast<size_t>(order.dims().back()), other = 1 - lane;
  if (lane > 1 || d.register_square < 2 || (c.dtype != DType::kF32 && c.dtype != DType::kBF16)) return false;
  int64_t places = 1;
  for (size_t k = 2; k < c.shape.size(); ++k) places *= AsInt(c.shape[k]).value_or(0);
  const int64_t run = places == 1 ? lane == 0 ? AsInt(c.shape[other]).value_or(0) : 0 : places;
  return run >= 2 * d.register_square;
}

class Turner {
 public:
  Turner(const Program& p, Sdfg* s, const schedule::Device& d) : p_(p), s_(*s), d_(d) {}

  bool Run(const std::vector<NodeId>& statements) {
    for (NodeId id : statements) Collect(id);
    bool changed = false;
    for (const auto& [name, wants] : wants_)
      if (InPlace(name, wants)) changed |= Reorder(&s_, name, wants.front().order), placed_.insert(name);
    return CopyOthers() || changed;
  }

 private:
  void Collect(NodeId id) {
    auto leaves = LeavesOf(s_, id, d_);
    if (!leaves) return;
    for (const Weighed& w : Weigh(s_, std::move(*leaves))) {
      if (!w.sum || w.sum->lane.empty()) continue;
      for (const Access& a : w.sum->weights) {
        const Container& c = s_.Get(a.root);
        const auto order = OrderFor(c, a, w.sum->lane);
        const bool packs = order && w.sum->kind == ImageSum::kChannels && TurnsBySquares(c, *order, d_);
        if (order) wants_[a.root].push_back({id, w.leaf.tasklet, a.root, *order, TripsOf(w.leaf.ranges, d_), packs});
      }
    }
  }

  // Constants and transients that all who read them want in one order.
  bool InPlace(Name name, const std::vector<Want>& wants) const {
    const Container& c = s_.Get(name);
    const bool constant = c.kind == ContainerKind::kConstant;
    if (!constant && !(MayLieInArena(c) && c.storage == Storage::kArena)) return false;
    std::set<uint32_t> wanting;
    for (const Want& w : wants) {
      if (w.order != wants.front().order) return false;
      wanting.insert(w.statement.value);
    }
    bool alone = CanReorder(s_, name, wants.front().order);
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      const auto* state = std::get_if<State>(&s_.blocks[b].control);
      if (!state) return alone = alone && !Touches(b, name), void();
      for (NodeId n : state->statements) {
        if (!alone || wanting.count(n.value)) continue;
        for (const Touched& t : TouchedBy(s_, n, callees_))
          if (t.root == name) alone = !constant && t.write && !t.read && std::holds_alternative<Map>(s_.nodes[n].body);
      }
    });
    return alone;
  }
  bool Touches(BlockId b, Name name) const {
    const auto& control = s_.blocks[b].control;
    // What is in it comes by itself.
    if (std::holds_alternative<Loop>(control) || std::holds_alternative<Conditional>(control)) return false;
    const auto touched = TouchedBy(s_, b, callees_);
    return std::any_of(touched.begin(), touched.end(), [&](const Touched& t) { return t.root == name; });
  }

  bool CopyOthers() {
    bool changed = false;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      const auto* state = std::get_if<State>(&s_.blocks[b].control);
      if (!state) return;
      std::map<std::pair<Name, std::string>, Name> copies;  // that still hold, of this state
      std::vector<NodeId> out;
      for (NodeId n : state->statements) {
        for (const auto& [name, wants] : wants_)
          for (const Want& w : wants)
            if (w.statement == n && !placed_.count(name) && !w.by_squares && IsCheap(w)) changed |= Copy(w, &copies, &out);
        out.push_back(n);
        for (const Touched& t : TouchedBy(s_, n, callees_))
          for (auto it = copies.begin(); it != copies.end();) it = t.write && it->first.first == t.root ? copies.erase(it) : std::next(it);
      }
      std::get<State>(s_.blocks.Mutable(b).control).statements = std::move(out);
    });
    return changed;
  }
  bool IsCheap(const Want& w) const {
    const Container& c = s_.Get(w.weight);
    if (c.kind != ContainerKind::kParameter || c.optional) return false;
    return SizeOf(NumElements(c), d_) * static_cast<double>(d_.copy_share) <= w.work;
  }

  bool Copy(const Want& w, std::map<std::pair<Name, std::string>, Name>* copies, std::vector<NodeId>* before) {
    std::string order;
    for (int d : w.order.dims()) order += std::to_string(d) + " ";
    Name& copy = (*copies)[{w.weight, order}];
    if (copy.empty()) {
      Container c;
      c.name = copy = s_.FreshName(w.weight.str() + "_turned");
      c.dtype = s_.Get(w.weight).dtype, c.shape = s_.Get(w.weight).shape, c.order = w.order;
      Map map;
      std::vector<Expr> index;
      transforms::NameTable names(s_);
      for (const Expr& extent : c.shape) {
        map.ranges.push_back({names.FreshIndex(Name("i" + std::to_string(index.size())), {}), Expr(0), extent, Expr(1)});
        index.push_back(SymbolExpr(map.ranges.back().index));
      }
      Tasklet t;
      t.target = copy, t.index = index, t.value = ReadExpr(w.weight, index);
      s_.Add(std::move(c));
      const Origin origin = s_.nodes[w.statement].origin.By("assign-layouts");
      map.body = {s_.AddNode(std::move(t), origin)};
      before->push_back(s_.AddNode(std::move(map), origin));
    }
    Tasklet& t = std::get<Tasklet>(s_.nodes.Mutable(w.tasklet).body);
    t.value = Transform(t.value, [&](const Expr& x) -> Expr {
      if (!x.Is(ExprKind::kRead) || x->name != w.weight || x->flat) return x;
      ExprNode read = *x;
      read.name = copy;
      return Expr(std::move(read));
    });
    return true;
  }

  const Program& p_;
  mutable Callees callees_{p_};
  Sdfg& s_;
  const schedule::Device& d_;
  std::map<Name, std::vector<Want>> wants_;
  std::set<Name> placed_;
};

}  // namespace

void LayWeights(Sdfg* s, const ImageSum& sum) {
  if (sum.lane.empty()) return;
  for (const Access& a : sum.weights)
    if (const auto order = OrderFor(s->Get(a.root), a, sum.lane)) Reorder(s, a.root, *order);
}

bool TurnWeights(const Program& p, Sdfg* s, const std::vector<NodeId>& statements, const schedule::Device& d) {
  return Turner(p, s, d).Run(statements);
}

}  // namespace headrace::layout
