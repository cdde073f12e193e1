// Tensors of every element type, typed or raw; and weights that stay in the file.
#include "importers/onnx/onnx_types.h"
#include "importers/onnx/test_util.h"
#include "importers/onnx/wire.h"
#include "onnx/onnx-data.pb.h"

namespace headrace::onnx_import {
namespace {

TEST(TensorDataTest, PackedElementsAreUnpackedLowBitsFirst) {
  TensorSource source;
  onnx::TensorProto t;
  t.set_data_type(onnx::TensorProto::INT4);
  t.add_dims(3);
  t.set_raw_data(std::string("\x8f\x07", 2));
  Result<Tensor> got = source.Load(t);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->GetInt(0), -1);
  EXPECT_EQ(got->GetInt(1), -8);
  EXPECT_EQ(got->GetInt(2), 7);
  t.set_data_type(onnx::TensorProto::UINT2);
  t.set_dims(0, 5);
  t.set_raw_data(std::string("\xe4\x02", 2));
  got = source.Load(t);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(got->GetInt(i), i);
  EXPECT_EQ(got->GetInt(4), 2);
}

TEST(TensorDataTest, TypedAndRawDataAgree) {
  const float one = 1.5f;
  struct {
    int type;
    std::string raw;
  } cases[] = {
      {onnx::TensorProto::FLOAT, std::string(reinterpret_cast<const char*>(&one), 4)},
      {onnx::TensorProto::FLOAT16, std::string("\x00\x3e", 2)},
      {onnx::TensorProto::BFLOAT16, std::string("\xc0\x3f", 2)},
      {onnx::TensorProto::FLOAT8E4M3FN, std::string("\x3c", 1)},
      {onnx::TensorProto::FLOAT4E2M1, std::string("\x03", 1)},
  };
  TensorSource source;
  for (const auto& c : cases) {
    SCOPED_TRACE(OnnxTypeName(c.type));
    onnx::TensorProto raw, typed;
    raw.set_data_type(c.type);
    typed.set_data_type(c.type);
    raw.set_raw_data(c.raw);
    if (c.type == onnx::TensorProto::FLOAT) typed.add_float_data(1.5f);
    else
      typed.add_int32_data(static_cast<uint8_t>(c.raw[0]) |
                           (c.raw.size() > 1 ? static_cast<uint8_t>(c.raw[1]) << 8 : 0));
    Result<Tensor> a = source.Load(raw), b = source.Load(typed);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->GetDouble(0), 1.5);
    EXPECT_EQ(b->GetDouble(0), 1.5);
  }
}

TEST(TensorDataTest, LargeWeightsStayInTheMappedFile) {
  onnx::ModelProto m = Model("g (float[1000] x) => (float[1000] y) <float[1000] w = {0}> { y = Add(x, w) }");
  auto* w = m.mutable_graph()->mutable_initializer(0);
  w->clear_float_data();
  w->set_doc_string("\x01taken:0:4000");  // a forged mark has no effect
  w->set_raw_data(std::string(4000, '\2'));
  const std::string bytes = m.SerializeAsString();
  Result<std::string> small = WithoutRawData(bytes);
  ASSERT_TRUE(small.ok());
  EXPECT_LT(small->size(), bytes.size() - 3900);
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(*small));
  auto taken = TakenRange(parsed.graph().initializer(0));
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(bytes.substr(static_cast<size_t>(taken->offset), static_cast<size_t>(taken->length)), w->raw_data());
  Folder folder;
  Result<ImportedModel> got = ImportModel(folder.Write("m.onnx", bytes), {}, TestRegistry());
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->program.Entry().Get("w").data.data->data()[17], '\2');
}

TEST(TensorDataTest, SparseTensorsBecomeDense) {
  TensorSource source;
  onnx::SparseTensorProto s;
  s.add_dims(2);
  s.add_dims(3);
  s.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  s.mutable_values()->add_dims(1);
  s.mutable_values()->add_float_data(5);
  s.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  s.mutable_indices()->add_dims(1);
  s.mutable_indices()->add_dims(2);
  s.mutable_indices()->add_int64_data(1);
  s.mutable_indices()->add_int64_data(2);
  Result<Tensor> got = source.Load(s);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->GetDouble(5), 5);
  EXPECT_EQ(got->GetDouble(0), 0);
  s.mutable_indices()->set_int64_data(1, 3);
  EXPECT_FALSE(source.Load(s).ok());
}

TEST(TensorDataTest, SequencesAndStringsAreRead) {
  Folder folder;
  onnx::SequenceProto s;
  s.set_elem_type(onnx::SequenceProto::TENSOR);
  auto* t = s.add_tensor_values();
  t->set_data_type(onnx::TensorProto::STRING);
  t->add_dims(2);
  t->add_string_data("a");
  t->add_string_data("");
  Result<Value> v = ReadValueFile(folder.Write("input_0.pb", s.SerializeAsString()));
  ASSERT_TRUE(v.ok()) << v.status().ToString();
  ASSERT_EQ(v->kind, Value::kSequence);
  EXPECT_EQ((*v->items[0].tensor.strings)[0], "a");
  v = ReadValueFile(folder.Write("input_1.pb", t->SerializeAsString()));
  ASSERT_TRUE(v.ok()) << v.status().ToString();
  EXPECT_EQ(v->kind, Value::kTensor);
}

}  // namespace
}  // namespace headrace::onnx_import
