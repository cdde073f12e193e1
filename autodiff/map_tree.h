// A map at state level as a tree that is edited in place: what localize-maps works on.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "autodiff/emit.h"

namespace headrace::autodiff {

struct MapTree {
  Body node;  // a Map's own body is left empty: `body` has it
  Origin origin;
  NodeId source;              // the node it was: halves of one map have the same, maps beside each other have not
  std::vector<MapTree> body;  // of a map

  bool IsMap() const { return std::holds_alternative<Map>(node); }
  Map& map() { return std::get<Map>(node); }
  const Map& map() const { return std::get<Map>(node); }
  Tasklet* tasklet() { return std::get_if<Tasklet>(&node); }
  const Tasklet* tasklet() const { return std::get_if<Tasklet>(&node); }
};

MapTree LoadTree(const Sdfg& s, NodeId n);
NodeId StoreTree(Sdfg* s, const MapTree& t);

// Positions of the children to follow from the root.
using TreePath = std::vector<size_t>;
const MapTree& At(const MapTree& root, const TreePath& path);
MapTree& At(MapTree& root, const TreePath& path);
// The maps around a path, the root first, and all their ranges.
std::vector<const MapTree*> MapsAround(const MapTree& root, const TreePath& path);
std::vector<Range> RangesAround(const MapTree& root, const TreePath& path);

// One access of a leaf, in the order they happen: a tasklet's reads come before its write.
struct TreeAccess {
  Name container, root;
  std::vector<Expr> index;
  bool write = false, flat = false;
  bool guarded = false;  // `??`
  bool whole = false;    // by a call or library node
  WriteOp op = WriteOp::kAssign;
  size_t leaf = 0;  // position among the leaves
};
struct TreeLeaf {
  TreePath path;
  bool opaque;
};  // opaque: a call or library node
struct TreeAccesses {
  std::vector<TreeLeaf> leaves;
  std::vector<TreeAccess> all;
};
TreeAccesses AccessesOf(const Program& p, const Sdfg& s, const MapTree& root);

// Everything before leaf position `at` (a path of any depth: whole subtrees go right from there), and the rest.
std::pair<MapTree, MapTree> SplitTree(const MapTree& root, const TreePath& at);

// Rewrites every expression of a subtree: values, indices and arguments.
void TransformTree(MapTree* t, const std::function<Expr(const Expr&)>& fn);

// ---- rewriting one map (localize_registers.cc) ----
struct LocalContext {
  const Program& p;
  Sdfg& s;
  FreshNames& names;
  Name Register(std::string_view stem, DType t);
};
// Inner maps with one iteration are spliced into what is around them.
bool SplicePoints(MapTree* root);
// Gives every plain write of a scalar register a register of its own. What it can't rename is added to `stubborn`.
bool RenameRegisters(LocalContext* c, MapTree* root, std::set<Name>* stubborn);
// Elements that one iteration writes and then reads, or accumulates by *=, max=, min= after setting them, live in a register
// until the iteration is done with them. Roots in `keep` stay as they are.
bool PromoteElements(LocalContext* c, MapTree* root, const std::set<Name>& keep);
// `A[2*i] = f(A[2*i + 1])`: the value is computed before the write, by a statement of its own.
bool ReadBeforeWrite(LocalContext* c, MapTree* root);

}  // namespace headrace::autodiff
