/* Scalar functions of expressions, overloaded by type. The float ones below are branch-free, so that loops over them
 * vectorise, and give the same bits in a vector as alone. NaN propagates through all of them. */
#ifdef __FMA__
static inline float hr_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
static inline float hr_fma(float a, float b, float c) { return a * b + c; }
#endif

/* Library functions under other names, so that no identity between them is assumed by the optimiser. */
#define HR_LIBM1(name)                                                     \
  extern "C" float hr_libm_##name(float) noexcept __asm__(#name "f");      \
  extern "C" double hr_libm_##name##_d(double) noexcept __asm__(#name);
#define HR_LIBM2(name)                                                             \
  extern "C" float hr_libm_##name(float, float) noexcept __asm__(#name "f");      \
  extern "C" double hr_libm_##name##_d(double, double) noexcept __asm__(#name);
HR_LIBM1(exp) HR_LIBM1(expm1) HR_LIBM1(log) HR_LIBM1(log1p) HR_LIBM1(log2) HR_LIBM1(sin) HR_LIBM1(cos) HR_LIBM1(tan)
HR_LIBM1(asin) HR_LIBM1(acos) HR_LIBM1(atan) HR_LIBM1(sinh) HR_LIBM1(cosh) HR_LIBM1(tanh) HR_LIBM1(asinh)
HR_LIBM1(acosh) HR_LIBM1(atanh) HR_LIBM1(erf) HR_LIBM2(pow) HR_LIBM2(atan2) HR_LIBM2(fmod)
#define HR_BOTH1(name)                                                       \
  static inline float hr_##name(float a) { return hr_libm_##name(a); }      \
  static inline double hr_##name(double a) { return hr_libm_##name##_d(a); }
#define HR_DOUBLE1(name) static inline double hr_##name(double a) { return hr_libm_##name##_d(a); }
#define HR_BOTH2(name)                                                                   \
  static inline float hr_##name(float a, float b) { return hr_libm_##name(a, b); }      \
  static inline double hr_##name(double a, double b) { return hr_libm_##name##_d(a, b); }
HR_BOTH1(log2) HR_BOTH1(sin) HR_BOTH1(cos) HR_BOTH1(tan) HR_BOTH1(asin) HR_BOTH1(acos) HR_BOTH1(atan) HR_BOTH1(sinh)
HR_BOTH1(cosh) HR_BOTH1(asinh) HR_BOTH1(acosh) HR_BOTH1(atanh) HR_BOTH2(pow) HR_BOTH2(atan2) HR_BOTH2(fmod)
HR_DOUBLE1(exp) HR_DOUBLE1(expm1) HR_DOUBLE1(log) HR_DOUBLE1(log1p) HR_DOUBLE1(tanh) HR_DOUBLE1(erf)

static inline float hr_sqrt(float a) { return __builtin_sqrtf(a); }
static inline double hr_sqrt(double a) { return __builtin_sqrt(a); }
static inline float hr_rsqrt(float a) { return 1.0f / __builtin_sqrtf(a); }
static inline double hr_rsqrt(double a) { return 1.0 / __builtin_sqrt(a); }
#define HR_ROUND(name, builtin)                                                     \
  static inline float hr_##name(float a) { return __builtin_##builtin##f(a); }      \
  static inline double hr_##name(double a) { return __builtin_##builtin(a); }       \
  template <typename T> static inline T hr_##name(T a) { return a; }
HR_ROUND(floor, floor) HR_ROUND(ceil, ceil) HR_ROUND(trunc, trunc) HR_ROUND(rint, rint)
static inline float hr_abs(float a) { return __builtin_fabsf(a); }
static inline double hr_abs(double a) { return __builtin_fabs(a); }
static inline int32_t hr_abs(int32_t a) { return a < 0 ? (int32_t)(0 - (uint32_t)a) : a; }
static inline int16_t hr_abs(int16_t a) { return (int16_t)(a < 0 ? -a : a); }
static inline int8_t hr_abs(int8_t a) { return (int8_t)(a < 0 ? -a : a); }
static inline uint8_t hr_abs(uint8_t a) { return a; }
static inline uint16_t hr_abs(uint16_t a) { return a; }
static inline uint32_t hr_abs(uint32_t a) { return a; }
static inline uint64_t hr_abs(uint64_t a) { return a; }
template <typename T> static inline T hr_hold(T a) { return a; }
template <typename T> static inline T hr_sign(T a) { return a > (T)0 ? (T)1 : a < (T)0 ? (T)-1 : a; }
template <typename T> static inline T hr_max(T a, T b) { return (a > b) | (a != a) ? a : b; }
template <typename T> static inline T hr_min(T a, T b) { return (a < b) | (a != a) ? a : b; }
template <typename T> static inline T hr_clamp(T a, T lo, T hi) { return hr_min(hr_max(a, lo), hi); }
#pragma omp declare reduction(hr_max : float : omp_out = hr_max(omp_out, omp_in)) initializer(omp_priv = -__builtin_inff())
#pragma omp declare reduction(hr_max : double : omp_out = hr_max(omp_out, omp_in)) initializer(omp_priv = -__builtin_inf())
#pragma omp declare reduction(hr_min : float : omp_out = hr_min(omp_out, omp_in)) initializer(omp_priv = __builtin_inff())
#pragma omp declare reduction(hr_min : double : omp_out = hr_min(omp_out, omp_in)) initializer(omp_priv = __builtin_inf())
template <typename T> static inline bool hr_isnan(T a) { return a != a; }
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
static inline float hr_mod(float a, float b) {
  const float r = hr_libm_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline double hr_mod(double a, double b) { return hr_floor_mod_f64(a, b); }
static inline int64_t hr_wrap_u2(int64_t v) { return v & 3; }
static inline int64_t hr_wrap_u4(int64_t v) { return v & 15; }
static inline int64_t hr_wrap_i2(int64_t v) { return (int64_t)((uint64_t)v << 62) >> 62; }
static inline int64_t hr_wrap_i4(int64_t v) { return (int64_t)((uint64_t)v << 60) >> 60; }
static inline uint64_t hr_sat_u64(double v) { return v > 0 ? hr_f64_to_u64(v) : 0; }

/* exp: Cody and Waite reduction, polynomial of degree 6, two-step scaling (reaches the subnormals). */
static inline float hr_exp(float a) {
  float x = a > 89.0f ? 89.0f : a;
  x = x < -104.0f ? -104.0f : x;
  const float n = __builtin_rintf(x * 1.44269504f);
  float r = hr_fma(n, -0.693145752f, x);
  r = hr_fma(n, -1.42860677e-6f, r);
  float p = 1.38319808e-3f;
  p = hr_fma(p, r, 8.37550033e-3f);
  p = hr_fma(p, r, 4.16689515e-2f);
  p = hr_fma(p, r, 1.66664466e-1f);
  p = hr_fma(p, r, 0.499999851f);
  p = hr_fma(p, r, 1.0f);
  p = hr_fma(p, r, 1.0f);
  const int32_t k = (int32_t)(n == n ? n : 0.0f), half = k >> 1;
  return p * hr_f32_bits((uint32_t)(half + 127) << 23) * hr_f32_bits((uint32_t)(k - half + 127) << 23);
}
/* log: mantissa in [2/3, 4/3), polynomial of degree 9 (after N. Juffa's logf). */
static inline float hr_log(float a) {
  const bool tiny = a < 1.17549435e-38f;
  const float x = tiny ? a * 8388608.0f : a;
  const uint32_t bits = hr_bits_f32(x);
  const uint32_t e = (bits - 0x3f2aaaabu) & 0xff800000u;
  const float m = hr_f32_bits(bits - e);
  const float i = hr_fma((float)(int32_t)e, 1.19209290e-7f, tiny ? -23.0f : 0.0f);
  const float f = m - 1.0f, s = f * f;
  float r = hr_fma(-0.130310059f, f, 0.140869141f), t = hr_fma(-0.121483073f, f, 0.139814854f);
  r = hr_fma(r, s, t);
  r = hr_fma(r, f, -0.166846126f);
  r = hr_fma(r, f, 0.200120345f);
  r = hr_fma(r, f, -0.249996200f);
  r = hr_fma(r, f, 0.333331972f);
  r = hr_fma(r, f, -0.5f);
  r = hr_fma(r, s, f);
  r = hr_fma(i, 0.693147182f, r);
  r = a == __builtin_inff() ? a : r;
  r = a < 0 ? __builtin_nanf("") : r;
  r = a == 0 ? -__builtin_inff() : r;
  return a != a ? a : r;
}
static inline float hr_log1p(float a) {  /* Kahan: the error of 1 + a divides out */
  const float u = 1.0f + a, d = u - 1.0f;
  const float r = hr_log(u) * (a / d);
  return d == 0 ? a : a == __builtin_inff() || a == -1.0f ? hr_log(u) : r;
}
static inline float hr_expm1(float a) {
  const float u = hr_exp(a), d = u - 1.0f;
  float p = 2.75573192e-6f;  /* Taylor near 0 */
  p = hr_fma(p, a, 2.48015873e-5f);
  p = hr_fma(p, a, 1.98412698e-4f);
  p = hr_fma(p, a, 1.38888889e-3f);
  p = hr_fma(p, a, 8.33333333e-3f);
  p = hr_fma(p, a, 4.16666667e-2f);
  p = hr_fma(p, a, 1.66666667e-1f);
  p = hr_fma(p, a, 0.5f);
  const float s = hr_fma(p * a, a, a);
  return __builtin_fabsf(a) < 0.5f ? s : d;
}
static inline float hr_tanh(float a) {
  const float x = __builtin_fabsf(a), z = a * a;
  float p = -5.70498872745e-3f;
  p = hr_fma(p, z, 2.06390887954e-2f);
  p = hr_fma(p, z, -5.37397155531e-2f);
  p = hr_fma(p, z, 1.33314422036e-1f);
  p = hr_fma(p, z, -3.33332819422e-1f);
  const float near = hr_fma(p * z, a, a);
  const float e = hr_exp(x + x);
  const float far = __builtin_copysignf(1.0f - 2.0f / (e + 1.0f), a);
  return x < 0.625f ? near : a != a ? a : far;
}
static inline float hr_erf(float a) {  /* after N. Juffa's erff */
  const float t = __builtin_fabsf(a), s = a * a;
  float r = hr_fma(-1.72853470e-5f, t, 3.83197126e-4f);
  const float u = hr_fma(-3.88396438e-3f, t, 2.42546219e-2f);
  r = hr_fma(r, s, u);
  r = hr_fma(r, t, -1.06777877e-1f);
  r = hr_fma(r, t, -6.34846687e-1f);
  r = hr_fma(r, t, -1.28717512e-1f);
  r = hr_fma(r, t, -t);
  const float far = __builtin_copysignf(1.0f - hr_exp(r), a);
  float q = -5.96761703e-4f;
  q = hr_fma(q, s, 4.99119423e-3f);
  q = hr_fma(q, s, -2.67681349e-2f);
  q = hr_fma(q, s, 1.12819925e-1f);
  q = hr_fma(q, s, -3.76125336e-1f);
  q = hr_fma(q, s, 1.28379166e-1f);
  const float near = hr_fma(q, a, a);
  return t > 0.927734375f ? (t > 4.0f ? __builtin_copysignf(1.0f, a) : far) : a != a ? a : near;
}

/* ---- complex numbers ---- */
#define HR_COMPLEX(C, R)                                                                                              \
  struct C { R re, im; };                                                                                             \
  static inline C operator+(C a, C b) { return {a.re + b.re, a.im + b.im}; }                                          \
  static inline C operator-(C a, C b) { return {a.re - b.re, a.im - b.im}; }                                          \
  static inline C operator-(C a) { return {-a.re, -a.im}; }                                                           \
  static inline C operator*(C a, C b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }              \
  static inline C operator/(C a, C b) {                                                                               \
    if (hr_abs(b.re) >= hr_abs(b.im)) {                                                                               \
      const R r = b.im / b.re, d = b.re + b.im * r;                                                                   \
      return {(a.re + a.im * r) / d, (a.im - a.re * r) / d};                                                          \
    }                                                                                                                 \
    const R r = b.re / b.im, d = b.im + b.re * r;                                                                     \
    return {(a.re * r + a.im) / d, (a.im * r - a.re) / d};                                                            \
  }                                                                                                                   \
  static inline bool operator==(C a, C b) { return a.re == b.re && a.im == b.im; }                                    \
  static inline bool operator!=(C a, C b) { return !(a == b); }                                                       \
  static inline bool hr_truth(C a) { return a.re != 0 || a.im != 0; }                                                 \
  static inline R hr_real(C a) { return a.re; }                                                                       \
  static inline R hr_imag(C a) { return a.im; }                                                                       \
  static inline C hr_conj(C a) { return {a.re, -a.im}; }                                                              \
  static inline R hr_abs(C a) {                                                                                       \
    const R x = hr_max(hr_abs(a.re), hr_abs(a.im)), y = hr_min(hr_abs(a.re), hr_abs(a.im));                           \
    if (x == 0 || hr_isinf(x)) return x;                                                                              \
    const R q = y / x;                                                                                                \
    return x * hr_sqrt(1 + q * q);                                                                                    \
  }                                                                                                                   \
  static inline C hr_exp(C a) {                                                                                       \
    const R e = hr_exp(a.re);                                                                                         \
    return {e * hr_cos(a.im), e * hr_sin(a.im)};                                                                      \
  }                                                                                                                   \
  static inline C hr_log(C a) { return {hr_log(hr_abs(a)), hr_atan2(a.im, a.re)}; }                                   \
  static inline C hr_sqrt(C a) {                                                                                      \
    const R m = hr_abs(a);                                                                                            \
    if (m == 0) return {0, a.im};                                                                                     \
    const R t = hr_sqrt((hr_abs(a.re) + m) / 2);                                                                      \
    return a.re >= 0 ? C{t, a.im / (2 * t)} : C{hr_abs(a.im) / (2 * t), a.im < 0 ? -t : t};                           \
  }                                                                                                                   \
  static inline C hr_pow(C a, C b) { return hr_truth(a) ? hr_exp(b * hr_log(a)) : hr_truth(b) ? C{0, 0} : C{1, 0}; }   \
  static inline C hr_sin(C a) { return {hr_sin(a.re) * hr_cosh(a.im), hr_cos(a.re) * hr_sinh(a.im)}; }                \
  static inline C hr_cos(C a) { return {hr_cos(a.re) * hr_cosh(a.im), -hr_sin(a.re) * hr_sinh(a.im)}; }
HR_COMPLEX(hr_c64, float)
HR_COMPLEX(hr_c128, double)
static inline hr_c64 hr_to_c64(hr_c128 a) { return {(float)a.re, (float)a.im}; }
static inline hr_c128 hr_to_c128(hr_c64 a) { return {a.re, a.im}; }
