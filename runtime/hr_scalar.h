/* Integer helpers, float → integer conversion and the random generator: plain C, shared by the interpreter and, embedded
 * textually, by generated code, so that both give the same bits. Everything is defined for every input: integers wrap,
 * division by zero gives 0, an out-of-range float saturates and NaN becomes 0. */
#ifndef HEADRACE_RUNTIME_HR_SCALAR_H_
#define HEADRACE_RUNTIME_HR_SCALAR_H_
#include <stdint.h>

/* ---- 64-bit integers; narrower types: compute here, then truncate ---- */
static inline int64_t hr_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t hr_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t hr_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static inline int64_t hr_neg(int64_t a) { return (int64_t)(0 - (uint64_t)a); }
static inline int64_t hr_abs(int64_t a) { return a < 0 ? hr_neg(a) : a; }
static inline int64_t hr_div_trunc(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? hr_neg(a) : a / b; }
/* Known powers of two, as tiles have: without a branch, which would keep a kernel's sums out of registers. */
#define HR_KNOWN_POWER(b) (__builtin_constant_p(b) && (b) > 0 && ((b) & ((b) - 1)) == 0)
static inline int64_t hr_floor_div(int64_t a, int64_t b) {
  if (HR_KNOWN_POWER(b)) return a >> __builtin_ctzll((uint64_t)b);
  if (b == 0) return 0;
  if (b == -1) return hr_neg(a);
  int64_t q = a / b;
  return q - ((a % b != 0) & ((a ^ b) < 0));
}
static inline int64_t hr_floor_mod(int64_t a, int64_t b) { /* sign of the divisor */
  if (HR_KNOWN_POWER(b)) return a & (b - 1);
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r + (b & -(int64_t)((r != 0) & ((r ^ b) < 0)));
}
static inline int64_t hr_rem_trunc(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
} /* fmod on integers */
static inline uint64_t hr_udiv(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
static inline uint64_t hr_umod(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }
/* Shifts by the width or more give what infinitely wide registers would; negative counts give 0. */
static inline int64_t hr_shl(int64_t a, int64_t n) { return n < 0 || n > 63 ? 0 : (int64_t)((uint64_t)a << n); }
static inline int64_t hr_shr(int64_t a, int64_t n) { return n < 0 ? 0 : a >> (n > 63 ? 63 : n); }
static inline uint64_t hr_ushr(uint64_t a, int64_t n) { return n < 0 || n > 63 ? 0 : a >> n; }
static inline int64_t hr_ipow(int64_t base, int64_t e) { /* wraps; a negative exponent truncates 1 / base^|e| */
  if (e < 0) return base == 1 ? 1 : base == -1 ? (e & 1 ? -1 : 1) : 0;
  uint64_t r = 1, b = (uint64_t)base;
  for (; e; e >>= 1, b *= b)
    if (e & 1) r *= b;
  return (int64_t)r;
}
static inline int64_t hr_wrap(int64_t i, int64_t n) { return i < 0 ? i + n : i; }
static inline int64_t hr_reflect(int64_t i, int64_t n) { /* … 2 1 | 0 1 2 … n-1 | n-2 … */
  if (n <= 1) return 0;
  int64_t period = 2 * (n - 1), m = hr_floor_mod(i, period);
  return m < n ? m : period - m;
}
/* Floor-mod of floats, sign of the divisor (numpy.mod). fmod(a, b) comes from the caller's math library. */
static inline double hr_floor_mod_f64(double a, double b) {
  double r = __builtin_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* ---- float → integer: truncated toward zero, then: what fits is exact, what does not saturates; NaN → 0 ---- */
static inline int64_t hr_f64_to_i64(double v) {
  if (v != v) return 0;
  if (v >= 9223372036854775808.0) return INT64_MAX;
  if (v < -9223372036854775808.0) return INT64_MIN;
  return (int64_t)v;
}
static inline uint64_t hr_f64_to_u64(double v) {
  if (!(v > -1.0)) return v != v ? 0 : (uint64_t)hr_f64_to_i64(v); /* negative: wraps like a signed value */
  if (v >= 18446744073709551616.0) return UINT64_MAX;
  return (uint64_t)v;
}
static inline int64_t hr_clamp_i64(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* ---- random numbers: a pure function of (seed, n), so masks can be recomputed ---- */
static inline uint64_t hr_mix64(uint64_t x) { /* splitmix64's finaliser (Steele, Lea, Flood 2014) */
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}
static inline uint64_t hr_random(int64_t seed, int64_t n) {
  uint64_t key = hr_mix64((uint64_t)seed + 0x9e3779b97f4a7c15ull);
  return hr_mix64(key ^ hr_mix64((uint64_t)n * 0x9e3779b97f4a7c15ull + key));
}
/* In [0, 1), a multiple of 2^-24: exact in float. */
static inline float hr_uniform(int64_t seed, int64_t n) { return (float)(hr_random(seed, n) >> 40) * 0x1p-24f; }
/* Standard normal by Box and Muller, two 32-bit halves of one draw. */
static inline float hr_normal(int64_t seed, int64_t n) {
  uint64_t r = hr_random(seed, n);
  double u = ((double)(uint32_t)(r >> 32) + 0.5) * 0x1p-32, v = (double)(uint32_t)r * 0x1p-32;
  return (float)(__builtin_sqrt(-2 * __builtin_log(u)) * __builtin_cos(6.283185307179586 * v));
}
#endif
