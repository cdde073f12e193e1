#include "runtime/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "runtime/futex.h"

namespace headrace::runtime {
namespace {

constexpr int kRegions = 32;
constexpr int64_t kHelperSpins = 50000;  // nanoseconds without a region before a helper sleeps

// Without destructors: helpers outlive main().
struct Pool {
  Region regions[kRegions];
  alignas(64) std::atomic<uint32_t> opened{0};  // how often regions were opened: what idle helpers look at
  alignas(64) std::atomic<int> idle{0};         // helpers that look now
  std::atomic<int> asleep{0};
  std::atomic<int> made{0};
  std::atomic<bool> making{false};
};
Pool g_pool;

thread_local bool t_helper = false;

std::atomic<Hold> g_hold{Hold::kNot};
std::atomic<int> g_hold_milliseconds{0};

// Works for every region that wants help; whether there was one.
bool Help(int thread) {
  bool helped = false;
  for (Region& r : g_pool.regions) {
    if (!r.Join()) continue;
    r.WorkAndLeave(thread);
    helped = true;
  }
  return helped;
}

// Looks for a while whether another region is opened. Yields in between: on a busy machine the caller itself may be waiting
// for this processor.
bool OpenedSoon(uint32_t seen) {
  g_pool.idle.fetch_add(1);
  const int64_t start = Nanoseconds();
  bool opened = false;
  while (!opened && Nanoseconds() - start < kHelperSpins) {
    opened = SpinUntil(kHelperSpins / 50, [&] { return g_pool.opened.load(std::memory_order_relaxed) != seen; });
    if (!opened) sched_yield();
  }
  g_pool.idle.fetch_sub(1);
  return opened;
}

void* HelperMain(void* number) {
  t_helper = true;
  const int thread = static_cast<int>(reinterpret_cast<intptr_t>(number));
  for (;;) {
    const uint32_t seen = g_pool.opened.load();
    if (Help(thread)) continue;
    if (!OpenedSoon(seen)) {
      g_pool.asleep.fetch_add(1);
      FutexWait(g_pool.opened, seen);
      g_pool.asleep.fetch_sub(1);
    }
    HoldHelper(Hold::kBeforeJoin);
  }
  return nullptr;
}

bool MakeHelper(int number) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all, before;  // signals are for the program's own threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool made = pthread_create(&thread, &attributes, HelperMain, reinterpret_cast<void*>(intptr_t{number})) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return made;
}

void MakeHelpers(int wanted) {
  if (g_pool.making.exchange(true, std::memory_order_acquire)) return;  // someone does; this region can do without
  int made = g_pool.made.load(std::memory_order_relaxed);
  while (made < wanted && MakeHelper(made + 1)) ++made;
  g_pool.made.store(made, std::memory_order_relaxed);
  g_pool.making.store(false, std::memory_order_release);
}

}  // namespace

Region* TakeRegion() {
  for (Region& r : g_pool.regions)
    if (r.Take()) return &r;
  return nullptr;
}

void CallHelpers(int helpers) {
  g_pool.opened.fetch_add(1);
  if (g_pool.made.load(std::memory_order_relaxed) < helpers) MakeHelpers(helpers);
  if (g_pool.asleep.load() == 0) return;
  const int missing = helpers - g_pool.idle.load(std::memory_order_relaxed);
  if (missing > 0) FutexWake(g_pool.opened, missing);
}

bool OnHelper() { return t_helper; }

void ForgetHelpers() {
  for (Region& r : g_pool.regions) r.ForgetHelpers();
  g_pool.idle.store(0, std::memory_order_relaxed);
  g_pool.asleep.store(0, std::memory_order_relaxed);
  g_pool.made.store(0, std::memory_order_relaxed);
  g_pool.making.store(false, std::memory_order_relaxed);
}

void HoldHelpers(Hold where, int milliseconds) {
  g_hold_milliseconds.store(milliseconds);
  g_hold.store(where);
}

void HoldHelper(Hold here) {
  if (g_hold.load(std::memory_order_relaxed) != here) return;
  const int64_t ms = g_hold_milliseconds.load();
  const timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, nullptr);
}

}  // namespace headrace::runtime
