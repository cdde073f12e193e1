#include "transforms/alias.h"

#include <gtest/gtest.h>

#include "transforms/calls_testing.h"
#include "transforms/testing.h"

namespace headrace {
namespace {

using transforms::ExpectPass;
using transforms::ExpectUnchanged;

// A chain of elementwise statements is one array, from the first that is the run's own.
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
      transient B: f32[N, 8]
      map n in 0:N, i in 0:8 { A[n, i] = X[n, i] + X[n, (i + 1) % 8] }
      map n in 0:N, i in 0:8 { B[n, i] = A[n, i] * A[n, i] }
      map n in 0:N { map i in 0:8 { B[n, i] = B[n, i] - A[0, 0] } }
      map n in 0:N, i in 0:8 { Y[n, i] = B[n, i] }
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
  ExpectUnchanged(R"(sdfg f(X: f32[8], Y: f32[8], Z: f32[8]) {
      transient A: f32[8]
      transient B: f32[8]
      map i in 0:8 { A[i] = X[7 - i] }
      map i in 0:8 { B[i] = A[i] + 1; Z[i] = A[i] }
      map i in 0:8 { Y[i] = B[i] + B[7 - i] }
    })",
                  "alias");
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

// Its own element of a view of the input, or of one of the output, is not seen to be that.
TEST(Alias, ViewsKeepTheirArrays) {
  ExpectUnchanged(Two(" view V: f32[8, 8] of A\n transient B: f32[8, 8]", "map i in 0:8, j in 0:8 { B[i, j] = V[i, j] }"), "alias");
  ExpectUnchanged(Two(" transient C: f32[8, 8]\n view B: f32[8, 8] of C", "map i in 0:8, j in 0:8 { C[i, j] = A[i, j] }"), "alias");
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
      transient U: f32[4, 4]
      map i in 0:4, j in 0:4 { R[i, j] = X[i, j] * 2 }
      call.product{epilogue = ["add e0"]}(A = X, B = W, e0 = R) -> (Y = R)
      call.product{epilogue = ["add e0"]}(A = X, B = W, e0 = R) -> (Y = U)
      map i in 0:4, j in 0:4 { Y[i, j] = U[i, j] + R[3 - i, j] }
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
