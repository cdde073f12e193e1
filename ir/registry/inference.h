// Inference of ops that no importer knows: port types from the signature, sizes and values from its shape form, evaluated
// by the elaborator. Registry::InferOutputs asks here; what a caller needs to ask it about a node in the making is here, too.
#pragma once
#include <string>
#include <vector>

#include "ir/elaborate/elaborate.h"
#include "ir/registry/registry.h"

namespace headrace {

// The op as messages name it: `onnx.Softplus (opset 1)`; version 0: without it.
std::string LabelOf(const Library& l, int version);
// What the elaborator needs to know of a node.
FormContext FormContextOf(const NodeView& v, const std::string& sdfg_name);

// The view of a node that is in no program yet: `l` gives op, version and attributes, the ports are given one by one
// (variadic ones repeat their name) and are put into the signature's order, with absent ones in between.
Result<NodeView> ViewOf(const Registry& r, const Library& l, std::vector<PortView> inputs,
                        std::vector<PortView> outputs, const std::string& name);

// By the signature and its shape form alone. Outputs that the form says nothing of have a type and no shape.
Result<std::vector<InferredOutput>> InferBySignature(const NodeView& v);
// For whoever needs sizes that an op does not give: says how to write the rule.
Status NoShapeRule(const NodeView& v, const std::string& output);

// "float", "integer" … as types of ports stand for a family of dtypes; null for other words.
const std::vector<std::string>* TypeFamily(const std::string& word);

}  // namespace headrace
