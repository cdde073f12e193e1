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

}  // namespace
}  // namespace headrace::transforms
