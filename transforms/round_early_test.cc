// What is only read as halves is stored so.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

constexpr char kPass[] = "round-early";

// Through a copy, a view and a register.
TEST(RoundEarly, WhereItIsWritten) {
  ExpectPass(R"(
sdfg f(X: f32[8, 16], Y: bf16[16, 8], Z: f32[8, 16]) {
  transient A: f32[8, 16]
  transient B: f32[16, 8]
  view V: f32[128] of B
  transient r: f32 @register
  state {
    map i in 0:8, k in 0:16 { A[i, k] = X[i, k] * 2 }
    map i in 0:8, k in 0:16 { B[k, i] = A[i, k] }
    map n in 0:128 { V[n] = 0 }
    map i in 0:8, k in 0:16 { Y[k, i] = bf16(B[k, i]) }
    map i in 0:8, k in 0:16 {
      r = B[k, i]
      Z[i, k] = f32(bf16(r)) + f32(bf16(A[i - 1, k] ?? 0.0))
    }
  }
})",
             kPass, R"(
sdfg f(X: f32[8, 16], Y: bf16[16, 8], Z: f32[8, 16]) {
  transient A: bf16[8, 16]
  transient B: bf16[16, 8]
  view V: bf16[128] of B
  transient r: bf16 @register
  state {
    map i in 0:8, k in 0:16 { A[i, k] = bf16(X[i, k] * 2) }
    map i in 0:8, k in 0:16 { B[k, i] = A[i, k] }
    map n in 0:128 { V[n] = 0 }
    map i in 0:8, k in 0:16 { Y[k, i] = B[k, i] }
    map i in 0:8, k in 0:16 {
      r = B[k, i]
      Z[i, k] = f32(r) + f32(A[i - 1, k] ?? 0.0)
    }
  }
})");
}

// Sums keep their digits until they are complete.
TEST(RoundEarly, BehindSums) {
  ExpectPass(R"(
sdfg f(A: f16[8, 16], W: f16[4, 16], b: f32[4], Y: f16[8, 4], Z: f16[8, 4]) {
  transient T: f32[8, 4]
  state {
    map i in 0:8, j in 0:4 { T[i, j] = b[j] }
    map i in 0:8, j in 0:4, k in 0:16 { T[i, j] += f32(A[i, k]) * f32(W[j, k]) }
    map i in 0:8, j in 0:4 { Y[i, j] = f16(T[i, j]) }
    map i in 0:8, j in 0:4 { Z[i, j] = f16(T[i, j]) * f16(T[i, j]) }
  }
})",
             std::string(kPass) + "; " + kPass, R"(
sdfg f(A: f16[8, 16], W: f16[4, 16], b: f32[4], Y: f16[8, 4], Z: f16[8, 4]) {
  transient T: f16[8, 4]
  transient T_sum: f32[8, 4]
  state {
    map i in 0:8, j in 0:4 { T_sum[i, j] = b[j] }
    map i in 0:8, j in 0:4, k in 0:16 { T_sum[i, j] += f32(A[i, k]) * f32(W[j, k]) }
    map i in 0:8, i_1 in 0:4 { T[i, i_1] = f16(T_sum[i, i_1]) }
    map i in 0:8, j in 0:4 { Y[i, j] = T[i, j] }
    map i in 0:8, j in 0:4 { Z[i, j] = T[i, j] * T[i, j] }
  }
})");
}

// A fill of other dimensions gets those of the sums.
TEST(RoundEarly, BehindSumsThroughAView) {
  ExpectPass(R"(
sdfg f(A: f16[2, 4, 16], W: f16[4, 16], Y: f16[8, 4]) {
  transient T: f32[8, 4]
  view V: f32[2, 4, 4] of T
  transient U: f32[8, 4]
  state {
    map i in 0:8, j in 0:4 { T[i, j] = 0.0 }
    map b in 0:2, i in 0:4, j in 0:4, k in 0:16 { V[b, i, j] += f32(A[b, i, k]) * f32(W[j, k]) }
    map i in 0:8, j in 0:4 { U[i, j] = T[7 - i, j] }
    map i in 0:8, j in 0:4 { Y[i, j] = f16(U[i, j]) }
  }
})",
             kPass, R"(
sdfg f(A: f16[2, 4, 16], W: f16[4, 16], Y: f16[8, 4]) {
  transient T: f16[8, 4]
  view V: f16[2, 4, 4] of T
  transient U: f16[8, 4]
  transient V_sum: f32[2, 4, 4]
  state {
    map i in 0:2, i_1 in 0:4, i_2 in 0:4 { V_sum[i, i_1, i_2] = 0.0 }
    map b in 0:2, i in 0:4, j in 0:4, k in 0:16 { V_sum[b, i, j] += f32(A[b, i, k]) * f32(W[j, k]) }
    map i in 0:2, i_1 in 0:4, i_2 in 0:4 { V[i, i_1, i_2] = f16(V_sum[i, i_1, i_2]) }
    map i in 0:8, j in 0:4 { U[i, j] = T[7 - i, j] }
    map i in 0:8, j in 0:4 { Y[i, j] = U[i, j] }
  }
})");
}

// Digits that something reads, two types of halves, sums that are read before they are complete or that nothing sets: arrays stay.
TEST(RoundEarly, OthersStay) {
  const auto text = [](const char* write, const char* more, const char* read) {
    return std::string("sdfg f(X: f32[8], Y: f32[8], H: f16[8], B: bf16[8], inout T: f32[8]) {\n  transient A: f32[8]\n  state {\n    map i in 0:8 { A[i] = ") +
           write + " }\n    map i in 0:8 { " + more + " }\n    map i in 0:8 { H[i] = f16(A[i]) }\n    map i in 0:8 { " + read +
           " }\n    map i in 0:8 { B[i] = bf16(T[i]); Y[i] = X[i]; T[i] = 0 }\n  }\n}";
  };
  ExpectUnchanged(text("X[i]", "T[i] = A[i]", "T[i] += 1"), kPass);
  ExpectUnchanged(text("X[i]", "T[i] = X[i]", "B[i] = bf16(A[i])"), kPass);
  ExpectUnchanged(text("X[i]", "T[i] = X[i]", "T[i] = X[i64(A[i]) % 8]"), kPass);
  ExpectUnchanged(text("X[i]", "T[i] = X[i]", "A[i] += 1"), kPass);
  ExpectUnchanged(text("X[i]", "A[i] max= T[i]", "T[i] += 1"), kPass);
}

}  // namespace
}  // namespace headrace::transforms
