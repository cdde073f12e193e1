// The most bytes this machine moves between memory and cores.
#pragma once

#include <cstdint>

namespace headrace::benchmarks {

// Bytes per second of c[i] = a[i] + s * b[i] over three arrays of `bytes` each on `threads` threads, best of several tries
// and of plain and non-temporal stores: what is read and written counts, what a plain store reads first does not.
double TriadBandwidth(int threads, int64_t bytes);

}  // namespace headrace::benchmarks
