// Small tools for writing statements and blocks into an SDFG that already exists.
#pragma once
#include <functional>
#include <unordered_map>
#include <vector>

#include "ir/analysis/dataflow.h"
#include "ir/graph/graph.h"

namespace headrace::autodiff {

using Renames = std::vector<std::pair<Name, Name>>;

inline bool IsHalf(DType t) { return t == DType::kF16 || t == DType::kBF16; }

// A list of blocks under construction: statements gather in states.
class BlockList {
 public:
  explicit BlockList(Sdfg* s) : s_(s) {}
  void Statement(NodeId n) { open_.push_back(n); }
  void Statements(const std::vector<NodeId>& n) { open_.insert(open_.end(), n.begin(), n.end()); }
  void Block(BlockId b);
  void Blocks(const std::vector<BlockId>& b);
  void Let(Name symbol, Expr value);
  std::vector<BlockId> Take();

 private:
  void Flush();
  Sdfg* s_;
  std::vector<BlockId> blocks_;
  std::vector<NodeId> open_;
};

// Names of containers, sizes and loop variables that are free, in constant time each.
class FreshNames {
 public:
  explicit FreshNames(const Sdfg& s);
  Name operator()(std::string_view stem);

 private:
  std::unordered_map<Name, int> used_;
};

NodeId AddTasklet(Sdfg* s, Name target, std::vector<Expr> index, Expr value, WriteOp op = WriteOp::kAssign);
// A map over `ranges`, or the bare statements when there are none.
void AddMap(Sdfg* s, const std::vector<Range>& ranges, const std::vector<NodeId>& body, std::vector<NodeId>* out);
// target[…] = value everywhere.
NodeId FillWith(Sdfg* s, FreshNames* names, Name target, Expr value);
// Ranges 0:extent over fresh indices for every dimension, and the indices.
std::vector<Range> IndexRanges(FreshNames* names, const std::vector<Expr>& extents, std::vector<Expr>* indices);
// to[…] op= from[…] over their common shape.
NodeId CopyWhole(Sdfg* s, FreshNames* names, Name to, Name from, WriteOp op = WriteOp::kAssign);

// A copy of a statement, containers renamed. `leaf` decides about each tasklet (already renamed): the copies that stand for it
// (none: left out). Maps that lose everything vanish: an invalid id.
using LeafFn = std::function<std::vector<Tasklet>(NodeId original, Tasklet copy)>;
NodeId CloneStatement(Sdfg* s, NodeId n, const Renames& renames, const LeafFn& leaf = {});
std::vector<BlockId> CloneBlocks(Sdfg* s, const std::vector<BlockId>& body, const Renames& renames);
// Renames a container in every statement and block of `s` (not its declaration).
void RenameEverywhere(Sdfg* s, const Renames& renames);

void ForEachTasklet(const Sdfg& s, NodeId n, const std::function<void(NodeId, const Tasklet&)>& fn);
// Containers read by an expression or written, without duplicates.
std::vector<Name> WrittenBy(const Sdfg& s, NodeId n);
// Index arguments of a read, without its default.
std::vector<Expr> IndexOf(const Expr& read);
// Number of iterations of a range with literal step: max(0, ceil((end - begin) / step)).
Expr TripCount(const Range& r);

}  // namespace headrace::autodiff
