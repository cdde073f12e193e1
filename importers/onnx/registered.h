// Between NodeCalls and what the registry sees of nodes (registered.cc).
#pragma once
#include <string>

#include "importers/onnx/node_call.h"
#include "ir/registry/inference.h"

namespace headrace::onnx_import {

// Port of argument i; the last declared one takes the rest when it is variadic. `registered`: of ops without a schema.
struct DeclaredPort {
  std::string name;
  bool variadic = false;
};
Result<DeclaredPort> PortAt(const NodeCall& call, const OpSignature* registered, size_t i, bool input);

// A library node's attributes as ONNX's; those that are graphs or tensors can't be.
Status SetAttributes(const Library& l, onnx::NodeProto* node);

// The ops that the importer lowers itself, as implementations "import": `headrace ops` lists them as served.
Status RegisterOwnLowerings(Registry& registry);
// ONNX's inference, and ours beside it, for every domain that has schemas.
Status RegisterInference(Registry& registry);

}  // namespace headrace::onnx_import
