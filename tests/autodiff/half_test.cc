// Gradients in half precision: sums are carried in f32.
#include "ir/text/parser.h"
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

Value Ones(std::vector<int64_t> shape, DType t) {
  Result<Tensor> x = Tensor::Create(t, std::move(shape));
  EXPECT_TRUE(x.ok());
  for (int64_t i = 0; i < x->elements(); ++i) x->SetDouble(i, 1);
  return *x;
}

// Adding ones in f16 one by one ends at 2048, in bf16 at 256.
void ExpectLongSum(const std::string& type, DType t, const std::string& statements, const std::string& declarations = "") {
  Result<Program> p = ParseProgram("sdfg f(X: " + type + "[N, 2], B: " + type + "[2], Y: " + type +
                                   "[N, 2]) {\n" + declarations + "  state {\n    " + statements + "\n  }\n}\n");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  Options o;
  o.keep_outputs = false;
  Result<BackwardPrograms> b = Backward(*p, {"Y"}, {"B"}, o, Plugins());
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  for (const std::string& backend : BackendsOfThisTest()) {
    CompileRequest request;
    request.backend = backend;
    Result<std::unique_ptr<Executable>> e = CompileProgram(Plugins(), b->program, request);
    ASSERT_TRUE(e.ok()) << e.status().ToString();
    NamedValues values;
    NamedSizes sizes;
    for (Name n : Inputs(b->program, b->program.Entry()))
      values.emplace_back(n, Ones(n == Name("B") ? std::vector<int64_t>{2} : std::vector<int64_t>{4096, 2}, t));
    if (values.empty()) sizes = {{"N", 4096}};
    Result<std::vector<Value>> got = (*e)->Run(values, sizes);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    ASSERT_EQ(got->size(), 1u);
    EXPECT_EQ((*got)[0].tensor.dtype, t);
    EXPECT_EQ((*got)[0].tensor.GetDouble(0), 4096) << type << " on " << backend;
    EXPECT_EQ((*got)[0].tensor.GetDouble(1), 4096) << type << " on " << backend;
  }
}

constexpr char kAdded[] = "map n in 0:N, i in 0:2 { Y[n, i] = X[n, i] + B[i] }";

TEST(Half, LongSumsOfStatements) {
  ExpectLongSum("f16", DType::kF16, kAdded);
  ExpectLongSum("bf16", DType::kBF16, kAdded);
}
TEST(Half, LongSumsThroughViews) {
  for (const auto& [type, t] : {std::pair{"f16", DType::kF16}, {"bf16", DType::kBF16}})
    ExpectLongSum(type, t, "map i in 0:2 { T[i] = B[i] }\n    map n in 0:N, i in 0:2 { Y[n, i] = X[n, i] + V[0, i] }",
                  "  transient T: " + std::string(type) + "[2]\n  view V: " + type + "[1, 2] of T\n");
}
// An operator's rule takes the sum when it is whole.
TEST(Half, LongSumsBehindOperators) {
  for (const auto& [type, t] : {std::pair{"f16", DType::kF16}, {"bf16", DType::kBF16}})
    ExpectLongSum(type, t, "onnx.Relu(X = B) -> (Y = T)\n    map n in 0:N, i in 0:2 { Y[n, i] = X[n, i] + T[i] }", "  transient T: " + std::string(type) + "[2]\n");
}
TEST(Half, LongSumsOfOperators) { ExpectLongSum("f16", DType::kF16, "onnx.Add(A = X, B = B) -> (C = Y)"); }

}  // namespace
}  // namespace headrace::autodiff::testing
