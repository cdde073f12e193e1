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
