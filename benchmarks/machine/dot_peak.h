// The most multiply-adds of small numbers this machine does by vectors.
#pragma once

namespace headrace::benchmarks {

// Operations per second (a multiply-add is two) on `threads` threads, best of several tries, of `vdpbf16ps` and `vpdpbusd`; 0 where
// the processor has no such instruction. Matrix units (AMX) are not measured.
double Bf16Peak(int threads);
double Int8Peak(int threads);

}  // namespace headrace::benchmarks
