// How a node becomes a call: text of an SDFG with one `call.FUNCTION{…}` whose ports and attributes
// are the node's own.
#pragma once
#include <string>

#include "plugins/api/headrace_plugin.hpp"

namespace onnx_ops::external {

using headrace_plugin::Node;
using headrace_plugin::Registrar;

// The present ports get the names that parameters have: variadic ones are name_0, name_1 …
struct Parameter {
  std::string name;
  const hr_port* port;
};
std::vector<Parameter> InputsOf(const Node& n);
std::vector<Parameter> OutputsOf(const Node& n);
std::string TypeText(const hr_port& p);  // "f32[N, 3]"; "seq(f32)" for whatever is no tensor
std::string Header(const Node& n,
                   const std::string& name);  // "sdfg name(X: f32[N], Y: f32[N]) {\n"
std::string Defines(const Node& n);           // " defines (n)", or ""
std::string CallText(const Node& n, const std::string& function);

// Registers `function` (exported as onnx_<function>) and the implementation "external" of `op`,
// before the pure form.
void Add(Registrar& r, const std::string& op, const std::string& function, headrace_plugin::Condition when = nullptr);
void AddFunction(Registrar& r, const std::string& function);

void RegisterSelection(Registrar& r);
void RegisterBoxes(Registrar& r);
void RegisterUnique(Registrar& r);
void RegisterNumbers(Registrar& r);
void RegisterStrings(Registrar& r);
void RegisterStringMoves(Registrar& r);
void RegisterNgrams(Registrar& r);
void RegisterSequences(Registrar& r);
void RegisterLabels(Registrar& r);
void RegisterFeatures(Registrar& r);
void RegisterTrees(Registrar& r);
void RegisterLinear(Registrar& r);
void RegisterVectorMachines(Registrar& r);
void RegisterAll(Registrar& r);

}  // namespace onnx_ops::external
