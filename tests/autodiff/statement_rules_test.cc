// Backward rules for maps, tasklets and calls: which statements they get, what these look like, what goes wrong.
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

using Condition = std::function<std::string(const NodeView&)>;
using Text = std::function<std::string(const NodeView&)>;

// A rule while it lives: IR text over the ports and dNAME.
class Rule {
 public:
  Rule(const std::string& kind, const std::string& name, Text text, Condition when = nullptr, int priority = 0)
      : plugin_("test of " + kind + " " + name) {
    BackwardImplementation b;
    b.domain = "node", b.op = kind, b.name = name, b.plugin = plugin_, b.priority = priority;
    b.backward_can_be_applied = std::move(when);
    b.backward = [text](const NodeView& v, const std::vector<std::string>& given,
                        const std::vector<std::string>& required) -> Result<BackwardResult> {
      BackwardResult result;
      HR_ASSIGN_OR_RETURN(result.sdfg, ParseProgram(text(v), "<rule>"));
      for (const std::string& port : given) result.given_grad_names[port] = "d" + port;
      for (const std::string& port : required) result.required_grad_names[port] = "d" + port;
      return result;
    };
    const Status s = Mine().Add(std::move(b));
    if (!s.ok()) ADD_FAILURE() << s.ToString();
  }
  ~Rule() { Mine().Withdraw(plugin_); }
  Rule(const Rule&) = delete;

 private:
  static Registry& Mine() { return const_cast<Registry&>(Plugins()); }  // it is this process's own
  std::string plugin_;
};

Text Is(const std::string& text) {
  return [text](const NodeView&) { return text; };
}
Condition Writes(const std::string& port) {
  return [port](const NodeView& v) { return v.Output(port) ? "" : "it does not write " + port; };
}

std::string Printed(Case c) {
  c.options.keep_outputs = true;
  Result<BackwardPrograms> b = Differentiated(c);
  return b.ok() ? Print(b->program) : b.status().ToString();
}

const char kSin[] = R"(sdfg f(X: f64[N], Y: f64[N]) {
  map i in 0:N from "wave" { Y[i] = sin(X[i]) }
})";
// Ten times the gradient: nothing else gives that.
const char kTen[] = "sdfg ten(dY: f64[K], dX: f64[K]) { map i in 0:K { dX[i] = 10 * dY[i] } }";

TEST(StatementRules, TheNodeCarriesItsStatement) {
  const Rule rule("map", "ten", Is(kTen));
  const std::string text = Printed(With(kSin, {}));
  EXPECT_EQ(text, R"(sdfg f(X: f64[N], Y: f64[N], grad_X: f64[N]) {
  transient grad_Y: f64[N]
  state {
    map i in 0:N from "wave" by "expand-library-nodes" {
      Y[i] = sin(X[i]) from "wave" by "expand-library-nodes"
    }
  }
  state {
    map i_2 in 0:N from grad "wave" by "backward" { grad_Y[i_2] = 1.0 from grad "wave" by "backward" }
    grad.map{body = "sdfg map(X: f64[N], Y: f64[N]) {\n  state {\n    map i in 0:N { Y[i] = sin(X[i]) }\n  }\n}\n", domain = "node", ports = ["X", "->", "Y"]}(grad_Y = grad_Y) -> (grad_X = grad_X) from grad "wave" by "backward"
  }
}
)");
}

TEST(StatementRules, WithoutARuleNothingChanges) {
  const std::string before = Printed(With(kSin, {}));
  {
    const Rule rule("map", "ten", Is(kTen), [](const NodeView&) { return "never"; });
    EXPECT_EQ(Printed(With(kSin, {})), before);
  }
  EXPECT_EQ(before.find("node"), std::string::npos) << before;
}

TEST(StatementRules, Maps) {
  const Case c = With(kSin, {{"X", Numbers({2}, {0.5, 2})}});
  const Rule rule("map", "ten", Is(kTen));
  ExpectGradients(c, {{"X", Numbers({2}, {10, 10})}});
}

TEST(StatementRules, Tasklets) {
  const Rule rule("tasklet", "of t", Is("sdfg r(a: f64, t: f64, dt: f64, da: f64) { da = 100 * a * t * dt }"), Writes("t"));
  ExpectGradients(With(R"(sdfg f(a: f64, Y: f64) {
    transient t: f64
    t = sin(a)
    Y = t * t
  })",
                       {{"a", Scalar(0.5)}}),
                  {{"a", Scalar(100 * 0.5 * std::sin(0.5) * 2 * std::sin(0.5))}});
}

const char kCalls[] = R"(entry sdfg f(X: f64[N], W: f64[N], Y: f64[N]) {
  transient T: f64[N]
  call g(x = X, w = W, y = T)
  for t in 0:3 {
    if t != 1 { call g(x = T, w = W, y = Y) } else { map i in 0:N { Y[i] = T[i] * 3 } }
    map i in 0:N { T[i] = Y[i] }
  }
}
sdfg g(x: f64[K], w: f64[K], y: f64[K]) { map i in 0:K { y[i] = floor(x[i]) * w[i] } })";

TEST(StatementRules, CallsInLoopsAndBranches) {
  const Condition calls_g = [](const NodeView& v) {
    const Attribute* callee = FindAttribute(v.attributes, Name("callee"));
    return callee && std::get<std::string>(callee->value) == "g" ? "" : "another callee";
  };
  const Rule rule("call", "straight through",
                  Is("sdfg r(w: f64[K], x: f64[K], dy: f64[K], dx: f64[K], dw: f64[K]) { map i in 0:K { dx[i] = dy[i] * w[i]; "
                     "dw[i] = 0 } }"),
                  calls_g);
  Case c = With(kCalls, {{"X", Numbers({2}, {1.5, 2.5})}, {"W", Numbers({2}, {2, 3})}});
  ExpectGradients(c, {{"X", Numbers({2}, {2 * 2 * 3 * 2, 3 * 3 * 3 * 3})}, {"W", Numbers({2}, {0, 0})}});
}

// The maps of callees are the caller's, on its arrays.
TEST(StatementRules, StatementsOfCallees) {
  const Rule rule("map", "T", Is("sdfg r(dT: f64[K], dX: f64[K]) { map i in 0:K { dX[i] = 7 * dT[i] } }"), Writes("T"));
  ExpectGradients(With(R"(entry sdfg f(X: f64[N], Y: f64[N]) {
    transient T: f64[N]
    call g(x = X, y = T)
    map i in 0:N { Y[i] = T[i] * T[i] }
  }
  sdfg g(x: f64[K], y: f64[K]) { map i in 0:K { y[i] = 2 * x[i] } })",
                       {{"X", Numbers({2}, {1, 2})}}),
                  {{"X", Numbers({2}, {7 * 2 * 2, 7 * 2 * 4})}});
}

TEST(StatementRules, ByPriorityAndCondition) {
  const Case c = With(kSin, {{"X", Numbers({2}, {0.5, 2})}});
  const std::string three = "sdfg three(dY: f64[K], dX: f64[K]) { map i in 0:K { dX[i] = 3 * dY[i] } }";
  const Rule first("map", "ten", Is(kTen));
  {
    const Rule later("map", "three", Is(three));
    ExpectGradients(c, {{"X", Numbers({2}, {10, 10})}});
  }
  {
    const Rule preferred("map", "three", Is(three), nullptr, 1);
    ExpectGradients(c, {{"X", Numbers({2}, {3, 3})}});
  }
  const Rule declines("map", "three", Is(three), Writes("Z"), 1);
  ExpectGradients(c, {{"X", Numbers({2}, {10, 10})}});
}

// What is written in part, or added to, comes in with its value from before.
TEST(StatementRules, WhatIsNotOverwritten) {
  const Rule rule("map", "of B",
                  Is("sdfg r(B: f64[K], A: f64[K], v_t: i64, dout_B: f64[K], dA: f64[K], dB: f64[K]) {\n"
                     " map i in 0:K { dB[i] = i == 0 ? dout_B[i] : 0; dA[i] = 0 }\n"
                     " map i in 1:K { dA[i] = f64(v_t) * B[i] * dout_B[i] }\n}"),
                  Writes("out_B"));
  // t·B_before: the last round's is not yet known in the first.
  Case c = With(R"(sdfg f(A: f64[N], Y: f64[N]) {
    transient B: f64[N]
    map i in 0:N { B[i] = 2 }
    for t in 1:3 { map i in 1:N { B[i] = A[i] * t } }
    map i in 0:N { Y[i] = B[i] }
  })",
                {{"A", Numbers({3}, {5, 6, 7})}});
  ExpectGradients(c, {{"A", Numbers({3}, {0, 2 * 6, 2 * 7})}});
}

TEST(StatementRules, SecondOrder) {
  // The rule says that the derivative is X³; its own is 3·X².
  const Rule rule("map", "cube", Is("sdfg r(X: f64[K], dY: f64[K], dX: f64[K]) { map i in 0:K { dX[i] = dY[i] * X[i] * X[i] * X[i] } }"),
                  [](const NodeView& v) { return v.Output("Y") && v.Input("X") ? "" : "not this"; });
  Case c = With(kSin, {{"X", Numbers({2}, {0.5, 2})}});
  for (const std::string& backend : BackendsOfThisTest()) {
    Result<Value> got = HessianTimes(c, Numbers({2}, {1, -1}), backend);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_NEAR(got->tensor.GetDouble(0), 3 * 0.25, 1e-12);
    EXPECT_NEAR(got->tensor.GetDouble(1), -3 * 4, 1e-12);
  }
}

// The forward part computes the same bits, whether a rule has a statement or not.
TEST(StatementRules, ForwardResultsKeepTheirBits) {
  Case c = With(R"(sdfg f(X: f32[N], L: f32, Y: f32[N]) {
    view low: f32[N - 1] of Y
    L = 0.1
    map i in 0:N { L += sin(X[i]) * 0.3 }
    map i in 0:N { Y[i] = X[i] / L }
    for t in 1:4 { map i in 1:N { Y[i] = Y[i] * X[i - 1] + f32(t) }; low[0] = Y[2] * L }
  })",
                {});
  c.outputs = {Name("L"), Name("Y")}, c.inputs = {Name("X")};
  Tensor x = *Tensor::Create(DType::kF32, {5});
  for (int64_t i = 0; i < 5; ++i) x.SetDouble(i, 0.1 + 0.37 * static_cast<double>(i));
  auto forward = [&] {
    const Result<BackwardPrograms> b = Differentiated(c);
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    std::vector<double> bits;
    CompileRequest request;
    request.backend = "interpreter";
    Result<std::unique_ptr<Executable>> e = CompileProgram(Plugins(), b->program, request);
    EXPECT_TRUE(e.ok()) << e.status().ToString();
    const Result<std::vector<Value>> got = (*e)->Run({{"X", Value(x)}});
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    for (const Value& v : *got)
      for (int64_t i = 0; i < v.tensor.elements(); ++i) bits.push_back(v.tensor.GetDouble(i));
    return bits;
  };
  const std::vector<double> without = forward();
  EXPECT_EQ(without.size(), 1u + 5 + 5);
  // Zeros for gradients: only the forward part is looked at.
  const Text zeros = [](const NodeView& v) {
    std::string text = "sdfg zeros(", maps;
    for (const PortView& p : v.inputs) {
      if (!IsFloat(p.dtype)) continue;
      const std::string size = p.shape.empty() ? "" : "[" + ToString(p.shape[0]) + "]";
      text += "d" + p.name + ": f32" + size + ", ";
      maps += size.empty() ? "d" + p.name + " = 0\n" : "map i in 0:" + ToString(p.shape[0]) + " { d" + p.name + "[i] = 0 }\n";
    }
    for (const PortView& p : v.outputs)
      text += "d" + p.name + ": f32" + (p.shape.empty() ? "" : "[" + ToString(p.shape[0]) + "]");
    return text + ") {\n" + maps + "}";
  };
  const Rule maps("map", "zeros", zeros), tasklets("tasklet", "zeros", zeros);
  const std::vector<double> with = forward();
  ASSERT_EQ(with.size(), without.size());
  for (size_t k = 0; k < 6; ++k) EXPECT_EQ(with[k], without[k]) << k;
  EXPECT_NE(with[7], without[7]);
}

TEST(StatementRules, WhatNoRuleCanHave) {
  const Rule rule("map", "ten", Is(kTen));
  ExpectRefused(With(R"(sdfg f(X: f64[N], Y: f64[N]) {
    persistent P: f64[N]
    map i in 0:N { Y[i] = X[i] * P[i] }
  })",
                     {}),
                {"E0816", "'ten'", "map", "'P' is persistent"});
  ExpectRefused(With(R"(sdfg f(X: f64[N], n: i64[3], Y: f64) {
    transient S: f64[m]
    Y = 0
    for t in 0:3 {
      let m = n[t]
      map i in 0:m { S[i] = X[i] }
      for i in 0:m { Y += S[i] }
    }
  })",
                     {}),
                {"E0816", "the size m of 'S' changes"});
}

TEST(StatementRules, TheirErrors) {
  const Rule rule("map", "bad", Is("sdfg r(dY: f64[K]) { }"));
  ExpectRefused(With(kSin, {}), {"rule 'bad'", "gradient of input X", "node.map", "wave"});
  const Rule worse("map", "worse", Is("sdfg r("), nullptr, 1);
  ExpectRefused(With(kSin, {}), {"<rule>", "backward rule 'worse' of map", "wave"});
}

}  // namespace
}  // namespace headrace::autodiff::testing
