#include "driver/compile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "driver/verify_outputs.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

// A model whose shapes were decided by an input's value must not run with another value.
TEST(CheckAssumed, AnotherValueIsAnError) {
  const auto value = [](int64_t v) {
    Tensor t = *Tensor::Create(DType::kI64, {1});
    t.SetInt(0, v);
    return t;
  };
  ImportedModel m;
  m.assumed_inputs.emplace_back("axes", value(1));
  EXPECT_TRUE(CheckAssumed(m, {{"axes", Value(value(1))}}).ok());
  EXPECT_TRUE(CheckAssumed(m, {{"other", Value(value(2))}}).ok());
  const Status s = CheckAssumed(m, {{"axes", Value(value(2))}});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.diagnostics()[0].code, "E0413");
}

// One assumption about each size, so that the program's text can be read again.
TEST(LoadModelBytes, SizesThatAreFixed) {
  const std::string text = "sdfg f(X: f32[N], Y: f32[N]) { assume 1 <= N <= 64 ; map i in 0:N { Y[i] = X[i] } }";
  const Registry r;
  ImportOptions o;
  o.dims = {{"N", 8}};
  const auto m = LoadModelBytes(r, text, "f.sdfg", o);
  ASSERT_TRUE(m.ok()) << m.status().ToString();
  const auto again = ParseProgram(Print(m->model.program));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_NE(Print(*again).find("assume 8 <= N <= 8\n"), std::string::npos) << Print(*again);
  o.dims = {{"N", 65}};
  const auto outside = LoadModelBytes(r, text, "f.sdfg", o);
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.status().diagnostics()[0].code, "E0463");
}

// A backend whose plugin is there and can't be loaded is not unknown: the reason is what the user needs.
TEST(BackendNamed, ErrorOfAPluginThatDidNotLoad) {
  const std::string path = ::testing::TempDir() + "/libabacus" + std::to_string(getpid()) + ".so";
  std::ofstream(path) << "not a shared object";
  Registry r;
  EXPECT_FALSE(r.LoadPlugin(path).ok());
  const auto b = BackendNamed(r, "abacus");
  ASSERT_FALSE(b.ok());
  EXPECT_EQ(b.status().diagnostics()[0].code, "E0331") << b.status().ToString();
  EXPECT_NE(BackendNamed(r, "other").status().message().find("unknown backend 'other'"), std::string::npos);
  unlink(path.c_str());
}

TEST(FillInputs, IsSeededAndKeepsWhatIsGiven) {
  const Program p = *ParseProgram("sdfg f(X: f32[N], B: bool[N], I: i8[2], Y: f32[N]) { Y[i] = X[i] }");
  const auto fill = [&](uint64_t seed) {
    NamedValues values;
    std::vector<std::string> notes;
    EXPECT_TRUE(FillInputs(p, seed, {{"N", 5}}, values, &notes).ok());
    EXPECT_EQ(values.size(), 3u);
    return values;
  };
  const NamedValues a = fill(1), b = fill(1), c = fill(2);
  EXPECT_TRUE(Compare(a[0].second, b[0].second, 0, 0).ok);
  EXPECT_FALSE(Compare(a[0].second, c[0].second, 0, 0).ok);
  for (int64_t i = 0; i < 5; ++i) EXPECT_LT(std::abs(a[0].second.tensor.GetDouble(i)), 1);
}

const Registry& OwnOps() {
  static const Registry* const registry = [] {
    auto* r = new Registry;
    OpSignature same;
    same.domain = "my", same.name = "Same", same.shape = "shape Y[dims(X)]";
    same.inputs.emplace_back().name = "X", same.outputs.emplace_back().name = "Y";
    same.inputs[0].type = same.outputs[0].type = "float";
    EXPECT_TRUE(r->Add(same).ok());
    return r;
  }();
  return *registry;
}

std::string VerifyText(const std::string& text) {
  Result<Program> p = ParseProgram(text);
  return p.ok() ? VerifyOutputs(OwnOps(), *p).ToString() : p.status().ToString();
}

TEST(VerifyOutputsTest, DeclaredOutputsMustBePossible) {
  auto text = [](const std::string& x, const std::string& y) {
    return VerifyText("sdfg main(X: " + x + ", Y: " + y + ") { my.Same(X = X) -> (Y = Y) }");
  };
  EXPECT_EQ(text("f32[N]", "f32[N]"), VerifyText("sdfg main(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] } }"));
  EXPECT_EQ(text("f32[N]", "f32[M]").find("E0316"), std::string::npos);  // may be equal
  for (const std::string& bad : {text("f32[5]", "f32[7]"), text("f32[N]", "f32[N + 1]"), text("f32[N]", "f64[N]"), text("f32[N]", "f32[N, 1]")})
    EXPECT_NE(bad.find("E0316"), std::string::npos) << bad;
  EXPECT_NE(text("i32[N]", "i32[N]").find("E0312"), std::string::npos);
  EXPECT_NE(VerifyText("sdfg main(Y: f32[3]) { my.Same() -> (Y = Y) }").find("E0313"), std::string::npos);
}

}  // namespace
}  // namespace headrace
