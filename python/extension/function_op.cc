// The library node `program.Function`, which carries what it means: IR text of a program and of its backward rule, as
// attributes. Python's custom_vjp and checkpoint are such nodes.
//
//   program.Function{forward = "sdfg …(x_0: …, y_0: …) { … }", backward = "sdfg …(x_0: …, dy_0: …, dx_0: …) { … }"}(x = A) -> (y = B)
//
// The backward text takes all inputs and the gradients of all float outputs, and gives those of all float inputs.
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "python/extension/bindings.h"

namespace headrace::python {
namespace {

std::string Text(const NodeView& v, const char* attribute) {
  const Attribute* a = FindAttribute(v.attributes, attribute);
  return a ? std::get<std::string>(a->value) : std::string();
}

std::string Declared(const std::string& name, const PortView& p) {
  std::string text = name + ": " + std::string(DTypeName(p.dtype));
  for (size_t d = 0; d < p.shape.size(); ++d) text += (d == 0 ? "[" : ", ") + ToString(p.shape[d]);
  return text + (p.shape.empty() ? "" : "]");
}

std::string Zero(const std::string& name, const PortView& p) {
  std::string map, index;
  for (size_t d = 0; d < p.shape.size(); ++d) {
    const std::string i = "i" + std::to_string(d);
    map += (d == 0 ? "map " : ", ") + i + " in 0:" + ToString(p.shape[d]);
    index += (d == 0 ? "[" : ", ") + i;
  }
  const std::string store = name + index + (p.shape.empty() ? "" : "]") + " = " + std::string(DTypeName(p.dtype)) + "(0)";
  return p.shape.empty() ? "  " + store + "\n" : "  " + map + " { " + store + " }\n";
}

// The text with gradients that are not given as zeros, and those that nobody wants in temporaries.
Result<BackwardResult> Backward(const NodeView& v, const std::vector<std::string>& given,
                                const std::vector<std::string>& required) {
  std::string parameters, declared, body, arguments;
  auto add = [](std::string* list, const std::string& text) { *list += (list->empty() ? "" : ", ") + text; };
  auto has = [](const std::vector<std::string>& all, const std::string& name) {
    for (const std::string& n : all)
      if (n == name) return true;
    return false;
  };
  BackwardResult result;
  for (size_t k = 0; k < v.inputs.size(); ++k) {
    const std::string x = "x_" + std::to_string(k);
    add(&parameters, Declared(x, v.inputs[k]));
    add(&arguments, x + " = " + x);
  }
  for (size_t k = 0; k < v.outputs.size(); ++k) {
    if (!IsFloat(v.outputs[k].dtype) && !IsComplex(v.outputs[k].dtype)) continue;
    const std::string y = "y_" + std::to_string(k);
    add(&arguments, "d" + y + " = d" + y);
    if (has(given, y)) {
      add(&parameters, Declared("d" + y, v.outputs[k]));
      result.given_grad_names[y] = "d" + y;
    } else {
      declared += "  transient " + Declared("d" + y, v.outputs[k]) + "\n";
      body += Zero("d" + y, v.outputs[k]);
    }
  }
  for (size_t k = 0; k < v.inputs.size(); ++k) {
    if (!IsFloat(v.inputs[k].dtype) && !IsComplex(v.inputs[k].dtype)) continue;
    const std::string x = "x_" + std::to_string(k);
    add(&arguments, "d" + x + " = d" + x);
    if (has(required, x)) {
      add(&parameters, Declared("d" + x, v.inputs[k]));
      result.required_grad_names[x] = "d" + x;
    } else {
      declared += "  transient " + Declared("d" + x, v.inputs[k]) + "\n";
    }
  }
  const std::string text = "entry sdfg function_backward(" + parameters + ") {\n" + declared + body + "  call backward_rule(" +
                           arguments + ")\n}\n" + Text(v, "backward");
  Result<Program> p = ParseProgram(text, "<backward rule>");
  if (!p.ok()) return p.status();
  result.sdfg = std::move(p).value();
  return result;
}

}  // namespace

Status AddFunctionOp(Registry* r) {
  OpSignature s;
  s.domain = "program";
  s.name = "Function";
  s.doc = "A program with a backward rule of its own.";
  PortSignature port;
  port.variadic = true;
  port.homogeneous = false;
  port.min_count = 0;
  port.type = "any";
  port.name = "x";
  s.inputs.push_back(port);
  port.name = "y";
  s.outputs.push_back(port);
  for (const char* name : {"forward", "backward"}) {
    AttributeSignature a;
    a.name = name;
    a.type = AttributeType::kString;
    a.required = true;
    s.attributes.push_back(a);
  }
  if (Status done = r->Add(std::move(s)); !done.ok()) return done;
  ForwardImplementation forward;
  forward.domain = "program";
  forward.op = "Function";
  forward.name = "pure";
  forward.expand = [](const NodeView& v) { return ParseProgram(Text(v, "forward"), "<function>"); };
  if (Status done = r->Add(std::move(forward)); !done.ok()) return done;
  BackwardImplementation backward;
  backward.domain = "program";
  backward.op = "Function";
  backward.name = "given";
  backward.backward = Backward;
  return r->Add(std::move(backward));
}

}  // namespace headrace::python
