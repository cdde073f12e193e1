// A kernel as a C++ function over pointers and sizes.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/cpu/loops.h"
#include "ir/graph/graph.h"

namespace headrace::cpu {

// With its names made canonical: kernels equal up to names have equal text.
struct Kernel {
  std::string text;            // "$K" stands for the kernel's name
  std::string parameters;      // "hr_x* x, const float* p0, …"
  std::vector<Name> pointers;  // arguments: containers, then symbols
  std::vector<Name> symbols;
  bool may_fail = false;  // can report an error
};

struct KernelOptions {
  bool restrict_pointers = true;  // false where callers may pass overlapping containers
};

// What a body takes from around it: a function of its own has parameters for it.
struct Taken {
  std::string formals, actuals;  // "int64_t i0, const float* __restrict p1", "i0, p1"
};

// Names in a kernel: containers are p0, p1 …, sizes n0, n1 …, map indices i0, i1 …, private containers r0, r1 ….
class KernelEnv : public LoopEnv {
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
  // From the one to the other: which indices, sizes, pointers and buffers of workers a body uses that are older than it. Registers
  // are not among them: they are the variables that they are. Bodies may lie in each other.
  void BeginTaking(const std::set<Name>& written, const KernelOptions& o);
  Taken EndTaking();
  // Of the function: all that was named so far, or the names alone, for a call with the same arguments.
  std::string Parameters(const std::set<Name>& written, const KernelOptions& o) const;
  std::string Arguments() const;
  std::vector<Name> pointers, symbols;
  bool may_fail = false;

 private:
  std::string PointerType(Name base, bool written, const KernelOptions& o) const;
  void Take(const std::string& name, const std::string& type);

  const Sdfg& s_;
  std::map<Name, std::string> pointer_, symbol_, indices_, registers_;
  int next_index_ = 0;
  struct Taking {
    std::set<Name> written;
    KernelOptions options;
    std::set<std::string> known;  // that were taken, or begin within
    Taken taken;
  };
  std::vector<Taking> taking_;  // by bodies, from the outermost in
};

// The bases of what the statements write.
std::set<Name> WrittenBy(const Sdfg& s, const std::vector<NodeId>& statements);

}  // namespace headrace::cpu
