// The two builds of the solvers and factors agree, and what they give is what it is called.
#include "plugins/linalg/dense.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <complex>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "plugins/api/headrace_plugin.h"
#include "plugins/linalg/cancel.h"

namespace linalg_ops {
namespace {

using Numbers = std::vector<double>;

Numbers Random(int64_t n) {
  std::mt19937_64 random(7);
  Numbers a(static_cast<size_t>(n));
  for (double& x : a) x = static_cast<double>(random() % 2001) / 1000 - 1;
  return a;
}

Numbers Product(int64_t m, int64_t k, int64_t n, const Numbers& a, const Numbers& b) {
  Numbers c(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t t = 0; t < k; ++t) c[i * n + j] += a[i * k + t] * b[t * n + j];
  return c;
}

void Near(const Numbers& a, const Numbers& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-10) << i;
}

enum class Build { kPlain, kFast, kWide };

class Builds : public testing::TestWithParam<Build> {
 protected:
  void SetUp() override {
    const bool fast = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool wide = fast && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512bw");
    if (GetParam() == Build::kFast && !fast) GTEST_SKIP() << "this processor has no AVX2 or no FMA";
    if (GetParam() == Build::kWide && !wide) GTEST_SKIP() << "this processor has no AVX-512";
  }
  Dense solvers() const { return GetParam() == Build::kWide ? wide::Solvers() : GetParam() == Build::kFast ? fast::Solvers() : plain::Solvers(); }
  Dense factors() const { return GetParam() == Build::kWide ? wide::Factors() : GetParam() == Build::kFast ? fast::Factors() : plain::Factors(); }
};
INSTANTIATE_TEST_SUITE_P(Dense, Builds, testing::Values(Build::kPlain, Build::kFast, Build::kWide));

TEST_P(Builds, SolveDeterminantAndCholesky) {
  const int64_t n = 13;
  const Numbers a = Random(n * n), x = Random(n * 2);
  Numbers found(x.size()), d(1), sign(1), logarithm(1), l(a.size());
  solvers().solve(HR_F64, n, 2, a.data(), Product(n, n, 2, a, x).data(), found.data());
  Near(found, x);
  solvers().determinant(HR_F64, n, a.data(), d.data());
  factors().log_determinant(HR_F64, n, a.data(), sign.data(), logarithm.data());
  EXPECT_NEAR(sign[0] * std::exp(logarithm[0]) / d[0], 1, 1e-12);
  Numbers turned(a.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) turned[i * n + j] = a[j * n + i];
  Numbers square = Product(n, n, n, a, turned);
  for (int64_t i = 0; i < n; ++i) square[i * n + i] += 1;
  solvers().cholesky(HR_F64, n, square.data(), l.data());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) turned[i * n + j] = l[j * n + i];
  Near(Product(n, n, n, l, turned), square);
}

TEST_P(Builds, Factors) {
  const int64_t m = 9, n = 6;
  const Numbers a = Random(m * n);
  Numbers u(m * n), s(n), vh(n * n), q(m * n), r(n * n), p(n * m);
  factors().singular(HR_F64, m, n, false, a.data(), u.data(), s.data(), vh.data());
  Numbers scaled = u;
  for (int64_t i = 0; i < m * n; ++i) scaled[i] *= s[i % n];
  Near(Product(m, n, n, scaled, vh), a);
  factors().orthogonal(HR_F64, m, n, false, a.data(), q.data(), r.data());
  Near(Product(m, n, n, q, r), a);
  factors().pseudo_inverse(HR_F64, m, n, -1, a.data(), p.data());
  Near(Product(m, m, n, Product(m, n, m, a, p), a), a);
  Numbers symmetric(n * n), w(n), v(n * n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) symmetric[i * n + j] = a[i * n + j] + a[j * n + i];
  factors().eigen(HR_F64, n, symmetric.data(), w.data(), v.data());
  Numbers stretched = v;
  for (int64_t i = 0; i < n * n; ++i) stretched[i] *= w[i % n];
  Near(Product(n, n, n, symmetric, v), stretched);
}

// Every function ends by RunCancelled at whichever question it is told so, and is right if it is never told.
TEST_P(Builds, ACancelledRunEnds) {
  static int asks;
  hr_call call = {};
  call.struct_size = sizeof call;
  call.cancelled = [](hr_call*) -> int32_t { return --asks < 0; };
  const int64_t n = 40;
  const Numbers a = Random(n * n);
  Numbers positive(n * n), u(n * n), s(n), v(n * n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) positive[i * n + j] = (i == j ? n : 0) + a[i * n + j] + a[j * n + i];
  const Dense d = solvers(), f = factors();
  const std::function<void()> all[] = {
      [&] { d.solve(HR_F64, n, n, a.data(), positive.data(), u.data()); },
      [&] { d.determinant(HR_F64, n, a.data(), s.data()); },
      [&] { d.cholesky(HR_F64, n, positive.data(), u.data()); },
      [&] { f.log_determinant(HR_F64, n, a.data(), s.data(), v.data()); },
      [&] { f.eigen(HR_F64, n, positive.data(), s.data(), v.data()); },
      [&] { f.singular(HR_F64, n, n, false, a.data(), u.data(), s.data(), v.data()); },
      [&] { f.orthogonal(HR_F64, n, n, true, a.data(), u.data(), v.data()); },
      [&] { f.pseudo_inverse(HR_F64, n, n, -1, a.data(), u.data()); },
  };
  for (const auto& function : all) {
    int rounds = 0;
    bool ended = true;
    for (int most = 0; ended; most += 1 + most / 40, ++rounds) {
      const Cancellable cancellable(&call);
      asks = most;
      ended = false;
      try {
        function();
      } catch (const RunCancelled&) {
        ended = true;
      }
    }
    EXPECT_GT(rounds, 10);
  }
  Near(Product(n, n, n, a, u), Product(n, n, n, u, a));  // the inverse, after all
}

// On the host's threads, where it gives some: the same bits.
TEST_P(Builds, OnThreads) {
  const int64_t n = 300;
  const Numbers a = Random(n * n);
  Numbers upper = a, found[2][3];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) upper[i * n + j] = i == j ? static_cast<double>(n) : 0;
  static std::atomic<int> chunks;
  chunks = 0;
  for (const bool threads : {false, true}) {
    hr_call call = {};
    call.struct_size = sizeof call;
    if (threads)
      call.parallel_for = [](int64_t count, hr_chunk_fn fn, void* ctx, int32_t) {
        std::vector<std::thread> workers;
        for (int64_t c = 0; c < count; ++c) workers.emplace_back([=] { fn(ctx, c); });
        for (std::thread& t : workers) t.join();
        chunks += static_cast<int>(count);
      };
    const Cancellable cancellable(&call);
    Numbers* const to = found[threads];
    for (int k = 0; k < 3; ++k) to[k].resize(n * n);
    solvers().solve(HR_F64, n, n, a.data(), upper.data(), to[0].data());
    solvers().solve(HR_F64, n, n, upper.data(), a.data(), to[1].data());
    solvers().determinant(HR_F64, n, a.data(), to[2].data());
  }
  for (int k = 0; k < 3; ++k) EXPECT_EQ(found[0][k], found[1][k]) << k;
  EXPECT_GT(chunks, 10);
  Near(Product(n, n, n, upper, found[1][1]), a);
}

TEST_P(Builds, ComplexNumbers) {
  using C = std::complex<double>;
  const C a[4] = {{1, 2}, {0, 1}, {3, 0}, {1, -1}}, b[2] = {{1, 0}, {0, 2}};
  C x[2];
  solvers().solve(HR_C128, 2, 1, a, b, x);
  EXPECT_LT(std::abs(a[0] * x[0] + a[1] * x[1] - b[0]), 1e-14);
  EXPECT_LT(std::abs(a[2] * x[0] + a[3] * x[1] - b[1]), 1e-14);
}

}  // namespace
}  // namespace linalg_ops
