// A loop of small statements as one statement, which a kernel writes as `for`: calls of tiny kernels cost more than what they do.
//   for t in 1:T { state { s = X[t] ; map i in 0:8 { Y[t, i] = Y[t - 1, i] * s } } }
//     →  map t in 1:T @sequential { s = X[t] ; map i in 0:8 { Y[t, i] = Y[t - 1, i] * s } }
#pragma once
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph/graph.h"
#include "transforms/uses.h"

namespace headrace::transforms {

class LoopStatements {
 public:
  // Of an SDFG whose statements stay as they are but for `Make`.
  LoopStatements(const Program& p, Sdfg* s) : s_(*s), uses_(p, *s) {}

  // Whether it holds nothing but loops over ranges and statements that `may` be in a kernel, each of which has a known number of
  // operations, less than `operations`. `around`: ranges of the loops around it.
  bool Fits(BlockId loop, const std::vector<Range>& around, int64_t operations, const std::function<bool(NodeId)>& may) const;

  // The statement. Numbers that each iteration sets before it reads them become registers.
  NodeId Make(BlockId loop);

 private:
  bool Fits(BlockId loop, std::vector<Range>* around, int64_t operations, const std::function<bool(NodeId)>& may, int* statements) const;
  NodeId MapOf(BlockId loop, std::unordered_set<uint32_t>* statements);
  std::vector<Name> NumbersOf(const std::unordered_set<uint32_t>& statements) const;
  bool SetFirst(Name number, NodeId owner, NodeId first) const;

  Sdfg& s_;
  const UseIndex uses_;
};

}  // namespace headrace::transforms
