// Shared by the files that print a scheduled kernel: kernel_printer.cc (the function, its parts, what lives where),
// kernel_statements.cc (each kind of statement), kernel_dots.cc, kernel_bytes.cc and kernel_squares.cc.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "backends/cpu/kernel_printer.h"
#include "ir/graph/homes.h"

namespace headrace::cpu {

class KernelPrinter {
 public:
  KernelPrinter(const Sdfg& s, const std::vector<NodeId>& statements, const KernelOptions& o);
  Result<Kernel> Run();

 private:
  // ---- kernel_printer.cc ----
  Status Unprintable(NodeId n, const std::string& what, const std::string& pass) const;
  Status CheckContainers() const;
  Status Let(const Assign& let, Writer& w);
  // A body: what lives in it is declared in it, and known in it alone.
  Status Statements(NodeId owner, bool otherwise, const std::vector<NodeId>& body, Writer& w);
  Status DeclareWorkers(const std::vector<const Home*>& homes, Writer& w);
  Status DeclareRegister(const Home& home, Writer& w);
  Status Parallel(NodeId n, const Map& m, Writer& w);
  // ---- kernel_statements.cc ----
  Status Statement(NodeId n, Writer& w);
  Status Store(NodeId n, const Tasklet& t, Writer& w);
  Status Choice(NodeId n, const If& i, Writer& w);
  Status Checked(NodeId n, const Touch& k, Writer& w);
  Status Prefetched(const Touch& k, Writer& w);
  // `pragma` is of the innermost loop, whose bounds stand before it.
  Status Loops(NodeId n, const Map& m, const std::string& pragma, Writer& w);
  Status Apart(NodeId n, const Map& m, Writer& w);
  bool HasLoop(const std::vector<NodeId>& body, bool or_lanes) const;
  Status Unrolled(NodeId n, const Map& m, Writer& w);
  Status Streamed(NodeId n, const Map& m, Writer& w);
  Status Halves(NodeId n, const Map& m, Writer& w);
  // ---- kernel_dots.cc ----
  Result<bool> Dots(const Map& m, Writer& w);  // false: they are no such lanes, and nothing was written
  Result<bool> DotsOfBoth(const LoweredStmt& stmt, Name lane, int64_t lanes, Writer& w);
  // ---- kernel_bytes.cc ----
  Result<bool> Bytes(const Map& m, Writer& w);  // so
  Result<bool> Grouped(const Map& m, Writer& w);
  // ---- kernel_squares.cc ----
  Result<bool> Squared(const Map& m, Writer& w);  // so

  // What stands before a parallel map, and is passed on to its function.
  struct Outer {
    std::string type, name;
  };
  const Sdfg& s_;
  const KernelOptions& options_;
  const std::vector<NodeId> statements_;
  const std::vector<Home> homes_;
  KernelEnv env_;
  Lowerer lowerer_;
  LoopCode code_;
  std::vector<Outer> outer_;
  std::string parts_;
  int next_part_ = 0;
  bool in_part_ = false, in_loop_ = false;
  bool streams_ = false;  // the function at hand
};

}  // namespace headrace::cpu
