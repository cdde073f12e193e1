#include "transforms/shorten_lifetimes.h"

#include <algorithm>

#include "ir/analysis/arena.h"
#include "transforms/by_shape.h"
#include "transforms/each_sdfg.h"
#include "transforms/outer_group.h"
#include "transforms/statement_order.h"

namespace headrace {
namespace {

using transforms::StatementOrder;
using transforms::UseIndex;

// Bytes of an array whose memory is a run's own.
using Weight = std::pair<Name, double>;

std::vector<Weight> WeightsOf(const Sdfg& s, const LifetimeLimits& limits) {
  std::vector<Weight> out;
  transforms::ByShape<double> bytes;
  const auto rough = [&](const Container& c) { return transforms::RoughSize(BytesOf(c), limits.symbol_size); };
  for (Name n : s.order)
    if (const Container& c = s.Get(n); MayLieInArena(c)) out.emplace_back(n, bytes.Of(c, rough));
  return out;
}
// Whether all of them together have what a step is to save.
bool MaySave(const std::vector<Weight>& weights, const LifetimeLimits& limits) {
  double bytes = 0;
  for (const Weight& w : weights) bytes += std::max(0.0, w.second);
  return bytes >= limits.least_bytes;
}

class Shortener {
 public:
  Shortener(const Program& p, Sdfg* s, const std::vector<Weight>& weights, const LifetimeLimits& limits, const Ask& ask)
      : p_(p), s_(*s), limits_(limits), ask_(ask), callees_(p), uses_(p, *s) {
    for (uint32_t at = 0; at < uses_.positions().size(); ++at)
      if (const NodeId n = uses_.positions()[at].statement; n.valid()) position_.emplace(n.value, at);
    Weigh(weights);
  }
  bool Run() {
    std::vector<BlockId> body = s_.body;
    if (List(&body)) s_.body = std::move(body);
    return changed_;
  }

 private:
  // Bytes of the arrays that each position uses.
  void Weigh(const std::vector<Weight>& weights) {
    bytes_.resize(uses_.positions().size());
    for (const auto& [array, bytes] : weights) {
      const transforms::Usage& u = uses_.Of(array);
      for (uint32_t at : u.reads) bytes_[at] += bytes;
      for (uint32_t at : u.writes)
        if (!std::binary_search(u.reads.begin(), u.reads.end(), at)) bytes_[at] += bytes;
    }
  }
  bool MaySave(const std::vector<BlockId>& states, uint32_t first) const {
    uint32_t end = first;
    for (BlockId b : states) end += static_cast<uint32_t>(std::get<State>(s_.blocks[b].control).statements.size());
    return std::any_of(bytes_.begin() + first, bytes_.begin() + end, [&](double b) { return b >= limits_.least_bytes; });
  }
  // States that follow each other are one line; what they lose all of goes.
  bool List(std::vector<BlockId>* body) {
    std::vector<BlockId> out, line;
    for (BlockId b : *body) {
      if (std::holds_alternative<State>(s_.blocks[b].control)) {
        line.push_back(b);
        continue;
      }
      Line(&line, &out);
      Inside(b);
      out.push_back(b);
    }
    Line(&line, &out);
    const bool changed = !(out == *body);
    *body = std::move(out);
    return changed;
  }
  void Inside(BlockId b) {
    const Control c = s_.blocks[b].control;
    if (const auto* l = std::get_if<Loop>(&c)) {
      if (std::vector<BlockId> inner = l->body; List(&inner)) std::get<Loop>(s_.blocks.Mutable(b).control).body = std::move(inner);
    } else if (const auto* d = std::get_if<Conditional>(&c)) {
      for (size_t k = 0; k < d->branches.size(); ++k)
        if (std::vector<BlockId> inner = d->branches[k].body; List(&inner))
          std::get<Conditional>(s_.blocks.Mutable(b).control).branches[k].body = std::move(inner);
    }
  }
  void Line(std::vector<BlockId>* line, std::vector<BlockId>* out) {
    const std::vector<BlockId> states = std::move(*line);
    line->clear();
    const uint32_t* first = FirstOf(states);
    std::optional<StatementOrder> order;
    if (first && MaySave(states, *first)) order.emplace(p_, s_, states, uses_, *first, callees_, limits_.symbol_size);
    if (!order || !Steps(&*order)) {
      out->insert(out->end(), states.begin(), states.end());
      return;
    }
    changed_ = true;
    std::vector<std::vector<NodeId>> lists = order->Lists();
    for (size_t k = 0; k < states.size(); ++k) {
      const bool had = !std::get<State>(s_.blocks[states[k]].control).statements.empty();
      if (!lists[k].empty() || !had) out->push_back(states[k]);
      std::get<State>(s_.blocks.Mutable(states[k]).control).statements = std::move(lists[k]);
    }
  }
  const uint32_t* FirstOf(const std::vector<BlockId>& states) const {
    for (BlockId b : states)
      if (const auto& list = std::get<State>(s_.blocks[b].control).statements; !list.empty()) return &position_.at(list[0].value);
    return nullptr;
  }

  // Up first: what an update of a weight waits for then is the last that reads the weight, and the gradient can go down to it.
  bool Steps(StatementOrder* order) {
    bool moved = false;
    std::vector<uint32_t> items;
    for (size_t k = 0; k < order->size(); ++k)
      if (order->Bytes(order->At(k)) >= limits_.least_bytes) items.push_back(order->At(k));
    for (uint32_t item : items) moved |= Up(order, item);
    std::reverse(items.begin(), items.end());
    for (uint32_t item : items) moved |= Down(order, item);
    return moved;
  }
  // Right behind the last that it needs, into its state.
  bool Up(StatementOrder* order, uint32_t item) {
    const size_t to = order->Highest(item);
    if (to == 0 || order->IsAt(item, to, to - 1) || !Asked(*order, item, to - 1, order->SavedAbove(item, to))) return false;
    order->Move(item, to, to - 1);
    return true;
  }
  // Right before the first that needs it.
  bool Down(StatementOrder* order, uint32_t item) {
    const size_t to = order->Lowest(item);
    if (to + 1 == order->size() || order->IsAt(item, to, to + 1) || !Asked(*order, item, to + 1, order->SavedBelow(item, to))) return false;
    order->Move(item, to, to + 1);
    return true;
  }
  bool Asked(const StatementOrder& order, uint32_t item, size_t beside, double saved) const {
    Match m;
    m.sdfg = s_.name, m.statements = {order.Statement(item), order.Statement(order.At(beside))};
    m.advised = saved >= limits_.least_bytes;
    if (!m.advised) m.note = "no less memory is in use then";
    return ask_(m);
  }

  const Program& p_;
  Sdfg& s_;
  const LifetimeLimits& limits_;
  const Ask& ask_;
  Callees callees_;
  const UseIndex uses_;
  std::unordered_map<uint32_t, uint32_t> position_;  // of statements
  std::vector<double> bytes_;                         // by position
  bool changed_ = false;
};

}  // namespace

Result<bool> ShortenLifetimes(Program& p, const LifetimeLimits& limits, const Ask& ask) {
  const Program before = p;
  return transforms::ChangeEach(p, [&](Sdfg* s) {
    const std::vector<Weight> weights = WeightsOf(*s, limits);
    return MaySave(weights, limits) && Shortener(before, s, weights, limits, ask).Run();
  });
}

}  // namespace headrace
