// Iterations that meet, indices from memory, ranges that depend on each other.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Indices from memory are asked for once for all lanes; the array has the name that an error tells.
TEST(InOrder, Gathers) {
  ExpectPass(R"(
kernel gather(Y: f32[n0, 64], W: f32[1000, 64], I: i64[n0], n0: symbol) {
  map i0 in 0:n0, i1 in 0:64 { Y[i0, i1] = W[I[i0], i1] }
}
kernel elements(Y: f32[n0], W: f32[n1], I: i64[n0], n0: symbol, n1: symbol) {
  map i0 in 0:n0 { Y[i0] = W[I[i0]] }
}
kernel blocks(Y: f32[8, 5, 3], W: f32[9, 5, 3], I: i64[8]) {
  map i0 in 0:8, i1 in 0:5, i2 in 0:3 { Y[i0, i1, i2] = W[I[i0], i1, i2] }
})",
             "choose-schedule", R"(
kernel gather(Y: f32[n0, 64], W: f32[1000, 64], I: i64[n0], n0: symbol) for cpu {
  map i0_0 in 0:n0:512 @parallel {
    for i0 in i0_0:+512 {
      check W[I[i0], 0]
      map i1 in 0:64 @vector { Y[i0, i1] = W[I[i0], i1] }
    }
  }
}
kernel elements(Y: f32[n0], W: f32[n1], I: i64[n0], n0: symbol, n1: symbol) for cpu {
  map i0_0 in 0:n0:32768 @parallel {
    for i0 in i0_0:+32768 {
      check W[I[i0]]
      Y[i0] = W[I[i0]]
    }
  }
}
kernel blocks(Y: f32[8, 5, 3], W: f32[9, 5, 3], I: i64[8]) for cpu {
  view v: f32[9, 15] of W
  view v_1: f32[8, 15] of Y
  for i0 in 0:8 {
    check W[I[i0], 0, 0]
    check v[I[i0], 0]
    map i1 in 0:15 @vector { v_1[i0, i1] = v[I[i0], i1] }
  }
})");
}

// What several iterations add to keeps their order; what they keep apart is shared out.
TEST(InOrder, Scatters) {
  ExpectPass(R"(
kernel scatter(inout W: f32[1000, 64], I: i64[n0], Y: f32[n0, 64], n0: symbol) {
  map i0 in 0:n0, i1 in 0:64 { W[I[i0], i1] += Y[i0, i1] }
}
kernel wide(inout W: f32[1000, n1], I: i64[n0], Y: f32[n0, n1], n0: symbol, n1: symbol) {
  map i0 in 0:n0, i1 in 0:n1 { W[I[i0], i1] += Y[i0, i1] }
})",
             "choose-schedule", R"(
kernel scatter(inout W: f32[1000, 64], I: i64[n0], Y: f32[n0, 64], n0: symbol) for cpu {
  for i0 in 0:n0 {
    check W[I[i0], 0]
    map i1 in 0:64 @vector { W[I[i0], i1] += Y[i0, i1] }
  }
}
kernel wide(inout W: f32[1000, n1], I: i64[n0], Y: f32[n0, n1], n0: symbol, n1: symbol) for cpu {
  map i1_0_0 in 0:n1:256 * max(65536 // max(2 * n0 * min(n1, 256), 1), 1) @parallel {
    for i1_0 in i1_0_0:+256 * max(65536 // max(2 * n0 * min(n1, 256), 1), 1):256, i0 in 0:n0 {
      check W[I[i0], i1_0]
      map i1 in i1_0:+256 @vector { W[I[i0], i1] += Y[i0, i1] }
    }
  }
})");
}

// Truth values have none that the strategy knows.
TEST(InOrder, SumsWithoutANeutralValue) {
  ExpectPass(R"(
kernel any(inout p0: bool[8], p1: bool[8, 100]) { map i0 in 0:8, i1 in 0:100 { p0[i0] += p1[i0, i1] } })",
             "choose-schedule", R"(
kernel any(inout p0: bool[8], p1: bool[8, 100]) for cpu {
  for i0 in 0:8, i1 in 0:100 { p0[i0] += p1[i0, i1] }
})");
}

// What is read only where a condition holds is asked for there alone.
TEST(InOrder, AskedWhereNeeded) {
  ExpectPass(R"(
kernel asked(p0: f32[8, 64], W: f32[9, 64], I: i64[8]) {
  map i0 in 0:8, i1 in 0:64 { p0[i0, i1] = I[i0] != 3 ? W[I[i0], i1] : 0 }
})",
             "choose-schedule", R"(
kernel asked(p0: f32[8, 64], W: f32[9, 64], I: i64[8]) for cpu {
  for i0 in 0:8 {
    if I[i0] != 3 {
      check W[I[i0], 0]
    }
    map i1 in 0:64 @vector { p0[i0, i1] = I[i0] != 3 ? W[I[i0], i1] : 0 }
  }
})");
}

// A range that would go beyond the last element ends there, after an error.
TEST(InOrder, RangesThatEndEarlier) {
  ExpectPass(R"(
kernel copy(p0: f32[n0, n1], p1: f32[n2], n0: symbol, n1: symbol, n2: symbol) {
  map i0 in 0:n2 { p0.flat[i0] = p1[i0] }
})",
             "choose-schedule", R"(
kernel copy(p0: f32[n0, n1], p1: f32[n2], n0: symbol, n1: symbol, n2: symbol) for cpu {
  if n0 * n1 < n2 {
    check p0.flat[max(n0 * n1, 0)]
  }
  map i0_0 in 0:min(n2, n0 * n1):32768 @parallel {
    map i0 in i0_0:+32768 @vector { p0.flat[i0] = p1[i0] }
  }
})");
}

// Each side has lanes of its own.
TEST(Choices, SideBySide) {
  ExpectPass(R"(
kernel concat(p0: f32[4, 24], p1: f32[4, 12], p2: f32[4, 12]) {
  map i0 in 0:4, i1 in 0:24 { p0[i0, i1] = i1 < 12 ? p1[i0, i1] : p2[i0, i1 - 12] }
})",
             "choose-schedule", R"(
kernel concat(p0: f32[4, 24], p1: f32[4, 12], p2: f32[4, 12]) for cpu {
  for i0 in 0:4 {
    map i1 in 0:12 @vector { p0[i0, i1] = p1[i0, i1] }
    map i1 in 12:24 @vector { p0[i0, i1] = p2[i0, i1 - 12] }
  }
})");
}

// A range that depends on another one lies within it.
TEST(InOrder, Triangles) {
  ExpectPass(R"(
kernel lower(p0: f32[n0, n0], p1: f32[n0, n0], n0: symbol) {
  map i0 in 0:n0, i1 in 0:i0 { p0[i0, i1] = p1[i0, i1] * 2 }
}
kernel upper(inout p0: f32[200], p1: f32[200, 200]) {
  map i0 in 0:200, i1 in i0:200 { p0[i0] += p1[i0, i1] }
})",
             "choose-schedule", R"(
kernel lower(p0: f32[n0, n0], p1: f32[n0, n0], n0: symbol) for cpu {
  map i0_0 in 0:n0:339 @parallel {
    for i0 in i0_0:+339 {
      map i1 in 0:i0 @vector { p0[i0, i1] = p1[i0, i1] * 2 }
    }
  }
}
kernel upper(inout p0: f32[200], p1: f32[200, 200]) for cpu {
  for i0 in 0:200 {
    local sum: f32
    sum = 0.0
    local partial: f32[32]
    map u in 0:32 @vector { partial[u] = 0.0 }
    for i1_0 in 0:32 * ((8 - i0) // 32) + 192:32 {
      map u in 0:32 @vector { partial[u] += p1[i0, i0 + i1_0 + u] }
    }
    map i1 in 32 * ((8 - i0) // 32) + 192:200 - i0 @vector {
      partial[i1 - 32 * ((8 - i0) // 32) - 192] += p1[i0, i0 + i1]
    }
    map u in 0:32 @halves { sum += partial[u] }
    p0[i0] += sum
  }
})");
}

// A loop keeps its order; what stands in it is done by one thread, as it can.
TEST(InOrder, LoopsOfStatements) {
  ExpectPass(R"(
kernel solve(L: f64[100, 100], b: f64[100], inout x: f64[100]) {
  for i in 0:100 {
    local s: f64
    s = 0
    map k in 0:i { s += L[i, k] * x[k] }
    x[i] = (b[i] - s) / L[i, i]
  }
}
kernel sweep(inout G: f64[50, 50], inout h: f64[50]) {
  for i in 48:0:-1 {
    for j in 48:0:-1 {
      local g: f64
      g = G[i, j]
      G[i, j] = g / 9
      G[i, j - 1] += g
    }
    map k in 1:49 { h[k] += G[i, k] + G[i, k + 1] }
  }
})",
             "choose-schedule", R"(
kernel solve(L: f64[100, 100], b: f64[100], inout x: f64[100]) for cpu {
  for i in 0:100 {
    local s: f64
    s = 0
    local sum: f64
    sum = 0.0
    local partial: f64[16]
    map u in 0:16 @vector { partial[u] = 0.0 }
    for k_0 in 0:16 * (i // 16):16 {
      map u in 0:16 @vector { partial[u] += L[i, k_0 + u] * x[k_0 + u] }
    }
    map k in 16 * (i // 16):i @vector { partial[k - 16 * (i // 16)] += L[i, k] * x[k] }
    map u in 0:16 @halves { sum += partial[u] }
    s += sum
    x[i] = (b[i] - s) / L[i, i]
  }
}

kernel sweep(inout G: f64[50, 50], inout h: f64[50]) for cpu {
  for i in 48:0:-1 {
    for j in 48:0:-1 {
      local g: f64
      g = G[i, j]
      G[i, j] = g / 9
      G[i, j - 1] += g
    }
    map k in 0:48 @vector { h[k + 1] += G[i, k + 1] + G[i, k + 2] }
  }
})");
}

// What loops around a kernel say is what may be, not what is: an `if` around its call may leave points out. So they are asked for.
TEST(InOrder, LoopsOfStatementsUnderAnIf) {
  ExpectPass(R"(
sdfg f(X: f64[4], inout Y: f64[5], inout Z: f64[5]) {
  for t in 0:5 {
    if t < 4 {
      state {
        Y[t] += X[t]
        Z[t] = Y[t] * 2
      }
    }
  }
})",
             "outline{device=cpu}; choose-schedule", R"(
sdfg f(X: f64[4], inout Y: f64[5], inout Z: f64[5]) {
  for t in 0:5 {
    if t < 4 {
      state {
        call k0(Y = Y, X = X, Z = Z, n0 := t)
      }
    }
  }
}

kernel k0(inout Y: f64[5], X: f64[4], Z: f64[5], n0: symbol) for cpu {
  assume n0 in 0:5
  for i0 in 0:1 {
    check X[n0]
    Y[n0] += X[n0]
    Z[n0] = Y[n0] * 2
  }
})");
}

// Ranges that depend on those over which iterations meet.
TEST(InOrder, TrianglesOfSums) {
  ExpectPass(R"(
kernel rows(inout D: f64[70, 50], G: f64[70, 70], A: f64[70, 50]) {
  map i in 0:70, j in 0:i + 1, k in 0:50 { D[j, k] += G[i, j] * A[i, k] }
}
kernel all(inout d: f64, G: f64[70, 70], A: f64[70, 50]) {
  map i in 0:70, j in 0:i + 1, k in 0:50 { d += G[i, j] * A[j, k] * A[i, k] }
})",
             "choose-schedule", R"(
kernel rows(inout D: f64[70, 50], G: f64[70, 70], A: f64[70, 50]) for cpu {
  for i in 0:70 {
    for j in 0:i + 1 {
      map k in 0:50 @vector { D[j, k] += G[i, j] * A[i, k] }
    }
  }
}

kernel all(inout d: f64, G: f64[70, 70], A: f64[70, 50]) for cpu {
  for i in 0:70 {
    local sum: f64
    sum = 0.0
    local partial: f64[64]
    map u in 0:64 @vector { partial[u] = 0.0 }
    for j in 0:i + 1 {
      map k in 0:50 @vector { partial[k] += G[i, j] * A[j, k] * A[i, k] }
    }
    map u in 0:64 @halves { sum += partial[u] }
    d += sum
  }
})");
}

// Lines of memory that no range depends on come first, each for itself.
TEST(InOrder, TrianglesWhoseLinesAreKeptApart) {
  ExpectPass(R"(
kernel lines(inout D: f64[600, 500], G: f64[500, 500], A: f64[600, 500]) {
  map i in 0:499, j in 0:499 - i, k in 0:600 { D[k, i + j + 1] += G[i, j] * A[k, i] }
})",
             "choose-schedule", R"(
kernel lines(inout D: f64[600, 500], G: f64[500, 500], A: f64[600, 500]) for cpu {
  map k in 0:600 @parallel {
    for i in 0:499 {
      map j in 0:499 - i @vector { D[k, i + j + 1] += G[i, j] * A[k, i] }
    }
  }
})");
}

}  // namespace
}  // namespace headrace::transforms
