// A call's node as C text, for whoever loads the program and prepares the call's state from it.
#pragma once
#include <string>

#include "ir/registry/registry.h"

namespace headrace::cpu {

// Defines `prepared_NUMBER` and `prepared_NUMBER_constants`; `constant_of` gives the program's number of a container, or -1.
std::string PreparedNode(const NodeView& v, int number, const std::function<int(Name)>& constant_of);

}  // namespace headrace::cpu
