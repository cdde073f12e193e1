// What statements cost: operations, workspace of library nodes, bytes of containers, for given sizes.
#pragma once
#include <map>
#include <memory>
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
  int64_t Of(Name n) { return Of(SymbolExpr(n)); }
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

// Costs of library nodes by op, attributes and shapes: found once for all models of one reversal, its layers' among them.
struct KnownCosts {
  std::unordered_map<std::string, Cost> of;
};

class CostModel {
 public:
  CostModel(const Registry& r, Sizes* sizes, std::shared_ptr<KnownCosts> known = nullptr)
      : r_(r), sizes_(*sizes), known_(known ? std::move(known) : std::make_shared<KnownCosts>()) {}
  Cost Of(const Program& p, const Sdfg& s, NodeId statement);
  Cost Of(const Program& p, const Sdfg& s, BlockId block);

 private:
  void Add(const Program& p, const Sdfg& s, NodeId n, double times, Cost* c);
  void Add(const Program& p, const Sdfg& s, const std::vector<BlockId>& body, double times, Cost* c);
  void Call(const Program& p, const Nested& call, double times, Cost* c);
  Cost Library_(const Program& p, const Sdfg& s, NodeId n);
  const Registry& r_;
  Sizes& sizes_;
  int depth_ = 0;
  std::shared_ptr<KnownCosts> known_;
  struct Callee {
    std::vector<Name> symbols;  // that it has from its callers
    bool plain = false;         // states only: nothing else gives a symbol a value
    std::map<std::vector<int64_t>, Cost> costs;  // by values of these
  };
  std::unordered_map<Name, Callee> callees_;  // of the program itself, not of what its nodes expand to
};

}  // namespace headrace::autodiff
