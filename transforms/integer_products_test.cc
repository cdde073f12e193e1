// Which products of quantised operands are sums of integers, and what is left to do with floats.
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

constexpr char kLanes[] = "integer-products{device=cpu}; eliminate-dead-code", kDots[] = "integer-products{device=cpu_vnni}; eliminate-dead-code";

// The zero point of the data times the sums of the weights is a constant: 7 * 16 * 3.
TEST(IntegerProducts, AMatrix) {
  ExpectPass(R"(sdfg f(A: u8[M, 16], s: f32, b: f32[8], Y: f32[M, 8]) {
  constant B: i8[16, 8] = fill(3)
  constant z: u8 = 7
  constant t: f32 = 0.5
  transient D: f32[M, 16]
  transient E: f32[16, 8]
  state {
    map i in 0:M, k in 0:16 { D[i, k] = f32(i32(A[i, k]) - i32(z)) * s }
    map k in 0:16, j in 0:8 { E[k, j] = f32(i32(B[k, j]) - i32(0)) * t }
    map i in 0:M, j in 0:8 { Y[i, j] = b[j] }
    map i in 0:M, j in 0:8, k in 0:16 { Y[i, j] += D[i, k] * E[k, j] }
  }
}
)",
             kLanes, R"(sdfg f(A: u8[M, 16], s: f32, b: f32[8], Y: f32[M, 8]) {
  constant B: i8[16, 8] = fill(3)
  constant t: f32 = 0.5
  constant B_sums: i32[8] = fill(336)
  transient Y_sums: i32[M, 8]
  state {
    map i in 0:M, j in 0:8 { Y_sums[i, j] = 0 }
    map i in 0:M, j in 0:8, k in 0:16 {
      Y_sums[i, j] += i32(A[i, k]) * i32(B[k, j])
    }
    map i in 0:M, j in 0:8 {
      Y[i, j] = b[j] + f32(Y_sums[i, j] - B_sums[j]) * (s * t)
    }
  }
}
)");
}

// What is outside is the zero point; scales by channel.
TEST(IntegerProducts, AConvolution) {
  ExpectPass(R"(sdfg f(X: u8[N, 4, 8, 8], s: f32, t: f32[6], Y: f32[N, 6, 8, 8]) {
  constant W: i8[6, 4, 3, 3] = fill(1)
  constant w: i8[6] = fill(0)
  constant z: u8 = 5
  transient D: f32[N, 4, 8, 8]
  transient E: f32[6, 4, 3, 3]
  state {
    map n in 0:N, c in 0:4, p in 0:8, q in 0:8 { D[n, c, p, q] = f32(i32(X[n, c, p, q]) - i32(z)) * s }
    map o in 0:6, c in 0:4, k in 0:3, l in 0:3 { E[o, c, k, l] = f32(i32(W[o, c, k, l]) - i32(w[o])) * t[o] }
    map n in 0:N, o in 0:6, p in 0:8, q in 0:8 { Y[n, o, p, q] = 0 }
    map n in 0:N, o in 0:6, p in 0:8, q in 0:8, c in 0:4, k in 0:3, l in 0:3 { Y[n, o, p, q] += (D[n, c, p + k - 1, q + l - 1] ?? 0) * E[o, c, k, l] }
  }
}
)",
             kLanes, R"(sdfg f(X: u8[N, 4, 8, 8], s: f32, t: f32[6], Y: f32[N, 6, 8, 8]) {
  constant W: i8[6, 4, 3, 3] = fill(1)
  constant W_sums: i32[6] = fill(180)
  transient Y_sums: i32[N, 6, 8, 8]
  state {
    map n in 0:N, o in 0:6, p in 0:8, q in 0:8 {
      Y_sums[n, o, p, q] = 0
    }
    map n in 0:N, o in 0:6, p in 0:8, q in 0:8, c in 0:4, k in 0:3, l in 0:3 {
      Y_sums[n, o, p, q] += i32(X[n, c, k + p - 1, l + q - 1] ?? 5) * i32(W[o, c, k, l])
    }
    map n in 0:N, o in 0:6, p in 0:8, q in 0:8 {
      Y[n, o, p, q] = f32(Y_sums[n, o, p, q] - W_sums[o]) * (s * t[o])
    }
  }
}
)");
}

std::string Of(std::string text, const std::string& places) {
  for (size_t at; (at = text.find("$K")) != std::string::npos;) text.replace(at, 2, places);
  return text;
}

// … but where four products of bytes are added up at once: of windows of up to three places, and whole vectors of channels.
TEST(IntegerProducts, ADepthwiseConvolutionInBytes) {
  constexpr char kProgram[] = R"(sdfg f(X: u8[N, 16, 8], s: f32, t: f32[16], Y: f32[N, 16, 8]) {
  constant W: i8[16, 3] = fill(1)
  transient D: f32[N, 16, 8]
  transient E: f32[16, 3]
  state {
    map n in 0:N, c in 0:16, p in 0:8 { D[n, c, p] = f32(i32(X[n, c, p]) - 5) * s }
    map c in 0:16, k in 0:3 { E[c, k] = f32(i32(W[c, k])) * t[c] }
    map n in 0:N, c in 0:16, p in 0:8 { Y[n, c, p] = 0 }
    map n in 0:N, c in 0:16, p in 0:8, k in 0:3 { Y[n, c, p] += (D[n, c, p + k - 1] ?? 0) * E[c, k] }
  }
}
)";
  ExpectPass(kProgram, kDots, R"(sdfg f(X: u8[N, 16, 8], s: f32, t: f32[16], Y: f32[N, 16, 8]) {
  constant W: i8[16, 3] = fill(1)
  constant W_sums: i32[16] = fill(15)
  transient Y_sums: i32[N, 16, 8]
  state {
    map n in 0:N, c in 0:16, p in 0:8 { Y_sums[n, c, p] = 0 }
    map n in 0:N, c in 0:16, p in 0:8, k in 0:3 { Y_sums[n, c, p] += i32(X[n, c, k + p - 1] ?? 5) * i32(W[c, k]) }
    map n in 0:N, c in 0:16, p in 0:8 { Y[n, c, p] = f32(Y_sums[n, c, p] - W_sums[c]) * (s * t[c]) }
  }
}
)");
}

// Each channel by itself: floats hold such short sums, 255 * 255 * 258 at most, and are added up faster.
TEST(IntegerProducts, ADepthwiseConvolution) {
  constexpr char kProgram[] = R"(sdfg f(X: u8[N, 4, 8, $K], s: f32, t: f32[4], Y: f32[N, 4, 8]) {
  constant W: i8[4, $K] = fill(1)
  transient D: f32[N, 4, 8, $K]
  transient E: f32[4, $K]
  state {
    map n in 0:N, c in 0:4, p in 0:8, k in 0:$K { D[n, c, p, k] = f32(i32(X[n, c, p, k]) - 5) * s }
    map c in 0:4, k in 0:$K { E[c, k] = f32(i32(W[c, k])) * t[c] }
    map n in 0:N, c in 0:4, p in 0:8 { Y[n, c, p] = 0 }
    map n in 0:N, c in 0:4, p in 0:8, k in 0:$K { Y[n, c, p] += D[n, c, p, k] * E[c, k] }
  }
}
)";
  for (const char* pipeline : {kLanes, kDots}) {
    ExpectPass(Of(kProgram, "258"), pipeline, R"(sdfg f(X: u8[N, 4, 8, 258], s: f32, t: f32[4], Y: f32[N, 4, 8]) {
  constant W_sums: i32[4] = fill(1290)
  constant W_floats: f32[4, 258] = fill(1)
  transient Y_sums: f32[N, 4, 8]
  state {
    map n in 0:N, c in 0:4, p in 0:8 { Y_sums[n, c, p] = 0 }
    map n in 0:N, c in 0:4, p in 0:8, k in 0:258 { Y_sums[n, c, p] += f32(i32(X[n, c, p, k])) * W_floats[c, k] }
    map n in 0:N, c in 0:4, p in 0:8 { Y[n, c, p] = (Y_sums[n, c, p] - f32(W_sums[c])) * (s * t[c]) }
  }
}
)");
    ExpectPass(Of(kProgram, "259"), pipeline, R"(sdfg f(X: u8[N, 4, 8, 259], s: f32, t: f32[4], Y: f32[N, 4, 8]) {
  constant W: i8[4, 259] = fill(1)
  constant W_sums: i32[4] = fill(1295)
  transient Y_sums: i32[N, 4, 8]
  state {
    map n in 0:N, c in 0:4, p in 0:8 { Y_sums[n, c, p] = 0 }
    map n in 0:N, c in 0:4, p in 0:8, k in 0:259 { Y_sums[n, c, p] += i32(X[n, c, p, k]) * i32(W[c, k]) }
    map n in 0:N, c in 0:4, p in 0:8 { Y[n, c, p] = f32(Y_sums[n, c, p] - W_sums[c]) * (s * t[c]) }
  }
}
)");
  }
}

// u8 by u8, as asymmetric weights are: less 128 when compiled, and the zero point of 8 that is left times the sums of the data.
TEST(IntegerProducts, WeightsWithAZeroPoint) {
  constexpr char kProgram[] = R"(sdfg f(A: u8[M, 16], s: f32, Y: f32[M, 8]) {
  constant B: u8[16, 8] = fill(200)
  transient D: f32[M, 16]
  transient E: f32[16, 8]
  state {
    map i in 0:M, k in 0:16 { D[i, k] = f32(i32(A[i, k]) - 7) * s }
    map k in 0:16, j in 0:8 { E[k, j] = f32(i32(B[k, j]) - 136) }
    map i in 0:M, j in 0:8 { Y[i, j] = 0 }
    map i in 0:M, j in 0:8, k in 0:16 { Y[i, j] += D[i, k] * E[k, j] }
  }
}
)";
  ExpectPass(kProgram, kLanes, R"(sdfg f(A: u8[M, 16], s: f32, Y: f32[M, 8]) {
  constant B: u8[16, 8] = fill(200)
  transient Y_sums: i32[M, 8]
  state {
    map i in 0:M, j in 0:8 { Y_sums[i, j] = 0 }
    map i in 0:M, j in 0:8, k in 0:16 {
      Y_sums[i, j] += (i32(A[i, k]) - 7) * (i32(B[k, j]) - 136)
    }
    map i in 0:M, j in 0:8 { Y[i, j] = f32(Y_sums[i, j]) * s }
  }
}
)");
  ExpectPass(kProgram, kDots, R"(sdfg f(A: u8[M, 16], s: f32, Y: f32[M, 8]) {
  constant B_signed: i8[16, 8] = fill(72)
  constant B_signed_sums: i32[8] = fill(7168)
  transient Y_sums: i32[M, 8]
  transient A_sums: i32[M]
  state {
    map i in 0:M, j in 0:8 { Y_sums[i, j] = 0 }
    map i in 0:M, j in 0:8, k in 0:16 {
      Y_sums[i, j] += i32(A[i, k]) * i32(B_signed[k, j])
    }
    map i in 0:M { A_sums[i] = 0 }
    map i in 0:M, k in 0:16 { A_sums[i] += i32(A[i, k]) }
    map i in 0:M, j in 0:8 {
      Y[i, j] = f32(Y_sums[i, j] - 8 * A_sums[i] - B_signed_sums[j]) * s
    }
  }
}
)");
}

// Neither is a constant, and both are i8.
TEST(IntegerProducts, TwoInputs) {
  ExpectPass(R"(sdfg f(A: i8[M, 16], B: i8[16, N], a: i8, Y: i32[M, N]) {
  map i in 0:M, j in 0:N { Y[i, j] = 0 }
  map i in 0:M, j in 0:N, k in 0:16 { Y[i, j] += (i32(A[i, k]) - i32(a)) * i32(B[k, j]) }
}
)",
             kDots, R"(sdfg f(A: i8[M, 16], B: i8[16, N], a: i8, Y: i32[M, N]) {
  transient B_sums: i32[N]
  transient Y_sums: i32[M, N]
  state {
    map j in 0:N { B_sums[j] = 0 }
    map j in 0:N, k in 0:16 { B_sums[j] += i32(B[k, j]) }
    map i in 0:M, j in 0:N { Y_sums[i, j] = 0 }
    map i in 0:M, j in 0:N, k in 0:16 {
      Y_sums[i, j] += (i32(A[i, k]) + 128) * i32(B[k, j])
    }
    map i in 0:M, j in 0:N {
      Y[i, j] = Y_sums[i, j] - (i32(a) + 128) * B_sums[j]
    }
  }
}
)");
}

// Elements that are dequantised for something else: where they are read, but not where they are read again and again.
TEST(IntegerProducts, OtherReads) {
  ExpectPass(R"(sdfg f(Q: u8[N, 8], s: f32, Y: f32[N, 8], Z: f32[N]) {
  transient D: f32[N, 8]
  transient E: f32[N, 8]
  state {
    map i in 0:N, j in 0:8 { D[i, j] = f32(i32(Q[i, j]) - 7) * s }
    map i in 0:N, j in 0:8 { Y[i, j] = max(D[i, j], 0) }
    map i in 0:N, j in 0:8 { E[i, j] = f32(i32(Q[i, j]) - 7) * s }
    map i in 0:N { Z[i] = 0 }
    map i in 0:N, j in 0:6, k in 0:3 { Z[i] += E[i, j + k] }
  }
}
)",
             kLanes, R"(sdfg f(Q: u8[N, 8], s: f32, Y: f32[N, 8], Z: f32[N]) {
  transient E: f32[N, 8]
  state {
    map i in 0:N, j in 0:8 { Y[i, j] = max(f32(i32(Q[i, j]) - 7) * s, 0) }
    map i in 0:N, j in 0:8 { E[i, j] = f32(i32(Q[i, j]) - 7) * s }
    map i in 0:N { Z[i] = 0 }
    map i in 0:N, j in 0:6, k in 0:3 { Z[i] += E[i, j + k] }
  }
}
)");
}

// Scales that depend on the terms; sums of more than 33025 terms, or nobody knows how many; what is written in between; an element that
// something else is added to before.
TEST(IntegerProducts, Left) {
  const auto program = [](const std::string& depth, const std::string& scale, const std::string& before, const std::string& between) {
    return "sdfg f(A: u8[4, " + depth + "], B: i8[" + depth + ", 8], s: f32[" + depth + "], inout C: u8[4, " + depth + "], Y: f32[4, 8]) {\n  transient D: f32[4, " +
           depth + "]\n  transient E: f32[" + depth + ", 8]\n  map i in 0:4, k in 0:" + depth + " { D[i, k] = f32(i32(C[i, k])) * " + scale + " }\n" + between +
           "  map k in 0:" + depth + ", j in 0:8 { E[k, j] = f32(i32(B[k, j])) }\n  map i in 0:4, j in 0:8 { Y[i, j] = 0 }\n" + before +
           "  map i in 0:4, j in 0:8, k in 0:" + depth + " { Y[i, j] += D[i, k] * E[k, j] }\n}\n";
  };
  const auto changes = [](const std::string& text) { return Transformed(text, kLanes) != Transformed(text, "eliminate-dead-code"); };
  EXPECT_TRUE(changes(program("16", "s[0]", "", "")));
  EXPECT_TRUE(changes(program("33025", "s[0]", "", "")));
  EXPECT_FALSE(changes(program("33026", "s[0]", "", "")));
  EXPECT_FALSE(changes(program("K", "s[0]", "", "")));
  EXPECT_FALSE(changes(program("16", "s[k]", "", "")));
  EXPECT_FALSE(changes(program("16", "s[0]", "  map i in 0:4 { Y[i, 0] += 1 }\n", "")));
  EXPECT_FALSE(changes(program("16", "s[0]", "", "  map i in 0:4, k in 0:16 { C[i, k] = A[i, k] }\n")));
}

}  // namespace
}  // namespace headrace::transforms
