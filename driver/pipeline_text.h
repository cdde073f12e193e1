// A pipeline's text in pieces, to leave passes out or give them options before it is run.
#pragma once
#include <string>
#include <vector>

#include "ir/registry/registry.h"

namespace headrace {

struct PipelineStep {
  std::string name, text;  // text: with place and options, "choose-schedule{device=host}"
};
// The steps, pipelines among them replaced by theirs. What is wrong in a step stays: running it says so.
std::vector<PipelineStep> StepsOf(const Registry& r, const std::string& pipeline);
// The step's text with one more option. The value has no quotation marks.
std::string WithOption(const PipelineStep& step, const std::string& name, const std::string& value);

}  // namespace headrace
