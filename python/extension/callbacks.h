// Python functions that the core calls: conditions, expansions and backward rules. The core compiles without the GIL: each call
// takes it. What a function raises becomes a Status that names the op and its last line; the exception of that Status is the
// cause of what Python gets.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "ir/registry/registry.h"

namespace headrace::python {

namespace nb = nanobind;

// A Python object kept by C++: copied without the GIL, let go of with it.
class Held {
 public:
  explicit Held(nb::object object);
  nb::handle get() const { return object_.get(); }

 private:
  std::shared_ptr<PyObject> object_;
};

// What a function sees of its node: domain, op, version, name, attributes (values and texts), inputs and outputs, defines.
nb::dict NodeOf(const NodeView& v);

// function(node) -> "" where it applies, else the reason.
std::function<std::string(const NodeView&)> ConditionOf(Held function);
// function(node) -> IR text, whose sizes are the node's.
ExpandFn ExpansionOf(Held function, const std::string& implementation);
// function(node, given, required) -> (IR text, {input: parameter of its gradient}, {output: parameter of its gradient}).
using BackwardFn = decltype(BackwardImplementation::backward);
BackwardFn RuleOf(Held function, const std::string& rule);

// The status of what a function raised; `what` failed.
Status Raised(nb::python_error& e, const std::string& what);
// The exception behind a status of this thread, if there is one; it is forgotten then.
nb::object CauseOf(const Status& s);

}  // namespace headrace::python
