// Which constants are packed when a program is compiled, and which stay as they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

constexpr char kPack[] = "pack-constants{device=cpu}";

// 40 columns: two panels of 32, the second of which ends in zeros.
TEST(PackConstants, Elements) {
  Program p = *ParseProgram(R"(sdfg f(X: f32[N, 16], Y: f32[N, 40]) {
  constant W: f32[16, 40] = fill(2)
  state {
    map i in 0:N, j in 0:40 { Y[i, j] = 0 }
    map i in 0:N, j in 0:40, k in 0:16 { Y[i, j] += X[i, k] * W[k, j] }
  }
}
)");
  Tensor w = *Tensor::Create(DType::kF32, {16, 40});
  for (int64_t i = 0; i < w.elements(); ++i) w.SetDouble(i, static_cast<double>(i + 1));
  p.MutableEntry().Mutable("W").data = w;
  ASSERT_TRUE(RunPipeline(TestRegistry(), kPack, p).ok());
  const Tensor& packed = p.Entry().Get("W_packed").data;
  EXPECT_THAT(packed.shape, testing::ElementsAre(2, 16, 32));
  for (int64_t j = 0; j < 64; ++j)
    for (int64_t k = 0; k < 16; ++k)
      EXPECT_EQ(packed.GetDouble(((j / 32) * 16 + k) * 32 + j % 32), j < 40 ? static_cast<double>(k * 40 + j + 1) : 0) << j << " " << k;
}

// Of bf16 pairs of terms lie side by side, the last of them beside a zero.
TEST(PackConstants, Pairs) {
  Program p = *ParseProgram(R"(sdfg f(X: bf16[N, 15], Y: f32[N, 40]) {
  constant W: bf16[15, 40] = fill(2)
  state {
    map i in 0:N, j in 0:40 { Y[i, j] = 0 }
    map i in 0:N, j in 0:40, k in 0:15 { Y[i, j] += X[i, k] * W[k, j] }
  }
}
)");
  Tensor w = *Tensor::Create(DType::kBF16, {15, 40});
  for (int64_t i = 0; i < w.elements(); ++i) w.SetDouble(i, static_cast<double>(i % 255 + 1));
  p.MutableEntry().Mutable("W").data = w;
  ASSERT_TRUE(RunPipeline(TestRegistry(), "pack-constants{device=cpu_bf16}", p).ok());
  const Tensor& packed = p.Entry().Get("W_packed").data;
  EXPECT_THAT(packed.shape, testing::ElementsAre(2, 8, 32, 2));
  for (int64_t j = 0; j < 64; ++j)
    for (int64_t k = 0; k < 16; ++k)
      EXPECT_EQ(packed.GetDouble((((j / 32) * 8 + k / 2) * 32 + j % 32) * 2 + k % 2), j < 40 && k < 15 ? static_cast<double>((k * 40 + j) % 255 + 1) : 0) << j << " " << k;
  EXPECT_THAT(Print(p), testing::HasSubstr("X[i, k] * W_packed[j // 32, k // 2, j % 32, k % 2]"));
}

// Weights of a recurrent layer: what a loop does is done often. What says how long it runs is no packed constant.
TEST(PackConstants, InLoops) {
  ExpectPass(R"(sdfg f(X: f32[9, 8, 64], H: f32[8, 64]) {
  constant W: f32[64, 64] = fill(2)
  constant L: i8[2, 2] = fill(4)
  transient G: f32[8, 64]
  state {
    map i in 0:8, j in 0:64 { H[i, j] = 0 }
  }
  for s in 0:i64(L[0, 1]) {
    state {
      map i in 0:8, j in 0:64 {
        G[i, j] = 0
        map k in 0:64 { G[i, j] += H[i, k] * W[j, k] }
      }
      map i in 0:8, j in 0:64 { H[i, j] = G[i, j] + X[s, i, j] }
    }
  }
})",
             kPack, R"(sdfg f(X: f32[9, 8, 64], H: f32[8, 64]) {
  constant L: i8[2, 2] = fill(4)
  transient G: f32[8, 64]
  constant W_packed: f32[2, 64, 32] = fill(2)
  state {
    map i in 0:8, j in 0:64 { H[i, j] = 0 }
  }
  for s in 0:i64(L[0, 1]) {
    state {
      map i in 0:8, j in 0:64 {
        G[i, j] = 0
        map k in 0:64 { G[i, j] += H[i, k] * W_packed[j // 32, k, j % 32] }
      }
      map i in 0:8, j in 0:64 { H[i, j] = G[i, j] + X[s, i, j] }
    }
  }
})");
}

// A few rows of many terms, which are summed in parts: a layer behind an attention, one position at a time.
TEST(PackConstants, PartsOfTerms) {
  ExpectPass(R"(sdfg f(X: f32[4, 2048], Y: f32[4, 512]) {
  constant W: f32[2048, 512] = fill(2)
  state {
    map i in 0:4, j in 0:512 {
      Y[i, j] = 0
      map k in 0:2048 { Y[i, j] += X[i, k] * W[k, j] }
    }
  }
})",
             kPack, R"(sdfg f(X: f32[4, 2048], Y: f32[4, 512]) {
  constant W_packed: f32[16, 2048, 32] = fill(2)
  state {
    map i in 0:4, j in 0:512 {
      Y[i, j] = 0
      map k in 0:2048 { Y[i, j] += X[i, k] * W_packed[j // 32, k, j % 32] }
    }
  }
})");
}

// Where nothing takes pairs, bf16 is computed with in f32, and packed so.
TEST(PackConstants, SmallFloats) {
  ExpectPass(R"(sdfg f(X: bf16[N, 16], Y: f32[N, 64]) {
  constant W: bf16[64, 16] = fill(2)
  state {
    map i in 0:N, j in 0:64 { Y[i, j] = 0 }
    map i in 0:N, j in 0:64, k in 0:16 { Y[i, j] += X[i, k] * W[j, k] }
  }
}
)",
             kPack, R"(sdfg f(X: bf16[N, 16], Y: f32[N, 64]) {
  constant W_packed: f32[2, 16, 32] = fill(2.0)
  state {
    map i in 0:N, j in 0:64 { Y[i, j] = 0 }
    map i in 0:N, j in 0:64, k in 0:16 { Y[i, j] += f32(X[i, k]) * W_packed[j // 32, k, j % 32] }
  }
}
)");
}

// As linear layers have it: memory runs along the terms.
TEST(PackConstants, ATransposedMatrix) {
  ExpectPass(R"(sdfg f(X: f32[N, 16], Y: f32[N, 64]) {
  constant W: f32[64, 16] = fill(2)
  state {
    map i in 0:N, j in 0:64 { Y[i, j] = 0 }
    map i in 0:N, j in 0:64, k in 0:16 { Y[i, j] += X[i, k] * W[j, k] }
  }
}
)",
             kPack, R"(sdfg f(X: f32[N, 16], Y: f32[N, 64]) {
  constant W_packed: f32[2, 16, 32] = fill(2.0)
  state {
    map i in 0:N, j in 0:64 { Y[i, j] = 0 }
    map i in 0:N, j in 0:64, k in 0:16 { Y[i, j] += X[i, k] * W_packed[j // 32, k, j % 32] }
  }
}
)");
}

// A convolution with channels innermost, and what becomes of its sums.
TEST(PackConstants, AConvolution) {
  ExpectPass(R"(sdfg f(Y: f32[N, 32, 16, 16]) {
  constant W: f32[32, 16, 3, 3] = fill(2) layout [d2, d3, d1, d0]
  transient S: f32 @register
  transient X: f32[N, 16, 16, 16] layout [d0, d2, d3, d1]
  transient Z: f32[N, 32, 16, 16] layout [d0, d2, d3, d1]
  state {
    map n in 0:N, c in 0:16, p in 0:16, q in 0:16 { X[n, c, p, q] = 1 }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 {
      S = 0
      map c in 0:16, k in 0:3, l in 0:3 { S += (X[n, c, p + k - 1, q + l - 1] ?? 0.0) * W[o, c, k, l] }
      Z[n, o, p, q] = max(S, 0)
    }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 { Y[n, o, p, q] = Z[n, o, p, q] }
  }
}
)",
             kPack, R"(sdfg f(Y: f32[N, 32, 16, 16]) {
  transient S: f32 @register
  transient X: f32[N, 16, 16, 16] layout [d0, d2, d3, d1]
  transient Z: f32[N, 32, 16, 16] layout [d0, d2, d3, d1]
  constant W_packed: f32[1, 3, 3, 16, 32] = fill(2.0)
  state {
    map n in 0:N, c in 0:16, p in 0:16, q in 0:16 { X[n, c, p, q] = 1 }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 {
      S = 0
      map c in 0:16, k in 0:3, l in 0:3 {
        S += (X[n, c, p + k - 1, q + l - 1] ?? 0.0) * W_packed[o // 32, k, l, c, o % 32]
      }
      Z[n, o, p, q] = max(S, 0)
    }
    map n in 0:N, o in 0:32, p in 0:16, q in 0:16 { Y[n, o, p, q] = Z[n, o, p, q] }
  }
}
)");
}

// Windows that are transformed (schedule/winograd.h). The statement still says what it did.
TEST(PackConstants, AConvolutionByFewerProducts) {
  Program p = *ParseProgram(R"(sdfg f(X: f32[N, 16, 16, 32], Y: f32[N, 16, 16, 40]) {
  constant W: f32[40, 32, 3, 3] = fill(2)
  state {
    map n in 0:N, p in 0:16, q in 0:16, o in 0:40 { Y[n, p, q, o] = 0 }
    map n in 0:N, p in 0:16, q in 0:16, o in 0:40, c in 0:32, k in 0:3, l in 0:3 {
      Y[n, p, q, o] += (X[n, p + k - 1, q + l - 1, c] ?? 0.0) * W[o, c, k, l]
    }
  }
}
)");
  ASSERT_TRUE(RunPipeline(TestRegistry(), kPack, p).ok());
  const Tensor& packed = p.Entry().Get("W_packed").data;
  EXPECT_THAT(packed.shape, testing::ElementsAre(2, 16, 32, 32));
  const double of_line[] = {1, 1.5, 0.5, 1};
  for (int64_t e = 0; e < 16; ++e) {
    EXPECT_EQ(packed.GetDouble(e * 32 * 32), 2 * of_line[e / 4] * of_line[e % 4]) << e;
    EXPECT_EQ(packed.GetDouble((16 + e) * 32 * 32 + 8), 0) << e;  // beyond the last column
  }
  EXPECT_NE(Print(p).find("l == 1 ? W_packed[o // 32, 1, c, o % 32] - W_packed[o // 32, 2, c, o % 32] : W_packed[o // 32, 3, c, o % 32]"),
            std::string::npos);
}

// One reader that wants something else, or a view, and it stays; so does what no product reads.
TEST(PackConstants, Left) {
  for (const char* other : {"map j in 0:64 { Z[j] = W[0, j] }", "map j in 0:64 { Z[j] = row[j] }",
                            "map j in 0:64 { Z[j] = 0 }\n    map i in 0:64, j in 0:16, k in 0:64 { Z[i] += X[k, j] * W[j, i] }"}) {
    const std::string text = std::string(R"(sdfg f(X: f32[64, 16], Y: f32[64, 64], Z: f32[64]) {
  constant W: f32[16, 64] = fill(2)
  )") + (std::string(other).find("row") != std::string::npos ? "view row: f32[64] of W" : "") + R"(
  state {
    map i in 0:64, j in 0:64 { Y[i, j] = 0 }
    map i in 0:64, j in 0:64, k in 0:16 { Y[i, j] += X[i, k] * W[k, j] }
    )" + other + "\n  }\n}\n";
    ExpectUnchanged(text, kPack);
  }
}

}  // namespace
}  // namespace headrace::transforms
