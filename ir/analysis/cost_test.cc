#include "ir/analysis/cost.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"

namespace headrace {
namespace {

// "operations, bytes" of each statement of the first state; "?" = not known.
std::string Costs(const std::string& text) {
  Result<Program> p = ParseProgram(text);
  HR_CHECK(p.ok(), p.status().ToString());
  const Sdfg& s = p->Entry();
  const auto shown = [](const Expr& e) { return e ? ToString(e) : "?"; };
  std::string out;
  for (NodeId n : std::get<State>(s.blocks[s.body[0]].control).statements) {
    const Cost c = CostOf(*p, s, n);
    out += (out.empty() ? "" : "; ") + shown(c.operations) + ", " + shown(c.bytes);
  }
  return out;
}

TEST(Cost, CountsArithmeticOnFloats) {
  EXPECT_EQ(Costs("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = exp(X[i] * 2) + X[(i + 1) % N] } }"), "3 * N, 8 * N");
  EXPECT_EQ(Costs("sdfg f(X: c128[N], Y: c128[N]) { map i in 0:N { Y[i] = X[i] * X[i] + X[i] } }"), "8 * N, 32 * N");
  EXPECT_EQ(Costs("sdfg f(X: i32[N], Y: i32[N]) { map i in 0:N { Y[i] = X[i] * 2 } }"), "0, 8 * N");
}

TEST(Cost, OfAProductIsTwoPerStep) {
  EXPECT_EQ(Costs("sdfg f(A: f32[8, 16], B: f32[16, 4], inout C: f32[8, 4]) { C[i, j] += A[i, k] * B[k, j] }"), "1024, 1024");
}

TEST(Cost, OfTilesIsThatOfTheProduct) {
  const std::string text = R"(
sdfg f(A: f32[96, 300], B: f32[300, 64], inout C: f32[96, 64]) { call k(a = A, b = B, c = C) }
kernel k(a: f32[96, 300], b: f32[300, 64], inout c: f32[96, 64]) for cpu {
  map i0 in 0:96:48 @parallel {
    for k0 in 0:300:150 {
      for j1 in 0:64:32, i1 in i0:+48:12 {
        if i1 + 12 <= 96 {
          local t: f32[12, 32]
          map r in 0:12 @unroll { map u in 0:32 @vector { t[r, u] = 0.0 } }
          for d in k0:+150 { map r in 0:12 @unroll { map u in 0:32 @vector { t[r, u] = fma(a[i1 + r, d], b[d, j1 + u], t[r, u]) } } }
          map r in 0:12 @unroll { map u in 0:32 @vector { c[i1 + r, j1 + u] += t[r, u] } }
        } else {
          for i in i1:+12 { map u in 0:32 @vector { c[i, u] += 1 } }
        }
      }
    }
  }
})";
  EXPECT_EQ(Costs(text).substr(0, 7), std::to_string(2 * 96 * 64 * 300 + 2 * 96 * 64));  // and one to add each block
}

// Parts of parts, as many in each as work asks for: steps are no numbers, and the innermost range ends with the outermost.
TEST(Cost, OfPartsByNameIsThatOfTheWhole) {
  const std::string text = R"(
sdfg f(A: f32[M, 300], B: f32[300, 64], C: f32[M, 64]) { call k(a = A, b = B, c = C, n0 := M) }
kernel k(a: f32[n0, 300], b: f32[300, 64], c: f32[n0, 64], n0: symbol) for cpu {
  map i0 in 0:n0:512 * max(65536 // max(n0, 1), 1) @parallel {
    for i1 in i0:+512 * max(65536 // max(n0, 1), 1):512 {
      for i2 in i1:min(n0, i1 + 512):8 {
        if i2 + 8 <= n0 {
          map r in 0:8, u in 0:64 { c[i2 + r, u] = a[i2 + r, 0] * b[0, u] }
        } else {
          for i in i2:+8 { map u in 0:64 { c[i, u] = 0 } }
        }
      }
    }
  }
})";
  EXPECT_EQ(Costs(text).substr(0, 20), "512 * ((M + 7) // 8)");
}

// A gradient of weights: its terms are cut, some of its loops run over quotients of a part, and some over no part.
TEST(Cost, OfPartsIsThatOfTheWhole) {
  const std::string text = R"(
sdfg f(X: f32[N, 27, 256], dY: f32[8, N, 256], inout dW: f32[8, 27]) { call k(p0 = dW, p1 = dY, p2 = X, n0 := N) }
kernel k(inout p0: f32[8, 27], p1: f32[8, n0, 256], p2: f32[n0, 27, 256], n0: symbol) for cpu {
  for i0 in 0:256 * n0:1024 {
    local b: f32[1024, 27] @worker
    for i in i0 // 256:min(n0, i0 // 256 + 4), j in 0:256, u in 0:27 { b[256 * i + j - i0, u] = p2[i, u, j] }
    for d in i0:+1024 { map u in 0:27 @vector { b[d - i0, u] += 1.0 } }
    for r in 0:8 {
      local t: f32[27]
      map u in 0:27 @vector { t[u] = 0.0 }
      for i in i0 // 256:min(n0, i0 // 256 + 4), d in 0:256 {
        map u in 0:27 @vector { t[u] = fma(p1[r, i, d], b[d + 256 * i - i0, u], t[u]) }
      }
      map u in 0:27 @vector { p0[r, u] += t[u] }
    }
  }
})";
  EXPECT_EQ(Costs(text).substr(0, Costs(text).find(',')), "117504 * N + 216 * ((N + 3) // 4)");
}

TEST(Cost, ElementsAreCountedOnce) {
  // Three taps of a stencil read hardly more than the array.
  EXPECT_EQ(Costs("sdfg f(X: f64[100], Y: f64[100]) { map i in 1:99 { Y[i] = X[i - 1] + X[i] + X[i + 1] } }"), "196, 1584");
  EXPECT_EQ(Costs("sdfg f(X: f64[100], s: f64) { transient t: f64\nstate { t = X[3]\ns = t } }"), "0, 16; 0, 16");
}

TEST(Cost, OfATriangleIsThatOfItsMiddle) {
  EXPECT_EQ(Costs("sdfg f(X: f32[101, 101], Y: f32[101, 101]) { map i in 0:101, j in 0:i { Y[i, j] = 2 * X[i, j] } }"), "5050, 80800");
}

TEST(Cost, OfWhatIsNotInTheGraphIsUnknown) {
  EXPECT_EQ(Costs("sdfg f(X: f32[N], Y: f32[N]) { onnx.Relu(X = X) -> (Y = Y) }"), "?, 8 * N");
  EXPECT_EQ(Costs("sdfg f(X: f32[N], n: i64[1], Y: f32[N]) { map i in 0:n[0] { Y[i] ?? = X[i] ?? 0 } }").substr(0, 2), "?,");
}

}  // namespace
}  // namespace headrace
