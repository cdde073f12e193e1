// What a statement reads and writes.
#pragma once
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

}  // namespace headrace::cpu
