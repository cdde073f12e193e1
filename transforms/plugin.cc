// Registers every pass and pipeline of this room: the one place that lists them.
#include "ir/plugin.h"
#include "transforms/passes.h"

namespace headrace {
namespace {

Status RegisterTransforms(Registry& r) { return transforms::RegisterAll(r); }

}  // namespace
}  // namespace headrace

HEADRACE_TIER2_PLUGIN("transforms", headrace::RegisterTransforms)
