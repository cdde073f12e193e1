// The parts of the runtime behind hr_runtime_api.
#pragma once
#include "runtime/headrace_runtime.h"

namespace headrace::runtime {

int32_t MaxThreads();
void ParallelFor(int64_t chunks, hr_chunk_fn fn, void* ctx, int32_t threads);
void* ArenaNew(int64_t bytes);
void ArenaDelete(void* memory, int64_t bytes);
int32_t GuardedCall(hr_function fn, hr_call* c);

}  // namespace headrace::runtime
