// If: a conditional, or the taken branch alone when the condition is known. Bodies are lowered in place as blocks.
#include <algorithm>

#include "importers/onnx/lower.h"
#include "importers/onnx/onnx_types.h"

namespace headrace::onnx_import {

Expr Lowering::ScalarOf(const Val& v) {
  if (v->known && v->known->size() == 1) return (*v->known)[0];
  Name c = Materialize(v);
  return ReadExpr(c, std::vector<Expr>(v->shape.size(), IntExpr(0)));
}

Val Lowering::ScalarValue(const std::string& name, DType t, Expr value) {
  auto v = std::make_shared<ValueInfo>();
  v->name = name;
  v->type.dtype = t;
  v->known = std::vector<Expr>{std::move(value)};
  return v;
}

// The values of a subgraph's outputs, after its nodes went into `scope`. Null entries were reported.
std::vector<Val> Lowering::GraphOutputs(const onnx::GraphProto& g, Scope& scope, const NodeCall& call) {
  std::vector<Val> out;
  for (const auto& o : g.output()) {
    Val v = scope.Find(o.name());
    if (!v) {
      Diagnostic d;
      d.code = "E0527";
      d.message = "output '" + o.name() + "' of the subgraph is made by no node";
      Report(Status(d), call);
    }
    out.push_back(v && !v->poison ? v : nullptr);
  }
  return out;
}

std::vector<Val> Lowering::LowerGraph(const onnx::GraphProto& g, Scope& scope, const NodeCall& call) {
  Initializers(g, scope);
  std::vector<std::string> wanted;
  for (const auto& o : g.output()) wanted.push_back(o.name());
  const std::string origin = emit.origin().Label();
  Nodes(g.node(), scope, wanted);
  emit.SetOrigin(origin);
  return GraphOutputs(g, scope, call);
}

namespace {

Status BranchError(const std::string& message, std::string got = "") {
  Diagnostic d;
  d.code = "E0542";
  d.message = message;
  d.got = std::move(got);
  return Status(d);
}

bool SameType(const ValueType& a, const ValueType& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == ValueType::kTensor) return a.dtype == b.dtype;
  return a.element && b.element && SameType(*a.element, *b.element);
}

}  // namespace

void Lowering::LowerIf(const NodeCall& call, Scope& scope) {
  const auto *then_graph = call.Attr("then_branch"), *else_graph = call.Attr("else_branch");
  const Val& condition = call.inputs.empty() ? nullptr : call.inputs[0];
  if (!condition || condition->type.dtype != DType::kBool || condition->type.kind != ValueType::kTensor)
    return Report(BranchError("the condition must be a bool"), call);
  const onnx::GraphProto* graphs[2] = {&then_graph->g(), &else_graph->g()};
  const onnx::NodeProto& node = *call.node;
  for (const auto* g : graphs)
    if (g->output_size() != node.output_size())
      return Report(BranchError("a branch has " + std::to_string(g->output_size()) + " outputs, the node " +
                                std::to_string(node.output_size())),
                    call);
  if (auto known = call.KnownInts(0); known && known->size() == 1) {
    Scope inner;
    inner.parent = &scope;
    inner.opsets = scope.opsets;
    inner.prefix = scope.prefix;
    std::vector<Val> values = LowerGraph(*graphs[(*known)[0] ? 0 : 1], inner, call);
    if (std::find(values.begin(), values.end(), nullptr) != values.end()) return Poison(node, scope);
    for (int i = 0; i < node.output_size(); ++i)
      if (!node.output(i).empty()) scope.values[node.output(i)] = values[static_cast<size_t>(i)];
    return;
  }
  const Expr test = ScalarOf(condition);
  std::vector<Val> values[2];
  std::vector<BlockId> blocks[2];
  int body[2];
  bool ok = true;
  for (int b = 0; b < 2; ++b) {
    Scope inner;
    inner.parent = &scope;
    inner.opsets = scope.opsets;
    inner.prefix = scope.prefix;
    emit.OpenBody();
    body[b] = emit.body();
    values[b] = LowerGraph(*graphs[b], inner, call);
    blocks[b] = emit.CloseBody();
    for (const Val& v : values[b]) ok = ok && v != nullptr;
  }
  if (!ok) return Poison(node, scope);

  // Outputs: dimensions that the branches agree on stay; the others become sizes that each branch sets.
  struct Output {
    Val value;
    std::vector<Name> symbols;
  };
  std::vector<Output> outputs;
  for (int i = 0; i < node.output_size(); ++i) {
    const Val &a = values[0][static_cast<size_t>(i)], &b = values[1][static_cast<size_t>(i)];
    const std::string& name = node.output(i);
    if (!SameType(a->type, b->type))
      return Report(BranchError("the branches give output '" + name + "' different types",
                                TypeText(ToTypeProto(*a)) + " and " + TypeText(ToTypeProto(*b))),
                    call);
    if (a->shape.size() != b->shape.size()) {
      Diagnostic d;
      d.kind = ErrorKind::kUnsupported;
      d.code = "E0542";
      d.message = "the branches give output '" + name + "' different ranks";
      d.got = std::to_string(a->shape.size()) + " and " + std::to_string(b->shape.size());
      return Report(Status(d), call);
    }
    Output out;
    out.value = std::make_shared<ValueInfo>();
    out.value->name = name;
    out.value->type = a->type;
    out.value->proto = ToTypeProto(*a);
    for (size_t d = 0; d < a->shape.size(); ++d) {
      Name symbol;
      if (a->shape[d] == b->shape[d]) {
        out.value->shape.push_back(a->shape[d]);
      } else {
        symbol = emit.Unique(Identifier(name, "t") + "_d" + std::to_string(d));
        out.value->shape.push_back(SymbolExpr(symbol));
      }
      out.symbols.push_back(symbol);
    }
    out.value->container = NewContainer(name, *out.value, out.value->shape);
    out.value->body = emit.body();
    outputs.push_back(std::move(out));
  }
  for (int b = 0; b < 2; ++b) {
    emit.OpenBody(std::move(blocks[b]), body[b]);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Val& v = values[b][i];
      for (size_t d = 0; d < v->shape.size(); ++d)
        if (!outputs[i].symbols[d].empty()) emit.Append(Assign{outputs[i].symbols[d], v->shape[d]});
      CopyValue(outputs[i].value->container, v);
    }
    blocks[b] = emit.CloseBody();
  }
  Conditional conditional;
  conditional.branches.push_back({test, std::move(blocks[0])});
  conditional.branches.push_back({Expr(), std::move(blocks[1])});
  emit.Append(std::move(conditional));
  for (Output& o : outputs) {
    journal_.push_back(o.value);
    if (!o.value->name.empty()) scope.values[o.value->name] = o.value;
  }
}

}  // namespace headrace::onnx_import
