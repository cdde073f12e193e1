// Every error code of the verifier and of type inference, by the smallest program that has it.
#include <gtest/gtest.h>

#include <functional>

#include "ir/analysis/type_inference.h"
#include "ir/plugin.h"
#include "ir/registry/registry.h"
#include "ir/text/parser.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

// A program of all kinds of containers, wrong only in what `body` or `damage` does to it.
const char kHead[] = R"(sdfg f(X: f32[N, 4], I: i64[N], C: c64[N], Y: f32[N, 4], w: f32[N], s: f32, c: c64) {
  transient T: f32[4]
  constant K: f32[2] = [1, 2]
  view V: f32[4 * N] of X
  sequence S: seq(f32)
)";
const char kCallee[] = "}\nsdfg g(x: f32[m], y: f32[m], n: symbol) { map i in 0:m { y[i] = x[i] + n } }\n";

struct Case {
  const char* code;
  const char* body;
  std::function<void(Sdfg&)> damage;  // what the parser would not let through
};

std::string CodesOf(const Case& c) {
  Result<Program> p = ParseProgram(std::string(kHead) + c.body + kCallee);
  if (!p.ok()) return "the parser refuses it: " + p.status().ToString();
  if (c.damage) c.damage(p->MutableEntry());
  std::string codes;
  const Status status = Verify(*p);
  for (const Diagnostic& d : status.diagnostics()) {
    codes += d.code + " ";
    EXPECT_FALSE(d.message.empty()) << d.code;
    EXPECT_FALSE(d.hint.empty()) << status.ToString();  // every error says what to do
  }
  return codes;
}

void AddTasklet(Sdfg& s, Name target, std::vector<Expr> index, Expr value) {
  Tasklet t;
  t.target = target;
  t.index = std::move(index);
  t.value = std::move(value);
  s.body.push_back(s.AddBlock(State{Name(), {s.AddNode(std::move(t))}}));
}
void AddLet(Sdfg& s, Expr value) { s.body.push_back(s.AddBlock(Assign{"q", std::move(value)})); }
Map& FirstMap(Sdfg& s) {
  NodeId map;
  ForEachNode(s, [&](NodeId n) {
    if (!map.valid() && std::holds_alternative<Map>(s.nodes[n].body)) map = n;
  });
  return std::get<Map>(s.nodes.Mutable(map).body);
}

TEST(ErrorCodes, OfTheVerifier) {
  const Expr zero(0);
  const Case cases[] = {
      {"E0201", "", [](Sdfg& s) { s.order.push_back("ghost"); }},
      {"E0202", "map X in 0:N { w[X] = 0 }", {}},
      {"E0203", "", [](Sdfg& s) { s.Mutable("Y").kind = ContainerKind::kTransient; }},
      {"E0204", "", [](Sdfg& s) { s.Mutable("T").dtype = DType::kNone; }},
      {"E0205", "", [](Sdfg& s) { s.Mutable("T").shape = {Expr(-1)}; }},
      {"E0206", "",
       [](Sdfg& s) {
         s.Mutable("T").strides = {Expr(4), Expr(1)};
       }},
      {"E0207", "", [](Sdfg& s) { s.Mutable("K").shape = {Expr(3)}; }},
      {"E0208", "", [](Sdfg& s) { s.Mutable("w").storage = Storage::kRegister; }},
      {"E0209", "transient r: f32[N] @register\n", {}},
      {"E0210", "", [](Sdfg& s) { s.Mutable("V").base = "ghost"; }},
      {"E0211", "view D: f64[N] of w\n", {}},
      {"E0212", "transient r: f32[2] @register\nview D: f32[2] of r\n", {}},
      {"E0213", "", [](Sdfg& s) { s.Mutable("V").base = "V"; }},
      {"E0214", "view D: f32[5] of T\n", {}},
      {"E0215", "", [](Sdfg& s) { s.Mutable("w").shape = {Expr(Name("Q")) + 1}; }},
      {"E0216", "", [](Sdfg& s) { s.body.push_back(s.AddBlock(Conditional{})); }},
      {"E0217", "",
       [](Sdfg& s) {
         s.body.push_back(s.AddBlock(Conditional{{Branch{}, Branch{}}}));
       }},
      {"E0218", "break", {}},
      {"E0219", "",
       [](Sdfg& s) {
         Loop l = RangeLoop("t", 0, 4);
         l.init = {};
         s.body.push_back(s.AddBlock(std::move(l)));
       }},
      {"E0220", "loop { s = 0 }", {}},
      {"E0221", "s = 0\nif s { s = 1 }", {}},
      {"E0222", "", [](Sdfg& s) { AddLet(s, SymbolExpr("X")); }},
      {"E0223", "", [](Sdfg& s) { AddLet(s, SymbolExpr("ghost")); }},
      {"E0224", "", [](Sdfg& s) { AddLet(s, *ParseExpr("[1, 2]")); }},
      {"E0225", "map i in 0:I[0] { w[i] = 0 }", {}},
      {"E0226", "", [zero](Sdfg& s) { AddTasklet(s, "ghost", {}, zero); }},
      {"E0227", "", [zero](Sdfg& s) { AddTasklet(s, "s", {}, ReadExpr("S", {zero})); }},
      {"E0228", "", [zero](Sdfg& s) { AddTasklet(s, "s", {}, ReadExpr("X", {zero})); }},
      {"E0229", "s = w[0]\nw[i] = 0", {}},
      {"E0230", "s = T[0]", {}},
      {"E0232", "map { s = 0 }", {}},
      {"E0233", "map i in 0:N { w[i] = 0 }", [](Sdfg& s) { FirstMap(s).ranges[0].step = Expr(0); }},
      {"E0234", "transient r: f32 @register\nr = 1", {}},
      {"E0235", "map i in 0:N { w[X[i, 0]] = 0 }", {}},
      {"E0236", "c = C[0]\nmap i in 0:N { c max= C[i] }", {}},
      {"E0237", "K[0] = 1", {}},
      {"E0238", "test.op(A = X) -> (B = w, C = w)", {}},
      {"E0239", "map i in 0:N { test.op(A = X) -> (B = w) defines (q) }", {}},
      {"E0240", "",
       [](Sdfg& s) {
         Nested n;
         n.callee = "ghost";
         s.body.push_back(s.AddBlock(State{Name(), {s.AddNode(std::move(n))}}));
       }},
      {"E0241", "call g(x = I, n := 1)", {}},
      {"E0242", "call g(x = K, x = K, y = T, n := 1)", {}},
      {"E0243", "call g(x = w, y = w, n := 1, zz := 1)", {}},
      {"E0244", "call g(x = K, y = T)", {}},
      {"E0245", "w[i] = 0\ncall g(x = w, y = w, n := 1)", {}},
      {"E0246", "call g(x = K, y = T, z = T, n := 1)", {}},
      {"E0247", "call g(x = I, y = w, n := 1)", {}},
      {"E0248", "call g(x = X, y = w, n := 1)", {}},
      {"E0249", "call g(x = K, y = T, n := 1)", {}},
      {"E0250", "", [](Sdfg& s) { s.Mutable("w").inout = true; }},
      {"E0251", "transient r: f32 @register\nmap i in 0:N { r = 1; w[i] = r }\nmap i in 0:N { r = 1; w[i] = r }", {}},
      {"E0252", "call f(X = X, I = I, C = C, Y = Y, w = w, s = s, c = c)", {}},
      {"E0253", "require I[0] == N else \"sizes\"", {}},
      {"E0254", "require N == 4 else \"{} and {}\", N", {}},
      {"E0255", "w[0] = 0", [](Sdfg& s) { s.nodes.Mutable(NodeId{0}).body = Touch{"w", {Expr(0)}, false}; }},
      {"E0258", "transient d: f64\nd = 1\ns = f32(d)", [](Sdfg& s) { s.flush = true; }},
      {"E0258", "s = f32(f64(w[0]) * 2)", [](Sdfg& s) { s.flush = true; }},
      {"E0365", "transient L: f32[2, 3] layout [d0, d0]\n", {}},
      {"E0365", "persistent L: f32[2, 3] layout [d1, d0]\n", {}},
      {"E0365", "transient L: f32[2, 3] layout [d1, d0]\nview D: f32[6] of L\n", {}},
      {"E0365", "transient L: f32[2, 3] strides [3, 1] layout [d1, d0]\n", {}},
      {"E0365", "", [](Sdfg& s) { s.Mutable("X").order = MemoryOrder({1, 0}); }},
      {"E0260", "s = K[2]", {}},
      {"E0261", "map i in 0:N { s = X[i, 0] }", {}},
      {"E0262", "w[i] = 0\nmap i in 0:N { w[i] = w[I[i]] }", {}},
  };
  for (const Case& c : cases) {
    const std::string codes = CodesOf(c);
    EXPECT_NE(codes.find(c.code), std::string::npos) << c.code << " expected for " << c.body << "\nfound: " << codes;
  }
}

TEST(ErrorCodes, OfTypeInference) {
  const Result<Program> p =
      ParseProgram(R"(sdfg f(X: f32[N], I: i32[N], C: c64[N], W: string[N]) { sequence S: seq(f32) })");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  const Sdfg& s = p->Entry();
  const auto code = [&](const Expr& e) {
    const Result<Expr> typed = InferTypes(s, e);
    return typed.ok() ? ToString(*typed) : typed.status().diagnostics()[0].code;
  };
  const auto of = [&](const char* text) { return code(*ParseExpr(text)); };
  EXPECT_EQ(code(Expr()), "E0601");
  EXPECT_EQ(of("W[0] == 1"), "E0602");
  EXPECT_EQ(of("I[0] + 0.5"), "E0603");
  EXPECT_EQ(of("[1, 2]"), "E0604");
  EXPECT_EQ(of("X + 1"), "E0605");
  EXPECT_EQ(of("Z[0]"), "E0606");
  EXPECT_EQ(of("S[0]"), "E0607");
  EXPECT_EQ(of("X[0] ?? true"), "E0608");
  EXPECT_EQ(of("X[X[0]]"), "E0609");
  EXPECT_EQ(of("!X[0]"), "E0610");
  EXPECT_EQ(of("C[0] < C[1]"), "E0611");
  EXPECT_EQ(code(CastExpr(DType::kNone, Expr(1))), "E0612");
  EXPECT_EQ(of("f32(C[0])"), "E0613");
  EXPECT_EQ(of("nosuch(X[0])"), "E0614");
  EXPECT_EQ(of("max(X[0])"), "E0615");
  EXPECT_EQ(of("exp(I[0])"), "E0616");
  EXPECT_EQ(of("X[0] + I[0]"), "E0617");
  EXPECT_EQ(of("u8(1) + 300"), "E0618");
  Tasklet t;
  t.target = "I";
  t.index = {Expr(0)};
  t.value = *ParseExpr("X[0]");
  EXPECT_EQ(TypedValue(s, t).status().diagnostics()[0].code, "E0619");
}

TEST(ErrorCodes, OfPluginFoldersAndPasses) {
  Registry r;
  EXPECT_EQ(r.LoadPluginFolder("/no/such/folder").diagnostics().at(0).code, "E0339");
  // A pass that says that it failed, and one that leaves a wrong program: our fault either way.
  Pass fails, breaks;
  fails.name = "fails", breaks.name = "breaks";
  fails.run = [](Program&, const PassOptions&, const Registry&) -> Result<bool> {
    return InternalError("out of coffee");
  };
  breaks.run = [](Program& p, const PassOptions&, const Registry&) -> Result<bool> {
    p.MutableEntry().order.push_back("ghost");
    return true;
  };
  ASSERT_TRUE(r.Add(fails).ok() && r.Add(breaks).ok());
  for (const char* pipeline : {"fails", "breaks"}) {
    Result<Program> p = ParseProgram("sdfg f(X: f32[N], Y: f32[N]) { Y[i] = X[i] }");
    ASSERT_TRUE(p.ok());
    PipelineOptions o;
    o.verify = true;
    o.reproducer_dir = ::testing::TempDir() + "/reproducer";
    EXPECT_EQ(RunPipeline(r, pipeline, *p, o).diagnostics().at(0).code, "E0351");
  }
}

}  // namespace
}  // namespace headrace
