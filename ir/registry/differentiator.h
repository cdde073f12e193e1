// Reverse mode as a service: whoever wants gradients of a program asks the registry for a differentiator, and gets programs and
// what was decided as values. docs/autodiff.md says what the one of this workspace can do.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "ir/graph/graph.h"

namespace headrace {

class Registry;

enum class Keep { kSolve, kStoreAll, kRecomputeAll };

struct GradientOptions {
  // Outputs whose gradient the caller passes in (parameter `grad_NAME`). The others get ones (their sum is differentiated).
  std::vector<Name> given_gradients;
  bool all_given = false;  // every output's gradient is passed in
  // Combined program: the forward outputs stay outputs. False: only gradients are asked for and the dead forward goes.
  bool keep_outputs = true;
  // Two programs: the forward one gives what the backward one needs as extra outputs.
  bool separate = false;
  bool fuse = true;  // elementwise operators are expanded and fused before they are differentiated
  Keep keep = Keep::kSolve;
  std::optional<int64_t>
      memory_limit;  // bytes of tape and workspace, without parameters, inputs, outputs and gradients
  std::vector<Name> store, recompute;  // arrays whose fate the caller decides, whatever `keep` says of the others
  std::vector<std::pair<Name, int64_t>> sizes;  // values of symbols that the planner may assume when it weighs bytes
};

// What was kept and why, for people.
struct GradientReport {
  struct Item {
    Name container;
    std::string why;
    int64_t bytes = 0;
    bool recomputed = false;
  };
  std::vector<Item> items;
  int64_t predicted_peak = 0;  // bytes; 0 when sizes are unknown
  int64_t minimum_peak = 0;
  double recompute_work = 0;  // extra work relative to the forward, as the planner counts it
  std::string solver;         // "none needed", "HiGHS: optimal, 12 nodes", …
};

struct BackwardPrograms {
  Program program;                                     // combined, or the backward one when `separate`
  Program forward;                                     // only when `separate`
  std::vector<std::pair<Name, Name>> input_gradients;  // input → parameter that receives its gradient
  std::vector<std::pair<Name, Name>>
      output_gradients;    // output → parameter that its gradient is passed in; implicit ones are left out
  std::vector<Name> kept;  // separate: outputs of `forward` that `program` takes
  GradientReport report;
};

struct Differentiator {
  std::string name;  // "reverse"
  // d(Σ outputs·their gradients) / d inputs of the entry SDFG.
  std::function<Result<BackwardPrograms>(const Program&, const std::vector<Name>& outputs, const std::vector<Name>& inputs,
                                         const GradientOptions&, const Registry&)>
      differentiate;
  std::string plugin;
};

// By the registry's differentiator; an error where no plugin brings one.
Result<BackwardPrograms> Differentiate(const Program& p, const std::vector<Name>& outputs, const std::vector<Name>& inputs,
                                       const GradientOptions& o, const Registry& r);

}  // namespace headrace
