// Shape forms evaluated, and library nodes of texts against what their ops say.
#include "ir/registry/inference.h"

#include <gtest/gtest.h>

#include "ir/elaborate/elaborate_testing.h"
#include "ir/text/parser.h"

namespace headrace {
namespace {

// "Y[N, 3] = …" of every output; or the error.
std::string Shapes(const std::string& form, const std::string& ports, const std::string& attributes = "") {
  Result<Form> f = ParseForm(form);
  Result<FormContext> c = ParseFormContext(ports, attributes);
  if (!f.ok() || !c.ok()) return (f.ok() ? c.status() : f.status()).ToString();
  Result<std::vector<FormOutput>> found = EvaluateShapes(*f, *c);
  if (!found.ok()) return found.status().ToString();
  std::string out;
  auto list = [](const std::vector<Expr>& items) {
    std::string s = "[";
    for (const Expr& e : items) s += (s.size() > 1 ? ", " : "") + ToString(e);
    return s + "]";
  };
  for (size_t i = 0; i < found->size(); ++i) {
    const FormOutput& o = (*found)[i];
    out += (out.empty() ? "" : "; ") + c->outputs[i].name.str() + (o.has_shape ? list(o.shape) : "?");
    if (o.has_known) out += " = " + list(o.known);
  }
  return out;
}

TEST(InferenceTest, SizesAreExpressionsOverTheInputs) {
  EXPECT_EQ(Shapes("shape Y[dims(X)]", "X: f32[N, 3] -> Y: f32"), "Y[N, 3]");
  EXPECT_EQ(Shapes("shape Y[]", "X: f32[N, 3] -> Y: f32"), "Y[]");
  EXPECT_EQ(Shapes("let n = dim(X, 0)\nshape Y[n * 2, n // by]", "X: f32[N] -> Y: f32", "by = 3"), "Y[2 * N, N // 3]");
  EXPECT_EQ(Shapes("shape Y[dims(X)[1:2], 7]", "X: f32[N, M] -> Y: f32"), "Y[M, 7]");
  EXPECT_EQ(Shapes("if flag { shape Y[dims(X)] } else { shape Y[] }", "X: f32[N] -> Y: f32", "flag = 0"), "Y[]");
  EXPECT_EQ(Shapes("shape Y[dims(X)]\nshape Z[dims(Y), 2]", "X: f32[N] -> Y: f32, Z: f32"), "Y[N]; Z[N, 2]");
}

TEST(InferenceTest, AbsentOptionalAndVariadicPorts) {
  EXPECT_EQ(Shapes("shape Y[dims(X)]\nshape Z[dims(X)]", "X: f32[N] -> Y: f32, Z: f32 absent"), "Y[N]; Z?");
  EXPECT_EQ(Shapes("shape Y[has(B) ? dim(B, 0) : 1]", "X: f32[N], B: f32 absent -> Y: f32"), "Y[1]");
  EXPECT_EQ(Shapes("let n = 0\neach t in T { let n = n + dim(t, 0) }\nshape Y[n]", "T...: f32[2], T...: f32[N] -> Y: f32"), "Y[N + 2]");
  EXPECT_EQ(Shapes("each y in Y { shape y[dims(X)] }", "X: f32[N] -> Y...: f32, Y...: f32"), "Y[N]; Y[N]");
}

TEST(InferenceTest, ValuesOfInputsAreSizes) {
  EXPECT_EQ(Shapes("shape Y[n]", "n: i64[2] = [4, M] -> Y: f32"), "Y[4, M]");
  EXPECT_EQ(Shapes("shape Y[n]", "n: i64 = [4] -> Y: f32"), "Y[4]");
  EXPECT_EQ(Shapes("shape Y[n * 2]", "n: i64[1] -> Y: f32"), "Y[n[0] * 2]");
  EXPECT_NE(Shapes("shape Y[n]", "n: i64[K] -> Y: f32").find("the number of elements must be a number"), std::string::npos);
}

TEST(InferenceTest, ElementsOfOutputs) {
  EXPECT_EQ(Shapes("shape S[rank(X)]\nS = dims(X)", "X: f32[N, 3] -> S: i64"), "S[2] = [N, 3]");
  EXPECT_EQ(Shapes("shape S[]\nS = dim(X, 0)", "X: f32[N, 3] -> S: i64"), "S[] = [N]");
  EXPECT_EQ(Shapes("shape S[1]\nS = n", "n: i64[1] -> S: i64"), "S[1]");  // data: not known before the run
  EXPECT_NE(Shapes("shape S[3]\nS = dims(X)", "X: f32[N, 3] -> S: i64").find("2 elements are given for 'S'"), std::string::npos);
}

TEST(InferenceTest, MistakesHaveTheFormsLine) {
  const std::string text = Shapes("shape Y[dims(X)]\nshape Q[3]", "X: f32[N] -> Y: f32");
  EXPECT_NE(text.find("'Q' is no output of this op"), std::string::npos) << text;
  EXPECT_NE(text.find("shape Q[3]"), std::string::npos) << text;
  EXPECT_NE(Shapes("shape Y[dim(X, 0) - 4]", "X: f32[3] -> Y: f32").find("would be negative: -1"), std::string::npos);
  EXPECT_NE(Shapes("shape Y[0.5]", "X: f32[3] -> Y: f32").find("must be an integer"), std::string::npos);
  EXPECT_NE(Shapes("if n > 1 { shape Y[1] }", "n: i64 -> Y: f32").find("must be known when the node is made"), std::string::npos);
  EXPECT_NE(Shapes("for i in 0:2 { shape Y[1] }", "X: f32[3] -> Y: f32").find("no loops"), std::string::npos);
}

}  // namespace
}  // namespace headrace
