// A parallel region: chunks that any thread may claim, and what its caller waits for: the chunks that others claimed, never
// a thread. Regions are recycled, not freed: a helper that was held back between joining and claiming still finds a region
// there, and that all its chunks are taken.
#pragma once
#include <atomic>
#include <cstdint>

#include "runtime/headrace_runtime.h"
#include "runtime/hr_denormals.h"

namespace headrace::runtime {

class Region {
 public:
  // ---- the caller ----
  // Takes this region for itself; false when it is another's, or a helper is still inside.
  bool Take();
  // Lets up to `helpers` threads join; `threads` stretches of chunks, one for each thread to begin with.
  void Open(int64_t chunks, hr_chunk_fn fn, void* ctx, int threads, int helpers);
  // Works until no chunk is unclaimed, waits for those that helpers hold, and gives the region back.
  void WorkAndClose();

  // ---- a helper ----
  bool Join();
  void WorkAndLeave(int thread);

  void ForgetHelpers() { state_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr int64_t kStretches = 64;
  struct alignas(64) Stretch {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  // The unclaimed chunk that this thread should do next, -1 when there is none. Every thread has a stretch of its own, the
  // same in every region, so that it meets again what is in its cache; who is done early takes from the others' stretches.
  int64_t Claim(int64_t own);
  void WaitForHelpers(int64_t chunks);

  // Who uses it: the caller, how many more helpers may join, how many are inside. 0: free.
  static constexpr uint32_t kTaken = 1u << 31, kOneMore = 1u << 16, kMayJoin = 0x7fffu << 16, kInside = 0xffffu;
  alignas(64) std::atomic<uint32_t> state_{0};
  hr_chunk_fn fn_ = nullptr;
  void* ctx_ = nullptr;
  int64_t chunks_ = 0, stretches_ = 0;
  hr_float_mode mode_ = 0;  // the caller's, in which every chunk runs

  // Chunks that helpers have done; when the caller has no more to do, how many they will have done in the end.
  alignas(64) std::atomic<int64_t> done_{0};
  std::atomic<int64_t> expected_{0};
  enum : uint32_t { kWorking, kAsleep, kFinished };
  std::atomic<uint32_t> caller_{kWorking};

  Stretch stretch_[kStretches];
};

}  // namespace headrace::runtime
