// Attention and its gradients with a loop around the statements that pass on scores: the values without it.
#include "tests/products/values.h"

namespace headrace {
namespace {

constexpr char kAnyLoop[] = "fuse-outer-loops{bytes=1, operations=1}; outline; choose-schedule";

// Of whole numbers: scores are cut to what products of them keep exact.
std::string Attention(const std::string& batch, int64_t heads, int64_t rows, int64_t depth) {
  const std::string b = "b in 0:" + batch, h = ", h in 0:" + std::to_string(heads), i = ", i in 0:" + std::to_string(rows),
                    j = ", j in 0:" + std::to_string(rows), k = ", k in 0:" + std::to_string(depth);
  const std::string inner_k = "map k in 0:" + std::to_string(depth), inner_j = "map j in 0:" + std::to_string(rows), part = "b, h, i, j";
  const std::string heads_of = "f32[" + batch + ", " + std::to_string(heads) + ", " + std::to_string(rows) + ", ";
  const std::string x = heads_of + std::to_string(depth) + "]", s = heads_of + std::to_string(rows) + "]";
  return "sdfg f(Q: " + x + ", K: " + x + ", V: " + x + ", G: " + x + ", D: " + x + ") {\n  transient S: " + s + "\n  transient T: " + s +
         "\n  transient O: " + x + "\n  transient R: " + heads_of.substr(0, heads_of.size() - 2) + "]\n  state {\n" +
         "    map " + b + h + i + j + " {\n      S[" + part + "] = 0\n      " + inner_k + " { S[" + part + "] += Q[b, h, i, k] * K[b, h, j, k] }\n    }\n" +
         "    map " + b + h + i + " {\n      R[b, h, i] = -100\n      " + inner_j + " { R[b, h, i] max= S[" + part + "] }\n      " + inner_j +
         " { S[" + part + "] = max(S[" + part + "] - R[b, h, i], -3) }\n    }\n" +
         "    map " + b + h + i + k + " {\n      O[b, h, i, k] = 0\n      " + inner_j + " { O[b, h, i, k] += S[" + part + "] * V[b, h, j, k] }\n    }\n" +
         "    map " + b + h + i + j + " {\n      T[" + part + "] = 0\n      " + inner_k + " { T[" + part + "] += G[b, h, i, k] * V[b, h, j, k] }\n    }\n" +
         "    map " + b + h + i + j + " { T[" + part + "] = T[" + part + "] * S[" + part + "] }\n" +
         "    map " + b + h + i + k + " { D[b, h, i, k] = O[b, h, i, k] }\n" +
         "    map " + b + h + i + k + j + " { D[b, h, i, k] += T[" + part + "] * K[b, h, j, k] + T[b, h, j, i] * Q[b, h, j, k] }\n  }\n}\n";
}

TEST(OuterLoops, Attention) {
  ExpectSameValues(Attention("3", 2, 24, 8), {}, kAnyLoop);
  ExpectSameValues(Attention("3", 4, 100, 24), {}, kAnyLoop);
  for (const int64_t batch : {0, 1, 4}) ExpectSameValues(Attention("B", 2, 40, 16), {{"B", batch}}, kAnyLoop);
}

// Over batches, then over heads.
TEST(OuterLoops, AreTaken) {
  for (const char* batch : {"1", "3", "B"}) {
    Result<Program> p = ParseProgram(Attention(batch, 4, 100, 24));
    ASSERT_TRUE(p.ok() && RunPipeline(Plugins(), kAnyLoop, *p).ok());
    EXPECT_EQ(Print(*p).find("transient S: f32[" + std::string(batch) + ", 4"), std::string::npos) << Print(*p);
    EXPECT_EQ(Print(*p).find("transient T: f32[" + std::string(batch) + ", 4"), std::string::npos);
  }
}

}  // namespace
}  // namespace headrace
