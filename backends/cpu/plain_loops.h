// Statements without a schedule as C++: loops in the order in which they are written, one iteration after the other. What is not
// shown to be inside is asked for where it is used. A sum of floats narrower than they are computed in is rounded once, as the
// interpreter does it: the loops over its terms are innermost then.
#pragma once
#include <functional>
#include <vector>

#include "backends/cpu/kernel.h"
#include "ir/graph/homes.h"

namespace headrace::cpu {

// True when the statement can be a kernel: no calls inside.
bool IsKernel(const Sdfg& s, NodeId n);

class PlainLoops {
 public:
  PlainLoops(const Sdfg& s, NodeId statement, Lowerer& lowerer, LoopEnv& env)
      : s_(s), statement_(statement), lowerer_(lowerer), env_(env), code_(env), homes_(HomesOf(s, {statement})) {}
  // What a map may hold beside tasklets and maps; unset: nothing.
  std::function<Status(NodeId, Writer&)> call;

  std::string leave = "return;";  // out of the function where the run was stopped

  Status Print(Writer& w);

 private:
  Status Statement(NodeId n, Writer& w);
  void OpenLoops(const std::vector<Range>& ranges, std::vector<LoopDim>* opened, Writer& w);
  void CloseLoops(const std::vector<LoopDim>& opened, Writer& w);
  bool IsNarrowSum(const Map& m) const;
  Status NarrowSum(const Map& m, Writer& w);
  void DeclareRegisters(NodeId owner, NodeId first, Writer& w);

  const Sdfg& s_;
  const NodeId statement_;
  Lowerer& lowerer_;  // holds the ranges of enclosing loops
  LoopEnv& env_;
  LoopCode code_;
  const std::vector<Home> homes_;
  int depth_ = 0;  // loops around
};

// One of them as a function.
Result<Kernel> PlainKernel(const Sdfg& s, NodeId statement, Lowerer& lowerer, const KernelOptions& o = {});

}  // namespace headrace::cpu
