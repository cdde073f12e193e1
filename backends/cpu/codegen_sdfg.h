// One SDFG → a frame struct and functions over it; control flow, calls and memory.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backends/cpu/code_style.h"
#include "backends/cpu/kernel.h"
#include "ir/analysis/lifetimes.h"
#include "ir/registry/registry.h"

namespace headrace::cpu {

// An SDFG and one of its containers, in whichever order.
using Place = std::pair<Name, Name>;
struct PlaceOrder {
  bool operator()(const Place& a, const Place& b) const {
    return a.first.id() != b.first.id() ? a.first.id() < b.first.id() : a.second.id() < b.second.id();
  }
};

// What functions of the whole program share.
struct ProgramNames {
  const Program* program = nullptr;
  const Registry* registry = nullptr;
  std::map<Name, std::string> function;          // SDFG → identifier
  std::vector<Place> constants;  // in order of the constant table
  std::map<Place, int, PlaceOrder> constant_index;
  std::vector<Place> persistent;
  std::map<Place, int, PlaceOrder> persistent_index;
  std::vector<std::string> externals;
  std::vector<std::string>
      external_attributes;  // of each: C text of its attributes where it makes a state of them, else ""
  std::vector<std::string> prepared;  // of each: C text that makes `prepared_N` of its node, where it prepares a state, else ""
  std::map<std::string, int> external_index;
  // Kernel text → name; new kernels are appended to `kernels`.
  std::map<std::string, std::string> kernel_of;
  struct KernelCode {
    std::string name, parameters, text;
    bool scheduled = false;  // its loops stand in the program; else they were made here
    CodeKind kind = CodeKind::kLoops;
  };
  std::vector<KernelCode> kernels;
  struct NamedKernel {
    std::string name;
    Kernel kernel;  // without its text
  };
  std::map<Name, NamedKernel> kernel_named;  // by the kernel's SDFG
  std::map<Name, std::vector<Origin>> sites;  // SDFG → where its statements came from (codegen_sites.cc)
  std::set<Name> may_alias;  // SDFGs that some call gives overlapping arguments
};

// Identifiers of a frame's fields.
class FieldNames {
 public:
  std::string Of(Name n, const std::string& kind);  // kind tells a symbol from a container of that name
 private:
  std::unordered_map<Name, std::vector<std::pair<std::string, std::string>>> of_;  // kind and field
  std::unordered_set<std::string> taken_;
};
// The frame's parameters and symbols with their fields, in the one order both the callee and its callers use.
std::vector<std::pair<Name, std::string>> FrameFieldList(const Sdfg& s, FieldNames* fields);
std::unordered_map<Name, std::string> FrameFields(const Sdfg& s, FieldNames* fields);

// A kernel that is called with pointers and sizes, without a frame (codegen_kernel.cc).
bool IsOneFunction(const Sdfg& s);
Status CheckKernel(const Program& p, const Sdfg& kernel);

struct SdfgCode {
  std::string frame;                   // struct definition
  std::string declarations;            // prototypes of `functions`
  std::vector<std::string> functions;  // text, each compilable on its own after frames and prototypes
};
Result<SdfgCode> GenerateSdfg(ProgramNames& names, const Sdfg& s);

}  // namespace headrace::cpu
