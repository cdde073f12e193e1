/* The processor's mode for denormal floats, one per thread: plain C, no library, usable in the runtime, in the interpreter and,
 * embedded textually, in generated code. Nothing but that mode is changed: rounding and exceptions stay as the caller has them.
 * Reading costs about a nanosecond, a change some more. Processors without such a mode have none: all is exact there. */
#ifndef HEADRACE_RUNTIME_HR_DENORMALS_H_
#define HEADRACE_RUNTIME_HR_DENORMALS_H_
#include <stdint.h>

#if defined(__x86_64__)
typedef uint32_t hr_float_mode; /* MXCSR; Intel's manual, volume 1, 10.2.3 */
#define HR_FLUSHING 0x8040u     /* FZ: results; DAZ: operands */
static inline hr_float_mode hr_float_mode_now(void) {
  hr_float_mode m;
  __asm__ __volatile__("stmxcsr %0" : "=m"(m) : : "memory");
  return m;
}
static inline void hr_float_mode_be(hr_float_mode m) { __asm__ __volatile__("ldmxcsr %0" : : "m"(m) : "memory"); }
#elif defined(__aarch64__)
typedef uint64_t hr_float_mode;  /* FPCR; Arm's manual, C5.2.8 */
#define HR_FLUSHING (1ull << 24) /* FZ: operands and results of f32 and f64 */
static inline hr_float_mode hr_float_mode_now(void) {
  hr_float_mode m;
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(m) : : "memory");
  return m;
}
static inline void hr_float_mode_be(hr_float_mode m) { __asm__ __volatile__("msr fpcr, %0" : : "r"(m) : "memory"); }
#else
typedef uint32_t hr_float_mode;
#define HR_FLUSHING 0u
static inline hr_float_mode hr_float_mode_now(void) { return 0; }
static inline void hr_float_mode_be(hr_float_mode m) { (void)m; }
#endif

/* To the mode `m`; what there was, for going back. */
static inline hr_float_mode hr_float_mode_swap(hr_float_mode m) {
  const hr_float_mode found = hr_float_mode_now();
  if (found != m) hr_float_mode_be(m);
  return found;
}
/* Denormals are zero from here on (flush), or exact. */
static inline hr_float_mode hr_denormals(int flush) {
  const hr_float_mode found = hr_float_mode_now();
  const hr_float_mode m = flush ? found | HR_FLUSHING : found & ~(hr_float_mode)HR_FLUSHING;
  if (found != m) hr_float_mode_be(m);
  return found;
}
#endif /* HEADRACE_RUNTIME_HR_DENORMALS_H_ */
