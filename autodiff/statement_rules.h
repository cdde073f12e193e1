// Backward rules by kind of statement: those registered for "node.map", "node.tasklet" and "node.call". Before a program is
// brought into its normal form, each statement at state level that such a rule says it can be applied to becomes a library node
// (statement_node.h), calls first, and maps and tasklets when the other calls have been inlined, so that its gradient is found,
// kept and recomputed as that of any op; afterwards it is the statement again.
//
// Where no such rule is registered nothing is looked at.
#pragma once
#include "ir/registry/registry.h"

namespace headrace::autodiff {

// True if there is such a node now. An error where a rule can be applied to what can't be a node: it is never passed over.
Result<bool> StatementsToNodes(Program* p, const Registry& r);
Status NodesToStatements(Program* p, const Registry& r);

// While one lives, gradients made in this thread are those of the statements themselves: what a rule asks for while it is made,
// and the derivatives of bodies and pure forms.
class OrdinaryDerivatives {
 public:
  OrdinaryDerivatives();
  ~OrdinaryDerivatives();
  OrdinaryDerivatives(const OrdinaryDerivatives&) = delete;
  OrdinaryDerivatives& operator=(const OrdinaryDerivatives&) = delete;
  static bool Now();
};

// The meaning of the nodes.
Status RegisterStatementNodes(Registry& r);

}  // namespace headrace::autodiff
