/* Conversions between small float formats and float/double: plain C, no library, usable in the runtime, in the
 * interpreter and, embedded textually, in generated code. Rounding is to nearest even; overflow follows the format
 * (ONNX Cast): to infinity where there is one, else to NaN; `saturate` gives the largest finite value instead. */
#ifndef HEADRACE_RUNTIME_HR_FLOAT_H_
#define HEADRACE_RUNTIME_HR_FLOAT_H_
#include <stdint.h>

static inline uint32_t hr_bits_f32(float f) {
  uint32_t u;
  __builtin_memcpy(&u, &f, 4);
  return u;
}
static inline float hr_f32_bits(uint32_t u) {
  float f;
  __builtin_memcpy(&f, &u, 4);
  return f;
}
static inline uint64_t hr_bits_f64(double d) {
  uint64_t u;
  __builtin_memcpy(&u, &d, 8);
  return u;
}
static inline double hr_f64_bits(uint64_t u) {
  double d;
  __builtin_memcpy(&d, &u, 8);
  return d;
}

/* ---- f16 and bf16 from and to float: selects instead of branches, so that loops over them vectorise ---- */
static inline float hr_f16_to_f32(uint16_t h) {
  uint32_t o = (uint32_t)(h & 0x7fffu) << 13, exp = o & 0x0f800000u;
  uint32_t normal = o + (112u << 23);
  uint32_t special = normal + (112u << 23);                                             /* inf, nan */
  uint32_t tiny = hr_bits_f32(hr_f32_bits(o + (113u << 23)) - hr_f32_bits(113u << 23)); /* zero, subnormal */
  uint32_t r = exp == 0x0f800000u ? special : exp == 0 ? tiny : normal;
  return hr_f32_bits(r | (uint32_t)(h & 0x8000u) << 16);
}
static inline uint16_t hr_f32_to_f16(float f) {
  uint32_t u = hr_bits_f32(f), x = u & 0x7fffffffu;
  uint32_t big = x > 0x7f800000u ? 0x7e00u : 0x7c00u;
  uint32_t tiny = hr_bits_f32(hr_f32_bits(x) + 0.5f) - 0x3f000000u;
  uint32_t normal = (x - (112u << 23) + 0xfffu + ((x >> 13) & 1)) >> 13;
  uint32_t r = x >= (143u << 23) ? big : x < (113u << 23) ? tiny : normal;
  return (uint16_t)(r | (u >> 16 & 0x8000u));
}
static inline float hr_bf16_to_f32(uint16_t b) { return hr_f32_bits((uint32_t)b << 16); }
/* In 32 bits up to the end, for what is widened again is then a mask, and lanes keep their width: a choice between results would be one of
 * 16 bits. A NaN becomes a quiet one. */
static inline uint16_t hr_f32_to_bf16(float f) {
  uint32_t u = hr_bits_f32(f);
  uint32_t more = f == f ? 0x7fffu + ((u >> 16) & 1) : ~u & 0x00400000u;
  return (uint16_t)((u + more) >> 16);
}

/* ---- any format ---- */
typedef struct hr_float_format {
  int mantissa, bias;
  uint32_t sign_bit;   /* 0: the format has no sign */
  uint32_t max_finite; /* code of the largest finite value */
  uint32_t overflow;   /* code of what lies beyond it */
  uint32_t nan;        /* code of NaN */
  int negative_zero;   /* 0: there is one zero, and `nan` stands where -0 would be */
} hr_float_format;

/* Nearest code (ties to even) of a double: one rounding, whatever the format. */
static inline uint32_t hr_encode(const hr_float_format* f, double v, int saturate) {
  uint64_t bits = hr_bits_f64(v);
  uint32_t sign = bits >> 63 ? f->sign_bit : 0;
  double a = hr_f64_bits(bits & 0x7fffffffffffffffull);
  if (a != a) return f->negative_zero ? f->nan | sign : f->nan;
  uint32_t code;
  int emin = 1 - f->bias, e = (int)(bits >> 52 & 2047) - 1023;
  if (e == 1024) {
    code = f->max_finite + 1;
  } else {
    if (e < emin) e = emin;
    double scaled = a * hr_f64_bits((uint64_t)(1023 + f->mantissa - e) << 52);
    double q = (scaled + 4503599627370496.0) - 4503599627370496.0;
    uint64_t c = ((uint64_t)(e - emin) << f->mantissa) + (uint64_t)q;
    code = c > f->max_finite ? f->max_finite + 1 : (uint32_t)c;
  }
  if (code > f->max_finite) {
    if (saturate) code = f->max_finite;
    else if (f->overflow == f->nan) return f->negative_zero ? f->nan | sign : f->nan;
    else code = f->overflow;
  }
  if (code == 0 && !f->negative_zero) return 0;
  return code | sign;
}
static inline double hr_decode(const hr_float_format* f, uint32_t bits) {
  uint32_t code = bits & ~f->sign_bit;
  if (!f->negative_zero && bits == f->nan) return __builtin_nan("");
  if (code > f->max_finite)
    return code == f->overflow && f->overflow != f->nan ? (bits & f->sign_bit ? -__builtin_inf() : __builtin_inf())
                                                        : __builtin_nan("");
  uint32_t e = code >> f->mantissa;
  uint32_t q = (code & ((1u << f->mantissa) - 1)) + (e ? 1u << f->mantissa : 0);
  double v = q * hr_f64_bits((uint64_t)(1023 + (e ? (int)e : 1) - f->bias - f->mantissa) << 52);
  return bits & f->sign_bit ? -v : v;
}

/*                                                   mant bias  sign    max     overflow  nan   -0 */
static const hr_float_format hr_format_f16 = {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7e00, 1};
static const hr_float_format hr_format_bf16 = {7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0, 1};
static const hr_float_format hr_format_f8e4m3fn = {3, 7, 0x80, 0x7e, 0x7f, 0x7f, 1};
static const hr_float_format hr_format_f8e4m3fnuz = {3, 8, 0x80, 0x7f, 0x80, 0x80, 0};
static const hr_float_format hr_format_f8e5m2 = {2, 15, 0x80, 0x7b, 0x7c, 0x7f, 1};
static const hr_float_format hr_format_f8e5m2fnuz = {2, 16, 0x80, 0x7f, 0x80, 0x80, 0};
static const hr_float_format hr_format_f4e2m1 = {1, 1, 0x8, 0x7, 0x7, 0x8, 1};

#define HR_SMALL_FLOAT(name, type)                                                                        \
  static inline float hr_##name##_to_f32(type b) { return (float)hr_decode(&hr_format_##name, b); }       \
  static inline type hr_f32_to_##name(float v) { return (type)hr_encode(&hr_format_##name, v, 0); }       \
  static inline type hr_f32_to_##name##_sat(float v) { return (type)hr_encode(&hr_format_##name, v, 1); } \
  static inline type hr_f64_to_##name(double v) { return (type)hr_encode(&hr_format_##name, v, 0); }      \
  static inline type hr_f64_to_##name##_sat(double v) { return (type)hr_encode(&hr_format_##name, v, 1); }
HR_SMALL_FLOAT(f8e4m3fn, uint8_t)
HR_SMALL_FLOAT(f8e4m3fnuz, uint8_t)
HR_SMALL_FLOAT(f8e5m2, uint8_t)
HR_SMALL_FLOAT(f8e5m2fnuz, uint8_t)
#undef HR_SMALL_FLOAT
static inline uint16_t hr_f64_to_f16(double v) { return (uint16_t)hr_encode(&hr_format_f16, v, 0); }
static inline uint16_t hr_f64_to_f16_sat(double v) { return (uint16_t)hr_encode(&hr_format_f16, v, 1); }
static inline uint16_t hr_f32_to_f16_sat(float v) { return (uint16_t)hr_encode(&hr_format_f16, v, 1); }
static inline uint16_t hr_f64_to_bf16(double v) { return (uint16_t)hr_encode(&hr_format_bf16, v, 0); }
static inline uint16_t hr_f64_to_bf16_sat(double v) { return (uint16_t)hr_encode(&hr_format_bf16, v, 1); }
static inline uint16_t hr_f32_to_bf16_sat(float v) { return (uint16_t)hr_encode(&hr_format_bf16, v, 1); }

/* f4e2m1 has neither infinity nor NaN: everything beyond 6 is 6, NaN is -0. */
static inline float hr_f4e2m1_to_f32(uint8_t b) {
  uint32_t e = b >> 1 & 3, m = b & 1;
  float v = e ? (float)((2 + m) << e) * 0.25f : 0.5f * (float)m;
  return b & 8 ? -v : v;
}
static inline uint8_t hr_f64_to_f4e2m1(double v) { return (uint8_t)(v != v ? 8 : hr_encode(&hr_format_f4e2m1, v, 1)); }
static inline uint8_t hr_f64_to_f4e2m1_sat(double v) { return hr_f64_to_f4e2m1(v); }
static inline uint8_t hr_f32_to_f4e2m1(float v) { return hr_f64_to_f4e2m1(v); }
static inline uint8_t hr_f32_to_f4e2m1_sat(float v) { return hr_f64_to_f4e2m1(v); }

/* f8e8m0: the powers of two 2^-127 … 2^127 and NaN (255); no zero, no sign. To the nearest power, ties up; anything
 * smaller than the smallest becomes the smallest; negative values are NaN. */
static inline double hr_f8e8m0_to_f64(uint8_t b) {
  return b == 255 ? __builtin_nan("") : hr_f64_bits((uint64_t)(b + 896) << 52);
}
static inline float hr_f8e8m0_to_f32(uint8_t b) { return (float)hr_f8e8m0_to_f64(b); }
static inline uint8_t hr_encode_f8e8m0(double v, int saturate) {
  if (v != v || v < 0) return 255;
  uint64_t bits = hr_bits_f64(v) & 0x7fffffffffffffffull;
  int e = (int)((bits + 0x8000000000000ull) >> 52) - 896; /* half a power carries into the exponent */
  if (e < 0) return 0;
  if (e > 254) return saturate ? 254 : 255;
  return (uint8_t)e;
}
static inline uint8_t hr_f64_to_f8e8m0(double v) { return hr_encode_f8e8m0(v, 0); }
static inline uint8_t hr_f64_to_f8e8m0_sat(double v) { return hr_encode_f8e8m0(v, 1); }
static inline uint8_t hr_f32_to_f8e8m0(float v) { return hr_encode_f8e8m0(v, 0); }
static inline uint8_t hr_f32_to_f8e8m0_sat(float v) { return hr_encode_f8e8m0(v, 1); }
#endif
