// Loops over elementwise maps that go block by block (schedule/loop_blocks.h) are one kernel with such loops and maps beside them: what they
// pass on is as long as a block then, instead of an array in memory.
//   state { map i in 0:N { A[0, i] = X[i] } }
//   for t in 0:T { map i in 0:N { A[t + 1, i] = sin(A[t, i]) } }
//   state { S = 0 ; map i in 0:N { G[i] = 1 } }
//   for t in T-1:-1:-1 { map i in 0:N { G[i] = G[i] * cos(A[t, i]) } }
//     →  S = 0
//        map once in 0:1 @sequential { map i { A[0, i] = X[i] } ; map i { G[i] = 1 } ; for t in 0:T { … } ; for t in T-1:-1:-1 { … } }
#pragma once
#include <functional>
#include <vector>

#include "ir/analysis/dataflow.h"
#include "transforms/loop_statement.h"

namespace headrace::transforms {

class LoopGroups {
 public:
  using May = std::function<bool(NodeId)>;  // whether a statement may be in a kernel
  using Join = std::function<NodeId(const std::vector<Part>&)>;  // a group's statement; invalid: it stays as it is
  LoopGroups(const Sdfg& s, const LoopStatements& loops, Callees& callees, May may, Join join)
      : s_(s), loops_(loops), callees_(callees), may_(std::move(may)), join_(std::move(join)) {}

  // The parts in an order that keeps what they compute, groups of them joined; true where any was.
  bool Run(std::vector<Part>* parts);

 private:
  struct Found {
    std::vector<Part> before, group, after;
  };
  bool MayBeIn(const Part& p) const;
  std::vector<Touched> TouchedBy(const Part& p) const;
  bool Conflict(const Part& a, const std::vector<Part>& list) const;
  bool Meet(const Part& a, const std::vector<Part>& group) const;
  Found Around(const std::vector<Part>& parts, size_t loop) const;
  void Backwards(const std::vector<Part>& parts, size_t loop, Found* out) const;
  void Forwards(const std::vector<Part>& parts, size_t loop, Found* out) const;

  const Sdfg& s_;
  const LoopStatements& loops_;
  Callees& callees_;
  const May may_;
  const Join join_;
};

}  // namespace headrace::transforms
