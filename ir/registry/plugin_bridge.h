// The C table given to plugins, the C view of nodes and values given to their callbacks, and what comes back: text.
#pragma once
#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/registry/registry.h"
#include "plugins/api/headrace_plugin.h"

namespace headrace {

struct BridgeContext {
  Registry* registry;
  std::string last_error;
};
hr_host MakeHostTable(BridgeContext* context, bool tier2);

// What is known beside the node where it is asked about.
struct CNodeContext {
  int threads = 0;
  std::string device;       // "": not known
  bool dense = false;       // all operands are given row-major, wherever they lie
  double operations = -1;
};

// A NodeView as an hr_node; owns every string and array the C structs point to. A call's scratch is no port of it.
class CNode {
 public:
  explicit CNode(const NodeView& v, const CNodeContext& c = {});
  const hr_node* get() const { return &node_; }

 private:
  const char* Keep(std::string s) { return strings_.emplace_back(std::move(s)).c_str(); }
  hr_port Port(const PortView& p);
  void Call(const NodeView& v, bool dense);
  void Step(const std::string& text);
  hr_node node_{};
  std::deque<std::string> strings_;
  std::deque<std::vector<const char*>> shapes_;
  std::deque<hr_value> values_;
  std::deque<std::vector<hr_string>> string_data_;
  std::vector<hr_port> inputs_, outputs_;
  std::vector<hr_attribute> attributes_;
  std::vector<hr_step> steps_;
  std::vector<const char* const*> input_strides_, output_strides_;
};

// The free symbols of the sizes of a node's ports: what the text of an expansion may use without declaring it.
std::unordered_set<Name> SizesAround(const NodeView& v);
// An expansion's text (`file` is what errors call it), verified here once: passes trust what they are given.
Result<Program> ParseExpansion(const std::string& text, const NodeView& v, const std::string& file);

// An attribute's value in the notation: 3, 0.5, "same", [1, 2]. Tensors and graphs give "".
std::string AttributeText(const Attribute& a);

}  // namespace headrace
