// Values across the C ABI, and calls of external functions (nodes of domain "call") through it.
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/registry/registry.h"
#include "plugins/api/headrace_plugin.h"

namespace headrace {

// Keeps what hr_values point to. The views it gives are valid as long as it and the Values it was given live.
class HrValues {
 public:
  hr_value View(const Value& v);
  hr_value View(const Tensor& t);

 private:
  std::deque<std::vector<hr_string>> strings_;
  std::deque<std::vector<hr_value>> items_;
};
Value CopyValue(const hr_value& v);  // a deep copy

// An attribute as the C ABI shows it: text in the notation (3, 0.5, "same", [1, 2]) or a tensor.
std::string AttributeText(const Attribute& a);
class AttributeTexts {
 public:
  explicit AttributeTexts(const Attributes& a);
  const hr_attribute* data() const { return view_.data(); }
  int32_t size() const { return static_cast<int32_t>(view_.size()); }

 private:
  std::deque<std::string> text_;
  std::deque<hr_value> tensors_;
  HrValues values_;
  std::vector<hr_attribute> view_;
};

// The state that a node's attributes give, where `f` creates one. What it throws is E0678.
Result<void*> CreateState(const ExternalFunction& f, const Attributes& attributes, const std::string& node);
// Releases, or destroys; drops what the plugin throws.
void EndState(const ExternalFunction& f, void* state);

// Calls `f`. An output that holds a tensor has its final size and is filled in place; any other is made by the function
// (kSequence: items are appended). It gets `scratch_bytes`, and writing beyond them is E0679. Errors name the function and `node`;
// kInterrupted when `cancelled` turned true while it ran.
Status CallExternal(const ExternalFunction& f, const Attributes& attributes, void* state, int threads,
                    const std::vector<Value>& inputs, std::vector<Value>* outputs, const std::string& node,
                    const std::function<bool()>& cancelled = {}, int64_t scratch_bytes = 0);

}  // namespace headrace
