// Containers whose elements lie in another order: what programs, kernels, views and external code see of them.
#include "backends/cpu/kernel_testing.h"

namespace headrace::cpu {
namespace {

using ::testing::ElementsAre;

// Transients and constants, by index, flat and through a view, sizes known and not.
TEST(Layouts, Containers) {
  const auto out = ExpectAsInterpreted(R"(
sdfg f(X: f32[N, 3, 4], Y: f32[N, 4, 3], Z: f32[N, 12], W: f32[N, 4]) {
  transient T: f32[N, 3, 4] layout [d0, d2, d1]
  constant K: f32[3, 4] = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]] layout [d1, d0]
  view V: f32[N, 4] of T offset 1 strides [12, 3]
  state {
    map n in 0:N, c in 0:3, w in 0:4 { T[n, c, w] = X[n, c, w] + K[c, w] }
    map n in 0:N, c in 0:3, w in 0:4 { Y[n, w, c] = T[n, c, w] }
    map n in 0:N, i in 0:12 { Z[n, i] = T.flat[12 * n + i] }
    map n in 0:N, w in 0:4 { W[n, w] = V[n, w] }
  }
})",
                                       {{"X", F32({1, 3, 4}, std::vector<double>(12))}});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_THAT(Doubles(out[0]), ElementsAre(1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12));
  EXPECT_THAT(Doubles(out[1]), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_THAT(Doubles(out[2]), ElementsAre(5, 6, 7, 8));
}

// Memory is what the order says: a view with strides sees it.
TEST(Layouts, MemoryIsTurned) {
  const auto out = ExpectAsInterpreted(R"(
sdfg f(X: f32[2, 3], Y: f32[6], Z: f32[6]) {
  transient T: f32[2, 3] layout [d1, d0]
  constant K: f32[2, 3] = [[1, 2, 3], [4, 5, 6]] layout [d1, d0]
  view memory: f32[6] of T strides [1]
  view turned: f32[6] of K strides [1]
  state {
    map i in 0:2, j in 0:3 { T[i, j] = X[i, j] }
    map i in 0:6 { Y[i] = memory[i] }
    map i in 0:6 { Z[i] = turned[i] }
  }
})",
                                       {{"X", F32({2, 3}, {1, 2, 3, 4, 5, 6})}});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_THAT(Doubles(out[0]), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Doubles(out[1]), ElementsAre(1, 4, 2, 5, 3, 6));
}

// A kernel that walks memory, one that takes rows (its argument is copied), a part of an argument.
TEST(Layouts, Kernels) {
  ExpectAsInterpreted(R"(
sdfg f(X: f32[2, 8, 5], Y: f32[2, 8, 5], Z: f32[2, 8, 5], R: f32[5, 8]) {
  transient T: f32[2, 8, 5] layout [d0, d2, d1]
  transient U: f32[2, 8, 5] layout [d0, d2, d1]
  call turn(x = X, t = T, n := 2)
  call rows(x = T, y = Y, n := 2)
  call rows(x = T, y = U, n := 2)
  call back(t = U, y = Z, n := 2)
  call one(t = U[1, :, :], r = R)
}
kernel turn(x: f32[n, 8, 5], t: f32[n, 8, 5] layout [d0, d2, d1], n: symbol) for cpu {
  for i in 0:n { for k in 0:5 { map j in 0:8 @vector { t[i, j, k] = x[i, j, k] + 1 } } }
}
kernel rows(x: f32[n, 8, 5], y: f32[n, 8, 5], n: symbol) for cpu {
  for i in 0:n { for j in 0:8 { map k in 0:5 @vector { y[i, j, k] = x[i, j, k] * 2 } } }
}
kernel back(t: f32[n, 8, 5] layout [d0, d2, d1], y: f32[n, 8, 5], n: symbol) for cpu {
  for i in 0:n { for k in 0:5 { map j in 0:8 @vector { y[i, j, k] = t[i, j, k] } } }
}
kernel one(t: f32[8, 5] layout [d1, d0], r: f32[5, 8]) for cpu {
  for k in 0:5 { map j in 0:8 @vector { r[k, j] = t[j, k] } }
}
)",
                      {{"X", F32({2, 8, 5}, Whole(80))}});
}

// Calls of programs that know of no layouts, in and outside of maps.
TEST(Layouts, Calls) {
  ExpectAsInterpreted(R"(
sdfg f(X: f32[3, 4, 2], Y: f32[3, 4, 2], Z: f32[3, 4]) {
  transient T: f32[3, 4, 2] layout [d2, d0, d1]
  state {
    call twice(x = X, y = T)
    call twice(x = T, y = Y)
    map i in 0:3 { call sum(x = T[i, :, :], y = Z[i, :]) }
  }
}
sdfg twice(x: f32[a, b, c], y: f32[a, b, c]) { map i in 0:a, j in 0:b, k in 0:c { y[i, j, k] = 2 * x[i, j, k] } }
sdfg sum(x: f32[a, b], y: f32[a]) { map i in 0:a { y[i] = 0 }
  map i in 0:a, j in 0:b { y[i] += x[i, j] } }
)",
                      {{"X", F32({3, 4, 2}, Whole(24))}});
}

}  // namespace
}  // namespace headrace::cpu
