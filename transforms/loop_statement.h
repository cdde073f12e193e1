// A loop of small statements as one statement, which a kernel writes as `for`: calls of tiny kernels cost more than what they do.
//   for t in 1:T { state { s = X[t] ; map i in 0:8 { Y[t, i] = Y[t - 1, i] * s } } }
//     →  map t in 1:T @sequential { s = X[t] ; map i in 0:8 { Y[t, i] = Y[t - 1, i] * s } }
// In loops that can't be one, such as those with a `let`, statements of a state are one for the same reason, of one iteration:
//   for t in 0:T { let n = I[t] ; state { s = X[t] ; map i in 0:n { Y[i] += s } } }
//     →  for t in 0:T { let n = I[t] ; state { map once in 0:1 @sequential { s = X[t] ; map i in 0:n { Y[i] += s } } } }
#pragma once
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph/graph.h"
#include "transforms/uses.h"

namespace headrace::transforms {

// A loop, or a statement of a state.
struct Part {
  NodeId statement;
  BlockId loop;
};

class LoopStatements {
 public:
  // Of an SDFG whose statements stay as they are but for `Make`.
  LoopStatements(const Program& p, Sdfg* s) : s_(*s), uses_(p, *s) {}

  // Whether it holds nothing but loops over ranges and statements that `may` be in a kernel, each of which has a known number of
  // operations, less than `operations`. `around`: ranges of the loops around it.
  bool Fits(BlockId loop, const std::vector<Range>& around, int64_t operations, const std::function<bool(NodeId)>& may) const;

  // Whether they are loops over maps, and maps, that can go block by block, however large they are: schedule/loop_blocks.h.
  bool GoInBlocks(const std::vector<Part>& parts, const std::function<bool(NodeId)>& may) const;
  // Arrays that nothing else uses, of which a block needs its own elements alone.
  std::vector<Name> OfBlocks(const std::vector<Part>& parts) const;

  // Whether the statement has a known number of operations, less than `operations`; and beside which a call is much, unless data
  // decide how many there are.
  bool IsSmall(NodeId statement, const std::vector<Range>& around, int64_t operations) const;

  // The statement. Numbers that each iteration sets before it reads them become registers.
  NodeId Make(BlockId loop);
  // The same of some loops, and statements of a state, one after the other.
  NodeId Make(const std::vector<Part>& parts);

 private:
  NodeId WithRegisters(NodeId map, const std::unordered_set<uint32_t>& statements);
  bool Fits(BlockId loop, std::vector<Range>* around, int64_t operations, const std::function<bool(NodeId)>& may, int* statements) const;
  bool SetsOwnNumbers(const std::vector<NodeId>& statements, bool all_in_one) const;
  bool Gather(BlockId loop, std::vector<NodeId>* statements, std::unordered_set<Name>* variables) const;
  bool Gather(const std::vector<Part>& parts, std::vector<NodeId>* statements, std::unordered_set<Name>* variables) const;
  bool IsInside(const Usage& u, const std::unordered_set<uint32_t>& statements) const;
  NodeId MapOf(BlockId loop, std::unordered_set<uint32_t>* statements);
  std::vector<Name> NumbersOf(const std::unordered_set<uint32_t>& statements) const;
  bool SetFirst(Name number, NodeId owner, NodeId first) const;

  Sdfg& s_;
  const UseIndex uses_;
};

}  // namespace headrace::transforms
