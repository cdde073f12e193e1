// ai.onnx.preview.training.Gradient: derivatives of a value that the graph computes, as an autodiff.Backward node.
#include <algorithm>

#include "importers/onnx/lower.h"

namespace headrace::onnx_import {

bool IsGradient(const onnx::NodeProto& node) {
  return node.op_type() == "Gradient" &&
         (node.domain() == "ai.onnx.preview.training" || node.domain() == "ai.onnx.training");
}

void Lowering::LowerGradient(const NodeCall& call, Scope& scope) {
  const onnx::NodeProto& node = *call.node;
  std::vector<std::string> xs, zs;
  for (const auto& a : node.attribute()) {
    if (a.name() == "xs") xs.assign(a.strings().begin(), a.strings().end());
    if (a.name() == "zs") zs.assign(a.strings().begin(), a.strings().end());
  }
  const std::string y = call.Str("y", "");
  // The node may be fed other tensors than those it names: then the graph would have to be run again with them.
  std::vector<std::string> named = xs;
  named.insert(named.end(), zs.begin(), zs.end());
  for (int i = 0; i < node.input_size(); ++i)
    if (i >= static_cast<int>(named.size()) || named[static_cast<size_t>(i)] != node.input(i))
      return Report(UnsupportedError("E0535",
                                     "Gradient at other values than the graph's own: input " + std::to_string(i) +
                                         " is '" + node.input(i) + "'",
                                     "give the tensors named in xs and zs as inputs, in that order"),
                    call);
  if (node.output_size() > static_cast<int>(xs.size()))
    return Report(InvalidError("E0535", "Gradient has more outputs than names in xs"), call);
  // What does not depend on the xs is constant anyway; a zs that does would cut the graph.
  for (const std::string& z : zs)
    if (Val v = scope.Find(z); v && !v->constant && v->container != Name() && emit.sdfg.Find(v->container) &&
                               emit.sdfg.Get(v->container).kind != ContainerKind::kParameter)
      return Report(UnsupportedError("E0535", "Gradient holds '" + z + "' constant, which the graph computes",
                                     "hold graph inputs constant"),
                    call);
  Library l;
  l.domain = "autodiff";
  l.op = "Backward";
  auto value = [&](const std::string& name, const char* port) {
    Val v = scope.Find(name);
    if (!v || v->poison) {
      Report(InvalidError("E0535", "Gradient names '" + name + "', which the graph does not have"), call);
      return false;
    }
    if (v->type.kind != ValueType::kTensor || !(IsFloat(v->type.dtype) || IsComplex(v->type.dtype))) {
      Report(UnsupportedError("E0535", "'" + name + "' has no gradient: it is no float tensor"), call);
      return false;
    }
    l.inputs.push_back({Name(port), Materialize(v)});
    return true;
  };
  if (!value(y, "outputs")) return;
  std::vector<Inferred> out;
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const std::string& x = xs[static_cast<size_t>(i)];
    if (!value(x, "inputs")) return;
    const Val v = scope.Find(x);
    Inferred o;
    o.typed = o.has_rank = true;
    o.type = v->type;
    o.proto = v->proto;
    o.shape = v->shape;
    out.push_back(std::move(o));
    l.outputs.push_back({Name("gradients"), Name()});
  }
  if (static_cast<int>(out.size()) != node.output_size()) {  // outputs that nobody wants
    auto* all = new onnx::NodeProto(node);
    kept_.emplace_back(all);
    all->clear_output();
    for (const auto& o : node.output())
      if (!o.empty()) all->add_output(o);
    NodeCall trimmed = call;
    trimmed.node = all;
    return EmitWithOutputs(std::move(l), trimmed, out, scope);
  }
  EmitWithOutputs(std::move(l), call, out, scope);
}

}  // namespace headrace::onnx_import
