/* Trigonometric and hyperbolic functions of floats, and their inverses: branch-free like hr_math.h, so that loops over them
 * vectorise; within 3 ulp (math_test). */
/* sin and cos: the argument modulo pi/2 in double, for every float: 2/pi times a power of two, modulo 4, is kept as a sum of
 * 29 + 29 + 53 bits for each of four ranges, so that products with 24 bits are exact. */
struct hr_turn {
  float r, rest; /* together */
  int32_t quadrant;
};
static inline hr_turn hr_quarter(float a) {
  const float x = __builtin_fabsf(a);
  const bool b1 = x >= 0x1p32f, b2 = x >= 0x1p64f, b3 = x >= 0x1p96f;
  const double y = (double)a * (b3 ? 0x1p-73 : b2 ? 0x1p-41 : b1 ? 0x1p-9 : 1.0);
  const double t1 = y * (b3 ? 0x1.3abe8f8p-2 : b2 ? 0x1.1054a7cp-1 : b1 ? 0x1.f306dc8p+0 : 0x1.45f306ep-1);
  const double t2 = y * (b3 ? 0x1.4d37702p-29 : b2 ? 0x1.84eafa3p-28 : b1 ? 0x1.c882a53p-28 : -0x1.b1bbeadp-32);
  const double t3 = y * (b3   ? 0x1.6d8a5664f10e4p-57
                         : b2 ? 0x1.d4d377036d8a5p-57
                         : b1 ? 0x1.f09d5f47d4d37p-57
                              : -0x1.80f62a0b82b2dp-62);
  const double n1 = __builtin_rint(t1), n2 = __builtin_rint(t2);
  const double f = (t1 - n1) + (t2 - n2) + t3, n3 = __builtin_rint(f);
  const double n = (n1 - 4 * __builtin_rint(n1 * 0.25)) + (n2 - 4 * __builtin_rint(n2 * 0.25)) + n3;
  const double d = (f - n3) * 1.5707963267948966;
  return {(float)d, (float)(d - (float)d), (int32_t)(n == n ? n : 0)};
}
static inline float hr_sine(float r) {
  const float z = r * r;
  float p = hr_fma(-1.9515295891e-4f, z, 8.3321608736e-3f);
  p = hr_fma(p, z, -1.6666654611e-1f);
  return hr_fma(p * z, r, r);
}
static inline float hr_cosine(float r) {
  const float z = r * r;
  float p = hr_fma(2.443315711809948e-5f, z, -1.388731625493765e-3f);
  p = hr_fma(p, z, 4.166664568298827e-2f);
  return hr_fma(p * z, z, hr_fma(-0.5f, z, 1.0f));
}
static inline float hr_sin_of(hr_turn t) {
  const float v = t.quadrant & 1 ? hr_cosine(t.r) : hr_sine(t.r);
  return t.quadrant & 2 ? -v : v;
}
static inline float hr_cos_of(hr_turn t) {
  const float v = t.quadrant & 1 ? hr_sine(t.r) : hr_cosine(t.r);
  return (t.quadrant + 1) & 2 ? -v : v;
}
static inline float hr_sin_far(float a) {
  const float v = hr_sin_of(hr_quarter(a));
  return a == 0 ? a : v;
}
static inline float hr_cos_far(float a) { return hr_cos_of(hr_quarter(a)); }
/* Near 0 the argument modulo pi/2 needs no double (Cody and Waite). */
#if defined(__AVX2__) && defined(__FMA__) && !defined(__clang__)
static inline bool hr_is_near(float a) { return __builtin_fabsf(a) < 0x1p10f; }
static inline hr_turn hr_quarter_near(float a) {
  const float t = hr_fma(a, 0x1.45f306p-1f, 12582912.0f), n = t - 12582912.0f;
  float r = hr_fma(n, -0x1.921fb6p+0f, a);
  r = hr_fma(n, 0x1.777a5cp-25f, r);
  r = hr_fma(n, 0x1.ee59dap-50f, r);
  return {r, 0, (int32_t)hr_bits_f32(t)};
}
static inline float hr_sin_near(float a) {
  const float v = hr_sin_of(hr_quarter_near(a));
  return a == 0 ? a : v;
}
static inline float hr_cos_near(float a) { return hr_cos_of(hr_quarter_near(a)); }
static inline float hr_sin_one(float a) { return hr_is_near(a) ? hr_sin_near(a) : hr_sin_far(a); }
static inline float hr_cos_one(float a) { return hr_is_near(a) ? hr_cos_near(a) : hr_cos_far(a); }
#else
static inline float hr_sin_one(float a) { return hr_sin_far(a); }
static inline float hr_cos_one(float a) { return hr_cos_far(a); }
#endif
/* Lanes can't go different ways, but the vector variant of a function can choose where all of its lanes go the same way (hr_half.h says how
 * g++ finds it). One definition per program, left out of what has neither sin nor cos. */
#if defined(HR_USES_SINE) && defined(__AVX2__) && defined(__FMA__) && !defined(__clang__)
#ifdef __AVX512F__
#define HR_LANES 16
#define HR_VARIANT "_ZGVeN16v_"
#else
#define HR_LANES 8
#define HR_VARIANT "_ZGVdN8v_"
#endif
typedef float hr_floats __attribute__((vector_size(4 * HR_LANES)));
#define HR_SHARED __attribute__((weak, visibility("hidden")))
#define HR_NEAR_OR_FAR(name)                                                                        \
  extern "C" {                                                                                      \
  _Pragma("omp declare simd simdlen(HR_LANES) notinbranch") float hr_##name##_lane(float) noexcept  \
      __attribute__((const, visibility("hidden")));                                                 \
  float hr_##name##_lane_1(float) noexcept __asm__("hr_" #name "_lane");                            \
  HR_SHARED float hr_##name##_lane_1(float a) noexcept { return hr_##name##_one(a); }               \
  hr_floats hr_##name##_lanes(hr_floats) noexcept __asm__(HR_VARIANT "hr_" #name "_lane");          \
  HR_SHARED hr_floats hr_##name##_lanes(hr_floats a) noexcept {                                     \
    union {                                                                                         \
      hr_floats all;                                                                                \
      float at[HR_LANES];                                                                           \
    } x, y;                                                                                         \
    x.all = a;                                                                                      \
    uint32_t far = 0;                                                                               \
    for (int i = 0; i < HR_LANES; ++i) far |= !hr_is_near(x.at[i]);                                 \
    if (__builtin_expect(far, 0))                                                                   \
      for (int i = 0; i < HR_LANES; ++i) y.at[i] = hr_##name##_lane_1(x.at[i]);                     \
    else                                                                                            \
      for (int i = 0; i < HR_LANES; ++i) y.at[i] = hr_##name##_near(x.at[i]);                       \
    return y.all;                                                                                   \
  }                                                                                                 \
  }                                                                                                 \
  static inline float hr_##name(float a) { return hr_##name##_lane(a); }
HR_NEAR_OR_FAR(sin)
HR_NEAR_OR_FAR(cos)
#undef HR_NEAR_OR_FAR
#undef HR_SHARED
#else
static inline float hr_sin(float a) { return hr_sin_one(a); }
static inline float hr_cos(float a) { return hr_cos_one(a); }
#endif
static inline float hr_atan(float a) {
  const float x = __builtin_fabsf(a), t = x > 1.0f ? 1.0f / x : x, z = t * t;
  float p = 0.00292069092f;
  p = hr_fma(p, z, -0.0163679235f);
  p = hr_fma(p, z, 0.0432118513f);
  p = hr_fma(p, z, -0.0755221397f);
  p = hr_fma(p, z, 0.106660046f);
  p = hr_fma(p, z, -0.142110556f);
  p = hr_fma(p, z, 0.199937731f);
  p = hr_fma(p, z, -0.333331525f);
  const float r = hr_fma(p * z, t, t);
  return __builtin_copysignf(x > 1.0f ? (1.57079637f - r) - 4.37113883e-8f : r, a);
}
/* asin(t) for t in [0, 1/2], by its square */
static inline float hr_asin_small(float t, float z) {
  float p = 0.0421663076f;
  p = hr_fma(p, z, 0.0241795145f);
  p = hr_fma(p, z, 0.0454703756f);
  p = hr_fma(p, z, 0.0749529749f);
  p = hr_fma(p, z, 0.166667521f);
  return hr_fma(p * z, t, t);
}
/* Above 1/2 by asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)); beyond 1 the root is NaN. */
static inline float hr_asin(float a) {
  const float x = __builtin_fabsf(a);
  const bool far = x > 0.5f;
  const float z = far ? 0.5f - 0.5f * x : x * x, t = far ? __builtin_sqrtf(z) : x;
  const float r = hr_asin_small(t, z);
  return __builtin_copysignf(far ? (1.57079637f - 2 * r) - 4.37113883e-8f : r, a);
}
static inline float hr_acos(float a) {
  const float x = __builtin_fabsf(a);
  const bool far = x > 0.5f;
  const float z = far ? 0.5f - 0.5f * x : x * x, t = far ? __builtin_sqrtf(z) : x;
  const float r = hr_asin_small(t, z);
  const float near = (1.57079637f - __builtin_copysignf(r, a)) - 4.37113883e-8f;
  const float out = a < 0 ? (3.14159274f - 2 * r) - 8.74227766e-8f : 2 * r;
  return far ? out : near;
}
/* The remainder of hr_quarter carries its rounding error: tan is as steep as 2 per unit there. */
static inline float hr_tan(float a) {
  const hr_turn t = hr_quarter(a);
  const float z = t.r * t.r;
  float p = 0.0043773693f;
  p = hr_fma(p, z, 8.73662575e-05f);
  p = hr_fma(p, z, 0.0108374851f);
  p = hr_fma(p, z, 0.0212815572f);
  p = hr_fma(p, z, 0.0540600345f);
  p = hr_fma(p, z, 0.13332662f);
  p = hr_fma(p, z, 0.333333492f);
  const float v = hr_fma(p * z, t.r, t.r);
  const float c = hr_fma(hr_fma(v, v, 1.0f), t.rest, v);
  return a == 0 ? a : t.quadrant & 1 ? -1.0f / c : c;
}

/* exp(a) / 2 for a >= 0, which reaches as far as sinh and cosh do. */
static inline float hr_half_exp(float a) {
  const float x = a > 90.0f ? 90.0f : a, n = __builtin_rintf(x * 1.44269504f);
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
  return p * hr_f32_bits((uint32_t)(half + 127) << 23) * hr_f32_bits((uint32_t)(k - half + 126) << 23);
}
static inline float hr_cosh(float a) {
  const float e = hr_half_exp(__builtin_fabsf(a));
  return e + 0.25f / e;
}
static inline float hr_sinh(float a) {
  const float x = __builtin_fabsf(a), z = a * a, e = hr_half_exp(x);
  float p = 2.81695134e-06f;
  p = hr_fma(p, z, 0.000198361595f);
  p = hr_fma(p, z, 0.0083333496f);
  p = hr_fma(p, z, 0.166666672f);
  return __builtin_copysignf(x < 1.0f ? hr_fma(p * z, x, x) : e - 0.25f / e, a);
}
static inline float hr_asinh(float a) {
  const float x = __builtin_fabsf(a), z = a * a;
  float p = 0.000673008442f;
  p = hr_fma(p, z, -0.00383437146f);
  p = hr_fma(p, z, 0.0104239089f);
  p = hr_fma(p, z, -0.0191758517f);
  p = hr_fma(p, z, 0.0294531621f);
  p = hr_fma(p, z, -0.0444870107f);
  p = hr_fma(p, z, 0.074987039f);
  p = hr_fma(p, z, -0.166666299f);
  const bool large = x > 1e4f; /* log(2x) */
  const float l = hr_log(large ? x : x + __builtin_sqrtf(z + 1.0f)) + (large ? 0.693147182f : 0.0f);
  return __builtin_copysignf(x < 1.0f ? hr_fma(p * z, x, x) : l, a);
}
static inline float hr_acosh(float a) {
  const float t = a - 1.0f;
  const bool large = a > 1e9f; /* log(2a) */
  const float l = hr_log1p(large ? a : t + __builtin_sqrtf(hr_fma(t, t, 2 * t))) + (large ? 0.693147182f : 0.0f);
  return a < 1.0f ? __builtin_nanf("") : l;
}
static inline float hr_atanh(float a) {
  const float x = __builtin_fabsf(a), z = a * a;
  float p = 0.17669116f;
  p = hr_fma(p, z, 0.0513582602f);
  p = hr_fma(p, z, 0.118237294f);
  p = hr_fma(p, z, 0.14222762f);
  p = hr_fma(p, z, 0.200025186f);
  p = hr_fma(p, z, 0.333333015f);
  const float l = 0.5f * hr_log((1.0f + x) / (1.0f - x));
  return __builtin_copysignf(x < 0.5f ? hr_fma(p * z, x, x) : l, a);
}
