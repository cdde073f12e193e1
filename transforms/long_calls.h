// Calls that take as long as many additions.
#pragma once
#include "ir/expr/expr.h"

namespace headrace::transforms {

bool TakesLong(const Expr& e);  // the call itself, not its arguments

}  // namespace headrace::transforms
