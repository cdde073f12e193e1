// Changes of a program that its user asks for.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ir/registry.h"

namespace headrace::python {

// Library nodes of the entry that compute what the only state of `pattern` computes become calls of `replacement`, whose
// parameters are the pattern's. How many there were.
Result<int> Replace(const Registry& r, const Program& pattern, const Program& replacement, Program* p);

// Outputs that the caller no longer gets.
Status ParameterToTransient(const std::vector<Name>& names, Program* p);

// An input's value becomes part of the program.
Status InputToConstant(Name name, Tensor value, Program* p);

// Library nodes of constants become constants, computed by the interpreter; those of more than `max_bytes` are left.
Result<int> FoldConstants(const Registry& r, int64_t max_bytes, Program* p);

}  // namespace headrace::python
