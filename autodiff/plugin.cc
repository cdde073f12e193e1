// Registers what this room brings.
#include "autodiff/backward_node.h"
#include "autodiff/library_rules.h"
#include "autodiff/normalize.h"
#include "autodiff/statement_rules.h"
#include "ir/plugin.h"

namespace headrace {
namespace autodiff {
Status RegisterBackwardPass(Registry& r);  // backward_pass.cc
}
namespace {

Status RegisterAutodiff(Registry& r) {
  HR_RETURN_IF_ERROR(autodiff::RegisterLibraryGradients(r));
  HR_RETURN_IF_ERROR(autodiff::RegisterBackwardPass(r));
  HR_RETURN_IF_ERROR(autodiff::RegisterBackwardNode(r));
  HR_RETURN_IF_ERROR(autodiff::RegisterStatementNodes(r));
  return autodiff::RegisterNormalization(r);
}

}  // namespace
}  // namespace headrace

HEADRACE_TIER2_PLUGIN("autodiff", headrace::RegisterAutodiff)
