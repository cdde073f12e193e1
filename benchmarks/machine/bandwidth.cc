#include "benchmarks/machine/bandwidth.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace headrace::benchmarks {
namespace {

constexpr int kTries = 4;

void Plain(const float* a, const float* b, float* c, int64_t n) {
  for (int64_t i = 0; i < n; ++i) c[i] = a[i] + 0.5F * b[i];
}

#if defined(__x86_64__)
// Arrays and sizes are multiples of a cache line.
void NonTemporal(const float* a, const float* b, float* c, int64_t n) {
  const __m128 s = _mm_set1_ps(0.5F);
  for (int64_t i = 0; i < n; i += 4) _mm_stream_ps(c + i, _mm_add_ps(_mm_load_ps(a + i), _mm_mul_ps(s, _mm_load_ps(b + i))));
  _mm_sfence();
}
#else
constexpr auto NonTemporal = Plain;
#endif

}  // namespace

double TriadBandwidth(int threads, int64_t bytes) {
  const int64_t part = bytes / 4 / threads / 16 * 16, n = part * threads;
  std::vector<float> memory(static_cast<size_t>(3 * n + 16));
  auto aligned = (reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64;
  float* const a = reinterpret_cast<float*>(aligned);
  double best = 0;
  for (int attempt = 0; attempt < 2 * kTries; ++attempt) {
    const auto run = attempt % 2 == 0 ? Plain : NonTemporal;
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) {
      others.emplace_back([=] { run(a + t * part, a + n + t * part, a + 2 * n + t * part, part); });
    }
    run(a, a + n, a + 2 * n, part);
    for (std::thread& t : others) t.join();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (attempt >= 2) best = std::max(best, 12.0 * static_cast<double>(n) / seconds);
  }
  return best;
}

}  // namespace headrace::benchmarks
