// What the files of the extension share.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>

#include "ir/registry/registry.h"

namespace headrace::python {

namespace nb = nanobind;

// A failure on its way to Python, where it becomes an exception of headrace.errors.
struct StatusError {
  Status status;
};
inline void Check(const Status& s) {
  if (!s.ok()) throw StatusError{s};
}
template <typename T>
T Checked(Result<T> r) {
  if (!r.ok()) throw StatusError{r.status()};
  return std::move(r).value();
}

// The process's registry: made, with every installed plugin and those of Python's entry points, by the first who asks. A plugin that
// can't be loaded is a warning then; what needs none of it works. With the GIL.
Registry& Plugins();

// Adds the op `program.Function`.
Status AddFunctionOp(Registry* r);

void BindProgram(nb::module_& m);
void BindExecutable(nb::module_& m);
void BindModel(nb::module_& m);
void BindInnerValues(nb::module_& m);
void BindOps(nb::module_& m);
void BindCustomOps(nb::module_& m);
void BindTransformations(nb::module_& m);
void BindSamples(nb::module_& m);

// An attribute's value as Python's; graphs are their names.
nb::object AttributeObject(const Attribute& a);

// The program with the implementations that `headrace.set_implementation` asks for written onto its nodes: onto those where they
// apply and that neither name one themselves nor are named in `explicitly` (op or node or "*").
Program WithPreferences(const Program& p, const std::vector<std::pair<std::string, std::string>>& explicitly = {});
void BindLog(nb::module_& m);

}  // namespace headrace::python
