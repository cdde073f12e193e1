// Ops, implementations and backward rules that Python registers: what headrace.op, headrace.implementation and
// headrace.backward_implementation are made of.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "ir/elaborate/elaborate.h"
#include "ir/expr/functions.h"
#include "ir/text/parser.h"
#include "python/extension/bindings.h"
#include "python/extension/callbacks.h"

namespace headrace::python {
namespace {

using Strings = std::vector<std::string>;
using GivenPort = std::tuple<std::string, std::string, bool, bool>;             // name, type, optional, variadic
using GivenAttribute = std::tuple<std::string, std::string, bool, nb::object>;  // name, type, required, default or None

std::vector<PortSignature> PortsOf(const std::vector<GivenPort>& given) {
  std::vector<PortSignature> all;
  for (const auto& [name, type, optional, variadic] : given) {
    PortSignature p;
    p.name = name, p.type = type, p.optional = optional, p.variadic = variadic;
    all.push_back(std::move(p));
  }
  return all;
}

AttributeSignature AttributeOf(const GivenAttribute& given) {
  const auto& [name, type, required, value] = given;
  AttributeSignature a;
  a.name = name, a.required = required;
  const bool set = !value.is_none();
  auto take = [&](AttributeType t, auto zero) {
    a.type = t;
    if (set) a.default_value = Attribute{nb::cast<decltype(zero)>(value)};
  };
  if (type == "int") take(AttributeType::kInt, int64_t{});
  else if (type == "float") take(AttributeType::kFloat, double{});
  else if (type == "string") take(AttributeType::kString, std::string());
  else if (type == "ints") take(AttributeType::kInts, std::vector<int64_t>());
  else if (type == "floats") take(AttributeType::kFloats, std::vector<double>());
  else if (type == "strings") take(AttributeType::kStrings, Strings());
  else a.type = AttributeType::kTensor;
  return a;
}

void AddOp(const std::string& plugin, const std::string& domain, const std::string& name, const std::string& doc, const std::string& pure,
           const std::string& backward, const std::string& shape, const Strings& samples, const std::vector<GivenPort>& inputs,
           const std::vector<GivenPort>& outputs, const std::vector<GivenAttribute>& attributes) {
  OpSignature s;
  s.domain = domain, s.name = name, s.doc = doc, s.shape = shape, s.plugin = plugin;
  s.inputs = PortsOf(inputs), s.outputs = PortsOf(outputs);
  for (const GivenAttribute& a : attributes) s.attributes.push_back(AttributeOf(a));
  OpDefinition d;
  d.domain = domain, d.name = name, d.doc = doc, d.pure = pure, d.backward = backward, d.samples = samples, d.plugin = plugin;
  // What can't be read leaves the op of before, if there is one, as it is.
  const std::string op = domain + "." + name;
  if (!pure.empty()) Checked(ParseForm(pure, op));
  if (!backward.empty()) Checked(ParseForm(backward, "backward of " + op));
  if (!shape.empty()) Checked(ParseForm(shape, "shape rule of " + op));
  Registry& r = Plugins();
  r.Withdraw(plugin);
  Status added = r.Add(std::move(s));
  if (added.ok() && !(pure.empty() && backward.empty() && samples.empty())) added = r.Add(std::move(d));
  if (!added.ok()) r.Withdraw(plugin);
  Check(added);
}

void AddImplementation(const std::string& plugin, const std::string& domain, const std::string& op, const std::string& name,
                       int priority, nb::object condition, nb::object expand) {
  ForwardImplementation i;
  i.domain = domain, i.op = op, i.name = name, i.priority = priority, i.plugin = plugin;
  if (!condition.is_none()) i.can_be_applied = ConditionOf(Held(condition));
  i.expand = ExpansionOf(Held(expand), name);
  Registry& r = Plugins();
  r.Withdraw(plugin);
  Check(r.Add(std::move(i)));
}

void AddBackward(const std::string& plugin, const std::string& domain, const std::string& op, const std::string& name, int priority,
                 nb::object condition, nb::object backward) {
  BackwardImplementation b;
  b.domain = domain, b.op = op, b.name = name, b.priority = priority, b.plugin = plugin;
  if (!condition.is_none()) b.backward_can_be_applied = ConditionOf(Held(condition));
  b.backward = RuleOf(Held(backward), name);
  Registry& r = Plugins();
  r.Withdraw(plugin);
  Check(r.Add(std::move(b)));
}

// A C function of this process. Its library is no plugin, so artifacts can't carry it.
void AddExternal(const std::string& plugin, const std::string& name, uintptr_t address, bool thread_safe) {
  ExternalFunction f;
  f.name = name, f.plugin = plugin, f.thread_safe = thread_safe;
  f.address = reinterpret_cast<void*>(address);  // NOLINT: what ctypes knows of a function
  Registry& r = Plugins();
  r.Withdraw(plugin);
  Check(r.Add(std::move(f)));
}

// ---- what a pure form says of its op ----
struct FormNames {
  Strings read, written, bound;  // in order of appearance; bound: lets, indices, loop variables
  bool lists = false;            // walks over variadic ports
  std::vector<Expr> calls;

  static void Put(Strings* all, const std::string& name) {
    if (std::find(all->begin(), all->end(), name) == all->end()) all->push_back(name);
  }
  void Walk(const Expr& e, bool index) {
    if (!e) return;
    const bool names = e.Is(ExprKind::kSymbol) || e.Is(ExprKind::kGroup);
    if (names) Put(index || e.Is(ExprKind::kGroup) ? &bound : &read, e->name.str());
    if (e.Is(ExprKind::kRead)) Put(&read, e->name.str());
    if (e.Is(ExprKind::kCall)) calls.push_back(e);
    for (size_t k = 0; k < e->args.size(); ++k) {
      const bool otherwise = e.Is(ExprKind::kRead) && e->has_default && k + 1 == e->args.size();
      Walk(e->args[k], !otherwise && (index || e.Is(ExprKind::kRead)));
    }
  }
  void Walk(const std::vector<FormStmt>& body) {
    for (const FormStmt& s : body) {
      const bool binds = s.kind == FormStmt::kLet || s.kind == FormStmt::kLetRank || s.kind == FormStmt::kFor || s.kind == FormStmt::kEach;
      if (binds) Put(&bound, s.name.str());
      for (Name p : s.parameters) Put(&bound, p.str());
      lists |= s.kind == FormStmt::kEach;
      Walk(s.value, false), Walk(s.begin, false), Walk(s.end, false);
      for (const Expr& e : s.index) Walk(e, true);
      for (const FormRange& r : s.over) {
        Put(&bound, r.index.str());
        Walk(r.begin, false), Walk(r.end, false);
      }
      if (s.kind == FormStmt::kAssign) Put(&written, s.name.str());
      Walk(s.body), Walk(s.otherwise);
    }
  }
};

// Whether every element of the output comes from the input's at the same indices: their sizes are the same.
bool SameSizes(const Form& form, const std::string& output, const std::string& input) {
  bool all = true;
  for (const FormStmt& s : form.statements) {
    if (s.kind != FormStmt::kAssign || s.name.str() != output) continue;
    bool one = !s.has_index;
    Visit(s.value, [&](const Expr& e) {
      one |= e.Is(ExprKind::kRead) && e->name.str() == input && !e->has_default && e->args == s.index;
      return true;
    });
    all &= one && !s.flat && !s.guarded;
  }
  return all;
}

// (inputs, outputs, shape rule or "") of an op that says nothing but its pure form; `known`: names of attributes.
nb::tuple FormPorts(const std::string& op, const std::string& pure, const Strings& known) {
  const Form form = Checked(ParseForm(pure, op));
  FormNames names;
  names.Walk(form.statements);
  auto has = [](const Strings& all, const std::string& n) { return std::find(all.begin(), all.end(), n) != all.end(); };
  Strings inputs, outputs;
  for (const std::string& n : names.read)
    if (!has(names.bound, n) && !has(names.written, n) && !has(known, n) && n != "pi") inputs.push_back(n);
  for (const std::string& n : names.written)
    if (!has(names.read, n)) outputs.push_back(n);
  if (names.lists) inputs.clear(), outputs.clear();
  std::string shape;
  if (inputs.size() == 1)
    for (const std::string& y : outputs)
      if (SameSizes(form, y, inputs[0])) shape += (shape.empty() ? "" : "; ") + ("shape " + y + "[dims(" + inputs[0] + ")]");
  return nb::make_tuple(inputs, outputs, shape);
}

// (what is wrong with calls in a form: (function, complaint), the complaint "" where there is no such function; functions there are).
nb::tuple FormCalls(const std::string& op, const std::string& text) {
  FormNames names;
  names.Walk(Checked(ParseForm(text, op)).statements);
  Strings known = FormFunctions();
  for (const FunctionInfo& f : ScalarFunctions()) known.push_back(std::string(f.name));
  known.insert(known.end(), names.bound.begin(), names.bound.end());
  nb::list wrong;
  for (const Expr& e : names.calls) {
    const std::string name = e->name.str();
    const FunctionInfo* f = FindFunction(name);
    const int given = static_cast<int>(e->args.size());
    if (std::find(known.begin(), known.end(), name) == known.end()) wrong.append(nb::make_tuple(name, ""));
    else if (f && std::find(names.bound.begin(), names.bound.end(), name) == names.bound.end() && (given < f->min_arity || given > f->max_arity))
      wrong.append(nb::make_tuple(name, "with " + std::to_string(given) + " arguments, and it takes " + std::to_string(f->min_arity)));
  }
  return nb::make_tuple(wrong, known);
}

// ---- which implementation each node gets ----
std::vector<std::pair<std::string, std::string>>& Preferences() {  // ("onnx.Softplus", name); with the GIL
  static auto* all = new std::vector<std::pair<std::string, std::string>>;
  return *all;
}

void SetPreference(const std::string& op, const std::optional<std::string>& name) {
  auto& all = Preferences();
  all.erase(std::remove_if(all.begin(), all.end(), [&](const auto& p) { return p.first == op; }), all.end());
  if (name) all.emplace_back(op, *name);
}

// (node, op, chosen or "", [(implementation, who brings it, why it does not apply)]) of each library node, calls excepted.
nb::list Choices(const Program& given) {
  Registry& r = Plugins();
  const Program p = WithPreferences(given);
  nb::list all;
  for (const auto& s : p.sdfgs)
    ForEachNode(*s, [&](NodeId id) {
      const auto* l = std::get_if<Library>(&s->nodes[id].body);
      if (!l || l->domain == Name("call")) return;
      const NodeView v = Checked(ViewOf(r, p, *s, id));
      const Result<const ForwardImplementation*> chosen = SelectImplementation(r, v, {});
      nb::list found;
      for (const ForwardImplementation* i : r.Implementations(l->domain.str(), l->op.str()))
        found.append(nb::make_tuple(i->name, i->plugin, WhyNot(*i, v)));
      all.append(nb::make_tuple(v.name, l->domain.str() + "." + l->op.str(), chosen.ok() ? (*chosen)->name : "", found));
    });
  return all;
}

}  // namespace

Program WithPreferences(const Program& given, const std::vector<std::pair<std::string, std::string>>& explicitly) {
  Program p = given;
  if (Preferences().empty()) return p;
  Registry& r = Plugins();
  for (const std::shared_ptr<const Sdfg>& shared : std::vector<std::shared_ptr<const Sdfg>>(p.sdfgs.begin(), p.sdfgs.end())) {
    ForEachNode(*shared, [&](NodeId id) {
      const auto* l = std::get_if<Library>(&shared->nodes[id].body);
      if (!l || !l->implementation.empty()) return;
      const std::string op = l->domain.str() + "." + l->op.str(), source = shared->nodes[id].origin.Label();
      for (const auto& [where, name] : explicitly)
        if (where == "*" || where == op || where == l->op.str() || where == source) return;
      for (const auto& [where, name] : Preferences()) {
        if (where != op) continue;
        const Result<NodeView> v = ViewOf(r, p, *shared, id);
        if (!v.ok()) return;  // whoever expands it says so
        for (const ForwardImplementation* i : r.Implementations(l->domain.str(), l->op.str()))
          if (i->name == name && WhyNot(*i, *v).empty()) {
            std::get<Library>(p.Mutable(shared->name).nodes.Mutable(id).body).implementation = Name(name);
            return;
          }
      }
    });
  }
  return p;
}

void BindCustomOps(nb::module_& m) {
  m.def("add_op", &AddOp, nb::arg("plugin"), nb::arg("domain"), nb::arg("name"), nb::arg("doc"), nb::arg("pure"), nb::arg("backward"),
        nb::arg("shape"), nb::arg("samples"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("attributes"));
  m.def("add_implementation", &AddImplementation, nb::arg("plugin"), nb::arg("domain"), nb::arg("op"), nb::arg("name"),
        nb::arg("priority"), nb::arg("condition").none(), nb::arg("expand"));
  m.def("add_backward", &AddBackward, nb::arg("plugin"), nb::arg("domain"), nb::arg("op"), nb::arg("name"), nb::arg("priority"),
        nb::arg("condition").none(), nb::arg("backward"));
  m.def("add_external", &AddExternal, nb::arg("plugin"), nb::arg("name"), nb::arg("address"), nb::arg("thread_safe"));
  m.def("withdraw", [](const std::string& plugin) { Plugins().Withdraw(plugin); }, nb::arg("plugin"));
  m.def("form_ports", &FormPorts, nb::arg("op"), nb::arg("pure"), nb::arg("attributes"));
  m.def("form_calls", &FormCalls, nb::arg("op"), nb::arg("form"));
  m.def("set_preference", &SetPreference, nb::arg("op"), nb::arg("name").none());
  m.def("preferences", [] { return Preferences(); });
  m.def("choices", &Choices, nb::arg("program"));
  m.def("has_function", [](const std::string& name) { return Plugins().FindFunction(name) != nullptr; }, nb::arg("name"));
}

}  // namespace headrace::python
