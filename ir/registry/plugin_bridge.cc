#include "ir/registry/plugin_bridge.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <sstream>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/expr/expr.h"
#include "ir/registry/call_contract.h"
#include "ir/registry/inference.h"
#include "ir/text/parser.h"
#include "ir/text/parser_program.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

// A field that the caller's struct may be too short (older) to have.
#define HR_HAS(s, field) \
  ((s)->struct_size >= offsetof(std::remove_reference_t<decltype(*(s))>, field) + sizeof((s)->field))

std::string Text(const char* s) { return s ? s : ""; }
int Until(int32_t v) { return v > 0 ? v : 1 << 30; }
int Since(int32_t v) { return v > 0 ? v : 1; }

hr_value ViewOfTensor(const Tensor& t, std::deque<std::vector<hr_string>>* strings) {
  hr_value v{};
  v.kind = HR_TENSOR;
  v.dtype = static_cast<int32_t>(t.dtype);
  v.rank = static_cast<int32_t>(t.shape.size());
  v.shape = t.shape.data();
  if (t.dtype == DType::kString) {
    auto& list = strings->emplace_back();
    for (const std::string& s : *t.strings) list.push_back({s.data(), static_cast<int64_t>(s.size())});
    v.data = list.data();
  } else {
    v.data = t.data ? t.data->data() : nullptr;
  }
  return v;
}

void Append(void* ctx, const char* text) { static_cast<std::string*>(ctx)->append(text ? text : ""); }

std::string ExpansionFile(const NodeView& v, const std::string& implementation) {
  return "expansion '" + implementation + "' of " + v.node->domain.str() + "." + v.node->op.str();
}

Status ExpansionError(const NodeView& v, const std::string& implementation, const std::string& message) {
  Diagnostic d;
  d.code = "E0340";
  d.message = "implementation '" + implementation + "' failed: " + (message.empty() ? "no reason given" : message);
  d.node = v.name;
  d.op = v.node->domain.str() + "." + v.node->op.str();
  return Status(d);
}

// Callbacks are C functions, and C++ behind many of them: what they throw must not leave them.
template <typename Call>
int32_t Guarded(Call&& call, std::string* error) {
  try {
    return call();
  } catch (const std::exception& e) { *error = std::string("it threw an exception: ") + e.what(); } catch (...) {
    *error = "it threw an exception";
  }
  return -1;
}

int32_t Give(void* ctx, const Status& s) {
  if (s.ok()) return 0;
  static_cast<BridgeContext*>(ctx)->last_error = s.ToString();
  return 1;
}

std::function<std::string(const NodeView&)> Condition(const char* (*fn)(void*, const hr_node*), void* user) {
  if (!fn) return nullptr;
  return [fn, user](const NodeView& v) -> std::string {
    CNode n(v);
    const char* why = nullptr;
    std::string error;
    auto call = [&] { return why = fn(user, n.get()), 0; };
    if (Guarded(call, &error) != 0) return "of its condition: " + error;
    return why ? (*why ? why : "its condition does not hold") : "";
  };
}

Result<Attribute> DefaultValue(const char* text, AttributeType type) {
  if (type == AttributeType::kString) return Attribute{std::string(text)};
  HR_ASSIGN_OR_RETURN(Expr e, ParseExpr(text));
  auto number = [](const Expr& x) -> double {
    if (x.Is(ExprKind::kInt)) return static_cast<double>(x->ivalue);
    if (x.Is(ExprKind::kUnary) && x->op == Op::kNeg && !x->args.empty())
      return -(x->args[0].Is(ExprKind::kInt) ? static_cast<double>(x->args[0]->ivalue) : x->args[0]->fvalue);
    return x->fvalue;
  };
  switch (type) {
    case AttributeType::kInt: return Attribute{static_cast<int64_t>(number(e))};
    case AttributeType::kFloat: return Attribute{number(e)};
    case AttributeType::kInts: {
      std::vector<int64_t> list;
      for (const Expr& x : e->args) list.push_back(static_cast<int64_t>(number(x)));
      return Attribute{list};
    }
    case AttributeType::kFloats: {
      std::vector<double> list;
      for (const Expr& x : e->args) list.push_back(number(x));
      return Attribute{list};
    }
    default: return InvalidError("E0341", "an attribute of this type can't have a default in text");
  }
}

// An output may name inputs, and alternatives for where one is absent: `y_zero_point|f32`.
bool KnownPortType(const OpSignature& sig, const std::string& type, bool output) {
  if (ParseDType(type) || TypeFamily(type)) return true;
  if (!output) return false;
  for (const PortSignature& in : sig.inputs)
    if (in.name == type) return true;
  const size_t bar = type.find('|');
  return bar != std::string::npos && KnownPortType(sig, type.substr(0, bar), true) &&
         KnownPortType(sig, type.substr(bar + 1), true);
}

Status CheckPortTypes(const OpSignature& sig) {
  for (const auto* ports : {&sig.inputs, &sig.outputs})
    for (const PortSignature& p : *ports)
      if (!KnownPortType(sig, p.type, ports == &sig.outputs))
        return InvalidError("E0341",
                            "port '" + p.name + "' of " + sig.domain + "." + sig.name + " has unknown type '" + p.type + "'",
                            "a dtype like f32, or float, integer, complex, number, any; of an output also an input's name");
  return {};
}

int32_t AddSignature(void* ctx, const hr_signature* s) {
  OpSignature sig;
  sig.domain = Text(s->domain), sig.name = Text(s->op), sig.doc = Text(s->doc),
  sig.since_version = Since(s->since_version);
  sig.shape = Text(s->shape);
  auto ports = [](const hr_signature_port* p, int n, std::vector<PortSignature>& out) {
    for (int i = 0; i < n; ++i) {
      PortSignature port;
      port.name = Text(p[i].name), port.type = Text(p[i].type), port.optional = p[i].optional,
      port.variadic = p[i].variadic;
      out.push_back(port);
    }
  };
  ports(s->inputs, s->n_inputs, sig.inputs);
  ports(s->outputs, s->n_outputs, sig.outputs);
  if (Status types = CheckPortTypes(sig); !types.ok()) return Give(ctx, types);
  for (int i = 0; i < s->n_attributes; ++i) {
    static const std::pair<const char*, AttributeType> kTypes[] = {
        {"int", AttributeType::kInt},      {"float", AttributeType::kFloat},   {"string", AttributeType::kString},
        {"ints", AttributeType::kInts},    {"floats", AttributeType::kFloats}, {"strings", AttributeType::kStrings},
        {"tensor", AttributeType::kTensor}};
    AttributeSignature a;
    a.name = Text(s->attributes[i].name), a.required = s->attributes[i].required, a.type = AttributeType::kOther;
    for (const auto& [text, type] : kTypes)
      if (Text(s->attributes[i].type) == text) a.type = type;
    if (a.type == AttributeType::kOther)
      return Give(ctx, InvalidError("E0341",
                                    "attribute '" + a.name + "' has unknown type '" + Text(s->attributes[i].type) + "'",
                                    "one of int, float, string, ints, floats, strings, tensor"));
    if (s->attributes[i].default_text) {
      Result<Attribute> value = DefaultValue(s->attributes[i].default_text, a.type);
      if (!value.ok()) return Give(ctx, value.status());
      a.default_value = *value;
    }
    sig.attributes.push_back(std::move(a));
  }
  if (!sig.shape.empty()) {  // a rule that does not parse is said now, not when a model uses it
    Result<Form> form = ParseForm(sig.shape, "shape rule of " + sig.domain + "." + sig.name);
    if (!form.ok()) return Give(ctx, form.status());
  }
  return Give(ctx, static_cast<BridgeContext*>(ctx)->registry->Add(std::move(sig)));
}

int32_t AddOp(void* ctx, const hr_op* o) {
  OpDefinition d;
  d.domain = Text(o->domain), d.name = Text(o->op), d.doc = Text(o->doc), d.pure = Text(o->pure),
  d.backward = Text(o->backward);
  d.since_version = Since(o->since_version), d.until_version = Until(o->until_version);
  for (int i = 0; i < o->n_samples; ++i) d.samples.push_back(Text(o->samples[i]));
  return Give(ctx, static_cast<BridgeContext*>(ctx)->registry->Add(std::move(d)));
}

int32_t AddImplementation(void* ctx, const hr_implementation* i) {
  ForwardImplementation f;
  f.domain = Text(i->domain), f.op = Text(i->op), f.name = Text(i->name), f.priority = i->priority;
  f.since_version = Since(i->since_version), f.until_version = Until(i->until_version);
  f.can_be_applied = Condition(i->condition, i->user);
  if (!i->expand)
    return Give(ctx, InvalidError("E0341", "implementation '" + f.name + "' of " + f.op + " has no expand function"));
  f.expand = [fn = i->expand, user = i->user, name = f.name](const NodeView& v) -> Result<Program> {
    CNode n(v);
    std::string text, error;
    hr_writer out{&text, Append}, err{&error, Append};
    if (Guarded([&] { return fn(user, n.get(), &out, &err); }, &error) != 0) return ExpansionError(v, name, error);
    return ParseExpansion(text, v, ExpansionFile(v, name));
  };
  if (HR_HAS(i, cost) && i->cost)
    f.cost = [fn = i->cost, user = i->user](const NodeView& v, double operations) {
      CNode n(v, {0, "", false, operations});
      double cost = -1;
      std::string error;
      return Guarded([&] { return cost = fn(user, n.get()), 0; }, &error) == 0 ? cost : -1;
    };
  return Give(ctx, static_cast<BridgeContext*>(ctx)->registry->Add(std::move(f)));
}

int32_t AddBackward(void* ctx, const hr_backward* b) {
  BackwardImplementation r;
  r.domain = Text(b->domain), r.op = Text(b->op), r.name = Text(b->name), r.priority = b->priority;
  r.since_version = Since(b->since_version), r.until_version = Until(b->until_version);
  r.backward_can_be_applied = Condition(b->condition, b->user);
  if (!b->backward)
    return Give(ctx, InvalidError("E0341", "backward implementation '" + r.name + "' of " + r.op + " has no function"));
  r.backward = [fn = b->backward, user = b->user, name = r.name](
                   const NodeView& v, const std::vector<std::string>& given, const std::vector<std::string>& required) -> Result<BackwardResult> {
    CNode n(v);
    std::vector<const char*> g, q;
    BackwardResult result;
    for (const std::string& s : given) g.push_back(s.c_str()), result.given_grad_names[s] = "d" + s;
    for (const std::string& s : required) q.push_back(s.c_str()), result.required_grad_names[s] = "d" + s;
    std::string text, error;
    hr_writer out{&text, Append}, err{&error, Append};
    auto call = [&] {
      return fn(user, n.get(), g.data(), static_cast<int32_t>(g.size()), q.data(), static_cast<int32_t>(q.size()), &out,
                &err);
    };
    if (Guarded(call, &error) != 0) return ExpansionError(v, name, error);
    HR_ASSIGN_OR_RETURN(result.sdfg, ParseExpansion(text, v, ExpansionFile(v, name)));
    return result;
  };
  return Give(ctx, static_cast<BridgeContext*>(ctx)->registry->Add(std::move(r)));
}

int32_t AddExternal(void* ctx, const hr_external* e) {
  ExternalFunction f;
  f.name = Text(e->name), f.symbol = Text(e->symbol), f.thread_safe = e->thread_safe != 0;
  if (HR_HAS(e, create)) f.create = e->create;
  if (HR_HAS(e, destroy)) f.destroy = e->destroy;
  if (HR_HAS(e, in_place)) {  // all of minor version 2 came together
    f.user = e->user, f.prepare = e->prepare, f.release = e->release;
    f.scratch = e->scratch, f.layout = e->layout, f.epilogue = e->epilogue;
    for (int32_t i = 0; i < e->n_in_place; ++i) f.in_place.push_back({Text(e->in_place[i].output), Text(e->in_place[i].input)});
  }
  return Give(ctx, static_cast<BridgeContext*>(ctx)->registry->Add(std::move(f)));
}

const char* LastError(void* ctx) { return static_cast<BridgeContext*>(ctx)->last_error.c_str(); }

}  // namespace

std::unordered_set<Name> SizesAround(const NodeView& v) {
  std::unordered_set<Name> sizes;
  for (const auto* ports : {&v.inputs, &v.outputs})
    for (const PortView& port : *ports)
      for (const Expr& size : port.shape)
        if (size)
          for (Name n : FreeSymbols(size)) sizes.insert(n);
  return sizes;
}

Result<Program> ParseExpansion(const std::string& text, const NodeView& v, const std::string& file) {
  internal::ProgramParser parser(text, file);
  parser.SymbolsAround(SizesAround(v));
  Program p = parser.Parse();
  Status valid = parser.status();
  if (valid.ok()) {
    DeclareSymbols(&p.MutableEntry());  // it speaks of the node's sizes as they are
    valid = Verify(p);
  }
  if (!valid.ok()) return WithNode(WithFile(valid, file), v.name, v.node->domain.str() + "." + v.node->op.str());
  return p;
}

hr_host MakeHostTable(BridgeContext* context, bool tier2) {
  hr_host h{};
  h.struct_size = sizeof h;
  h.magic = HEADRACE_PLUGIN_MAGIC, h.abi_major = HEADRACE_ABI_MAJOR, h.abi_minor = HEADRACE_ABI_MINOR;
  h.ctx = context;
  h.add_signature = AddSignature, h.add_op = AddOp, h.add_implementation = AddImplementation;
  h.add_backward = AddBackward, h.add_external = AddExternal, h.last_error = LastError;
  h.registry = tier2 ? context->registry : nullptr;
  return h;
}

std::string AttributeText(const Attribute& a) {
  auto list = [](const auto& items, auto&& one) {
    std::string s = "[";
    for (size_t i = 0; i < items.size(); ++i) s += (i ? ", " : "") + one(items[i]);
    return s + "]";
  };
  auto integer = [](int64_t v) { return std::to_string(v); };
  auto real = [](double v) { return ToString(FloatExpr(v)); };
  auto quoted = [](const std::string& v) {
    std::string s = "\"";
    for (char c : v) s += c == '"' || c == '\\' ? std::string("\\") + c : c == '\n' ? "\\n" : std::string(1, c);
    return s + "\"";
  };
  if (auto* v = std::get_if<int64_t>(&a.value)) return integer(*v);
  if (auto* v = std::get_if<double>(&a.value)) return real(*v);
  if (auto* v = std::get_if<std::string>(&a.value)) return quoted(*v);
  if (auto* v = std::get_if<std::vector<int64_t>>(&a.value)) return list(*v, integer);
  if (auto* v = std::get_if<std::vector<double>>(&a.value)) return list(*v, real);
  if (auto* v = std::get_if<std::vector<std::string>>(&a.value)) return list(*v, quoted);
  return "";
}

hr_port CNode::Port(const PortView& p) {
  hr_port port{};
  port.name = Keep(p.name);
  port.present = p.present;
  port.dtype = static_cast<int32_t>(p.dtype);
  port.rank = p.type.kind == ValueType::kTensor ? static_cast<int32_t>(p.shape.size()) : -1;
  auto& shape = shapes_.emplace_back();
  for (const Expr& e : p.shape) shape.push_back(Keep(ToString(e)));
  port.shape = shape.data();
  if (p.constant) port.constant = &values_.emplace_back(ViewOfTensor(*p.constant, &string_data_));
  return port;
}

// "bias e0 1", "clip 0 6": a name, the input it reads, numbers.
void CNode::Step(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  words >> word;
  hr_step step{Keep(word), -1, -1, 0, 0};
  std::vector<double> numbers;
  while (words >> word) {
    const auto port = std::find_if(inputs_.begin(), inputs_.end(), [&](const hr_port& p) { return word == p.name; });
    if (port != inputs_.end()) step.input = static_cast<int32_t>(port - inputs_.begin());
    else numbers.push_back(std::strtod(word.c_str(), nullptr));
  }
  if (step.input >= 0 && !numbers.empty()) step.dim = static_cast<int32_t>(numbers[0]);
  else if (!numbers.empty()) step.alpha = numbers[0], step.beta = numbers.size() > 1 ? numbers[1] : 0;
  steps_.push_back(step);
}

void CNode::Call(const NodeView& v, bool dense) {
  if (const Attribute* a = FindAttribute(v.node->attributes, Name(kEpilogueAttribute)))
    if (const auto* steps = std::get_if<std::vector<std::string>>(&a->value))
      for (const std::string& s : *steps) Step(s);
  auto strides = [&](const std::vector<headrace::Port>& ports, std::vector<const char* const*>* out) {
    bool any = false;
    for (const headrace::Port& p : ports) {
      const Container* c = v.sdfg && !dense ? v.sdfg->Find(p.container) : nullptr;
      out->push_back(nullptr);
      if (!c || IsContiguous(*c)) continue;
      auto& list = shapes_.emplace_back();
      for (const Expr& e : c->strides) list.push_back(Keep(ToString(e)));
      out->back() = list.data();
      any = true;
    }
    return any ? out->data() : nullptr;
  };
  node_.input_strides = strides(v.node->inputs, &input_strides_);
  node_.output_strides = strides(v.node->outputs, &output_strides_);
  node_.steps = steps_.data(), node_.n_steps = static_cast<int32_t>(steps_.size());
}

CNode::CNode(const NodeView& v, const CNodeContext& c) {
  const bool call = v.node->domain == Name("call");
  for (const PortView& p : v.inputs) inputs_.push_back(Port(p));
  for (const PortView& p : v.outputs)
    if (!call || p.name != kScratchPort) outputs_.push_back(Port(p));
  for (const auto& [name, a] : v.attributes) {
    hr_attribute c{};
    c.name = Keep(name.str());
    c.text = Keep(AttributeText(a));
    if (auto* t = std::get_if<Tensor>(&a.value)) c.tensor = &values_.emplace_back(ViewOfTensor(*t, &string_data_));
    attributes_.push_back(c);
  }
  if (!v.node->defines.empty()) {  // sizes that the node determines, as if they were an attribute
    std::vector<std::string> names;
    for (Name n : v.node->defines) names.push_back(n.str());
    hr_attribute c{};
    c.name = "defines";
    c.text = Keep(AttributeText(Attribute{std::move(names)}));
    attributes_.push_back(c);
  }
  node_.struct_size = sizeof node_;
  node_.domain = Keep(v.node->domain.str()), node_.op = Keep(v.node->op.str()), node_.name = Keep(v.name);
  node_.version = v.node->version ? v.node->version : v.signature ? v.signature->since_version : 0;
  node_.n_inputs = static_cast<int32_t>(inputs_.size()), node_.n_outputs = static_cast<int32_t>(outputs_.size());
  node_.n_attributes = static_cast<int32_t>(attributes_.size());
  node_.inputs = inputs_.data(), node_.outputs = outputs_.data(), node_.attributes = attributes_.data();
  node_.threads = c.threads, node_.operations = c.operations;
  if (!c.device.empty()) node_.device = Keep(c.device);
  if (call) Call(v, c.dense);
}

}  // namespace headrace
