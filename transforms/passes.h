// The passes of this room by name, as the plugin registers them; unit tests register them without loading it.
#pragma once
#include "ir/registry/registry.h"

namespace headrace::transforms {

Status RegisterAll(Registry& r);

struct PipelineText {
  const char* name;
  const char* text;
};
extern const PipelineText kPipelines[];  // generated from pipelines/*.txt
extern const int kPipelineCount;

}  // namespace headrace::transforms
