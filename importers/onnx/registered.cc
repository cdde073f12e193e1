// Nodes and the registry: ops that ONNX has no schema for are inferred there; ONNX's own inference is registered there.
#include <algorithm>
#include <set>

#include "importers/onnx/lower.h"
#include "importers/onnx/onnx_types.h"
#include "importers/onnx/registered.h"

namespace headrace::onnx_import {

Result<DeclaredPort> PortAt(const NodeCall& call, const OpSignature* registered, size_t i, bool input) {
  auto at = [&](const auto& ports, auto&& variadic, auto&& name) -> Result<DeclaredPort> {
    if (i >= ports.size() && (ports.empty() || !variadic(ports.back())))
      return InvalidError("E0526", std::string("the op has no ") + (input ? "input " : "output ") + std::to_string(i));
    const auto& p = ports[std::min(i, ports.size() - 1)];
    return DeclaredPort{name(p), variadic(p)};
  };
  if (call.schema)
    return at(input ? call.schema->inputs() : call.schema->outputs(),
              [](const auto& p) { return p.GetOption() == onnx::OpSchema::Variadic; },
              [](const auto& p) { return p.GetName(); });
  return at(input ? registered->inputs : registered->outputs, [](const auto& p) { return p.variadic; },
            [](const auto& p) { return p.name; });
}

namespace {

PortView ViewOfValue(const std::string& port, const ValueInfo* v) {
  PortView p;
  p.name = port;
  p.present = v != nullptr;
  if (!v) return p;
  p.dtype = v->type.dtype;
  p.type = v->type;
  p.shape = v->shape;
  if (v->constant) p.constant = &*v->constant;
  if (v->known) p.known = *v->known, p.has_known = true;
  return p;
}

// The views of the node's inputs; variadic ones repeat, `names` are those by which a size reads them.
Result<std::vector<PortView>> InputViews(const NodeCall& call, const OpSignature* op, std::vector<std::string>* names) {
  std::vector<PortView> out;
  std::map<std::string, int> count;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    HR_ASSIGN_OR_RETURN(DeclaredPort port, PortAt(call, op, i, true));
    out.push_back(ViewOfValue(port.name, call.In(i)));
    names->push_back(port.variadic ? port.name + "_" + std::to_string(count[port.name]++) : port.name);
  }
  return out;
}

}  // namespace

Result<std::vector<Inferred>> Lowering::InferRegistered(const NodeCall& call) {
  const std::string domain = IrDomain(call.node->domain());
  const OpSignature* op = registry_.FindOp(domain, call.op(), call.opset);
  Library l;
  l.domain = domain;
  l.op = call.op();
  l.version = op->since_version;
  for (const auto& a : call.node->attribute()) {
    HR_ASSIGN_OR_RETURN(Attribute value, ToAttribute(a));
    l.attributes.emplace_back(a.name(), std::move(value));
  }
  std::vector<std::string> names;
  HR_ASSIGN_OR_RETURN(std::vector<PortView> inputs, InputViews(call, op, &names));
  std::vector<PortView> outputs;
  for (int i = 0; i < call.node->output_size(); ++i) {
    HR_ASSIGN_OR_RETURN(DeclaredPort port, PortAt(call, op, static_cast<size_t>(i), false));
    PortView p;
    p.name = port.name;
    p.present = !call.node->output(i).empty();
    outputs.push_back(std::move(p));
  }
  HR_ASSIGN_OR_RETURN(NodeView view, ViewOf(registry_, l, std::move(inputs), std::move(outputs), emit.origin().Label()));
  HR_ASSIGN_OR_RETURN(std::vector<InferredOutput> found, registry_.InferOutputs(view));
  std::vector<Inferred> out(static_cast<size_t>(call.node->output_size()));
  for (size_t i = 0; i < out.size() && i < found.size(); ++i) {
    out[i].typed = found[i].typed, out[i].type = found[i].type;
    out[i].has_rank = found[i].has_shape, out[i].shape = std::move(found[i].shape);
    if (found[i].has_known) out[i].known = std::move(found[i].known);
  }
  return out;
}

Status Lowering::RegisteredLacks(const NodeCall& call, size_t output, bool typed) {
  const std::string& name = call.node->output(static_cast<int>(output));
  const std::string op = IrDomain(call.node->domain()) + "." + call.op();
  const OpSignature* signature = registry_.FindOp(IrDomain(call.node->domain()), call.op(), call.opset);
  Result<DeclaredPort> port = PortAt(call, signature, output, false);
  Library l;
  l.domain = IrDomain(call.node->domain()), l.op = call.op();
  NodeView v;
  v.node = &l;
  v.name = emit.origin().Label();
  for (const PortSignature& p : signature->inputs) v.inputs.emplace_back().name = p.name;
  const std::string named = port.ok() ? port->name : name;
  if (typed) return NoShapeRule(v, named);
  Diagnostic d;
  d.kind = ErrorKind::kUnsupported;
  d.code = "E0317";
  d.message = "the type of output '" + named + "' can't be inferred: no input of " + op + " has it";
  d.hint = "its plugin says it: .Output(\"" + named + "\", \"f32\"), or the name of the input whose type it has";
  return Status(d);
}

// Sizes that read inputs become symbols set before the node.
void Lowering::DefineRegisteredSizes(const NodeCall& call, std::vector<Inferred>* out) {
  const OpSignature* op = registry_.FindOp(IrDomain(call.node->domain()), call.op(), call.opset);
  std::vector<std::string> names;
  Result<std::vector<PortView>> views = InputViews(call, op, &names);
  if (!views.ok()) return;
  auto container = [&](const Expr& e) -> Expr {
    if (!e.Is(ExprKind::kRead)) return e;
    const size_t i = static_cast<size_t>(std::find(names.begin(), names.end(), e->name.str()) - names.begin());
    return i < names.size() && call.inputs[i] ? ReadExpr(Materialize(call.inputs[i]), e->args) : e;
  };
  for (size_t i = 0; i < out->size(); ++i)
    for (Expr& size : (*out)[i].shape) {
      if (!size || ReadContainers(size).empty()) continue;
      const Name symbol = emit.Unique(Identifier(call.node->output(static_cast<int>(i)), "t") + "_n");
      emit.Append(Assign{symbol, Transform(size, container)});
      size = SymbolExpr(symbol);
      emit.Append(Require{BinaryExpr(Op::kGe, size, IntExpr(0)),
                          call.op() + " '" + emit.origin().Label() + "': a size that it is given is negative: {}",
                          {size}});
    }
}

namespace {

// The node as ONNX's inference wants it: values without containers.
struct ViewedNode {
  onnx::NodeProto node;
  NodeCall call;
};
Result<std::unique_ptr<ViewedNode>> FromView(const NodeView& v) {
  auto out = std::make_unique<ViewedNode>();
  const Library& l = *v.node;
  const std::string domain = OnnxDomain(l.domain.str());
  const int version = l.version > 0 ? l.version : v.signature ? v.signature->since_version : 1;
  out->node.set_op_type(l.op.str());
  out->node.set_domain(domain);
  out->node.set_name(v.name);
  out->call.node = &out->node;
  out->call.opset = version;
  out->call.schema = onnx::OpSchemaRegistry::Schema(l.op.str(), version, domain);
  if (!out->call.schema) return UnsupportedError("E0523", "ONNX has no op " + l.domain.str() + "." + l.op.str());
  for (const PortView& p : v.inputs) {
    out->node.add_input(p.present ? p.name : "");
    auto& value = out->call.inputs.emplace_back();
    if (!p.present) continue;
    if (p.type.kind != ValueType::kTensor) return UnsupportedError("E0534", "sequences are inferred at import only");
    value = std::make_shared<ValueInfo>();
    value->name = p.name;
    value->type = p.type;
    value->type.dtype = p.dtype;
    value->shape = p.shape;
    if (p.has_known) value->known = p.known;
    if (!p.constant || p.constant->elements() > kMaxKnownElements) continue;
    value->constant = *p.constant;
    if (IsIntegral(p.dtype)) value->known = ConstantElements(*p.constant);
  }
  while (!out->call.inputs.empty() && !out->call.inputs.back()) out->call.inputs.pop_back(), out->node.mutable_input()->RemoveLast();
  // Rules count the outputs: absent ones at the end aren't there.
  size_t outputs = v.outputs.size();
  while (outputs > 0 && !v.outputs[outputs - 1].present) --outputs;
  for (size_t i = 0; i < outputs; ++i) out->node.add_output(v.outputs[i].present ? v.outputs[i].name : "");
  HR_RETURN_IF_ERROR(SetAttributes(l, &out->node));
  return out;
}

Result<std::vector<InferredOutput>> InferFromView(const NodeView& v) {
  std::vector<InferredOutput> out(v.outputs.size());
  for (size_t i = 0; i < out.size(); ++i) out[i].port = v.outputs[i].name;
  Result<std::unique_ptr<ViewedNode>> made = FromView(v);
  if (!made.ok()) return made.status().kind() == ErrorKind::kUnsupported ? out : Result<std::vector<InferredOutput>>(made.status());
  const NodeCall& call = (*made)->call;
  HR_ASSIGN_OR_RETURN(std::vector<Inferred> found, InferNode(call));
  for (size_t i = 0; i < out.size() && i < found.size(); ++i) {
    if (!v.outputs[i].present) continue;
    out[i].typed = found[i].typed, out[i].type = found[i].type;
    out[i].has_shape = found[i].has_rank, out[i].shape = found[i].shape;
  }
  if (auto known = found.empty() ? std::nullopt : InferValue(call, found[0])) out[0].has_known = true, out[0].known = *known;
  return out;
}

}  // namespace

Status SetAttributes(const Library& l, onnx::NodeProto* node) {
  using AP = onnx::AttributeProto;
  for (const auto& [name, a] : l.attributes) {
    if (name.view().substr(0, 6) == "known.") continue;
    auto* out = node->add_attribute();
    out->set_name(name.str());
    if (auto* i = std::get_if<int64_t>(&a.value)) out->set_type(AP::INT), out->set_i(*i);
    else if (auto* f = std::get_if<double>(&a.value)) out->set_type(AP::FLOAT), out->set_f(static_cast<float>(*f));
    else if (auto* s = std::get_if<std::string>(&a.value)) out->set_type(AP::STRING), out->set_s(*s);
    else if (auto* is = std::get_if<std::vector<int64_t>>(&a.value)) {
      out->set_type(AP::INTS);
      for (int64_t x : *is) out->add_ints(x);
    } else if (auto* fs = std::get_if<std::vector<double>>(&a.value)) {
      out->set_type(AP::FLOATS);
      for (double x : *fs) out->add_floats(static_cast<float>(x));
    } else if (auto* ss = std::get_if<std::vector<std::string>>(&a.value)) {
      out->set_type(AP::STRINGS);
      for (const std::string& x : *ss) out->add_strings(x);
    } else {
      return UnsupportedError("E0534", "attribute '" + name.str() + "' can't be passed to ONNX's own functions");
    }
  }
  return {};
}

Status RegisterOwnLowerings(Registry& registry) {
  for (const Lowering::OwnLowering& own : Lowering::OwnLowerings()) {
    ForwardImplementation f;
    f.domain = IrDomain(own.domain), f.op = own.op, f.name = "import";
    f.can_be_applied = [](const NodeView&) { return "the importer makes control flow of the op, which stands in no IR text"; };
    f.expand = [](const NodeView&) -> Result<Program> { return InternalError("the importer leaves no node of this op"); };
    HR_RETURN_IF_ERROR(registry.Add(std::move(f)));
  }
  return {};
}

Status RegisterInference(Registry& registry) {
  std::set<std::string> domains;
  for (const auto& s : onnx::OpSchemaRegistry::get_all_schemas()) domains.insert(IrDomain(s.domain()));
  for (const std::string& domain : domains) HR_RETURN_IF_ERROR(registry.Add(Inference{domain, InferFromView, ""}));
  return {};
}

}  // namespace headrace::onnx_import
