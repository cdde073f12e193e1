/* Lines of numbers that are written past the caches: memory is not read before it is written, and what lies in the caches stays there. Where
 * a line of memory isn't written whole, as at the borders of what begins elsewhere, it goes the usual way. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_nontemporal_store)
#define HR_STREAM(to, value) __builtin_nontemporal_store(value, to)
#endif
#endif
#if defined(HR_STREAM)
typedef int64_t hr_streamed_vector __attribute__((vector_size(16)));
#elif defined(__AVX512F__)
typedef long long hr_streamed_vector __attribute__((vector_size(64)));
#define HR_STREAM(to, value) __builtin_ia32_movntdq512(to, value)
#elif defined(__AVX__)
typedef long long hr_streamed_vector __attribute__((vector_size(32)));
#define HR_STREAM(to, value) __builtin_ia32_movntdq256(to, value)
#elif defined(__SSE2__)
typedef long long hr_streamed_vector __attribute__((vector_size(16)));
#define HR_STREAM(to, value) __builtin_ia32_movntdq(to, value)
#endif
#if defined(HR_STREAM)
typedef hr_streamed_vector hr_streamed_at __attribute__((aligned(1), may_alias));
enum { HR_STREAMED_LINE = 64 }; /* bytes, of memory */
template <class T>
static inline __attribute__((always_inline)) void hr_stream(T* to, const T* from, int64_t n) {
  const int64_t bytes = n * (int64_t)sizeof(T);
  if (((uintptr_t)to | (uintptr_t)bytes) % HR_STREAMED_LINE != 0) {
    __builtin_memcpy(to, from, (size_t)bytes);
    return;
  }
  for (int64_t i = 0; i < bytes; i += (int64_t)sizeof(hr_streamed_vector))
    HR_STREAM((hr_streamed_vector*)((char*)to + i), *(const hr_streamed_at*)((const char*)from + i));
}
#else
template <class T>
static inline void hr_stream(T* to, const T* from, int64_t n) { __builtin_memcpy(to, from, (size_t)n * sizeof(T)); }
#endif
/* Such writes are seen by other threads once it is gone. */
struct hr_streamed {
  ~hr_streamed() {
#if defined(__SSE2__)
    __builtin_ia32_sfence();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
  }
};
