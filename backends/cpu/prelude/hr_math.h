/* Scalar functions of expressions, overloaded by type. The float ones below are branch-free, so that loops over them
 * vectorise, and give the same bits in a vector as alone. NaN propagates through all of them. */
#ifdef __FMA__
static inline float hr_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double hr_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
static inline float hr_fma(float a, float b, float c) { return a * b + c; }
static inline double hr_fma(double a, double b, double c) { return a * b + c; }
#endif

/* Library functions under other names, so that no identity between them is assumed by the optimiser. */
#define HR_DOUBLE1(name)                                            \
  extern "C" double hr_libm_##name(double) noexcept __asm__(#name); \
  static inline double hr_##name(double a) { return hr_libm_##name(a); }
#define HR_DOUBLE2(name)                                                    \
  extern "C" double hr_libm_##name(double, double) noexcept __asm__(#name); \
  static inline double hr_##name(double a, double b) { return hr_libm_##name(a, b); }
#define HR_FLOAT2(name)                                                         \
  extern "C" float hr_libm_##name##f(float, float) noexcept __asm__(#name "f"); \
  static inline float hr_##name(float a, float b) { return hr_libm_##name##f(a, b); }
/* clang-format off */
HR_DOUBLE1(log2) HR_DOUBLE1(asin) HR_DOUBLE1(acos)
HR_DOUBLE2(atan2) HR_DOUBLE2(fmod)
HR_FLOAT2(atan2)
    /* clang-format on */

    static inline float hr_sqrt(float a) {
  return __builtin_sqrtf(a);
}
static inline double hr_sqrt(double a) { return __builtin_sqrt(a); }
/* Powers that roots are computed by lanes, within 3 units in the last place, where the text says which: no root of -inf, -0 is 0. */
extern "C" double hr_libm_pow(double, double) noexcept __asm__("pow");
static inline double hr_pow(double a, double b) {
  if (__builtin_constant_p(b) && (b == 0.5 || b == 1.5 || b == 2.5 || b == -0.5 || b == -1.5 || b == -2.5)) {
    const double x = a == -__builtin_inf() ? __builtin_inf() : a + 0.0, root = __builtin_sqrt(x);
    if (b == 0.5) return root;
    if (b == 1.5) return x * root;
    if (b == 2.5) return x * (x * root);
    if (b == -0.5) return 1.0 / root;
    return b == -1.5 ? 1.0 / root / x : 1.0 / root / x / x;
  }
  return hr_libm_pow(a, b);
}
static inline float hr_rsqrt(float a) { return 1.0f / __builtin_sqrtf(a); }
static inline double hr_rsqrt(double a) { return 1.0 / __builtin_sqrt(a); }
#define HR_ROUND(name, builtin)                                                \
  static inline float hr_##name(float a) { return __builtin_##builtin##f(a); } \
  static inline double hr_##name(double a) { return __builtin_##builtin(a); }  \
  template <typename T>                                                        \
  static inline T hr_##name(T a) {                                             \
    return a;                                                                  \
  }
/* clang-format off */
HR_ROUND(floor, floor) HR_ROUND(ceil, ceil) HR_ROUND(trunc, trunc) HR_ROUND(rint, rint)
    /* clang-format on */
    static inline float hr_abs(float a) {
  return __builtin_fabsf(a);
}
static inline double hr_abs(double a) { return __builtin_fabs(a); }
static inline int32_t hr_abs(int32_t a) { return a < 0 ? (int32_t)(0 - (uint32_t)a) : a; }
static inline int16_t hr_abs(int16_t a) { return (int16_t)(a < 0 ? -a : a); }
static inline int8_t hr_abs(int8_t a) { return (int8_t)(a < 0 ? -a : a); }
static inline uint8_t hr_abs(uint8_t a) { return a; }
static inline uint16_t hr_abs(uint16_t a) { return a; }
static inline uint32_t hr_abs(uint32_t a) { return a; }
static inline uint64_t hr_abs(uint64_t a) { return a; }
template <typename T>
static inline T hr_hold(T a) {
  return a;
}
template <typename T>
static inline T hr_sign(T a) {
  return a != a ? a : (T)((a > (T)0) - (a < (T)0));
}
template <typename T>
static inline T hr_max(T a, T b) {
  const T m = a > b ? a : b;
  return a != a ? a : m;
}
template <typename T>
static inline T hr_min(T a, T b) {
  const T m = a < b ? a : b;
  return a != a ? a : m;
}
template <typename T>
static inline T hr_clamp(T a, T lo, T hi) {
  return hr_min(hr_max(a, lo), hi);
}
#pragma omp declare reduction(hr_max:float \
                              : omp_out = hr_max(omp_out, omp_in)) initializer(omp_priv = -__builtin_inff())
#pragma omp declare reduction(hr_max:double \
                              : omp_out = hr_max(omp_out, omp_in)) initializer(omp_priv = -__builtin_inf())
#pragma omp declare reduction(hr_min:float : omp_out = hr_min(omp_out, omp_in)) initializer(omp_priv = __builtin_inff())
#pragma omp declare reduction(hr_min:double : omp_out = hr_min(omp_out, omp_in)) initializer(omp_priv = __builtin_inf())
template <typename T>
static inline bool hr_isnan(T a) {
  return a != a;
}
static inline bool hr_isinf(float a) { return __builtin_fabsf(a) == __builtin_inff(); }
static inline bool hr_isinf(double a) { return __builtin_fabs(a) == __builtin_inf(); }
/* By halves, without the multiplication that compilers recognise: g++ 12 folds vectors of popcounts of constants wrongly
 * (AVX512_VPOPCNTDQ: some lanes keep their argument). */
static inline int64_t hr_popcount(uint64_t a) {
  a = a - (a >> 1 & 0x5555555555555555u);
  a = (a & 0x3333333333333333u) + (a >> 2 & 0x3333333333333333u);
  a = (a + (a >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  a += a >> 8;
  a += a >> 16;
  a += a >> 32;
  return (int64_t)(a & 127);
}
/* fmod: multiples of b that are powers of 2^50 apart are taken off, the largest first; every remainder fits 25 bits, so each
 * step is exact in double. */
static inline float hr_fmod(float a, float b) {
  const double x = __builtin_fabs((double)a), y = __builtin_fabs((double)b), over = 1.0 / y;
  double r = x;
#define HR_FMOD_STEP(up, down) r = __builtin_fma(-__builtin_rint(r * (over * down)), y * up, r);
  HR_FMOD_STEP(0x1p250, 0x1p-250)
  HR_FMOD_STEP(0x1p200, 0x1p-200)
  HR_FMOD_STEP(0x1p150, 0x1p-150)
  HR_FMOD_STEP(0x1p100, 0x1p-100)
  HR_FMOD_STEP(0x1p50, 0x1p-50)
  HR_FMOD_STEP(1.0, 1.0)
#undef HR_FMOD_STEP
  r = r < 0 ? r + y : r;
  r = r >= y ? r - y : r;
  r = x < y ? x : r; /* b infinite */
  return __builtin_copysignf((float)r, a);
}
static inline float hr_mod(float a, float b) {
  const float r = hr_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline double hr_mod(double a, double b) { return hr_floor_mod_f64(a, b); }
static inline int64_t hr_wrap_u2(int64_t v) { return v & 3; }
static inline int64_t hr_wrap_u4(int64_t v) { return v & 15; }
static inline int64_t hr_wrap_i2(int64_t v) { return (int64_t)((uint64_t)v << 62) >> 62; }
static inline int64_t hr_wrap_i4(int64_t v) { return (int64_t)((uint64_t)v << 60) >> 60; }
static inline uint64_t hr_sat_u64(double v) { return v > 0 ? hr_f64_to_u64(v) : 0; }

/* To an integer of up to 16 bits from lo to hi, saturated; in lanes, unlike by way of 64 bits. */
static inline int32_t hr_sat_small(float v, float lo, float hi) {
  const float above = v > lo ? v : lo, inside = above < hi ? above : hi;  /* lo where v is no number */
  return lo == 0 || v == v ? (int32_t)inside : 0;
}

/* A float that is rounded, and a small zero point, to an integer of 8 bits from lo to hi, saturated. What is no number is the least of all
 * integers as processors of Intel's kind round it, and as clang, which would take it for undefined, is told: of no zero point below 0 it
 * becomes 0, as it should, by itself. */
#if defined(__clang__)
#define HR_RINT_LEAST 1
static inline int32_t hr_rint_i32(float v) { return (int32_t)__builtin_rintf(v > -2048.0f ? v : -2048.0f); }
#else
#if defined(__x86_64__)
#define HR_RINT_LEAST 1
#else
#define HR_RINT_LEAST 0
#endif
static inline int32_t hr_rint_i32(float v) { return __builtin_irintf(v); }
#endif
static inline int32_t hr_round_small(float v, int32_t zero, int32_t lo, int32_t hi) {
  int32_t q = hr_rint_i32(2048.0f < v ? 2048.0f : v);
  if (lo < 0) q = q > -2048 ? q : -2048; /* zero points may be negative, and what is below all integers is the least of them */
  q += zero;
  q = q > lo ? q : lo;
  q = q < hi ? q : hi;
  return HR_RINT_LEAST && lo == 0 ? q : v == v ? q : 0;
}

/* exp: Cody and Waite reduction, polynomial of degree 6 in [sqrt(1/2), sqrt(2)], to whose bits the exponent is added: the float
   where that is neither infinite nor subnormal. Adding 3 * 2^22 rounds to an integer and leaves it in the lowest bits. */
static inline uint32_t hr_exp_bits(float a) {
  const float t = hr_fma(a, 1.44269504f, 12582912.0f), n = t - 12582912.0f;
  float r = hr_fma(n, -0.693145752f, a);
  r = hr_fma(n, -1.42860677e-6f, r);
  float p = 1.38319808e-3f;
  p = hr_fma(p, r, 8.37550033e-3f);
  p = hr_fma(p, r, 4.16689515e-2f);
  p = hr_fma(p, r, 1.66664466e-1f);
  p = hr_fma(p, r, 0.499999851f);
  p = hr_fma(p, r, 1.0f);
  p = hr_fma(p, r, 1.0f);
  return hr_bits_f32(p) + (hr_bits_f32(t) << 23);
}
/* Subnormal results are computed 2^64 times as large. 88.7228317 is the last float whose exponential is finite. */
static inline float hr_exp(float a) {
  const bool low = a < -80.0f;
  float r = hr_f32_bits(hr_exp_bits(a) + (low ? 64u << 23 : 0u)) * (low ? 0x1p-64f : 1.0f);
  r = a < -104.0f ? 0.0f : r;
  return a <= 88.7228317f ? r : a + __builtin_inff();
}
/* Where subnormal floats are zero: -87.3365402 is the first float whose exponential is none. One choice after the other, for
   compilers do what follows twice where one lies in the other. */
static inline float hr_exp_flushed(float a) {
  float r = hr_f32_bits(hr_exp_bits(a));
  r = a < -87.3365402f ? 0.0f : r;
  return a <= 88.7228317f ? r : a + __builtin_inff();
}
/* log((1 + f) 2^i) for f in [-1/3, 1/3): polynomial of degree 9 (after N. Juffa's logf). */
static inline float hr_log_near(float f, float i) {
  const float s = f * f;
  float r = hr_fma(-0.130310059f, f, 0.140869141f), t = hr_fma(-0.121483073f, f, 0.139814854f);
  r = hr_fma(r, s, t);
  r = hr_fma(r, f, -0.166846126f);
  r = hr_fma(r, f, 0.200120345f);
  r = hr_fma(r, f, -0.249996200f);
  r = hr_fma(r, f, 0.333331972f);
  r = hr_fma(r, f, -0.5f);
  r = hr_fma(r, s, f);
  return hr_fma(i, 0.693147182f, r);
}
static inline float hr_log(float a) {
  const bool tiny = a < 1.17549435e-38f;
  const float x = tiny ? a * 8388608.0f : a;
  const uint32_t bits = hr_bits_f32(x);
  const uint32_t e = (bits - 0x3f2aaaabu) & 0xff800000u;
  float r = hr_log_near(hr_f32_bits(bits - e) - 1.0f, hr_fma((float)(int32_t)e, 1.19209290e-7f, tiny ? -23.0f : 0.0f));
  r = a == __builtin_inff() ? a : r;
  r = a < 0 ? __builtin_nanf("") : r;
  r = a == 0 ? -__builtin_inff() : r;
  return a != a ? a : r;
}
/* log1p: 2^k and f with 1 + a = 2^k (1 + f), f exact but for its one rounding, and the polynomial of log (after N. Juffa's log1pf). */
static inline float hr_log1p(float a) {
  const uint32_t e = (hr_bits_f32(1.0f + a) - 0x3f2aaaabu) & 0xff800000u;
  const float f = hr_f32_bits(hr_bits_f32(a) - e) + hr_fma(0.25f, hr_f32_bits(0x40800000u - e), -1.0f);
  const float r = hr_log_near(f, (float)(int32_t)e * 1.19209290e-7f);
  const float v = a < -1.0f ? __builtin_nanf("") : a == -1.0f ? -__builtin_inff() : r;
  return a != 0 && a < __builtin_inff() ? v : a;
}
/* exp(r) - 1 for |r| <= log(2) / 2 */
static inline float hr_expm1_near(float r) {
  float q = 1.3933650354165438e-03f;
  q = hr_fma(q, r, 8.363180121710235e-03f);
  q = hr_fma(q, r, 4.1666464914579496e-02f);
  q = hr_fma(q, r, 1.666657697579496e-01f);
  q = hr_fma(q, r, 5.000000013468379e-01f);
  return hr_fma(q * r, r, r);
}
/* expm1: as exp, but of 2^n (1 + q) the 1 is taken off before it is rounded; of half of it, for 2^128 is infinite. */
static inline float hr_expm1(float a) {
  const float x = a < -20.0f ? -20.0f : a, t = hr_fma(x, 1.44269504f, 12582912.0f), n = t - 12582912.0f;
  float r = hr_fma(n, -0.693145752f, x);
  r = hr_fma(n, -1.42860677e-6f, r);
  const float half = hr_f32_bits((hr_bits_f32(t) << 23) + 0x3f000000u), v = 2.0f * hr_fma(half, hr_expm1_near(r), half - 0.5f);
  return a > 88.7228317f ? __builtin_inff() : __builtin_copysignf(v, a);
}
/* From 10 on tanh is 1: no exponential is large or small. NaN is not far. */
static inline float hr_tanh(float a) {
  const float x = __builtin_fabsf(a), z = a * a;
  float p = -5.70498872745e-3f;
  p = hr_fma(p, z, 2.06390887954e-2f);
  p = hr_fma(p, z, -5.37397155531e-2f);
  p = hr_fma(p, z, 1.33314422036e-1f);
  p = hr_fma(p, z, -3.33332819422e-1f);
  const float near = hr_fma(p * z, x, x);
  const float e = hr_f32_bits(hr_exp_bits(x > 10.0f ? 20.0f : x + x));
  const float far = 1.0f - 2.0f / (e + 1.0f);
  return __builtin_copysignf(x >= 0.625f ? far : near, a);
}
/* erf: 1 - exp(log(erfc(|a|))), the logarithm a polynomial, the exponential by way of expm1 so that nothing cancels near 0. */
static inline float hr_erf(float a) {
  const float x = __builtin_fabsf(a), t = x > 4.0f ? 4.0f : x;
  float g = -9.255875070720426e-06f;
  g = hr_fma(g, t, 1.1763761172665747e-04f);
  g = hr_fma(g, t, -6.328230836116049e-04f);
  g = hr_fma(g, t, 1.6670007012856841e-03f);
  g = hr_fma(g, t, -1.603672780837867e-04f);
  g = hr_fma(g, t, -1.915308096447579e-02f);
  g = hr_fma(g, t, 1.0277783571206825e-01f);
  g = hr_fma(g, t, 6.366193812745929e-01f);
  g = hr_fma(g, t, 1.283791716374119e-01f);
  g = hr_fma(g, t, t); /* -log(erfc(t)) */
  const float n = __builtin_rintf(g * -1.44269504f), f = hr_fma(n, -0.693147182f, -g);
  const float s = hr_f32_bits((uint32_t)((int32_t)(n == n ? n : 0.0f) + 127) << 23);
  return __builtin_copysignf(hr_fma(-s, hr_expm1_near(f), 1.0f - s), a);
}

/* pow and log2 of floats through double: log2 as exponent + atanh series of (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)). */
static inline double hr_log2_wide(double a) { /* a > 0, not subnormal; else something */
  const uint64_t bits = hr_bits_f64(a);
  const int32_t e = ((int32_t)(bits >> 32) - 0x3fe6a09e) >> 20;
  const double m = hr_f64_bits(bits - ((uint64_t)(int64_t)e << 52));
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 0.08312293589217051;
  p = p * z + 0.09070005136287457;
  p = p * z + 0.11111433241391104;
  p = p * z + 0.1428571204983371;
  p = p * z + 0.20000000005664184;
  p = p * z + 0.3333333333333101;
  return (double)e + 2.8853900817779268 * (s + s * z * p);
}
static inline double hr_exp2_wide(double a) { /* |a| < 1000 */
  const double n = __builtin_rint(a), f = a - n;
  double p = 1.3255224878668817e-06;
  p = p * f + 1.5310079402249296e-05;
  p = p * f + 0.00015403455852453838;
  p = p * f + 0.0013333450568000645;
  p = p * f + 0.009618129159402558;
  p = p * f + 0.05550410941205933;
  p = p * f + 0.2402265069581299;
  p = p * f + 0.6931471805459335;
  p = p * f + 1.0;
  return p * hr_f64_bits((uint64_t)(int64_t)((int32_t)n + 1023) << 52);
}
static inline float hr_log2(float a) {
  const float r = (float)hr_log2_wide((double)a);
  const float v = a > 0 ? r : a == 0 ? -__builtin_inff() : __builtin_nanf("");
  return a != a || a == __builtin_inff() ? a : v;
}
/* What only the exponent decides is kept in floats and masks: a loop with one exponent has no conditions of it left, which
 * would keep it from being vectorised. */
static inline float hr_pow(float a, float b) {
  const float x = __builtin_fabsf(a), half = b * 0.5f, whole_b = __builtin_rintf(b);
  const uint32_t odd_sign = whole_b == b ? (__builtin_rintf(half) != half ? 0x80000000u : 0) : 0;
  const float below_zero = whole_b == b ? 1.0f : __builtin_nanf("");
  const float one = __builtin_fabsf(b) == __builtin_inff() ? 1.0f : -1.0f; /* |a| that gives 1 */
  const uint32_t power = b == 0 ? 0 : ~0u;
  const double l = hr_log2_wide((double)(x == 0                  ? 1.0f
                                         : x == __builtin_inff() ? 1.0f
                                                                 : x)) +
                   (x == 0                  ? -__builtin_inf()
                    : x == __builtin_inff() ? __builtin_inf()
                                            : 0.0);
  double t = (double)b * l;
  t = t > 200 ? 200 : t;
  t = t < -200 ? -200 : t;
  float r = (float)hr_exp2_wide(t == t ? t : 0);
  r = t == t ? r : __builtin_nanf("");
  r = x != x ? x : r;
  const float n = r * below_zero;
  r = a < 0 ? (x < __builtin_inff() ? n : r) : r;
  r = hr_f32_bits(hr_bits_f32(r) | (hr_bits_f32(a) & odd_sign)); /* -0 and -inf too */
  r = x == one ? 1.0f : a == 1.0f ? 1.0f : r;
  return hr_f32_bits((hr_bits_f32(r) & power) | (0x3f800000u & ~power));
}
