// Every message a user of the interpreter can meet, quoted.
#include "backends/interpreter/testing.h"

namespace headrace {
namespace {

using testing::Arguments;
using testing::ErrorOf;
using testing::F32;
using testing::I64;
using testing::Make;
using testing::RunText;

const char* const kCopy = "sdfg f(X: f32[N, 3], Y: f32[N, 3]) { map i in 0:N, j in 0:3 { Y[i, j] = X[i, j] } }";

Diagnostic Wrong(const std::string& text, const Arguments& a,
                 const std::vector<std::pair<Name, int64_t>>& symbols = {}) {
  auto r = RunText(text, a, symbols);
  EXPECT_FALSE(r.ok()) << text;
  return r.ok() ? Diagnostic() : r.status().diagnostics()[0];
}

TEST(InterpreterErrors, IndexOutOfRangeNamesContainerIndexAndShape) {
  const Diagnostic d =
      Wrong("sdfg f(X: f32[N, 2], I: i64[M], Y: f32[M]) { map i in 0:M { Y[i] = X[I[i], 1] from \"gather1\" } }",
            {{"X", F32({3, 2}, {0, 0, 0, 0, 0, 0})}, {"I", I64({2}, {0, 3})}});
  EXPECT_EQ(d.message, "index out of range: X[3, 1] is outside its shape [3, 2]");
  EXPECT_EQ(d.node, "gather1");
  EXPECT_EQ(ErrorOf("sdfg f(X: f32[N], I: i64[M], Y: f32[3]) { map i in 0:M { Y[I[i]] = X[0] } }",
                    {{"X", F32({1}, {0})}, {"I", I64({1}, {-1})}}),
            "index out of range: Y[-1] is outside its shape [3]");
  EXPECT_EQ(ErrorOf("sdfg f(X: f32[N], Y: f32[4]) { map i in 0:4 { Y[i] = X[i] } }", {{"X", F32({3}, {0, 0, 0})}}),
            "index out of range: X[3] is outside its shape [3]");
  EXPECT_EQ(
      ErrorOf("sdfg f(X: f32[N], k: i64, Y: f32) { Y = X.flat[k] }", {{"X", F32({3}, {0, 0, 0})}, {"k", I64({}, {3})}}),
      "index out of range: X.flat[3] is outside 3 elements");
  EXPECT_EQ(ErrorOf("sdfg f(X: f32[N], Y: f32) { Y = X[9223372036854775807 * N] }", {{"X", F32({3}, {0, 0, 0})}}),
            "index out of range: X[9223372036854775805] is outside its shape [3]");
}

TEST(InterpreterErrors, AValueThatCantBeReadHasItsOwnMessage) {
  EXPECT_EQ(ErrorOf("sdfg f(I: i64[N], k: i64, Y: i64) { let n = I[k] else \"no such place\"\n Y = n }",
                    {{"I", I64({2}, {0, 1})}, {"k", I64({}, {2})}}),
            "no such place");
}

TEST(InterpreterErrors, Arguments) {
  Diagnostic d = Wrong(kCopy, {});
  EXPECT_EQ(d.message, "missing input X");
  EXPECT_EQ(d.expected, "X: f32[N, 3]");
  d = Wrong(kCopy, {{"Xs", F32({1, 3}, {1, 2, 3})}});
  EXPECT_EQ(d.message, "no input named Xs");
  EXPECT_EQ(d.hint, "did you mean X?");
  d = Wrong(kCopy, {{"X", I64({1, 3}, {1, 2, 3})}});
  EXPECT_EQ(d.message, "input X has the wrong type");
  EXPECT_EQ(d.got, "i64");
  EXPECT_EQ(d.expected, "f32");
  d = Wrong(kCopy, {{"X", F32({3}, {1, 2, 3})}});
  EXPECT_EQ(d.message, "input X has the wrong number of dimensions");
  EXPECT_EQ(d.got, "[3]");
  EXPECT_EQ(d.expected, "[N, 3]");
  d = Wrong(kCopy, {{"X", F32({1, 2}, {1, 2})}});
  EXPECT_EQ(d.message, "input X: dimension 1 is 2, not 3");
  const char* two =
      "sdfg f(A: f32[N], B: f32[N], C: f32[2*N + 1], Y: f32[N]) { map i in 0:N { Y[i] = A[i] + B[i] + C[2 * i] } }";
  d = Wrong(two, {{"A", F32({2}, {1, 2})}, {"B", F32({3}, {1, 2, 3})}, {"C", F32({5}, {1, 2, 3, 4, 5})}});
  EXPECT_EQ(d.message, "sizes disagree: N is 2 (input A, dimension 0) and 3 (input B, dimension 0)");
  d = Wrong(two, {{"A", F32({2}, {1, 2})}, {"B", F32({2}, {1, 2})}, {"C", F32({4}, {1, 2, 3, 4})}});
  EXPECT_EQ(d.message, "input C: dimension 0 is 4, not 2 * N + 1 = 5");
}

TEST(InterpreterErrors, SizesByName) {
  const char* text = "sdfg f(K: symbol, Y: f32[K]) { assume 1 <= K <= 64; map i in 0:K { Y[i] = i } }";
  Diagnostic d = Wrong(text, {});
  EXPECT_EQ(d.message, "missing size K");
  d = Wrong(text, {}, {{"K", 100}});
  EXPECT_EQ(d.message, "size K = 100 is outside what the program assumes");
  EXPECT_EQ(d.expected, "1 <= K <= 64");
  d = Wrong(text, {}, {{"KK", 3}});
  EXPECT_EQ(d.message, "no size named KK");
  EXPECT_EQ(d.hint, "did you mean K?");
}

TEST(InterpreterErrors, SizesThatDoNotFit) {
  const char* text = "sdfg f(Y: f32, K: symbol) { transient T: f32[K, K]; T[0, 0] = 1; Y = T[0, 0] }";
  for (int64_t k : {int64_t{1} << 20, int64_t{1} << 40, INT64_MAX}) {
    EXPECT_EQ(ErrorOf(text, {}, {{"K", k}}), "a tensor of type f32 and shape [" + std::to_string(k) + ", " +
                                                 std::to_string(k) + "] does not fit in this machine's memory");
  }
  EXPECT_EQ(ErrorOf(text, {}, {{"K", -1}}), "a tensor can't have the shape [-1, -1]");
  EXPECT_EQ(ErrorOf("sdfg f(X: f32[N], Y: f32, K: symbol) { view V: f32[2] of X offset K; Y = V[0] }",
                    {{"X", F32({3}, {1, 2, 3})}}, {{"K", 2}}),
            "view V reaches outside its base X: elements 2 to 3 of 3");
}

TEST(InterpreterErrors, UnexpandedLibraryNodesAreAllNamed) {
  auto r = RunText(
      "sdfg f(X: f32[N], Y: f32[N]) { transient T: f32[N]; onnx.Relu:14(X = X) -> (Y = T) from \"relu1\"; call.nothere(X = T) -> (Y = Y) }",
      {{"X", F32({1}, {1})}});
  ASSERT_FALSE(r.ok());
  ASSERT_EQ(r.status().diagnostics().size(), 2u);
  EXPECT_EQ(r.status().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(r.status().diagnostics()[0].message, "library node onnx.Relu (opset 14) was not expanded");
  EXPECT_EQ(r.status().diagnostics()[0].node, "relu1");
  EXPECT_EQ(r.status().diagnostics()[1].message, "no external function nothere is registered");
}

TEST(InterpreterErrors, AnInterruptStopsALoop) {
  CompileOptions o;
  int polls = 0;
  o.cancelled = [&] { return ++polls > 3; };
  auto r = RunText("sdfg f(Y: f32) { Y = 0; loop { Y += 1 } }", {}, {}, nullptr, o);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().kind(), ErrorKind::kInterrupted);
}

TEST(InterpreterErrors, CallsWithWrongShapes) {
  EXPECT_EQ(ErrorOf(R"(entry sdfg f(X: f32[4], Y: f32[3]) { call g(x = X, y = Y) }
                       sdfg g(x: f32[M], y: f32[M]) { map i in 0:M { y[i] = x[i] } })",
                    {{"X", F32({4}, {1, 2, 3, 4})}}),
            "call of g: argument Y has shape [3], but dimension 0 of y is 4");
}

}  // namespace
}  // namespace headrace
