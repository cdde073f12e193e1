// Complex numbers: JAX's convention. The cotangent of z = f(w) is multiplied by f'(w), not by its conjugate, so for a real
// loss L(x + iy) the gradient is ∂L/∂x − i·∂L/∂y.
#include <complex>

#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

using C = std::complex<double>;

Value Complexes(const std::vector<C>& values) {
  Tensor t = *Tensor::Create(DType::kC128, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    t.as<double>()[2 * i] = values[i].real(), t.as<double>()[2 * i + 1] = values[i].imag();
  return t;
}

const std::vector<C> kZ = {{0.5, -0.25}, {-1, 0.75}, {0.3, 0.9}};

void ExpectOf(const std::string& body, const std::vector<C>& expected) {
  SCOPED_TRACE(body);
  Case c;
  c.text = "sdfg f(Z: c128[N], L: f64) {\n L = 0\n map i in 0:N { L += " + body + " }\n}";
  c.outputs = {"L"}, c.inputs = {"Z"};
  c.values = {{"Z", Complexes(kZ)}};
  ExpectGradients(c, {{"Z", Complexes(expected)}});
}

std::vector<C> Each(const std::function<C(C)>& f) {
  std::vector<C> out;
  for (C z : kZ) out.push_back(f(z));
  return out;
}

TEST(Complex, RealAndImaginaryParts) {
  ExpectOf("real(Z[i])", Each([](C) { return C(1, 0); }));
  ExpectOf("imag(Z[i])", Each([](C) { return C(0, -1); }));
}

// L = Re f(z) for a holomorphic f: the gradient is f'(z).
TEST(Complex, HolomorphicFunctions) {
  ExpectOf("real(Z[i] * Z[i])", Each([](C z) { return 2.0 * z; }));
  ExpectOf("real(Z[i] * Z[i] * Z[i] - 2 * Z[i])", Each([](C z) { return 3.0 * z * z - 2.0; }));
  ExpectOf("real(1 / Z[i])", Each([](C z) { return -1.0 / (z * z); }));
  ExpectOf("real(exp(Z[i]))", Each([](C z) { return std::exp(z); }));
  ExpectOf("imag(Z[i] * Z[i])", Each([](C z) { return C(0, -2) * z; }));
}

// L = |z|² = x² + y²: 2x − 2iy, the conjugate of what PyTorch gives.
TEST(Complex, SquaredModulus) {
  ExpectOf("real(Z[i] * conj(Z[i]))", Each([](C z) { return 2.0 * std::conj(z); }));
  ExpectOf("real(Z[i]) * real(Z[i]) + imag(Z[i]) * imag(Z[i])", Each([](C z) { return 2.0 * std::conj(z); }));
}

TEST(Complex, FromRealParts) {
  Case c;
  c.text = R"(sdfg f(X: f64[N], Y: f64[N], L: f64) {
    transient Z: c128[N]
    map i in 0:N { Z[i] = complex(X[i], Y[i]) * complex(X[i], -Y[i]) * complex(X[i], Y[i]) }
    L = 0
    map i in 0:N { L += real(Z[i]) + 2 * imag(Z[i]) }
  })";
  c.outputs = {"L"};
  c.values = {{"X", Uniform({4}, -1, 1)}, {"Y", Uniform({4}, -1, 1, 2)}};
  ExpectGradients(c, [](auto& m) {  // z z̄ z = (x² + y²)(x + iy)
    NumberOf<decltype(m)> s = 0;
    for (int i = 0; i < 4; ++i) {
      auto x = m["X"][i], y = m["Y"][i];
      s += (x * x + y * y) * (x + 2 * y);
    }
    return s;
  });
}

// A discrete Fourier transform in a loop, and the energy of its spectrum: by Parseval's theorem N times that of the signal.
TEST(Complex, FourierTransformAndParseval) {
  Case c;
  c.text = R"(sdfg f(X: f64[N], w: c128[N], L: f64) {
    transient F: c128[N]
    map k in 0:N { F[k] = complex(0, 0) }
    for n in 0:N { map k in 0:N { F[k] = F[k] + complex(X[n], 0) * w[n * k % N] } }
    L = 0
    map k in 0:N { L += real(F[k] * conj(F[k])) }
  })";
  c.outputs = {"L"}, c.inputs = {"X"};
  const int n = 5;
  std::vector<C> w;
  for (int k = 0; k < n; ++k) w.push_back(std::polar(1.0, -2 * M_PI * k / n));
  const Value x = Uniform({n}, -1, 1);
  std::vector<double> expected;
  for (int i = 0; i < n; ++i) expected.push_back(2 * n * x.tensor.GetDouble(i));
  c.values = {{"X", x}, {"w", Complexes(w)}};
  ExpectGradients(c, {{"X", Numbers({n}, expected)}});
}

}  // namespace
}  // namespace headrace::autodiff::testing
