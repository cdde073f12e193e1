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
void ExpectLongSum(const std::string& type, DType t, bool by_library) {
  const std::string statement =
      by_library ? "onnx.Add(A = X, B = B) -> (C = Y)" : "map n in 0:N, i in 0:2 { Y[n, i] = X[n, i] + B[i] }";
  Result<Program> p = ParseProgram("sdfg f(X: " + type + "[N, 2], B: " + type + "[2], Y: " + type +
                                   "[N, 2]) {\n  state {\n    " + statement + "\n  }\n}\n");
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

TEST(Half, LongSumsOfStatements) {
  ExpectLongSum("f16", DType::kF16, false);
  ExpectLongSum("bf16", DType::kBF16, false);
}
TEST(Half, LongSumsOfOperators) { ExpectLongSum("f16", DType::kF16, true); }

}  // namespace
}  // namespace headrace::autodiff::testing
