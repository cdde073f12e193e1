// What statements cost: operations, workspace of library nodes, bytes of containers, for given sizes.
#pragma once
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/registry/registry.h"

namespace headrace::autodiff {

// Values of symbols. Those that nobody gave count as their assumed lower bound, else 1.
class Sizes {
 public:
  Sizes(const Sdfg& s, const std::vector<std::pair<Name, int64_t>>& given);
  int64_t Of(const Expr& e);
  int64_t BytesOf(const Container& c);  // as the arena lays it out: a multiple of 64
  void Set(Name n, int64_t value) { values_[n] = value, guesses_.erase(n); }
  std::set<Name>& guessed() { return guessed_; }  // that values so far depended on; clear it to ask again

 private:
  std::unordered_map<Name, int64_t> values_;
  Assumptions assumptions_;
  std::unordered_set<Name> guesses_;
  std::set<Name> guessed_;
};

struct Cost {
  double work = 0;          // scalar operations; a transcendental function counts 16
  int64_t workspace = 0;    // bytes of transients that its expansion brings
  bool elementwise = true;  // every element of the result costs a bounded number of operations
};

class CostModel {
 public:
  CostModel(const Registry& r, Sizes* sizes) : r_(r), sizes_(*sizes) {}
  Cost Of(const Program& p, const Sdfg& s, NodeId statement);
  Cost Of(const Program& p, const Sdfg& s, BlockId block);

 private:
  void Add(const Program& p, const Sdfg& s, NodeId n, double times, Cost* c);
  void Add(const Program& p, const Sdfg& s, const std::vector<BlockId>& body, double times, Cost* c);
  Cost Library_(const Program& p, const Sdfg& s, NodeId n);
  const Registry& r_;
  Sizes& sizes_;
  int depth_ = 0;
  std::unordered_map<std::string, Cost> known_;  // by op, attributes and shapes
};

}  // namespace headrace::autodiff
