// Library nodes as implementations see them, the choice among implementations, and forms as implementations.
#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "ir/analysis/cost.h"
#include "ir/base/log.h"
#include "ir/registry/inference.h"
#include "ir/registry/registry.h"
#include "ir/registry/registry_impl.h"
#include "ir/text/parser.h"

namespace headrace {
namespace {

const PortView* FindPort(const std::vector<PortView>& ports, std::string_view name, int index) {
  for (const PortView& p : ports)
    if (p.name == name && index-- == 0) return p.present ? &p : nullptr;
  return nullptr;
}

std::string NodeLabel(const Library& l, int version) {
  std::string label = l.domain.str() + "." + l.op.str();
  if (version > 0) label += " (opset " + std::to_string(version) + ")";
  return label;
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

FormContext ContextOf(const NodeView& v, const std::string& sdfg_name) {
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

void BecomesTransient(Sdfg* s, Name parameter) {
  s->Mutable(parameter).kind = ContainerKind::kTransient;
  s->parameters.erase(std::find(s->parameters.begin(), s->parameters.end(), parameter));
}
void BecomesZero(Sdfg* s, Name parameter) {
  BecomesTransient(s, parameter);
  Tasklet t;
  Map m;
  t.target = parameter;
  t.value = FloatExpr(0);
  const std::vector<Expr> shape = s->Get(parameter).shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Name index = s->FreshName("i" + std::to_string(i));
    m.ranges.push_back({index, Expr(0), shape[i], Expr(1)});
    t.index.push_back(Expr(index));
  }
  NodeId id = s->AddNode(std::move(t));
  if (!m.ranges.empty()) {
    m.body = {id};
    id = s->AddNode(std::move(m));
  }
  s->body.insert(s->body.begin(), s->AddBlock(State{Name(), {id}}));
}

}  // namespace

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
  d.op = NodeLabel(l, v.signature->since_version);
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
      d.op = NodeLabel(l, v->signature->since_version);
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
    d.op = NodeLabel(l, v.signature->since_version);
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

FormContext FormContextOf(const NodeView& v, const std::string& sdfg_name) { return ContextOf(v, sdfg_name); }

std::string WhyNot(const ForwardImplementation& i, const NodeView& v) {
  const int version = v.node->version > 0 ? v.node->version : v.signature ? v.signature->since_version : 1 << 29;
  if (version < i.since_version || version > i.until_version)
    return "serves versions " + std::to_string(i.since_version) + " to " +
           (i.until_version >= 1 << 29 ? std::string("newest") : std::to_string(i.until_version));
  return i.can_be_applied ? i.can_be_applied(v) : "";
}

namespace {

Diagnostic NoImplementation(const Library& l, const NodeView& v) {
  Diagnostic d;
  d.kind = ErrorKind::kUnsupported;
  d.code = "E0320";
  d.op = NodeLabel(l, v.signature ? v.signature->since_version : l.version);
  d.node = v.name;
  return d;
}

// The node itself names its implementation: an order. Null where it names none.
Result<const ForwardImplementation*> Ordered(const Registry& r, const NodeView& v) {
  const std::string name = v.node->implementation.str();
  if (name.empty()) return static_cast<const ForwardImplementation*>(nullptr);
  Diagnostic d = NoImplementation(*v.node, v);
  d.code = "E0322";
  std::vector<std::string> names;
  std::string other, reasons, own;
  const std::vector<const ForwardImplementation*> all = r.Implementations(v.node->domain.str(), v.node->op.str());
  if (all.empty()) return static_cast<const ForwardImplementation*>(nullptr);  // that is what is wrong
  for (const ForwardImplementation* i : all) {
    const std::string why = WhyNot(*i, v);
    if (i->name == name && why.empty()) return i;
    if (i->name == name) own = why;
    else if (why.empty() && other.empty()) other = i->name;
    names.push_back(i->name);
    reasons += (reasons.empty() ? "" : "; ") + i->name + ": " + (why.empty() ? "applies" : why);
  }
  const std::string close = own.empty() ? ClosestWord(name, names) : "";
  d.message = own.empty() ? "there is no implementation '" + name + "'" : "implementation '" + name + "' does not apply: " + own;
  d.expected = reasons;
  d.hint = !close.empty()   ? "did you mean '" + close + "'?"
           : !other.empty() ? "where no implementation is named, '" + other + "' is taken"
                            : "no other applies, either";
  return Status(d);
}

// The operations of the node's pure form, or -1.
double PureOperations(const std::vector<const ForwardImplementation*>& all, const NodeView& v) {
  for (const ForwardImplementation* i : all) {
    if (i->name != "pure" || !WhyNot(*i, v).empty()) continue;
    const Result<Program> body = i->expand(v);
    if (!body.ok()) return -1;
    const Sdfg& s = body->Entry();
    Expr sum(0);
    bool known = true;
    ForEachNode(s, [&](NodeId n) {
      const Expr e = CostOf(*body, s, n).operations;
      known &= static_cast<bool>(e);
      if (known) sum = sum + e;
    }, /*into_maps=*/false);
    const auto number = known ? AsInt(sum) : std::nullopt;
    return number ? static_cast<double>(*number) : -1;
  }
  return -1;
}

// The cheapest of those that say what they cost, where it is cheaper than `otherwise`, which is taken without them; null: none.
const ForwardImplementation* ByCost(const std::vector<const ForwardImplementation*>& order, const ForwardImplementation* otherwise,
                                    const NodeView& v, std::string* reasons) {
  const ForwardImplementation* best = nullptr;
  double least = 0, operations = -2;
  for (const ForwardImplementation* i : order) {
    if (!i->cost || i->priority < 0 || !WhyNot(*i, v).empty()) continue;
    if (operations < -1) operations = PureOperations(order, v);
    const double cost = i->cost(v, operations);
    const bool dear = otherwise && (otherwise->name != "pure" || operations < 0 || cost < 0 || cost >= operations);
    if (dear) *reasons += (reasons->empty() ? "" : "; ") + i->name + ": it is not the cheapest";
    else if (!best || (cost >= 0 && (least < 0 || cost < least))) best = i, least = cost;
  }
  return best;
}

}  // namespace

Result<const ForwardImplementation*> SelectImplementation(const Registry& r, const NodeView& v,
                                                          const CompileOptions& o) {
  const Library& l = *v.node;
  std::string domain = l.domain.str(), op = l.op.str(), full = domain + "." + op;
  if (!v.signature && l.version > 0 && r.FindOp(domain, op)) {
    Diagnostic d = NoImplementation(l, v);
    d.message = full + " does not exist in opset " + std::to_string(l.version);
    d.hint = op + " since " + std::to_string(r.Versions(domain, op).front()->since_version);
    return Status(d);
  }
  HR_ASSIGN_OR_RETURN(const ForwardImplementation* ordered, Ordered(r, v));
  if (ordered) {
    Log(LogTopic::kChoice, full + (v.name.empty() ? "" : " '" + v.name + "'") + ": " + ordered->name + ", as the node says");
    return ordered;
  }
  // Names the user put first, for this node, this op, or everything.
  std::vector<std::string> wanted;
  for (const auto& [where, name] : o.implementations)
    if (where == "*" || where == full || where == op || where == v.name) wanted.push_back(name);
  std::vector<const ForwardImplementation*> order = r.Implementations(domain, op);
  std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
    auto rank = [&](const ForwardImplementation* i) {
      return std::find(wanted.begin(), wanted.end(), i->name) - wanted.begin();
    };
    return rank(a) < rank(b);
  });
  std::string reasons;
  const auto asked_for = [&](const ForwardImplementation* i) { return std::find(wanted.begin(), wanted.end(), i->name) != wanted.end(); };
  const bool weighed = std::any_of(order.begin(), order.end(), [](const auto* i) { return i->cost != nullptr; });
  for (const ForwardImplementation* i : order) {
    if (i->cost && !asked_for(i)) continue;  // by cost, below
    const std::string why = WhyNot(*i, v);
    if (why.empty()) {
      const ForwardImplementation* cheaper = weighed && !asked_for(i) ? ByCost(order, i, v, &reasons) : nullptr;
      if (cheaper) i = cheaper;
      Log(LogTopic::kChoice, full + (v.name.empty() ? "" : " '" + v.name + "'") + ": " + i->name +
                                 (reasons.empty() ? "" : " (not " + reasons + ")"));
      return i;
    }
    reasons += (reasons.empty() ? "" : "; ") + i->name + ": " + why;
  }
  if (const ForwardImplementation* only = weighed ? ByCost(order, nullptr, v, &reasons) : nullptr) return only;
  for (const ForwardImplementation* i : order)
    if (i->cost && !asked_for(i)) reasons += (reasons.empty() ? "" : "; ") + i->name + ": " + WhyNot(*i, v);
  Diagnostic d = NoImplementation(l, v);
  std::string types;
  for (const PortView& p : v.inputs)
    if (p.present) types += (types.empty() ? "" : ", ") + p.name + ": " + std::string(DTypeName(p.dtype));
  if (!v.signature && order.empty()) {
    d.message = "unknown op " + full;
    std::vector<std::string> names;
    for (const OpSignature* s : r.Ops()) names.push_back(s->domain + "." + s->name);
    std::string close = ClosestWord(full, names);
    d.hint = close.empty() ? "load the plugin that brings it with --plugin" : "did you mean '" + close + "'?";
  } else {
    d.message = "no implementation of " + full + " applies" + (types.empty() ? "" : " for (" + types + ")");
    d.got = reasons.empty() ? "none is registered" : reasons;
    d.hint = "`headrace ops " + full + "` lists implementations; a plugin may add one";
  }
  return Status(d);
}

namespace {

// A form whose text has been checked. It is kept parsed once somebody has asked for it: a process needs few of all ops' forms.
class CheckedForm {
 public:
  static Result<std::shared_ptr<CheckedForm>> Of(const std::string& text, std::string what) {
    HR_RETURN_IF_ERROR(ParseForm(text, what).status());
    return std::shared_ptr<CheckedForm>(new CheckedForm(text, std::move(what)));
  }
  Result<const Form*> Get() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!form_) {
      HR_ASSIGN_OR_RETURN(Form parsed, ParseForm(text_, what_));
      form_ = std::make_unique<Form>(std::move(parsed));
    }
    return form_.get();
  }

 private:
  CheckedForm(std::string text, std::string what) : text_(std::move(text)), what_(std::move(what)) {}
  const std::string text_, what_;
  std::mutex mutex_;
  std::unique_ptr<Form> form_;
};

}  // namespace

Status Registry::Add(OpDefinition def) {
  def.plugin = impl_->Owner(def.plugin);
  if (def.domain.empty() || def.name.empty()) {
    Diagnostic d;
    d.code = "E0303";
    d.message = "plugin " + def.plugin + " registers an op without a name or domain";
    return Status(d);
  }
  for (const OpDefinition* other : Definitions())
    if (other->domain == def.domain && other->name == def.name && other->since_version <= def.until_version &&
        def.since_version <= other->until_version) {
      Diagnostic d;
      d.code = "E0301";
      d.message =
          "op " + def.domain + "." + def.name + " is defined twice: by " + other->plugin + " and by " + def.plugin;
      return Status(d);
    }
  if (!def.pure.empty()) {
    HR_ASSIGN_OR_RETURN(std::shared_ptr<CheckedForm> form, CheckedForm::Of(def.pure, def.domain + "." + def.name));
    ForwardImplementation i;
    i.domain = def.domain, i.op = def.name, i.name = "pure", i.plugin = def.plugin;
    i.since_version = def.since_version, i.until_version = def.until_version;
    i.expand = [form](const NodeView& v) -> Result<Program> {
      if (!v.node->defines.empty())
        return UnsupportedError("E0315", "the size " + v.node->defines[0].str() +
                                " is known only when the node has run, and its form needs it before");
      HR_ASSIGN_OR_RETURN(const Form* parsed, form->Get());
      HR_ASSIGN_OR_RETURN(Sdfg s, Elaborate(*parsed, ContextOf(v, v.node->op.str() + "_pure")));
      Program p;
      p.entry = s.name;
      p.Add(std::move(s));
      return p;
    };
    HR_RETURN_IF_ERROR(Add(std::move(i)));
  }
  if (!def.backward.empty()) {
    HR_ASSIGN_OR_RETURN(std::shared_ptr<CheckedForm> form, CheckedForm::Of(def.backward, "backward of " + def.domain + "." + def.name));
    BackwardImplementation b;
    b.domain = def.domain, b.op = def.name, b.name = "form", b.plugin = def.plugin, b.form = def.backward;
    b.since_version = def.since_version, b.until_version = def.until_version;
    b.backward = [form](const NodeView& v, const std::vector<std::string>& given,
                        const std::vector<std::string>& required) -> Result<BackwardResult> {
      FormContext c = ContextOf(v, "grad_" + v.node->op.str());
      std::vector<FormPort> forward_inputs = c.inputs, forward_outputs = c.outputs;
      c.inputs.insert(c.inputs.end(), forward_outputs.begin(), forward_outputs.end());
      c.outputs.clear();
      BackwardResult result;
      // Gradients of variadic ports are lists with a place for every tensor; what nobody gives or wants stays inside.
      std::vector<Name> not_given, not_required;
      auto gradients = [&](const std::vector<FormPort>& ports, const std::vector<std::string>& named,
                           std::map<std::string, std::string>* names, std::vector<FormPort>* out,
                           std::vector<Name>* inside) {
        std::map<Name, int> count;
        for (const FormPort& p : ports) {
          const std::string k = p.variadic ? "_" + std::to_string(count[p.name]++) : "";
          const bool wanted = std::find(named.begin(), named.end(), p.name.str() + k) != named.end();
          FormPort g = p;
          g.name = "d" + p.name.str();
          g.has_known = false, g.known.clear();
          g.present = wanted || (p.variadic && p.present);
          if (wanted) (*names)[p.name.str() + k] = g.name.str() + k;
          else if (g.present) inside->push_back(Name(g.name.str() + k));
          out->push_back(std::move(g));
        }
      };
      gradients(forward_outputs, given, &result.given_grad_names, &c.inputs, &not_given);
      gradients(forward_inputs, required, &result.required_grad_names, &c.outputs, &not_required);
      HR_ASSIGN_OR_RETURN(const Form* parsed, form->Get());
      HR_ASSIGN_OR_RETURN(Sdfg s, Elaborate(*parsed, c));
      for (Name n : not_given) BecomesZero(&s, n);
      for (Name n : not_required) BecomesTransient(&s, n);
      result.sdfg.entry = s.name;
      result.sdfg.Add(std::move(s));
      return result;
    };
    HR_RETURN_IF_ERROR(Add(std::move(b)));
  }
  std::unique_lock lock(impl_->tables);
  impl_->definitions.push_back(std::make_unique<OpDefinition>(std::move(def)));
  return {};
}

}  // namespace headrace
