// A scheduled kernel as C++. Nothing is decided here: loops, parts, lanes, partial results and their order stand in the
// kernel's text, which the verifier has shown to stay within its containers.
#pragma once
#include "backends/cpu/kernel.h"

namespace headrace::cpu {

// Errors: E0694, naming the statement and the pass that should have run.
Result<Kernel> PrintKernel(const Sdfg& kernel, const KernelOptions& o = {});

}  // namespace headrace::cpu
