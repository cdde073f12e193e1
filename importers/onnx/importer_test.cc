// What models become: ONNX text in, IR text out.
#include "importers/onnx/test_util.h"

namespace headrace::onnx_import {
namespace {

TEST(ImporterTest, NodeBecomesLibraryNodeWithTheSchemasPortNames) {
  EXPECT_EQ(ImportText(Model(
                "g (float[N, 3] a, float[3] b) => (float[N, 3] y) { t = Add(a, b)\n y = LeakyRelu<alpha = 0.5>(t) }")),
            R"(sdfg g(a: f32[N, 3], b: f32[3], y: f32[N, 3]) {
  transient t: f32[N, 3]
  state {
    onnx.Add:14(A = a, B = b) -> (C = t)
    onnx.LeakyRelu:16{alpha = 0.5}(X = t) -> (Y = y)
  }
}
)");
}

TEST(ImporterTest, ShapeArithmeticVanishes) {
  // What exporters write for x.view(x.size(0), -1).
  EXPECT_EQ(ImportText(Model(R"(g (float[N, 4, S] x) => (float[N, M] y) {
    zero = Constant<value = int64 {0}>()
    shape = Shape(x)
    n = Gather<axis = 0>(shape, zero)
    axes = Constant<value = int64[1] {0}>()
    n1 = Unsqueeze(n, axes)
    rest = Constant<value = int64[1] {-1}>()
    target = Concat<axis = 0>(n1, rest)
    y = Reshape(x, target)
  })")),
            R"(sdfg g(x: f32[N, 4, S], y: f32[N, 4 * S]) {
  transient target: i64[2]
  state {
    target[0] = N
    target[1] = -1
    onnx.Reshape:21{`known.shape` = ["N", "-1"]}(data = x, shape = target) -> (reshaped = y)
  }
}
)");
}

TEST(ImporterTest, SizesAreDividedExactly) {
  Result<ImportedModel> m = Import(Model(R"(g (float[N, S, 768] x) => (float[A, B, C, D] y) {
    s = Constant<value = int64[4] {0, 0, 12, -1}>()
    y = Reshape(x, s)
  })"));
  ASSERT_TRUE(m.ok()) << m.status().ToString();
  EXPECT_EQ(ToString(m->program.Entry().Get("y").shape[3]), "64");
}

TEST(ImporterTest, SizesGivenAsDataAreReadBeforeTheNode) {
  std::string text =
      ImportText(Model("g (float[4, N] x, int64[1] k) => (float[4, K] v, int64[4, K] i) { v, i = TopK(x, k) }"));
  EXPECT_NE(text.find("let v_n = k[0]"), std::string::npos) << text;
  EXPECT_NE(text.find("-> (Values = v, Indices = i)"), std::string::npos) << text;
  EXPECT_EQ(text.find("defines"), std::string::npos) << text;
}

TEST(ImporterTest, SizesThatOnlyTheOpKnowsAreDefinedByIt) {
  std::string text = ImportText(Model("g (float[4, 5] x) => (int64[2, K] y) { y = NonZero(x) }"));
  EXPECT_NE(text.find("-> (Y = y) defines (y_d1)"), std::string::npos) << text;
}

TEST(ImporterTest, SequencesOfKnownElementsAreTheirTensors) {
  // torch.chunk, by exporters that don't optimise.
  EXPECT_EQ(ImportText(Model(R"(g (float[N, 5] x) => (float[N, 2] y) {
    k = Constant<value = int64 {2}>()
    first = Constant<value = int64 {0}>()
    middle = Constant<value = int64 {-2}>()
    s = SplitToSequence<axis = -1>(x, k)
    a = SequenceAt(s, first)
    b = SequenceAt(s, middle)
    y = Mul(a, b)
  })")),
            R"(sdfg g(x: f32[N, 5], y: f32[N, 2]) {
  constant sizes: i64[3] = [2, 2, 1]
  transient s_0: f32[N, 2]
  transient s_1: f32[N, 2]
  transient s_2: f32[N, 1]
  state {
    onnx.Split:18{axis = 1}(input = x, split = sizes) -> (outputs = s_0, outputs = s_1, outputs = s_2)
    onnx.Mul:14(A = s_0, B = s_1) -> (C = y)
  }
}
)");
  std::string text = ImportText(Model(R"(g (float[3, N] x) => (float[N, 3] y) {
    s = SplitToSequence<keepdims = 0>(x)
    one = Constant<value = int64 {1}>()
    a = SequenceAt(s, one)
    t = SequenceConstruct(a, a, a)
    y = ConcatFromSequence<axis = -1, new_axis = 1>(t)
  })"));
  EXPECT_EQ(text.find("equence"), std::string::npos) << text;
  EXPECT_NE(text.find("onnx.Squeeze"), std::string::npos) << text;
  EXPECT_NE(text.find("onnx.Concat:13{axis = -1}"), std::string::npos) << text;
}

TEST(ImporterTest, SequencesOfUnknownElementsStay) {
  for (const char* graph :
       {"g (float[N] x, int64 k) => (float[M] y) { s = SplitToSequence(x, k)\n y = ConcatFromSequence<axis = 0>(s) }",
        "g (float[6] x, int64 at) => (float[M] y) { s = SplitToSequence(x)\n y = SequenceAt(s, at) }"}) {
    std::string text = ImportText(Model(graph));
    EXPECT_NE(text.find("onnx.SplitToSequence"), std::string::npos) << text;
  }
}

TEST(ImporterTest, IdentitiesAndUnusedNodesLeaveNoTrace) {
  EXPECT_EQ(ImportText(Model(R"(g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] unused = {3, 4}> {
    a = Identity(x)
    dead = Exp(x)
    b = Dropout(a)
    c = Cast<to = 1>(b)
    y = Mul(c, w)
  })")),
            R"(sdfg g(x: f32[2], y: f32[2]) {
  constant w: f32[2] = [1.0, 2.0]
  state {
    onnx.Mul:14(A = x, B = w) -> (C = y)
  }
}
)");
}

TEST(ImporterTest, FloatInitializersCanKeepTheirIdentity) {
  const onnx::ModelProto m = Model(R"(g (float[N, 2] x) => (float[N, 3] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
    wt = Transpose (w)
    y = MatMul (x, wt)
  })");
  ImportOptions keep;
  keep.simplify = false;
  Result<ImportedModel> kept = Import(m, keep);
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  const std::string text = Print(kept->program);
  EXPECT_NE(text.find("from \"w\""), std::string::npos) << text;
  EXPECT_NE(text.find("onnx.Transpose"), std::string::npos) << text;
}

// As PyTorch's exporter (dynamo) marks values: parameters and buffers of the module, and what it folded from what.
TEST(ImporterTest, InitializersThatAreNoParametersSaySo) {
  onnx::ModelProto m = Model(R"(g (float[1] x) => (float[1] y)
      <float[1] w = {1}, float[1] table = {2}, float[1] val_7 = {3}, float[1] val_8 = {4}> {
    a = Mul (x, w)
    b = Mul (a, table)
    c = Mul (b, val_7)
    y = Mul (c, val_8)
  })");
  auto mark = [&](const char* name, const char* key, const char* value) {
    auto* v = m.mutable_graph()->add_value_info();
    v->set_name(name);
    v->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    auto* p = v->add_metadata_props();
    p->set_key(key), p->set_value(value);
  };
  mark("table", "pkg.torch.export.graph_signature.InputSpec.kind", "BUFFER");
  mark("w", "pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER");
  mark("val_7", "pkg.onnxscript.optimizer.folded_from", "['layer.weight']");
  mark("val_8", "pkg.onnxscript.optimizer.folded_from", "['val_1', 'arange']");
  ImportOptions keep;
  keep.simplify = false;
  Result<ImportedModel> kept = Import(m, keep);
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  const std::string text = Print(kept->program);
  for (const char* origin :
       {"from \"w\"\n", "from \"table\" by \"buffer\"\n", "from \"val_7\"\n", "from \"val_8\" by \"exporter\"\n"})
    EXPECT_NE(text.find(origin), std::string::npos) << origin << text;
}

TEST(ImporterTest, NamesAreMadeIdentifiersAndRemembered) {
  onnx::ModelProto model = Model("g (float[2] x) => (float[2] y) { y = Exp(x) }");
  model.mutable_graph()->mutable_input(0)->set_name("input/0:in");
  model.mutable_graph()->mutable_node(0)->set_input(0, "input/0:in");
  Result<ImportedModel> m = Import(model);
  ASSERT_TRUE(m.ok()) << m.status().ToString();
  EXPECT_EQ(m->program.Entry().parameters[0].view(), "input_0_in");
  EXPECT_EQ(m->OriginalName("input_0_in"), "input/0:in");
}

TEST(ImporterTest, NamedDimensionsCanBeFixed) {
  ImportOptions options;
  options.dims = {{"N", 8}};
  onnx::ModelProto model = Model("g (float[N, 3] x) => (float[N, 3] y) { y = Exp(x) }");
  Result<ImportedModel> m = Import(model, options);
  ASSERT_TRUE(m.ok()) << m.status().ToString();
  EXPECT_EQ(ToString(m->program.Entry().Get("y").shape[0]), "8");
  options.dims = {{"M", 8}};
  m = Import(model, options);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.status().message(), "no input of the model has a dimension named 'M'");
}

TEST(ImporterTest, DimensionsThatAreFormulasUseTheirSymbols) {
  onnx::ModelProto model = Model("g (float[N] a, float[M] b) => (float[K] y) { y = Concat<axis = 0>(a, b) }");
  model.mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("2*N + 1");
  Result<ImportedModel> m = Import(model);
  ASSERT_TRUE(m.ok()) << m.status().ToString();
  EXPECT_EQ(ToString(m->program.Entry().Get("y").shape[0]), "3 * N + 1");
}

TEST(ImporterTest, IfBecomesAConditional) {
  EXPECT_EQ(ImportText(Model(R"(g (bool c, float[2] x) => (float[2] y) {
    y = If(c) <then_branch = t () => (float[2] a) { a = Exp(x) }, else_branch = e () => (float[2] b) { b = Neg(x) }>
  })")),
            R"(sdfg g(c: bool, x: f32[2], y: f32[2]) {
  transient a: f32[2]
  transient b: f32[2]
  transient y_1: f32[2]
  if c {
    state {
      onnx.Exp:13(input = x) -> (output = a)
      map i0 in 0:2 { y_1[i0] = a[i0] }
    }
  } else {
    state {
      onnx.Neg:13(X = x) -> (Y = b)
      map i0 in 0:2 { y_1[i0] = b[i0] }
    }
  }
  state {
    map i0 in 0:2 { y[i0] = y_1[i0] }
  }
}
)");
}

TEST(ImporterTest, ValuesMayBeCalledAsIndicesAre) {
  const std::string text = ImportText(Model(R"(g (float[2] x) => (float[2, 1] y, float[2, 2] z)
    <float[2, 1] a = {1, 2}, float[2, 2] i1 = {3, 4, 5, 6}> { y = Identity(a) z = Identity(i1) })"));
  EXPECT_NE(text.find("constant i1_1: f32[2, 2]"), std::string::npos) << text;
  EXPECT_NE(text.find("{ z[i0, i1] = i1_1[i0, i1] }"), std::string::npos) << text;
}

TEST(ImporterTest, IfWithAKnownConditionIsItsBranch) {
  std::string text = ImportText(Model(R"(g (float[2, N] x) => (float[2, N] y) {
    two = Constant<value = int64 {2}>()
    zero = Constant<value = int64 {0}>()
    s = Shape(x)
    n = Gather(s, zero)
    c = Equal(n, two)
    y = If(c) <then_branch = t () => (float[2] a) { a = Exp(x) }, else_branch = e () => (float[2] b) { b = Neg(x) }>
  })"));
  EXPECT_NE(text.find("onnx.Exp"), std::string::npos) << text;
  EXPECT_EQ(text.find("onnx.Neg"), std::string::npos) << text;
}

TEST(ImporterTest, BranchesOfDifferentSizeSetASymbol) {
  std::string text = ImportText(Model(R"(g (bool c, float[2] x, float[N] z) => (float[M] y) {
    y = If(c) <then_branch = t () => (float[2] a) { a = Exp(x) }, else_branch = e () => (float[N] b) { b = Neg(z) }>
  })"));
  EXPECT_NE(text.find("let y_d0 = 2"), std::string::npos) << text;
  EXPECT_NE(text.find("let y_d0 = N"), std::string::npos) << text;
  EXPECT_NE(text.find("y: f32[y_d0]"), std::string::npos) << text;
}

TEST(ImporterTest, OpsOfTheFirstOpsetsHaveShapesToo) {
  EXPECT_EQ(ImportText(Model(R"(g (float[N, 3, 4] x, float[4, 2] w, float[2] b) => (int32[N, 2] y) {
    a = Relu(x)
    s = ReduceSum<axes = [1], keepdims = 0>(a)
    d = Dropout(s)
    h = Gemm<broadcast = 1>(d, w, b)
    y = Cast<to = "INT32">(h)
  })", 4)), R"(sdfg g(x: f32[N, 3, 4], w: f32[4, 2], b: f32[2], y: i32[N, 2]) {
  transient a: f32[N, 3, 4]
  transient s: f32[N, 4]
  transient h: f32[N, 2]
  state {
    onnx.Relu:1(X = x) -> (Y = a)
    onnx.ReduceSum:1{axes = [1], keepdims = 0}(data = a) -> (reduced = s)
    onnx.Gemm:1{broadcast = 1}(A = s, B = w, C = b) -> (Y = h)
    onnx.Cast:1{to = "INT32"}(input = h) -> (output = y)
  }
}
)");
  const std::string wrong = ImportText(Model(R"(g (float[N] x) => (int32[N] y) { y = Cast<to = "INT33">(x) })", 4));
  EXPECT_NE(wrong.find("E0540"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("INT33"), std::string::npos) << wrong;
}

TEST(ImporterTest, LoopWithScanOutput) {
  std::string text = ImportText(Model(R"(g (float[2] x) => (float[2] last, float[5, 2] all) {
    n = Constant<value = int64 {5}>()
    on = Constant<value = bool {1}>()
    last, all = Loop(n, on, x) <body = b (int64 i, bool c, float[2] v) => (bool c2, float[2] w, float[2] s) {
      c2 = Identity(c)
      w = Add(v, v)
      s = Identity(w)
    }>
  })"));
  EXPECT_NE(text.find("for iter in 0:5 {"), std::string::npos) << text;
  EXPECT_NE(text.find("all: f32[5, 2]"), std::string::npos) << text;
  EXPECT_EQ(text.find("while"), std::string::npos) << text;
}

TEST(ImporterTest, ScanOutputsOfASizeThatDataGaveBeforeTheLoopAreOneArray) {
  std::string text = ImportText(Model(R"(g (float[5] x, bool[5] keep, int64 n) => (float[A] last, float[T, A] all) {
    z = Compress(x, keep)
    last, all = Loop(n, , z) <body = b (int64 i, bool c, float[K] v) => (bool c2, float[K] w, float[K] s) {
      c2 = Identity(c)
      w = Add(v, v)
      s = Identity(w)
    }>
  })"));
  EXPECT_NE(text.find("all: f32[trips, z_d0]"), std::string::npos) << text;
  EXPECT_EQ(text.find("Sequence"), std::string::npos) << text;
}

TEST(ImporterTest, LoopThatGrowsItsValueSetsTheSizeEachTime) {
  std::string text = ImportText(Model(R"(g (float[1] x, int64 n) => (float[M] y) {
    y = Loop(n, , x) <body = b (int64 i, bool c, float[K] v) => (bool c2, float[K2] w) {
      c2 = Identity(c)
      w = Concat<axis = 0>(v, x)
    }>
  })"));
  EXPECT_NE(text.find("let x_n0 = 1"), std::string::npos) << text;
  EXPECT_NE(text.find("let x_m0 = x_n0 + 1"), std::string::npos) << text;
  EXPECT_NE(text.find("let x_n0 = x_m0"), std::string::npos) << text;
}

TEST(ImporterTest, ScanIsALoopOverSlices) {
  std::string text = ImportText(Model(R"(g (float[2] start, float[T, 2] x) => (float[2] last, float[T, 2] sums) {
    last, sums = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (float[2] s2, float[2] out) {
      s2 = Add(s, e)
      out = Identity(s2)
    }>(start, x)
  })"));
  EXPECT_NE(text.find("for iter in 0:T {"), std::string::npos) << text;
  EXPECT_NE(text.find("e[i0] = x[iter, i0]"), std::string::npos) << text;
}

TEST(ImporterTest, SlicesOfNothingAreEmpty) {
  const std::string text = ImportText(Model(R"(g (float[0, 3] x) => (float[0, 3] y) <int64[1] s = {-1}, int64[1] e = {-9}, int64[1] a = {0}>
    { y = Slice(x, s, e, a, s) })"));
  EXPECT_NE(text.find("y: f32[0, 3]"), std::string::npos) << text;
}

TEST(ImporterTest, SlicesBehindTheLastElementAreEmpty) {
  const std::string text = ImportText(Model(R"(g (float[3, 1] x, int64[2] e) => (float[n, m] y) <int64[2] s = {0, 1}> { y = Slice(x, s, e) })"));
  EXPECT_NE(text.find(", 0]"), std::string::npos) << text;
}

TEST(ImporterTest, MaxUnpoolWithoutAShape) {
  const std::string text = ImportText(Model(R"(g (float[n, 1, h] x, int64[n, 1, h] i) => (float[n, 1, k] y)
    { y = MaxUnpool<kernel_shape = [2], strides = [2]>(x, i) })"));
  EXPECT_NE(text.find("y: f32[n, 1, 2 * h]"), std::string::npos) << text;
}

TEST(ImporterTest, EinsumBroadcastsWhatTheDotsStandFor) {
  const std::string text = ImportText(Model(R"(g (float[2, 1, n, k] x, float[1, 3, k, m] y) => (z)
    { z = Einsum<equation = "...ij,...jk->...ik">(x, y) })"));
  EXPECT_NE(text.find("z: f32[2, 3, n, m]"), std::string::npos) << text;
}

TEST(ImporterTest, OneOfManyOperandsMayBeEmpty) {
  const std::string text = ImportText(Model("g (float[2, 0, 4] x, float[1, 4] y) => (z) { z = Max(x, y) }"));
  EXPECT_NE(text.find("z: f32[2, 0, 4]"), std::string::npos) << text;
}

TEST(ImporterTest, ScanInputsMustBeEquallyLong) {
  std::string text = ImportText(Model(R"(g (float[2] start, float[T, 2] x, float[2, U] y) => (float[2] last) {
    last = Scan<num_scan_inputs = 2, scan_input_axes = [0, 1], body = b (float[2] s, float[2] e, float[2] f) => (float[2] s2) {
      t = Add(s, e)
      s2 = Add(t, f)
    }>(start, x, y)
  })"));
  EXPECT_NE(text.find("require U == T else \"scan input y has {} in dimension 1 where the scan has {} iterations\", U, T"),
            std::string::npos)
      << text;
}

TEST(ImporterTest, FunctionsAreLoweredInPlaceWithTheirAttributes) {
  std::string text = ImportText(ParseModel(R"(<ir_version: 10, opset_import: ["" : 21, "my" : 1]>
    g (float[2] x) => (float[2] y) { y = my.twice<slope = 0.25>(x) }
    <domain: "my", opset_import: ["" : 21]>
    twice <slope>(a) => (b) { t = LeakyRelu<alpha: float = @slope>(a)
                              b = LeakyRelu<alpha: float = @slope>(t) })"));
  EXPECT_NE(text.find("onnx.LeakyRelu:16{alpha = 0.25}(X = x) -> (Y = t)"), std::string::npos) << text;
  EXPECT_NE(text.find("onnx.LeakyRelu:16{alpha = 0.25}(X = t)"), std::string::npos) << text;
}

TEST(ImporterTest, OldOpsetsMeanTheirOwnVersions) {
  std::string text = ImportText(Model(
      "g (float[2, 3] x) => (float[3] y) { y = Squeeze<axes = [0]>(t)\n t = Slice<starts = [1], ends = [2], axes = [0]>(x) }",
      9));
  EXPECT_NE(text.find("onnx.Slice:1{axes = [0], ends = [2], starts = [1]}"), std::string::npos) << text;
  EXPECT_NE(text.find("onnx.Squeeze:1"), std::string::npos) << text;
}

TEST(ImporterTest, SignaturesOfEveryVersionAreDeclared) {
  const OpSignature* conv = TestRegistry().FindOp("onnx", "Conv", 11);
  ASSERT_NE(conv, nullptr);
  EXPECT_EQ(conv->since_version, 11);
  EXPECT_EQ(conv->inputs[2].name, "B");
  EXPECT_TRUE(conv->inputs[2].optional);
  EXPECT_EQ(conv->types.at("T"), (std::vector<std::string>{"f16", "f32", "f64"}));
  EXPECT_NE(TestRegistry().FindOp("ai.onnx.ml", "TreeEnsemble"), nullptr);
  EXPECT_NE(TestRegistry().FindOp("ai.onnx.preview.training", "Adam"), nullptr);
}

}  // namespace
}  // namespace headrace::onnx_import
