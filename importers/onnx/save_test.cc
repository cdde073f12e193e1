// A copy of a model file with other constants: what changes, what stays, where the data goes, and what is refused.
#include "importers/onnx/save.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "importers/onnx/save_file.h"
#include "importers/onnx/test_util.h"
#include "onnx/checker.h"

namespace headrace::onnx_import {
namespace {

Tensor Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  Tensor t = *Tensor::Create(DType::kF32, std::move(shape));
  std::memcpy(t.data->data(), values.data(), values.size() * sizeof(float));
  return t;
}

SaveOptions With(std::vector<std::pair<std::string, Tensor>> constants) {
  SaveOptions o;
  o.constants = std::move(constants);
  return o;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
onnx::ModelProto Parse(const std::string& path) {
  onnx::ModelProto m;
  EXPECT_TRUE(m.ParseFromString(Contents(path))) << path;
  return m;
}
std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> out;
  DIR* d = opendir(folder.c_str());
  while (const dirent* e = readdir(d))
    if (e->d_name[0] != '.') out.push_back(e->d_name);
  closedir(d);
  std::sort(out.begin(), out.end());
  return out;
}
using Words = std::vector<std::string>;

std::vector<float> ValuesOf(const std::string& model, const std::string& name) {
  auto loaded = LoadModel(model);
  EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
  for (const auto& t : (*loaded)->proto.graph().initializer())
    if (t.name() == name) {
      Result<Tensor> value = (*loaded)->source.Load(t);
      EXPECT_TRUE(value.ok()) << value.status().ToString();
      return {value->as<float>(), value->as<float>() + value->elements()};
    }
  ADD_FAILURE() << "no initializer " << name;
  return {};
}

constexpr char kLinear[] = R"(g (float[N, 2] x) => (float[N, 2] z)
  <float[2, 2] W = {1, 2, 3, 4}, float[2] b = {5, 6}>
  { y = MatMul(x, W)
    c = Constant<value = float[2] {7, 8}>()
    yb = Add(y, b)
    z = Add(yb, c) })";

TEST(SaveTest, OnlyTheNamedInitializersDiffer) {
  Folder folder;
  onnx::ModelProto m = Model(kLinear);
  m.set_producer_name("a producer");
  m.mutable_graph()->mutable_initializer(0)->set_doc_string("weights");
  auto* note = m.add_metadata_props();
  note->set_key("key");
  note->set_value("value");
  const std::string from = folder.Write("m.onnx", m.SerializeAsString()), to = folder / "out.onnx";
  Status s = SaveModel(from, to, With({{"W", Floats({2, 2}, {10, 20, 30, 40})}}));
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(FilesIn(folder / ""), (Words{"m.onnx", "out.onnx"}));
  EXPECT_EQ(ValuesOf(to, "W"), (std::vector<float>{10, 20, 30, 40}));
  onnx::ModelProto saved = Parse(to);
  onnx::checker::check_model(saved);
  *saved.mutable_graph()->mutable_initializer(0) = m.graph().initializer(0);
  EXPECT_EQ(saved.SerializeAsString(), m.SerializeAsString());
}

TEST(SaveTest, LargeTensorsOfTheFileAreKept) {
  Folder folder;
  onnx::ModelProto m = Model("g (float[1000] x) => (float[1000] z) { y = Add(x, a)\n z = Add(y, b) }");
  for (const char* name : {"a", "b"}) {
    auto* t = m.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(onnx::TensorProto::FLOAT);
    t->add_dims(1000);
    t->set_raw_data(std::string(4000, name[0]));
  }
  const std::string from = folder.Write("m.onnx", m.SerializeAsString()), to = folder / "out.onnx";
  ASSERT_TRUE(SaveModel(from, to, With({{"b", Floats({1000}, std::vector<float>(1000, 3))}})).ok());
  EXPECT_EQ(Parse(to).graph().initializer(0).raw_data(), std::string(4000, 'a'));
  EXPECT_EQ(ValuesOf(to, "b"), std::vector<float>(1000, 3));
}

TEST(SaveTest, ModelsInTextAreSavedAsBinary) {
  Folder folder;
  const std::string from =
      folder.Write("m.onnxtxt", "<ir_version: 10, opset_import: [\"\" : 21]>\n" + std::string(kLinear));
  Status s = SaveModel(from, folder / "out.onnx", With({{"b", Floats({2}, {9, 9})}}));
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(ValuesOf(folder / "out.onnx", "b"), (std::vector<float>{9, 9}));
  EXPECT_EQ(ValuesOf(folder / "out.onnx", "W"), (std::vector<float>{1, 2, 3, 4}));
}

TEST(SaveTest, InitializersOfSubgraphs) {
  Folder folder;
  onnx::ModelProto m = Model(R"(g (float[2] x, bool c) => (float[2] y) { y = If(c) <
      then_branch = t () => (float[2] u) <float[2] w = {1, 2}, float[2] both = {1, 1}> { p = Add(x, w) u = Add(p, both) },
      else_branch = e () => (float[2] v) <float[2] both = {2, 2}> { v = Add(x, both) }> })");
  const std::string from = folder.Write("m.onnx", m.SerializeAsString()), to = folder / "out.onnx";
  Status s = SaveModel(from, to, With({{"w", Floats({2}, {5, 6})}}));
  ASSERT_TRUE(s.ok()) << s.ToString();
  onnx::ModelProto saved = Parse(to);
  const auto& w = saved.graph().node(0).attribute(0).g().initializer(0);
  EXPECT_EQ(std::memcmp(w.raw_data().data(), Floats({2}, {5, 6}).data->data(), 8), 0);
  s = SaveModel(from, to, With({{"both", Floats({2}, {5, 6})}}));
  EXPECT_NE(s.ToString().find("several subgraphs have an initializer of that name"), std::string::npos);
}

// A model whose tensors lie in w.bin: W and b as initializers, `tied` the same bytes as W, c in a Constant node.
std::string WriteExternal(const Folder& folder) {
  onnx::ModelProto m = Model(kLinear);
  *m.mutable_graph()->add_initializer() = m.graph().initializer(0);
  m.mutable_graph()->mutable_initializer(2)->set_name("tied");
  auto point = [](onnx::TensorProto* t, int offset, int length) {
    t->clear_float_data();
    t->set_data_location(onnx::TensorProto::EXTERNAL);
    for (auto [key, value] : {std::pair<const char*, std::string>{"location", "w.bin"},
                              {"offset", std::to_string(offset)},
                              {"length", std::to_string(length)}}) {
      auto* e = t->add_external_data();
      e->set_key(key);
      e->set_value(value);
    }
  };
  auto* g = m.mutable_graph();
  point(g->mutable_initializer(0), 0, 16);
  point(g->mutable_initializer(2), 0, 16);
  point(g->mutable_node(1)->mutable_attribute(0)->mutable_t(), 16, 8);
  const float bytes[] = {1, 2, 3, 4, 7, 8};
  folder.Write("w.bin", std::string(reinterpret_cast<const char*>(bytes), sizeof bytes));
  return folder.Write("m.onnx", m.SerializeAsString());
}

TEST(SaveTest, ExternalDataGoesToOneNewFile) {
  Folder folder;
  const std::string from = WriteExternal(folder);
  mkdir((folder / "sub").c_str(), 0755);
  Status s = SaveModel(from, folder / "sub/out.onnx", {});
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(FilesIn(folder / "sub"), (Words{"out.onnx", "out.onnx.data"}));
  EXPECT_EQ(Contents(folder / "sub/out.onnx.data").size(), 4096u + 8u);  // W and `tied` are the same 16 bytes
  EXPECT_EQ(ValuesOf(folder / "sub/out.onnx", "tied"), (std::vector<float>{1, 2, 3, 4}));
  onnx::checker::check_model(folder / "sub/out.onnx", /*full_check=*/true);
  const onnx::ModelProto saved = Parse(folder / "sub/out.onnx");
  const onnx::TensorProto& c = saved.graph().node(1).attribute(0).t();
  EXPECT_EQ(c.external_data(0).value(), "out.onnx.data");
  EXPECT_EQ(c.external_data(1).value(), "4096");
  EXPECT_EQ(c.external_data(2).value(), "8");
}

TEST(SaveTest, ANewValueOfATiedTensorIsItsOwn) {
  Folder folder;
  const std::string from = WriteExternal(folder), to = folder / "out.onnx";
  Status s = SaveModel(from, to, With({{"W", Floats({2, 2}, {9, 9, 9, 9})}, {"b", Floats({2}, {8, 8})}}));
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(ValuesOf(to, "W"), (std::vector<float>{9, 9, 9, 9}));
  EXPECT_EQ(ValuesOf(to, "tied"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(ValuesOf(to, "b"), (std::vector<float>{8, 8}));
  EXPECT_EQ(ValuesOf(from, "W"), (std::vector<float>{1, 2, 3, 4}));
  // Again, over what is there: the data of the model that is read stays what it was.
  ASSERT_TRUE(SaveModel(to, folder / "again.onnx", {}).ok());
  ASSERT_TRUE(SaveModel(from, to, {}).ok());
  EXPECT_EQ(ValuesOf(to, "W"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(ValuesOf(folder / "again.onnx", "W"), (std::vector<float>{9, 9, 9, 9}));
}

TEST(SaveTest, TrainingModeCanBeTakenOut) {
  Folder folder;
  onnx::ModelProto m = Model(R"(g (float[N, 2] x) => (float[N, 2] y)
    <float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] mean = {3, 4}, float[2] var = {1, 2}, float r = {0.5}, bool on = {1}>
    { d = Dropout(x, r, on)
      y, m2, v2 = BatchNormalization<training_mode = 1>(d, s, b, mean, var) })");
  const std::string from = folder.Write("m.onnx", m.SerializeAsString()), to = folder / "out.onnx";
  SaveOptions o = With({{"mean", Floats({2}, {30, 40})}, {"s", Floats({2}, {10, 20})}});
  ASSERT_TRUE(SaveModel(from, to, o).ok());
  EXPECT_EQ(Parse(to).graph().node(1).output_size(), 3);
  o.inference = true;
  ASSERT_TRUE(SaveModel(from, to, o).ok());
  EXPECT_EQ(Parse(to).graph().node(1).output_size(), 1);
  EXPECT_EQ(Parse(to).graph().initializer_size(), 5);
  EXPECT_EQ(ValuesOf(to, "mean"), (std::vector<float>{30, 40}));
  EXPECT_EQ(ValuesOf(to, "s"), (std::vector<float>{10, 20}));
  EXPECT_EQ(ValuesOf(to, "b"), (std::vector<float>{0, 1}));
  EXPECT_EQ(ValuesOf(to, "r"), (std::vector<float>{0.5}));
}

TEST(SaveTest, SmallElementsArePacked) {
  Folder folder;
  onnx::ModelProto m = Model("g () => (int4[3] y) { y = Identity(w) }");
  auto* t = m.mutable_graph()->add_initializer();
  t->set_name("w");
  t->set_data_type(onnx::TensorProto::INT4);
  t->add_dims(3);
  t->set_raw_data(std::string("\x21\x03", 2));
  const std::string from = folder.Write("m.onnx", m.SerializeAsString()), to = folder / "out.onnx";
  Tensor value = *Tensor::Create(DType::kI4, {3});
  const char elements[] = {-1, 7, -8};
  std::memcpy(value.data->data(), elements, 3);
  ASSERT_TRUE(SaveModel(from, to, With({{"w", value}})).ok());
  EXPECT_EQ(Parse(to).graph().initializer(0).raw_data(), std::string("\x7f\x08", 2));
}

TEST(SaveTest, ValuesThatDoNotFitAreRefused) {
  Folder folder;
  onnx::ModelProto m = Model(kLinear);
  auto* sparse = m.mutable_graph()->add_sparse_initializer();
  sparse->mutable_values()->set_name("sparse");
  const std::string from = folder.Write("m.onnx", m.SerializeAsString()), to = folder / "out.onnx";
  auto refusal = [&](std::vector<std::pair<std::string, Tensor>> constants) {
    const Status s = SaveModel(from, to, With(std::move(constants)));
    return s.ok() ? "accepted" : s.ToString();
  };
  EXPECT_NE(refusal({{"WW", Floats({2, 2}, {1, 2, 3, 4})}}).find("the model has no initializer of that name"),
            std::string::npos);
  EXPECT_NE(refusal({{"WW", Floats({2, 2}, {1, 2, 3, 4})}}).find("did you mean 'W'?"), std::string::npos);
  EXPECT_NE(refusal({{"c", Floats({2}, {1, 2})}}).find("E0550"), std::string::npos);  // a Constant node's
  EXPECT_NE(refusal({{"sparse", Floats({2}, {1, 2})}}).find("it is sparse in the model"), std::string::npos);
  const std::string shape = refusal({{"W", Floats({4}, {1, 2, 3, 4})}});
  EXPECT_NE(shape.find("the value does not fit the initializer"), std::string::npos) << shape;
  EXPECT_NE(shape.find("f32[4]"), std::string::npos) << shape;
  EXPECT_NE(shape.find("f32[2, 2]"), std::string::npos) << shape;
  EXPECT_NE(refusal({{"b", *Tensor::Create(DType::kF64, {2})}}).find("f64[2]"), std::string::npos);
  EXPECT_NE(refusal({{"b", Floats({2}, {1, 2})}, {"b", Floats({2}, {1, 2})}}).find("it is given twice"),
            std::string::npos);
  EXPECT_EQ(FilesIn(folder / ""), (Words{"m.onnx"}));
}

TEST(SaveTest, TheModelThatIsReadIsNeverWritten) {
  Folder folder;
  const std::string from = WriteExternal(folder);
  const std::string before = Contents(from);
  ASSERT_EQ(symlink("m.onnx", (folder / "link.onnx").c_str()), 0);
  for (const char* to : {"m.onnx", "./m.onnx", "link.onnx"}) {
    const Status s = SaveModel(from, folder / to, {});
    ASSERT_FALSE(s.ok());
    EXPECT_NE(s.ToString().find("it is the model that is read"), std::string::npos) << s.ToString();
  }
  EXPECT_EQ(Contents(from), before);
  // Nor a file that holds its data.
  ASSERT_EQ(rename((folder / "w.bin").c_str(), (folder / "new.onnx.data").c_str()), 0);
  std::string renamed = before;
  onnx::ModelProto m = Parse(from);
  auto* g = m.mutable_graph();
  for (onnx::TensorProto* t :
       {g->mutable_initializer(0), g->mutable_initializer(2), g->mutable_node(1)->mutable_attribute(0)->mutable_t()})
    t->mutable_external_data(0)->set_value("new.onnx.data");
  folder.Write("m.onnx", m.SerializeAsString());
  const Status s = SaveModel(from, folder / "new.onnx", {});
  EXPECT_NE(s.ToString().find("holds data of the model that is read"), std::string::npos) << s.ToString();
  EXPECT_EQ(Contents(folder / "new.onnx.data").size(), 24u);
}

TEST(SaveTest, WhatCannotBeWrittenLeavesNothingBehind) {
  Folder folder;
  const std::string from = WriteExternal(folder);
  const Words before = FilesIn(folder / "");
  EXPECT_NE(SaveModel(from, folder / "none/out.onnx", {}).ToString().find("the file can't be written: No such file"),
            std::string::npos);
  EXPECT_NE(SaveModel(from, folder / "", {}).ToString().find("it is not a regular file"), std::string::npos);
  EXPECT_NE(SaveModel(from, folder / "out.onnxtxt", {}).ToString().find("E0551"), std::string::npos);
  EXPECT_NE(SaveModel(folder / "w.bin", folder / "out.onnx", {}).ToString().find("E050"), std::string::npos);
  EXPECT_EQ(FilesIn(folder / ""), before);
  // The data can't be written: the model, which comes second, isn't either.
  mkdir((folder / "full").c_str(), 0755);
  mkdir((folder / "full/out.onnx.data").c_str(), 0755);
  EXPECT_NE(SaveModel(from, folder / "full/out.onnx", {}).ToString().find("E0552"), std::string::npos);
  EXPECT_EQ(FilesIn(folder / "full"), (Words{"out.onnx.data"}));
}

TEST(SaveTest, LeftoversOfKilledProcessesAreRemoved) {
  Folder folder;
  FileWriter alive(folder / "out.onnx");
  ASSERT_TRUE(alive.Open().ok());
  for (const char* name : {"out.onnx.tmp1", "out.onnx.tmp2x", "other.onnx.tmp1"}) folder.Write(name, "half");
  ASSERT_EQ(rename((folder / "out.onnx.tmp" + std::to_string(getpid())).c_str(), (folder / "out.onnx.tmp77").c_str()),
            0);
  FileWriter next(folder / "out.onnx");
  ASSERT_TRUE(next.Open().ok());
  Words expected = {"other.onnx.tmp1", "out.onnx.tmp" + std::to_string(getpid()), "out.onnx.tmp2x", "out.onnx.tmp77"};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(FilesIn(folder / ""), expected);
}

TEST(SaveTest, AFullDiskIsSaid) {
  FileWriter full("/dev/full");
  EXPECT_NE(full.Failed(ENOSPC).ToString().find("free some space"), std::string::npos);
}

}  // namespace
}  // namespace headrace::onnx_import
