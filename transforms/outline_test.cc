#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

TEST(Outline, EqualStatementsAreOneKernel) {
  ExpectPass(R"(
sdfg f(X: f32[N], U: f32[M], Y: f32[N], V: f32[M]) {
  state {
    map i in 0:N { Y[i] = exp(X[i]) }
    map j in 0:M { V[j] = exp(U[j]) }
  }
})",
             "outline", R"(
sdfg f(X: f32[N], U: f32[M], Y: f32[N], V: f32[M]) {
  state {
    call k0(p0 = Y, p1 = X, n0 := N)
    call k0(p0 = V, p1 = U, n0 := M)
  }
}
kernel k0(p0: f32[n0], p1: f32[n0], n0: symbol) {
  map i0 in 0:n0 { p0[i0] = exp(p1[i0]) }
})");
}

// What holds values before and is read is changed in place; registers and views go into the kernel.
TEST(Outline, RegistersViewsAndPlaces) {
  ExpectPass(R"(
sdfg f(X: f32[N, 4], inout S: f32[N], Y: f32[N]) {
  transient r: f32 @register
  view row: f32[N] of X offset 1 strides [4]
  state {
    map i in 0:N {
      r = row[i] * 2
      S[i] += r
      Y[i] = S[i]
    }
  }
})",
             "outline", R"(
sdfg f(X: f32[N, 4], inout S: f32[N], Y: f32[N]) {
  view row: f32[N] of X offset 1 strides [4]
  state {
    call k0(p0 = X, p1 = S, p2 = Y, n0 := N)
  }
}
kernel k0(p0: f32[n0, 4], inout p1: f32[n0], p2: f32[n0], n0: symbol) {
  view v0: f32[n0] of p0 offset 1 strides [4]
  map i0 in 0:n0 {
    local r0: f32
    r0 = v0[i0] * 2
    p1[i0] += r0
    p2[i0] = p1[i0]
  }
})");
}

// Loops say what their variables are; where an index comes from data, an error must tell the container's name.
TEST(Outline, LoopsAndReports) {
  ExpectPass(R"(
sdfg f(X: f32[T, N], I: i64[N], Y: f32[T, N]) {
  for t in 1:T {
    state {
      map i in 0:N { Y[t, i] = X[t - 1, i] }
      map i in 0:N { Y[t, i] = X[t, I[i]] }
    }
  }
})",
             "outline", R"(
sdfg f(X: f32[T, N], I: i64[N], Y: f32[T, N]) {
  for t in 1:T {
    state {
      call k0(p0 = Y, p1 = X, n0 := N, n1 := T, n2 := t)
      call k1(Y = Y, X = X, I = I, n0 := N, n1 := T, n2 := t)
    }
  }
}
kernel k0(p0: f32[n1, n0], p1: f32[n1, n0], n0: symbol, n1: symbol, n2: symbol) {
  assume n2 in 1:n1
  map i0 in 0:n0 { p0[n2, i0] = p1[n2 - 1, i0] }
}
kernel k1(Y: f32[n1, n0], X: f32[n1, n0], I: i64[n0], n0: symbol, n1: symbol, n2: symbol) {
  assume n2 in 1:n1
  map i0 in 0:n0 { Y[n2, i0] = X[n2, I[i0]] }
})");
}

// Names that an error tells may look like those that kernels give.
TEST(Outline, KeptNamesAreNoOthers) {
  ExpectPass(R"(
sdfg f(X: f32[N], i0: i64[N], n0: f32[N]) {
  map k in 0:N { n0[k] = X[i0[k]] }
})",
             "outline", R"(
sdfg f(X: f32[N], i0: i64[N], n0: f32[N]) {
  call k0(n0 = n0, X = X, i0 = i0, n0_ := N)
}
kernel k0(n0: f32[n0_], X: f32[n0_], i0: i64[n0_], n0_: symbol) {
  map i0_ in 0:n0_ { n0[i0_] = X[i0[i0_]] }
})");
}

// Statements that walk memory otherwise are other kernels, whose parameters say so.
TEST(Outline, LayoutsMakeOtherKernels) {
  ExpectPass(R"(sdfg f(X: f32[N, 3], Y: f32[N, 3]) {
  transient A: f32[N, 3]
  transient B: f32[N, 3] layout [d1, d0]
  state {
    map i in 0:N, j in 0:3 { A[i, j] = X[i, j] }
    map i in 0:N, j in 0:3 { Y[i, j] = X[i, j] }
    map i in 0:N, j in 0:3 { B[i, j] = X[i, j] }
  }
})",
             "outline", R"(sdfg f(X: f32[N, 3], Y: f32[N, 3]) {
  transient A: f32[N, 3]
  transient B: f32[N, 3] layout [d1, d0]
  state {
    call k0(p0 = A, p1 = X, n0 := N)
    call k0(p0 = Y, p1 = X, n0 := N)
    call k1(p0 = B, p1 = X, n0 := N)
  }
}
kernel k0(p0: f32[n0, 3], p1: f32[n0, 3], n0: symbol) { map i0 in 0:n0, i1 in 0:3 { p0[i0, i1] = p1[i0, i1] } }
kernel k1(p0: f32[n0, 3] layout [d1, d0], p1: f32[n0, 3], n0: symbol) { map i0 in 0:n0, i1 in 0:3 { p0[i0, i1] = p1[i0, i1] } })");
}

// Loops of small statements are one kernel. Numbers that each iteration sets are its registers, what it passes on is not.
TEST(Outline, LoopsOfSmallStatements) {
  ExpectPass(R"(
sdfg f(X: f32[T, 8], inout Y: f32[T, 8], inout Z: f32[T, T]) {
  transient s: f32
  transient last: f32
  state { last = 0 }
  for t in 1:T {
    state {
      s = X[t, 0] * last
      map i in 0:8 { Y[t, i] = Y[t - 1, i] * s }
    }
    for u in t - 1:-1:-1 {
      state { Z[t, u] = Z[t - 1, u] + s }
    }
    state { last = s }
  }
})",
             "outline{device=cpu}", R"(
sdfg f(X: f32[T, 8], inout Y: f32[T, 8], inout Z: f32[T, T]) {
  transient last: f32
  state {
    call k0(p0 = last)
  }
  state {
    call k1(p0 = X, p1 = last, p2 = Y, p3 = Z, n0 := T)
  }
}

kernel k0(p0: f32) {
  p0 = 0
}

kernel k1(p0: f32[n0, 8], inout p1: f32, inout p2: f32[n0, 8], inout p3: f32[n0, n0], n0: symbol) {
  for i0 in 1:n0 {
    local r0: f32
    r0 = p0[i0, 0] * p1
    map i1 in 0:8 { p2[i0, i1] = p2[i0 - 1, i1] * r0 }
    for i1 in i0 - 1:-1:-1 { p3[i0, i1] = p3[i0 - 1, i1] + r0 }
    p1 = r0
  }
})");
}

// Of a sum of small floats there may be no schedule, and without one no `for` either.
TEST(Outline, SumsOfSmallFloatsStayInTheirLoops) {
  ExpectPass(R"(
sdfg f(X: f16[T, 8], Y: f16[T]) {
  for t in 0:T {
    state {
      Y[t] = 0
      map i in 0:8 { Y[t] += X[t, i] }
    }
  }
})",
             "outline{device=cpu}", R"(
sdfg f(X: f16[T, 8], Y: f16[T]) {
  for t in 0:T {
    state {
      call k0(p0 = Y, n0 := T, n1 := t)
      call k1(p0 = Y, p1 = X, n0 := T, n1 := t)
    }
  }
}

kernel k0(p0: f16[n0], n0: symbol, n1: symbol) {
  assume n1 in 0:n0
  p0[n1] = 0
}

kernel k1(inout p0: f16[n0], p1: f16[n0, 8], n0: symbol, n1: symbol) {
  assume n1 in 0:n0
  map i0 in 0:8 { p0[n1] += p1[n1, i0] }
})");
}

// Where a loop can't be one, what stands together in its body is.
TEST(Outline, SmallStatementsOfOtherLoops) {
  ExpectPass(R"(
sdfg f(I: i64[T], X: f64[T], inout Y: f64[64]) {
  transient s: f64
  for t in 0:T {
    let n = I[t]
    state {
      s = X[t] * 2
      map i in 0:min(n, 64) { Y[i] += s }
    }
  }
})",
             "outline{device=cpu}", R"(
sdfg f(I: i64[T], X: f64[T], inout Y: f64[64]) {
  for t in 0:T {
    let n = I[t]
    state {
      call k0(p0 = X, p1 = Y, n0 := T, n1 := t, n2 := n)
    }
  }
}

kernel k0(p0: f64[n0], inout p1: f64[64], n0: symbol, n1: symbol, n2: symbol) {
  assume n1 in 0:n0
  for i0 in 0:1 {
    local r0: f64
    r0 = p0[n1] * 2
    map i1 in 0:min(n2, 64) { p1[i1] += r0 }
  }
})");
}

// Also beside iterations that all may meet where data say, however many there are: no thread could take a part of them.
TEST(Outline, SmallStatementsBesideWhatKeepsItsOrder) {
  ExpectPass(R"(
sdfg f(I: i64[T], J: i64[M], X: f64[T], inout Y: f64[64]) {
  transient s: f64
  for t in 0:T {
    let n = I[t]
    state {
      s = X[t] * 2
      map i in 0:n { Y[J[i]] += s }
    }
  }
})",
             "outline{device=cpu}", R"(
sdfg f(I: i64[T], J: i64[M], X: f64[T], inout Y: f64[64]) {
  for t in 0:T {
    let n = I[t]
    state {
      call k0(X = X, Y = Y, J = J, n0 := T, n1 := t, n2 := n, n3 := M)
    }
  }
}

kernel k0(X: f64[n0], inout Y: f64[64], J: i64[n3], n0: symbol, n1: symbol, n2: symbol, n3: symbol) {
  assume n1 in 0:n0
  for i0 in 0:1 {
    local r0: f64
    r0 = X[n1] * 2
    map i1 in 0:n2 { Y[J[i1]] += r0 }
  }
})");
}

// Nor is a loop a kernel that decides how large something in it is: each statement is one of an iteration's size.
TEST(Outline, LoopsThatDecideSizesStay) {
  ExpectPass(R"(
sdfg f(inout X: f32[12]) {
  transient T: f32[12 // i]
  for i in 1:5 {
    state { map k in 0:12 // i { T[k] = X[k] + 1 } }
    state { X[0] = T[12 // i - 1] }
  }
})",
             "outline{device=cpu}", R"(
sdfg f(inout X: f32[12]) {
  transient T: f32[12 // i]
  for i in 1:5 {
    state {
      call k0(p0 = T, p1 = X, n0 := i)
    }
    state {
      call k1(X = X, T = T, n0 := i)
    }
  }
}

kernel k0(p0: f32[12 // n0], p1: f32[12], n0: symbol) {
  assume n0 in 1:5
  map i0 in 0:12 // n0 { p0[i0] = p1[i0] + 1 }
}

kernel k1(X: f32[12], T: f32[12 // n0], n0: symbol) {
  assume n0 in 1:5
  X[0] = T[12 // n0 - 1]
}
)");
}

// Statements that are worth threads, that may be, or that are products with tiles, keep their loop: it calls a kernel of each.
TEST(Outline, LoopsOfLargeStatementsStay) {
  ExpectPass(R"(
sdfg f(inout X: f32[T, 100000], inout Y: f32[T, N], A: f32[32, 32], inout B: f32[T, 32, 32]) {
  for t in 1:T {
    state { map i in 0:100000 { X[t, i] = X[t - 1, 99999 - i] + 1 } }
  }
  for t in 1:T {
    state { map i in 0:N { Y[t, i] = Y[t - 1, N - 1 - i] + 1 } }
  }
  for t in 1:T {
    state { map i in 0:32, j in 0:32, k in 0:32 { B[t, i, j] += A[i, k] * B[t - 1, k, j] } }
  }
})",
             "outline{device=cpu}", R"(
sdfg f(inout X: f32[T, 100000], inout Y: f32[T, N], A: f32[32, 32], inout B: f32[T, 32, 32]) {
  for t in 1:T {
    state {
      call k0(p0 = X, n0 := T, n1 := t)
    }
  }
  for t in 1:T {
    state {
      call k1(p0 = Y, n0 := N, n1 := T, n2 := t)
    }
  }
  for t in 1:T {
    state {
      call k2(p0 = B, p1 = A, n0 := T, n1 := t)
    }
  }
}

kernel k0(inout p0: f32[n0, 100000], n0: symbol, n1: symbol) {
  assume n1 in 1:n0
  map i0 in 0:100000 { p0[n1, i0] = p0[n1 - 1, 99999 - i0] + 1 }
}

kernel k1(inout p0: f32[n1, n0], n0: symbol, n1: symbol, n2: symbol) {
  assume n2 in 1:n1
  map i0 in 0:n0 { p0[n2, i0] = p0[n2 - 1, n0 - i0 - 1] + 1 }
}

kernel k2(inout p0: f32[n0, 32, 32], p1: f32[32, 32], n0: symbol, n1: symbol) {
  assume n1 in 1:n0
  map i0 in 0:32, i1 in 0:32, i2 in 0:32 { p0[n1, i0, i1] += p1[i0, i2] * p0[n1 - 1, i2, i1] }
})");
}

}  // namespace
}  // namespace headrace::transforms
