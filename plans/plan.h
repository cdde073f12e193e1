// A plan: what is compiled otherwise than the compiler would have it by itself, as text that people read, edit and give back
// (docs/tuning.md). It decides how fast a program is, not what it computes.
//
//   # lines of comments before all others are kept, and so is the comment behind a kernel
//   without assign-layouts                                  a pass that is left out
//   implementation onnx.Conv = onednn                       as --impl: of an op, a node by its name, or * for all that have it
//   threads 1                                               where nothing else says how many
//   kernel 3f2a9c1be0d47788: tile-rows 8, block-depth 128   # /3/Conv
//
// A kernel's numbers are of a device description: the kernel is scheduled as if the device had these.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "ir/graph/graph.h"

namespace headrace {

struct Plan {
  using Numbers = std::vector<std::pair<std::string, int64_t>>;
  struct Kernel {
    std::string key;      // KernelKey of it
    Numbers numbers;      // each once; names are known to what schedules, not here
    std::string comment;  // what it is, for people
  };
  std::string comment;  // lines, each ends with a newline
  std::vector<std::string> without;
  std::vector<std::pair<std::string, std::string>> implementations;  // (op, node or "*", name)
  int threads = 0;                                                   // 0 = not said
  std::vector<Kernel> kernels;

  bool empty() const { return without.empty() && implementations.empty() && threads == 0 && kernels.empty(); }
  const Kernel* Find(const std::string& key) const;  // null: the kernel is scheduled as ever
};

// Errors: E0385, with their line; they call the text `file`.
Result<Plan> ParsePlan(const std::string& text, const std::string& file = "<plan>");
std::string Print(const Plan& p);  // ParsePlan gives the same plan again

// Tells kernels that have no schedule yet apart, from program to program: 16 hexadecimal digits of their text without names and origins.
std::string KernelKey(const Sdfg& kernel);

}  // namespace headrace
