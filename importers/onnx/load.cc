// Files → protobuf: size and nesting limits, weights left in the mapped file.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "importers/onnx/import.h"
#include "importers/onnx/wire.h"
#include "onnx/defs/parser.h"

namespace headrace::onnx_import {
namespace {

std::string FolderOf(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool EndsWith(const std::string& s, const std::string& end) {
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

Status NotAModel(const std::string& why) {
  Diagnostic d;
  d.code = "E0501";
  d.message = "not an ONNX model: " + why;
  return Status(d);
}

}  // namespace

Result<std::shared_ptr<LoadedModel>> LoadModel(const std::string& path) {
  HR_ASSIGN_OR_RETURN(MappedFile file, MapFile(path));
  if (file.bytes->size() == 0) return WithFile(NotAModel("the file is empty"), path);
  auto model = std::make_shared<LoadedModel>(LoadedModel{{}, TensorSource(file.bytes, FolderOf(path))});
  if (EndsWith(path, ".onnxtxt")) {
    try {
      onnx::OnnxParser parser(file.view());
      auto status = parser.Parse(model->proto);
      if (!status.IsOK()) return WithFile(NotAModel(status.ErrorMessage()), path);
    } catch (const std::exception& e) { return WithFile(NotAModel(e.what()), path); }
    return model;
  }
  Result<std::string> small = WithoutRawData(file.view());
  if (!small.ok()) return WithFile(small.status(), path);
  if (small->size() > INT32_MAX)
    return WithFile(UnsupportedError("E0563", "the model without its weights is larger than 2 GiB"), path);
  google::protobuf::io::ArrayInputStream array(small->data(), static_cast<int>(small->size()));
  google::protobuf::io::CodedInputStream coded(&array);
  coded.SetRecursionLimit(3 * kMaxGraphDepth + 40);
  coded.SetTotalBytesLimit(INT32_MAX);
  if (!model->proto.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
    return WithFile(NotAModel("the data is damaged or nested too deeply"), path);
  return model;
}

}  // namespace headrace::onnx_import
