// ONNX files → programs.
#pragma once
#include <string>

#include "importers/onnx/lower.h"
#include "importers/onnx/tensor_data.h"
#include "ir/registry/registry.h"
#include "onnx/onnx_pb.h"

namespace headrace::onnx_import {

// A model as protobuf, its large tensors still in the mapped file.
struct LoadedModel {
  onnx::ModelProto proto;
  TensorSource source;
};
// `path` ends in .onnx (binary) or .onnxtxt (ONNX's text syntax).
Result<std::shared_ptr<LoadedModel>> LoadModel(const std::string& path);

// Everything wrong with the model that can be seen without inference (check.cc).
struct ModelCheck {
  std::vector<Diagnostic> wrong;                      // empty when nothing is
  std::unordered_set<const onnx::NodeProto*> nodes;   // that are wrong by themselves: unknown ops, attributes, counts
  bool only_nodes = true;                             // the rest of the model can be looked at further
};
ModelCheck CheckModel(const onnx::ModelProto& model, const Registry& registry);

Result<ImportedModel> ImportModel(const std::string& path, const ImportOptions& options, const Registry& registry);
Result<ImportedModel> ImportProto(const onnx::ModelProto& model, TensorSource* source, const ImportOptions& options,
                                  const Registry& registry);
Status CheckFile(const std::string& path, const Registry& registry);

// Declares every ONNX schema as an OpSignature, and their function bodies as implementations named "function".
Status RegisterSchemas(Registry& registry);

}  // namespace headrace::onnx_import
