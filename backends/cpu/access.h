// Which dimensions of a map may run in any order and at the same time.
#pragma once
#include <set>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::cpu {

struct RawAccess {
  Name container;
  std::vector<Expr> index;
  bool flat = false, write = false;
  WriteOp op = WriteOp::kAssign;
};
// Every access of the statement and all it owns, in text order.
std::vector<RawAccess> AccessesOf(const Sdfg& s, NodeId n);
void CollectReads(const Expr& e, std::vector<RawAccess>* out);
Name BaseOf(const Sdfg& s, Name container);  // through views

// For each range: do iterations that differ in it touch disjoint elements of everything that is written? (`nodes` is the
// body below the ranges.) Register containers are private and don't count, except those in `shared`, which live outside.
std::vector<bool> DisjointDims(const Sdfg& s, const std::vector<Range>& ranges, const std::vector<NodeId>& body,
                               const std::set<Name>& shared = {});

// Register containers by the innermost map that holds all their uses (or the statement itself).
std::vector<std::pair<NodeId, Name>> RegisterHomes(const Sdfg& s, NodeId top);

}  // namespace headrace::cpu
