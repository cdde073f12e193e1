// Calls that take as long as many additions, and expressions that are many additions.
#pragma once
#include "ir/expr/expr.h"

namespace headrace::transforms {

bool TakesLong(const Expr& e);  // the call itself, not its arguments
bool HasManySteps(const Expr& e);  // all of it: reading what it gave is cheaper

}  // namespace headrace::transforms
