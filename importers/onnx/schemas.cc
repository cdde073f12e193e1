// Every ONNX schema as an op signature, and the function bodies of schemas as implementations.
#include <algorithm>
#include <set>

#include "importers/onnx/import.h"
#include "importers/onnx/onnx_types.h"
#include "importers/onnx/registered.h"
#include "importers/onnx/tidy.h"

namespace headrace::onnx_import {
namespace {

// "tensor(float16)" → "f16", "seq(tensor(float))" → "seq(f32)".
std::string OurType(const std::string& text) {
  try {
    const onnx::TypeProto& t = onnx::Utils::DataTypeUtils::ToTypeProto(onnx::Utils::DataTypeUtils::ToType(text));
    return TypeText(t);
  } catch (const std::exception&) { return text; }
}

std::string FirstSentence(const char* doc) {
  std::string text = doc ? doc : "";
  std::string out;
  for (char c : text) out += c == '\n' || c == '\t' ? ' ' : c;
  size_t begin = out.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  out = out.substr(begin);
  size_t end = out.find(". ");
  return end == std::string::npos ? out.substr(0, 300) : out.substr(0, end + 1);
}

std::optional<Attribute> DefaultOf(const onnx::AttributeProto& a) {
  using AP = onnx::AttributeProto;
  Attribute out;
  switch (TypeOfAttribute(a)) {
    case AP::INT: out.value = a.i(); return out;
    case AP::FLOAT: out.value = static_cast<double>(a.f()); return out;
    case AP::STRING: out.value = a.s(); return out;
    case AP::INTS: out.value = std::vector<int64_t>(a.ints().begin(), a.ints().end()); return out;
    case AP::FLOATS: out.value = std::vector<double>(a.floats().begin(), a.floats().end()); return out;
    case AP::STRINGS: out.value = std::vector<std::string>(a.strings().begin(), a.strings().end()); return out;
    case AP::TENSOR: {
      TensorSource none;
      Result<Tensor> t = none.Load(a.t());
      if (!t.ok()) return std::nullopt;
      out.value = std::move(*t);
      return out;
    }
    default: return std::nullopt;
  }
}

OpSignature ToSignature(const onnx::OpSchema& s) {
  OpSignature sig;
  sig.domain = IrDomain(s.domain());
  sig.name = s.Name();
  sig.since_version = s.SinceVersion();
  sig.deprecated = s.Deprecated();
  sig.doc = FirstSentence(s.doc());
  std::set<std::string> variables;
  for (const auto& p : s.typeConstraintParams()) {
    std::vector<std::string> types;
    types.reserve(p.allowed_type_strs.size());
    for (const auto& t : p.allowed_type_strs) types.push_back(OurType(t));
    sig.types[p.type_param_str] = std::move(types);
    variables.insert(p.type_param_str);
  }
  auto ports = [&](const std::vector<onnx::OpSchema::FormalParameter>& from, std::vector<PortSignature>* to) {
    to->reserve(from.size());
    for (const auto& p : from) {
      PortSignature port;
      port.name = p.GetName();
      port.type = variables.count(p.GetTypeStr()) ? p.GetTypeStr() : OurType(p.GetTypeStr());
      port.optional = p.GetOption() == onnx::OpSchema::Optional;
      port.variadic = p.GetOption() == onnx::OpSchema::Variadic;
      port.homogeneous = p.GetIsHomogeneous();
      port.min_count = p.GetMinArity();
      port.differentiable = p.GetName() != "scales";  // of Resize and Upsample: a size follows from them
      to->push_back(std::move(port));
    }
  };
  ports(s.inputs(), &sig.inputs);
  ports(s.outputs(), &sig.outputs);
  for (const auto& [name, a] : s.attributes()) {
    AttributeSignature out;
    out.name = name;
    out.type = FromAttributeType(a.type);
    out.required = a.required;
    out.default_value = DefaultOf(a.default_value);
    sig.attributes.push_back(std::move(out));
  }
  std::sort(sig.attributes.begin(), sig.attributes.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return sig;
}

// A node with its ports as an implementation sees it → the body of its schema's function as a program.
Result<Program> ExpandFunction(const onnx::OpSchema& schema, int opset, const NodeView& v, const Registry& registry) {
  TensorSource source;
  Functions none;
  Lowering lowering(registry, &source, &none);
  Emitter& emit = lowering.emit;
  emit.sdfg.name = Name(v.node->op.str() + "_function");
  onnx::NodeProto node;
  node.set_op_type(schema.Name());
  node.set_domain(schema.domain());
  node.set_name(v.name);
  NodeCall call;
  call.node = &node;
  call.schema = &schema;
  call.opset = opset;
  Scope scope;
  Opsets opsets = {{"", opset}};
  if (!schema.domain().empty()) opsets = {{schema.domain(), opset}, {"", 28}};
  scope.opsets = &opsets;
  std::vector<onnx::TypeProto> types;
  std::map<std::string, int> copies;
  auto port_name = [&](const PortView& p, const std::vector<PortSignature>& declared) {
    for (const auto& d : declared)
      if (d.name == p.name && d.variadic) return p.name + "_" + std::to_string(copies[p.name]++);
    return p.name;
  };
  for (const PortView& p : v.outputs)
    for (const Expr& d : p.shape)
      for (Name s : FreeSymbols(d)) emit.Unique(s.str());
  for (const PortView& p : v.inputs) {
    if (!p.present) {
      call.inputs.push_back(nullptr);
      node.add_input("");
      types.emplace_back();
      continue;
    }
    auto value = std::make_shared<ValueInfo>();
    value->name = port_name(p, v.signature->inputs);
    value->type = p.type;
    value->type.dtype = p.dtype;
    value->shape = p.shape;
    if (p.type.kind != ValueType::kTensor)
      return UnsupportedError("E0534", "function bodies over sequences are expanded at import only");
    if (p.has_known) value->known = p.known;
    if (p.constant && p.constant->elements() <= kMaxKnownElements) {
      value->constant = *p.constant;
      if (IsIntegral(p.dtype)) value->known = ConstantElements(*p.constant);
    }
    Container c;
    c.name = Name(value->name);
    emit.Unique(value->name);
    c.kind = ContainerKind::kParameter;
    c.dtype = p.dtype;
    c.shape = p.shape;
    emit.Add(c);
    emit.sdfg.parameters.push_back(c.name);
    value->container = c.name;
    types.push_back(ToTypeProto(*value));
    node.add_input(value->name);
    call.inputs.push_back(std::move(value));
  }
  std::vector<std::pair<Name, const PortView*>> outputs;
  copies.clear();
  for (const PortView& p : v.outputs) {
    node.add_output(p.present ? port_name(p, v.signature->outputs) : "");
    if (p.present) outputs.emplace_back(emit.Unique(node.output(node.output_size() - 1)), &p);
  }
  HR_RETURN_IF_ERROR(SetAttributes(*v.node, &node));
  onnx::FunctionProto f;
  try {
    onnx::NodeProto trimmed = node;
    while (trimmed.input_size() > 0 && trimmed.input(trimmed.input_size() - 1).empty())
      trimmed.mutable_input()->RemoveLast();
    if (schema.HasFunction()) {
      const onnx::FunctionProto* body = schema.GetFunction(opset);
      if (!body) return UnsupportedError("E0534", "the schema's function body does not serve this opset");
      f = *body;
      for (const auto& [name, a] : schema.attributes())
        if (a.default_value.type() != onnx::AttributeProto::UNDEFINED &&
            std::none_of(f.attribute_proto().begin(), f.attribute_proto().end(),
                         [&](const auto& d) { return d.name() == name; })) {
          auto* def = f.add_attribute_proto();
          *def = a.default_value;
          def->set_name(name);
        }
    } else {
      onnx::FunctionBodyBuildContextImpl context(trimmed, types);
      if (!schema.BuildContextDependentFunction(context, f, opset))
        return UnsupportedError("E0534", "the schema has no function body for these types");
    }
  } catch (const std::exception& e) {
    return UnsupportedError("E0534", std::string("the schema's function body can't be built: ") + e.what());
  }
  return lowering.Finish(f, call, scope, outputs);
}

}  // namespace

Result<Program> Lowering::Finish(const onnx::FunctionProto& f, const NodeCall& call, Scope& scope,
                                 const std::vector<std::pair<Name, const PortView*>>& outputs) {
  emit.SetOrigin(call.node->name());
  Inline(f, call, scope);
  if (!errors.empty()) return Status(std::move(errors));
  size_t next = 0;
  for (const auto& name : call.node->output()) {
    if (name.empty()) continue;
    Val v = scope.Find(name);
    if (!v || v->poison) return InternalError("the function gave no '" + name + "'");
    const auto& [container, port] = outputs[next++];
    Container c;
    c.name = container;
    c.kind = ContainerKind::kParameter;
    c.dtype = port->dtype;
    c.shape = port->shape;
    emit.Add(c);
    emit.sdfg.parameters.push_back(container);
    CopyValue(container, v);
  }
  emit.sdfg.body = emit.CloseBody();
  RemoveUnused(&emit.sdfg);
  std::vector<Name> order = emit.sdfg.parameters;
  for (Name n : emit.sdfg.order)
    if (std::find(order.begin(), order.end(), n) == order.end()) order.push_back(n);
  emit.sdfg.order = std::move(order);
  Program p;
  p.entry = emit.sdfg.name;
  p.Add(std::move(emit.sdfg));
  return p;
}

namespace {

// Those of the process's registry, which live as long as it does, in order. It gives lists as copies only: of 3 MB, so one of the
// newest versions alone, and the older ones by name.
std::vector<const onnx::OpSchema*> AllSchemas() {
  using Schemas = onnx::OpSchemaRegistry;
  std::vector<const onnx::OpSchema*> all;
  for (const onnx::OpSchema& newest : Schemas::get_all_schemas())
    for (int version = newest.SinceVersion(); version > 0;) {
      const onnx::OpSchema* s = Schemas::Schema(newest.Name(), version, newest.domain());
      if (!s) break;
      all.push_back(s);
      version = s->SinceVersion() - 1;
    }
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) {
    return std::make_tuple(a->domain(), a->Name(), a->SinceVersion()) < std::make_tuple(b->domain(), b->Name(), b->SinceVersion());
  });
  return all;
}

}  // namespace

Status RegisterSchemas(Registry& registry) {
  const std::vector<const onnx::OpSchema*> all = AllSchemas();
  for (size_t i = 0; i < all.size(); ++i) {
    const onnx::OpSchema* schema = all[i];
    HR_RETURN_IF_ERROR(registry.Add(ToSignature(*schema)));
    if (!schema->HasFunction() && !schema->HasContextDependentFunction()) continue;
    const bool last = i + 1 == all.size() || all[i + 1]->Name() != schema->Name() || all[i + 1]->domain() != schema->domain();
    std::vector<int> bodies =
        schema->HasFunction() ? schema->function_opset_versions() : schema->context_dependent_function_opset_versions();
    ForwardImplementation f;
    f.domain = IrDomain(schema->domain());
    f.op = schema->Name();
    f.name = "function";
    f.since_version = schema->SinceVersion();
    f.until_version = last ? 1 << 30 : all[i + 1]->SinceVersion() - 1;
    f.priority = -100;  // after "pure" and whatever else there is
    // Bodies are written for an opset: the one the op was defined in, or the first a body exists for.
    const int opset = bodies.empty() ? schema->SinceVersion() : std::max(bodies.front(), schema->SinceVersion());
    f.expand = [schema, opset, &registry](const NodeView& v) { return ExpandFunction(*schema, opset, v, registry); };
    HR_RETURN_IF_ERROR(registry.Add(std::move(f)));
  }
  return {};
}

}  // namespace headrace::onnx_import
