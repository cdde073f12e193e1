// What numpy's broadcasting makes of two sizes.
#pragma once
#include "ir/expr/expr.h"

namespace headrace {

// The size that a dimension of `a` and one of `b` elements broadcast to: the other where one of them is 1. Where only the run
// shows which: max(a, b) * min(a, b, 1), which is right for all sizes that broadcast, 1 against 0 among them.
Expr BroadcastSize(const Expr& a, const Expr& b, const Assumptions& as = {});

}  // namespace headrace
