#include "autodiff/library_rules.h"

#include "gtest/gtest.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace::autodiff {
namespace {

// An op with two inputs, a rule for one of them, and a variadic one.
void RegisterOps(Registry* r) {
  auto port = [](const char* name, bool variadic = false) {
    PortSignature p;
    p.name = name, p.type = "T", p.variadic = variadic;
    return p;
  };
  OpSignature scale;
  scale.domain = "test", scale.name = "Scale";
  scale.inputs = {port("X"), port("S")};
  scale.outputs = {port("Y")};
  AttributeSignature power;
  power.name = "power";
  power.default_value = Attribute{int64_t{1}};
  scale.attributes = {power};
  scale.types["T"] = {"f16", "f32", "f64", "i64"};
  ASSERT_TRUE(r->Add(scale).ok());
  OpDefinition d;
  d.domain = "test", d.name = "Scale";
  d.pure = "Y = X * S";
  d.backward = "dX = dY * S\ndS += dY * X";
  ASSERT_TRUE(r->Add(d).ok());

  OpSignature join;
  join.domain = "test", join.name = "Join";
  join.inputs = {port("inputs", true)};
  join.outputs = {port("Y")};
  join.types["T"] = scale.types["T"];
  ASSERT_TRUE(r->Add(join).ok());
  d = {};
  d.domain = "test", d.name = "Join";
  d.pure = "let at = 0\neach T in inputs { Y[at + k] = T[k] over T\n let at = at + dim(T, 0) }";
  d.backward = "let at = 0\neach T in dinputs { T[k] = dY[at + k] over T\n let at = at + dim(T, 0) }";
  ASSERT_TRUE(r->Add(d).ok());
  ASSERT_TRUE(RegisterLibraryGradients(*r).ok());
}

Program Parse(const char* text) {
  Result<Program> p = ParseProgram(text);
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  return *p;
}
NodeId Only(const Sdfg& s) {
  NodeId found;
  ForEachNode(s, [&](NodeId n) {
    if (std::holds_alternative<Library>(s.nodes[n].body)) found = n;
  });
  return found;
}
// The node with fresh containers for gradients, in a program of its own.
std::string Text(const Sdfg& s, LibraryGradient g) {
  Sdfg copy = s;
  auto bind = [&](std::vector<Port>& ports) {
    for (Port& p : ports)
      if (p.container.empty()) p.container = Name("c_" + p.name.str());
  };
  bind(g.node.inputs), bind(g.node.outputs);
  copy.nodes.Mutable(Only(copy)).body = g.node;
  std::string text = Print(copy);
  size_t at = text.find("grad.");
  return text.substr(at, text.find('\n', at) - at);
}

TEST(LibraryGradients, WiresTheValuesThatTheRuleReads) {
  Registry r;
  RegisterOps(&r);
  Program p = Parse(
      "sdfg f(X: f32[N, 3], S: f32[3], Y: f32[N, 3]) {\n  state {\n    test.Scale{power = 2}(X = X, S = S) -> (Y = Y)\n  }\n}\n");
  Result<LibraryGradient> g = GradientOf(r, p, p.Entry(), Only(p.Entry()), {"Y"}, {"X"});
  ASSERT_TRUE(g.ok()) << g.status().ToString();
  EXPECT_EQ(g->rule, "form");
  EXPECT_EQ(g->inputs_read, std::vector<std::string>{"S"});
  EXPECT_EQ(Text(p.Entry(), *g),
            "grad.Scale{domain = \"test\", power = 2}(S = S, grad_Y = c_grad_Y) -> (grad_X = c_grad_X)");
  g = GradientOf(r, p, p.Entry(), Only(p.Entry()), {"Y"}, {"X", "S"});
  ASSERT_TRUE(g.ok()) << g.status().ToString();
  EXPECT_EQ(
      Text(p.Entry(), *g),
      "grad.Scale{domain = \"test\", power = 2}(X = X, S = S, grad_Y = c_grad_Y) -> (grad_X = c_grad_X, grad_S = c_grad_S)");
}

TEST(LibraryGradients, SizesOfPortsThatAreNotReadTravelAsAttributes) {
  Registry r;
  RegisterOps(&r);
  Program p = Parse(
      "sdfg f(A: f32[2], B: f32[N], C: f32[3], Y: f32[N + 5]) {\n  state {\n"
      "    test.Join(inputs = A, inputs = B, inputs = C) -> (Y = Y)\n  }\n}\n");
  Result<LibraryGradient> g = GradientOf(r, p, p.Entry(), Only(p.Entry()), {"Y"}, {"inputs_1"});
  ASSERT_TRUE(g.ok()) << g.status().ToString();
  EXPECT_EQ(Text(p.Entry(), *g),
            "grad.Join{domain = \"test\", `like.inputs_0` = [\"f32\", \"2\"], `like.inputs_2` = [\"f32\", \"3\"]}"
            "(grad_Y = c_grad_Y) -> (grad_inputs_1 = c_grad_inputs_1)");
}

TEST(LibraryGradients, ExpandAsTextThatAnyoneCanWrite) {
  Registry r;
  RegisterOps(&r);
  Program p = Parse(
      "sdfg f(S: f32[3], G: f32[N, 3], D: f32[N, 3]) {\n  state {\n"
      "    grad.Scale{domain = \"test\"}(S = S, grad_Y = G) -> (grad_X = D)\n  }\n}\n");
  Result<NodeView> v = ViewOf(r, p, p.Entry(), Only(p.Entry()));
  ASSERT_TRUE(v.ok()) << v.status().ToString();
  Result<const ForwardImplementation*> i = SelectImplementation(r, *v, {});
  ASSERT_TRUE(i.ok()) << i.status().ToString();
  Result<Program> e = (*i)->expand(*v);
  ASSERT_TRUE(e.ok()) << e.status().ToString();
  EXPECT_EQ(Print(*e),
            "sdfg grad_Scale(S: f32[3], grad_Y: f32[N, 3], grad_X: f32[N, 3]) {\n  state {\n"
            "    map i0 in 0:N, i1 in 0:3 { grad_X[i0, i1] = grad_Y[i0, i1] * S[i1] }\n  }\n}\n");
}

TEST(LibraryGradients, AnOpThatIsDefinedAnewHasItsNewGradient) {
  Registry r;
  ASSERT_TRUE(RegisterLibraryGradients(r).ok());
  Program p = Parse(
      "sdfg f(G: f32[N], D: f32[N]) {\n  state {\n"
      "    grad.Times{domain = \"test\", `like.X` = [\"f32\", \"N\"]}(grad_Y = G) -> (grad_X = D)\n  }\n}\n");
  for (const char* factor : {"2", "3"}) {
    r.Withdraw("a cell");
    OpSignature times;
    times.domain = "test", times.name = "Times", times.plugin = "a cell";
    PortSignature port;
    port.type = "float";
    port.name = "X", times.inputs = {port};
    port.name = "Y", times.outputs = {port};
    ASSERT_TRUE(r.Add(times).ok());
    OpDefinition d;
    d.domain = "test", d.name = "Times", d.plugin = "a cell";
    d.pure = std::string("Y = ") + factor + " * X", d.backward = std::string("dX = ") + factor + " * dY";
    ASSERT_TRUE(r.Add(d).ok());
    Result<NodeView> v = ViewOf(r, p, p.Entry(), Only(p.Entry()));
    ASSERT_TRUE(v.ok()) << v.status().ToString();
    Result<Program> e = ExpandGradient(r, *v);
    ASSERT_TRUE(e.ok()) << e.status().ToString();
    EXPECT_NE(Print(*e).find(factor), std::string::npos) << Print(*e);
  }
}

TEST(LibraryGradients, ErrorsNameOpPortAndWhatToRegister) {
  Registry r;
  RegisterOps(&r);
  Program p =
      Parse("sdfg f(X: f32[3], Y: f32[3]) {\n  state {\n    test.Other(X = X) -> (Y = Y) from \"layer1\"\n  }\n}\n");
  Result<LibraryGradient> g = GradientOf(r, p, p.Entry(), Only(p.Entry()), {"Y"}, {"X"});
  ASSERT_FALSE(g.ok());
  const std::string text = g.status().ToString();
  EXPECT_NE(text.find("no gradient of test.Other with respect to X: it has no backward rule and no pure form"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("layer1"), std::string::npos) << text;
  EXPECT_NE(text.find("register a backward rule"), std::string::npos) << text;
}

}  // namespace
}  // namespace headrace::autodiff
