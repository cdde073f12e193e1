#include "ir/registry/inference.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/registry/registry_impl.h"
#include "ir/text/parser.h"

namespace headrace {
namespace {

std::vector<std::string> NamesOf(bool (*belongs)(DType)) {
  std::vector<std::string> out;
  for (int t = static_cast<int>(DType::kBool); t <= static_cast<int>(DType::kString); ++t)
    if (belongs(static_cast<DType>(t))) out.push_back(std::string(DTypeName(static_cast<DType>(t))));
  return out;
}

// The dtypes that a port may have; null: any.
const std::vector<std::string>* Accepted(const OpSignature& sig, const PortSignature& port) {
  auto variable = sig.types.find(port.type);
  return variable != sig.types.end() ? &variable->second : TypeFamily(port.type);
}

Status AtNode(const NodeView& v, Diagnostic d) {
  d.node = v.name;
  if (d.op.empty()) d.op = v.node->domain.str() + "." + v.node->op.str();
  return Status(d);
}

Status CheckInput(const NodeView& v, const PortSignature& port, const PortView& given) {
  if (given.type.kind != ValueType::kTensor) return {};
  const std::string type(DTypeName(given.dtype));
  std::string expected;
  if (std::optional<DType> only = ParseDType(port.type)) {
    if (*only == given.dtype) return {};
    expected = port.type;
  } else {
    const std::vector<std::string>* types = Accepted(*v.signature, port);
    if (!types || std::find(types->begin(), types->end(), type) != types->end()) return {};
    if (TypeFamily(port.type)) expected = port.type + ": ";
    for (const std::string& t : *types) expected += (&t == &types->front() ? "" : ", ") + t;
  }
  Diagnostic d;
  d.code = "E0312";
  d.message = "input '" + port.name + "' has another type than the op takes";
  d.got = type;
  d.expected = expected;
  return AtNode(v, std::move(d));
}

Status CheckInputs(const NodeView& v) {
  for (const PortSignature& port : v.signature->inputs) {
    bool present = false;
    for (const PortView& p : v.inputs) {
      if (p.name != port.name || !p.present) continue;
      present = true;
      HR_RETURN_IF_ERROR(CheckInput(v, port, p));
    }
    if (present || port.optional || port.variadic) continue;
    Diagnostic d;
    d.code = "E0313";
    d.message = "input '" + port.name + "' is missing";
    return AtNode(v, std::move(d));
  }
  return {};
}

const PortSignature* Find(const std::vector<PortSignature>& ports, const std::string& name) {
  for (const PortSignature& p : ports)
    if (p.name == name) return &p;
  return nullptr;
}

// An output's type: a dtype, that of the input it names, or that of the first input with the same word; of `a|b` the first
// that is known, as of an input that may be absent: `y_zero_point|f32`.
DType OutputType(const NodeView& v, const PortSignature& port) {
  if (const size_t bar = port.type.find('|'); bar != std::string::npos) {
    PortSignature one = port;
    one.type = port.type.substr(0, bar);
    if (const DType first = OutputType(v, one); first != DType::kNone) return first;
    one.type = port.type.substr(bar + 1);
    return OutputType(v, one);
  }
  if (std::optional<DType> only = ParseDType(port.type)) return *only;
  const bool names_input = Find(v.signature->inputs, port.type) != nullptr;
  for (const PortSignature& in : v.signature->inputs)
    if (names_input ? in.name == port.type : in.type == port.type)
      for (const PortView& p : v.inputs)
        if (p.name == in.name && p.present) return p.dtype;
  const std::vector<std::string>* types = Accepted(*v.signature, port);
  return types && types->size() == 1 ? ParseDType(types->front()).value_or(DType::kNone) : DType::kNone;
}

}  // namespace

const std::vector<std::string>* TypeFamily(const std::string& word) {
  static const auto* const families = new std::map<std::string, std::vector<std::string>>{
      {"float", NamesOf([](DType t) { return IsFloat(t); })},
      {"integer", NamesOf([](DType t) { return IsInteger(t); })},
      {"complex", NamesOf([](DType t) { return IsComplex(t); })},
      {"number", NamesOf([](DType t) { return IsFloat(t) || IsInteger(t) || IsComplex(t); })},
      {"any", NamesOf([](DType) { return true; })},
  };
  auto it = families->find(word);
  return it == families->end() ? nullptr : &it->second;
}

Result<std::vector<InferredOutput>> InferBySignature(const NodeView& v) {
  std::vector<InferredOutput> out(v.outputs.size());
  for (size_t i = 0; i < out.size(); ++i) out[i].port = v.outputs[i].name;
  if (!v.signature) return out;
  HR_RETURN_IF_ERROR(CheckInputs(v));
  FormContext context = FormContextOf(v, v.node->op.str() + "_shape");
  for (size_t i = 0; i < out.size(); ++i) {
    const PortSignature* port = Find(v.signature->outputs, out[i].port);
    const DType type = port ? OutputType(v, *port) : DType::kNone;
    if (type == DType::kNone) continue;
    out[i].typed = true;
    out[i].type.dtype = context.outputs[i].dtype = type;
  }
  if (v.signature->shape.empty()) return out;
  HR_ASSIGN_OR_RETURN(Form form, ParseForm(v.signature->shape, "shape rule of " + v.signature->domain + "." + v.signature->name));
  Result<std::vector<FormOutput>> found = EvaluateShapes(form, context);
  if (!found.ok()) {
    Diagnostic d = found.status().diagnostics().front();
    d.message = "shape rule: " + d.message;
    return AtNode(v, std::move(d));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    FormOutput& f = (*found)[i];
    out[i].has_shape = f.has_shape, out[i].shape = std::move(f.shape);
    out[i].has_known = f.has_known && (IsInteger(out[i].type.dtype) || out[i].type.dtype == DType::kBool);
    if (out[i].has_known) out[i].known = std::move(f.known);
  }
  return out;
}

Status NoShapeRule(const NodeView& v, const std::string& output) {
  Diagnostic d;
  d.kind = ErrorKind::kUnsupported;
  d.code = "E0314";
  const std::string op = v.node->domain.str() + "." + v.node->op.str();
  d.message = "the sizes of output '" + output + "' can't be inferred: " + op + " has no shape rule for it";
  const std::string input = v.inputs.empty() ? "X" : v.inputs.front().name;
  d.hint = "its plugin says it with .Shape(\"shape " + output + "[dims(" + input + ")]\") (docs/plugins.md, \"Shapes\")";
  return AtNode(v, std::move(d));
}

Result<std::vector<InferredOutput>> Registry::InferOutputs(const NodeView& v) const {
  const Inference* own = nullptr;
  {
    std::shared_lock lock(impl_->tables);
    if (auto it = impl_->inference.find(v.node->domain.str()); it != impl_->inference.end()) own = it->second.get();
  }
  // A plugin may add an op to the domain of a format, as ONNX Runtime writes SimplifiedLayerNormalization: it says itself.
  const bool says = v.signature && !v.signature->shape.empty();
  return !own || says ? InferBySignature(v) : own->infer(v);
}

}  // namespace headrace
