// LowerProgram (compile.h) in two parts, for plans that differ in the numbers of kernels alone.
#pragma once
#include "driver/compile.h"

namespace headrace {

// Up to the pass choose-schedule: kernels have no schedule, and keys (plans/plan.h). All of the pipeline where it has no such pass.
Result<Program> LowerToKernels(const Registry& r, Program program, const CompileRequest& request);
// The passes after it, the request's plan being asked about each kernel.
Result<Program> ScheduleKernels(const Registry& r, Program program, const CompileRequest& request);

// That pass alone.
Result<Program> OnlySchedule(const Registry& r, Program kernels, const CompileRequest& request);

}  // namespace headrace
