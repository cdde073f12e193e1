#include "backends/interpreter/interpreter.h"
#include "ir/plugin.h"

HEADRACE_TIER2_PLUGIN("interpreter", headrace::interpreter::RegisterInterpreter)
