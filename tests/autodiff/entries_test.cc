// The ways in: one program or two, the pass, DaCeML's names.
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

const char kProgram[] = R"(sdfg f(X: f64[N], W: f64[N], Y: f64[N], S: f64) {
  transient T: f64[N]
  map i in 0:N { T[i] = X[i] * X[i] }
  map i in 0:N { Y[i] = T[i] * W[i] }
  S = 0
  map i in 0:N { S += T[i] }
})";

Program Parsed() { return *ParseProgram(kProgram); }

Value ValueOf(const NamedValues& values, const std::string& name) {
  for (const auto& [n, v] : values)
    if (n.view() == name) return v;
  ADD_FAILURE() << "nothing gives " << name;
  return Scalar(0);
}

// What `p` gives, added to `values`.
void RunAndAdd(const Program& p, NamedValues* values) {
  for (const std::string& backend : BackendsOfThisTest()) {
    CompileRequest request;
    request.backend = backend;
    auto e = CompileProgram(Plugins(), p, request);
    ASSERT_TRUE(e.ok()) << e.status().ToString();
    NamedValues inputs;
    for (Name n : Inputs(p, p.Entry())) inputs.emplace_back(n, ValueOf(*values, n.str()));
    auto result = (*e)->Run(inputs);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    const std::vector<Name> outputs = Outputs(p, p.Entry());
    for (size_t i = 0; i < outputs.size(); ++i) values->emplace_back(outputs[i], (*result)[i]);
  }
}

using Names = std::vector<std::pair<Name, Name>>;
const Value kX = Numbers({3}, {1, 2, -3}), kW = Numbers({3}, {4, 5, 6});

TEST(Entries, AddBackwardPassExtendsTheProgram) {
  Program p = Parsed();
  const auto gradients = AddBackwardPass(p, {"S"}, {"X", "W"}, Plugins());
  ASSERT_TRUE(gradients.ok()) << gradients.status().ToString();
  EXPECT_EQ(*gradients, (Names{{"X", "grad_X"}, {"W", "grad_W"}}));
  NamedValues values = {{"X", kX}, {"W", kW}};
  RunAndAdd(p, &values);
  EXPECT_TRUE(Compare(ValueOf(values, "Y"), Numbers({3}, {4, 20, 54}), 0, 0).ok);
  EXPECT_TRUE(Compare(ValueOf(values, "grad_X"), Numbers({3}, {2, 4, -6}), 0, 0).ok);
  EXPECT_TRUE(Compare(ValueOf(values, "grad_W"), Numbers({3}, {0, 0, 0}), 0, 0).ok) << "it does not reach S";
}

TEST(Entries, AddBackwardPassIsForOneProgram) {
  Program p = Parsed();
  Options o;
  o.separate = true;
  const auto refused = AddBackwardPass(p, {"S"}, {"X"}, Plugins(), o);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().ToString().find("AddBackwardPass makes one program"), std::string::npos);
}

// Every output's gradient is passed in; what the second program needs, the first one gives under the same name.
TEST(Entries, MakeBackwardFunctionGivesTwoPrograms) {
  const auto b = MakeBackwardFunction(Parsed(), {"X", "W"}, Plugins());
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  EXPECT_EQ(b->output_gradients, (Names{{"Y", "grad_Y"}, {"S", "grad_S"}}));
  NamedValues values = {{"X", kX}, {"W", kW}};
  RunAndAdd(b->forward, &values);
  EXPECT_TRUE(Compare(ValueOf(values, "S"), Scalar(14), 0, 0).ok);
  for (Name n : b->kept) ValueOf(values, n.str());
  values.insert(values.end(), {{"grad_Y", Numbers({3}, {1, 0, 2})}, {"grad_S", Scalar(10)}});
  RunAndAdd(b->program, &values);
  EXPECT_TRUE(Compare(ValueOf(values, "grad_X"), Numbers({3}, {28, 40, -132}), 0, 0).ok);
  EXPECT_TRUE(Compare(ValueOf(values, "grad_W"), Numbers({3}, {1, 0, 18}), 0, 0).ok);
}

TEST(Entries, ThePassMakesEitherOfTwoPrograms) {
  Options o;
  o.separate = o.all_given = true;
  const auto b = Backward(Parsed(), {"Y"}, {"X"}, o, Plugins());
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  Program forward = Parsed(), backward = Parsed();
  const std::string options = "outputs=Y, inputs=X, given=all, separate=";
  ASSERT_TRUE(RunPipeline(Plugins(), "backward{" + options + "forward}", forward).ok());
  ASSERT_TRUE(RunPipeline(Plugins(), "backward{" + options + "backward}", backward).ok());
  EXPECT_EQ(Print(forward), Print(b->forward));
  EXPECT_EQ(Print(backward), Print(b->program));
  const Status s = RunPipeline(Plugins(), "backward{separate=both}", forward);
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.ToString().find("option separate is 'both'"), std::string::npos) << s.ToString();
  EXPECT_NE(s.ToString().find("forward or backward"), std::string::npos) << s.ToString();
}

}  // namespace
}  // namespace headrace::autodiff::testing
