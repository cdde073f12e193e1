// The runtime's services: threads, fork, arenas, float formats.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "runtime/headrace_runtime.h"
#include "runtime/hr_float.h"
#include "runtime/hr_scalar.h"

namespace {

struct Sum {
  std::vector<int64_t> seen;
  std::atomic<int> threads{0};
  explicit Sum(int64_t n) : seen(n) {}
};
void Visit(void* ctx, int64_t c) { ++static_cast<Sum*>(ctx)->seen[c]; }

void ExpectEachOnce(int64_t chunks, int threads) {
  Sum s(chunks);
  hr_runtime()->parallel_for(chunks, Visit, &s, threads);
  for (int64_t v : s.seen) ASSERT_EQ(v, 1);
}

TEST(ParallelFor, RunsEveryChunkOnce) {
  for (int threads : {0, 1, 2, 7}) {
    for (int64_t chunks : {0, 1, 2, 3, 100, 10000}) ExpectEachOnce(chunks, threads);
  }
}

TEST(ParallelFor, UsesSeveralThreads) {
  struct Ctx {
    std::atomic<int> inside{0};
    std::atomic<bool> met{false};
  } c;
  hr_runtime()->parallel_for(
      2,
      [](void* p, int64_t) {
        Ctx* c = static_cast<Ctx*>(p);
        ++c->inside;
        for (int spin = 0; spin < 5000 && c->inside < 2; ++spin) usleep(1000);
        if (c->inside == 2) c->met = true;
      },
      &c, 2);
  EXPECT_TRUE(c.met);
}

TEST(ParallelFor, NestedCallsRunSerially) {
  struct Ctx {
    std::atomic<int64_t> total{0};
    std::atomic<bool> same_thread{true};
  } c;
  hr_runtime()->parallel_for(
      8,
      [](void* p, int64_t) {
        struct Inner {
          Ctx* c;
          std::thread::id id;
        } inner{static_cast<Ctx*>(p), std::this_thread::get_id()};
        hr_runtime()->parallel_for(
            10,
            [](void* q, int64_t) {
              Inner* i = static_cast<Inner*>(q);
              if (i->id != std::this_thread::get_id()) i->c->same_thread = false;
              ++i->c->total;
            },
            &inner, 4);
      },
      &c, 4);
  EXPECT_EQ(c.total, 80);
  EXPECT_TRUE(c.same_thread);
}

TEST(ParallelFor, ManyCallingThreads) {
  std::vector<std::thread> callers;
  for (int t = 0; t < 8; ++t)
    callers.emplace_back([] {
      for (int i = 0; i < 20; ++i) ExpectEachOnce(64, i % 3);
    });
  for (auto& t : callers) t.join();
}

// The child of a process whose pool was running must neither hang nor lose work, nor must threads the child starts.
TEST(ParallelFor, WorksAfterFork) {
  ExpectEachOnce(64, 4);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    Sum s(64);
    hr_runtime()->parallel_for(64, Visit, &s, 4);
    bool ok = true;
    for (int64_t v : s.seen) ok &= v == 1;
    Sum again(64);
    std::thread([&] { hr_runtime()->parallel_for(64, Visit, &again, 4); }).join();
    for (int64_t v : again.seen) ok &= v == 1;
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ExpectEachOnce(64, 4);
}

TEST(Arena, AlignedAndCheckedForSize) {
  const hr_runtime_api* r = hr_runtime();
  for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{100}, int64_t{4} << 20, int64_t{64} << 20}) {
    void* p = r->arena_new(bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
    std::memset(p, 1, static_cast<size_t>(bytes));
    r->arena_delete(p, bytes);
  }
  EXPECT_EQ(r->arena_new(-1), nullptr);
  EXPECT_EQ(r->arena_new(INT64_MAX), nullptr);
  EXPECT_EQ(r->arena_new(hr_size_mul(int64_t{1} << 40, int64_t{1} << 40)), nullptr);
  EXPECT_EQ(hr_size_add(hr_size_mul(3, 4), 5), 17);
  EXPECT_EQ(hr_size_add(-1, 5), -1);
  EXPECT_EQ(hr_size_mul(-1, 0), -1);
}

// ---- float formats ----
// Rounding by definition: the nearest of all finite values, ties to the even code.
void ExpectNearest(const hr_float_format& f, double v) {
  const uint32_t got = hr_encode(&f, v, 1) & ~f.sign_bit;
  uint32_t best = 0;
  for (uint32_t c = 0; c <= f.max_finite; ++c) {
    const double d = std::fabs(hr_decode(&f, c) - std::fabs(v)), b = std::fabs(hr_decode(&f, best) - std::fabs(v));
    if (d < b || (d == b && c % 2 == 0)) best = c;
  }
  ASSERT_EQ(got, best) << v;
}

TEST(Floats, EncodeRoundsToNearestEven) {
  for (const hr_float_format* f :
       {&hr_format_f8e4m3fn, &hr_format_f8e4m3fnuz, &hr_format_f8e5m2, &hr_format_f8e5m2fnuz, &hr_format_f4e2m1}) {
    for (uint32_t c = 0; c <= f->max_finite; ++c) {
      const double v = hr_decode(f, c), next = c < f->max_finite ? hr_decode(f, c + 1) : v;
      for (double x : {v, (v + next) / 2, std::nextafter((v + next) / 2, 0.0), std::nextafter((v + next) / 2, 1e30)}) {
        ExpectNearest(*f, x);
        ExpectNearest(*f, -x);
      }
    }
  }
}

TEST(Floats, HalfAndBfloatAgreeWithTheGeneralCode) {
  for (uint32_t b = 0; b < 65536; ++b) {
    const uint16_t h = static_cast<uint16_t>(b);
    const double general = hr_decode(&hr_format_f16, b);
    if (std::isnan(general)) {
      EXPECT_TRUE(std::isnan(hr_f16_to_f32(h)));
    } else {
      ASSERT_EQ(hr_f16_to_f32(h), static_cast<float>(general)) << b;
      ASSERT_EQ(std::signbit(hr_f16_to_f32(h)), std::signbit(general)) << b;
      ASSERT_EQ(hr_f32_to_f16(hr_f16_to_f32(h)), h);
      const float up = std::nextafterf(hr_f16_to_f32(h), 1e30f);
      ASSERT_EQ(hr_f32_to_f16(up), hr_f64_to_f16(up)) << b;
    }
    if (!std::isnan(hr_bf16_to_f32(h))) { ASSERT_EQ(hr_f32_to_bf16(hr_bf16_to_f32(h)), h); }
  }
  for (uint64_t i = 0; i < 2000000; ++i) {
    const float f = hr_f32_bits(static_cast<uint32_t>(hr_random(1, static_cast<int64_t>(i))));
    if (std::isnan(f)) continue;
    ASSERT_EQ(hr_f32_to_f16(f), hr_f64_to_f16(f)) << f;
    ASSERT_EQ(hr_f32_to_bf16(f), hr_f64_to_bf16(f)) << f;
  }
}

TEST(Floats, OverflowAndNan) {
  EXPECT_EQ(hr_f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(hr_f32_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(hr_f64_to_f16_sat(1e9), 0x7bff);
  EXPECT_EQ(hr_f32_to_f8e4m3fn(464.0f), 0x7e);
  EXPECT_EQ(hr_f32_to_f8e4m3fn(465.0f), 0x7f);
  EXPECT_EQ(hr_f32_to_f8e5m2(1e9f), 0x7c);
  EXPECT_EQ(hr_f32_to_f8e4m3fnuz(1e9f), 0x80);
  EXPECT_EQ(hr_f32_to_f8e4m3fnuz(-0.0f), 0);
  EXPECT_EQ(hr_f32_to_f4e2m1(100.0f), 7);
  EXPECT_EQ(hr_f32_to_f8e8m0(3.0f), 129);
  EXPECT_EQ(hr_f8e8m0_to_f32(0), 0x1p-127f);
  for (uint32_t nan : {0x7f800001u, 0x7fbfffffu, 0x7fc00000u, 0x7fffffffu}) {  // none is rounded to an infinity, or to another sign
    for (uint32_t sign : {0u, 0x80000000u}) {
      const uint16_t b = hr_f32_to_bf16(hr_f32_bits(nan | sign));
      EXPECT_TRUE(std::isnan(hr_bf16_to_f32(b))) << nan;
      EXPECT_EQ(b >> 15, sign >> 31) << nan;
    }
  }
}

// ---- integers ----
TEST(Scalars, DivisionIsDefinedEverywhere) {
  for (int64_t a : {INT64_MIN, int64_t{-7}, int64_t{-1}, int64_t{0}, int64_t{7}, INT64_MAX}) {
    for (int64_t b : {INT64_MIN, int64_t{-3}, int64_t{-1}, int64_t{0}, int64_t{3}, INT64_MAX}) {
      if (b == 0) {
        EXPECT_EQ(hr_floor_div(a, b), 0);
        EXPECT_EQ(hr_floor_mod(a, b), 0);
      } else {
        EXPECT_EQ(hr_add(hr_mul(hr_floor_div(a, b), b), hr_floor_mod(a, b)), a) << a << " " << b;
        EXPECT_TRUE(hr_floor_mod(a, b) == 0 || (hr_floor_mod(a, b) < 0) == (b < 0));
      }
    }
  }
  for (int64_t a : {INT64_MIN, int64_t{-17}, int64_t{-16}, int64_t{-1}, int64_t{0}, int64_t{15}, INT64_MAX}) {
    volatile int64_t unknown = 16;  // known powers of two are shifts
    EXPECT_EQ(hr_floor_div(a, 16), hr_floor_div(a, unknown)) << a;
    EXPECT_EQ(hr_floor_mod(a, 16), hr_floor_mod(a, unknown)) << a;
    EXPECT_EQ(hr_floor_div(a, 1), a);
    EXPECT_EQ(hr_floor_mod(a, 1), 0);
  }
  EXPECT_EQ(hr_floor_div(-7, 2), -4);
  EXPECT_EQ(hr_div_trunc(-7, 2), -3);
  EXPECT_EQ(hr_floor_mod_f64(-1, 3), 2);
  EXPECT_EQ(hr_f64_to_i64(NAN), 0);
  EXPECT_EQ(hr_f64_to_i64(1e300), INT64_MAX);
  EXPECT_EQ(hr_reflect(-1, 4), 1);
  EXPECT_EQ(hr_reflect(4, 4), 2);
}

TEST(Scalars, RandomNumbersLookRandom) {
  double sum = 0, squares = 0, normal = 0, normal2 = 0;
  std::set<uint64_t> seen;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double u = hr_uniform(42, i), z = hr_normal(42, i);
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
    squares += u * u;
    normal += z;
    normal2 += z * z;
    seen.insert(hr_random(42, i));
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.005);
  EXPECT_NEAR(normal / n, 0, 0.015);
  EXPECT_NEAR(normal2 / n, 1, 0.02);
  EXPECT_EQ(seen.size(), static_cast<size_t>(n));
  EXPECT_NE(hr_uniform(1, 0), hr_uniform(2, 0));
}

}  // namespace
