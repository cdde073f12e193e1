// The most bf16 multiply-adds this machine does by vectors.
#pragma once

namespace headrace::benchmarks {

// Operations per second (a multiply-add is two) of `vdpbf16ps` on `threads` threads, best of several tries; 0 where the
// processor has no such instruction. Matrix units (AMX) are not measured.
double Bf16Peak(int threads);

}  // namespace headrace::benchmarks
