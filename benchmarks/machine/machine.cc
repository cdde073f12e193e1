// What benchmarks/peers/machine.py calls by ctypes.
#include <cstdint>

#include "benchmarks/machine/bandwidth.h"
#include "benchmarks/machine/dot_peak.h"
#include "benchmarks/machine/fma_peak.h"

#define MACHINE_API extern "C" __attribute__((visibility("default")))

MACHINE_API double machine_f32_peak(int threads) { return headrace::benchmarks::FmaPeak(threads); }
MACHINE_API double machine_bf16_peak(int threads) { return headrace::benchmarks::Bf16Peak(threads); }
MACHINE_API double machine_int8_peak(int threads) { return headrace::benchmarks::Int8Peak(threads); }
MACHINE_API double machine_bandwidth(int threads, int64_t bytes) {
  return headrace::benchmarks::TriadBandwidth(threads, bytes);
}
