// The most multiply-adds this machine does: vectors in registers, no memory.
#pragma once

namespace headrace::benchmarks {

// f32 operations per second (a multiply-add is two) on `threads` threads at once, best of several tries.
double FmaPeak(int threads);

}  // namespace headrace::benchmarks
