// Function bodies: model-local ones and those of ONNX's schemas, lowered in place of the call.
#include <algorithm>

#include "importers/onnx/lower.h"
#include "importers/onnx/onnx_types.h"

namespace headrace::onnx_import {
namespace {

constexpr int kMaxCallDepth = 64;

using Bindings = std::map<std::string, const onnx::AttributeProto*>;

void BindNode(onnx::NodeProto* node, const Bindings& bindings);
void BindGraph(onnx::GraphProto* g, const Bindings& bindings) {
  for (auto& n : *g->mutable_node()) BindNode(&n, bindings);
}

// References to the function's attributes become the call's values; an unset one without default vanishes.
void BindNode(onnx::NodeProto* node, const Bindings& bindings) {
  auto* attributes = node->mutable_attribute();
  for (int i = attributes->size() - 1; i >= 0; --i) {
    onnx::AttributeProto& a = *attributes->Mutable(i);
    if (a.has_g()) BindGraph(a.mutable_g(), bindings);
    for (auto& g : *a.mutable_graphs()) BindGraph(&g, bindings);
    if (a.ref_attr_name().empty()) continue;
    auto it = bindings.find(a.ref_attr_name());
    if (it == bindings.end()) {
      attributes->DeleteSubrange(i, 1);
      continue;
    }
    std::string name = a.name();
    a = *it->second;
    a.set_name(name);
  }
}

}  // namespace

void Lowering::Inline(const onnx::FunctionProto& f, const NodeCall& call, Scope& scope) {
  if (depth_ >= kMaxCallDepth) {
    Diagnostic d;
    d.kind = ErrorKind::kUnsupported;
    d.code = "E0528";
    d.message = "function calls are nested deeper than " + std::to_string(kMaxCallDepth) + " levels";
    return Report(Status(d), call);
  }
  if (static_cast<int>(call.inputs.size()) > f.input_size() || call.node->output_size() > f.output_size()) {
    Diagnostic d;
    d.code = "E0526";
    d.message = "the call of function '" + f.name() + "' has more arguments than the function";
    return Report(Status(d), call);
  }
  Bindings bindings;
  for (const auto& a : f.attribute_proto()) bindings[a.name()] = &a;
  for (const auto& a : call.node->attribute()) bindings[a.name()] = &a;
  auto body = std::make_unique<google::protobuf::RepeatedPtrField<onnx::NodeProto>>(f.node());
  for (auto& n : *body) BindNode(&n, bindings);

  Scope inner;
  Opsets opsets = OpsetsOf(f.opset_import());
  for (const auto& [domain, version] : *scope.opsets) opsets.emplace(domain, version);
  inner.opsets = &opsets;
  inner.prefix = emit.origin().Label() + "/";
  for (int i = 0; i < f.input_size(); ++i)
    if (static_cast<size_t>(i) < call.inputs.size() && call.inputs[static_cast<size_t>(i)])
      inner.values[f.input(i)] = call.inputs[static_cast<size_t>(i)];
  // An absent argument reads as an absent input wherever the body passes it on.
  for (auto& n : *body)
    for (auto& input : *n.mutable_input())
      if (!input.empty() && !inner.values.count(input) &&
          std::find(f.input().begin(), f.input().end(), input) != f.input().end())
        input.clear();
  std::vector<std::string> wanted;
  for (int i = 0; i < call.node->output_size(); ++i)
    if (!call.node->output(i).empty()) wanted.push_back(f.output(i));
  const Origin origin = emit.origin();
  ++depth_;
  Nodes(*body, inner, wanted);
  --depth_;
  emit.SetOrigin(origin.Label());
  for (int i = 0; i < call.node->output_size(); ++i) {
    if (call.node->output(i).empty()) continue;
    if (Val v = inner.Find(f.output(i))) {
      scope.values[call.node->output(i)] = v;
    } else {
      if (errors.empty()) {
        Diagnostic d;
        d.code = "E0527";
        d.message = "output '" + f.output(i) + "' of function '" + f.name() + "' is made by none of its nodes";
        Report(Status(d), call);
      }
      return Poison(*call.node, scope);
    }
  }
}

// Ops whose schema has a body that only the importer can lower, because it takes a graph.
bool Lowering::InlineSchemaFunction(const NodeCall& call, Scope& scope) {
  const auto& attributes = call.node->attribute();
  if (!call.schema || !call.schema->HasContextDependentFunction() ||
      std::none_of(attributes.begin(), attributes.end(), [](const auto& a) { return a.has_g(); }))
    return false;
  std::vector<onnx::TypeProto> types;
  for (const Val& v : call.inputs) types.push_back(v ? ToTypeProto(*v) : onnx::TypeProto());
  onnx::FunctionProto f;
  try {
    onnx::FunctionBodyBuildContextImpl context(*call.node, types);
    if (!call.schema->BuildContextDependentFunction(context, f, call.opset)) return false;
  } catch (const std::exception& e) {
    Report(InvalidError("E0534", e.what()), call);
    return true;
  }
  // Its own graph attributes were copied into the body and capture the caller's values by name.
  onnx::NodeProto bare = *call.node;
  for (int i = bare.attribute_size() - 1; i >= 0; --i)
    if (bare.attribute(i).has_g()) bare.mutable_attribute()->DeleteSubrange(i, 1);
  NodeCall plain = call;
  plain.node = &bare;
  Scope outer;
  outer.parent = &scope;
  outer.opsets = scope.opsets;
  outer.prefix = scope.prefix;
  ++within_schema_;
  Inline(f, plain, outer);
  --within_schema_;
  for (const auto& o : call.node->output())
    if (!o.empty() && outer.values.count(o)) scope.values[o] = outer.values[o];
  return true;
}

}  // namespace headrace::onnx_import
