/* Small factors in groups, added to a wide sum: dot2 of bf16 and dot4 of 8-bit integers, one by one and for lanes of sums that
 * lie side by side. Of lanes all have the same a (one group) and their own b (a group each, one after the other). */
static inline float hr_dot2(float a0, float b0, float a1, float b1, float s) { return hr_fma(a0, b0, hr_fma(a1, b1, s)); }
static inline int32_t hr_dot4(int32_t a0, int32_t b0, int32_t a1, int32_t b1, int32_t a2, int32_t b2, int32_t a3, int32_t b3, int32_t s) {
  return (int32_t)((uint32_t)s + (uint32_t)(a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3));
}
static inline uint32_t hr_group(uint16_t a0, uint16_t a1) { return (uint32_t)a1 << 16 | a0; }
static inline uint32_t hr_group(uint8_t a0, uint8_t a1, uint8_t a2, uint8_t a3) {
  return (uint32_t)a3 << 24 | (uint32_t)a2 << 16 | (uint32_t)a1 << 8 | a0;
}
/* As it lies in memory, where numbers begin with their lowest byte. */
typedef uint32_t hr_group_of __attribute__((may_alias, aligned(1)));
static inline uint32_t hr_group_at(const uint16_t* a) { return *(const hr_group_of*)a; }
static inline uint32_t hr_group_at(const uint8_t* a) { return *(const hr_group_of*)a; }
#define HR_LANES static inline __attribute__((always_inline)) void
typedef uint32_t hr_pair_at __attribute__((may_alias, aligned(2)));
/* Exact with denormals. */
template <int n>
HR_LANES hr_dot2_lanes_exact(float* t, uint32_t a, const uint16_t* b) {
  const float a0 = hr_f32_bits(a << 16), a1 = hr_f32_bits(a & 0xffff0000u);
#pragma omp simd
  for (int u = 0; u < n; ++u) {
    const uint32_t pair = *(const hr_pair_at*)(b + 2 * u);
    t[u] = hr_dot2(a0, hr_f32_bits(pair << 16), a1, hr_f32_bits(pair & 0xffff0000u), t[u]);
  }
}
#if defined(__AVX512F__) && defined(__x86_64__)
typedef float hr_sums __attribute__((vector_size(64)));
typedef float hr_sums_at __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t hr_groups __attribute__((vector_size(64)));
typedef int32_t hr_groups_at __attribute__((vector_size(64), aligned(1), may_alias));
#endif
/* Denormals are zero, before and after each sum. */
#if defined(__AVX512BF16__) && defined(__x86_64__)
template <int n>
HR_LANES hr_dot2_lanes(float* t, uint32_t a, const uint16_t* b) {
  static_assert(n % 16 == 0, "whole vectors");
  const hr_groups all = (hr_groups){} + (int32_t)a;
#pragma GCC unroll 16
  for (int u = 0; u < n; u += 16) {
    hr_sums s = *(const hr_sums_at*)(t + u);
    const hr_groups own = *(const hr_groups_at*)(b + 2 * u);
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(s) : "v"(own), "v"(all));
    *(hr_sums_at*)(t + u) = s;
  }
}
#else
template <int n>
HR_LANES hr_dot2_lanes(float* t, uint32_t a, const uint16_t* b) {
  hr_dot2_lanes_exact<n>(t, a, b);
}
#endif
/* u8 by i8. */
template <int n>
HR_LANES hr_dot4_lanes(int32_t* t, uint32_t a, const int8_t* b) {
#if defined(__AVX512VNNI__) && defined(__x86_64__)
  static_assert(n % 16 == 0, "whole vectors");
  const hr_groups all = (hr_groups){} + (int32_t)a;
#pragma GCC unroll 16
  for (int u = 0; u < n; u += 16) {
    hr_groups s = *(const hr_groups_at*)(t + u);
    const hr_groups own = *(const hr_groups_at*)(b + 4 * u);
    __asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(all), "v"(own));
    *(hr_groups_at*)(t + u) = s;
  }
#else
#pragma omp simd
  for (int u = 0; u < n; ++u)
    t[u] = hr_dot4((int32_t)(a & 255), b[4 * u], (int32_t)(a >> 8 & 255), b[4 * u + 1], (int32_t)(a >> 16 & 255), b[4 * u + 2],
                   (int32_t)(a >> 24), b[4 * u + 3], t[u]);
#endif
}
/* Groups of their own on both sides: that of b without its last `less` elements, behind as many zeros. */
template <int n, int less>
HR_LANES hr_dot4_lanes_both(int32_t* t, const uint8_t* a, const int8_t* b) {
#if defined(__AVX512VNNI__) && defined(__x86_64__)
  static_assert(n % 16 == 0, "whole vectors");
#pragma GCC unroll 16
  for (int u = 0; u < n; u += 16) {
    hr_groups s = *(const hr_groups_at*)(t + u);
    const hr_groups data = *(const hr_groups_at*)(a + 4 * u), own = *(const hr_groups_at*)(b + 4 * u) << 8 * less;
    __asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(data), "v"(own));
    *(hr_groups_at*)(t + u) = s;
  }
#else
  for (int u = 0; u < n; ++u)
    for (int k = less; k < 4; ++k) t[u] += a[4 * u + k] * b[4 * u + k - less];
#endif
}
/* Bytes of four rows, `step` apart, as groups of four. */
template <int n>
HR_LANES hr_group_lanes(uint8_t* d, const uint8_t* a, int64_t step) {
#if defined(__AVX512BW__) && defined(__x86_64__)
  static_assert(n % 16 == 0, "whole vectors");
  typedef int8_t hr_row_at __attribute__((vector_size(16), aligned(1), may_alias));
  const hr_groups order = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}; /* of fours of a row, then of bytes of four of them */
  const hr_groups within = {0x0c080400, 0x0d090501, 0x0e0a0602, 0x0f0b0703, 0x0c080400, 0x0d090501, 0x0e0a0602, 0x0f0b0703,
                            0x0c080400, 0x0d090501, 0x0e0a0602, 0x0f0b0703, 0x0c080400, 0x0d090501, 0x0e0a0602, 0x0f0b0703};
#pragma GCC unroll 4
  for (int u = 0; u < n; u += 16) {
    hr_groups rows, out;
    __asm__("vmovdqu32 %1, %x0\n\tvinserti32x4 $1, %2, %0, %0\n\tvinserti32x4 $2, %3, %0, %0\n\tvinserti32x4 $3, %4, %0, %0"
            : "=&v"(rows)
            : "m"(*(const hr_row_at*)(a + u)), "m"(*(const hr_row_at*)(a + u + step)), "m"(*(const hr_row_at*)(a + u + 2 * step)),
              "m"(*(const hr_row_at*)(a + u + 3 * step)));
    __asm__("vpermd %1, %2, %0\n\tvpshufb %3, %0, %0" : "=&v"(out) : "v"(rows), "v"(order), "v"(within));
    *(hr_groups_at*)(d + 4 * u) = out;
  }
#else
  for (int u = 0; u < n; ++u)
    for (int k = 0; k < 4; ++k) d[4 * u + k] = a[k * step + u];
#endif
}
/* Bytes side by side as numbers of 32 bits, and back. */
#if defined(__AVX512BW__) && defined(__x86_64__)
typedef int8_t hr_bytes_at __attribute__((vector_size(16), aligned(1), may_alias));
#define HR_WIDEN(type, instruction)                                                                                  \
  template <int n>                                                                                                   \
  HR_LANES hr_widen_lanes(int32_t* w, const type* x) {                                                               \
    _Pragma("GCC unroll 16") for (int u = 0; u < n; u += 16) {                                                       \
      hr_groups wide;                                                                                                \
      __asm__(instruction " %1, %0" : "=v"(wide) : "m"(*(const hr_bytes_at*)(x + u)));                               \
      *(hr_groups_at*)(w + u) = wide;                                                                                \
    }                                                                                                                \
  }
HR_WIDEN(uint8_t, "vpmovzxbd")
HR_WIDEN(int8_t, "vpmovsxbd")
#undef HR_WIDEN
template <int n, class Byte>
HR_LANES hr_narrow_lanes(Byte* y, const int32_t* q) {
#pragma GCC unroll 16
  for (int u = 0; u < n; u += 16) {
    const hr_groups wide = *(const hr_groups_at*)(q + u);
    __asm__("vpmovdb %1, %0" : "=m"(*(hr_bytes_at*)(y + u)) : "v"(wide));
  }
}
/* Floats side by side, rounded, and a small zero point added, as bytes, saturated: what is no number becomes 0 (hr_round_small). Words of
 * two vectors are packed within each 16 bytes; `order` has the places of the groups of four. */
#define HR_PACKED(instruction, a, b)                                         \
  ({                                                                         \
    hr_groups packed;                                                        \
    __asm__(instruction " %2, %1, %0" : "=v"(packed) : "v"(a), "v"(b));      \
    packed;                                                                  \
  })
static inline __attribute__((always_inline)) hr_groups hr_rounded(const float* v, hr_groups nothing, bool is_signed) {
  const hr_sums x = *(const hr_sums_at*)v, most = (hr_sums){} + 2048.0f;
  hr_sums least;
  hr_groups q = nothing;
  __asm__("vminps %1, %2, %0" : "=v"(least) : "v"(x), "v"(most)); /* x where that is no number: then the least integer */
  if (is_signed) __asm__("vcmpordps %1, %1, %%k1\n\tvcvtps2dq %1, %0%{%%k1%}" : "+v"(q) : "v"(least) : "k1");
  else __asm__("vcvtps2dq %1, %0" : "=v"(q) : "v"(least));
  return q;
}
template <int n, class Byte>
HR_LANES hr_round_lanes(Byte* y, const float* v, int32_t zero) {
  const bool is_signed = (Byte)-1 < 0;
  const hr_groups order = {0, 4, 8, 12, 1, 5, 9, 13, 0, 4, 8, 12, 1, 5, 9, 13};
  const hr_groups nothing = (hr_groups){} - zero, more = (hr_groups){} + (int32_t)((uint32_t)zero << 16 | ((uint32_t)zero & 0xffff));
#pragma GCC unroll 16
  for (int u = 0; u < n; u += 32) {
    const hr_groups first = hr_rounded(v + u, nothing, is_signed);
    const hr_groups second = u + 16 < n ? hr_rounded(v + u + 16, nothing, is_signed) : first;
    const hr_groups words = HR_PACKED("vpaddsw", HR_PACKED("vpackssdw", first, second), more);
    const hr_groups bytes = is_signed ? HR_PACKED("vpacksswb", words, words) : HR_PACKED("vpackuswb", words, words);
    const hr_groups out = HR_PACKED("vpermd", order, bytes);
    __builtin_memcpy(y + u, &out, u + 16 < n ? 32 : 16);
  }
}
#undef HR_PACKED
#else
template <int n, class Byte>
HR_LANES hr_round_lanes(Byte* y, const float* v, int32_t zero) {
  int32_t q[n];
#pragma omp simd
  for (int u = 0; u < n; ++u) q[u] = (Byte)-1 < 0 ? hr_round_small(v[u], zero, -128, 127) : hr_round_small(v[u], zero, 0, 255);
#pragma omp simd
  for (int u = 0; u < n; ++u) y[u] = (Byte)q[u];
}
template <int n, class Byte>
HR_LANES hr_widen_lanes(int32_t* w, const Byte* x) {
#pragma omp simd
  for (int u = 0; u < n; ++u) w[u] = x[u];
}
template <int n, class Byte>
HR_LANES hr_narrow_lanes(Byte* y, const int32_t* q) {
#pragma omp simd
  for (int u = 0; u < n; ++u) y[u] = (Byte)q[u];
}
#endif
#undef HR_LANES
