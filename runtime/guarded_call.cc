// External functions are C, and compiled programs have no exceptions: those of functions in C++ end here.
#include <atomic>
#include <exception>
#include <mutex>

#include "runtime/runtime_internal.h"

namespace headrace::runtime {
namespace {

// What chunks throw must not end a helper's thread: it goes on in the caller. Of several the first chunk's, which is the same
// for any number of threads.
struct Chunks {
  hr_chunk_fn fn;
  void* ctx;
  std::atomic<int64_t> first;  // that threw, or how many there are
  std::mutex mutex;
  std::exception_ptr thrown;
};

void RunChunk(void* p, int64_t c) {
  Chunks& all = *static_cast<Chunks*>(p);
  if (c > all.first.load(std::memory_order_relaxed)) return;
  try {
    all.fn(all.ctx, c);
  } catch (...) {
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (c < all.first.load(std::memory_order_relaxed)) all.first = c, all.thrown = std::current_exception();
  }
}

void GuardedParallelFor(int64_t chunks, hr_chunk_fn fn, void* ctx, int32_t threads) {
  Chunks all{fn, ctx, {chunks}, {}, {}};
  ParallelFor(chunks, RunChunk, &all, threads);
  if (all.thrown) std::rethrow_exception(all.thrown);
}

}  // namespace

int32_t GuardedCall(hr_function fn, hr_call* c) {
  if (c->parallel_for) c->parallel_for = GuardedParallelFor;
  try {
    return fn(c);
  } catch (const std::exception& e) {
    c->fail(c, e.what());
  } catch (...) {
    c->fail(c, "unknown exception");
  }
  return 1;
}

}  // namespace headrace::runtime
