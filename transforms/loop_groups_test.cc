// Loops that go block by block, and what stands beside them, are one kernel.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// What a loop leaves for the next one, which goes back: as long as a block. Maps before and between them go with them, others don't.
TEST(LoopGroups, ThereAndBack) {
  ExpectPass(R"(
sdfg f(X: f64[262144], G: f64[262144], L: f64) {
  transient A: f64[101, 262144]
  transient one: f64
  state there { map i in 0:262144 { A[0, i] = X[i] } }
  for t in 0:100 {
    state { map i in 0:262144 { A[t + 1, i] = sin(A[t, i]) } }
  }
  state sum {
    L = 0.0
    map i in 0:262144 { L += A[100, i] }
    one = 1.0
    map j in 0:262144 { G[j] = one }
  }
  for t in 99:-1:-1 {
    state { map i in 0:262144 { G[i] = G[i] * cos(A[t, i]) } }
  }
})",
             "outline{device=cpu}; choose-schedule", R"(
sdfg f(X: f64[262144], G: f64[262144], L: f64) {
  transient A: f64[101, 262144]
  transient one: f64
  state {
    call k0(p0 = L)
    call k1(p0 = one)
    call k2(p0 = G, p1 = one, p2 = A, p3 = X)
    call k3(p0 = L, p1 = A)
  }
}

kernel k0(p0: f64) for cpu {
  p0 = 0.0
}

kernel k1(p0: f64) for cpu {
  p0 = 1.0
}

kernel k2(p0: f64[262144], p1: f64, p2: f64[101, 262144], p3: f64[262144]) for cpu {
  map i1_0 in 0:262144:1024 @parallel {
    map i1 in 0:1024 @vector { p0[i1 + i1_0] = p1 }
    map i1 in 0:1024 @vector { p2[0, i1 + i1_0] = p3[i1 + i1_0] }
    for i1 in 0:100 {
      map i2 in 0:1024 @vector { p2[i1 + 1, i1_0 + i2] = sin(p2[i1, i1_0 + i2]) }
    }
    for i1 in 99:-1:-1 {
      map i2 in 0:1024 @vector { p0[i1_0 + i2] = p0[i1_0 + i2] * cos(p2[i1, i1_0 + i2]) }
    }
  }
}

kernel k3(inout p0: f64, p1: f64[101, 262144]) for cpu {
  local partial: f64[8] @worker
  map part_0 in 0:8 @parallel {
    local sum: f64
    sum = 0.0
    local partial_1: f64[16]
    map u in 0:16 @vector { partial_1[u] = 0.0 }
    for i0_0 in 0:16 * (min(262144 - 32768 * part_0, 32768) // 16):16 {
      map u in 0:16 @vector { partial_1[u] += p1[100, i0_0 + 32768 * part_0 + u] }
    }
    map i0 in 16 * (min(262144 - 32768 * part_0, 32768) // 16):min(262144 - 32768 * part_0, 32768) @vector {
      partial_1[i0 - 16 * (min(262144 - 32768 * part_0, 32768) // 16)] += p1[100, i0 + 32768 * part_0]
    }
    map u in 0:16 @halves { sum += partial_1[u] }
    partial[part_0] = sum
  }
  local sum_1: f64
  sum_1 = 0.0
  for part_1 in 0:8 { sum_1 += partial[part_1] }
  p0 += sum_1
})");
}

// Nothing but the loops has the arrays: they are no longer than a block, whose elements lie side by side as the loops walk them. Squares are
// turned inside of a thread.
TEST(LoopGroups, OfRows) {
  ExpectPass(R"(
sdfg running(X: f32[1024, 1000], Y: f32[1024, 1000]) {
  transient S: f32[1024]
  transient R: f32[1024, 1000]
  state { map i in 0:1024 { S[i] = 0.0 } }
  for t in 0:1000 {
    state {
      map i in 0:1024 { S[i] = S[i] + X[i, t] }
      map i in 0:1024 { R[i, t] = S[i] }
    }
  }
  state { map i in 0:1024, t in 0:1000 { Y[i, t] = R[i, t] * 2.0 } }
})",
             "outline{device=cpu}; choose-schedule", R"(
sdfg running(X: f32[1024, 1000], Y: f32[1024, 1000]) {
  state {
    call k0(p0 = X, p1 = Y)
  }
}

kernel k0(p0: f32[1024, 1000], p1: f32[1024, 1000]) for cpu {
  map i1_0 in 0:1024:64 @parallel {
    local r0: f32[64] @worker
    map i1 in 0:64 @vector { r0[i1] = 0.0 }
    local r1: f32[1000, 64] @worker
    for i1 in 0:1000 {
      map i2 in 0:64 @vector { r0[i2] = r0[i2] + p0[i1_0 + i2, i1] }
      map i2 in 0:64 @vector { r1[i1, i2] = r0[i2] }
    }
    for i2_0 in 0:1000:32, i1_0_1 in 0:64:32 {
      local t: f32[32, 32]
      for i2 in i2_0:+32 {
        map i1 in i1_0_1:+32 @vector { t[i2 - i2_0, i1 - i1_0_1] = r1[i2, i1] * 2.0 }
      }
      for i2_0_1 in i2_0:+32:16, i1_0_2 in i1_0_1:+32:16 {
        if i2_0_1 + 16 <= 1000 {
          map r in 0:16 @unroll {
            map u in 0:16 @vector {
              p1[i1_0 + i1_0_2 + r, i2_0_1 + u] = t[i2_0_1 - i2_0 + u, i1_0_2 - i1_0_1 + r]
            }
          }
        } else {
          for i1 in i1_0_2:+16 {
            map i2 in i2_0_1:+16 @vector { p1[i1 + i1_0, i2] = t[i2 - i2_0, i1 - i1_0_1] }
          }
        }
      }
    }
  }
})");
}

// Sizes that nobody knows.
TEST(LoopGroups, OfAnySize) {
  ExpectPass(R"(
sdfg f(X: f32[T, N], Y: f32[N]) {
  transient A: f32[T, N]
  for t in 0:T {
    state { map i in 0:N { A[t, i] = exp(X[t, i]) } }
  }
  state { map i in 0:N { Y[i] = 0.0 } }
  for t in T - 1:-1:-1 {
    state { map i in 0:N { Y[i] = Y[i] * 0.5 + A[t, i] } }
  }
})",
             "outline{device=cpu}; choose-schedule", R"(
sdfg f(X: f32[T, N], Y: f32[N]) {
  state {
    call k0(p0 = Y, p1 = X, n0 := N, n1 := T)
  }
}

kernel k0(p0: f32[n0], p1: f32[n1, n0], n0: symbol, n1: symbol) for cpu {
  map i1_0 in 0:n0:512 @parallel {
    map i1 in 0:min(n0 - i1_0, 512) @vector { p0[i1 + i1_0] = 0.0 }
    local r0: f32[n1, 512] @worker
    for i1 in 0:n1 {
      map i2 in 0:min(n0 - i1_0, 512) @vector { r0[i1, i2] = exp(p1[i1, i1_0 + i2]) }
    }
    for i1 in n1 - 1:-1:-1 {
      map i2 in 0:min(n0 - i1_0, 512) @vector { p0[i1_0 + i2] = p0[i1_0 + i2] * 0.5 + r0[i1, i2] }
    }
  }
})");
}

// A tape of few elements and many steps is not much longer than what each worker would have.
TEST(LoopGroups, FewElementsStayInMemory) {
  const auto program = [](const std::string& n) {
    return Transformed("sdfg f(X: f64[" + n + "], G: f64[" + n + "]) {\n  transient A: f64[5001, " + n + "]\n  state { map i in 0:" + n +
                           " { A[0, i] = X[i] } }\n  for t in 0:5000 { state { map i in 0:" + n + " { A[t + 1, i] = sin(A[t, i]) } } }\n  state { map i in 0:" + n +
                           " { G[i] = 1.0 } }\n  for t in 4999:-1:-1 { state { map i in 0:" + n + " { G[i] = G[i] * cos(A[t, i]) } } }\n}",
                       "outline{device=cpu}");
  };
  EXPECT_NE(program("1024").find("f64[5001, 1024] @worker"), std::string::npos) << program("1024");
  EXPECT_NE(program("1000").find("transient A: f64[5001, 1000]\n"), std::string::npos) << program("1000");
}

// A map over all that the loop goes over step by step stays apart where what it writes lies in memory: it would be written twice.
TEST(LoopGroups, SweepsStayApart) {
  const std::string out = Transformed(R"(
sdfg f(X: f32[64, 64, 4096], Y: f32[64, 64, 4096]) {
  state { map i in 0:64, t in 0:64, j in 0:4096 { Y[i, t, j] = 0.0 } }
  for t in 0:64 {
    state { map i in 0:64, j in 0:4096 { Y[i, t, j] = (Y[i, t - 1, j] ?? 0.0) + X[i, t, j] } }
  }
})",
                                      "outline{device=cpu}");
  EXPECT_NE(out.find("kernel k1"), std::string::npos) << out;
}

// Neighbours meet between the loops; one array is read where another block is written; something in between needs the first and is needed by
// the second.
TEST(LoopGroups, NotWhereBlocksMeet) {
  const auto is_one = [](const std::string& between, const std::string& second) {
    const std::string out = Transformed("sdfg f(X: f64[N], Y: f64[N], M: f64) {\n  for t in 0:10 { state { map i in 0:N { X[i] = sin(X[i] ?? 0.0) } } }\n  state { " +
                                            between + " }\n  for t in 0:10 { state { map i in 0:N { " + second + " } } }\n}",
                                        "outline{device=cpu}");
    EXPECT_NE(out.find("kernel k0"), std::string::npos) << out;
    return out.find("kernel k1") == std::string::npos;
  };
  EXPECT_TRUE(is_one("map i in 0:N { Y[i] = 1.0 }", "Y[i] = X[i] * Y[i]"));
  EXPECT_FALSE(is_one("map i in 0:N { Y[i] = 1.0 }", "Y[i] = X[N - 1 - i] * Y[i]"));
  EXPECT_FALSE(is_one("map i in 0:N { Y[i] = X[0] }", "Y[i] = X[i] * Y[i]"));
  EXPECT_FALSE(is_one("M = 0.0 ; map i in 0:N { M += X[i] }", "Y[i] = X[i] * M"));
}

}  // namespace
}  // namespace headrace::transforms
