// The backend "interpreter": reference semantics on the IR.
#pragma once
#include <memory>

#include "ir/registry/registry.h"

namespace headrace::interpreter {

Result<std::unique_ptr<Executable>> CompileProgram(const Program& p, const CompileOptions& o, const Registry& r);
Status RegisterInterpreter(Registry& r);

}  // namespace headrace::interpreter
