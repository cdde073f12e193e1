// Models from ONNX's text syntax, imported and printed.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "importers/onnx/import.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"
#include "onnx/defs/parser.h"

namespace headrace::onnx_import {

inline const Registry& TestRegistry() {
  static const Registry* const r = [] {
    auto* registry = new Registry;
    Status s = RegisterSchemas(*registry);
    if (!s.ok()) ADD_FAILURE() << s.ToString();
    return registry;
  }();
  return *r;
}

inline onnx::ModelProto ParseModel(const std::string& text) {
  onnx::ModelProto model;
  onnx::OnnxParser parser(text);
  auto status = parser.Parse(model);
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

// A graph in ONNX's text syntax with a header in front.
inline onnx::ModelProto Model(const std::string& graph, int opset = 21) {
  return ParseModel("<ir_version: 10, opset_import: [\"\" : " + std::to_string(opset) + "]>\n" + graph);
}

inline Result<ImportedModel> Import(const onnx::ModelProto& model, const ImportOptions& options = {}) {
  TensorSource source;
  return ImportProto(model, &source, options, TestRegistry());
}

// The program as text without origins; or the errors.
inline std::string ImportText(const onnx::ModelProto& model, const ImportOptions& options = {}) {
  Result<ImportedModel> m = Import(model, options);
  if (!m.ok()) return m.status().ToString();
  Status verified = Verify(m->program);
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  PrintOptions print;
  print.origins = false;
  return Print(m->program, print);
}

// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    const char* base = std::getenv("TEST_TMPDIR");
    std::string pattern = std::string(base ? base : "/tmp") + "/importer_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }

 private:
  std::string path_;
};

}  // namespace headrace::onnx_import
