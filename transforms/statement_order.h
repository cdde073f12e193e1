// The statements of states that follow each other, in an order that changes: what must stay before what, and which bytes are in use.
// A sum and what it starts at, right before it, are one item.
#pragma once
#include <unordered_map>
#include <vector>

#include "ir/analysis/callees.h"
#include "ir/analysis/dataflow.h"
#include "transforms/uses.h"

namespace headrace::transforms {

class StatementOrder {
 public:
  // `states`: blocks that follow each other; their first statement has the position `first` in `uses`, which is of the whole SDFG.
  StatementOrder(const Program& p, const Sdfg& s, const std::vector<BlockId>& states, const UseIndex& uses, uint32_t first,
                 Callees& callees, int64_t symbol_size);

  size_t size() const { return order_.size(); }
  uint32_t At(size_t position) const { return order_[position]; }            // which item stands there
  NodeId Statement(uint32_t item) const { return items_[item].statements.back(); }

  // The first place that an item can move up to, and the last that it can move down to.
  size_t Highest(uint32_t item) const;
  size_t Lowest(uint32_t item) const;
  // Bytes that are no longer in use in between then, less those that are longer; 0 or less: nothing is gained.
  double SavedAbove(uint32_t item, size_t to) const;
  double SavedBelow(uint32_t item, size_t to) const;
  double Bytes(uint32_t item) const;  // of all that it uses: no step saves more
  // `beside`: the place of a statement in whose state it is then.
  void Move(uint32_t item, size_t to, size_t beside);
  bool IsAt(uint32_t item, size_t to, size_t beside) const { return at_[item] == to && items_[item].state == items_[order_[beside]].state; }
  // The statements of each state, as they stand now.
  std::vector<std::vector<NodeId>> Lists() const;

 private:
  struct Item {
    std::vector<NodeId> statements;
    size_t state;  // which of them
    std::vector<Touched> touched;
    bool fixed = false;     // it defines a symbol: nothing moves, or passes it
    bool can_fail = false;  // it may end the run
    bool lasting = false;   // it writes what outlives a run that fails
  };
  struct Array {
    std::vector<std::pair<uint32_t, bool>> uses;  // items; whether they write
    bool before = false, after = false;           // used outside, too
    bool written = false;
    double bytes = 0;  // 0: not this run's memory
  };
  // Whether others than an item use an array before a range of places, in it and after it.
  struct Around {
    bool before = false, between = false, after = false;
  };
  void AddState(const Program& p, const Sdfg& s, const std::vector<NodeId>& statements, size_t state, Callees& callees);
  void Add(const Program& p, const Sdfg& s, std::vector<NodeId> statements, std::vector<Touched> touched, size_t state);
  void Weigh(const Sdfg& s, const UseIndex& uses, uint32_t first, uint32_t end, int64_t symbol_size);
  template <typename Fn>
  void ForEachConflict(uint32_t item, Fn&& fn) const;
  Around UsesOf(const Array& a, uint32_t item, size_t begin, size_t end) const;

  std::vector<Item> items_;
  std::vector<uint32_t> order_;  // items by position
  std::vector<size_t> at_;       // positions by item
  std::vector<uint32_t> fixed_, can_fail_, lasting_;  // such items
  std::unordered_map<Name, Array> arrays_;
  size_t states_ = 0;
};

}  // namespace headrace::transforms
