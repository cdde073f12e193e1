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
  struct Asked {
    std::function<bool(NodeId)> statement;  // may it be in a kernel?
    std::function<bool(BlockId)> loop;
    std::function<NodeId(const std::vector<Part>&)> join;  // the statement that a group becomes; invalid: it stays as it is
  };
  LoopGroups(Sdfg* s, const LoopStatements& loops, Callees& callees, Asked asked)
      : s_(*s), loops_(loops), callees_(callees), asked_(std::move(asked)) {}

  // The blocks in an order that keeps what they compute, groups of them joined.
  std::vector<BlockId> Joined(const std::vector<BlockId>& body);

 private:
  struct Found {
    std::vector<Part> before, group, after;
  };
  bool Moves(BlockId b) const;
  bool SharesRegister(NodeId n) const;
  std::vector<BlockId> BlocksOf(const std::vector<Part>& parts);
  bool JoinFirst(std::vector<Part>* parts);
  bool MayBeIn(const Part& p) const;
  std::vector<Touched> TouchedBy(const Part& p) const;
  bool Conflict(const Part& a, const std::vector<Part>& list) const;
  bool GoesWith(const Part& p, const std::vector<Part>& group, const std::vector<Part>& with) const;
  bool Sweeps(const Part& p, const Part& loop) const;
  bool StaysNear(const std::vector<Part>& group, const Part& loop) const;
  Found Around(const std::vector<Part>& above, const Part& loop, const std::vector<Part>& below, bool sweeps) const;
  void Backwards(const std::vector<Part>& parts, const Part* narrow, Found* out) const;
  void Forwards(const std::vector<Part>& parts, const Part* narrow, Found* out) const;

  Sdfg& s_;
  const LoopStatements& loops_;
  Callees& callees_;
  const Asked asked_;
};

}  // namespace headrace::transforms
