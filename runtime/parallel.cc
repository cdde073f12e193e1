// hr_runtime_api.parallel_for on libgomp: its pool is the one that oneDNN and torch use in the same process.
#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <initializer_list>

#include "runtime/runtime_internal.h"

namespace headrace::runtime {
namespace {

thread_local int t_nesting = 0;
// libgomp keeps a pool per calling thread, and a forked child has none of its threads: a region there would wait for ever.
// Only the thread that called fork lives on in the child, so the mark is per thread; threads it starts are free again.
thread_local bool t_forked = false;
std::atomic<int> g_callers{0};

void MarkForked() {
  t_forked = true;
  g_callers.store(0, std::memory_order_relaxed);
}

constexpr int64_t kStretches = 64;
struct alignas(64) Stretch {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

int Configured() {
  for (const char* name : {"HEADRACE_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    const long n = std::strtol(text, nullptr, 10);  // OMP_NUM_THREADS may be a list: its first number counts
    if (n > 0 && n < 65536) return static_cast<int>(n);
  }
  const int n = omp_get_num_procs();  // respects the process's affinity
  return n > 0 ? n : 1;
}

void Serial(int64_t chunks, hr_chunk_fn fn, void* ctx) {
  ++t_nesting;
  for (int64_t c = 0; c < chunks; ++c) fn(ctx, c);
  --t_nesting;
}

}  // namespace

int32_t MaxThreads() {
  static const int32_t n = [] {
    pthread_atfork(nullptr, nullptr, MarkForked);
    return static_cast<int32_t>(Configured());
  }();
  return n;
}

void ParallelFor(int64_t chunks, hr_chunk_fn fn, void* ctx, int32_t threads) {
  if (chunks <= 0) return;
  const int64_t machine = MaxThreads();
  int64_t n = threads > 0 ? threads : machine;
  if (n > chunks) n = chunks;
  if (n <= 1 || t_nesting > 0 || t_forked || omp_in_parallel()) return Serial(chunks, fn, ctx);
  // Callers at the same time share the machine instead of each taking all of it.
  const int callers = g_callers.fetch_add(1, std::memory_order_relaxed) + 1;
  if (callers > 1 && threads <= 0) n = machine / callers;
  if (n <= 1) {
    Serial(chunks, fn, ctx);
  } else {
    // Every thread has a stretch of its own, the same in every region, so that it meets again what is in its cache; who is
    // done early takes from the others' stretches.
    const int64_t stretches = n < kStretches ? n : kStretches;
    Stretch stretch[kStretches];
    for (int64_t i = 0; i < stretches; ++i) {
      stretch[i].next.store(chunks * i / stretches, std::memory_order_relaxed);
      stretch[i].end = chunks * (i + 1) / stretches;
    }
#pragma omp parallel num_threads(static_cast <int>(n))
    {
      ++t_nesting;
      for (int64_t i = 0, own = omp_get_thread_num(); i < stretches; ++i) {
        Stretch& s = stretch[(own + i) % stretches];
        for (int64_t c; (c = s.next.fetch_add(1, std::memory_order_relaxed)) < s.end;) fn(ctx, c);
      }
      --t_nesting;
    }
  }
  g_callers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace headrace::runtime
