#include "benchmarks/machine/dot_peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headrace::benchmarks {

#if defined(__x86_64__)
namespace {

constexpr int kSums = 16;  // more than latency times units of any core
constexpr int64_t kRounds = 4'000'000;

__attribute__((target("avx512f,avx512bf16"), noinline)) float Pairs(int64_t rounds) {
  __m512 s[kSums];
  for (int i = 0; i < kSums; ++i) s[i] = _mm512_set1_ps(static_cast<float>(i));
  const auto one = (__m512bh)_mm512_set1_epi32(0x3c003c00), other = (__m512bh)_mm512_set1_epi32(0x3a003a00);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) s[i] = _mm512_dpbf16_ps(s[i], one, other);
  }
  for (int i = 1; i < kSums; ++i) s[0] = _mm512_add_ps(s[0], s[i]);
  return _mm512_cvtss_f32(s[0]);
}

__attribute__((target("avx512f,avx512vnni"), noinline)) float Fours(int64_t rounds) {
  __m512i s[kSums];
  for (int i = 0; i < kSums; ++i) s[i] = _mm512_set1_epi32(i);
  __m512i one = _mm512_set1_epi32(0x01020301), other = _mm512_set1_epi32(0x02ff01fe);
  for (int64_t r = 0; r < rounds; ++r) {
    asm volatile("" : "+v"(one), "+v"(other));  // else the sums of all rounds are computed at once
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) s[i] = _mm512_dpbusd_epi32(s[i], one, other);
  }
  for (int i = 1; i < kSums; ++i) s[0] = _mm512_add_epi32(s[0], s[i]);
  return static_cast<float>(_mm512_cvtsi512_si32(s[0]));
}

// Of steps that multiply `terms` pairs of numbers each.
double Peak(float (*run)(int64_t), int terms, int threads) {
  double best = 0;
  volatile float keep = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back([&] { keep = run(kRounds); });
    keep = run(kRounds);
    for (std::thread& t : others) t.join();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * terms * kSums * static_cast<double>(kRounds) * threads / seconds);
  }
  return best;
}

}  // namespace

double Bf16Peak(int threads) { return __builtin_cpu_supports("avx512bf16") ? Peak(Pairs, 32, threads) : 0; }
double Int8Peak(int threads) { return __builtin_cpu_supports("avx512vnni") ? Peak(Fours, 64, threads) : 0; }
#else
double Bf16Peak(int) { return 0; }
double Int8Peak(int) { return 0; }
#endif

}  // namespace headrace::benchmarks
