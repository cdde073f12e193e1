// Which constants are several.
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

constexpr char kSplit[] = "split-constants";

// The weights of two directions, of which each product reads its own.
constexpr char kDirections[] = R"(sdfg f(X: f32[N, 16], inout A: f32[N, 8], inout B: f32[N, 8]) {
  constant W: f32[2, 8, 16] = fill(2)
  state {
    map i in 0:N, j in 0:8, k in 0:16 { A[i, j] += X[i, k] * W[0, j, k] }
    map i in 0:N, j in 0:8, k in 0:16 { B[i, j] += X[i, k] * W[1, j, k] }
  }
})";

TEST(SplitConstants, EachPlaceIsOne) {
  Program p = *ParseProgram(kDirections);
  Tensor w = *Tensor::Create(DType::kF32, {2, 8, 16});
  for (int64_t i = 0; i < w.elements(); ++i) w.SetDouble(i, static_cast<double>(i));
  p.MutableEntry().Mutable("W").data = w;
  ASSERT_TRUE(RunPipeline(TestRegistry(), kSplit, p).ok());
  EXPECT_FALSE(p.Entry().Find("W"));
  for (int64_t place : {0, 1})
    for (int64_t i : {0, 77, 127}) EXPECT_EQ(p.Entry().Get("W_" + std::to_string(place)).data.GetDouble(i), static_cast<double>(128 * place + i));
}

TEST(SplitConstants, Reads) {
  ExpectPass(kDirections, kSplit, R"(
sdfg f(X: f32[N, 16], inout A: f32[N, 8], inout B: f32[N, 8]) {
  constant W_0: f32[8, 16] = fill(2.0)
  constant W_1: f32[8, 16] = fill(2.0)
  state {
    map i in 0:N, j in 0:8, k in 0:16 { A[i, j] += X[i, k] * W_0[j, k] }
    map i in 0:N, j in 0:8, k in 0:16 { B[i, j] += X[i, k] * W_1[j, k] }
  }
})");
}

TEST(SplitConstants, NotWhatIsReadWhereNobodyKnows) {
  ExpectUnchanged(R"(sdfg f(X: f32[2, 16], inout A: f32[2, 8], n: i64) {
  constant W: f32[2, 8, 16] = fill(2)
  state {
    map d in 0:2, j in 0:8, k in 0:16 { A[d, j] += X[d, k] * W[d, j, k] }
    map j in 0:8, k in 0:16 { A[0, j] += X[0, k] * W[1, j, k] }
  }
})",
                  kSplit);
}

// A view of it shows all; so does a node that takes it as a whole.
TEST(SplitConstants, NotWhatIsUsedAsAWhole) {
  ExpectUnchanged(R"(sdfg f(X: f32[8, 16], Y: f32[2, 8, 16], inout A: f32[8]) {
  constant W: f32[2, 8, 16] = fill(2)
  state {
    onnx.Relu(X = W) -> (Y = Y)
    map j in 0:8, k in 0:16 { A[j] += X[j, k] * W[1, j, k] }
  }
})",
                  kSplit);
  ExpectUnchanged(R"(sdfg f(X: f32[8, 16], inout A: f32[8]) {
  constant W: f32[2, 8, 16] = fill(2)
  view v: f32[16, 16] of W
  state {
    map j in 0:8, k in 0:16 { A[j] += v[j, k] * W[1, j, k] }
  }
})",
                  kSplit);
}

}  // namespace
}  // namespace headrace::transforms
