// Derived dataflow: memlets of statements, and the edges between the statements of one state.
#pragma once
#include <vector>

#include "ir/analysis/callees.h"
#include "ir/analysis/sets.h"
#include "ir/graph/graph.h"

namespace headrace {

// What one statement reads or writes of one container, propagated out of its maps: a box of inclusive-exclusive ranges.
struct Memlet {
  Name container;
  Subset subset;  // over the symbols and loop variables outside the statement
  bool write = false;
  bool dynamic = false;  // data-dependent or guarded: the subset is an over-approximation
  bool full = false;     // writes: certainly every element of the subset
  WriteOp op = WriteOp::kAssign;
  Expr volume;  // number of element accesses
};
std::vector<Memlet> MemletsOf(const Program& p, const Sdfg& s, NodeId statement);
// The container that holds the elements: follows views to their base.
Name RootOf(const Sdfg& s, Name container);
// Every array a statement may touch, with `root` in place of views; registers left out. Cheaper than MemletsOf.
struct Touched {
  Name root;
  bool read = false, write = false;
};
std::vector<Touched> TouchedBy(const Program& p, const Sdfg& s, NodeId statement);
std::vector<Touched> TouchedBy(const Program& p, const Sdfg& s, BlockId block);

std::vector<Memlet> MemletsOf(const Sdfg& s, NodeId statement, Callees& callees);
std::vector<Touched> TouchedBy(const Sdfg& s, NodeId statement, Callees& callees);
std::vector<Touched> TouchedBy(const Sdfg& s, BlockId block, Callees& callees);

// Reads and writes of a whole block (loops, branches, nested calls), over-approximated.
std::vector<Memlet> MemletsOf(const Program& p, const Sdfg& s, BlockId block);

enum class Dependence : uint8_t { kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };
struct Edge {
  uint32_t from, to;
  Name container;
  Dependence kind;
};  // positions in State::statements
// Edges of a state from subset overlap; unknown counts as overlap. Transitively redundant edges are left out.
std::vector<Edge> EdgesOf(const Program& p, const Sdfg& s, const State& state);

// An access node: one version of a container in a state (0 = what was there before; a new one for each write). For viewers, printers and liveness.
struct AccessNode {
  Name container;
  int version;
  std::vector<uint32_t> writers, readers;
};
std::vector<AccessNode> AccessNodesOf(const Program& p, const Sdfg& s, const State& state);

// Adds to `s->symbol_params` every size that the SDFG speaks of, but that neither binds from its parameters' shapes nor
// defines itself: what was part of a caller then stands alone.
void DeclareSymbols(Sdfg* s);

}  // namespace headrace
