// Top-level maps and tasklets → kernels: functions over pointers and sizes. The outermost dimensions that write disjoint
// elements are cut into chunks fixed by the shapes and given to parallel_for; the innermost loop runs over unit strides.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/cpu/nest.h"
#include "ir/graph/graph.h"

namespace headrace::cpu {

// A kernel with its names made canonical: kernels equal up to names have equal text.
struct Kernel {
  std::string text;            // "$K" stands for the kernel's name
  std::string parameters;      // "hr_x* x, const float* p0, …"
  std::vector<Name> pointers;  // arguments: containers, then symbols
  std::vector<Name> symbols;
  bool may_fail = false;  // can report an error
};

// True when the statement can be a kernel: no calls inside.
bool IsKernel(const Sdfg& s, NodeId n);

struct KernelOptions {
  bool restrict_pointers = true;  // false where callers may pass overlapping containers
};
// `lowerer` holds the enclosing loops' ranges.
Result<Kernel> GenerateKernel(const Sdfg& s, NodeId n, Lowerer& lowerer, const KernelOptions& o = {});

// Names in a kernel: containers are p0, p1 …, sizes n0, n1 …, map indices i0, i1 …, private containers r0, r1 ….
class KernelEnv : public NestEnv {
 public:
  explicit KernelEnv(const Sdfg& s) : s_(s) {}
  std::string Symbol(Name n) override;
  std::string Pointer(Name base) override;
  std::string Element(Name base, const std::string& index) override;
  std::string Context() override {
    may_fail = true;
    return "x";
  }
  const Assumptions& Known() override { return s_.assumptions; }
  std::string OpenIndex(Name index) override;
  void CloseIndex(Name index) override { indices_.erase(index); }
  void DeclareRegister(const Container& c, Writer& w) override;
  std::string OpenRegister(const Container& c);  // a C++ name for what is declared otherwise: a worker's buffer
  const std::string& Local(Name container) const { return registers_.at(container); }
  std::vector<Name> pointers, symbols;
  bool may_fail = false;

 private:
  const Sdfg& s_;
  std::map<Name, std::string> pointer_, symbol_, indices_, registers_;
  int next_index_ = 0;
};

}  // namespace headrace::cpu
