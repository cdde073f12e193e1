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
  static inline R hr_abs(C a) {                                                                                      \
    const R x = hr_max(hr_abs(a.re), hr_abs(a.im)), y = hr_min(hr_abs(a.re), hr_abs(a.im));                          \
    if (x == 0 || hr_isinf(x)) return x;                                                                             \
    const R q = y / x;                                                                                               \
    return x * hr_sqrt(1 + q * q);                                                                                   \
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
    return a.re >= 0 ? C{t, a.im / (2 * t)} : C{hr_abs(a.im) / (2 * t), a.im < 0 ? -t : t};                          \
  }                                                                                                                  \
  static inline C hr_pow(C a, C b) { return hr_truth(a) ? hr_exp(b * hr_log(a)) : hr_truth(b) ? C{0, 0} : C{1, 0}; } \
  static inline C hr_sin(C a) { return {hr_sin(a.re) * hr_cosh(a.im), hr_cos(a.re) * hr_sinh(a.im)}; }               \
  static inline C hr_cos(C a) { return {hr_cos(a.re) * hr_cosh(a.im), -hr_sin(a.re) * hr_sinh(a.im)}; }
HR_COMPLEX(hr_c64, float)
HR_COMPLEX(hr_c128, double)
static inline hr_c64 hr_to_c64(hr_c128 a) { return {(float)a.re, (float)a.im}; }
static inline hr_c128 hr_to_c128(hr_c64 a) { return {a.re, a.im}; }
