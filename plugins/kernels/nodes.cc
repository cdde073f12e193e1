#include "plugins/kernels/nodes.h"

#include <cstdlib>
#include <stdexcept>

namespace headrace_kernels {

Dims Ints(const std::string& list) {
  Dims out;
  for (const char* at = list.c_str(); *at;) {
    char* end = nullptr;
    const long long v = std::strtoll(at, &end, 10);
    if (end == at) {
      ++at;
      continue;
    }
    out.push_back(v);
    at = end;
  }
  return out;
}
Dims IntsOf(const Node& n, const char* attribute, int64_t otherwise, size_t count) {
  const Dims d = Ints(n.attribute(attribute));
  return d.empty() ? Dims(count, otherwise) : d;
}
Dims Sizes(const hr_port* p) {
  Dims out;
  for (int d = 0; d < p->rank; ++d) out.push_back(Node::Size(p, d));
  return out;
}
bool Known(const Dims& d, size_t from) {
  for (size_t i = from; i < d.size(); ++i)
    if (d[i] < 1) return false;
  return true;
}
int64_t Product(const Dims& d, size_t from) {
  int64_t n = 1;
  for (size_t i = from; i < d.size(); ++i) n *= d[i];
  return n;
}
Dims RowMajor(const Dims& shape) {
  Dims s(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) s[d - 1] = s[d] * shape[d];
  return s;
}
Dims ChannelsLast(const Dims& shape) {
  Dims s(shape.size(), 1);
  int64_t step = shape[1];
  for (size_t d = shape.size(); d-- > 2; step *= shape[d]) s[d] = step;
  s[0] = step;
  return s;
}
Dims StridesOf(const Node& n, bool output, int port, const Dims& shape) {
  const hr_node* raw = n.raw();
  const auto* all = output ? raw->output_strides : raw->input_strides;
  if (!all || !all[port]) return shape.size() > 2 && Product(shape, 2) == 1 ? ChannelsLast(shape) : RowMajor(shape);  // the same memory
  Dims s;
  for (size_t d = 0; d < shape.size(); ++d) {
    char* end = nullptr;
    const int64_t v = std::strtoll(all[port][d], &end, 10);
    if (*end) throw std::invalid_argument("strides that are no numbers");
    s.push_back(v);
  }
  return s;
}

std::string AttributesOf(const Node& n, const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    const std::string text = n.attribute(name);
    if (text.empty() || (name == "pads" && n.attribute("auto_pad") == "\"VALID\"")) continue;
    out += (out.empty() ? "" : ", ") + name + " = " + text;
  }
  return out;
}
bool PadsAsWritten(const Node& n) {
  const std::string pad = n.attribute("auto_pad", "\"NOTSET\"");
  return pad == "\"NOTSET\"" || pad == "\"VALID\"";
}

std::vector<int> ImagesChannelsLast(const Node& n, int port, const char* weights) {
  const hr_node* raw = n.raw();
  const hr_port& p = port < raw->n_inputs ? raw->inputs[port] : raw->outputs[port - raw->n_inputs];
  if (p.rank < 3 || p.rank != raw->inputs[0].rank || std::string(p.name) == weights) return {};
  for (const hr_step& s : n.steps())
    if (s.input == port && s.dim >= 0) return {};
  std::vector<int> order = {0};
  for (int d = 2; d < p.rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}

std::string WhyNotPlainGemm(const Node& n) {
  const hr_port *a = n.input("A"), *b = n.input("B"), *c = n.input("C");
  const auto one = [&](const char* factor) { return n.attribute(factor, "1.0") == "1.0" || n.attribute(factor, "1.0") == "1"; };
  if (a->dtype != HR_F32) return "only f32";
  if (!b->constant || !Known(Sizes(b))) return "B is no constant";
  if (n.attribute("transA", "0") != "0") return "A is transposed";
  if (!one("alpha") || (c && !one("beta"))) return "it has a factor";
  if (!c) return "";
  const Dims s = Sizes(c), y = Sizes(n.output("Y"));
  return c->constant && !s.empty() && Product(s) == y[1] && s.back() == y[1] ? "" : "C is no constant row";
}

std::string ProductExpansion(const Node& n, const std::string& function) {
  std::string parameters, arguments;
  for (const char* name : {"A", "B", "C"})
    if (const hr_port* p = n.input(name)) {
      parameters += std::string(name) + ": f32[" + Node::Shape(p) + "], ";
      arguments += (arguments.empty() ? "" : ", ") + std::string(name) + " = " + name;
    }
  const std::string attributes = n.attribute("transB", "0") == "1" ? "{transB = 1}" : "";
  return "sdfg " + function + "(" + parameters + "Y: f32[" + Node::Shape(n.output("Y")) + "]) {\n  call." + function + attributes + "(" +
         arguments + ") -> (Y = Y)\n}\n";
}

}  // namespace headrace_kernels
