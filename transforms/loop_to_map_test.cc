#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

TEST(LoopToMap, IterationsThatDontMeet) {
  ExpectPass(R"(sdfg f(X: f64[N], Y: f64[N]) {
    for i in 0:N { Y[i] = X[i] * 2.0 }
  })",
             "loop-to-map", R"(sdfg f(X: f64[N], Y: f64[N]) {
    map i in 0:N { Y[i] = X[i] * 2.0 }
  })");
}

// Each iteration has its own t; B[i] is read before its own iteration changes it, by those before: all of t comes first.
TEST(LoopToMap, TriangularProduct) {
  ExpectPass(R"(sdfg trmm(A: f64[M, M], inout B: f64[M, N]) {
    transient t: f64
    for i in 0:M {
      for j in 0:N {
        t = 0.0
        map k in 0:M - i - 1 { t += A[k + i + 1, i] * B[k + i + 1, j] }
        B[i, j] = B[i, j] + t
      }
    }
  })",
             "loop-to-map", R"(sdfg trmm(A: f64[M, M], inout B: f64[M, N]) {
    transient t: f64[M, N]
    state {
      map i in 0:M, j in 0:N { t[i, j] = 0.0 }
      map i in 0:M, j in 0:N, k in i + 1:M { t[i, j] += A[k, i] * B[k, j] }
      map i in 0:M, j in 0:N { B[i, j] = B[i, j] + t[i, j] }
    }
  })");
}

TEST(LoopToMap, SumsOverIterations) {
  ExpectPass(R"(sdfg f(A: f64[N, K], x: f64[K], inout y: f64[N], inout s: f64) {
    for k in 0:K {
      map i in 0:N { y[i] = y[i] - A[i, k] * x[k] }
      s = s + x[k]
    }
  })",
             "loop-to-map", R"(sdfg f(A: f64[N, K], x: f64[K], inout y: f64[N], inout s: f64) {
    state {
      map i in 0:N, k in 0:K { y[i] += -(A[i, k] * x[k]) }
      map k in 0:K { s += x[k] }
    }
  })");
}

// What is set before the loop, and by each iteration again before it reads it, is each iteration's own; the body sets and reads it.
TEST(LoopToMap, ArraysThatEachIterationSetsAgain) {
  ExpectPass(R"(sdfg f(A: f64[N, N], B: f64[N, M], inout C: f64[N, M]) {
    transient t: f64[M]
    map j in 0:M { t[j] = 0.0 }
    for i in 0:N {
      map j in 0:M {
        t[j] = B[i, j] * 2.0
        C[i, j] += t[j]
      }
    }
  })",
             "loop-to-map; eliminate-dead-code", R"(sdfg f(A: f64[N, N], B: f64[N, M], inout C: f64[N, M]) {
    transient t_1: f64[N, M]
    state {
      map i in 0:N, j in 0:M {
        t_1[i, j] = B[i, j] * 2.0
        C[i, j] += t_1[i, j]
      }
    }
  })");
}

// What the body adds to first has what was there before.
TEST(LoopToMap, ArraysThatAnIterationAddsToFirstAreAllIterations) {
  const char* text = R"(sdfg f(B: f64[N, M], C: f64[N, M]) {
    transient t: f64[M]
    map j in 0:M { t[j] = 0.0 }
    for i in 0:N {
      map j in 0:M {
        t[j] += B[i, j]
        C[i, j] = t[j]
      }
    }
  })";
  ExpectPass(text, "loop-to-map", text);
}

// What comes later in the text, but is needed first: an earlier iteration's second statement by a later one's first.
TEST(LoopToMap, StatementsChangeTheirOrder) {
  ExpectPass(R"(sdfg f(X: f64[N + 1], T: f64[N + 1], Y: f64[N]) {
    for i in 0:N {
      Y[i] = T[i] ?? 0.0
      T[i + 1] = X[i]
    }
  })",
             "loop-to-map", R"(sdfg f(X: f64[N + 1], T: f64[N + 1], Y: f64[N]) {
    state {
      map i in 0:N { T[i + 1] = X[i] }
      map i in 0:N { Y[i] = T[i] ?? 0.0 }
    }
  })");
}

TEST(LoopToMap, DownwardsAndFromOneOn) {
  ExpectPass(R"(sdfg f(X: f64[N], Y: f64[N]) {
    assume N >= 2
    transient t: f64
    for i in N - 1:0:-1 {
      t = X[i - 1]
      Y[i] = t * t
    }
  })",
             "loop-to-map", R"(sdfg f(X: f64[N], Y: f64[N]) {
    assume 2 <= N
    transient t: f64[N - 1]
    state {
      map i in N - 1:0:-1 { t[i - 1] = X[i - 1] }
      map i in N - 1:0:-1 { Y[i] = t[i - 1] * t[i - 1] }
    }
  })");
}

TEST(LoopToMap, WhatNeedsTheIterationBeforeStays) {
  for (const char* body : {
           "for i in 1:N { Y[i] = Y[i - 1] * X[i] }",                     // a recurrence
           "for i in 1:N { Y[i - 1] = X[i]; Y[i] = Y[i - 1] * 2.0 }",     // the second needs the first, and must come before the next one's
           "for i in 0:N { Y[X[i] > 0.0 ? 0 : 1] = X[i] }",               // the last one counts
           "for i in 0:N { Y[0] = X[i] }",                                // so it does here
           "for i in 0:N { Y[i] = Y[N - 1 - i] }",                        // half of it has changed when the other half reads it
           "for i in 0:N { Y[i] = Y[i] + Y[0] }",                         // Y[0] changes in the first
           "for i in 0:0 { Y[0] = X[i] }",                                // runs never
           "for i in 0:min(n, 1) { Y[i] += X[i] }",                       // or once
           "for i in 0:N:n { Y[i] = X[i] }",                              // a step of unknown size
       })
    ExpectUnchanged(std::string("sdfg f(X: f64[N], inout Y: f64[N], n: symbol) { assume 2 <= N\n") + body + " }", "loop-to-map");
}

// A value that the next iteration, or who comes after, finds.
TEST(LoopToMap, WhatOutlivesAnIterationIsNotItsOwn) {
  ExpectUnchanged(R"(sdfg f(X: f64[N], Y: f64[N]) {
    transient t: f64
    t = 0.0
    for i in 0:N {
      Y[i] = t
      t = X[i]
    }
  })",
                  "loop-to-map");
  ExpectUnchanged(R"(sdfg f(X: f64[N], Y: f64[N], last: f64) {
    transient t: f64
    for i in 0:N {
      t = X[i]
      Y[i] = t * t
    }
    last = t
  })",
                  "loop-to-map");
  ExpectUnchanged(R"(sdfg f(X: f64[N], Y: f64[N]) {
    transient t: f64[4]
    for i in 0:N {
      map k in 0:3 { t[k] = X[i] }
      Y[i] = t[0] * t[3]
    }
  })",
                  "loop-to-map");
}

TEST(Accumulate, WhatIsAddedInPlace) {
  ExpectPass(R"(sdfg f(X: f64[N], inout A: f64[N], inout B: f64[N], inout C: f64[N], inout s: f64) {
    map i in 0:N { A[i] = A[i] - X[i] * 2.0 }
    map i in 0:N { B[i] = B[i] + X[i] * B[i] }
    map i in 0:N {
      C[i] = X[i] + C[i]
      C[i] = C[i] * 2.0
    }
    s = s + X[0]
  })",
             "accumulate", R"(sdfg f(X: f64[N], inout A: f64[N], inout B: f64[N], inout C: f64[N], inout s: f64) {
    state {
      map i in 0:N { A[i] += -(X[i] * 2.0) }
      map i in 0:N { B[i] = B[i] + X[i] * B[i] }
      map i in 0:N {
        C[i] = X[i] + C[i]
        C[i] = C[i] * 2.0
      }
      s += X[0]
    }
  })");
}

// An array of each iteration's own would be M times what the loop works on.
TEST(LoopToMap, NotForMuchMoreMemory) {
  ExpectUnchanged(R"(sdfg f(X: f64[1000000], Y: f64[1000]) {
    transient t: f64[1000000]
    for i in 0:1000 {
      map k in 0:1000000 { t[k] = X[k] > f64(i) ? X[k] : 0.0 }
      Y[i] = 0.0
      map k in 0:1000000 { Y[i] += t[k] * t[999999 - k] }
    }
  })",
                  "loop-to-map");
}

}  // namespace
}  // namespace headrace::transforms
