// Regions on a machine that is busy with something else: helpers are held back, and nobody waits for them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "runtime/futex.h"
#include "runtime/pool.h"
#include "runtime/runtime_internal.h"

namespace headrace::runtime {
namespace {

constexpr int64_t kMillisecond = 1000000;

struct Counts {
  std::vector<std::atomic<int>> seen;
  explicit Counts(int64_t n) : seen(static_cast<size_t>(n)) {}
  bool EachOnce() const {
    for (const auto& s : seen)
      if (s != 1) return false;
    return true;
  }
};
void Count(void* c, int64_t chunk) { ++static_cast<Counts*>(c)->seen[static_cast<size_t>(chunk)]; }

bool EachOnce(int64_t chunks, int threads) {
  Counts c(chunks);
  ParallelFor(chunks, Count, &c, threads);
  return c.EachOnce();
}

struct Pair {  // two chunks that wait for each other
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
};
void Meet(void* p, int64_t) {
  Pair& pair = *static_cast<Pair*>(p);
  ++pair.inside;
  const int64_t start = Nanoseconds();
  while (pair.inside < 2 && Nanoseconds() - start < 5000 * kMillisecond) std::this_thread::yield();
  if (pair.inside == 2) pair.met = true;
}
bool HelpersHelp() {
  Pair pair;
  ParallelFor(2, Meet, &pair, 2);
  return pair.met;
}

class HeldBack : public ::testing::TestWithParam<Hold> {
 protected:
  void SetUp() override { ASSERT_TRUE(HelpersHelp()); }
  void TearDown() override { HoldHelpers(Hold::kNot, 0); }
};

// A second is a thousand times what the caller needs for these chunks alone.
TEST_P(HeldBack, TheRegionEndsInTheCallersOwnTime) {
  HoldHelpers(GetParam(), 1000);
  const int64_t start = Nanoseconds();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(EachOnce(100, 4));
  EXPECT_LT(Nanoseconds() - start, 500 * kMillisecond);
}

// Helpers that come when everything is over, while other regions are open, take nothing twice.
TEST_P(HeldBack, LateHelpersDoNoHarm) {
  HoldHelpers(GetParam(), 3);
  const int64_t start = Nanoseconds();
  while (Nanoseconds() - start < 100 * kMillisecond) ASSERT_TRUE(EachOnce(1 + Nanoseconds() % 50, 4));
}

INSTANTIATE_TEST_SUITE_P(Runtime, HeldBack, ::testing::Values(Hold::kBeforeJoin, Hold::kBeforeClaim));

TEST(Region, IsWaitedForWhileAHelperHoldsAChunk) {
  ASSERT_TRUE(HelpersHelp());
  for (int i = 0; i < 20; ++i) {
    struct Slow {
      std::atomic<int> done{0};
      std::atomic<bool> helped{false};
    } slow;
    ParallelFor(
        2,
        [](void* p, int64_t) {
          Slow& s = *static_cast<Slow*>(p);
          if (OnHelper()) {
            s.helped = true;
            usleep(2000);  // longer than the caller spins
          } else {
            const int64_t start = Nanoseconds();
            while (!s.helped && Nanoseconds() - start < 5000 * kMillisecond) std::this_thread::yield();
          }
          ++s.done;
        },
        &slow, 2);
    ASSERT_EQ(slow.done, 2);
    ASSERT_TRUE(slow.helped);
  }
}

TEST(Region, MoreCallersThanRegions) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 48; ++t)
    callers.emplace_back([&wrong, t] {
      for (int i = 0; i < 50; ++i) wrong += !EachOnce(1 + i, 1 + (t + i) % 5);
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Fork, HelpersAreMadeAgain) {
  ASSERT_TRUE(HelpersHelp());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    _exit(HelpersHelp() && EachOnce(1000, 4) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(HelpersHelp());
}

// Chunks run in the mode of whoever opened the region, and nobody's own is changed: neither the caller's nor a helper's.
TEST(FloatMode, IsTheCallersInEveryChunk) {
  ASSERT_TRUE(HelpersHelp());
  struct Seen {
    Pair both;  // the two chunks run on two threads
    hr_float_mode mode[2] = {};
  };
  const hr_float_mode mine = hr_float_mode_now();  // no arithmetic in between: exceptions are on record in it
  for (const int flush : {1, 0, 1, 0}) {
    hr_denormals(flush);
    Seen seen;
    ParallelFor(2, [](void* p, int64_t chunk) {
      Meet(&static_cast<Seen*>(p)->both, chunk);
      static_cast<Seen*>(p)->mode[chunk] = hr_float_mode_now();
    }, &seen, 2);
    ASSERT_TRUE(seen.both.met);
    EXPECT_EQ(seen.mode[0], hr_float_mode_now());
    EXPECT_EQ(seen.mode[1], hr_float_mode_now());
  }
  EXPECT_EQ(hr_float_mode_now(), mine);
}

// A child of a process in which other threads are inside regions, again and again.
TEST(Fork, WhileOthersWork) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) EachOnce(200, 3);
  });
  bool good = true;
  for (int i = 0; i < 20 && good; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(EachOnce(300, 3) && EachOnce(300, 3) ? 0 : 1);
    }
    int status = 0;
    good = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  stop = true;
  other.join();
  EXPECT_TRUE(good);
}

}  // namespace
}  // namespace headrace::runtime
