#include "importers/onnx/lower.h"

#include <algorithm>

#include "importers/onnx/onnx_types.h"

namespace headrace::onnx_import {

std::string FunctionKey(const std::string& domain, const std::string& name, const std::string& overload) {
  return (domain == "ai.onnx" ? "" : domain) + ":" + name + (overload.empty() ? "" : ":" + overload);
}

Opsets OpsetsOf(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  Opsets out;
  for (const auto& o : imports)
    out[o.domain() == "ai.onnx" ? "" : o.domain()] = static_cast<int>(std::clamp<int64_t>(o.version(), 0, 1 << 20));
  return out;
}

Val Scope::Find(const std::string& name) const {
  for (const Scope* s = this; s; s = s->parent) {
    auto it = s->values.find(name);
    if (it != s->values.end()) return it->second;
  }
  return nullptr;
}

void Lowering::Report(Diagnostic d) {
  if (errors.size() < 200) errors.push_back(std::move(d));
}

void Lowering::Report(const Status& s, const NodeCall& call) {
  for (Diagnostic d : s.diagnostics()) {
    if (d.node.empty()) d.node = emit.origin().Label();
    if (d.op.empty()) d.op = call.Label();
    if (d.got.empty()) {
      std::string types;
      for (const Val& v : call.inputs)
        if (v && v->type.kind == ValueType::kTensor) {
          types += (types.empty() ? "" : ", ") + std::string(DTypeName(v->type.dtype)) + "[";
          for (size_t i = 0; i < v->shape.size(); ++i) types += (i ? ", " : "") + ToString(v->shape[i]);
          types += "]";
        }
      if (!types.empty()) d.got = "inputs (" + types + ")";
    }
    Report(std::move(d));
  }
}

void Lowering::Initializers(const onnx::GraphProto& g, Scope& scope) {
  for (const auto& node : g.node()) keep_parameters |= IsGradient(node);
  auto add = [&](const std::string& name, Result<Tensor> t) {
    auto v = std::make_shared<ValueInfo>();
    v->name = name;
    scope.values[name] = v;
    if (!t.ok()) {
      for (Diagnostic d : t.status().diagnostics()) Report(std::move(d));
      v->poison = true;
      return;
    }
    v->type.dtype = t->dtype;
    for (int64_t d : t->shape) v->shape.push_back(IntExpr(d));
    if (IsIntegral(t->dtype) && t->elements() <= kMaxKnownElements) v->known = ConstantElements(*t);
    v->parameter = keep_parameters && (IsFloat(t->dtype) || IsComplex(t->dtype));
    v->constant = std::move(*t);
  };
  for (const auto& t : g.initializer()) add(t.name(), source_->Load(t));
  for (const auto& t : g.sparse_initializer()) add(t.values().name(), source_->Load(t));
}

namespace {

// A copy of the node without the optional outputs that nothing reads (Dropout's mask); null when there are none. Those of
// BatchNormalization stay: they say that it trains.
onnx::NodeProto* WithoutUnread(const onnx::NodeProto& node, const std::unordered_set<std::string>& needed,
                               const Opsets& opsets) {
  if (node.output_size() < 2 || node.op_type() == "BatchNormalization") return nullptr;
  const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  auto opset = opsets.find(domain);
  const onnx::OpSchema* schema =
      opset == opsets.end() ? nullptr : onnx::OpSchemaRegistry::Schema(node.op_type(), opset->second, domain);
  if (!schema) return nullptr;
  onnx::NodeProto* copy = nullptr;
  for (int i = 0; i < node.output_size() && i < static_cast<int>(schema->outputs().size()); ++i) {
    if (node.output(i).empty() || needed.count(node.output(i)) ||
        schema->outputs()[static_cast<size_t>(i)].GetOption() != onnx::OpSchema::Optional)
      continue;
    if (!copy) copy = new onnx::NodeProto(node);
    copy->mutable_output(i)->clear();
  }
  if (copy)
    while (copy->output_size() > 1 && copy->output(copy->output_size() - 1).empty())
      copy->mutable_output()->RemoveLast();
  return copy;
}

}  // namespace

void Lowering::Nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, Scope& scope,
                     const std::vector<std::string>& wanted) {
  std::vector<int> cycle, order = Order(nodes, &cycle);
  if (order.empty() && nodes.size() > 0) {
    Diagnostic d;
    d.code = "E0522";
    d.message = "the nodes form a cycle";
    d.node = nodes[cycle[0]].name().empty() ? nodes[cycle[0]].op_type() : nodes[cycle[0]].name();
    Report(std::move(d));
    return;
  }
  std::unordered_set<std::string> needed(wanted.begin(), wanted.end());
  std::vector<bool> live(static_cast<size_t>(nodes.size()));
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const onnx::NodeProto& n = nodes[*it];
    bool used = false;
    for (const auto& o : n.output()) used = used || (!o.empty() && needed.count(o));
    if (!used) continue;
    live[static_cast<size_t>(*it)] = true;
    for (std::string& r : ReadsOf(n)) needed.insert(std::move(r));
  }
  for (int i : order) {
    if (!live[static_cast<size_t>(i)]) continue;
    if (cancelled && cancelled()) return;
    const onnx::NodeProto* node = &nodes[i];
    if (wrong_nodes.count(node)) {
      Poison(*node, scope);
      continue;
    }
    if (onnx::NodeProto* trimmed = WithoutUnread(*node, needed, *scope.opsets)) {
      kept_.emplace_back(trimmed);
      node = trimmed;
    }
    LowerNode(*node, scope);
    if (within_schema_ > 0 || (!scope.parent && scope.prefix.empty())) continue;
    for (const auto& o : node->output())
      if (const auto it = scope.values.find(o); it != scope.values.end() && it->second && !it->second->container.empty())
        inner_values.emplace_back(it->second->container, scope.prefix + o);
  }
}

void Lowering::Poison(const onnx::NodeProto& node, Scope& scope) {
  for (const auto& o : node.output()) {
    auto v = std::make_shared<ValueInfo>();
    v->name = o;
    v->poison = true;
    if (!o.empty()) scope.values[o] = v;
  }
}

void Lowering::LowerNode(const onnx::NodeProto& node, Scope& scope) {
  std::string name = node.name();
  if (name.empty()) name = node.op_type() + (node.output_size() > 0 ? "_" + node.output(0) : "");
  emit.SetOrigin(scope.prefix + name);
  NodeCall call;
  call.node = &node;
  const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  auto opset = scope.opsets->find(domain);
  call.opset = opset == scope.opsets->end() ? 1 : opset->second;
  if (--budget_ < 0) {
    if (budget_ == -1) Report(UnsupportedError("E0528", "the model expands to more than two million nodes"), call);
    return Poison(node, scope);
  }
  bool poison = false;
  for (const auto& input : node.input()) {
    Val v = input.empty() ? nullptr : scope.Find(input);
    if (!input.empty() && !v) {
      Diagnostic d;
      d.code = "E0521";
      d.message = "input '" + input + "' is defined nowhere";
      Report(Status(d), call);
      poison = true;
    }
    poison = poison || (v && v->poison);
    call.inputs.push_back(std::move(v));
  }
  while (!call.inputs.empty() && !call.inputs.back()) call.inputs.pop_back();
  if (poison) return Poison(node, scope);
  const size_t before = errors.size();
  LowerOp(call, scope);
  for (const auto& o : node.output())
    if (!o.empty() && !scope.values.count(o)) {
      if (errors.size() == before) Report(InternalError("the node gave no value '" + o + "'"), call);
      Poison(node, scope);
      break;
    }
}

const std::vector<Lowering::OwnLowering>& Lowering::OwnLowerings() {
  static const auto* const all = new std::vector<OwnLowering>{{"", "If", &Lowering::LowerIf},
                                                              {"", "Loop", &Lowering::LowerLoop},
                                                              {"", "Scan", &Lowering::LowerScan},
                                                              {"ai.onnx.training", "Gradient", &Lowering::LowerGradient},
                                                              {"ai.onnx.preview.training", "Gradient", &Lowering::LowerGradient}};
  return *all;
}

void Lowering::LowerOp(NodeCall& call, Scope& scope) {
  const onnx::NodeProto& node = *call.node;
  const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  if (functions_) {
    auto f = functions_->find(FunctionKey(domain, node.op_type(), node.overload()));
    if (f != functions_->end()) return Inline(*f->second, call, scope);
  }
  call.schema = onnx::OpSchemaRegistry::Schema(node.op_type(), call.opset, domain);
  for (const OwnLowering& own : OwnLowerings())
    if (domain == own.domain && node.op_type() == own.op) return (this->*own.lower)(call, scope);
  if (domain.empty()) {
    if (node.op_type() == "Constant" && Constant(call, scope)) return;
    if (UseElements(call, scope) || UseRuntimeAxes(call, scope)) return;
  }
  if (!call.schema && !registry_.FindOp(IrDomain(domain), node.op_type(), call.opset)) {
    Diagnostic d;
    d.kind = ErrorKind::kUnsupported;
    d.code = "E0523";
    d.message = "unknown op " + IrDomain(domain) + "." + node.op_type();
    d.hint = "load the plugin that brings it with --plugin";
    return Report(Status(d), call);
  }
  if (InlineSchemaFunction(call, scope)) return;
  // Models give Range lists of one element where it wants scalars.
  if (domain.empty() && node.op_type() == "Range")
    for (Val& v : call.inputs)
      if (v && v->shape.size() == 1 && AsInt(v->shape[0]) == int64_t{1}) v = AsScalar(v);
  Result<std::vector<Inferred>> inferred = call.schema ? InferNode(call) : InferRegistered(call);
  if (!inferred.ok()) return Report(inferred.status(), call);
  UseDeclared(call, scope, &*inferred);
  for (size_t i = 0; i < inferred->size(); ++i) {
    const Inferred& o = (*inferred)[i];
    if (node.output(static_cast<int>(i)).empty() || (o.typed && (o.has_rank || o.type.kind != ValueType::kTensor)))
      continue;
    if (!call.schema) return Report(RegisteredLacks(call, i, o.typed), call);
    return Report(
        UnsupportedError("E0547", o.typed ? "the rank of output '" + node.output(static_cast<int>(i)) +
                                       "' is known only when the model runs"
                                 : "the type of output '" + node.output(static_cast<int>(i)) + "' can't be inferred"),
        call);
  }
  if (Alias(call, *inferred, scope)) return;
  if (Fold(call, *inferred, scope)) return;
  if (call.schema) DefineSizes(call, &*inferred);
  else DefineRegisteredSizes(call, &*inferred);
  Emit(call, *inferred, scope);
  if (domain.empty()) KeepElements(call, scope);
}

void Lowering::UseDeclared(const NodeCall& call, const Scope& scope, std::vector<Inferred>* out) {
  if (scope.parent || !scope.prefix.empty()) return;
  for (size_t i = 0; i < out->size(); ++i) {
    Inferred& o = (*out)[i];
    auto it = declared.find(call.node->output(static_cast<int>(i)));
    if (it == declared.end()) continue;
    if (!o.typed) {
      Result<ValueType> type = FromTypeProto(*it->second);
      if (!type.ok()) continue;
      o.typed = true;
      o.type = *type;
      o.proto = *it->second;
    }
    if (o.type.kind != ValueType::kTensor || !it->second->tensor_type().has_shape()) continue;
    const auto& shape = it->second->tensor_type().shape();
    if (!o.has_rank) {
      o.shape.assign(static_cast<size_t>(shape.dim_size()), Expr());
      for (int d = 0; !call.schema && d < shape.dim_size(); ++d)  // ops of plugins: nobody else knows
        if (shape.dim(d).has_dim_value() && !IsUnknown(shape.dim(d))) o.shape[static_cast<size_t>(d)] = IntExpr(shape.dim(d).dim_value());
    }
    o.has_rank = true;
  }
}

// Values that are another value: Identity, Cast to the same type, Dropout outside training. Old models that don't say
// whether it trains are for inference.
bool Lowering::Alias(const NodeCall& call, const std::vector<Inferred>& out, Scope& scope) {
  const onnx::NodeProto& node = *call.node;
  if (!node.domain().empty() && node.domain() != "ai.onnx") return false;
  bool same = call.op() == "Identity";
  if (call.op() == "Cast") same = out[0].type.dtype == call.In(0)->type.dtype;
  if (call.op() == "Dropout") {
    const bool training = call.since() >= 12
                              ? call.In(2) != nullptr && !(call.KnownInts(2) && (*call.KnownInts(2))[0] == 0)
                              : call.since() < 7 && call.Int("is_test", 1) == 0;
    same = !training && (node.output_size() < 2 || node.output(1).empty());
  }
  if (!same || !call.In(0)) return false;
  scope.values[node.output(0)] = call.inputs[0];
  return true;
}

Name Lowering::NewContainer(const std::string& stem, const ValueInfo& v, const std::vector<Expr>& shape) {
  Container c;
  c.name = emit.Unique(stem);
  c.dtype = v.type.dtype;
  c.shape = shape;
  if (v.type.kind != ValueType::kTensor) {
    c.kind = ContainerKind::kSequence;
    c.type = v.type;
    c.shape.clear();
  }
  Name name = c.name;
  emit.Add(std::move(c));
  return name;
}

Val Lowering::MakeOutput(const std::string& name, const Inferred& inferred, Scope& scope, std::vector<Name>* defines) {
  auto v = std::make_shared<ValueInfo>();
  v->name = name;
  v->type = inferred.type;
  v->proto = inferred.proto;
  if (v->type.kind == ValueType::kTensor)
    for (size_t d = 0; d < inferred.shape.size(); ++d) {
      Expr dim = inferred.shape[d];
      if (!dim) {
        Name symbol = emit.Unique(Identifier(name, "t") + "_d" + std::to_string(d));
        if (defines) defines->push_back(symbol);
        dim = SymbolExpr(symbol);
      }
      v->shape.push_back(dim);
    }
  scope.values[name] = v;
  return v;
}

std::vector<Expr> Lowering::ParameterShape(const std::string& name, const std::vector<Expr>& shape) {
  std::vector<Expr> out = shape;
  for (size_t d = 0; d < out.size(); ++d) {
    const std::vector<Name> symbols = FreeSymbols(out[d]);
    if (out[d].Is(ExprKind::kSymbol) ||
        std::all_of(symbols.begin(), symbols.end(), [&](Name s) { return bound_symbols.count(s) != 0; }))
      continue;
    Name symbol = emit.Unique(Identifier(name, "t") + "_d" + std::to_string(d));
    emit.Append(Assign{symbol, out[d]});
    out[d] = SymbolExpr(symbol);
  }
  return out;
}

Name Lowering::Materialize(const Val& v) {
  if (!v->container.empty() && emit.IsOpen(v->body)) return v->container;
  journal_.push_back(v);
  const bool literal =
      v->known && std::all_of(v->known->begin(), v->known->end(), [](const Expr& e) { return AsInt(e).has_value(); });
  if (!v->constant && literal) {
    std::vector<int64_t> shape;
    for (const Expr& d : v->shape) shape.push_back(AsInt(d).value_or(0));
    Tensor t = *Tensor::Create(v->type.dtype, shape);
    for (size_t i = 0; i < v->known->size(); ++i) t.SetInt(static_cast<int64_t>(i), *AsInt((*v->known)[i]));
    v->constant = std::move(t);
  }
  if (v->constant) {
    Container c;
    c.name = emit.Unique(v->name, "c");
    c.kind = ContainerKind::kConstant;
    c.dtype = v->type.dtype;
    c.shape = v->shape;
    c.data = *v->constant;
    if (v->parameter) c.origin = Origin(v->name);
    v->container = c.name;
    v->body = 0;
    emit.Add(std::move(c));
    return v->container;
  }
  HR_CHECK(v->known.has_value(), "value '" + v->name + "' has neither a container nor a known value");
  v->container = NewContainer(v->name, *v, v->shape);
  v->body = emit.body();
  std::vector<int64_t> dims;
  for (const Expr& d : v->shape) dims.push_back(AsInt(d).value_or(1));
  for (size_t i = 0; i < v->known->size(); ++i) {
    Tasklet t;
    t.target = v->container;
    for (size_t d = dims.size(), rest = i; d-- > 0; rest /= static_cast<size_t>(dims[d]))
      t.index.insert(t.index.begin(), IntExpr(static_cast<int64_t>(rest % static_cast<size_t>(dims[d]))));
    t.value = (*v->known)[i];
    emit.Statement(std::move(t));
  }
  return v->container;
}

// The only element of a list of one.
Val Lowering::AsScalar(const Val& v) {
  auto s = std::make_shared<ValueInfo>();
  s->name = v->name;
  s->type = v->type;
  s->known = v->known;
  if (v->constant) {
    s->constant = v->constant;
    s->constant->shape.clear();
  } else if (!v->known) {
    Tasklet t;
    t.value = ReadExpr(Materialize(v), {IntExpr(0)});
    s->container = NewContainer(v->name, *s, {});
    s->body = emit.body();
    t.target = s->container;
    journal_.push_back(s);
    emit.Statement(std::move(t));
  }
  return s;
}

void Lowering::CopyValue(Name target, const Val& v) {
  Name source = Materialize(v);
  if (source == target) return;
  if (v->type.kind == ValueType::kTensor && v->type.dtype != DType::kString) return emit.Copy(target, source, v->shape);
  Library l;
  l.domain = "onnx";
  l.op = "Identity";
  l.version = v->type.kind == ValueType::kTensor ? 14 : 16;
  l.inputs = {{"input", source}};
  l.outputs = {{"output", target}};
  emit.Statement(std::move(l));
}

}  // namespace headrace::onnx_import
