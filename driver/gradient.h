// The pass `backward` as a function: a program with gradients and what the pass says it did.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/registry.h"
#include "nlohmann/json.hpp"

namespace headrace {

struct GradientRequest {
  std::vector<Name> outputs, inputs;
  std::vector<Name> given;  // outputs whose gradient is passed in; that of the others is one
  bool keep_outputs = false;
  std::vector<std::pair<Name, int64_t>> sizes;  // values of symbols that the planner may assume
  std::optional<int64_t> memory_limit;          // bytes of tape and workspace
};

struct GradientProgram {
  Program program;
  std::vector<std::pair<Name, Name>> input_gradients;   // input → output parameter that holds its gradient
  std::vector<std::pair<Name, Name>> output_gradients;  // given output → parameter that takes its gradient
  nlohmann::json report;                                // as the pass writes it (docs/autodiff.md)
};

// Needs the plugin that brings the pass.
Result<GradientProgram> Differentiate(const Program& p, const GradientRequest& q, const Registry& r);

}  // namespace headrace
