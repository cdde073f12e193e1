#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// 4 / 2 is exact; the zero point of the data, 6 = 3 * 2, and the bias, 8 and 12, are one number for each channel.
TEST(FoldScales, ASumOfIntegers) {
  ExpectPass(R"(sdfg f(A: u8[M, 16], B: i8[16, 2], Y: u8[M, 2]) {
                  constant b: f32[2] = [8, 12]
                  constant c: i32[2] = fill(3)
                  constant s: f32 = 2
                  constant t: f32[2] = [2, 4]
                  constant q: f32 = 2
                  constant z: u8 = 5
                  transient S: i32 @register
                  transient y: f32 @register
                  transient u: f32 @register
                  state {
                    map i in 0:M, j in 0:2 {
                      S = 0
                      map k in 0:16 { S += i32(A[i, k]) * i32(B[k, j]) }
                      y = b[j] + f32(S - c[j]) * (s * t[j])
                      u = y / q
                      Y[i, j] = sat(rint(u) + f32(z), u8)
                    }
                  }
                })",
             "fold-scales; eliminate-dead-code", R"(sdfg f(A: u8[M, 16], B: i8[16, 2], Y: u8[M, 2]) {
                  constant z: u8 = 5
                  transient S: i32 @register
                  constant Y_offset: f32[2] = [-2, -6]
                  constant Y_scale: f32[2] = [2, 4]
                  state {
                    map i in 0:M, j in 0:2 {
                      S = 0
                      map k in 0:16 { S += i32(A[i, k]) * i32(B[k, j]) }
                      Y[i, j] = sat(rint(fma(f32(S), Y_scale[j], Y_offset[j])) + f32(z), u8)
                    }
                  }
                })");
}

// Both operands of a sum have scales and zero points of their own.
TEST(FoldScales, TwoQuantisedTensors) {
  ExpectPass(R"(sdfg f(A: u8[N], B: i8[N], Y: i8[N]) {
                  constant za: u8 = 4
                  constant s: f32 = 0.5
                  constant q: f32 = 0.25
                  transient y: f32 @register
                  state {
                    map i in 0:N {
                      y = f32(i32(A[i]) - i32(za)) * s + f32(i64(B[i])) * 0.125
                      Y[i] = sat(rint(y / q) + 1, i8)
                    }
                  }
                })",
             "fold-scales; eliminate-dead-code", R"(sdfg f(A: u8[N], B: i8[N], Y: i8[N]) {
                  constant Y_offset: f32 = -8
                  constant Y_scale: f32 = 2
                  constant Y_scale_1: f32 = 0.5
                  state {
                    map i in 0:N { Y[i] = sat(rint(fma(f32(i64(B[i])), Y_scale_1, fma(f32(i32(A[i])), Y_scale, Y_offset))) + 1, i8) }
                  }
                })");
}

// Floats that hold a sum of integers.
TEST(FoldScales, AWholeSumInFloats) {
  const auto program = [](const std::string& weights) {
    return "sdfg f(A: u8[N, 3], Y: u8[N]) { constant W: f32[3] = " + weights +
           "; constant c: i32 = 6; constant q: f32 = 2; transient S: f32 @register; "
           "transient y: f32 @register; state { map i in 0:N { S = 0; map k in 0:3 { S += f32(i32(A[i, k])) * W[k] }; y = (S - f32(c)) * 3; "
           "Y[i] = sat(rint(y / q), u8) } } }";
  };
  ExpectPass(
      program("[1, -2, 3]"), "fold-scales; eliminate-dead-code",
      "sdfg f(A: u8[N, 3], Y: u8[N]) { constant W: f32[3] = [1, -2, 3]; transient S: f32 @register; constant Y_offset: f32 = -9; constant Y_scale: f32 = 1.5; "
      "state { map i in 0:N { S = 0; map k in 0:3 { S += f32(i32(A[i, k])) * W[k] }; Y[i] = sat(rint(fma(S, Y_scale, Y_offset)), u8) } } }");
  ExpectUnchanged(program("[1, -2, 0.5]"), "fold-scales");
}

// What is divided is read elsewhere, too: it stays.
TEST(FoldScales, WhatOthersReadStays) {
  ExpectPass(R"(sdfg f(A: u8[N], Z: f32[N], Y: u8[N]) {
                  constant q: f32 = 2
                  transient y: f32 @register
                  state { map i in 0:N { y = f32(i32(A[i])) * 3; Z[i] = y; Y[i] = sat(rint(y / q), u8) } }
                })",
             "fold-scales; eliminate-dead-code", R"(sdfg f(A: u8[N], Z: f32[N], Y: u8[N]) {
                  transient y: f32 @register
                  constant Y_offset: f32 = 0
                  constant Y_scale: f32 = 1.5
                  state { map i in 0:N { y = f32(i32(A[i])) * 3; Z[i] = y; Y[i] = sat(rint(fma(f32(i32(A[i])), Y_scale, Y_offset)), u8) } }
                })");
}

void ExpectKept(const std::string& containers, const std::string& statements) {
  ExpectUnchanged(std::string("sdfg f(A: u8[4], X: f32[4], p: f32, Z: f32[4], W: f64[4], ") +
                      (statements.find("V[i] =") != std::string::npos ? "inout " : "") +
                      "V: u8[4], Y: u8[4]) { constant q: f32 = 2; "
                      "transient y: f32 @register; " +
                      containers + " state { map i in 0:4 { " + statements + " } } }",
                  "fold-scales");
}

TEST(FoldScales, WhatIsNoIntegerOrNoConstant) {
  ExpectKept("", "Y[i] = sat(rint(X[i] / q), u8)");
  ExpectKept("", "Y[i] = sat(rint(f32(A[i]) * X[i] / q), u8)");
  ExpectKept("", "Y[i] = sat(rint(f32(A[i]) / p), u8)");
  ExpectKept("", "Y[i] = sat(rint(exp(f32(A[i])) / q), u8)");
  ExpectKept("", "Y[i] = sat(rint(f32(sat(X[i], i32)) / f32(A[i])), u8)");
  ExpectKept("", "y = max(f32(A[i]), 1); Y[i] = sat(rint(y / q), u8)");
}

TEST(FoldScales, WhatIsNotRoundedToBytes) {
  ExpectKept("", "Z[i] = f32(A[i]) / q");
  ExpectKept("", "Z[i] = rint(f32(A[i]) / q)");
  ExpectKept("", "Y[i] = sat(f32(A[i]) / q, u8)");
}

// No constant of f32 is what the scale would be.
TEST(FoldScales, ScalesThatAreNoNumbers) {
  ExpectKept("constant o: f32 = 0;", "Y[i] = sat(rint(f32(A[i]) / o), u8)");
  ExpectKept("constant o: f32 = 1e-30;", "Y[i] = sat(rint(f32(A[i]) * 1e30 / o), u8)");
  ExpectKept("constant o: f32[2] = [1, 2]; constant r: f32[2] = [1, 2];",
             "Y[i] = sat(rint(f32(A[i]) * r[i // 2] / o[i % 2]), u8)");
}

// Elements that have been overwritten before the sum is rounded.
TEST(FoldScales, WhatWasMadeOfOtherValues) {
  ExpectKept("", "y = f32(V[i]) * 3; V[i] = 0; Y[i] = sat(rint(y / q), u8)");
  ExpectKept("", "y = f32(A[i]) * 0.5; y = f32(A[i]) * 0.25; Y[i] = sat(rint(y / q), u8)");
}

}  // namespace
}  // namespace headrace::transforms
