// Which statements of a loop's body depend on which, in one iteration and from one to a later one.
#pragma once
#include <unordered_set>
#include <vector>

#include "ir/analysis/dataflow.h"

namespace headrace::transforms {

// A loop over a range, `outer`: those around it, outermost first.
struct LoopNest {
  std::vector<Range> outer;
  Range range;
};

class LoopDependences {
 public:
  // `apart`: containers of which each iteration has its own.
  LoopDependences(const Program& p, const Sdfg& s, const LoopNest& nest, const std::vector<NodeId>& statements,
                  const std::unordered_set<Name>& apart);
  // Statement b must come after statement a, in the same iteration (a before b in the text) or in a later one than a's.
  bool Within(size_t a, size_t b) const;
  bool Carried(size_t a, size_t b) const;

 private:
  bool Conflict(const Memlet& a, const Memlet& b, bool carried) const;

  const Sdfg& s_;
  const LoopNest& nest_;
  Name distance_;
  Assumptions assumptions_;
  std::vector<std::vector<Memlet>> memlets_;  // of each statement, without those apart
};

// What is known of the variables of loops, as bounds.
Assumptions WithLoops(Assumptions as, const std::vector<Range>& loops);

}  // namespace headrace::transforms
