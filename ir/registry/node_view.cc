// Library nodes as implementations see them.
#include <algorithm>
#include <unordered_set>

#include "ir/registry/inference.h"
#include "ir/registry/registry.h"
#include "ir/text/parser.h"

namespace headrace {
namespace {

const PortView* FindPort(const std::vector<PortView>& ports, std::string_view name, int index) {
  for (const PortView& p : ports)
    if (p.name == name && index-- == 0) return p.present ? &p : nullptr;
  return nullptr;
}

std::vector<PortView> ViewsOf(const Sdfg& s, const std::vector<Port>& given, const Attributes& attributes) {
  auto view = [&](const Port& port) {
    PortView v;
    v.name = port.name.str();
    const Container* c = port.container.empty() ? nullptr : s.Find(port.container);
    if (!c) {
      v.present = false;
      return v;
    }
    v.dtype = c->kind == ContainerKind::kSequence ? c->type.dtype : c->dtype;
    v.type = c->type;
    if (c->kind != ContainerKind::kSequence) v.type.dtype = c->dtype;
    v.shape = c->shape;
    if (c->kind == ContainerKind::kConstant) v.constant = &c->data;
    if (const Attribute* known = FindAttribute(attributes, "known." + v.name))
      if (auto* texts = std::get_if<std::vector<std::string>>(&known->value)) {
        v.has_known = true;
        for (const std::string& text : *texts) {
          Result<Expr> e = ParseExpr(text);
          if (!e.ok()) {
            v.has_known = false;
            break;
          }
          v.known.push_back(*e);
        }
      }
    return v;
  };
  std::vector<PortView> out;
  for (const Port& p : given) out.push_back(view(p));
  return out;
}

// Ports in the signature's order: the node's, with absent optional ones in between.
std::vector<PortView> InOrder(std::vector<PortView> given, const std::vector<PortSignature>& declared) {
  std::vector<PortView> out;
  for (const PortSignature& d : declared) {
    size_t before = out.size();
    for (PortView& p : given)
      if (p.name == d.name) out.push_back(std::move(p)), p.name.clear();
    if (out.size() == before && !d.variadic) {
      PortView absent;
      absent.name = d.name;
      absent.present = false;
      out.push_back(absent);
    }
  }
  return out;
}

// The dtype that the signature gives an absent port: that of a present port with the same type variable, or a fixed one.
DType SchemaType(const OpSignature& sig, const PortSignature& port, const NodeView& v) {
  if (auto fixed = ParseDType(port.type)) return *fixed;
  auto same = [&](const std::vector<PortSignature>& declared, const std::vector<PortView>& ports) {
    for (const PortSignature& d : declared)
      if (d.type == port.type)
        for (const PortView& p : ports)
          if (p.name == d.name && p.present) return p.dtype;
    return DType::kNone;
  };
  DType t = same(sig.inputs, v.inputs);
  if (t == DType::kNone) t = same(sig.outputs, v.outputs);
  if (t == DType::kNone) {
    auto it = sig.types.find(port.type);
    if (it != sig.types.end() && it->second.size() == 1)
      if (auto only = ParseDType(it->second[0])) t = *only;
  }
  return t;
}

FormPort ToFormPort(const PortView& p, const PortSignature* d, const OpSignature* sig, const NodeView& v) {
  FormPort f;
  f.name = p.name;
  f.present = p.present;
  f.variadic = d && d->variadic;
  f.dtype = p.present || !d || !sig ? p.dtype : SchemaType(*sig, *d, v);
  f.shape = p.shape;
  f.known = p.known;
  f.has_known = p.has_known;
  if (p.constant && !p.has_known && p.constant->elements() <= 1024 && p.dtype != DType::kString &&
      !IsComplex(p.dtype)) {
    f.has_known = true;
    for (int64_t i = 0; i < p.constant->elements(); ++i)
      f.known.push_back(IsFloat(p.dtype)          ? FloatExpr(p.constant->GetDouble(i))
                        : p.dtype == DType::kBool ? BoolExpr(p.constant->GetInt(i) != 0)
                                                  : IntExpr(p.constant->GetInt(i)));
  }
  return f;
}

const PortSignature* Declared(const std::vector<PortSignature>& ports, const std::string& name) {
  for (const PortSignature& p : ports)
    if (p.name == name) return &p;
  return nullptr;
}

// Ports and attributes that other versions of the op have.
std::vector<Name> Elsewhere(const Registry& r, const OpSignature& sig) {
  auto each = [](const OpSignature& s, auto&& fn) {
    for (const auto* ports : {&s.inputs, &s.outputs})
      for (const PortSignature& p : *ports) fn(p.name);
    for (const AttributeSignature& a : s.attributes) fn(a.name);
  };
  std::unordered_set<std::string> here;
  each(sig, [&](const std::string& name) { here.insert(name); });
  std::vector<Name> out;
  for (const OpSignature* other : r.Versions(sig.domain, sig.name))
    each(*other, [&](const std::string& name) {
      if (here.insert(name).second) out.push_back(name);
    });
  return out;
}

}  // namespace

std::string LabelOf(const Library& l, int version) {
  std::string label = l.domain.str() + "." + l.op.str();
  if (version > 0) label += " (opset " + std::to_string(version) + ")";
  return label;
}

const PortView* NodeView::Input(std::string_view port, int index) const { return FindPort(inputs, port, index); }
const PortView* NodeView::Output(std::string_view port, int index) const { return FindPort(outputs, port, index); }

namespace {

const char* KindOf(const Attribute& a) {
  static constexpr const char* kKinds[] = {"an integer", "a number", "a string", "integers", "numbers", "strings", "a tensor", "a graph"};
  return kKinds[a.value.index()];
}

// Integers are numbers, too, and an empty list is one of anything.
bool Fits(const Attribute& a, AttributeType wanted, const char** expected) {
  const auto is = [&](auto... types) { return (std::holds_alternative<decltype(types)>(a.value) || ...); };
  using Ints = std::vector<int64_t>;
  using Floats = std::vector<double>;
  using Texts = std::vector<std::string>;
  if (is(Name())) return true;
  const bool empty = (is(Ints()) && std::get<Ints>(a.value).empty()) || (is(Floats()) && std::get<Floats>(a.value).empty()) ||
                     (is(Texts()) && std::get<Texts>(a.value).empty());
  switch (wanted) {
    case AttributeType::kInt: return *expected = "an integer", is(int64_t());
    case AttributeType::kFloat: return *expected = "a number", is(double(), int64_t());
    case AttributeType::kString: return *expected = "a string", is(std::string());
    case AttributeType::kInts: return *expected = "integers", empty || is(Ints());
    case AttributeType::kFloats: return *expected = "numbers", empty || is(Floats(), Ints());
    case AttributeType::kStrings: return *expected = "strings", empty || is(Texts());
    case AttributeType::kTensor: return *expected = "a tensor", is(Tensor());
    default: return true;
  }
}

Status AttributeFits(const Library& l, const NodeView& v, const std::string& name, const Attribute& given) {
  Diagnostic d;
  d.code = "E0311";
  d.node = v.name;
  d.op = LabelOf(l, v.signature->since_version);
  std::vector<std::string> names;
  for (const AttributeSignature& a : v.signature->attributes) {
    names.push_back(a.name);
    if (a.name != name) continue;
    const char* expected = "";
    if (Fits(given, a.type, &expected)) return {};
    d.message = "attribute '" + name + "' is of another kind";
    d.got = KindOf(given);
    d.expected = expected;
    return Status(d);
  }
  d.message = "the op has no attribute '" + name + "'";
  if (const std::string close = ClosestWord(name, names); !close.empty()) d.hint = "did you mean '" + close + "'?";
  return Status(d);
}

Status AttributesOf(const Library& l, NodeView* v) {
  for (const auto& [name, value] : l.attributes)
    if (name.view().substr(0, 6) != "known.") HR_RETURN_IF_ERROR(AttributeFits(l, *v, name.str(), value));
  for (const AttributeSignature& a : v->signature->attributes) {
    if (FindAttribute(l.attributes, a.name)) continue;
    if (a.default_value) v->attributes.emplace_back(a.name, *a.default_value);
    else if (a.required) {
      Diagnostic d;
      d.code = "E0310";
      d.message = "required attribute '" + a.name + "' is missing";
      d.node = v->name;
      d.op = LabelOf(l, v->signature->since_version);
      return Status(d);
    } else v->unset_attributes.push_back(a.name);
  }
  std::sort(v->attributes.begin(), v->attributes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return {};
}

Status PortsAreDeclared(const Library& l, const NodeView& v, const std::vector<PortView>& ports,
                        const std::vector<PortSignature>& declared, const char* kind) {
  for (const PortView& port : ports) {
    if (Declared(declared, port.name)) continue;
    Diagnostic d;
    d.code = "E0311";
    d.message = std::string("the op has no ") + kind + " '" + port.name + "'";
    d.node = v.name;
    d.op = LabelOf(l, v.signature->since_version);
    std::vector<std::string> names;
    for (const auto& x : declared) names.push_back(x.name);
    std::string close = ClosestWord(port.name, names);
    if (!close.empty()) d.hint = "did you mean '" + close + "'?";
    return Status(d);
  }
  return {};
}

}  // namespace

Result<NodeView> ViewOf(const Registry& r, const Library& l, std::vector<PortView> inputs,
                        std::vector<PortView> outputs, const std::string& name) {
  NodeView v;
  v.registry = &r;
  v.node = &l;
  v.name = name;
  v.signature = r.FindOp(l.domain.str(), l.op.str(), l.version);
  v.attributes = l.attributes;
  if (v.signature) {
    HR_RETURN_IF_ERROR(AttributesOf(l, &v));
    HR_RETURN_IF_ERROR(PortsAreDeclared(l, v, inputs, v.signature->inputs, "input"));
    HR_RETURN_IF_ERROR(PortsAreDeclared(l, v, outputs, v.signature->outputs, "output"));
    inputs = InOrder(std::move(inputs), v.signature->inputs);
    outputs = InOrder(std::move(outputs), v.signature->outputs);
  }
  v.inputs = std::move(inputs);
  v.outputs = std::move(outputs);
  return v;
}

Result<NodeView> ViewOf(const Registry& r, const Program& p, const Sdfg& s, NodeId n) {
  const Node& node = s.nodes[n];
  const Library* l = std::get_if<Library>(&node.body);
  HR_CHECK(l, "ViewOf wants a library node");
  HR_ASSIGN_OR_RETURN(NodeView v, ViewOf(r, *l, ViewsOf(s, l->inputs, l->attributes), ViewsOf(s, l->outputs, l->attributes),
                                         node.origin.Label()));
  v.program = &p;
  v.sdfg = &s;
  return v;
}

FormContext FormContextOf(const NodeView& v, const std::string& sdfg_name) {
  FormContext c;
  c.sdfg_name = sdfg_name;
  const OpSignature* sig = v.signature;
  for (const PortView& p : v.inputs)
    c.inputs.push_back(ToFormPort(p, sig ? Declared(sig->inputs, p.name) : nullptr, sig, v));
  for (const PortView& p : v.outputs)
    c.outputs.push_back(ToFormPort(p, sig ? Declared(sig->outputs, p.name) : nullptr, sig, v));
  for (const auto& a : v.attributes)
    if (a.first.view().substr(0, 6) != "known.") c.attributes.push_back(a);
  c.unset_attributes = v.unset_attributes;
  c.declared = sig != nullptr;
  if (sig && v.registry) c.elsewhere = Elsewhere(*v.registry, *sig);
  if (v.sdfg) c.assumptions = v.sdfg->assumptions;
  return c;
}

}  // namespace headrace
