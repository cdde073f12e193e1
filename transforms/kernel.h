// One statement as map fusion sees it: iteration space, body, accesses; and the question whether two can become one.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "transforms/inline.h"

namespace headrace::transforms {

struct KernelAccess {
  Name container, root;
  std::vector<Expr> index;
  bool write = false, flat = false, whole = false;  // whole: the container at large (library nodes, calls)
  WriteOp op = WriteOp::kAssign;
};

struct Kernel {
  NodeId statement;  // what it was made from
  Origin origin;
  std::vector<Range> ranges;  // of the outermost map
  std::vector<NodeId> body;
  std::vector<KernelAccess> accesses;
  std::vector<Name> inner;  // indices of maps inside the body
  Schedule schedule;
  int leaves = 0;            // tasklets
  bool fusable = false;      // a map of tasklets and maps
  bool reduces = false;      // accumulates over some of its indices
  bool contraction = false;  // a reduction that uses elements many times (matrix product, convolution): left whole
  bool constant = false;     // writes values that depend on no array: may run any time before its first reader
  bool split = false;        // its body has been divided among inner maps
  bool changed = false;
  std::vector<uint32_t> of(Name root) const;  // accesses of a container
  void Index();                               // (re)builds the look-up behind of()

 private:
  std::unordered_map<Name, std::vector<uint32_t>> by_root_;
  size_t indexed_ = 0;
};

struct Fusion;
struct FusionLimits {
  int max_statements = 64;
  // Given: sums of products are fused with what they start at and what becomes of them, and nothing else is, where this says that
  // the two in one keep the product's tiles.
  std::function<bool(const Sdfg&, NameTable*, const std::vector<Name>& around, const Fusion&, const Kernel&, const Kernel&)> product;
};

bool MentionsAny(const Expr& e, const std::vector<Name>& names);  // of these symbols
Kernel MakeKernel(const Program& p, const Sdfg& s, NodeId statement);
// How one kernel can go on where another ends, iteration by iteration of the indices that they share.
struct Fusion {
  size_t shared = 0;       // leading indices of the first
  std::vector<int> match;  // the second's index for each of the first's, or -1
};
// Where the two run one right after the other, and one map for both means the same.
std::optional<Fusion> FindFusion(const Sdfg& s, const Kernel& a, const Kernel& b);
// Why fusing them doesn't pay, "" where it does. `around`: indices of the maps both stand in.
std::string WhyNotFuse(const Sdfg& s, NameTable* names, const std::vector<Name>& around, const Kernel& a, const Kernel& b, const Fusion& f,
                       const FusionLimits& limits);
// Makes `a` do what `a` then `b` did.
void Fuse(Sdfg* s, NameTable* names, const std::vector<Name>& around, const Fusion& f, Kernel* a, const Kernel& b);
// The three together; false where there is none, or none that pays.
bool TryMerge(Sdfg* s, NameTable* names, const std::vector<Name>& around, const FusionLimits& limits, Kernel* a,
              const Kernel& b);
// Sizes and other symbols that it needs.
std::vector<Name> SymbolsOf(const Sdfg& s, const Kernel& k);
// The statement for a kernel that changed.
NodeId Emit(Sdfg* s, const Kernel& k);

}  // namespace headrace::transforms
