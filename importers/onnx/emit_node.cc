// Nodes as library nodes: ports by the schema's names, attributes, constants, known values.
#include <algorithm>

#include "importers/onnx/lower.h"
#include "importers/onnx/onnx_types.h"
#include "importers/onnx/registered.h"

namespace headrace::onnx_import {

Result<Attribute> Lowering::ToAttribute(const onnx::AttributeProto& a) {
  using AP = onnx::AttributeProto;
  Attribute out;
  switch (TypeOfAttribute(a)) {
    case AP::INT: out.value = a.i(); return out;
    case AP::FLOAT: out.value = static_cast<double>(a.f()); return out;
    case AP::STRING: out.value = a.s(); return out;
    case AP::INTS: out.value = std::vector<int64_t>(a.ints().begin(), a.ints().end()); return out;
    case AP::FLOATS: out.value = std::vector<double>(a.floats().begin(), a.floats().end()); return out;
    case AP::STRINGS: out.value = std::vector<std::string>(a.strings().begin(), a.strings().end()); return out;
    case AP::TYPE_PROTO: out.value = TypeText(a.tp()); return out;
    case AP::TENSOR: {
      HR_ASSIGN_OR_RETURN(Tensor t, source_->Load(a.t()));
      out.value = std::move(t);
      return out;
    }
    case AP::SPARSE_TENSOR: {
      HR_ASSIGN_OR_RETURN(Tensor t, source_->Load(a.sparse_tensor()));
      out.value = std::move(t);
      return out;
    }
    default:
      return UnsupportedError("E0532", "attribute '" + a.name() + "' is " + AttributeTypeText(TypeOfAttribute(a)) +
                              ", which is not supported");
  }
}

// Constant: its value is known without running anything. False for nodes that carry none.
bool Lowering::Constant(const NodeCall& call, Scope& scope) {
  using AP = onnx::AttributeProto;
  if (call.node->attribute_size() == 0 || call.node->output_size() != 1) return false;
  const auto& a = call.node->attribute(0);
  Result<Tensor> t = InvalidError("E0533", "a Constant without a value");
  auto fill = [&](DType type, std::vector<int64_t> shape, int64_t n, auto&& set) {
    t = Tensor::Create(type, std::move(shape));
    for (int64_t i = 0; t.ok() && i < n; ++i) set(*t, i);
  };
  switch (TypeOfAttribute(a)) {
    case AP::TENSOR: t = source_->Load(a.t()); break;
    case AP::SPARSE_TENSOR: t = source_->Load(a.sparse_tensor()); break;
    case AP::INT: fill(DType::kI64, {}, 1, [&](Tensor& x, int64_t) { x.SetInt(0, a.i()); }); break;
    case AP::FLOAT: fill(DType::kF32, {}, 1, [&](Tensor& x, int64_t) { x.SetDouble(0, a.f()); }); break;
    case AP::INTS:
      fill(DType::kI64, {a.ints_size()}, a.ints_size(),
           [&](Tensor& x, int64_t i) { x.SetInt(i, a.ints(static_cast<int>(i))); });
      break;
    case AP::FLOATS:
      fill(DType::kF32, {a.floats_size()}, a.floats_size(),
           [&](Tensor& x, int64_t i) { x.SetDouble(i, a.floats(static_cast<int>(i))); });
      break;
    case AP::STRING:
    case AP::STRINGS: {
      Tensor x;
      x.dtype = DType::kString;
      x.strings = std::make_shared<std::vector<std::string>>(a.strings().begin(), a.strings().end());
      if (TypeOfAttribute(a) == AP::STRING) x.strings->assign(1, a.s());
      else x.shape = {a.strings_size()};
      t = std::move(x);
      break;
    }
    default: return false;
  }
  if (!t.ok()) {
    Report(t.status(), call);
    return true;
  }
  auto v = std::make_shared<ValueInfo>();
  v->name = call.node->output(0);
  v->type.dtype = t->dtype;
  for (int64_t d : t->shape) v->shape.push_back(IntExpr(d));
  if (IsIntegral(t->dtype) && t->elements() <= kMaxKnownElements) v->known = ConstantElements(*t);
  v->constant = std::move(*t);
  scope.values[v->name] = v;
  return true;
}

// Ports, attributes and known values; outputs are still without containers.
Result<Library> Lowering::MakeLibrary(const NodeCall& call) {
  Library l;
  const std::string domain = IrDomain(call.node->domain());
  const OpSignature* plugin_op = call.schema ? nullptr : registry_.FindOp(domain, call.op(), call.opset);
  l.domain = domain;
  l.op = call.op();
  l.version = call.schema ? call.schema->since_version() : plugin_op->since_version;
  for (const auto& a : call.node->attribute()) {
    HR_ASSIGN_OR_RETURN(Attribute value, ToAttribute(a));
    l.attributes.emplace_back(a.name(), std::move(value));
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    HR_ASSIGN_OR_RETURN(DeclaredPort port, PortAt(call, plugin_op, i, true));
    const Val& v = call.inputs[i];
    if (!v) {
      if (port.variadic) l.inputs.push_back({port.name, Name()});
      continue;
    }
    l.inputs.push_back({port.name, Materialize(v)});
    if (v->known && !v->constant && !port.variadic) {
      std::vector<std::string> texts;
      for (const Expr& e : *v->known) texts.push_back(ToString(e));
      l.attributes.emplace_back("known." + port.name, Attribute{std::move(texts)});
    }
  }
  for (int i = 0; i < call.node->output_size(); ++i) {
    HR_ASSIGN_OR_RETURN(DeclaredPort port, PortAt(call, plugin_op, static_cast<size_t>(i), false));
    l.outputs.push_back({port.name, Name()});
  }
  std::sort(l.attributes.begin(), l.attributes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return l;
}

void Lowering::Emit(const NodeCall& call, const std::vector<Inferred>& out, Scope& scope) {
  // A result that is known needs no node: its container is made if someone still reads it.
  if (auto known = InferValue(call, out[0]); known && out.size() == 1) {
    Val v = MakeOutput(call.node->output(0), out[0], scope, nullptr);
    v->known = std::move(known);
    return;
  }
  Result<Library> made = MakeLibrary(call);
  if (!made.ok()) return Report(made.status(), call);
  EmitWithOutputs(std::move(*made), call, out, scope);
}

void Lowering::EmitWithOutputs(Library l, const NodeCall& call, const std::vector<Inferred>& out, Scope& scope) {
  std::vector<Port> outputs;
  for (size_t i = 0; i < out.size(); ++i) {
    const std::string& name = call.node->output(static_cast<int>(i));
    if (name.empty()) continue;
    Val v = MakeOutput(name, out[i], scope, &l.defines);
    auto parameter =
        scope.parent == nullptr && scope.prefix.empty() ? output_containers.find(name) : output_containers.end();
    if (parameter != output_containers.end() && !emit.sdfg.Find(parameter->second)) {
      Container c;
      c.name = parameter->second;
      c.kind = v->type.kind == ValueType::kTensor ? ContainerKind::kParameter : ContainerKind::kSequence;
      c.dtype = v->type.dtype;
      c.type = v->type;
      v->shape = ParameterShape(name, v->shape);
      c.shape = v->shape;
      emit.Add(std::move(c));
      v->container = parameter->second;
    } else {
      v->container = NewContainer(name, *v, v->shape);
    }
    v->body = emit.body();
    journal_.push_back(v);
    if (out[i].known) v->known = out[i].known;
    outputs.push_back({l.outputs[i].name, v->container});
  }
  l.outputs = std::move(outputs);
  emit.Statement(std::move(l));
}

}  // namespace headrace::onnx_import
