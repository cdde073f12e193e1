#include "plugins/linalg/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <thread>
#include <vector>

#include "plugins/linalg/cancel.h"

namespace linalg_ops {
namespace {

using Complex = std::complex<double>;

std::vector<Complex> Numbers(int64_t n) {
  std::vector<Complex> x;
  uint32_t state = 1;
  auto next = [&] { return static_cast<double>((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5; };
  for (int64_t t = 0; t < n; ++t) x.emplace_back(next(), next());
  return x;
}

Complex ByDefinition(const std::vector<Complex>& x, int64_t k, bool inverse) {
  const int64_t n = static_cast<int64_t>(x.size());
  std::complex<long double> sum;
  for (int64_t t = 0; t < n; ++t)
    sum += std::complex<long double>(x[t]) *
           std::polar(1.0L, (inverse ? 2 : -2) * std::acos(-1.0L) * static_cast<long double>(k * t % n) / static_cast<long double>(n));
  return Complex(inverse ? sum / static_cast<long double>(n) : sum);
}

// Small factors, powers, primes beyond the largest factor, products of both.
TEST(Fourier, LengthsOfAllKinds) {
  for (int64_t n : {1, 2, 3, 4, 7, 12, 29, 31, 64, 97, 360, 437, 1009, 2048, 4 * 1021})
    for (bool inverse : {false, true}) {
      const std::vector<Complex> x = Numbers(2 * n);
      std::vector<Complex> y(x.size());
      FourierTransforms(false, 2, n, inverse, x.data(), y.data());
      for (int64_t row : {0, 1}) {
        const std::vector<Complex> one(x.begin() + row * n, x.begin() + (row + 1) * n);
        for (int64_t k = 0; k < n; k += std::max<int64_t>(1, n / 37))
          EXPECT_LT(std::abs(y[row * n + k] - ByDefinition(one, k, inverse)), 1e-14 * std::sqrt(n) * 8) << n << " " << k << inverse;
      }
    }
}

// Beyond what is one transform of the library: cut into powers of two, into 3 · 5 · 29, into a convolution.
TEST(Fourier, LongLengths) {
  for (int64_t n : {int64_t{1} << 19, int64_t{3 * 5 * 29} << 10, int64_t{29 * 29 * 29 * 23}, int64_t{300007}})
    for (bool inverse : {false, true}) {
      const std::vector<Complex> x = Numbers(n);
      std::vector<Complex> y(x.size());
      FourierTransforms(false, 1, n, inverse, x.data(), y.data());
      for (int64_t k = 1; k < n; k = 37 * k + 5)
        EXPECT_LT(std::abs(y[k] - ByDefinition(x, k, inverse)), 1e-14 * std::sqrt(n) * 8) << n << " " << k << inverse;
    }
}

TEST(Fourier, ACancelledRunEnds) {
  static int asks;
  hr_call call = {};
  call.struct_size = sizeof call;
  call.cancelled = [](hr_call*) -> int32_t { return --asks < 0; };
  for (int64_t n : {int64_t{1} << 20, int64_t{300007}}) {
    const std::vector<Complex> x = Numbers(n);
    std::vector<Complex> y(x.size()), again(x.size());
    int ended = 0;
    for (int most = 0; ended == most; ++most) {
      const Cancellable cancellable(&call);
      asks = most;
      try {
        FourierTransforms(false, 1, n, false, x.data(), y.data());
      } catch (const RunCancelled&) {
        ++ended;
      }
    }
    EXPECT_GT(ended, 4);
    FourierTransforms(false, 1, n, false, x.data(), again.data());  // nobody is asked, and no plan is half made
    EXPECT_EQ(y, again);
  }
}

TEST(Fourier, SingleNumbersAreAsExactAsTheyCanBe) {
  const int64_t n = 1000;
  const std::vector<Complex> x = Numbers(n);
  const std::vector<std::complex<float>> single(x.begin(), x.end());
  std::vector<std::complex<float>> y(n);
  FourierTransforms(true, 1, n, false, single.data(), y.data());
  const std::vector<Complex> rounded(single.begin(), single.end());
  for (int64_t k = 0; k < n; k += 27) EXPECT_LT(std::abs(Complex(y[k]) - ByDefinition(rounded, k, false)), 1e-6 * std::abs(y[k]) + 1e-9);
}

TEST(Fourier, Nothing) { FourierTransforms(false, 0, 0, false, nullptr, nullptr); }

TEST(Fourier, ThreadsHavePlansOfTheirOwn) {
  const int64_t n = 1009;  // with work arrays in the plan
  const std::vector<Complex> x = Numbers(n);
  std::vector<Complex> expected(n);
  FourierTransforms(false, 1, n, false, x.data(), expected.data());
  std::vector<std::vector<Complex>> y(4, std::vector<Complex>(n));
  std::vector<std::thread> threads;
  for (auto& out : y)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) FourierTransforms(false, 1, n, false, x.data(), out.data());
    });
  for (std::thread& t : threads) t.join();
  for (const auto& out : y) EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace linalg_ops
