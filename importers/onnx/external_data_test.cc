// External data: what is read, and the refusals, for a tensor in every place a model can hold one.
#include <sys/stat.h>
#include <unistd.h>

#include "importers/onnx/test_util.h"

namespace headrace::onnx_import {
namespace {

void Point(onnx::TensorProto* t, const std::string& location, const std::string& offset = "",
           const std::string& length = "") {
  t->clear_float_data();
  t->clear_raw_data();
  t->clear_int64_data();
  t->set_data_location(onnx::TensorProto::EXTERNAL);
  auto add = [&](const char* key, const std::string& value) {
    auto* e = t->add_external_data();
    e->set_key(key);
    e->set_value(value);
  };
  add("location", location);
  if (!offset.empty()) add("offset", offset);
  if (!length.empty()) add("length", length);
}

constexpr const char* kPlaces[] = {"initializer", "constant", "sparse", "subgraph", "function", "attribute"};

// A model whose tensor of two floats sits in the given place, and that tensor.
onnx::ModelProto ModelWith(const std::string& place, onnx::TensorProto** tensor) {
  onnx::ModelProto m;
  if (place == "initializer") {
    m = Model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }");
    *tensor = m.mutable_graph()->mutable_initializer(0);
  } else if (place == "constant") {
    m = Model("g (float[2] x) => (float[2] y) { w = Constant<value = float[2] {1, 2}>()\n y = Add(x, w) }");
    *tensor = m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t();
  } else if (place == "sparse") {
    m = Model("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
    auto* s = m.mutable_graph()->add_sparse_initializer();
    s->add_dims(2);
    s->mutable_values()->set_name("w");
    s->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
    s->mutable_values()->add_dims(2);
    s->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
    s->mutable_indices()->add_dims(2);
    s->mutable_indices()->add_int64_data(0);
    s->mutable_indices()->add_int64_data(1);
    *tensor = s->mutable_values();
  } else if (place == "subgraph") {
    m = Model(R"(g (float[2] x, bool c) => (float[2] y) { y = If(c) <
      then_branch = t () => (float[2] a) { w = Constant<value = float[2] {1, 2}>()
                                           a = Add(x, w) },
      else_branch = e () => (float[2] b) { b = Neg(x) }> })");
    *tensor = m.mutable_graph()
                  ->mutable_node(0)
                  ->mutable_attribute(0)
                  ->mutable_g()
                  ->mutable_node(0)
                  ->mutable_attribute(0)
                  ->mutable_t();
  } else if (place == "function") {
    m = ParseModel(R"(<ir_version: 10, opset_import: ["" : 21, "my" : 1]>
      g (float[2] x) => (float[2] y) { y = my.f(x) }
      <domain: "my", opset_import: ["" : 21]> f (a) => (b) { w = Constant<value = float[2] {1, 2}>()
                                                            b = Add(a, w) })");
    *tensor = m.mutable_functions(0)->mutable_node(0)->mutable_attribute(0)->mutable_t();
  } else {
    m = Model("g (int64[1] n, float[2] x) => (float[N] y) { y = ConstantOfShape<value = float[1] {1}>(n) }");
    *tensor = m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t();
    (*tensor)->set_dims(0, 2);
  }
  return m;
}

TEST(ExternalDataTest, IsReadFromTheModelsFolder) {
  Folder folder;
  const float values[3] = {7, 8, 9};
  mkdir((folder / "sub").c_str(), 0755);
  folder.Write("sub/w.bin", std::string(reinterpret_cast<const char*>(values), sizeof values));
  onnx::TensorProto* t;
  onnx::ModelProto m = ModelWith("initializer", &t);
  Point(t, "sub/w.bin", "4", "8");
  Result<ImportedModel> got = ImportModel(folder.Write("m.onnx", m.SerializeAsString()), {}, TestRegistry());
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->program.Entry().Get("w").data.GetDouble(1), 9);
}

TEST(ExternalDataTest, IsRefusedOutsideTheFolderInEveryPlace) {
  Folder folder, elsewhere;
  const std::string bytes(8, '\0');
  folder.Write("w.bin", bytes);
  elsewhere.Write("w.bin", bytes);
  ASSERT_EQ(symlink((elsewhere / "w.bin").c_str(), (folder / "symlink.bin").c_str()), 0);
  ASSERT_EQ(symlink((elsewhere / "").c_str(), (folder / "linked").c_str()), 0);
  folder.Write("hard1.bin", bytes);
  ASSERT_EQ(link((folder / "hard1.bin").c_str(), (folder / "hard2.bin").c_str()), 0);
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  mkdir((folder / "directory").c_str(), 0755);
  struct {
    const char *location, *offset, *length, *error;
  } cases[] = {
      {"../w.bin", "", "", "leaves the model's folder"},
      {"directory/../../w.bin", "", "", "leaves the model's folder"},
      {"/dev/zero", "", "", "the path is absolute"},
      {"symlink.bin", "", "", "is a symbolic link"},
      {"linked/w.bin", "", "", "is a symbolic link"},
      {"hard2.bin", "", "", "has 2 links"},
      {"fifo", "", "", "not a regular file"},
      {"directory", "", "", "names a folder"},
      {"", "", "", "the location is empty"},
      {"absent.bin", "", "", "No such file"},
      {"w.bin", "1", "", "ends before the tensor does"},
      {"w.bin", "999999999999999999", "", "ends before the tensor does"},
      {"w.bin", "18446744073709551615", "", "has a bad offset"},
      {"w.bin", "-1", "", "has a bad offset"},
      {"w.bin", "0", "4", "has the wrong length"},
  };
  for (const char* place : kPlaces)
    for (const auto& c : cases) {
      SCOPED_TRACE(std::string(place) + " " + c.location + " " + c.error);
      onnx::TensorProto* t;
      onnx::ModelProto m = ModelWith(place, &t);
      Point(t, c.location, c.offset, c.length);
      Result<ImportedModel> got = ImportModel(folder.Write("m.onnx", m.SerializeAsString()), {}, TestRegistry());
      ASSERT_FALSE(got.ok());
      EXPECT_NE(got.status().ToString().find(c.error), std::string::npos) << got.status().ToString();
    }
}

TEST(ExternalDataTest, TestDataMustNotPointElsewhere) {
  Folder folder;
  onnx::TensorProto t;
  t.set_data_type(onnx::TensorProto::FLOAT);
  t.add_dims(2);
  Point(&t, "w.bin");
  folder.Write("w.bin", std::string(8, '\0'));
  EXPECT_FALSE(ReadValueFile(folder.Write("input_0.pb", t.SerializeAsString())).ok());
}

}  // namespace
}  // namespace headrace::onnx_import
