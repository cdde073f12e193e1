// Ops that plugins bring, in ONNX models: types, sizes and values from their signatures and shape rules.
#include "importers/onnx/registered.h"
#include "importers/onnx/test_util.h"
#include "ir/text/parser.h"

namespace headrace::onnx_import {
namespace {

PortSignature Port(const std::string& name, const std::string& type, bool optional = false, bool variadic = false) {
  PortSignature p;
  p.name = name, p.type = type, p.optional = optional, p.variadic = variadic;
  return p;
}

AttributeSignature Int(const std::string& name, std::optional<int64_t> otherwise, bool required = false) {
  AttributeSignature a;
  a.name = name, a.required = required;
  if (otherwise) a.default_value = Attribute{*otherwise};
  return a;
}

OpSignature Op(const std::string& name, std::vector<PortSignature> inputs, std::vector<PortSignature> outputs,
               const std::string& shape, std::vector<AttributeSignature> attributes = {}) {
  OpSignature s;
  s.domain = "my", s.name = name, s.shape = shape;
  s.inputs = std::move(inputs), s.outputs = std::move(outputs), s.attributes = std::move(attributes);
  return s;
}

const Registry& Ops() {
  static const Registry* const registry = [] {
    auto* r = new Registry;
    auto add = [&](OpSignature s) {
      Status added = r->Add(std::move(s));
      if (!added.ok()) ADD_FAILURE() << added.ToString();
    };
    Status schemas = RegisterSchemas(*r);
    if (!schemas.ok()) ADD_FAILURE() << schemas.ToString();
    add(Op("Same", {Port("X", "float")}, {Port("Y", "float")}, "shape Y[dims(X)]"));
    add(Op("Scaled", {Port("X", "float"), Port("S", "float", true)}, {Port("Y", "float"), Port("Kept", "S", true)},
           "shape Y[dims(X)]\nif has(S) { shape Kept[dims(S)] }"));
    add(Op("Pieces", {Port("T", "any", false, true)}, {Port("P", "any", false, true), Port("n", "i64")}, ""));
    add(Op("Stack", {Port("T", "float", false, true)}, {Port("Y", "float")},
           "let n = 0\neach t in T { let n = n + 1 }\nshape Y[n, dims(in0)]"));
    add(Op("Each", {Port("T", "float", false, true)}, {Port("P", "float", false, true)},
           "shape P[dims(in0), 2]"));
    add(Op("Grow", {Port("X", "float")}, {Port("Y", "float")}, "shape Y[dim(X, 0) * by + (more ?: 0)]",
           {Int("by", 2), Int("more", std::nullopt)}));
    add(Op("Need", {Port("X", "float")}, {Port("Y", "float")}, "shape Y[n]", {Int("n", std::nullopt, true)}));
    add(Op("Take", {Port("X", "float"), Port("n", "integer")}, {Port("Y", "float")}, "shape Y[n, dims(X)[1:rank(X)]]"));
    add(Op("Sizes", {Port("X", "any")}, {Port("S", "i64")}, "shape S[rank(X)]\nS = reverse(dims(X))"));
    add(Op("Silent", {Port("X", "float")}, {Port("Y", "float")}, ""));
    add(Op("Untyped", {Port("X", "float")}, {Port("Y", "integer")}, "shape Y[3]"));
    add(Op("Wrong", {Port("X", "float")}, {Port("Y", "float")}, "shape Y[dims(Z)]"));
    return r;
  }();
  return *registry;
}

std::string Imported(const std::string& graph) {
  TensorSource source;
  Result<ImportedModel> m =
      ImportProto(ParseModel("<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1]>\n" + graph), &source, {}, Ops());
  if (!m.ok()) return m.status().ToString();
  Status verified = Verify(m->program);
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  PrintOptions print;
  print.origins = false;
  return Print(m->program, print);
}

void Has(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
}

TEST(RegisteredTest, SizesOfInputs) {
  Has(Imported("g (float16[N, 3] x) => (y) { y = my.Same(x) }"), {"y: f16[N, 3]", "my.Same:1(X = x) -> (Y = y)"});
  // Between ops of ONNX, whose inference goes on.
  Has(Imported("g (float[N, 3] x) => (y) { a = Relu(x)\n b = my.Same(a)\n y = Transpose(b) }"), {"y: f32[3, N]"});
}

TEST(RegisteredTest, OptionalPorts) {
  Has(Imported("g (float[N] x) => (y) { y = my.Scaled(x) }"), {"y: f32[N]", "my.Scaled:1(X = x) -> (Y = y)"});
  Has(Imported("g (float[N] x, double[2] s) => (y, k) { y, k = my.Scaled(x, s) }"), {"y: f32[N]", "k: f64[2]"});
}

TEST(RegisteredTest, VariadicPorts) {
  Has(Imported("g (float[N] x, float[N] z) => (y) { y = my.Stack(x, z, x) }"), {"y: f32[3, N]"});
  Has(Imported("g (float[N] x) => (y, z) { y, z = my.Each(x) }"), {"y: f32[N, 2]", "z: f32[N, 2]"});
}

TEST(RegisteredTest, Attributes) {
  Has(Imported("g (float[N] x) => (y) { y = my.Grow(x) }"), {"y: f32[2 * N]"});
  Has(Imported("g (float[N] x) => (y) { y = my.Grow<by = 3, more = 1>(x) }"), {"f32[3 * N + 1]"});
  Has(Imported("g (float[N] x) => (y) { y = my.Need<n = 4>(x) }"), {"y: f32[4]"});
}

TEST(RegisteredTest, ASizeIsAValueOfAnInput) {
  Has(Imported("g (float[N, 3] x) => (y) <int64[1] n = {2}> { y = my.Take(x, n) }"), {"y: f32[2, 3]"});
  Has(Imported("g (float[N, 3] x) => (y) { n = Shape<end = 1>(x)\n y = my.Take(x, n) }"), {"y: f32[N, 3]"});
  // Known only when the model runs: read before the node.
  Has(Imported("g (float[N, 3] x, int32[1] n) => (y) { y = my.Take(x, n) }"), {" = n[0]", "require ", "-> (Y = y)"});
  Has(Imported("g (float[N, 3] x, int64[k] n) => (y) { y = my.Take(x, n) }"), {"the number of elements must be a number"});
}

TEST(RegisteredTest, KnownValuesDecideSizesFurtherOn) {
  Has(Imported("g (float[N, M] x, float[K] z) => (y) { s = my.Sizes(x)\n y = Expand(z, s) }"), {"y: f32[M, "});
  Has(Imported("g (float[N, 4] x, float[K] z) => (y) { s = my.Sizes(x)\n y = Reshape(x, s) }"), {"y: f32[4, N]"});
}

TEST(RegisteredTest, AnOpWithoutARuleSaysHowToWriteOne) {
  Has(Imported("g (float[N] x) => (y) { y = my.Silent(x) }"),
      {"E0314", "the sizes of output 'Y' can't be inferred: my.Silent has no shape rule for it",
       ".Shape(\"shape Y[dims(X)]\")", "docs/plugins.md"});
  // Unless the model declares them.
  Has(Imported("g (float[N] x) => (float[3] y) { y = my.Silent(x) }"), {"y: f32[3]"});
  Has(Imported("g (float[N] x) => (y) { y = my.Untyped(x) }"), {"E0317", "the type of output 'Y' can't be inferred"});
  Has(Imported("g (float[N] x) => (y) { y = my.Wrong(x) }"), {"shape rule: ", "dims(Z)", "^"});
}

TEST(RegisteredTest, NodesThatTheSignatureExcludes) {
  Has(Imported("g (int32[N] x) => (y) { y = my.Same(x) }"), {"E0312", "got: i32", "float: f"});
  Has(Imported("g (float[N] x) => (y) { y = my.Same(x, x) }"), {"E0526", "wrong number of inputs"});
  Has(Imported("g (float[N] x) => (y) { y = my.Grow<buy = 3>(x) }"), {"E0524", "did you mean 'by'?"});
  Has(Imported("g (float[N] x) => (y) { y = my.Grow<by = 3.5>(x) }"), {"E0525", "a float", "an int"});
  Has(Imported("g (float[N] x) => (y) { y = my.Need(x) }"), {"E0524", "required attribute 'n' is missing"});
}

// What a view of a node of ONNX's gives through the registry: the importer's own inference.
TEST(RegisteredTest, TheRegistryInfersOnnxsOwn) {
  Registry r;
  ASSERT_TRUE(RegisterSchemas(r).ok());
  ASSERT_TRUE(RegisterInference(r).ok());
  Result<Program> p = ParseProgram(R"(
sdfg main(X: f32[N, 3], C: f32[3], Y: f32[3, N], S: i64[2], Z: f32[N, 3]) {
  state {
    onnx.Transpose:13{perm = [1, 0]}(data = X) -> (transposed = Y)
    onnx.Shape:15(data = X) -> (shape = S)
    onnx.BatchNormalization:15(X = X, scale = C, B = C, input_mean = C, input_var = C) -> (Y = Z)
  }
})");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  std::vector<std::string> found;
  ForEachNode(p->Entry(), [&](NodeId id) {
    Result<NodeView> v = ViewOf(r, *p, p->Entry(), id);
    ASSERT_TRUE(v.ok()) << v.status().ToString();
    Result<std::vector<InferredOutput>> o = r.InferOutputs(*v);
    ASSERT_TRUE(o.ok()) << o.status().ToString();
    std::string text = o->front().port + ": " + std::string(DTypeName(o->front().type.dtype));
    for (const Expr& d : o->front().shape) text += " " + ToString(d);
    for (const Expr& d : o->front().known) text += " = " + ToString(d);
    found.push_back(text);
  });
  EXPECT_EQ(found, (std::vector<std::string>{"transposed: f32 3 N", "shape: i64 2 = N = 3", "Y: f32 N 3"}));
}

}  // namespace
}  // namespace headrace::onnx_import
