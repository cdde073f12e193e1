// Programs as reverse mode writes them: sums into what many iterations meet in, tapes, loops backwards. Against the same sums
// written out by hand; for one thread and two the same bits.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "backends/cpu/testing.h"

namespace headrace::cpu {
namespace {

std::vector<double> Numbers(int64_t n, int64_t seed = 1) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<double>((i * 7919 + seed * 104729) % 2003) / 1001 - 1);
  return v;
}
Tensor F64(std::vector<int64_t> shape, const std::vector<double>& v) { return Make(DType::kF64, std::move(shape), v); }

// Runs with one thread and with two, and checks that the outcome is the same to the bit.
std::vector<Value> RunBoth(const std::string& text, const Arguments& inputs) {
  std::vector<Value> results;
  for (int threads : {1, 2}) {
    Registry r;
    CompileOptions o = TestOptions();
    o.threads = threads;
    auto e = CompileText(text, r, o);
    if (!e) return {};
    for (int again = 0; again < 2; ++again) {
      auto out = e->Run(inputs);
      EXPECT_TRUE(out.ok()) << out.status().ToString();
      if (!out.ok()) return {};
      if (results.empty()) results = *out;
      for (size_t i = 0; i < results.size(); ++i)
        EXPECT_EQ(std::memcmp(results[i].tensor.data->data(), (*out)[i].tensor.data->data(),
                              static_cast<size_t>(results[i].tensor.bytes())),
                  0)
            << "output " << i;
    }
  }
  return results;
}

void ExpectNear(const Value& got, const std::vector<double>& want, double tolerance = 1e-12) {
  const std::vector<double> g = Doubles(got);
  ASSERT_EQ(g.size(), want.size());
  double most = 1;
  for (double w : want) most = std::max(most, std::fabs(w));
  for (size_t i = 0; i < g.size(); ++i) ASSERT_NEAR(g[i], want[i], tolerance * most) << "element " << i;
}

// A broadcast's backward: sums over leading, middle and trailing dimensions, into few elements and into many.
TEST(Adjoint, BroadcastsBecomeSums) {
  const int64_t n = 700, c = 12, h = 40;
  const std::vector<double> dy = Numbers(n * c * h);
  auto out = RunBoth(R"(
    sdfg f(dY: f64[700, 12, 40], A: f64[12, 40], B: f64[12], C: f64[700, 40], D: f64[], E: f64[40]) {
      state {
        map c in 0:12, h in 0:40 { A[c, h] = 0 }
        map n in 0:700, c in 0:12, h in 0:40 { A[c, h] += dY[n, c, h] }
        map c in 0:12 { B[c] = 1 }
        map n in 0:700, c in 0:12, h in 0:40 { B[c] += dY[n, c, h] * 2 }
        map n in 0:700, h in 0:40 { C[n, h] = 0 }
        map n in 0:700, c in 0:12, h in 0:40 { C[n, h] += dY[n, c, h] }
        D[] = 0
        map n in 0:700, c in 0:12, h in 0:40 { D[] += dY[n, c, h] }
        map h in 0:40 { E[h] = 0 }
        map n in 0:700, c in 0:12, h in 0:40 { E[h] += dY[n, c, h] }
      }
    })",
                     {{"dY", F64({n, c, h}, dy)}});
  ASSERT_EQ(out.size(), 5u);
  std::vector<double> a(c * h), b(c, 1), m(n * h), d(1), e(h);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < c; ++j)
      for (int64_t k = 0; k < h; ++k) {
        const double v = dy[static_cast<size_t>((i * c + j) * h + k)];
        a[static_cast<size_t>(j * h + k)] += v, b[static_cast<size_t>(j)] += 2 * v,
            m[static_cast<size_t>(i * h + k)] += v, d[0] += v, e[static_cast<size_t>(k)] += v;
      }
  ExpectNear(out[0], a), ExpectNear(out[1], b, 1e-11), ExpectNear(out[2], m), ExpectNear(out[3], d, 1e-11),
      ExpectNear(out[4], e);
}

// A gather's backward: rows and single elements added where the indices say, many to one.
TEST(Adjoint, GathersBecomeScatteredSums) {
  const int64_t n = 3000, v = 17, d = 300;
  std::vector<int64_t> index;
  for (int64_t i = 0; i < n; ++i) index.push_back(i * i % v);
  const std::vector<double> dy = Numbers(n * d), dz = Numbers(n, 2);
  auto out = RunBoth(R"(
    sdfg f(dY: f64[3000, 300], dZ: f64[N], I: i64[3000], dX: f64[17, 300], dW: f64[17], dT: f64[300, 17]) {
      state {
        map r in 0:17, j in 0:300 { dX[r, j] = 0 }
        map i in 0:3000, j in 0:300 { dX[I[i], j] += dY[i, j] }
        map r in 0:17 { dW[r] = 0 }
        map i in 0:N { dW[I[i]] += 3 * dZ[i] }
        map j in 0:300, r in 0:17 { dT[j, r] = 0 }
        map i in 0:3000, j in 0:300 { dT[j, I[i]] += dY[i, j] }
      }
    })",
                     {{"dY", F64({n, d}, dy)}, {"dZ", F64({n}, dz)}, {"I", I64({n}, index)}});
  ASSERT_EQ(out.size(), 3u);
  std::vector<double> dx(v * d), dw(v), dt(d * v);
  for (int64_t i = 0; i < n; ++i) {
    dw[static_cast<size_t>(index[static_cast<size_t>(i)])] += 3 * dz[static_cast<size_t>(i)];
    for (int64_t j = 0; j < d; ++j) {
      dx[static_cast<size_t>(index[static_cast<size_t>(i)] * d + j)] += dy[static_cast<size_t>(i * d + j)];
      dt[static_cast<size_t>(j * v + index[static_cast<size_t>(i)])] += dy[static_cast<size_t>(i * d + j)];
    }
  }
  ExpectNear(out[0], dx), ExpectNear(out[1], dw), ExpectNear(out[2], dt);
}

TEST(Adjoint, AnIndexOutOfRangeIsReportedOnceForItsRow) {
  Registry r;
  auto e = CompileText(R"(
    sdfg f(X: f32[4, 100], I: i64[3], Y: f32[3, 100], dX: f32[4, 100]) {
      state {
        map i in 0:3, j in 0:100 { Y[i, j] = X[I[i], j] }
        map i in 0:4, j in 0:100 { dX[i, j] = 0 }
        map i in 0:3, j in 0:100 { dX[I[i], j] += Y[i, j] }
      }
    })",
                       r);
  ASSERT_TRUE(e);
  auto out = e->Run({{"X", F32({4, 100}, Numbers(400))}, {"I", I64({3}, {3, 0, 3})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_FLOAT_EQ(Doubles((*out)[1])[300], 2 * Doubles((*out)[0])[0]);
  EXPECT_EQ(Doubles((*out)[1])[100], 0);
  out = e->Run({{"X", F32({4, 100}, Numbers(400))}, {"I", I64({3}, {3, -1, 4})}});
  ASSERT_FALSE(out.ok());
  EXPECT_THAT(out.status().message(), ::testing::HasSubstr("X[-1"));
}

// A stencil's backward, scattered and with a border; windows that overlap.
TEST(Adjoint, StencilsMeetInTheirNeighbours) {
  const int64_t n = 5000;
  const std::vector<double> dy = Numbers(n);
  auto out = RunBoth(R"(
    sdfg f(dY: f64[5000], dX: f64[5000], dV: f64[10001]) {
      state {
        map i in 0:5000 { dX[i] = 0 }
        map i in 0:5000, k in 0:3 { dX[i + k - 1] ?? += (k + 1) * dY[i] }
        map i in 0:10001 { dV[i] = 0 }
        map i in 0:5000, k in 0:3 { dV[2 * i + k] += dY[i] }
      }
    })",
                     {{"dY", F64({n}, dy)}});
  ASSERT_EQ(out.size(), 2u);
  std::vector<double> dx(n), dv(2 * n + 1);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < 3; ++k) {
      if (i + k - 1 >= 0 && i + k - 1 < n)
        dx[static_cast<size_t>(i + k - 1)] += static_cast<double>(k + 1) * dy[static_cast<size_t>(i)];
      dv[static_cast<size_t>(2 * i + k)] += dy[static_cast<size_t>(i)];
    }
  ExpectNear(out[0], dx), ExpectNear(out[1], dv);
}

// A loop forward that keeps what it overwrites on a tape, and the same loop backward.
TEST(Adjoint, LoopsRunBackwardsOverTheirTape) {
  const int64_t n = 50, steps = 6;
  const std::vector<double> x = Numbers(n);
  auto out = RunBoth(R"(
    sdfg f(X: f64[50], S: f64[T], Y: f64[50], dX: f64[50]) {
      transient tape: f64[T, 50]
      transient H: f64[50]
      transient dH: f64[50]
      map i in 0:50 { H[i] = X[i] }
      for t in 0:T {
        map i in 0:50 { tape[t, i] = H[i] }
        map i in 0:50 { H[i] = sin(H[i]) * H[i] + S[t] }
      }
      map i in 0:50 { Y[i] = H[i] ; dH[i] = 1 }
      for t in T - 1:-1:-1 {
        map i in 0:50 { dH[i] = dH[i] * (cos(tape[t, i]) * tape[t, i] + sin(tape[t, i])) }
      }
      map i in 0:50 { dX[i] = dH[i] }
    })",
                     {{"X", F64({n}, x)}, {"S", F64({steps}, {0, 1, 2, 3, 4, 5})}});
  ASSERT_EQ(out.size(), 2u);
  std::vector<double> y, dx;
  for (double v : x) {
    double h = v, d = 1;
    for (int64_t t = 0; t < steps; ++t) {
      d *= std::cos(h) * h + std::sin(h);
      h = std::sin(h) * h + static_cast<double>(t);
    }
    y.push_back(h), dx.push_back(d);
  }
  ExpectNear(out[0], y, 1e-10), ExpectNear(out[1], dx, 1e-9);
}

// A convolution's two backward products.
TEST(Adjoint, ConvolutionsAreContractions) {
  const int64_t n = 3, c = 5, o = 7, h = 9;
  const std::vector<double> x = Numbers(n * c * h * h), w = Numbers(o * c * 9, 2), dy = Numbers(n * o * h * h, 3);
  auto out = RunBoth(R"(
    sdfg f(X: f64[3, 5, 9, 9], W: f64[7, 5, 3, 3], dY: f64[3, 7, 9, 9], dX: f64[3, 5, 9, 9], dW: f64[7, 5, 3, 3], dS: f64[3, 5, 9, 9]) {
      state {
        map o in 0:7, c in 0:5, k in 0:3, l in 0:3 { dW[o, c, k, l] = 0 }
        map o in 0:7, c in 0:5, k in 0:3, l in 0:3, n in 0:3, p in 0:9, q in 0:9 { dW[o, c, k, l] += dY[n, o, p, q] * (X[n, c, p + k - 1, q + l - 1] ?? 0) }
        map n in 0:3, c in 0:5, p in 0:9, q in 0:9 { dX[n, c, p, q] = 0 }
        map n in 0:3, c in 0:5, p in 0:9, q in 0:9, o in 0:7, k in 0:3, l in 0:3 { dX[n, c, p, q] += (dY[n, o, p - k + 1, q - l + 1] ?? 0) * W[o, c, k, l] }
        map n in 0:3, c in 0:5, p in 0:9, q in 0:9 { dS[n, c, p, q] = 0 }
        map n in 0:3, o in 0:7, p in 0:9, q in 0:9, c in 0:5, k in 0:3, l in 0:3 { dS[n, c, p + k - 1, q + l - 1] ?? += dY[n, o, p, q] * W[o, c, k, l] }
      }
    })",
                     {{"X", F64({n, c, h, h}, x)}, {"W", F64({o, c, 3, 3}, w)}, {"dY", F64({n, o, h, h}, dy)}});
  ASSERT_EQ(out.size(), 3u);
  std::vector<double> dx(x.size()), dw(w.size());
  auto at = [&](int64_t a, int64_t b, int64_t count, int64_t p, int64_t q) {
    return static_cast<size_t>(((a * count + b) * h + p) * h + q);
  };
  for (int64_t i = 0; i < n; ++i)
    for (int64_t f = 0; f < o; ++f)
      for (int64_t p = 0; p < h; ++p)
        for (int64_t q = 0; q < h; ++q)
          for (int64_t g = 0; g < c; ++g)
            for (int64_t k = 0; k < 3; ++k)
              for (int64_t l = 0; l < 3; ++l) {
                const int64_t y = p + k - 1, z = q + l - 1;
                if (y < 0 || y >= h || z < 0 || z >= h) continue;
                const size_t at_w = static_cast<size_t>(((f * c + g) * 3 + k) * 3 + l);
                dw[at_w] += dy[at(i, f, o, p, q)] * x[at(i, g, c, y, z)];
                dx[at(i, g, c, y, z)] += dy[at(i, f, o, p, q)] * w[at_w];
              }
  ExpectNear(out[0], dx), ExpectNear(out[1], dw), ExpectNear(out[2], dx);
}

}  // namespace
}  // namespace headrace::cpu
