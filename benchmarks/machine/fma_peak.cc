#include "benchmarks/machine/fma_peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace headrace::benchmarks {
namespace {

constexpr int kSums = 16;  // more than latency times units of any core
constexpr int64_t kRounds = 4'000'000;

// `kSums` independent chains of `lanes` floats: the compiler keeps them in registers and makes one instruction of each step.
template <int kBytes>
struct Chain {
  typedef float V __attribute__((vector_size(kBytes)));
};

#define FMA_CHAINS(name, features, bytes)                                                                              \
  __attribute__((target(features), optimize("-ffp-contract=fast"), noinline)) double name(int64_t rounds) {            \
    typedef Chain<bytes>::V V;                                                                                         \
    V s[kSums], m, a;                                                                                                  \
    for (int l = 0; l < bytes / 4; ++l) m[l] = 0.999f, a[l] = 1e-3f;                                                   \
    for (int i = 0; i < kSums; ++i) s[i] = a * static_cast<float>(i);                                                  \
    for (int64_t r = 0; r < rounds; ++r) _Pragma("GCC unroll 16") for (int i = 0; i < kSums; ++i) s[i] = s[i] * m + a; \
    float sum = 0;                                                                                                     \
    for (int i = 0; i < kSums; ++i)                                                                                    \
      for (int l = 0; l < bytes / 4; ++l) sum += s[i][l];                                                              \
    return static_cast<double>(sum);                                                                                   \
  }
#if defined(__x86_64__)
FMA_CHAINS(Chains512, "avx512f,fma", 64)
FMA_CHAINS(Chains256, "avx2,fma", 32)
#endif
#if defined(__x86_64__)
FMA_CHAINS(Chains128, "sse2", 16)
#else
FMA_CHAINS(Chains128, "", 16)
#endif

using Run = double (*)(int64_t);

}  // namespace

double FmaPeak(int threads) {
  Run run = Chains128;
  int lanes = 4;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) run = Chains512, lanes = 16;
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) run = Chains256, lanes = 8;
#endif
  double best = 0;
  volatile double keep = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back([&] { keep = run(kRounds); });
    keep = run(kRounds);
    for (std::thread& t : others) t.join();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * lanes * kSums * static_cast<double>(kRounds) * threads / seconds);
  }
  return best;
}

}  // namespace headrace::benchmarks
