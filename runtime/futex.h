// Waiting and waking by address, and the pause between two looks at a word that is about to change.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace headrace::runtime {

// Sleeps while `word` is `value`; may return early.
inline void FutexWait(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
inline void FutexWake(std::atomic<uint32_t>& word, int threads) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

inline int64_t Nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

// Looks again and again until `ready()`, for `limit` nanoseconds at most; whether it became ready.
template <typename Ready>
bool SpinUntil(int64_t limit, const Ready& ready) {
  const int64_t start = Nanoseconds();
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      Pause();
    }
  } while (Nanoseconds() - start < limit);
  return ready();
}

}  // namespace headrace::runtime
