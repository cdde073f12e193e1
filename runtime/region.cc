#include "runtime/region.h"

#include "runtime/futex.h"
#include "runtime/pool.h"

namespace headrace::runtime {
namespace {

constexpr int64_t kCallerSpins = 20000;  // nanoseconds; what helpers hold is mostly done by then

}  // namespace

bool Region::Take() {
  uint32_t free = 0;
  return state_.load(std::memory_order_relaxed) == 0 &&
         state_.compare_exchange_strong(free, kTaken, std::memory_order_acquire, std::memory_order_relaxed);
}

void Region::Open(int64_t chunks, hr_chunk_fn fn, void* ctx, int threads, int helpers) {
  fn_ = fn, ctx_ = ctx, chunks_ = chunks, mode_ = hr_float_mode_now();
  stretches_ = threads < kStretches ? threads : kStretches;
  for (int64_t i = 0, begin = 0; i < stretches_; ++i) {
    stretch_[i].next.store(begin, std::memory_order_relaxed);
    begin += chunks / stretches_ + (i < chunks % stretches_);
    stretch_[i].end = begin;
  }
  done_.store(0, std::memory_order_relaxed);
  expected_.store(-1, std::memory_order_relaxed);
  caller_.store(kWorking, std::memory_order_relaxed);
  state_.store(kTaken | static_cast<uint32_t>(helpers) * kOneMore, std::memory_order_release);
}

int64_t Region::Claim(int64_t own) {
  for (int64_t i = 0; i < stretches_; ++i) {
    Stretch& s = stretch_[(own + i) % stretches_];
    if (s.next.load(std::memory_order_relaxed) >= s.end) continue;
    const int64_t c = s.next.fetch_add(1, std::memory_order_relaxed);
    if (c < s.end) return c;
  }
  return -1;
}

void Region::WorkAndClose() {
  int64_t mine = 0;
  for (int64_t c; (c = Claim(0)) >= 0; ++mine) fn_(ctx_, c);
  state_.fetch_and(~kMayJoin, std::memory_order_relaxed);
  WaitForHelpers(chunks_ - mine);
  state_.fetch_and(~kTaken, std::memory_order_release);
}

void Region::WaitForHelpers(int64_t chunks) {
  expected_.store(chunks);
  const auto finished = [&] { return done_.load() == chunks; };
  if (finished() || SpinUntil(kCallerSpins, finished)) return;
  uint32_t working = kWorking;
  if (!caller_.compare_exchange_strong(working, kAsleep)) return;  // finished just now
  while (caller_.load(std::memory_order_acquire) != kFinished) FutexWait(caller_, kAsleep);
}

bool Region::Join() {
  uint32_t s = state_.load(std::memory_order_relaxed);
  while (s & kMayJoin)
    if (state_.compare_exchange_weak(s, s - kOneMore + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  return false;
}

void Region::WorkAndLeave(int thread) {
  HoldHelper(Hold::kBeforeClaim);
  const hr_float_mode own = hr_float_mode_swap(mode_);
  for (int64_t c; (c = Claim(thread)) >= 0;) {
    fn_(ctx_, c);
    // Sequentially consistent, as in WaitForHelpers: either the caller sees this chunk done, or it is seen to wait here.
    if (done_.fetch_add(1) + 1 == expected_.load() && caller_.exchange(kFinished) == kAsleep) FutexWake(caller_, 1);
  }
  hr_float_mode_swap(own);
  state_.fetch_sub(1, std::memory_order_release);
}

}  // namespace headrace::runtime
