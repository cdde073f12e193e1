// Registers what this room brings.
#include "autodiff/library_rules.h"
#include "ir/plugin.h"

namespace headrace {
namespace {

Status RegisterAutodiff(Registry& r) { return autodiff::RegisterLibraryGradients(r); }

}  // namespace
}  // namespace headrace

HEADRACE_TIER2_PLUGIN("autodiff", headrace::RegisterAutodiff)
