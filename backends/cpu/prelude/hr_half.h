/* f16 in vectors, with the results of hr_float.h (NaN has one pattern). Loads: the exponent moved by adding to it; where it is 0,
 * as 2^-14 more than the value, less 2^-14, so that no denormal of f32 occurs (it would be zero or slow). Stores are the
 * processor's own conversion: g++ 12 vectorises no such thing, but calls the vector variant of a function where one is
 * declared. Its name is what the vector function ABI says: 16 lanes, AVX-512. What every file compiles is left out of programs without f16. */
#if defined(HR_USES_F16) && defined(__AVX512F__) && defined(__F16C__) && !defined(__clang__)
extern "C" {
typedef float hr_16_floats __attribute__((vector_size(64)));
typedef int32_t hr_16_ints __attribute__((vector_size(64)));
#define HR_SHARED __attribute__((weak, visibility("hidden")))
#pragma omp declare simd simdlen(16) notinbranch
int32_t hr_store_f16(float) noexcept __attribute__((const, visibility("hidden")));
/* One definition per program, out of the optimiser's sight: what it inlines is not called as a vector. */
int32_t hr_store_f16_1(float) noexcept __asm__("hr_store_f16");
HR_SHARED int32_t hr_store_f16_1(float a) noexcept { return hr_f32_to_f16(a); }
hr_16_ints hr_store_f16_16(hr_16_floats) noexcept __asm__("_ZGVeN16v_hr_store_f16");
HR_SHARED hr_16_ints hr_store_f16_16(hr_16_floats a) noexcept {
  const hr_16_ints bits = (hr_16_ints)a, nan = (bits & INT32_MIN) | 0x7fc00000;
  const hr_16_floats f = (hr_16_floats)(a != a ? nan : bits);
  hr_16_ints h;
  __asm__("vcvtps2ph $0, %1, %t0\n\tvpmovzxwd %t0, %0" : "=v"(h) : "v"(f));
  return h;
}
#undef HR_SHARED
}
static inline float hr_load_f16(uint16_t h) {
  const uint32_t in_place = ((uint32_t)(int16_t)h << 13) & 0x8fffe000u, exponent = in_place & 0x0f800000u;
  const float tiny = hr_f32_bits(in_place + (113u << 23)) - hr_f32_bits((in_place & 0x80000000u) | 113u << 23);
  const uint32_t other = in_place + (exponent == 0x0f800000u ? 224u << 23 : 112u << 23);
  return hr_f32_bits(exponent == 0 ? hr_bits_f32(tiny) | (in_place & 0x80000000u) : other);
}
#define hr_f16_to_f32(h) hr_load_f16(h)
#define hr_f32_to_f16(f) (uint16_t) hr_store_f16(f)
#endif
/* A value that is a bf16 (exact.h): its other bits are 0. */
static inline uint16_t hr_exact_bf16(float f) { return (uint16_t)(hr_bits_f32(f) >> 16); }
