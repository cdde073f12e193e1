// Training-mode nodes as inference: what changes, what is removed, and that the result is a model ONNX accepts.
#include "importers/onnx/inference.h"

#include "importers/onnx/test_util.h"
#include "onnx/checker.h"
#include "onnx/defs/printer.h"
#include "onnx/shape_inference/implementation.h"

namespace headrace::onnx_import {
namespace {

// ONNX's own checker with shape inference, as onnx.checker.check_model(full_check=True).
void ExpectAccepted(onnx::ModelProto model) {
  try {
    onnx::checker::check_model(model);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(true, 1, false));
  } catch (const std::exception& e) { ADD_FAILURE() << e.what() << "\n" << onnx::ProtoToString(model); }
}

std::string Report(onnx::ModelProto* model) {
  std::string out;
  for (const std::string& line : MakeInference(model)) out += line + "\n";
  return out;
}

std::vector<std::string> Ops(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
  std::vector<std::string> out;
  for (const auto& n : nodes) out.push_back(n.op_type());
  return out;
}
using Words = std::vector<std::string>;

TEST(InferenceTest, BatchNormalizationUsesTheGivenStatistics) {
  onnx::ModelProto m = Model(R"(g (float[N, 2] x) => (float[N, 2] y)
    <float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] mean = {3, 4}, float[2] var = {1, 2}, float[2] m2>
    { y, m2, v2 = BatchNormalization<training_mode = 1, momentum = 0.9>(x, s, b, mean, var) })");
  EXPECT_EQ(Report(&m), "1 BatchNormalization in training mode made inference\n");
  const onnx::NodeProto& n = m.graph().node(0);
  EXPECT_EQ(n.output_size(), 1);
  ASSERT_EQ(n.attribute_size(), 1);
  EXPECT_EQ(n.attribute(0).name(), "momentum");
  EXPECT_EQ(m.graph().node_size(), 1);
  EXPECT_EQ(m.graph().value_info_size(), 0);  // m2's
  ExpectAccepted(m);
  EXPECT_EQ(Report(&m), "");
}

TEST(InferenceTest, StatisticsThatAreOutputsOrReadFurtherOnStay) {
  onnx::ModelProto m = Model(R"(g (float[N, 2] x) => (float[N, 2] z, float[2] m2)
    <float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] mean = {3, 4}, float[2] var = {1, 2}>
    { y, m2, v2 = BatchNormalization<training_mode = 1>(x, s, b, mean, var)
      z, m3, v3 = BatchNormalization<training_mode = 1>(y, s, b, m2, v2) })");
  EXPECT_EQ(Report(&m), "2 BatchNormalizations in training mode made inference\n");
  EXPECT_EQ(Ops(m.graph().node()), (Words{"BatchNormalization", "Identity", "Identity", "BatchNormalization"}));
  ExpectAccepted(m);
}

TEST(InferenceTest, BatchNormalizationBeforeOpset14TrainsByItsOutputs) {
  onnx::ModelProto m = Model(R"(g (float[N, 2] x) => (float[N, 2] y, float[2] sv)
    <float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] mean = {3, 4}, float[2] var = {1, 2}>
    { y, m2, v2, sm, sv = BatchNormalization(x, s, b, mean, var) })",
                             9);
  MakeInference(&m);
  EXPECT_EQ(Ops(m.graph().node()), (Words{"BatchNormalization", "Identity"}));
  EXPECT_EQ(m.graph().node(0).output_size(), 1);
  EXPECT_EQ(m.graph().node(1).input(0), "var");
  ExpectAccepted(m);
}

// What old exports hold, although no checker takes it: an output with the name of an input.
TEST(InferenceTest, UpdatedStatisticsMayHaveTheNamesOfTheGiven) {
  onnx::ModelProto m = Model(R"(g (float[N, 2] x) => (float[N, 2] y)
    <float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] mean = {3, 4}, float[2] var = {1, 2}>
    { y, mean, var, sm, sv = BatchNormalization(x, s, b, mean, var) })",
                             9);
  MakeInference(&m);
  EXPECT_EQ(Ops(m.graph().node()), (Words{"BatchNormalization"}));
  EXPECT_EQ(m.graph().initializer_size(), 4);
  ExpectAccepted(m);
}

TEST(InferenceTest, BeforeOpset7AnAttributeSays) {
  onnx::ModelProto m = Model(R"(g (float[N, 2] x) => (float[N, 2] z)
    <float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] mean = {3, 4}, float[2] var = {1, 2}>
    { y = BatchNormalization(x, s, b, mean, var)
      z = Dropout<is_test = 0>(y) })",
                             6);
  MakeInference(&m);
  for (const auto& n : m.graph().node()) {
    ASSERT_EQ(n.attribute_size(), 1);
    EXPECT_EQ(n.attribute(0).name(), "is_test");
    EXPECT_EQ(n.attribute(0).i(), 1);
  }
  ExpectAccepted(m);
}

TEST(InferenceTest, DropoutsFlagGoesWithWhatMadeIt) {
  onnx::ModelProto m = Model(R"(g (float[N] x) => (float[N] y, bool[N] mask)
    <float r = {0.5}, bool on = {1}>
    { off = Constant<value = bool {0}>()
      a = Dropout(x, r, on)
      not_off = Not(off)
      b = Dropout(a, r, not_off)
      y, mask = Dropout(b, , on) })");
  EXPECT_EQ(Report(&m), "3 Dropouts in training mode made inference\n");
  EXPECT_EQ(Ops(m.graph().node()), (Words{"Dropout", "Dropout", "Dropout"}));
  EXPECT_EQ(m.graph().node(1).input_size(), 2);
  EXPECT_EQ(m.graph().node(2).input_size(), 1);
  ASSERT_EQ(m.graph().initializer_size(), 1);
  EXPECT_EQ(m.graph().initializer(0).name(), "r");
  ExpectAccepted(m);
}

TEST(InferenceTest, AFlagWithOtherReadersStays) {
  onnx::ModelProto m = Model(R"(g (float[N] x, bool given) => (float[N] y, bool z) <float r = {0.5}, bool on = {1}>
    { a = Dropout(x, r, on)
      y = Dropout(a, r, given)
      z = Not(on) })");
  MakeInference(&m);
  EXPECT_EQ(m.graph().initializer_size(), 2);
  EXPECT_EQ(m.graph().input_size(), 2);  // what callers give stays the same
  ExpectAccepted(m);
}

TEST(InferenceTest, SubgraphsAndFunctions) {
  onnx::ModelProto m = ParseModel(R"(<ir_version: 10, opset_import: ["" : 21, "my" : 1]>
    g (float[N] x, bool c) => (float[N] y) <float r = {0.5}, bool on = {1}> {
      a = If(c) <
        then_branch = t () => (float[N] u) { u = Dropout(x, r, on) },
        else_branch = e () => (float[N] v) { yes = Constant<value = bool {1}>()
                                             v = Dropout(x, r, yes) }>
      y, m = my.f<train = 1>(a) }
    <domain: "my", opset_import: ["" : 21]> f <train> (x) => (y, m2) {
      s = Constant<value_floats = [1.0]>()
      b = Constant<value_floats = [0.0]>()
      axes = Constant<value_ints = [1]>()
      x2 = Unsqueeze(x, axes)
      z, m2, v2 = BatchNormalization<training_mode: int = @train>(x2, s, b, b, s)
      y = Squeeze(z, axes) })");
  EXPECT_EQ(Report(&m),
            "1 BatchNormalization in training mode made inference\n2 Dropouts in training mode made inference\n");
  const auto& branches = m.graph().node(0).attribute();
  EXPECT_EQ(Ops(branches[0].g().node()), (Words{"Dropout"}));
  EXPECT_EQ(Ops(branches[1].g().node()), (Words{"Dropout"}));
  EXPECT_EQ(m.graph().initializer_size(), 1);
  EXPECT_EQ(Ops(m.functions(0).node()),
            (Words{"Constant", "Constant", "Constant", "Unsqueeze", "BatchNormalization", "Identity", "Squeeze"}));
  ExpectAccepted(m);
}

TEST(InferenceTest, TheImporterDoesItOnDemand) {
  onnx::ModelProto m = Model(R"(g (float[N, 2] x) => (float[N, 2] y)
    <float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] mean = {3, 4}, float[2] var = {1, 2}, float r = {0.5}, bool on = {1}>
    { a, m2, v2 = BatchNormalization<training_mode = 1>(x, s, b, mean, var)
      y = Dropout(a, r, on) })");
  ImportOptions options;
  // Without it, normalisation trains although nothing reads the new statistics.
  EXPECT_NE(ImportText(m, options).find("training_mode = 1"), std::string::npos) << ImportText(m, options);
  options.inference = true;
  const std::string text = ImportText(m, options);
  EXPECT_EQ(text.find("training_mode"), std::string::npos) << text;
  Result<ImportedModel> imported = Import(m, options);
  ASSERT_TRUE(imported.ok());
  ASSERT_GE(imported->report.size(), 2u);
  EXPECT_EQ(imported->report[0], "1 BatchNormalization in training mode made inference");
}

}  // namespace
}  // namespace headrace::onnx_import
