#include "python/extension/callbacks.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ir/registry/plugin_bridge.h"
#include "python/extension/arrays.h"
#include "python/extension/bindings.h"

namespace headrace::python {
namespace {

std::string OpName(const NodeView& v) { return v.node->domain.str() + "." + v.node->op.str(); }

nb::object SizeOf(const Expr& e) {
  if (!e) return nb::none();
  if (const auto number = AsInt(e)) return nb::int_(*number);
  return nb::str(ToString(e).c_str());
}

nb::dict PortOf(const PortView& p) {
  nb::dict d;
  d["name"] = p.name;
  d["present"] = p.present;
  d["dtype"] = p.present && p.type.kind == ValueType::kTensor ? std::string(DTypeName(p.dtype)) : "";
  nb::list shape;
  for (const Expr& e : p.shape) shape.append(SizeOf(e));
  d["shape"] = shape;
  d["constant"] = p.constant && p.constant->dtype != DType::kNone ? FromValue(Value(*p.constant)) : nb::none();
  return d;
}

// The last exception of this thread's callbacks, and the line that its Status has. Owned: taken and dropped with the GIL.
struct Pending {
  PyObject* exception = nullptr;
  std::string line;
};
thread_local Pending pending;

Status Raised(nb::python_error& e, const NodeView& v, const std::string& what) {
  const Status s = python::Raised(e, what);
  if (s.kind() == ErrorKind::kInterrupted) return s;
  Diagnostic d = s.diagnostics()[0];
  d.node = v.name;
  d.op = OpName(v);
  return Status(d);
}

Result<Program> Parsed(const std::string& text, const NodeView& v, const std::string& what) {
  return ParseExpansion(text, v, "<" + what + " of " + OpName(v) + ">");
}

}  // namespace

Status Raised(nb::python_error& e, const std::string& what) {
  if (e.matches(PyExc_KeyboardInterrupt)) return InterruptedError();
  std::string line;
  try {
    line = nb::cast<std::string>(nb::module_::import_("headrace.custom.nodes").attr("last_line")(e.value()));
  } catch (nb::python_error&) {
    line = e.what();
  }
  Py_XDECREF(pending.exception);
  pending = {e.value().inc_ref().ptr(), line};
  Diagnostic d;
  d.kind = PyErr_GivenExceptionMatches(e.value().ptr(), PyExc_NotImplementedError) ? ErrorKind::kUnsupported : ErrorKind::kInvalid;
  d.code = "E0340";
  d.message = what + " failed: " + line;
  return Status(d);
}

Held::Held(nb::object object)
    : object_(object.release().ptr(), [](PyObject* o) {
        if (!Py_IsInitialized()) return;
        nb::gil_scoped_acquire gil;
        Py_DECREF(o);
      }) {}

nb::dict NodeOf(const NodeView& v) {
  nb::dict d, attributes, texts;
  for (const auto& [name, a] : v.attributes) {
    if (name.view().substr(0, 6) == "known.") continue;  // what value inference found: of the ports
    attributes[name.str().c_str()] = AttributeObject(a);
    texts[name.str().c_str()] = AttributeText(a);
  }
  nb::list inputs, outputs, defines;
  for (const PortView& p : v.inputs) inputs.append(PortOf(p));
  for (const PortView& p : v.outputs) outputs.append(PortOf(p));
  for (Name n : v.node->defines) defines.append(n.str());
  std::vector<std::string> sizes, unset;
  for (Name n : SizesAround(v)) sizes.push_back(n.str());
  for (Name n : v.unset_attributes) unset.push_back(n.str());
  d["domain"] = v.node->domain.str();
  d["op"] = v.node->op.str();
  d["version"] = v.node->version > 0 ? v.node->version : v.signature ? v.signature->since_version : 0;
  d["name"] = v.name;
  d["attributes"] = attributes;
  d["attribute_texts"] = texts;
  d["unset"] = unset;
  d["inputs"] = inputs;
  d["outputs"] = outputs;
  d["defines"] = defines;
  d["sizes"] = sizes;
  std::vector<std::string> variadic;
  if (v.signature)
    for (const auto* ports : {&v.signature->inputs, &v.signature->outputs})
      for (const PortSignature& p : *ports)
        if (p.variadic) variadic.push_back(p.name);
  d["variadic"] = variadic;
  return d;
}

std::function<std::string(const NodeView&)> ConditionOf(Held function) {
  return [function](const NodeView& v) -> std::string {
    nb::gil_scoped_acquire gil;
    try {
      return nb::cast<std::string>(function.get()(NodeOf(v)));
    } catch (nb::python_error& e) {
      if (e.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();  // a reason can't say so: whoever polls sees it again
      return Raised(e, v, "its condition").message();
    }
  };
}

ExpandFn ExpansionOf(Held function, const std::string& implementation) {
  return [function, implementation](const NodeView& v) -> Result<Program> {
    const std::string what = "implementation '" + implementation + "'";
    std::string text;
    {
      nb::gil_scoped_acquire gil;
      try {
        text = nb::cast<std::string>(function.get()(NodeOf(v)));
      } catch (nb::python_error& e) {
        return Raised(e, v, what);
      }
    }
    return Parsed(text, v, what);
  };
}

BackwardFn RuleOf(Held function, const std::string& rule) {
  return [function, rule](const NodeView& v, const std::vector<std::string>& given,
                          const std::vector<std::string>& required) -> Result<BackwardResult> {
    const std::string what = "backward rule '" + rule + "'";
    std::string text;
    BackwardResult result;
    {
      nb::gil_scoped_acquire gil;
      try {
        const nb::object made = function.get()(NodeOf(v), given, required);
        text = nb::cast<std::string>(made[0]);
        result.required_grad_names = nb::cast<std::map<std::string, std::string>>(made[1]);
        result.given_grad_names = nb::cast<std::map<std::string, std::string>>(made[2]);
      } catch (nb::python_error& e) {
        return Raised(e, v, what);
      }
    }
    HR_ASSIGN_OR_RETURN(result.sdfg, Parsed(text, v, what));
    return result;
  };
}

nb::object CauseOf(const Status& s) {
  if (!pending.exception) return nb::none();
  nb::object cause = nb::steal(std::exchange(pending.exception, nullptr));
  for (const Diagnostic& d : s.diagnostics())
    if (d.message.find(pending.line) != std::string::npos || d.got.find(pending.line) != std::string::npos ||
        d.expected.find(pending.line) != std::string::npos)
      return cause;
  return nb::none();
}

}  // namespace headrace::python
