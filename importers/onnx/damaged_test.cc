// Models that are wrong: every one ends in an error that says what and where; none crashes or takes memory.
#include <sys/resource.h>

#include <ctime>

#include <random>

#include "importers/onnx/test_util.h"
#include "importers/onnx/wire.h"

namespace headrace::onnx_import {
namespace {

struct Case {
  const char* name;
  std::string graph;
  const char* error;
};

TEST(DamagedTest, MessagesSayWhatIsWrong) {
  const Case cases[] = {
      {"undefined input", "g (float[2] x) => (float[2] y) { y = Add(x, absent) }", "input 'absent' is defined nowhere"},
      {"duplicate name", "g (float[2] x) => (float[2] y) { y = Exp(x)\n y = Neg(x) }",
       "the value 'y' is defined twice"},
      {"cycle", "g (float[2] x) => (float[2] y) { y = Add(x, z)\n z = Exp(y) }", "the nodes form a cycle"},
      {"no producer", "g (float[2] x) => (float[2] y) { z = Exp(x) }", "output 'y' is made by no node"},
      {"unknown op", "g (float[2] x) => (float[2] y) { y = Reluu(x) }", "unknown op onnx.Reluu"},
      {"unknown op hint", "g (float[2] x) => (float[2] y) { y = Reluu(x) }", "did you mean 'Relu'?"},
      {"unknown domain", "g (float[2] x) => (float[2] y) { y = foo.Bar(x) }",
       "imports no operator set for domain 'foo'"},
      {"too few inputs", "g (float[2] x) => (float[2] y) { y = Add(x) }", "wrong number of inputs"},
      {"unknown attribute", "g (float[2] x) => (float[2] y) { y = LeakyRelu<alpah = 0.1>(x) }",
       "the op has no attribute 'alpah'"},
      {"attribute type", "g (float[2] x) => (float[2] y) { y = LeakyRelu<alpha = 1>(x) }",
       "attribute 'alpha' has the wrong type"},
      {"attribute missing", "g (float[2] x) => (float[2] y) { y = Concat(x) }", "required attribute 'axis' is missing"},
      {"axis", "g (float[2] x) => (float[2] y) { y = Softmax<axis = 3>(x) }", "axis"},
      {"concat axis", "g (float[2] x) => (float[2] y) { y = Concat<axis = 5>(x, x) }", "axis"},
      {"broadcast", "g (float[2] x, float[3] z) => (float[2] y) { y = Add(x, z) }", "ncompatible dimensions"},
      {"type", "g (float[2] x, double[2] z) => (float[2] y) { y = Add(x, z) }", "inconsistent type"},
      {"output type", "g (float[2] x) => (int64[2] y) { y = Exp(x) }", "declared with another element type"},
      {"negative size", "g (float[-3] x) => (float[2] y) { y = Exp(x) }", "is negative"},
      {"huge size", "g (float[4294967296, 4294967296] x) => (float[2] y) { y = Exp(x) }",
       "more elements than any memory can hold"},
      {"conv window",
       "g (float[1, 1, 3] x, float[1, 1, 2] w) => (float[1, 1, N] y) { y = Conv<dilations = [3], strides = [2]>(x, w) }",
       "the window is larger than the padded input"},
      {"pool window",
       "g (float[1, 1, 1] x) => (float[1, 1, N] y) { y = MaxPool<kernel_shape = [2], strides = [2]>(x) }",
       "the window is larger than the padded input"},
      {"reshape", "g (float[2, 3] x) => (float[2] y) <int64[1] s = {7}> { y = Reshape(x, s) }", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Result<ImportedModel> m = Import(Model(c.graph));
    ASSERT_FALSE(m.ok());
    EXPECT_NE(m.status().ToString().find(c.error), std::string::npos) << m.status().ToString();
  }
}

TEST(DamagedTest, EveryBlockerIsReportedAtOnce) {
  Result<ImportedModel> m =
      Import(Model("g (float[2] x) => (float[2] y) { a = Foo(x)\n b = Bar(a)\n y = Add(b, absent) }"));
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.status().diagnostics().size(), 3u) << m.status().ToString();
}

TEST(DamagedTest, RankKnownOnlyAtRunTimeIsUnsupported) {
  Result<ImportedModel> m =
      Import(Model("g (float[2] x, int64[N] s) => (float y) { t = Reshape(x, s)\n y = ReduceSum(t) }"));
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.status().kind(), ErrorKind::kUnsupported);
  EXPECT_NE(m.status().ToString().find("the rank of output 't' is known only when the model runs"), std::string::npos);
}

TEST(DamagedTest, OpsetsAndVersions) {
  onnx::ModelProto model = Model("g (float[2] x) => (float[2] y) { y = Exp(x) }", 999);
  EXPECT_EQ(Import(model).status().kind(), ErrorKind::kUnsupported);
  model = Model("g (float[2] x) => (float[2] y) { y = Exp(x) }");
  model.clear_opset_import();
  EXPECT_EQ(Import(model).status().message(), "the model imports no operator set");
  model = Model("g (float[2] x) => (float[2] y) { y = Exp(x) }");
  model.set_ir_version(99);
  EXPECT_EQ(Import(model).status().message(), "the model's IR version is newer than this importer");
}

// What ONNX Runtime saves with all of its optimisations is for one processor; the hint says how others can have it.
TEST(DamagedTest, LayoutsOfOnnxRuntime) {
  Result<ImportedModel> m = Import(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft.nchwc" : 1]>
    g (float[1, 16, 4, 4] x) => (float[1, 16, 2, 2] y) { y = com.microsoft.nchwc.MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) })"));
  ASSERT_FALSE(m.ok());
  EXPECT_NE(m.status().ToString().find("unknown op com.microsoft.nchwc.MaxPool"), std::string::npos) << m.status().ToString();
  EXPECT_NE(m.status().ToString().find("ORT_ENABLE_EXTENDED"), std::string::npos) << m.status().ToString();
}

TEST(DamagedTest, EquationsOfDots) {
  for (const char* equation : {"....i->i", "..i->i", "i.j->i", "...i...->i", "i?->i"}) {
    Result<ImportedModel> m = Import(ParseModel(std::string(R"(<ir_version: 10, opset_import: ["" : 21]>
      g (float[2, 3] x) => (y) { y = Einsum<equation = ")") + equation + R"(">(x) })"));
    ASSERT_FALSE(m.ok());
    EXPECT_NE(m.status().ToString().find("E0540"), std::string::npos) << m.status().ToString();
  }
}

TEST(DamagedTest, FunctionsMustNotCallThemselves) {
  Result<ImportedModel> m = Import(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21, "my" : 1]>
    g (float[2] x) => (float[2] y) { y = my.f(x) }
    <domain: "my", opset_import: ["" : 21, "my" : 1]> f (a) => (b) { b = my.h(a) }
    <domain: "my", opset_import: ["" : 21, "my" : 1]> h (a) => (b) { b = my.f(a) })"));
  ASSERT_FALSE(m.ok());
  EXPECT_NE(m.status().ToString().find("calls itself"), std::string::npos) << m.status().ToString();
}

TEST(DamagedTest, TensorsMustFitTheirData) {
  onnx::ModelProto model = Model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }");
  auto* w = model.mutable_graph()->mutable_initializer(0);
  w->set_dims(0, int64_t{1} << 40);
  EXPECT_NE(Import(model).status().ToString().find("tensor 'w': its data does not fit its dimensions"),
            std::string::npos);
  w->set_dims(0, INT64_MAX);
  w->add_dims(INT64_MAX);
  EXPECT_NE(Import(model).status().ToString().find("more elements than any memory can hold"), std::string::npos);
  w->set_dims(0, -1);
  EXPECT_NE(Import(model).status().ToString().find("is negative"), std::string::npos);
}

onnx::ModelProto NestedIf(int depth) {
  onnx::ModelProto model = Model("g (bool c, float[2] x) => (float[2] y) { y = Exp(x) }");
  onnx::GraphProto inner = *model.mutable_graph();
  inner.clear_input();
  for (int i = 0; i < depth; ++i) {
    onnx::GraphProto outer;
    outer.set_name("g");
    auto* n = outer.add_node();
    n->set_op_type("If");
    n->add_input("c");
    n->add_output("y_" + std::to_string(i));
    auto* then_branch = n->add_attribute();
    then_branch->set_name("then_branch");
    then_branch->set_type(onnx::AttributeProto::GRAPH);
    then_branch->mutable_g()->Swap(&inner);
    auto* else_branch = n->add_attribute();
    else_branch->set_name("else_branch");
    else_branch->set_type(onnx::AttributeProto::GRAPH);
    else_branch->mutable_g()->set_name("e");
    auto* negate = else_branch->mutable_g()->add_node();
    negate->set_op_type("Neg");
    negate->add_input("x");
    negate->add_output("e_" + std::to_string(i));
    else_branch->mutable_g()->add_output()->set_name("e_" + std::to_string(i));
    *outer.add_output() = model.graph().output(0);
    outer.mutable_output(0)->set_name("y_" + std::to_string(i));
    inner.Swap(&outer);
  }
  *inner.mutable_input() = model.graph().input();
  inner.Swap(model.mutable_graph());
  return model;
}

TEST(DamagedTest, NestedSubgraphs) {
  Folder folder;
  Result<ImportedModel> m =
      ImportModel(folder.Write("deep.onnx", NestedIf(24).SerializeAsString()), {}, TestRegistry());
  ASSERT_TRUE(m.ok()) << m.status().ToString();
  m = ImportModel(folder.Write("deeper.onnx", NestedIf(500).SerializeAsString()), {}, TestRegistry());
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.status().message(), "subgraphs are nested deeper than 64 levels");
}

std::string Sample() {
  onnx::ModelProto model =
      Model(R"(g (float[N, 3, 8, 8] x, bool c) => (float[N, K] y) <float[3] scale = {1, 2, 3}, int64[2] s = {0, -1}> {
    a = BatchNormalization(x, scale, scale, scale, scale)
    b = If(c) <then_branch = t () => (float[N] p) { p = Exp(a) }, else_branch = e () => (float[N] q) { q = Neg(a) }>
    d = Loop(, c, b) <body = l (int64 i, bool cc, float[N] v) => (bool c2, float[N] w) { c2 = Not(cc)
                                                                                        w = Sqrt(v) }>
    y = Reshape(d, s)
  })");
  auto* w = model.mutable_graph()->add_initializer();
  w->set_name("large");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(1000);
  w->set_raw_data(std::string(4000, '\1'));
  return model.SerializeAsString();
}

// Takes whatever comes out; only crashes, time and memory count.
void ImportBytes(const Folder& folder, const std::string& bytes) {
  const clock_t start = clock();
  try {
    Result<ImportedModel> m = ImportModel(folder.Write("m.onnx", bytes), {}, TestRegistry());
    if (!m.ok()) { EXPECT_FALSE(m.status().message().empty()); }
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()), "");  // the plugin's border turns these into errors
  }
  EXPECT_LT(clock() - start, 2 * CLOCKS_PER_SEC);
}

TEST(DamagedTest, TruncatedAtEveryByte) {
  Folder folder;
  const std::string whole = Sample();
  for (size_t n = 0; n < whole.size(); n += n < 1500 ? 1 : 97) ImportBytes(folder, whole.substr(0, n));
}

TEST(DamagedTest, MutatedBytes) {
  Folder folder;
  const std::string whole = Sample();
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole;
    for (unsigned k = 0; k <= random() % 3; ++k) bytes[random() % 1500] = static_cast<char>(random());
    ImportBytes(folder, bytes);
  }
#ifndef __SANITIZE_ADDRESS__  // which keeps what is freed for a while
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 500 * 1024);
#endif
}

TEST(DamagedTest, NotAModelAtAll) {
  Folder folder;
  EXPECT_NE(ImportModel(folder.Write("a.onnx", ""), {}, TestRegistry()).status().message().find("the file is empty"),
            std::string::npos);
  EXPECT_FALSE(ImportModel(folder.Write("b.onnx", "hello, world"), {}, TestRegistry()).ok());
  EXPECT_FALSE(ImportModel(folder / "absent.onnx", {}, TestRegistry()).ok());
  EXPECT_FALSE(ImportModel(folder / "", {}, TestRegistry()).ok());
}

}  // namespace
}  // namespace headrace::onnx_import
