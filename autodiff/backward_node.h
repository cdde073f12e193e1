// A program may ask for gradients itself, by a library node:
//
//   L = 0
//   map i in 0:N { L += X[i] * X[i] }
//   autodiff.Backward(outputs = L, inputs = X) -> (gradients = DX)
//
// gives DX = dL/dX of what stands before the node; `outputs` and `inputs` repeat, `output_gradients` (one per output) replaces
// the ones that outputs start with. An input may be a value that the program computes. Nodes that write the same container
// accumulate in it, in the order of the text. The pass "expand-gradients" (expand-library-nodes runs it) puts the gradient
// program in its place, as a call.
#pragma once
#include "ir/registry/registry.h"

namespace headrace::autodiff {

Result<bool> ExpandBackwardNodes(Program& p, const Registry& r);
Status RegisterBackwardNode(Registry& r);  // signature and pass

}  // namespace headrace::autodiff
