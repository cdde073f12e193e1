/* Complex numbers: a pair of floats or doubles and the functions of them that programs have. */
#define HR_COMPLEX(C, R)                                                                                             \
  struct C {                                                                                                         \
    R re, im;                                                                                                        \
  };                                                                                                                 \
  static inline C operator+(C a, C b) { return {a.re + b.re, a.im + b.im}; }                                         \
  static inline C operator-(C a, C b) { return {a.re - b.re, a.im - b.im}; }                                         \
  static inline C operator-(C a) { return {-a.re, -a.im}; }                                                          \
  static inline C operator*(C a, C b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }             \
  static inline C operator/(C a, C b) {                                                                              \
    if (hr_abs(b.re) >= hr_abs(b.im)) {                                                                              \
      const R r = b.im / b.re, d = b.re + b.im * r;                                                                  \
      return {(a.re + a.im * r) / d, (a.im - a.re * r) / d};                                                         \
    }                                                                                                                \
    const R r = b.re / b.im, d = b.im + b.re * r;                                                                    \
    return {(a.re * r + a.im) / d, (a.im * r - a.re) / d};                                                           \
  }                                                                                                                  \
  static inline bool operator==(C a, C b) { return a.re == b.re && a.im == b.im; }                                   \
  static inline bool operator!=(C a, C b) { return !(a == b); }                                                      \
  static inline bool hr_truth(C a) { return a.re != 0 || a.im != 0; }                                                \
  static inline R hr_real(C a) { return a.re; }                                                                      \
  static inline R hr_imag(C a) { return a.im; }                                                                      \
  static inline C hr_conj(C a) { return {a.re, -a.im}; }                                                             \
  static inline R hr_abs(C a) { /* squares of what is very large or very small are taken of less, or of more */      \
    const R most = hr_max(hr_abs(a.re), hr_abs(a.im)), large = sizeof(R) == 4 ? 0x1p64 : 0x1p512;                    \
    const bool over = most > large / 4, under = most * large < 0x1p50;                                               \
    const R down = over ? 1 / large : under ? large : 1, up = over ? large : under ? 1 / large : 1;                  \
    const R re = a.re * down, im = a.im * down, length = hr_sqrt(re * re + im * im) * up;                            \
    return hr_isinf(a.re) || hr_isinf(a.im) ? (R)__builtin_inf() : length;                                           \
  }                                                                                                                  \
  static inline C hr_exp(C a) {                                                                                      \
    const R e = hr_exp(a.re);                                                                                        \
    return {e * hr_cos(a.im), e * hr_sin(a.im)};                                                                     \
  }                                                                                                                  \
  static inline C hr_log(C a) { return {hr_log(hr_abs(a)), hr_atan2(a.im, a.re)}; }                                  \
  static inline C hr_sqrt(C a) {                                                                                     \
    const R m = hr_abs(a);                                                                                           \
    if (m == 0) return {0, a.im};                                                                                    \
    const R t = hr_sqrt((hr_abs(a.re) + m) / 2);                                                                     \
    return a.re >= 0 ? C{t, a.im / (2 * t)} : C{hr_abs(a.im) / (2 * t), (R)__builtin_copysign(t, a.im)};             \
  }                                                                                                                  \
  static inline C hr_pow(C a, C b) { return hr_truth(a) ? hr_exp(b * hr_log(a)) : hr_truth(b) ? C{0, 0} : C{1, 0}; } \
  static inline C hr_sin(C a) { return {hr_sin(a.re) * hr_cosh(a.im), hr_cos(a.re) * hr_sinh(a.im)}; }               \
  static inline C hr_cos(C a) { return {hr_cos(a.re) * hr_cosh(a.im), -hr_sin(a.re) * hr_sinh(a.im)}; }              \
  static inline bool hr_isinf(C a) { return hr_isinf(a.re) || hr_isinf(a.im); }                                      \
  static inline C hr_rsqrt(C a) { return C{1, 0} / hr_sqrt(a); }                                                     \
  static inline C hr_log2(C a) { return {hr_log2(hr_abs(a)), hr_atan2(a.im, a.re) * (R)1.4426950408889634}; }        \
  static inline C hr_expm1(C a) { /* the cosine's distance from 1 by half the angle's sine */                        \
    const R h = hr_sin(a.im / 2);                                                                                    \
    return {hr_expm1(a.re) * hr_cos(a.im) - 2 * h * h, hr_exp(a.re) * hr_sin(a.im)};                                 \
  }                                                                                                                  \
  static inline C hr_log1p(C a) {                                                                                    \
    const C b = {1 + a.re, a.im};                                                                                    \
    const R near = hr_log1p(a.re * (2 + a.re) + a.im * a.im) / 2;                                                    \
    return {hr_abs(a) < (R)0.5 ? near : hr_log(hr_abs(b)), hr_atan2(b.im, b.re)};                                    \
  }                                                                                                                  \
  static inline C hr_sinh(C a) { return {hr_sinh(a.re) * hr_cos(a.im), hr_cosh(a.re) * hr_sin(a.im)}; }              \
  static inline C hr_cosh(C a) { return {hr_cosh(a.re) * hr_cos(a.im), hr_sinh(a.re) * hr_sin(a.im)}; }              \
  /* Kahan, Branch cuts for complex elementary functions (1987), from here on. */                                    \
  static inline C hr_tanh(C a) {                                                                                     \
    const R x = hr_abs(a.re);                                                                                        \
    if (x > 20) return {(R)__builtin_copysign(1, a.re), 4 * hr_sin(a.im) * hr_cos(a.im) * hr_exp(-2 * x)};           \
    const R t = hr_tan(a.im), b = 1 + t * t, s = hr_sinh(a.re), d = 1 + b * s * s;                                   \
    return {b * hr_sqrt(1 + s * s) * s / d, t / d};                                                                  \
  }                                                                                                                  \
  static inline C hr_asin(C a) {                                                                                     \
    const C s = hr_sqrt(C{1 - a.re, -a.im}), t = hr_sqrt(C{1 + a.re, a.im});                                         \
    return {hr_atan2(a.re, s.re * t.re - s.im * t.im), hr_asinh(s.re * t.im - s.im * t.re)};                         \
  }                                                                                                                  \
  static inline C hr_acos(C a) {                                                                                     \
    const C s = hr_sqrt(C{1 - a.re, -a.im}), t = hr_sqrt(C{1 + a.re, a.im});                                         \
    return {2 * hr_atan2(s.re, t.re), hr_asinh(t.re * s.im - t.im * s.re)};                                          \
  }                                                                                                                  \
  static inline C hr_acosh(C a) {                                                                                    \
    const C s = hr_sqrt(C{a.re - 1, a.im}), t = hr_sqrt(C{a.re + 1, a.im});                                          \
    return {hr_asinh(s.re * t.re + s.im * t.im), 2 * hr_atan2(s.im, t.re)};                                          \
  }                                                                                                                  \
  static inline C hr_atanh(C a) {                                                                                    \
    const R m = 1 - a.re, y = a.im * a.im;                                                                           \
    return {hr_log1p(4 * a.re / (m * m + y)) / 4, hr_atan2(2 * a.im, m * (1 + a.re) - y) / 2};                       \
  }                                                                                                                  \
  static inline C hr_tan(C a) {                                                                                      \
    const C t = hr_tanh(C{-a.im, a.re});                                                                             \
    return {t.im, -t.re};                                                                                            \
  }                                                                                                                  \
  static inline C hr_asinh(C a) {                                                                                    \
    const C t = hr_asin(C{-a.im, a.re});                                                                             \
    return {t.im, -t.re};                                                                                            \
  }                                                                                                                  \
  static inline C hr_atan(C a) {                                                                                     \
    const C t = hr_atanh(C{-a.im, a.re});                                                                            \
    return {t.im, -t.re};                                                                                            \
  }
HR_COMPLEX(hr_c64, float)
HR_COMPLEX(hr_c128, double)
static inline hr_c64 hr_to_c64(hr_c128 a) { return {(float)a.re, (float)a.im}; }
static inline hr_c128 hr_to_c128(hr_c64 a) { return {a.re, a.im}; }
