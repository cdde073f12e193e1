#include <gtest/gtest.h>

#include "autodiff/reverse_pieces.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace::autodiff {
namespace {

// Of a program with one state and one statement.
std::string Split(std::string_view text) {
  Result<Program> p = ParseProgram(text);
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  Sdfg& s = p->MutableEntry();
  State& state = std::get<State>(s.blocks.Mutable(s.body[0]).control);
  state.statements = SplitProducts(&s, state.statements[0]);
  PrintOptions o;
  o.origins = false;
  return Print(*p, o);
}

void Expect(std::string_view before, std::string_view after) {
  Result<Program> p = ParseProgram(after);
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  PrintOptions o;
  o.origins = false;
  EXPECT_EQ(Split(before), Print(*p, o));
}

TEST(SplitProducts, TheAdjointOfAMatrixProductIsTwo) {
  Expect(R"(
sdfg f(A: f64[N, K], B: f64[K, M], G: f64[N, M], inout dA: f64[N, K], inout dB: f64[K, M]) {
  transient g: f64 @register
  map i in 0:N, j in 0:M { map k in 0:K { g = G[i, j]; dB[k, j] += g * A[i, k]; dA[i, k] += g * B[k, j] } }
})",
         R"(
sdfg f(A: f64[N, K], B: f64[K, M], G: f64[N, M], inout dA: f64[N, K], inout dB: f64[K, M]) {
  transient g: f64 @register
  map i in 0:N, j in 0:M { map k in 0:K { dB[k, j] += G[i, j] * A[i, k] } }
  map i in 0:N, j in 0:M { map k in 0:K { dA[i, k] += G[i, j] * B[k, j] } }
})");
}

// Under autocast halves are multiplied as f32, and what is added to a gradient is not rounded before.
TEST(SplitProducts, HalvesAreWidened) {
  Expect(R"(
sdfg f(A: bf16[N, K], B: bf16[K, M], G: f32[N, M], inout dA: bf16[N, K], inout dB: bf16[K, M]) {
  transient g: f32 @register
  map i in 0:N, j in 0:M { map k in 0:K { g = G[i, j]; dB[k, j] += bf16(g * f32(A[i, k])); dA[i, k] += bf16(g * f32(B[k, j])) } }
})",
         R"(
sdfg f(A: bf16[N, K], B: bf16[K, M], G: f32[N, M], inout dA: bf16[N, K], inout dB: bf16[K, M]) {
  transient g: f32 @register
  map i in 0:N, j in 0:M { map k in 0:K { dB[k, j] += G[i, j] * f32(A[i, k]) } }
  map i in 0:N, j in 0:M { map k in 0:K { dA[i, k] += G[i, j] * f32(B[k, j]) } }
})");
}

// C[i, j] += alpha * A[i, k] * A[j, k], below the diagonal.
TEST(SplitProducts, WhatIsTheSameAllOverTheMapIsAFactor) {
  Expect(R"(
sdfg f(a: f64, A: f64[N, K], G: f64[N, N], inout dA: f64[N, K], inout da: f64) {
  transient g: f64 @register
  transient t: f64 @register
  map i in 0:N, j in 0:i + 1, k in 0:K {
    g = G[i, j]
    t = g * A[j, k]
    dA[j, k] += g * (a * A[i, k])
    da += t * A[i, k]
  }
})",
         R"(
sdfg f(a: f64, A: f64[N, K], G: f64[N, N], inout dA: f64[N, K], inout da: f64) {
  transient g: f64 @register
  transient t: f64 @register
  map i in 0:N, j in 0:i + 1, k in 0:K { dA[j, k] += G[i, j] * (a * A[i, k]) }
  map i in 0:N, j in 0:i + 1, k in 0:K { da += G[i, j] * A[j, k] * A[i, k] }
})");
}

TEST(SplitProducts, OthersStayAsTheyAre) {
  for (std::string_view text : {
           // one pass over the matrix serves both
           "sdfg f(A: f64[N, K], x: f64[K], G: f64[N], inout dA: f64[N, K], inout dx: f64[K]) {\n"
           "  transient g: f64 @register\n"
           "  map i in 0:N, k in 0:K { g = G[i]; dA[i, k] += g * x[k]; dx[k] += g * A[i, k] }\n}",
           // what is computed once would be computed twice
           "sdfg f(A: f64[N, K], B: f64[K, M], G: f64[N, M], inout dA: f64[N, K], inout dB: f64[K, M]) {\n"
           "  transient g: f64 @register\n"
           "  map i in 0:N, j in 0:M, k in 0:K { g = exp(G[i, j]); dB[k, j] += g * A[i, k]; dA[i, k] += g * B[k, j] }\n}",
           // the second reads what the first adds
           "sdfg f(A: f64[N, N], G: f64[N, N], inout D: f64[N, N], inout E: f64[N, N]) {\n"
           "  map i in 0:N, j in 0:N, k in 0:N { D[k, j] += G[i, j] * A[i, k]; E[i, k] += G[i, j] * D[k, j] }\n}",
           // nothing is used twice
           "sdfg f(A: f64[N, M, K], B: f64[N, M, K], inout D: f64[N], inout E: f64[N, M]) {\n"
           "  map i in 0:N, j in 0:M, k in 0:K { D[i] += A[i, j, k] * B[i, j, k]; E[i, j] += A[i, j, k] * B[i, j, k] }\n}"})
    Expect(text, text);
}

// da takes what dA has summed; where the array's elements are no sums of the same products, both stay.
TEST(ShareSums, OfANumberAndAnArray) {
  Result<Program> p = ParseProgram(R"(
sdfg f(a: f64, A: f64[N, K], G: f64[N, N], inout dA: f64[N, K], inout da: f64) {
  map i in 0:N, j in 0:i + 1, k in 0:K { dA[j, k] += G[i, j] * A[j, k] }
  map i in 0:N, j in 0:i + 1, k in 0:K { dA[i, k] += G[i, j] * A[j, k] * a }
  map i in 0:N, j in 0:i + 1, k in 0:K { da += G[i, j] * A[i, k] * A[j, k] }
})");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  Sdfg& s = p->MutableEntry();
  FreshNames names(s);
  std::vector<NodeId> statements;
  for (BlockId b : s.body)
    for (NodeId n : std::get<State>(s.blocks[b].control).statements) statements.push_back(n);
  ShareSums(&s, &names, &statements);
  std::get<State>(s.blocks.Mutable(s.body[0]).control).statements = statements;
  s.body.resize(1);
  PrintOptions o;
  o.origins = false;
  Result<Program> expected = ParseProgram(R"(
sdfg f(a: f64, A: f64[N, K], G: f64[N, N], inout dA: f64[N, K], inout da: f64) {
  transient sums: f64[N, K]
  state {
    map i in 0:N, j in 0:i + 1, k in 0:K { dA[j, k] += G[i, j] * A[j, k] }
    map i_1 in 0:N, i_2 in 0:K { sums[i_1, i_2] = 0.0 }
    map i in 0:N, j in 0:i + 1, k in 0:K { sums[i, k] += G[i, j] * A[j, k] }
    map i_1 in 0:N, i_2 in 0:K {
      dA[i_1, i_2] += sums[i_1, i_2] * a
      da += sums[i_1, i_2] * A[i_1, i_2]
    }
  }
})");
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  EXPECT_EQ(Print(*p, o), Print(*expected, o));
}

// An element of A that the sum does not speak of may be infinite.
TEST(ShareSums, NotOfPartsOfAnArray) {
  for (const char* ranges : {"i in 1:N, j in 0:i + 1, k in 0:K", "i in 0:N, j in 0:i, k in 0:K", "i in 0:N, j in i:N, k in 0:K - 1"}) {
    const std::string map = "  map " + std::string(ranges);
    Result<Program> p = ParseProgram("sdfg f(a: f64, A: f64[N, K], G: f64[N, N], inout dA: f64[N, K], inout da: f64) {\n" + map +
                                     " { dA[i, k] += G[i, j] * A[j, k] * a }\n" + map + " { da += G[i, j] * A[i, k] * A[j, k] }\n}");
    ASSERT_TRUE(p.ok()) << p.status().ToString();
    Sdfg& s = p->MutableEntry();
    FreshNames names(s);
    std::vector<NodeId> statements;
    for (BlockId b : s.body)
      for (NodeId n : std::get<State>(s.blocks[b].control).statements) statements.push_back(n);
    ShareSums(&s, &names, &statements);
    EXPECT_EQ(statements.size(), 2u) << ranges;
  }
}

}  // namespace
}  // namespace headrace::autodiff
