#include "autodiff/library_rules.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "autodiff/backward.h"
#include "autodiff/gradient_node.h"
#include "autodiff/statement_rules.h"
#include "ir/analysis/dataflow.h"
#include "ir/text/parser.h"

namespace headrace::autodiff {
namespace {

bool Contains(const std::vector<std::string>& list, const std::string& s) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

std::string Join(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& s : list) out += (out.empty() ? "" : ", ") + s;
  return out;
}

// Names that a form mentions: d-names among them say which gradients the rule takes and gives.
struct Mentioned {
  std::unordered_set<std::string> read, written;
};
void Collect(const std::vector<FormStmt>& body, Mentioned* out) {
  auto read = [&](const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (!x->name.empty()) out->read.insert(x->name.str());
      return true;
    });
  };
  for (const FormStmt& s : body) {
    for (const Expr& e : {s.value, s.begin, s.end}) read(e);
    for (const Expr& e : s.index) read(e);
    for (const FormRange& r : s.over)
      for (const Expr& e : {r.begin, r.end, r.access}) read(e);
    if (s.kind == FormStmt::kAssign) out->written.insert(s.name.str());
    if (s.kind == FormStmt::kEach && s.value.Is(ExprKind::kSymbol)) out->written.insert(s.value->name.str());
    Collect(s.body, out);
    Collect(s.otherwise, out);
  }
}

// Why a form can't give these gradients, or "".
std::string FormCovers(const std::string& text, const Forward& f) {
  Result<Form> form = ParseForm(text);
  if (!form.ok()) return form.status().message();
  Mentioned m;
  Collect(form->statements, &m);
  auto missing = [](const std::vector<FlatPort>& ports, const std::vector<std::string>& wanted,
                    const std::unordered_set<std::string>& names) {
    for (const FlatPort& p : ports)
      if (Contains(wanted, p.name) && !names.count("d" + p.port.substr(0, p.port.find("...")))) return p.name;
    return std::string();
  };
  std::string port = missing(f.inputs, f.required, m.written);
  if (!port.empty()) return "does not give the gradient of input " + port;
  port = missing(f.outputs, f.given, m.read);
  if (!port.empty()) return "does not take the gradient of output " + port;
  return "";
}

// Registered rules that apply, in order; `reasons` says why the others don't.
std::vector<const BackwardImplementation*> ApplicableRules(const Registry& r, const Forward& f, std::string* reasons) {
  const Library& l = f.node();
  const int version = l.version > 0 ? l.version : f.view.signature ? f.view.signature->since_version : 1 << 29;
  std::vector<const BackwardImplementation*> out;
  for (const BackwardImplementation* b : r.BackwardImplementations(l.domain.str(), l.op.str())) {
    std::string why;
    if (version < b->since_version || version > b->until_version) why = "serves other versions";
    else if (b->backward_can_be_applied) why = b->backward_can_be_applied(f.view);
    if (why.empty() && !b->form.empty()) why = FormCovers(b->form, f);
    if (why.empty()) out.push_back(b);
    else *reasons += (reasons->empty() ? "" : "; ") + b->name + ": " + why;
  }
  return out;
}

Status NoGradient(const Forward& f, const std::string& what, const std::string& got) {
  const Library& l = f.node();
  const std::string full = l.domain.str() + "." + l.op.str();
  Diagnostic d;
  d.kind = ErrorKind::kUnsupported;
  d.code = "E0801";
  d.message =
      "no gradient of " + full + (f.required.empty() ? "" : " with respect to " + Join(f.required)) + ": " + what;
  d.op = full + (l.version > 0 ? " (opset " + std::to_string(l.version) + ")" : "");
  d.node = f.view.name;
  d.got = got;
  if (l.domain == Name("node"))
    d.hint = "register a backward rule: r.backward(\"" + full + "\", …), see docs/backward_rules.md";
  else d.hint = "register a backward rule: r.op(\"" + l.op.str() + "\")….Backward(\"d" +
           (f.required.empty() ? "X" : f.required[0]) + " = …\") or r.backward(…), see docs/backward_rules.md";
  return Status(d);
}

bool HasCalls(const Program& p) {
  bool found = false;
  for (const auto& s : p.sdfgs)
    ForEachNode(*s, [&](NodeId id) {
      auto* l = std::get_if<Library>(&s->nodes[id].body);
      found |= l && l->domain == Name("call");
    });
  return found;
}

// The forward as maps and loops: its pure form, or whatever expansion consists of statements.
Result<Program> ForwardBody(const Registry& r, const Forward& f, const std::string& rules) {
  const Library& l = f.node();
  const int version = l.version > 0 ? l.version : f.view.signature ? f.view.signature->since_version : 1 << 29;
  std::vector<const ForwardImplementation*> order = r.Implementations(l.domain.str(), l.op.str());
  std::stable_partition(order.begin(), order.end(), [](const ForwardImplementation* i) { return i->name == "pure"; });
  std::string reasons;
  for (const ForwardImplementation* i : order) {
    std::string why;
    if (version < i->since_version || version > i->until_version) why = "serves other versions";
    else if (i->can_be_applied) why = i->can_be_applied(f.view);
    if (why.empty()) {
      Result<Program> body = i->expand(f.view);
      if (!body.ok()) why = body.status().message();
      else if (HasCalls(*body)) why = "calls an external function";
      else return body;
    }
    reasons += (reasons.empty() ? "" : "; ") + i->name + ": " + why;
  }
  return NoGradient(f,
                    rules.empty() ? "it has no backward rule and no pure form to derive one from"
                                  : "no backward rule applies and there is no pure form to derive one from",
                    rules + (rules.empty() || reasons.empty() ? "" : "; ") + reasons);
}

Result<Program> Derived(const Registry& r, const Forward& f, const std::string& rules) {
  HR_ASSIGN_OR_RETURN(Program body, ForwardBody(r, f, rules));
  DeclareSymbols(&body.MutableEntry());
  Options o;
  o.all_given = true;
  o.keep_outputs = false;
  std::vector<Name> outputs, inputs;
  for (const std::string& s : f.given) outputs.push_back(Name(s));
  for (const std::string& s : f.required) inputs.push_back(Name(s));
  const OrdinaryDerivatives no_rules_by_kind;
  Result<BackwardPrograms> b = Backward(body, outputs, inputs, o, r);
  if (!b.ok()) {
    Status s = b.status();
    return NoGradient(f, "its pure form can't be differentiated",
                      s.message() + (rules.empty() ? "" : "; backward rules: " + rules));
  }
  std::vector<std::pair<Name, Name>> names;
  for (const auto& [port, gradient] : b->input_gradients) names.push_back({gradient, GradientName(port.str())});
  for (const auto& [port, gradient] : b->output_gradients) names.push_back({gradient, GradientName(port.str())});
  RenameContainers(&b->program.MutableEntry(), names);
  return std::move(b->program);
}

Result<Program> FromRule(const BackwardImplementation& rule, const Forward& f) {
  const OrdinaryDerivatives no_rules_by_kind;  // it may ask for the gradient of the node's body
  Result<BackwardResult> result = rule.backward(f.view, f.given, f.required);
  if (!result.ok())
    return WithNode(result.status(), f.view.name, "backward rule '" + rule.name + "' of " + f.node().op.str());
  Sdfg& entry = result->sdfg.MutableEntry();
  std::vector<std::pair<Name, Name>> names;
  auto take = [&](const std::vector<std::string>& ports, const std::map<std::string, std::string>& given,
                  const char* what) -> Status {
    for (const std::string& port : ports) {
      auto it = given.find(port);
      if (it != given.end() && entry.Find(Name(it->second))) {
        names.push_back({Name(it->second), GradientName(port)});
        continue;
      }
      return NoGradient(
          f, "backward rule '" + rule.name + "' has no parameter for the gradient of " + what + " " + port, "");
    }
    return {};
  };
  HR_RETURN_IF_ERROR(take(f.required, result->required_grad_names, "input"));
  HR_RETURN_IF_ERROR(take(f.given, result->given_grad_names, "output"));
  RenameContainers(&entry, names);
  return std::move(result->sdfg);
}

}  // namespace

namespace {

struct Expansion {
  Program program;
  std::string rule;
};

// The first rule that applies and has a case for these attributes, else the derivative of the pure form.
Result<Expansion> Expand(const Registry& r, const Forward& f) {
  std::string reasons;
  Expansion e;
  for (const BackwardImplementation* rule : ApplicableRules(r, f, &reasons)) {
    Result<Program> p = FromRule(*rule, f);
    // A form that writes nothing here has no case for these attributes.
    if (!p.ok() && !rule->form.empty() && p.status().kind() == ErrorKind::kUnsupported) {
      reasons += (reasons.empty() ? "" : "; ") + rule->name + ": " + p.status().message();
      continue;
    }
    if (!p.ok()) return p.status();
    e.program = std::move(*p);
    e.rule = rule->name;
    HR_RETURN_IF_ERROR(KeepPorts(&e.program, f));
    return e;
  }
  HR_ASSIGN_OR_RETURN(e.program, Derived(r, f, reasons));
  e.rule = "derived";
  HR_RETURN_IF_ERROR(KeepPorts(&e.program, f));
  return e;
}

// Everything an expansion depends on; "" when that can't be said: a rule in code may look at the values of large constants.
std::string KeyOf(const Registry& r, const Forward& f) {
  const Library& l = f.node();
  std::string key = PrintKey(l.attributes) + l.domain.str() + "." + l.op.str() + ":" + std::to_string(l.version);
  bool code = false;
  // By where they lie, which is theirs for ever: what an op means may be withdrawn and registered anew.
  auto identity = [&key](const void* item) { key += "+" + std::to_string(reinterpret_cast<uintptr_t>(item)); };
  for (const BackwardImplementation* b : r.BackwardImplementations(l.domain.str(), l.op.str()))
    code |= b->form.empty(), identity(b);
  for (const ForwardImplementation* i : r.Implementations(l.domain.str(), l.op.str())) identity(i);
  for (const auto* ports : {&f.inputs, &f.outputs}) {
    key += "|";
    for (const FlatPort& p : *ports) {
      const Container& c = f.view.sdfg->Get(p.container);
      key += p.name + ":" + std::string(DTypeName(c.dtype)) + "[";
      for (const Expr& d : c.shape) key += ToString(d) + ",";
      key += "]";
      if (c.kind != ContainerKind::kConstant) continue;
      if (c.data.elements() > kSmallConstant && code) return "";
      if (c.data.elements() <= kSmallConstant && c.data.data) key.append(c.data.data->data(), c.data.bytes());
    }
  }
  for (const auto& [name, range] : f.view.sdfg->assumptions.bounds)
    key += "&" + name.str() + (range.lo ? ">=" + std::to_string(*range.lo) : "") +
           (range.hi ? "<=" + std::to_string(*range.hi) : "");
  return key + "|" + Join(f.given) + "|" + Join(f.required);
}

}  // namespace

// A model repeats its layers: expansions by what they depend on. Lives in the registry, in the closure of the implementation.
class GradientCache {
 public:
  Result<Expansion> Get(const Registry& r, const NodeView& v) {
    HR_ASSIGN_OR_RETURN(std::unique_ptr<Forward> f, ForwardOf(r, v));
    const std::string key = KeyOf(r, *f);
    if (!key.empty()) {
      std::lock_guard<std::mutex> lock(mutex_);
      auto it = expansions_.find(key);
      if (it != expansions_.end()) return it->second;
    }
    HR_ASSIGN_OR_RETURN(Expansion e, Expand(r, *f));
    if (!key.empty()) {
      std::lock_guard<std::mutex> lock(mutex_);
      expansions_.emplace(key, e);
    }
    return e;
  }
  Result<Program> operator()(const NodeView& v) {
    HR_ASSIGN_OR_RETURN(Expansion e, Get(*registry, v));
    return std::move(e.program);
  }
  const Registry* registry = nullptr;

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, Expansion> expansions_;
};

namespace {

struct ExpandThroughCache {
  std::shared_ptr<GradientCache> cache;
  Result<Program> operator()(const NodeView& v) const { return (*cache)(v); }
};

Result<Expansion> ExpandWith(const Registry& r, const NodeView& v) {
  for (const ForwardImplementation* i : r.Implementations("grad", "*"))
    if (const auto* through = i->expand.target<ExpandThroughCache>()) return through->cache->Get(r, v);
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Forward> f, ForwardOf(r, v));
  return Expand(r, *f);
}

}  // namespace

Result<Program> ExpandGradient(const Registry& r, const NodeView& v) {
  HR_ASSIGN_OR_RETURN(Expansion e, ExpandWith(r, v));
  return std::move(e.program);
}

Status RegisterLibraryGradients(Registry& r) {
  ForwardImplementation i;
  i.domain = "grad", i.op = "*", i.name = "pure";
  auto cache = std::make_shared<GradientCache>();
  cache->registry = &r;
  i.expand = ExpandThroughCache{cache};
  return r.Add(std::move(i));
}

Result<LibraryGradient> GradientOf(const Registry& r, const Program& p, const Sdfg& s, NodeId n,
                                   const std::vector<std::string>& given, const std::vector<std::string>& required) {
  HR_ASSIGN_OR_RETURN(NodeView forward, ViewOf(r, p, s, n));
  // First with every value wired, to see which ones the rule reads.
  HR_ASSIGN_OR_RETURN(std::unique_ptr<GradientNode> all, MakeGradientNode(r, s, forward, given, required, nullptr));
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Forward> f, ForwardOf(r, all->view));
  HR_ASSIGN_OR_RETURN(Expansion expansion, ExpandWith(r, all->view));
  std::unordered_set<std::string> kept;
  for (Name q : expansion.program.Entry().parameters) kept.insert(q.str());
  HR_ASSIGN_OR_RETURN(std::unique_ptr<GradientNode> node, MakeGradientNode(r, s, forward, given, required, &kept));
  LibraryGradient g;
  g.node = std::move(node->node);
  for (Port& port : g.node.inputs)
    if (IsGradientName(port.name.view())) port.container = Name();
  for (Port& port : g.node.outputs) port.container = Name();
  for (const FlatPort& port : f->inputs)
    if (kept.count(port.name)) g.inputs_read.push_back(port.name);
  for (const FlatPort& port : f->outputs)
    if (kept.count(port.name)) g.outputs_read.push_back(port.name);
  g.rule = expansion.rule;
  return g;
}

bool Differentiable(const Registry& r, const Program& p, const Sdfg& s, NodeId n, const std::string& input_port) {
  Result<NodeView> v = ViewOf(r, p, s, n);
  if (!v.ok()) return true;  // whoever asks for its gradient gets the error
  for (const FlatPort& port : FlatPorts(v->node->inputs, v->signature ? &v->signature->inputs : nullptr)) {
    if (port.name != input_port && port.port != input_port) continue;
    const Container* c = port.container.empty() ? nullptr : s.Find(port.container);
    if (!c) return false;
    const DType t =
        c->kind == ContainerKind::kSequence ? c->type.dtype : c->dtype;  // of a sequence: so that an error says so
    return IsFloat(t) || IsComplex(t);
  }
  return false;
}

}  // namespace headrace::autodiff
