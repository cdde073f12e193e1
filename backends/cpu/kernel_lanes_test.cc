// Lanes that are calls of the prelude: dots, and bytes beside wider numbers.
#include <limits>

#include "backends/cpu/kernel_testing.h"

namespace headrace::cpu {
namespace {

// Lanes of dots that lie side by side are the processor's own; exact where denormals count.
TEST(KernelLanes, Dots) {
  const std::string text = R"(
sdfg f(A: bf16[4, 40], B: bf16[20, 32, 2], C: f32[4, 32]) {
  map i in 0:4, j in 0:32 { C[i, j] = 1 }
  call k(a = A, b = B, c = C)
}
kernel k(a: bf16[4, 40], b: bf16[20, 32, 2], inout c: f32[4, 32]) for cpu @flush {
  local t: f32[4, 32]
  map r in 0:4 @unroll { map u in 0:32 @vector { t[r, u] = 0 } }
  for d in 0:20 {
    map r in 0:4 @unroll { map u in 0:32 @vector { t[r, u] = dot2(a[r, 2*d], b[d, u, 0], a[r, 2*d + 1], b[d, u, 1], t[r, u]) } }
  }
  map r in 0:4 @unroll { map u in 0:32 @vector { c[r, u] += t[r, u] } }
})";
  const Arguments inputs = {{"A", Make(DType::kBF16, {4, 40}, Whole(160))}, {"B", Make(DType::kBF16, {20, 32, 2}, Whole(1280, 2))}};
  ExpectAsInterpreted(text, inputs);
  EXPECT_THAT(SourceOf(text), HasSubstr("hr_dot2_lanes<32>("));
  std::string exact = text;
  exact.erase(exact.find(" @flush"), 7);
  ExpectAsInterpreted(exact, inputs);
  EXPECT_THAT(SourceOf(exact), HasSubstr("hr_dot2_lanes_exact<32>("));
  std::string apart = text;  // the second of each pair is the next lane's first: no such lanes
  apart.replace(apart.find("b[d, u, 1]"), 10, "b[d, 31 - u, 1]");
  ExpectAsInterpreted(apart, inputs);
  EXPECT_THAT(SourceOf(apart), Not(HasSubstr("hr_dot2_lanes")));
}

// Squares that are read along one index and written along the other are turned in registers, as wide as they are computed in.
TEST(KernelLanes, Squares) {
  for (const std::string type : {"f32", "bf16"})
    for (const int side : {8, 16}) {
      const std::string text = "sdfg f(W: " + type + "[n, 50], B: f32[17, n, 20]) {\n  call k(w = W, b = B, n0 := n)\n}\nkernel k(w: " + type +
                               "[n0, 50], b: f32[17, n0, 20], n0: symbol) for cpu {\n  assume 16 <= n0\n" +
                               "  for i in 0:17, j in 0:n0, k in 0:20 { b[i, j, k] = 0.5 }\n  for q in 0:2 {\n    map r in 0:" + std::to_string(side) +
                               " @unroll { map u in 0:" + std::to_string(side) + " @vector { b[r, q, u + q] = w[u, r + 30 + q] } }\n  }\n}";
      const Arguments inputs = {{"W", Make(*ParseDType(type), {18, 50}, Whole(900))}};
      ExpectAsInterpreted(text, inputs, {{"n", 18}});
      EXPECT_THAT(SourceOf(text), HasSubstr("hr_transpose<" + std::to_string(side) + ">("));
      std::string other = text;  // both along the lanes: a copy
      other.replace(other.find("w[u, r + 30 + q]"), 16, "w[r, u + 30 + q]");
      ExpectAsInterpreted(other, inputs, {{"n", 18}});
      EXPECT_THAT(SourceOf(other), Not(HasSubstr("hr_transpose<")));
    }
}

// Lines are copied past the caches, and others see them after it: whole lines of memory, and those that begin or end within one.
TEST(KernelLanes, Streams) {
  for (const std::string type : {"u8", "bf16", "f32", "f64"})
    for (const int columns : {128, 100, 16, 1}) {
      const std::string n = std::to_string(columns), of = "[40, " + n + "]";
      const std::string text = "sdfg f(X: " + type + of + ", Z: " + type + of + ") {\n  transient Y: " + type + of +
                               "\n  call k(x = X, y = Y)\n  call k(x = Y, y = Z)\n}\nkernel k(x: " + type + of + ", y: " + type + of +
                               ") for cpu {\n  map i in 0:40 @parallel {\n    local t: " + type + "[" + n + "]\n    map u in 0:" + n +
                               " @vector { t[u] = x[39 - i, u] + 1 }\n    map u in 0:" + n + " @stream { y[i, u] = t[u] }\n  }\n}";
      ExpectAsInterpreted(text, {{"X", Make(*ParseDType(type), {40, columns}, Whole(40 * columns, 2))}});
      EXPECT_THAT(SourceOf(text), HasSubstr("hr_stream("));
      EXPECT_THAT(SourceOf(text), HasSubstr("const hr_streamed streamed;"));
    }
}

// Of what is copied, numbers of two, four and eight bytes.
TEST(KernelLanes, SquaresOfCopies) {
  const std::pair<const char*, std::vector<int>> types[] = {{"bf16", {8, 16}}, {"f16", {8, 16}}, {"i16", {8, 16}}, {"i32", {8, 16}},
                                                            {"f64", {4, 8}},   {"i64", {4, 8}}};
  for (const auto& [type, sides] : types)
    for (const int side : sides) {
      const std::string of = "map r in 0:" + std::to_string(side) + " @unroll { map u in 0:" + std::to_string(side) + " @vector { b[r + 1, u] = w[u, r + 30] } }",
                        text = "sdfg f(W: " + std::string(type) + "[16, 50], B: " + type + "[17, 20]) {\n  call k(w = W, b = B)\n}\nkernel k(w: " + type +
                               "[16, 50], b: " + type + "[17, 20]) for cpu {\n  for i in 0:17, k in 0:20 { b[i, k] = 1 }\n  " + of + "\n}";
      ExpectAsInterpreted(text, {{"W", Make(*ParseDType(type), {16, 50}, Whole(800))}});
      EXPECT_THAT(SourceOf(text), HasSubstr("hr_transpose<" + std::to_string(side) + ">("));
    }
}

// Pairs of halves are turned as one number each.
TEST(KernelLanes, SquaresOfPairs) {
  for (const int side : {8, 16}) {
    const std::string lanes = "map u in 0:" + std::to_string(side) + " @vector { ", read = "w[u, 2 * r + 6 * q]";
    const std::string text = "sdfg f(W: bf16[n, 51], B: bf16[17, n, 17, 2]) {\n  call k(w = W, b = B, n0 := n)\n}\nkernel k(w: bf16[n0, 51], "
                             "b: bf16[17, n0, 17, 2], n0: symbol) for cpu {\n  assume 16 <= n0\n"
                             "  for i in 0:17, j in 0:n0, k in 0:17, l in 0:2 { b[i, j, k, l] = 0.5 }\n  for q in 0:2 {\n    map r in 0:" +
                             std::to_string(side) + " @unroll { " + lanes + "b[r, q, u + q, 0] = " + read + "; b[r, q, u + q, 1] = w[u, 2 * r + 6 * q + 1] } }\n  }\n}";
    const Arguments inputs = {{"W", Make(DType::kBF16, {18, 51}, Whole(918))}};
    ExpectAsInterpreted(text, inputs, {{"n", 18}});
    EXPECT_THAT(SourceOf(text), HasSubstr("hr_transpose_pairs<" + std::to_string(side) + ">("));
    std::string other = text;  // the second is not beside the first
    other.replace(other.find("w[u, 2 * r + 6 * q + 1]"), 23, "w[u, 2 * r + 6 * q + 2]");
    ExpectAsInterpreted(other, inputs, {{"n", 18}});
    EXPECT_THAT(SourceOf(other), Not(HasSubstr("hr_transpose")));
  }
}

// As numbers are quantised: rounded to even, saturated, and 0 where there is no number; also where the zero point is negative. Whole vectors
// are one call of the prelude.
TEST(KernelLanes, RoundedBytes) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x = {0.5, 1.5, -0.5, -1.5, 127.5, 254.5, 255.5, 300, -129, -1e9, 1e9, 3e38, -3e38, inf, -inf, nan,
                                 2047.5, 2048.5, -2048.5, 4e9, -4e9, 1, 2, 3, -nan, 7, 8, 9, 10, 11, 12, 13};
  for (const char* type : {"u8", "i8"})
    for (const char* zero : {"3", "127", "-128"}) {
      if (*type == 'u' && *zero == '-') continue;
      const auto text = [&](const std::string& parts) {
        return std::string("sdfg f(X: f32[32], Y: ") + type + "[32]) {\n  constant z: " + type + " = " + zero +
               "\n  call k(x = X, z = z, y = Y)\n}\nkernel k(x: f32[32], z: " + type + ", y: " + type + "[32]) for cpu {\n" + parts + "}";
      };
      const std::string value = std::string(" @vector { y[u] = sat(rint(x[u]) + f32(z), ") + type + ") }\n";
      const std::string whole = text("  map u in 0:32" + value), two = text("  map u in 0:16" + value + "  map u in 16:32" + value),
                        wide = text("  for i in 0:2 {\n    map u in 0:16 @vector { y[16 * i + u] = sat(rint(x[16 * i + u]) + f32(z), " +
                                    std::string(type) + ") }\n  }\n");
      for (const std::string& t : {whole, two, wide}) ExpectAsInterpreted(t, {{"X", Make(DType::kF32, {32}, x)}});
      EXPECT_THAT(SourceOf(whole), HasSubstr("hr_round_lanes<32>("));
      EXPECT_THAT(SourceOf(wide), HasSubstr("hr_round_lanes<16>("));
      EXPECT_THAT(SourceOf(two), HasSubstr("hr_round_small("));
    }
}

// Bytes to numbers of 32 bits and back, copied, and filled: one call of the prelude or of the compiler.
TEST(KernelLanes, LanesOfBytes) {
  for (const std::string type : {"u8", "i8"}) {
    const std::string text = "sdfg f(X: " + type + "[2, 48], Y: " + type + "[2, 48], Z: " + type + "[2, 48]) {\n  call k(x = X, y = Y, z = Z)\n}\nkernel k(x: " + type +
                             "[2, 48], y: " + type + "[2, 48], z: " + type + R"([2, 48]) for cpu {
  for i in 0:2 {
    local w: i32[32]
    local q: i32[32]
    map u in 0:32 @vector { w[u] = i32(x[i, u + 5]) }
    map u in 0:32 @vector { q[u] = w[u] * 3 - 7 }
    map u in 0:32 @vector { y[i, u + 3] = )" + type + R"((q[u]) }
    map u in 0:3 @vector { y[i, u] = 1 }
    map u in 0:13 @vector { y[i, u + 35] = 2 }
    map u in 0:20 @vector { z[i, u] = x[i, u + 28] }
    map u in 0:28 @vector { z[i, u + 20] = 9 }
  }
})";
    std::vector<double> x;
    for (int64_t i = 0; i < 96; ++i) x.push_back(static_cast<double>(i * 37 % 256 - (type == "i8" ? 128 : 0)));
    ExpectAsInterpreted(text, {{"X", Make(type == "u8" ? DType::kU8 : DType::kI8, {2, 48}, x)}});
    for (const char* part : {"hr_widen_lanes<32>(", "hr_narrow_lanes<32>(", "__builtin_memcpy(", "__builtin_memset("})
      EXPECT_THAT(SourceOf(text), HasSubstr(part));
  }
}

TEST(KernelLanes, DotsOfBytes) {
  const std::string text = R"(
sdfg f(A: u8[3, 40], B: i8[10, 16, 4], C: i32[3, 16]) {
  map i in 0:3, j in 0:16 { C[i, j] = 1 }
  call k(a = A, b = B, c = C)
}
kernel k(a: u8[3, 40], b: i8[10, 16, 4], inout c: i32[3, 16]) for cpu {
  for d in 0:10, r in 0:3 {
    map u in 0:16 @vector {
      c[r, u] = dot4(a[r, 4*d], b[d, u, 0], a[r, 4*d + 1], b[d, u, 1], a[r, 4*d + 2], b[d, u, 2], a[r, 4*d + 3], b[d, u, 3], c[r, u])
    }
  }
})";
  std::vector<double> a;
  for (int64_t i = 0; i < 120; ++i) a.push_back(static_cast<double>(i * 37 % 256));
  ExpectAsInterpreted(text, {{"A", Make(DType::kU8, {3, 40}, a)}, {"B", Make(DType::kI8, {10, 16, 4}, Whole(640, 2))}});
  EXPECT_THAT(SourceOf(text), HasSubstr("hr_dot4_lanes<16>("));
}

// Bytes of four rows laid out as groups, and dots whose lanes have groups of their own on both sides, also behind zeros.
TEST(KernelLanes, GroupsOfBytes) {
  const std::string text = R"(
sdfg f(A: u8[6, 48], B: i8[48, 4], C: i32[3, 48]) {
  map i in 0:3, j in 0:48 { C[i, j] = i }
  call k(a = A, b = B, c = C)
}
kernel k(a: u8[6, 48], b: i8[48, 4], inout c: i32[3, 48]) for cpu {
  for r in 0:3, j in 0:48:16 {
    local d: u8[16, 4]
    map e in 0:4 @unroll { map u in 0:16 @vector { d[u, e] = a[r + e, j + u] } }
    map u in 0:16 @vector { c[r, j + u] = dot4(d[u, 0], b[j + u, 0], d[u, 1], b[j + u, 1], d[u, 2], b[j + u, 2], d[u, 3], b[j + u, 3], c[r, j + u]) }
    map u in 0:16 @vector { c[r, j + u] = dot4(d[u, 0], 0, d[u, 1], b[j + u, 0], d[u, 2], b[j + u, 1], d[u, 3], b[j + u, 2], c[r, j + u]) }
  }
})";
  std::vector<double> a;
  for (int64_t i = 0; i < 288; ++i) a.push_back(static_cast<double>(i * 37 % 256));
  ExpectAsInterpreted(text, {{"A", Make(DType::kU8, {6, 48}, a)}, {"B", Make(DType::kI8, {48, 4}, Whole(192, 2))}});
  for (const char* part : {"hr_group_lanes<16>(", "hr_dot4_lanes_both<16, 0>(", "hr_dot4_lanes_both<16, 1>("})
    EXPECT_THAT(SourceOf(text), HasSubstr(part));
}

}  // namespace
}  // namespace headrace::cpu
