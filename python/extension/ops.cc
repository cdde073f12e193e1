// What ops there are, and what a node's outputs will be.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ir/text/parser.h"
#include "python/extension/arrays.h"
#include "python/extension/bindings.h"

namespace headrace::python {

nb::object AttributeObject(const Attribute& a) {
  return std::visit(
      [](const auto& v) -> nb::object {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Name>) return nb::str(v.str().c_str());
        else if constexpr (std::is_same_v<T, Tensor>) return FromValue(Value(v));
        else return nb::cast(v);
      },
      a.value);
}

namespace {

const char* TypeName(AttributeType t) {
  switch (t) {
    case AttributeType::kInt: return "int";
    case AttributeType::kFloat: return "float";
    case AttributeType::kString: return "string";
    case AttributeType::kInts: return "ints";
    case AttributeType::kFloats: return "floats";
    case AttributeType::kStrings: return "strings";
    case AttributeType::kTensor: return "tensor";
    case AttributeType::kGraph: return "graph";
    case AttributeType::kOther: return "other";
  }
  return "other";
}

nb::list Ports(const std::vector<PortSignature>& ports) {
  nb::list all;
  for (const PortSignature& p : ports) {
    nb::dict d;
    d["name"] = p.name;
    d["type"] = p.type;
    d["optional"] = p.optional;
    d["variadic"] = p.variadic;
    d["min_count"] = p.min_count;
    all.append(d);
  }
  return all;
}

nb::dict ToDict(const OpSignature& s) {
  nb::dict out, types;
  for (const auto& [name, choices] : s.types) types[name.c_str()] = choices;
  nb::list attributes;
  for (const AttributeSignature& a : s.attributes) {
    nb::dict d;
    d["name"] = a.name;
    d["type"] = TypeName(a.type);
    d["required"] = a.required;
    d["default"] = a.default_value ? AttributeObject(*a.default_value) : nb::none();
    attributes.append(d);
  }
  out["domain"] = s.domain;
  out["name"] = s.name;
  out["version"] = s.since_version;
  out["deprecated"] = s.deprecated;
  out["doc"] = s.doc;
  out["inputs"] = Ports(s.inputs);
  out["outputs"] = Ports(s.outputs);
  out["attributes"] = attributes;
  out["types"] = types;
  return out;
}

nb::tuple ToTuple(const InferredOutput& o) {
  nb::object shape = nb::none();
  if (o.has_shape) {
    nb::list sizes;
    for (const Expr& e : o.shape) {
      if (!e) sizes.append(nb::none());
      else if (const auto v = AsInt(e)) sizes.append(*v);
      else sizes.append(ToString(e));
    }
    shape = sizes;
  }
  nb::object type = nb::none();
  if (o.typed) type = nb::str(o.type.kind == ValueType::kTensor     ? std::string(DTypeName(o.type.dtype)).c_str()
                              : o.type.kind == ValueType::kSequence ? "sequence"
                                                                    : "optional");
  return nb::make_tuple(o.port, type, shape);
}

// The only library node of a program in the making, whose outputs are declared with any type: (port, type or None, sizes
// or None) of each output, a size None where it is known only when the node has run. Raises where no implementation serves.
nb::list InferNode(const std::string& text) {
  Registry& r = Plugins();
  Program p = Checked(ParseProgram(text, "<node>"));
  Sdfg& s = p.MutableEntry();
  NodeId id;
  bool found = false;
  ForEachNode(s, [&](NodeId n) {
    if (std::get_if<Library>(&s.nodes[n].body)) id = n, found = true;
  });
  if (!found) throw nb::value_error("no library node");
  const std::vector<InferredOutput> all = Checked(r.InferOutputs(Checked(ViewOf(r, p, s, id))));
  const std::vector<Port> outputs = std::get<Library>(s.nodes[id].body).outputs;
  for (size_t k = 0; k < outputs.size() && k < all.size(); ++k) {
    if (outputs[k].container.empty() || !all[k].typed || all[k].type.kind != ValueType::kTensor) continue;
    Container& c = s.Mutable(outputs[k].container);
    c.dtype = all[k].type.dtype;
    c.type = all[k].type;
    c.shape.clear();
    for (size_t d = 0; d < all[k].shape.size(); ++d)
      c.shape.push_back(all[k].shape[d] ? all[k].shape[d] : SymbolExpr(Name("unknown_" + std::to_string(d))));
  }
  Checked(SelectImplementation(r, Checked(ViewOf(r, p, s, id)), {}));
  nb::list out;
  for (const InferredOutput& o : all) out.append(ToTuple(o));
  return out;
}

}  // namespace

void BindOps(nb::module_& m) {
  m.def("op_versions", [] {
    nb::list all;
    for (const OpSignature* s : Plugins().Ops()) all.append(nb::make_tuple(s->domain, s->name, s->since_version));
    return all;
  });
  m.def(
      "op_signature",
      [](const std::string& domain, const std::string& name, int version) -> nb::object {
        const OpSignature* s = Plugins().FindOp(domain, name, version);
        return s ? nb::object(ToDict(*s)) : nb::none();
      },
      nb::arg("domain"), nb::arg("name"), nb::arg("version") = 0);
  m.def("op_implementations", [](const std::string& domain, const std::string& name) {
    std::vector<std::string> all;
    for (const ForwardImplementation* i : Plugins().Implementations(domain, name)) all.push_back(i->name);
    return all;
  });
  m.def("op_definition_doc", [](const std::string& domain, const std::string& name) -> std::string {
    for (const OpDefinition* d : Plugins().Definitions())
      if (d->domain == domain && d->name == name) return d->doc;
    return "";
  });
  m.def("infer_node", &InferNode, nb::arg("text"));
}

}  // namespace headrace::python
