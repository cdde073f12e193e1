#include "backends/cpu/prepared.h"

#include <cstdio>

#include "backends/cpu/ctypes.h"
#include "ir/registry/plugin_bridge.h"

namespace headrace::cpu {
namespace {

std::string Number(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", v);
  return text;
}
std::string Quoted(const char* s) { return s ? StringLiteral(s) : "nullptr"; }

class Printer {
 public:
  Printer(const NodeView& v, int number)
      : node_(v, {0, "cpu", false, -1}), n_(*node_.get()), name_("prepared_" + std::to_string(number)) {}

  std::string Text(const std::string& constants) {
    const std::string inputs = Ports(n_.inputs, n_.n_inputs, "in"), outputs = Ports(n_.outputs, n_.n_outputs, "out");
    const std::string in = Strides(n_.input_strides, n_.inputs, n_.n_inputs, "in");
    const std::string out = Strides(n_.output_strides, n_.outputs, n_.n_outputs, "out");
    const std::string attributes = Attributes(), steps = Steps();
    Table("int32_t", "constants", constants);
    text_ += "static const hr_node " + name_ + " = {sizeof(hr_node), " + Quoted(n_.domain) + ", " + Quoted(n_.op) + ", " +
             Quoted(n_.name) + ", " + std::to_string(n_.version) + ", " + std::to_string(n_.n_inputs) + ", " +
             std::to_string(n_.n_outputs) + ", " +
             std::to_string(n_.n_attributes) + ", " + inputs + ", " + outputs + ", " + attributes + ", 0, " + std::to_string(n_.n_steps) +
             ", \"cpu\", " + steps + ", " + in + ", " + out + ", -1};\n";
    return text_;
  }

 private:
  std::string Table(const std::string& type, const std::string& what, const std::string& items) {
    const std::string name = name_ + "_" + what;
    text_ += "static const " + type + " " + name + "[] = {" + (items.empty() ? (type == "int32_t" ? "-1" : "{}") : items) + "};\n";
    return name;
  }
  std::string Sizes(const char* const* sizes, int rank, const std::string& what) {
    std::string items;
    for (int d = 0; d < rank; ++d) items += (d ? ", " : "") + Quoted(sizes[d]);
    return Table("char* const", what, items.empty() ? "nullptr" : items);
  }
  std::string Ports(const hr_port* ports, int count, const std::string& what) {
    std::string items;
    for (int i = 0; i < count; ++i) {
      const hr_port& p = ports[i];
      const std::string shape = p.rank > 0 ? Sizes(p.shape, p.rank, what + std::to_string(i) + "_shape") : "nullptr";
      items += (i ? ", {" : "{") + Quoted(p.name) + ", " + std::to_string(p.present) + ", " + std::to_string(p.dtype) + ", " +
               std::to_string(p.rank) + ", " + shape + ", nullptr}";
    }
    return Table("hr_port", what, items);
  }
  std::string Strides(const char* const* const* strides, const hr_port* ports, int count, const std::string& what) {
    if (!strides) return "nullptr";
    std::string items;
    for (int i = 0; i < count; ++i)
      items += (i ? ", " : "") + (strides[i] ? Sizes(strides[i], ports[i].rank, what + std::to_string(i) + "_strides") : "nullptr");
    return Table("char* const* const", what + "_strides", items);
  }
  std::string Attributes() {
    std::string items;
    for (int i = 0; i < n_.n_attributes; ++i)
      items += (i ? ", {" : "{") + Quoted(n_.attributes[i].name) + ", " + Quoted(n_.attributes[i].text) + ", nullptr}";
    return Table("hr_attribute", "attributes", items);
  }
  std::string Steps() {
    std::string items;
    for (int i = 0; i < n_.n_steps; ++i) {
      const hr_step& s = n_.steps[i];
      items += (i ? ", {" : "{") + Quoted(s.op) + ", " + std::to_string(s.input) + ", " + std::to_string(s.dim) + ", " +
               Number(s.alpha) + ", " + Number(s.beta) + "}";
    }
    return Table("hr_step", "steps", items);
  }

  const CNode node_;
  const hr_node& n_;
  const std::string name_;
  std::string text_;
};

}  // namespace

std::string PreparedNode(const NodeView& v, int number, const std::function<int(Name)>& constant_of) {
  std::string constants;
  for (const Port& p : v.node->inputs) constants += (constants.empty() ? "" : ", ") + std::to_string(constant_of(p.container));
  return Printer(v, number).Text(constants);
}

}  // namespace headrace::cpu
