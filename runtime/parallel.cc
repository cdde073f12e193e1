// hr_runtime_api.parallel_for: who takes part in a region. How it is worked through: region.h; who helps: pool.h.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <initializer_list>

#include "runtime/pool.h"
#include "runtime/runtime_internal.h"

namespace headrace::runtime {
namespace {

thread_local int t_nesting = 0;
std::atomic<int> g_callers{0};

int Processors() {  // those that this process may use
  cpu_set_t* set = nullptr;
  int n = 0;
  for (int size = 1024; n == 0 && size <= 1 << 20; size *= 2) {  // the kernel refuses a set smaller than its own
    set = CPU_ALLOC(size);
    if (set && sched_getaffinity(0, CPU_ALLOC_SIZE(size), set) == 0) n = CPU_COUNT_S(CPU_ALLOC_SIZE(size), set);
    CPU_FREE(set);
  }
  return n > 0 ? n : 1;
}

int Configured() {
  for (const char* name : {"HEADRACE_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    if ((*end == 0 || *end == ',') && n > 0 && n < 65536) return static_cast<int>(n);  // of OMP_NUM_THREADS's list the first counts
  }
  return Processors();
}

void InForkedChild() {
  g_callers.store(0, std::memory_order_relaxed);
  ForgetHelpers();
}

void Serial(int64_t chunks, hr_chunk_fn fn, void* ctx) {
  ++t_nesting;
  for (int64_t c = 0; c < chunks; ++c) fn(ctx, c);
  --t_nesting;
}

void Parallel(int64_t chunks, hr_chunk_fn fn, void* ctx, int threads) {
  Region* region = TakeRegion();
  if (region == nullptr) return Serial(chunks, fn, ctx);
  region->Open(chunks, fn, ctx, threads, threads - 1);
  CallHelpers(threads - 1);
  ++t_nesting;
  region->WorkAndClose();
  --t_nesting;
}

}  // namespace

int32_t MaxThreads() {
  static const int32_t n = [] {
    pthread_atfork(nullptr, nullptr, InForkedChild);
    return static_cast<int32_t>(Configured());
  }();
  return n;
}

void ParallelFor(int64_t chunks, hr_chunk_fn fn, void* ctx, int32_t threads) {
  if (chunks <= 0) return;
  const int64_t machine = MaxThreads();
  int64_t n = threads > 0 ? threads : machine;
  if (n > chunks) n = chunks;
  if (n > kMostThreads) n = kMostThreads;
  if (n <= 1 || t_nesting > 0 || OnHelper()) return Serial(chunks, fn, ctx);
  // Callers at the same time share the machine instead of each taking all of it.
  const int callers = g_callers.fetch_add(1, std::memory_order_relaxed) + 1;
  if (callers > 1 && threads <= 0 && n > machine / callers) n = machine / callers;
  if (n <= 1) Serial(chunks, fn, ctx);
  else Parallel(chunks, fn, ctx, static_cast<int>(n));
  g_callers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace headrace::runtime
