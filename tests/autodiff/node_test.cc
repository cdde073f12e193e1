// autodiff.Backward: programs that ask for gradients themselves.
#include "ir/text/parser.h"
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

Result<std::vector<Value>> RunText(const std::string& text, const NamedValues& values, const std::string& backend) {
  HR_ASSIGN_OR_RETURN(Program p, ParseProgram(text));
  CompileRequest request;
  request.backend = backend;
  request.options.debug = true;
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> e, CompileProgram(Plugins(), p, request));
  HR_RETURN_IF_ERROR(e->Run(values).status());
  return e->Run(values);
}

void Expect(const std::string& text, const NamedValues& values, const std::vector<std::vector<double>>& expected) {
  for (const std::string& backend : BackendsOfThisTest()) {
    Result<std::vector<Value>> got = RunText(text, values, backend);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    ASSERT_EQ(got->size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
      const Tensor& t = (*got)[k].tensor;
      ASSERT_EQ(t.elements(), static_cast<int64_t>(expected[k].size()));
      for (size_t i = 0; i < expected[k].size(); ++i)
        EXPECT_NEAR(t.GetDouble(i), expected[k][i], 1e-12) << "output " << k << ", element " << i;
    }
  }
}

void ExpectError(const std::string& text, const std::vector<std::string>& parts) {
  Result<std::vector<Value>> got = RunText(text, {{"X", Numbers({2}, {1, 2})}}, "interpreter");
  ASSERT_FALSE(got.ok());
  for (const std::string& part : parts)
    EXPECT_NE(got.status().ToString().find(part), std::string::npos) << got.status().ToString();
}

TEST(Node, DifferentiatesWhatStandsBeforeIt) {
  Expect(R"(sdfg f(X: f64[N], DX: f64[N], Z: f64[N]) {
    transient L: f64
    L = 0
    map i in 0:N { L += X[i] * X[i] * X[i] }
    autodiff.Backward(outputs = L, inputs = X) -> (gradients = DX)
    map i in 0:N { Z[i] = X[i] - 0.5 * DX[i] + L }
  })",
         {{"X", Numbers({2}, {1, 2})}}, {{3, 12}, {1 - 1.5 + 9, 2 - 6 + 9}});
}

TEST(Node, TwoAccumulate) {
  Expect(R"(sdfg f(X: f64[N], DX: f64[N]) {
    transient L: f64
    transient M: f64
    L = 0
    map i in 0:N { L += X[i] * X[i] }
    autodiff.Backward(outputs = L, inputs = X) -> (gradients = DX)
    M = 0
    map i in 0:N { M += L * X[i] }
    autodiff.Backward(outputs = M, inputs = X) -> (gradients = DX)
  })",
         {{"X", Numbers({2}, {1, 2})}}, {{2 + 5 + 2 * 3, 4 + 5 + 4 * 3}});  // 2x, then L + 2x·Σx
}

TEST(Node, InputsMayBeComputed) {
  Expect(R"(sdfg f(X: f64[N], DX: f64[N], DT: f64[N]) {
    transient T: f64[N]
    transient L: f64
    map i in 0:N { T[i] = 3 * X[i] }
    L = 0
    map i in 0:N { L += T[i] * T[i] * X[i] }
    autodiff.Backward(outputs = L, inputs = X, inputs = T) -> (gradients = DX, gradients = DT)
  })",
         {{"X", Numbers({2}, {1, 2})}}, {{27, 108}, {6, 24}});  // 27x², 2·3x·x
}

TEST(Node, TakesGradientsOfOutputs) {
  Expect(R"(sdfg f(X: f64[N], G: f64[N], DX: f64[N], Y: f64[N]) {
    map i in 0:N { Y[i] = X[i] * X[i] }
    autodiff.Backward(outputs = Y, output_gradients = G, inputs = X) -> (gradients = DX)
  })",
         {{"X", Numbers({2}, {1, 2})}, {"G", Numbers({2}, {10, 100})}}, {{20, 400}, {1, 4}});
}

TEST(Node, GradientsOfGradients) {
  Expect(R"(sdfg f(X: f64[N], V: f64[N], HV: f64[N]) {
    transient DX: f64[N]
    transient L: f64
    transient P: f64
    L = 0
    map i in 0:N { L += X[i] * X[i] * X[i] }
    autodiff.Backward(outputs = L, inputs = X) -> (gradients = DX)
    P = 0
    map i in 0:N { P += DX[i] * V[i] }
    autodiff.Backward(outputs = P, inputs = X) -> (gradients = HV)
  })",
         {{"X", Numbers({2}, {1, 2})}, {"V", Numbers({2}, {1, 10})}}, {{6, 120}});
}

TEST(Node, SaysWhatItCannot) {
  ExpectError(R"(sdfg f(X: f64[N], DX: f64[N]) {
    transient L: f64
    for t in 0:2 {
      L = X[0]
      autodiff.Backward(outputs = L, inputs = X) -> (gradients = DX)
    }
  })",
              {"inside a loop", "move it to the top level"});
  ExpectError(R"(sdfg f(X: f64[N], DX: f64[N], L: f64) {
    autodiff.Backward(outputs = L, inputs = X) -> (gradients = DX)
    L = X[0]
  })",
              {"output 'L'", "before"});
}

}  // namespace
}  // namespace headrace::autodiff::testing
