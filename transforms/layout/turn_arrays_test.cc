#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A recurrence over columns: what it leaves lies column by column. The rows that it reads stay rows.
TEST(TurnArrays, RecurrencesOverColumns) {
  ExpectPass(R"(
sdfg f(U: f64[100, 100], Y: f64[100]) {
  transient P: f64[100, 100]
  map i in 0:100 { P[i, 0] = 0.0 }
  for j in 1:100 {
    map i in 0:100 { P[i, j] = U[j, i] / (P[i, j - 1] + 2.0) }
  }
  map i in 0:100 { Y[i] = P[i, 99] }
})",
             "turn-arrays", R"(
sdfg f(U: f64[100, 100], Y: f64[100]) {
  transient P: f64[100, 100] layout [d1, d0]
  map i in 0:100 { P[i, 0] = 0.0 }
  for j in 1:100 {
    map i in 0:100 { P[i, j] = U[j, i] / (P[i, j - 1] + 2.0) }
  }
  map i in 0:100 { Y[i] = P[i, 99] }
})");
}

// What a plane is walked along lies innermost.
TEST(TurnArrays, Planes) {
  ExpectPass(R"(
sdfg f(Y: f64[8, 9]) {
  transient T: f64[8, 9, 40]
  map i in 0:8, j in 0:9 { T[i, j, 0] = 1.0 }
  for k in 1:40 {
    map i in 0:8, j in 0:9 { T[i, j, k] = T[i, j, k - 1] * 0.5 }
  }
  map i in 0:8, j in 0:9 { Y[i, j] = T[i, j, 39] }
})",
             "turn-arrays", R"(
sdfg f(Y: f64[8, 9]) {
  transient T: f64[8, 9, 40] layout [d0, d2, d1]
  map i in 0:8, j in 0:9 { T[i, j, 0] = 1.0 }
  for k in 1:40 {
    map i in 0:8, j in 0:9 { T[i, j, k] = T[i, j, k - 1] * 0.5 }
  }
  map i in 0:8, j in 0:9 { Y[i, j] = T[i, j, 39] }
})");
}

// Their copies are over indices, also where something of the program is called so.
TEST(TurnArrays, ParametersThatAreCalledAsIndicesAre) {
  ExpectPass(R"(
sdfg f(U: f64[9, 100], i1: f64[9, 100]) {
  map i in 0:9, j in 0:100 { i1[i, j] = 0.0 }
  for j in 1:100 {
    map i in 0:9 { i1[i, j] = i1[i, j - 1] * 0.5 + i1[i, j - 1] * i1[i, j - 1] }
    map i in 0:9 { i1[i, j] += U[i, j] }
  }
})",
             "turn-arrays", R"(
sdfg f(U: f64[9, 100], i1: f64[9, 100]) {
  transient U_turned: f64[9, 100] layout [d1, d0]
  transient i1_turned: f64[9, 100] layout [d1, d0]
  state {
    map i0 in 0:9, i1_1 in 0:100 { U_turned[i0, i1_1] = U[i0, i1_1] }
  }
  state {
    map i in 0:9, j in 0:100 { i1_turned[i, j] = 0.0 }
  }
  for j in 1:100 {
    state {
      map i in 0:9 { i1_turned[i, j] = i1_turned[i, j - 1] * 0.5 + i1_turned[i, j - 1] * i1_turned[i, j - 1] }
      map i in 0:9 { i1_turned[i, j] += U_turned[i, j] }
    }
  }
  state {
    map i0 in 0:9, i1_1 in 0:100 { i1[i0, i1_1] = i1_turned[i0, i1_1] }
  }
})");
}

// What the program takes and gives has rows: what loops walk across memory is copied before them, and back behind them.
TEST(TurnArrays, ParametersAreCopied) {
  ExpectPass(R"(
sdfg f(U: f64[8, 9, 40], inout X: f64[8, 9, 40], Y: f64[8, 9, 40], W: f64[40, 8, 9]) {
  map i in 0:8, j in 0:9, k in 0:40 { Y[i, j, k] = 0.0 }
  for k in 1:39 {
    map i in 0:8, j in 0:9 {
      X[i, j, k] = X[i, j, k - 1] * U[i, j, k - 1] + U[i, j, k + 1] * W[k, i, j]
      Y[i, j, k] += X[i, j, k]
    }
  }
})",
             "turn-arrays", R"(
sdfg f(U: f64[8, 9, 40], inout X: f64[8, 9, 40], Y: f64[8, 9, 40], W: f64[40, 8, 9]) {
  transient U_turned: f64[8, 9, 40] layout [d0, d2, d1]
  transient X_turned: f64[8, 9, 40] layout [d0, d2, d1]
  transient Y_turned: f64[8, 9, 40] layout [d0, d2, d1]
  state {
    map i0 in 0:8, i1 in 0:9, i2 in 0:40 { X_turned[i0, i1, i2] = X[i0, i1, i2] }
  }
  state {
    map i0 in 0:8, i1 in 0:9, i2 in 0:40 { U_turned[i0, i1, i2] = U[i0, i1, i2] }
  }
  state {
    map i in 0:8, j in 0:9, k in 0:40 { Y_turned[i, j, k] = 0.0 }
  }
  for k in 1:39 {
    map i in 0:8, j in 0:9 {
      X_turned[i, j, k] = X_turned[i, j, k - 1] * U_turned[i, j, k - 1] + U_turned[i, j, k + 1] * W[k, i, j]
      Y_turned[i, j, k] += X_turned[i, j, k]
    }
  }
  state {
    map i0 in 0:8, i1 in 0:9, i2 in 0:40 { X[i0, i1, i2] = X_turned[i0, i1, i2] }
  }
  state {
    map i0 in 0:8, i1 in 0:9, i2 in 0:40 { Y[i0, i1, i2] = Y_turned[i0, i1, i2] }
  }
})");
}

// Where nothing is gained: rows in a loop, columns in none, what library nodes use, what a loop reads a part of, what may be left out.
TEST(TurnArrays, OthersStay) {
  for (const char* body : {"for j in 1:50 { map i in 0:50 { T[j, i] = T[j - 1, i] * 0.5 } }",
                           "map j in 0:50 { map i in 0:50 { T[i, j] = 0.5 } }",
                           "for j in 1:50 { map i in 0:50 { T[i, j] = T[i, j - 1] * 0.5 } }\n  onnx.Neg(X = T) -> (Y = T)",
                           "map i in 0:50 { T[i, 0] = 0.5 }\n  for j in 1:9 { map i in 0:50 { X[i, j] = X[i, j - 1] * 0.5 } }",
                           "map i in 0:50 { T[0, i] = 0.5 }\n  for j in 1:50 { map i in 0:50 { T[0, i] += (Z[i, j] ?? 1.0) + (Z[i, j - 1] ?? 1.0) } }"})
    ExpectUnchanged("sdfg f(inout X: f64[50, 50], optional Z: f64[50, 50]) {\n  transient T: f64[50, 50]\n  " + std::string(body) +
                        "\n  map i in 0:50 { X[i, 0] = X[i, 0] + T[i, 0] }\n}",
                    "turn-arrays");
}

// A view sees rows.
TEST(TurnArrays, ArraysWithViewsStay) {
  ExpectUnchanged(R"(
sdfg f(Y: f64[2500]) {
  transient T: f64[50, 50]
  view all: f64[2500] of T
  map i in 0:50 { T[i, 0] = 1.0 }
  for j in 1:50 {
    map i in 0:50 { T[i, j] = T[i, j - 1] * 0.5 }
  }
  map i in 0:2500 { Y[i] = all[i] }
})",
                  "turn-arrays");
}

}  // namespace
}  // namespace headrace::transforms
