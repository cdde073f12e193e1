#include "transforms/alias.h"

#include <gtest/gtest.h>

#include "transforms/calls_testing.h"
#include "transforms/testing.h"

namespace headrace {
namespace {

using transforms::ExpectPass;
using transforms::ExpectUnchanged;

// A chain of elementwise statements is one array, from the first that is the run's own to the result.
TEST(Alias, ElementwiseChainsWorkInPlace) {
  ExpectPass(R"(sdfg f(X: f32[N, 8], Y: f32[N, 8]) {
      transient A: f32[N, 8]
      transient B: f32[N, 8]
      transient C: f32[N, 8]
      map n in 0:N, i in 0:8 { A[n, i] = X[n, i] + X[n, (i + 1) % 8] }
      map n in 0:N, i in 0:8 { B[n, i] = A[n, i] * A[n, i] }
      map n in 0:N { map i in 0:8 { C[n, i] = B[n, i] - A[0, 0] } }
      map n in 0:N, i in 0:8 { Y[n, i] = C[n, i] }
    })",
             "alias", R"(sdfg f(X: f32[N, 8], Y: f32[N, 8]) {
      transient A: f32[N, 8]
      map n in 0:N, i in 0:8 { A[n, i] = X[n, i] + X[n, (i + 1) % 8] }
      map n in 0:N, i in 0:8 { Y[n, i] = A[n, i] * A[n, i] }
      map n in 0:N { map i in 0:8 { Y[n, i] = Y[n, i] - A[0, 0] } }
    })");
}

// One statement of the chain at a time.
TEST(Alias, StepByStep) {
  ExpectPass(R"(sdfg f(X: f32[8], Y: f32[8]) {
      transient A: f32[8]
      transient B: f32[8]
      transient C: f32[8]
      map i in 0:8 { A[i] = X[7 - i] }
      map i in 0:8 { B[i] = A[i] * 2 }
      map i in 0:8 { C[i] = B[i] * 3 }
      map i in 0:8 { Y[i] = C[i] + C[7 - i] }
    })",
             "alias@#4+C", R"(sdfg f(X: f32[8], Y: f32[8]) {
      transient A: f32[8]
      transient B: f32[8]
      map i in 0:8 { A[i] = X[7 - i] }
      map i in 0:8 { B[i] = A[i] * 2 }
      map i in 0:8 { B[i] = B[i] * 3 }
      map i in 0:8 { Y[i] = B[i] + B[7 - i] }
    })");
}

// Reads before the element is written are of what it was; what is computed besides may read what it became.
TEST(Alias, TheOrderWithinAnIterationCounts) {
  ExpectPass(R"(sdfg f(X: f32[8], Y: f32[8], Z: f32[8]) {
      transient A: f32[8]
      transient B: f32[8]
      transient r: f32 @register
      map i in 0:8 { A[i] = X[7 - i] }
      map i in 0:8 { r = A[i] * 2; B[i] = A[i] + r; Z[i] = B[i] + r }
      map i in 0:8 { Y[i] = B[i] + B[7 - i] }
    })",
             "alias", R"(sdfg f(X: f32[8], Y: f32[8], Z: f32[8]) {
      transient A: f32[8]
      transient r: f32 @register
      map i in 0:8 { A[i] = X[7 - i] }
      map i in 0:8 { r = A[i] * 2; A[i] = A[i] + r; Z[i] = A[i] + r }
      map i in 0:8 { Y[i] = A[i] + A[7 - i] }
    })");
  ExpectPass(R"(sdfg f(X: f32[8], Y: f32[8], Z: f32[8]) {
      transient A: f32[8]
      transient B: f32[8]
      map i in 0:8 { A[i] = X[7 - i] }
      map i in 0:8 { B[i] = A[i] + 1; Z[i] = A[i] * 2 }
      map i in 0:8 { Y[i] = B[i] + B[7 - i] }
    })",
             "alias", R"(sdfg f(X: f32[8], Y: f32[8], Z: f32[8]) {
      transient B: f32[8]
      map i in 0:8 { Z[i] = X[7 - i] }
      map i in 0:8 { B[i] = Z[i] + 1; Z[i] = Z[i] * 2 }
      map i in 0:8 { Y[i] = B[i] + B[7 - i] }
    })");
}

std::string Two(const std::string& declared, const std::string& second, const std::string& after = "") {
  return "sdfg f(X: f32[8, 8], Y: f32[8, 8]) {\n transient A: f32[8, 8]\n" + declared +
         "\n map i in 0:8, j in 0:8 { A[i, j] = X[j, i] }\n" + second + "\n map i in 0:8, j in 0:8 { Y[i, j] = B[7 - i, j] }\n" +
         after + "}\n";
}

TEST(Alias, WhatReadsOtherElementsKeepsItsOwnArray) {
  for (const char* second : {
           "map i in 0:8, j in 0:8 { B[i, j] = A[j, i] }",                                // a transposition
           "map i in 0:8, j in 0:8 { B[i, j] = A[i, j] + A[i, (j + 1) % 8] }",            // a neighbour
           "map i in 0:8, j in 0:8 { B[i, j] = A[i, j] + (A[i - 1, j] ?? 0) }",           // … that may be missing
           "map i in 0:8, j in 0:8 { B[i, j] = A[i, j] + A.flat[8 * i + j] }",            // by another way
           "map i in 0:8 { map j in 0:8 { B[i, j] = A[i, j] } map j in 0:8 { B[i, j] += A[i, 7 - j] } }",
       })
    ExpectUnchanged(Two(" transient B: f32[8, 8]", second), "alias");
}

TEST(Alias, OtherTypesAndShapesKeepTheirOwnArray) {
  ExpectUnchanged(Two(" transient B: f64[8, 8]", "map i in 0:8, j in 0:8 { B[i, j] = A[i, j] }"), "alias");
  ExpectUnchanged(Two(" transient B: f32[9, 8]", "map i in 0:8, j in 0:8 { B[i, j] = A[i, j] }"), "alias");
}

TEST(Alias, InputsThatAreReadLaterKeepTheirArray) {
  ExpectUnchanged(Two(" transient B: f32[8, 8]", "map i in 0:8, j in 0:8 { B[i, j] = A[i, j] }",
                      " map i in 0:8 { Y[i, i] = A[i, i] }\n"),
                  "alias");
}

TEST(Alias, LoopsStayAsTheyAre) {
  ExpectUnchanged(R"(sdfg f(X: f32[8], Y: f32[8]) {
      transient A: f32[8]
      transient B: f32[8]
      for t in 0:4 {
        map i in 0:8 { A[i] = X[7 - i] * t }
        map i in 0:8 { B[i] = A[i] + 1 }
        map i in 0:8 { Y[i] = B[i] + B[7 - i] }
      }
    })",
                  "alias");
}

// Views of all elements are other names of the array; what lies in another one's place under another shape is a view of it.
TEST(Alias, WholeViews) {
  ExpectPass(R"(sdfg f(X: f32[4, 2, 8], Y: f32[8, 8]) {
      transient A: f32[4, 2, 8]
      view V: f32[8, 8] of A
      transient B: f32[8, 8]
      transient C: f32[8, 2, 4]
      view W: f32[8, 8] of C
      map i in 0:4, j in 0:2, k in 0:8 { A[i, j, k] = X[3 - i, j, k] }
      map i in 0:8, j in 0:8 { B[i, j] = V[i, j] * 2 }
      map i in 0:8, j in 0:8 { W[i, j] = B[i, j] + 1 }
      map i in 0:8, j in 0:2, k in 0:4 { Y[i, 4 * j + k] = C[i, 1 - j, 3 - k] }
    })",
             "alias", R"(sdfg f(X: f32[4, 2, 8], Y: f32[8, 8]) {
      transient A: f32[4, 2, 8]
      view V: f32[8, 8] of A
      view C: f32[8, 2, 4] of A
      map i in 0:4, j in 0:2, k in 0:8 { A[i, j, k] = X[3 - i, j, k] }
      map i in 0:8, j in 0:8 { V[i, j] = V[i, j] * 2 }
      map i in 0:8, j in 0:8 { V[i, j] = V[i, j] + 1 }
      map i in 0:8, j in 0:2, k in 0:4 { Y[i, 4 * j + k] = C[i, 1 - j, 3 - k] }
    })");
}

TEST(Alias, ViewsOfPartsKeepTheirArrays) {
  ExpectUnchanged(Two(" view V: f32[8, 8] of A strides [1, 8]\n transient B: f32[8, 8]", "map i in 0:8, j in 0:8 { B[i, j] = V[i, j] }"), "alias");
  ExpectUnchanged(Two(" view V: f32[4, 8] of A\n transient B: f32[8, 8]", "map i in 0:4, j in 0:8 { B[i, j] = V[i, j] }"), "alias");
  ExpectUnchanged(Two(" view V: f32[8, 8] of A\n transient B: f32[8, 8]", "map i in 0:8, j in 0:8 { B[i, j] = V[i, j] + A[j, i] }"), "alias");
}

// A row is written when all of it has been read: a softmax has one array, the result of the program.
TEST(Alias, RowsWorkInPlace) {
  ExpectPass(R"(sdfg f(X: f32[N, M], Y: f32[N, M]) {
      transient T: f32[N * M]
      view V: f32[N, M] of T
      transient D: f32[N, M]
      transient E: f32[N, M]
      transient S: f32 @register
      map i in 0:N * M { T[i] = X.flat[i] + X[0, 0] }
      map i in 0:N {
        S = -inf
        map k in 0:M { D[i, k] = V[i, k] / 8; S max= D[i, k] }
        map k in 0:M { E[i, k] = exp(D[i, k] - S) }
        S = 0
        map k in 0:M { S += E[i, k] }
        map k in 0:M { Y[i, k] = E[i, k] / S }
      }
    })",
             "alias", R"(sdfg f(X: f32[N, M], Y: f32[N, M]) {
      view T: f32[N * M] of Y
      transient S: f32 @register
      map i in 0:N * M { T[i] = X.flat[i] + X[0, 0] }
      map i in 0:N {
        S = -inf
        map k in 0:M { Y[i, k] = Y[i, k] / 8; S max= Y[i, k] }
        map k in 0:M { Y[i, k] = exp(Y[i, k] - S) }
        S = 0
        map k in 0:M { S += Y[i, k] }
        map k in 0:M { Y[i, k] = Y[i, k] / S }
      }
    })");
}

// A zero is written where something is added to it, once the input's element has been read.
TEST(Alias, ZerosAreWrittenLater) {
  ExpectPass(R"(sdfg f(X: f32[8, 8], Y: f32[8, 8]) {
      transient A: f32[8, 8]
      transient B: f32[8, 8]
      transient S: f32 @register
      transient g: f32 @register
      map i in 0:8, j in 0:8 { A[i, j] = X[j, i] }
      map i in 0:8 {
        S = 0
        map j in 0:8 { S += A[i, j] }
        map j in 0:8 { B[i, j] = 0; g = A[i, j] - S; B[i, j] += g }
      }
      map i in 0:8, j in 0:8 { Y[i, j] = B[7 - i, j] }
    })",
             "alias", R"(sdfg f(X: f32[8, 8], Y: f32[8, 8]) {
      transient A: f32[8, 8]
      transient S: f32 @register
      transient g: f32 @register
      map i in 0:8, j in 0:8 { A[i, j] = X[j, i] }
      map i in 0:8 {
        S = 0
        map j in 0:8 { S += A[i, j] }
        map j in 0:8 { g = A[i, j] - S; A[i, j] = 0; A[i, j] += g }
      }
      map i in 0:8, j in 0:8 { Y[i, j] = A[7 - i, j] }
    })");
}

TEST(Alias, RowsThatAreReadOnKeepTheirOwnArray) {
  for (const char* second : {
           "map i in 0:8 { map j in 0:8 { B[i, j] = A[i, j] } map j in 0:8 { B[i, j] += A[i, 7 - j] } }",  // read again
           "map i in 0:8 { S = 0; map j in 0:8 { S += A[7 - i, j] } map j in 0:8 { B[i, j] = A[i, j] + S } }",  // another row
           "map j in 0:8 { S = 0; map i in 0:8 { S += A[j, i] } map i in 0:8 { B[i, j] = A[i, j] + S } }",      // written as a column
           "map i in 0:8, j in 0:8 { S = 0; map k in 0:8 { S += A[i, k] } B[i, j] = A[i, j] + S }",             // for each element
       })
    ExpectUnchanged(Two(" transient B: f32[8, 8]\n transient S: f32 @register", second), "alias");
}

// What a result holds is not touched before it is certain that it will be written, all of it.
TEST(Alias, ResultsThatMayKeepSomething) {
  const auto program = [](const std::string& write) {
    return "sdfg f(X: f32[8], n: i32, Y: f32[8]) {\n transient A: f32[8]\n map i in 0:8 { A[i] = X[7 - i] }\n" + write + "}\n";
  };
  ExpectUnchanged(program("map i in 0:7 { Y[i] = A[i] }\n"), "alias");
  ExpectUnchanged(program("if n > 0 { map i in 0:8 { Y[i] = A[i] } }\n"), "alias");
  ExpectUnchanged(program("Y[3] = 1\n map i in 0:8 { Y[i] = A[i] }\n"), "alias");
}

// A call whose function can do without a second array; an input that is used again keeps its own.
TEST(Alias, CallsInPlace) {
  ExpectPass(R"(sdfg f(X: f32[4, 4], W: f32[4, 4], Y: f32[4, 4]) {
      transient R: f32[4, 4]
      transient T: f32[4, 4]
      transient U: f32[4, 4]
      map i in 0:4, j in 0:4 { R[i, j] = X[i, j] * 2 }
      call.product{epilogue = ["add e0"]}(A = X, B = W, e0 = R) -> (Y = T)
      call.product{epilogue = ["add e0"]}(A = X, B = W, e0 = T) -> (Y = U)
      map i in 0:4, j in 0:4 { Y[i, j] = U[i, j] + T[3 - i, j] }
    })",
             "alias", R"(sdfg f(X: f32[4, 4], W: f32[4, 4], Y: f32[4, 4]) {
      transient R: f32[4, 4]
      map i in 0:4, j in 0:4 { R[i, j] = X[i, j] * 2 }
      call.product{epilogue = ["add e0"]}(A = X, B = W, e0 = R) -> (Y = R)
      call.product{epilogue = ["add e0"]}(A = X, B = W, e0 = R) -> (Y = Y)
      map i in 0:4, j in 0:4 { Y[i, j] = Y[i, j] + R[3 - i, j] }
    })",
             transforms::RegistryWithCalls());
}

// What the program gives keeps its own array.
TEST(Alias, CallsIntoParameters) {
  ExpectUnchanged(R"(sdfg f(X: f32[4, 4], W: f32[4, 4], Y: f32[4, 4]) {
      transient R: f32[4, 4]
      map i in 0:4, j in 0:4 { R[i, j] = X[i, j] * 2 }
      call.product{epilogue = ["add e0"]}(A = X, B = W, e0 = R) -> (Y = Y)
    })",
                  "alias", transforms::RegistryWithCalls());
}

}  // namespace
}  // namespace headrace
