// Accuracy of the functions that generated code computes itself: floats from end to end against libm in double, doubles
// against libm in long double.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>

#include "backends/cpu/testing.h"
#include "runtime/hr_float.h"

namespace headrace::cpu {
namespace {

// How far `got` is from `want`, in units of the last place of the float nearest to it; infinite where one is NaN, infinite
// or of another sign and the other is not.
double Ulps(float got, double want) {
  const float nearest = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
  if (nearest == got) return std::signbit(nearest) == std::signbit(got) ? 0 : INFINITY;
  if (std::isinf(nearest) || std::isinf(got)) return INFINITY;
  int exponent;
  std::frexp(want, &exponent);
  return std::fabs(got - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

Tensor OfDoubles(const std::vector<double>& values) {
  Tensor t = *Tensor::Create(DType::kF64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.as<double>());
  return t;
}
Tensor Floats(const std::vector<float>& values) {
  Tensor t = *Tensor::Create(DType::kF32, {static_cast<int64_t>(values.size())});
  std::memcpy(t.data->data(), values.data(), values.size() * sizeof(float));
  return t;
}

const std::vector<float>& Special() {
  static const std::vector<float> v = {0.0f,  -0.0f,  INFINITY, -INFINITY, NAN,         1,           -1,     0.5f,
                                       -0.5f, 2,      -2,       3,         -3,          1.5f,        1e-40f, -1e-40f,
                                       3e38f, -3e38f, 88.8f,    -104,      16777217.0f, -16777215.0f};
  return v;
}

// Every 4093rd float, of all signs and exponents.
std::vector<float> Samples() {
  std::vector<float> v = Special();
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 4093) {
    const uint32_t b = static_cast<uint32_t>(bits);
    float f;
    std::memcpy(&f, &b, sizeof f);
    v.push_back(f);
  }
  return v;
}

struct Function {
  const char* name;
  double (*exact)(double);
  double ulps;
};

class Unary : public ::testing::TestWithParam<Function> {};

TEST_P(Unary, IsWithinUlpsOfTheExactValue) {
  const Function& f = GetParam();
  const std::vector<float> x = Samples();
  auto out =
      RunText(std::string("sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = ") + f.name + "(X[i]) } } }",
              {{"X", Floats(x)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const float* y = (*out)[0].tensor.as<float>();
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (const double u = Ulps(y[i], f.exact(x[i])); u > worst) worst = u, at = i;
  EXPECT_LE(worst, f.ulps) << f.name << "(" << x[at] << ") = " << f.exact(x[at]) << ", not " << y[at];
}

INSTANTIATE_TEST_SUITE_P(
    Math, Unary,
    ::testing::Values(Function{"exp", std::exp, 1.5}, Function{"expm1", std::expm1, 2}, Function{"log", std::log, 1.5},
                      Function{"log1p", std::log1p, 3}, Function{"log2", std::log2, 1}, Function{"sin", std::sin, 2},
                      Function{"cos", std::cos, 2}, Function{"tanh", std::tanh, 2}, Function{"erf", std::erf, 2},
                      Function{"sqrt", std::sqrt, 0.5}, Function{"tan", std::tan, 2.5}, Function{"asin", std::asin, 2},
                      Function{"acos", std::acos, 2}, Function{"atan", std::atan, 2}, Function{"sinh", std::sinh, 2},
                      Function{"cosh", std::cosh, 2}, Function{"asinh", std::asinh, 2.5},
                      Function{"acosh", std::acosh, 3}, Function{"atanh", std::atanh, 2}),
    [](const auto& info) { return std::string(info.param.name); });

// One function for both, where denormals are zero: every float between ln(2^-127) and ln(2^-125), and the rest of them in samples.
TEST(Math, ExpWhereDenormalsAreZero) {
  std::vector<float> x = Samples();
  for (float f = -88.03f; f < -86.6f; f = std::nextafterf(f, 0)) x.push_back(f);
  for (float f = 88.7f; f < 88.75f; f = std::nextafterf(f, 100)) x.push_back(f);
  const std::string head = "kernel k(x: f32[n], y: f32[n], n: symbol)", body = " { map i in 0:n @vector { y[i] = exp(x[i]) } }\n";
  const std::string entry = "sdfg f(X: f32[N], Y: f32[N]) { call k(x = X, y = Y, n := N) }\n";
  auto exact = RunText(entry + head + " for cpu" + body, {{"X", Floats(x)}});
  auto flushed = RunText(entry + head + " for cpu @flush" + body, {{"X", Floats(x)}});
  ASSERT_TRUE(exact.ok() && flushed.ok()) << exact.status().ToString() << flushed.status().ToString();
  const float *want = (*exact)[0].tensor.as<float>(), *got = (*flushed)[0].tensor.as<float>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(want[i])) ASSERT_TRUE(std::isnan(got[i])) << x[i];
    else ASSERT_EQ(got[i], std::fpclassify(want[i]) == FP_SUBNORMAL ? 0 : want[i]) << x[i];
  }
}

// The processor's conversions, in vectors and alone, have the bits of runtime/hr_float.h.
TEST(Half, ConversionsHaveTheBitsOfTheReference) {
  Tensor codes = *Tensor::Create(DType::kF16, {65536});
  for (int i = 0; i < 65536; ++i) codes.as<uint16_t>()[i] = static_cast<uint16_t>(i);
  const Tensor floats = Floats(Samples());
  const std::string text = R"(sdfg f(X: f16[N], Y: f32[N], A: f32[M], B: f16[M], C: f16[M]) {
    state {
      map i in 0:N { Y[i] = X[i] }
      map i in 0:M { B[i] = A[i] }
      map i in 0:M:3 { C[i] = A[M - 1 - i] }
    }
  })";
  auto out = RunText(text, {{"X", codes}, {"A", floats}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const float *y = (*out)[0].tensor.as<float>(), *a = floats.as<float>();
  const uint16_t *b = (*out)[1].tensor.as<uint16_t>(), *c = (*out)[2].tensor.as<uint16_t>();
  for (int i = 0; i < 65536; ++i) {
    const float want = hr_f16_to_f32(static_cast<uint16_t>(i));
    if (want != want) ASSERT_TRUE(std::isnan(y[i])) << i;
    else ASSERT_EQ(hr_bits_f32(y[i]), hr_bits_f32(want)) << i;
  }
  const int64_t m = floats.elements();
  for (int64_t i = 0; i < m; ++i) ASSERT_EQ(b[i], hr_f32_to_f16(a[i])) << a[i];
  for (int64_t i = 0; i < m; i += 3) ASSERT_EQ(c[i], hr_f32_to_f16(a[m - 1 - i])) << a[m - 1 - i];
}

// What is a bf16 already is not rounded: choices among such values, of every bit pattern.
TEST(Half, ValuesThatAreBf16AreNotRounded) {
  const auto float_of = [](uint16_t b) { return hr_bf16_to_f32(b); };
  struct Case {
    const char* value;
    bool exact;
    std::function<float(float, float)> want;
  };
  const Case cases[] = {
      {"max(X[i], 0)", true, [](float x, float) { return x > 0 || x != x ? x : 0.0f; }},
      {"clamp(X[i], -1, 6)", true, [](float x, float) { return x < -1 ? -1.0f : x > 6 ? 6.0f : x; }},
      {"X[i] > 2 ? -X[i] : X[N - 1 - i]", true, [](float x, float y) { return x > 2 ? -x : y; }},
      {"bf16(min(f32(X[i]), f32(X[N - 1 - i])))", true, [](float x, float y) { return x != x ? x : x < y ? x : y; }},
      {"abs(bf16(f32(X[i]) * 1.01))", true, [&](float x, float) { return std::fabs(float_of(hr_f32_to_bf16(x * 1.01f))); }},
      {"max(X[i], 0.1)", false, [](float x, float) { return x > 0.1f || x != x ? x : 0.1f; }},
      {"-(X[i] + X[N - 1 - i])", false, [](float x, float y) { return -(x + y); }},
  };
  Tensor codes = *Tensor::Create(DType::kBF16, {65536});
  for (int i = 0; i < 65536; ++i) codes.as<uint16_t>()[i] = static_cast<uint16_t>(i);
  for (const Case& c : cases) {
    const std::string text = "sdfg f(X: bf16[N], Y: bf16[N]) { map i in 0:N { Y[i] = " + std::string(c.value) + " } }";
    Registry r;
    auto e = CompileText(text, r);
    ASSERT_TRUE(e != nullptr);
    const std::string source = e->Source();
    EXPECT_EQ(source.find("hr_exact_bf16(", source.find("struct F_")) != std::string::npos, c.exact) << c.value;
    auto out = e->Run({{"X", codes}}, {});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    for (int i = 0; i < 65536; ++i) {
      const float want = c.want(float_of(static_cast<uint16_t>(i)), float_of(static_cast<uint16_t>(65535 - i)));
      const uint16_t got = (*out)[0].tensor.as<uint16_t>()[i];
      if (want != want) ASSERT_TRUE(std::isnan(float_of(got))) << c.value << " " << i;
      else ASSERT_EQ(got, hr_f32_to_bf16(want)) << c.value << " " << i;
    }
  }
}

double Ulps64(double got, long double want) {
  const double nearest = static_cast<double>(want);
  if (std::isnan(nearest) || std::isnan(got)) return std::isnan(nearest) && std::isnan(got) ? 0 : INFINITY;
  if (nearest == got) return std::signbit(nearest) == std::signbit(got) ? 0 : INFINITY;
  if (std::isinf(nearest) || std::isinf(got)) return INFINITY;
  int exponent;
  std::frexp(nearest, &exponent);
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, std::max(exponent - 53, -1074)));
}

struct Function64 {
  const char* name;
  long double (*exact)(long double);
  double ulps;
};

class Unary64 : public ::testing::TestWithParam<Function64> {};

TEST_P(Unary64, IsWithinUlpsOfTheExactValue) {
  const Function64& f = GetParam();
  std::vector<double> x = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, -0.5, 1e-310, -1e-310, 5e-324, 1e308,
                           -1e308, 709.78, 709.79, -745.1, -745.2, -708.4, 40.0, 40.01, -37.4, 0.99999, 20,
                           // as near to a multiple of pi / 2 as a double comes
                           6381956970095103 * 0x1p797, 1e22, 5e15, 1.5707963267948966, 3.141592653589793};
  uint64_t state = 1;
  auto random = [&] { return state = state * 6364136223846793005ull + 1442695040888963407ull, state ^ state >> 29; };
  for (int i = 0; i < 300000; ++i) {
    const uint64_t bits = random();  // all signs and exponents
    double any;
    std::memcpy(&any, &bits, sizeof any);
    x.push_back(any);
    for (double range : {20.0, 1500.0}) x.push_back((static_cast<double>(random() >> 11) * 0x1p-53 - 0.5) * range);
  }
  Tensor in = *Tensor::Create(DType::kF64, {static_cast<int64_t>(x.size())});
  std::memcpy(in.data->data(), x.data(), x.size() * sizeof(double));
  auto out =
      RunText(std::string("sdfg f(X: f64[N], Y: f64[N]) { state { map i in 0:N { Y[i] = ") + f.name + "(X[i]) } } }",
              {{"X", in}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const double* y = (*out)[0].tensor.as<double>();
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (const double u = Ulps64(y[i], f.exact(x[i])); u > worst) worst = u, at = i;
  EXPECT_LE(worst, f.ulps) << f.name << "(" << x[at] << ") = " << f.exact(x[at]) << ", not " << y[at];
}

INSTANTIATE_TEST_SUITE_P(Math, Unary64,
                         ::testing::Values(Function64{"exp", std::exp, 1.5}, Function64{"expm1", std::expm1, 3},
                                           Function64{"log", std::log, 1}, Function64{"log1p", std::log1p, 3},
                                           Function64{"tanh", std::tanh, 3}, Function64{"erf", std::erf, 2},
                                           Function64{"sin", std::sin, 1}, Function64{"cos", std::cos, 1},
                                           Function64{"tan", std::tan, 3}, Function64{"sinh", std::sinh, 3},
                                           Function64{"cosh", std::cosh, 3}, Function64{"atan", std::atan, 1},
                                           Function64{"asinh", std::asinh, 3}, Function64{"acosh", std::acosh, 3},
                                           Function64{"atanh", std::atanh, 3}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Math, PowIsRoundedOnceAndKnowsEverySpecialCase) {
  std::vector<float> x, y;
  for (float a : Special())
    for (float b : Special()) x.push_back(a), y.push_back(b);
  uint64_t state = 1;
  auto random = [&] {
    return static_cast<uint32_t>((state = state * 6364136223846793005ull + 1442695040888963407ull) >> 32);
  };
  for (int i = 0; i < 200000; ++i) {
    const float base = static_cast<float>(random() >> 8) / 4194304.0f,
                power = static_cast<float>(static_cast<int>(random() >> 8) - 8388608) / 419430.0f;
    x.push_back(base), y.push_back(power);
    x.push_back(-base), y.push_back(std::rint(power));
  }
  auto out = RunText("sdfg f(X: f32[N], P: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = pow(X[i], P[i]) } } }",
                     {{"X", Floats(x)}, {"P", Floats(y)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const float* z = (*out)[0].tensor.as<float>();
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(Ulps(z[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]))), 1)
        << "pow(" << x[i] << ", " << y[i] << ") is not " << z[i];
}

TEST(Math, PowersOfRootsAreWithinThreeUnits) {
  std::vector<double> x = {0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, 1e-160, 1e160, std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  for (int i = 0; i < 20000; ++i) x.push_back(std::ldexp(1.0 + i / 7001.0, i % 400 - 200));
  const double powers[] = {1.5, 2.5, -0.5, -1.5, -2.5};
  auto out = RunText(
      "sdfg f(X: f64[N], B: f64[N], C: f64[N], D: f64[N], E: f64[N], F: f64[N]) { state { map i in 0:N {\n"
      "B[i] = pow(X[i], 1.5)\nC[i] = pow(X[i], 2.5)\n"
      "D[i] = pow(X[i], -0.5)\nE[i] = pow(X[i], -1.5)\nF[i] = pow(X[i], -2.5) } } }",
      {{"X", OfDoubles(x)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  for (size_t p = 0; p < 5; ++p) {
    const double* z = (*out)[p].tensor.as<double>();
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = std::pow(x[i], powers[p]);
      const bool same = z[i] == want || (std::isnan(z[i]) && std::isnan(want));
      ASSERT_TRUE(same || std::abs(z[i] / want - 1) <= 3 * std::numeric_limits<double>::epsilon())
          << "pow(" << x[i] << ", " << powers[p] << ") is not " << z[i];
    }
  }
}

// In each quadrant, near 0, far away, and on both sides of their cuts, to a few units of the larger part.
TEST(Math, FunctionsOfComplexNumbers) {
  using C = std::complex<double>;
  const std::pair<const char*, C (*)(const C&)> functions[] = {
      {"exp", std::exp},     {"log", std::log},     {"sqrt", std::sqrt}, {"sin", std::sin},   {"cos", std::cos},
      {"tan", std::tan},     {"sinh", std::sinh},   {"cosh", std::cosh}, {"tanh", std::tanh}, {"asin", std::asin},
      {"acos", std::acos},   {"atan", std::atan},   {"asinh", std::asinh}, {"acosh", std::acosh}, {"atanh", std::atanh},
      {"log2", [](const C& z) { return std::log(z) / std::log(2.0); }},
      {"expm1", [](const C& z) { return std::exp(z) - 1.0; }},
      {"log1p", [](const C& z) { return std::log(1.0 + z); }},
      {"rsqrt", [](const C& z) { return 1.0 / std::sqrt(z); }}};
  std::vector<C> z;
  for (double x : {-30.0, -2.0, -0.7, -0.01, 0.01, 0.5, 3.0, 25.0})
    for (double y : {-9.0, -1.25, -0.3, -0.0, 0.0, 0.02, 0.8, 7.0}) z.push_back({x, y});
  for (const char* type : {"c128", "c64"}) {
    const bool wide = std::string(type) == "c128";
    Tensor t = *Tensor::Create(wide ? DType::kC128 : DType::kC64, {static_cast<int64_t>(z.size())});
    for (size_t i = 0; i < z.size(); ++i) {
      if (wide) t.as<double>()[2 * i] = z[i].real(), t.as<double>()[2 * i + 1] = z[i].imag();
      else t.as<float>()[2 * i] = static_cast<float>(z[i].real()), t.as<float>()[2 * i + 1] = static_cast<float>(z[i].imag());
    }
    const double unit = wide ? 2.2e-16 : 1.2e-7;
    for (const auto& [name, exact] : functions) {
      auto out = RunText("sdfg f(Z: " + std::string(type) + "[N], Y: " + type + "[N]) { map i in 0:N { Y[i] = " + name + "(Z[i]) } }", {{"Z", t}});
      ASSERT_TRUE(out.ok()) << out.status().ToString();
      const Tensor& y = (*out)[0].tensor;
      for (size_t i = 0; i < z.size(); ++i) {
        const C got = wide ? C(y.as<double>()[2 * i], y.as<double>()[2 * i + 1]) : C(y.as<float>()[2 * i], y.as<float>()[2 * i + 1]);
        const C given = wide ? z[i] : C(t.as<float>()[2 * i], t.as<float>()[2 * i + 1]), want = exact(given);
        EXPECT_LE(std::abs(got - want), 24 * unit * std::max(1.0, std::abs(want))) << type << ' ' << name << given << " is not " << got << " but " << want;
      }
    }
  }
}

TEST(Math, FmodIsExact) {
  uint64_t state = 1;
  auto random = [&] {
    const uint32_t bits =
        static_cast<uint32_t>((state = state * 6364136223846793005ull + 1442695040888963407ull) >> 32);
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return f;
  };
  std::vector<float> x, y;
  for (float a : Special())
    for (float b : Special()) x.push_back(a), y.push_back(b);
  for (int i = 0; i < 200000; ++i) x.push_back(random()), y.push_back(random());
  auto out = RunText("sdfg f(X: f32[N], B: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = fmod(X[i], B[i]) } } }",
                     {{"X", Floats(x)}, {"B", Floats(y)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const float* z = (*out)[0].tensor.as<float>();
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(Ulps(z[i], std::fmod(x[i], y[i])), 0) << "fmod(" << x[i] << ", " << y[i] << ") is not " << z[i];
}

TEST(Math, FmaRoundsOnce) {
  const std::vector<float> x = {1 + 0x1p-20f, 3, 0, INFINITY, NAN};
  auto out = RunText("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = fma(X[i], X[i], -1) } }", {{"X", Floats(x)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  const float* z = (*out)[0].tensor.as<float>();
  EXPECT_TRUE(z[0] == 0x1p-19f + 0x1p-40f || z[0] == 0x1p-19f) << z[0];  // the latter where no processor has the instruction
  EXPECT_EQ(z[1], 8);
  EXPECT_EQ(z[2], -1);
  EXPECT_EQ(z[3], INFINITY);
  EXPECT_NE(z[4], z[4]);
}

// The same bits whether a value stands in a full vector, in what is left over, or alone.
TEST(Math, BitsDoNotDependOnThePlace) {
  const std::string text = R"(sdfg f(X: f32[N], Y: f32[N]) { state {
      map i in 0:N { Y[i] = exp(X[i]) + sin(X[i] * 100) + tanh(X[i]) * log(abs(X[i])) + erf(X[i]) + pow(abs(X[i]), 1.7) } } })";
  std::vector<float> x;
  for (int i = 0; i < 77; ++i) x.push_back(static_cast<float>(i) * 0.37f - 14);
  auto all = RunText(text, {{"X", Floats(x)}});
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  for (size_t i = 0; i < x.size(); i += 7) {
    auto one = RunText(text, {{"X", Floats({x[i]})}});
    ASSERT_TRUE(one.ok());
    EXPECT_EQ(std::memcmp((*all)[0].tensor.as<float>() + i, (*one)[0].tensor.as<float>(), sizeof(float)), 0) << x[i];
  }
}

}  // namespace
}  // namespace headrace::cpu
