#include "plugins/onnx/external/expand.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <set>

#include "plugins/onnx/external/call.h"

namespace onnx_ops::external {
namespace {

std::vector<Parameter> Named(const hr_port* ports, int n) {
  std::vector<Parameter> out;
  for (int i = 0; i < n; ++i) {
    if (!ports[i].present) continue;
    int before = 0, all = 0;
    for (int k = 0; k < n; ++k) {
      const bool same = std::string(ports[k].name) == ports[i].name;
      all += same;
      before += same && k < i;
    }
    out.push_back({all > 1 ? ports[i].name + ("_" + std::to_string(before)) : std::string(ports[i].name), &ports[i]});
  }
  return out;
}

std::string Quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else out += c;
  }
  return out + "\"";
}

std::string Number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[40];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
}

// constant name: f32[2] = [1, 2]
std::string Constant(const std::string& name, const hr_value& v) {
  std::string s = "  constant " + name + ": " + TypeName(v.dtype) + Text(ShapeOf(v)) + " = [";
  const int64_t n = Count(ShapeOf(v));
  for (int64_t i = 0; i < n; ++i) {
    s += i ? ", " : "";
    if (v.dtype == HR_STRING) s += Quoted(String(v, i));
    else if (IsFloat(v.dtype)) s += Number(ToDouble(v, i));
    else if (v.dtype == HR_U64) s += std::to_string(static_cast<uint64_t>(ToInt(v, i)));
    else s += std::to_string(ToInt(v, i));
  }
  return s + "]\n";
}

// The names in a dimension: `bound` when it is nothing but a name.
void Symbols(const std::string& dimension, std::set<std::string>* bound, std::set<std::string>* used) {
  auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t i = 0; i < dimension.size();) {
    size_t end = i + 1;
    if (dimension[i] == '`') {
      end = dimension.find('`', i + 1);
      end = end == std::string::npos ? dimension.size() : end + 1;
    } else if (part(dimension[i])) {
      while (end < dimension.size() && part(dimension[end])) ++end;
    }
    const std::string word = dimension.substr(i, end - i);
    const bool name = word[0] == '`' || (part(word[0]) && !std::isdigit(static_cast<unsigned char>(word[0])));
    if (name && !(end < dimension.size() && dimension[end] == '(')) (word == dimension ? bound : used)->insert(word);
    i = end;
  }
}

std::string Names(const std::vector<std::string>& names) {
  std::string s = "strings[";
  for (size_t i = 0; i < names.size(); ++i) s += (i ? ", " : "") + Quoted(names[i]);
  return s + "]";
}

}  // namespace

std::vector<Parameter> InputsOf(const Node& n) { return Named(n.raw()->inputs, n.raw()->n_inputs); }
std::vector<Parameter> OutputsOf(const Node& n) { return Named(n.raw()->outputs, n.raw()->n_outputs); }

std::string TypeText(const hr_port& p) {
  if (p.rank < 0) return "seq(f32)";
  return std::string(TypeName(p.dtype)) + "[" + Node::Shape(&p) + "]";
}

std::string Header(const Node& n, const std::string& name) {
  std::string s;
  std::set<std::string> bound, used;
  for (const auto& list : {InputsOf(n), OutputsOf(n)})
    for (const Parameter& p : list) {
      s += (s.empty() ? "" : ", ") + p.name + ": " + TypeText(*p.port);
      for (int d = 0; d < p.port->rank; ++d) Symbols(p.port->shape[d], &bound, &used);
    }
  for (const std::string& symbol : used)  // sizes of the caller that no dimension gives
    if (!bound.count(symbol)) s += (s.empty() ? "" : ", ") + symbol + ": symbol";
  return "sdfg " + name + "(" + s + ") {\n";
}

std::string Defines(const Node& n) {
  std::string list = n.attribute("defines");  // ["a", "b"]
  std::string names;
  for (char c : list)
    if (c != '[' && c != ']' && c != '"') names += c;
  return names.empty() ? "" : " defines (" + names + ")";
}

std::string CallText(const Node& n, const std::string& function) {
  std::string constants, attributes, ins, outs;
  std::vector<std::string> in_names, out_names;
  for (const Parameter& p : InputsOf(n)) {
    ins += (ins.empty() ? "" : ", ") + std::string(p.port->name) + " = " + p.name;
    in_names.push_back(p.port->name);
  }
  for (const Parameter& p : OutputsOf(n)) {
    outs += (outs.empty() ? "" : ", ") + std::string(p.port->name) + " = " + p.name;
    out_names.push_back(p.port->name);
  }
  const hr_node* raw = n.raw();
  for (int i = 0; i < raw->n_attributes; ++i) {
    const hr_attribute& a = raw->attributes[i];
    const std::string name = a.name;
    if (name == "defines" || name.compare(0, 6, "known.") == 0) continue;
    if (a.tensor) {  // tensors go in as constants: every backend can hand those over
      constants += Constant(name, *a.tensor);
      ins += (ins.empty() ? "" : ", ") + name + " = " + name;
      in_names.push_back(name);
    } else if (a.text && *a.text) {
      attributes += ", " + name + " = " + (std::string(a.text) == "[]" ? "ints[]" : a.text);
    }
  }
  std::string s = Header(n, function) + constants + "  state {\n    call.onnx_" + function +
                  "{inputs = " + Names(in_names) + ", outputs = " + Names(out_names) + ", op = " + Quoted(raw->op) +
                  ", version = " + std::to_string(raw->version) + attributes + "}(" + ins + ") -> (" + outs + ")" +
                  Defines(n) + "\n  }\n}\n";
  return s;
}

void AddFunction(Registrar& r, const std::string& function) { r.external("onnx_" + function, "onnx_" + function); }

void Add(Registrar& r, const std::string& op, const std::string& function, headrace_plugin::Condition when) {
  r.impl(op, "external", std::move(when), [function](const Node& n) { return CallText(n, function); });
}

}  // namespace onnx_ops::external
