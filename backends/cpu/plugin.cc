#include "backends/cpu/executable.h"
#include "ir/plugin.h"

HEADRACE_TIER2_PLUGIN("cpu", headrace::cpu::RegisterCpu)
